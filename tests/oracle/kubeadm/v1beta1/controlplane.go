package v1beta1

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controllers/external"
	controlplanev1 "sigs.k8s.io/cluster-api/controlplane/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/watch"

	"rollgate.dev/oracle/walker"
)

type controlPlane struct {
	*reconcilers
	*watch.Environment
	watch.Machines[*clusterv1.Machine, *bootstrapv1.KubeadmConfig]
}

// controlPlane makes three objects for the Machine that kubeadm init made and for one that joined.
func (c *reconcilers) controlPlane(e *watch.Environment, stored map[string]any) (walker.Observer, error) {
	kcp := &controlplanev1.KubeadmControlPlane{}
	if err := walker.FromMap(stored, kcp); err != nil {
		return nil, err
	}
	o := &controlPlane{reconcilers: c, Environment: e}
	o.Cluster = c.cluster
	err := o.Make(func(name string, join bool) (*clusterv1.Machine, *bootstrapv1.KubeadmConfig, *unstructured.Unstructured, error) {
		return o.machine(kcp, name, join)
	})
	if err != nil {
		return nil, err
	}
	return watch.Observe(kcp, o)
}

func (o *controlPlane) machine(kcp *controlplanev1.KubeadmControlPlane, name string, join bool) (*clusterv1.Machine, *bootstrapv1.KubeadmConfig, *unstructured.Unstructured, error) {
	failureDomain := "fd-a"
	machine, err := o.calls.ControlPlaneMachine(o.Client, kcp, o.cluster, &failureDomain, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	spec, err := o.bootstrapSpec(kcp, join)
	if err != nil {
		return nil, nil, nil, err
	}
	owner := metav1.OwnerReference{APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane", Name: kcp.Name, UID: kcp.UID}
	labels, annotations := o.metadata(kcp)
	config := &bootstrapv1.KubeadmConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: kcp.Namespace, Labels: labels, Annotations: annotations, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       *spec,
	}
	watch.Identify(config, bootstrapv1.GroupVersion.WithKind("KubeadmConfig"), name, "uid-config-"+name)
	infra, err := o.infraMachine(kcp, name, owner)
	if err != nil {
		return nil, nil, nil, err
	}
	watch.Age(machine, clusterv1.GroupVersion.WithKind("Machine"), name, "uid-"+name)
	machine.Spec.Bootstrap.ConfigRef = &corev1.ObjectReference{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfig", Namespace: kcp.Namespace, Name: name, UID: config.UID}
	machine.Spec.InfrastructureRef = corev1.ObjectReference{APIVersion: infra.GetAPIVersion(), Kind: infra.GetKind(), Namespace: kcp.Namespace, Name: name}
	expiry := watch.Expiry()
	machine.Status.CertificatesExpiryDate = &expiry
	made, configured := &clusterv1.Machine{}, &bootstrapv1.KubeadmConfig{}
	if err := o.Server.Made(machine, made); err != nil {
		return nil, nil, nil, err
	}
	if err := o.Server.Made(config, configured); err != nil {
		return nil, nil, nil, err
	}
	o.complete(configured, kcp.Spec.Version, join)
	return made, configured, infra, nil
}

// metadata are the labels and annotations of the objects beside a Machine.
func (o *controlPlane) metadata(kcp *controlplanev1.KubeadmControlPlane) (labels, annotations map[string]string) {
	return internal.ControlPlaneMachineLabelsForCluster(kcp, o.cluster.Name), kcp.Spec.MachineTemplate.ObjectMeta.Annotations
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
	if err := o.Client.Get(context.Background(), client.ObjectKey{Namespace: kcp.Namespace, Name: ref.Name}, template); err != nil {
		return nil, err
	}
	labels, annotations := o.metadata(kcp)
	infra, err := external.GenerateTemplate(&external.GenerateTemplateInput{
		Template: template, TemplateRef: ref, Namespace: kcp.Namespace, ClusterName: o.cluster.Name, OwnerRef: &owner,
		Labels: labels, Annotations: annotations,
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
	token := discovery.BootstrapToken
	watch.Discover(&token.CACertHashes, &token.APIServerEndpoint, &token.Token)
}

// Desired is what syncMachines would apply to a Machine and to the objects beside it.
func (o *controlPlane) Desired(kcp *controlplanev1.KubeadmControlPlane, name string) (map[string]any, error) {
	existing := o.Machines.Machines[name]
	machine, err := o.calls.ControlPlaneMachine(o.Client, kcp, o.cluster, existing.Spec.FailureDomain, existing)
	if err != nil {
		return nil, err
	}
	labels, annotations := o.metadata(kcp)
	return watch.Applied(machine, labels, annotations), nil
}

// UpToDate gives the comparison copies: it normalises its arguments in place.
func (o *controlPlane) UpToDate(kcp *controlplanev1.KubeadmControlPlane, name string) (bool, []string, error) {
	machine := o.Machines.Machines[name].DeepCopy()
	return o.calls.UpToDate(machine, kcp.DeepCopy(), &o.Now, o.Infra, o.Configs())
}
