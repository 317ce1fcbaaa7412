package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/controllers"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment/mdutil"
	"sigs.k8s.io/cluster-api/internal/controllers/machineset"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

// reconcilers makes what the controllers would have made for an object, and asks them.
type reconcilers struct {
	client  client.Client
	server  *walker.Server
	cluster *clusterv1.Cluster
	now     metav1.Time
}

func moment(text string) metav1.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return metav1.NewTime(parsed)
}

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
	machine, err := computeDesiredControlPlaneMachine(&controllers.KubeadmControlPlaneReconciler{Client: o.client}, kcp, o.cluster, "fd-a", nil)
	if err != nil {
		return err
	}
	owner := metav1.OwnerReference{APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane", Name: kcp.Name, UID: kcp.UID}
	labels, annotations := internal.ControlPlaneMachineLabelsForCluster(kcp, o.cluster.Name), kcp.Spec.MachineTemplate.ObjectMeta.Annotations
	spec, err := bootstrapSpec(kcp, join)
	if err != nil {
		return err
	}
	config := &bootstrapv1.KubeadmConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: kcp.Namespace, Labels: labels, Annotations: annotations, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       *spec,
	}
	infra, err := o.infraMachine(kcp, name, owner)
	if err != nil {
		return err
	}
	machine.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"}
	machine.Name, machine.UID, machine.CreationTimestamp = name, types.UID("uid-"+name), moment(capi.Machines)
	machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: name}
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capi.InfraGroup, Kind: infra.GetKind(), Name: name}
	machine.Status.CertificatesExpiryDate = moment(capi.Expiry)
	config.TypeMeta = metav1.TypeMeta{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfig"}
	config.UID = types.UID("uid-config-" + name)
	if join {
		// The bootstrap controller's joinControlplane.
		if config.Spec.JoinConfiguration.ControlPlane == nil {
			config.Spec.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
		}
		discover(&config.Spec)
	}
	made, configured := &clusterv1.Machine{}, &bootstrapv1.KubeadmConfig{}
	if err := o.server.Made(machine, made); err != nil {
		return err
	}
	if err := o.server.Made(config, configured); err != nil {
		return err
	}
	o.names = append(o.names, name)
	o.machines[name], o.configs[name], o.infra[name] = made, configured, infra
	return nil
}

// bootstrapSpec is what the control plane controller takes for a new Machine (scale.go).
func bootstrapSpec(kcp *controlplanev1.KubeadmControlPlane, join bool) (*bootstrapv1.KubeadmConfigSpec, error) {
	owner := &internal.ControlPlane{KCP: kcp}
	spec := owner.InitialControlPlaneConfig()
	if join {
		spec = owner.JoinControlPlaneConfig()
	}
	version, err := semver.ParseTolerant(kcp.Spec.Version)
	if err != nil {
		return nil, err
	}
	internal.DefaultFeatureGates(spec, version)
	return spec, nil
}

func (o *controlPlane) infraMachine(kcp *controlplanev1.KubeadmControlPlane, name string, owner metav1.OwnerReference) (*unstructured.Unstructured, error) {
	ref := kcp.Spec.MachineTemplate.Spec.InfrastructureRef
	template := &unstructured.Unstructured{}
	template.SetAPIVersion(ref.APIGroup + "/v1beta1")
	template.SetKind(ref.Kind)
	if err := o.client.Get(context.Background(), client.ObjectKey{Namespace: kcp.Namespace, Name: ref.Name}, template); err != nil {
		return nil, err
	}
	templateRef := &corev1.ObjectReference{APIVersion: template.GetAPIVersion(), Kind: ref.Kind, Namespace: kcp.Namespace, Name: ref.Name}
	return external.GenerateTemplate(&external.GenerateTemplateInput{
		Template: template, TemplateRef: templateRef, Namespace: kcp.Namespace, Name: name, ClusterName: o.cluster.Name, OwnerRef: &owner,
		Labels: internal.ControlPlaneMachineLabelsForCluster(kcp, o.cluster.Name), Annotations: kcp.Spec.MachineTemplate.ObjectMeta.Annotations,
	})
}

// discover fills what the bootstrap controller writes into the configuration of a Machine that
// joins (reconcileDiscovery).
func discover(spec *bootstrapv1.KubeadmConfigSpec) {
	discovery := &spec.JoinConfiguration.Discovery
	if discovery.File.IsDefined() {
		return
	}
	token := &discovery.BootstrapToken
	if len(token.CACertHashes) == 0 {
		token.CACertHashes = []string{"sha256:0000000000000000000000000000000000000000000000000000000000000001"}
	}
	if token.APIServerEndpoint == "" {
		token.APIServerEndpoint = "10.0.0.100:6443"
	}
	if token.Token == "" {
		token.Token = "xxxxxx.0123456789abcdef"
	}
}

