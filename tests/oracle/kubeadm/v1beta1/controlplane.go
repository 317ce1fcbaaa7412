package v1beta1

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controllers/external"
	controlplanev1 "sigs.k8s.io/cluster-api/controlplane/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

type controlPlane struct {
	*reconcilers
	names    []string
	machines map[string]*clusterv1.Machine
	configs  map[string]*bootstrapv1.KubeadmConfig
	infra    map[string]*unstructured.Unstructured
	before   map[string]map[string]any
}

// controlPlane makes three objects for the Machine that kubeadm init made and for one that joined.
func (c *reconcilers) controlPlane(_ string, stored map[string]any) (walker.Observer, error) {
	kcp := &controlplanev1.KubeadmControlPlane{}
	if err := walker.FromMap(stored, kcp); err != nil {
		return nil, err
	}
	o := &controlPlane{
		reconcilers: c, machines: map[string]*clusterv1.Machine{}, configs: map[string]*bootstrapv1.KubeadmConfig{},
		infra: map[string]*unstructured.Unstructured{}, before: map[string]map[string]any{},
	}
	for _, name := range []string{"demo-init", "demo-join"} {
		if err := o.make(kcp, name, name == "demo-join"); err != nil {
			return nil, err
		}
	}
	for _, name := range o.names {
		desired, err := o.desired(kcp, name)
		if err != nil {
			return nil, err
		}
		o.before[name] = desired
	}
	return o, nil
}

func (o *controlPlane) make(kcp *controlplanev1.KubeadmControlPlane, name string, join bool) error {
	failureDomain := "fd-a"
	machine, err := o.calls.ControlPlaneMachine(o.client, kcp, o.cluster, &failureDomain, nil)
	if err != nil {
		return err
	}
	owner := metav1.OwnerReference{APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane", Name: kcp.Name, UID: kcp.UID}
	labels, annotations := internal.ControlPlaneMachineLabelsForCluster(kcp, o.cluster.Name), kcp.Spec.MachineTemplate.ObjectMeta.Annotations
	spec, err := o.bootstrapSpec(kcp, join)
	if err != nil {
		return err
	}
	config := &bootstrapv1.KubeadmConfig{
		TypeMeta:   metav1.TypeMeta{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfig"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: kcp.Namespace, UID: types.UID("uid-config-" + name), Labels: labels, Annotations: annotations, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       *spec,
	}
	infra, err := o.infraMachine(kcp, name, owner)
	if err != nil {
		return err
	}
	machine.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"}
	machine.Name, machine.UID, machine.CreationTimestamp = name, types.UID("uid-"+name), moment(capi.Machines)
	machine.Spec.Bootstrap.ConfigRef = &corev1.ObjectReference{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfig", Namespace: kcp.Namespace, Name: name, UID: config.UID}
	machine.Spec.InfrastructureRef = corev1.ObjectReference{APIVersion: infra.GetAPIVersion(), Kind: infra.GetKind(), Namespace: kcp.Namespace, Name: name}
	expiry := moment(capi.Expiry)
	machine.Status.CertificatesExpiryDate = &expiry
	made, configured := &clusterv1.Machine{}, &bootstrapv1.KubeadmConfig{}
	if err := o.server.Made(machine, made); err != nil {
		return err
	}
	if err := o.server.Made(config, configured); err != nil {
		return err
	}
	o.complete(configured, kcp.Spec.Version, join)
	o.names = append(o.names, name)
	o.machines[name], o.configs[name], o.infra[name] = made, configured, infra
	return nil
}

// bootstrapSpec is what the control plane controller takes for a new Machine (scale.go).
func (o *controlPlane) bootstrapSpec(kcp *controlplanev1.KubeadmControlPlane, join bool) (*bootstrapv1.KubeadmConfigSpec, error) {
	owner := &internal.ControlPlane{KCP: kcp}
	spec := owner.InitialControlPlaneConfig()
	if join {
		spec = owner.JoinControlPlaneConfig()
	}
	if o.calls.Default == nil {
		return spec, nil
	}
	return spec, o.calls.Default(spec, kcp.Spec.Version)
}

func (o *controlPlane) infraMachine(kcp *controlplanev1.KubeadmControlPlane, name string, owner metav1.OwnerReference) (*unstructured.Unstructured, error) {
	ref := &kcp.Spec.MachineTemplate.InfrastructureRef
	template := &unstructured.Unstructured{}
	template.SetAPIVersion(ref.APIVersion)
	template.SetKind(ref.Kind)
	if err := o.client.Get(context.Background(), client.ObjectKey{Namespace: kcp.Namespace, Name: ref.Name}, template); err != nil {
		return nil, err
	}
	infra, err := external.GenerateTemplate(&external.GenerateTemplateInput{
		Template: template, TemplateRef: ref, Namespace: kcp.Namespace, ClusterName: o.cluster.Name, OwnerRef: &owner,
		Labels: internal.ControlPlaneMachineLabelsForCluster(kcp, o.cluster.Name), Annotations: kcp.Spec.MachineTemplate.ObjectMeta.Annotations,
	})
	if err != nil {
		return nil, err
	}
	infra.SetName(name)
	return infra, nil
}

// complete fills what the bootstrap controller writes into a configuration: the settings of the
// cluster on init (handleClusterNotInitialized), discovery on join (reconcileDiscovery).
func (o *controlPlane) complete(config *bootstrapv1.KubeadmConfig, version string, join bool) {
	spec := &config.Spec
	if !join {
		if spec.InitConfiguration == nil {
			spec.InitConfiguration = &bootstrapv1.InitConfiguration{TypeMeta: metav1.TypeMeta{APIVersion: o.calls.Kubeadm, Kind: "InitConfiguration"}}
		}
		if spec.ClusterConfiguration == nil {
			spec.ClusterConfiguration = &bootstrapv1.ClusterConfiguration{TypeMeta: metav1.TypeMeta{APIVersion: o.calls.Kubeadm, Kind: "ClusterConfiguration"}}
		}
		settings := spec.ClusterConfiguration
		if settings.ControlPlaneEndpoint == "" {
			settings.ControlPlaneEndpoint = o.cluster.Spec.ControlPlaneEndpoint.String()
		}
		if settings.ClusterName == "" {
			settings.ClusterName = o.cluster.Name
		}
		if settings.KubernetesVersion == "" {
			settings.KubernetesVersion = version
		}
		return
	}
	if spec.JoinConfiguration == nil {
		spec.JoinConfiguration = &bootstrapv1.JoinConfiguration{}
	}
	if spec.JoinConfiguration.ControlPlane == nil {
		spec.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
	}
	discovery := &spec.JoinConfiguration.Discovery
	if discovery.File != nil {
		return
	}
	if discovery.BootstrapToken == nil {
		discovery.BootstrapToken = &bootstrapv1.BootstrapTokenDiscovery{}
	}
	if len(discovery.BootstrapToken.CACertHashes) == 0 {
		discovery.BootstrapToken.CACertHashes = []string{"sha256:0000000000000000000000000000000000000000000000000000000000000001"}
	}
	if discovery.BootstrapToken.APIServerEndpoint == "" {
		discovery.BootstrapToken.APIServerEndpoint = "10.0.0.100:6443"
	}
	if discovery.BootstrapToken.Token == "" {
		discovery.BootstrapToken.Token = "xxxxxx.0123456789abcdef"
	}
}

// desired is what syncMachines would apply to a Machine and to the objects beside it.
func (o *controlPlane) desired(kcp *controlplanev1.KubeadmControlPlane, name string) (map[string]any, error) {
	machine, err := o.calls.ControlPlaneMachine(o.client, kcp, o.cluster, o.machines[name].Spec.FailureDomain, o.machines[name])
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{
		"labels":      internal.ControlPlaneMachineLabelsForCluster(kcp, o.cluster.Name),
		"annotations": kcp.Spec.MachineTemplate.ObjectMeta.Annotations,
	}
	return walker.ToMap(map[string]any{
		"machine":         machine,
		"bootstrapConfig": map[string]any{"metadata": metadata},
		"infraMachine":    map[string]any{"metadata": metadata},
	}), nil
}

func (o *controlPlane) Objects() walker.Objects {
	objects := walker.Objects{Cluster: clusterMap(o.cluster)}
	for _, name := range o.names {
		objects.Machines = append(objects.Machines, walker.MachineObjects{
			Machine: walker.ToMap(o.machines[name]), BootstrapConfig: walker.ToMap(o.configs[name]), InfraMachine: o.infra[name].Object,
		})
	}
	return objects
}

func (o *controlPlane) Observe(stored map[string]any) walker.Observation {
	kcp := &controlplanev1.KubeadmControlPlane{}
	if err := walker.FromMap(stored, kcp); err != nil {
		return walker.Observation{Error: err.Error()}
	}
	answer := walker.Observation{Why: map[string][]string{}}
	for _, name := range o.names {
		upToDate, messages, err := o.upToDate(kcp, name)
		if err != nil {
			return walker.Observation{Error: err.Error()}
		}
		if !upToDate {
			answer.Outdated = append(answer.Outdated, name)
			answer.Why[name] = messages
		}
		desired, err := o.desired(kcp, name)
		if err != nil {
			return walker.Observation{Error: err.Error()}
		}
		for _, path := range walker.Differences(o.before[name], desired) {
			answer.Propagated = append(answer.Propagated, name+": "+path)
		}
	}
	return answer
}

// upToDate gives the comparison copies: it normalises its arguments in place.
func (o *controlPlane) upToDate(kcp *controlplanev1.KubeadmControlPlane, name string) (ok bool, messages []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	configs := map[string]*bootstrapv1.KubeadmConfig{}
	for key, config := range o.configs {
		configs[key] = config.DeepCopy()
	}
	return o.calls.UpToDate(o.machines[name].DeepCopy(), kcp.DeepCopy(), &o.now, o.infra, configs)
}