// desired is what syncMachines would apply to a Machine and to the objects beside it.
func (o *controlPlane) desired(kcp *controlplanev1.KubeadmControlPlane, name string) (map[string]any, error) {
	machine, err := computeDesiredControlPlaneMachine(&controllers.KubeadmControlPlaneReconciler{Client: o.client}, kcp, o.cluster, o.machines[name].Spec.FailureDomain, o.machines[name])
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

func clusterMap(cluster *clusterv1.Cluster) map[string]any {
	cluster = cluster.DeepCopy()
	cluster.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster"}
	return walker.ToMap(cluster)
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
	ok, _, messages, err = internal.UpToDate(o.machines[name].DeepCopy(), kcp.DeepCopy(), &o.now, o.infra, configs)
	return ok, messages, err
}

type deployment struct {
	*reconcilers
	set     *clusterv1.MachineSet
	machine *clusterv1.Machine
	before  map[string]any
}

// deployment makes one MachineSet and one of its Machines.
func (c *reconcilers) deployment(_ string, stored map[string]any) (walker.Observer, error) {
	md := &clusterv1.MachineDeployment{}
	if err := walker.FromMap(stored, md); err != nil {
		return nil, err
	}
	set, err := c.machineSet(md, nil)
	if err != nil {
		return nil, err
	}
	set.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet"}
	set.Name, set.UID, set.CreationTimestamp, set.Spec.Replicas = "demo-set", "uid-set", moment(capi.Machines), md.Spec.Replicas
	unique := set.Labels[clusterv1.MachineDeploymentUniqueLabel]
	for _, labels := range []map[string]string{set.Labels, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels} {
		if labels[clusterv1.MachineDeploymentUniqueLabel] == unique {
			labels[clusterv1.MachineDeploymentUniqueLabel] = "unique"
		}
	}
	madeSet, made := &clusterv1.MachineSet{}, &clusterv1.Machine{}
	if err := c.server.Made(set, madeSet); err != nil {
		return nil, err
	}
	machine, err := computeDesiredMachine(&machineset.Reconciler{Client: c.client}, madeSet, nil)
	if err != nil {
		return nil, err
	}
	machine.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"}
	machine.Name, machine.UID, machine.CreationTimestamp = "demo-worker", "uid-worker", moment(capi.Machines)
	machine.Spec.Bootstrap.DataSecretName = md.Spec.Template.Spec.Bootstrap.DataSecretName
	if md.Spec.Template.Spec.Bootstrap.ConfigRef.IsDefined() {
		machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: machine.Name}
	}
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capi.InfraGroup, Kind: "DockerMachine", Name: machine.Name}
	if err := c.server.Made(machine, made); err != nil {
		return nil, err
	}
	o := &deployment{reconcilers: c, set: madeSet, machine: made}
	o.before, err = o.desired(md)
	return o, err
}

func (c *reconcilers) machineSet(md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet) (*clusterv1.MachineSet, error) {
	return computeDesiredMachineSet(&machinedeployment.Reconciler{Client: c.client}, context.Background(), md, existing, nil)
}

// desired is what the MachineDeployment would apply to its MachineSet, and that to its Machine.
func (o *deployment) desired(md *clusterv1.MachineDeployment) (map[string]any, error) {
	set, err := o.machineSet(md, o.set)
	if err != nil {
		return nil, err
	}
	machine, err := computeDesiredMachine(&machineset.Reconciler{Client: o.client}, set, o.machine)
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{"labels": machineLabelsFromMachineSet(set), "annotations": machineAnnotationsFromMachineSet(set)}
	return walker.ToMap(map[string]any{
		"machine":         machine,
		"bootstrapConfig": map[string]any{"metadata": metadata},
		"infraMachine":    map[string]any{"metadata": metadata},
		"machineSet":      map[string]any{"spec": set.Spec, "labels": set.Labels, "annotations": set.Annotations},
	}), nil
}

func (o *deployment) Objects() walker.Objects {
	return walker.Objects{
		Cluster:     clusterMap(o.cluster),
		MachineSets: []map[string]any{walker.ToMap(o.set)},
		Machines:    []walker.MachineObjects{{Machine: walker.ToMap(o.machine)}},
	}
}

func (o *deployment) Observe(stored map[string]any) walker.Observation {
	md := &clusterv1.MachineDeployment{}
	if err := walker.FromMap(stored, md); err != nil {
		return walker.Observation{Error: err.Error()}
	}
	answer := walker.Observation{}
	current, reason, err := mdutil.FindNewMachineSet(md, []*clusterv1.MachineSet{o.set.DeepCopy()}, &o.now)
	if err != nil {
		return walker.Observation{Error: err.Error()}
	}
	if current == nil {
		_, _, messages := mdutil.MachineTemplateUpToDate(&o.set.Spec.Template, &md.Spec.Template)
		if len(messages) == 0 {
			messages = []string{reason}
		}
		answer.Outdated = []string{o.machine.Name}
		answer.Why = map[string][]string{o.machine.Name: messages}
	}
	desired, err := o.desired(md)
	if err != nil {
		return walker.Observation{Error: err.Error()}
	}
	for _, path := range walker.Differences(o.before, desired) {
		answer.Propagated = append(answer.Propagated, o.machine.Name+": "+path)
	}
	sort.Strings(answer.Propagated)
	return answer
}
