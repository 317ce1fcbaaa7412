package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/desiredstate"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment/mdutil"
	"sigs.k8s.io/cluster-api/internal/controllers/machineset"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

// controllers makes what the controllers would have made for an object, and asks them.
type controllers struct {
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
	*controllers
	names    []string
	machines map[string]*clusterv1.Machine
	configs  map[string]*bootstrapv1.KubeadmConfig
	infra    map[string]*unstructured.Unstructured
	before   map[string]map[string]any
}

// controlPlane makes three objects for the Machine that kubeadm init made and for one that joined.
func (c *controllers) controlPlane(_ string, stored map[string]any) (walker.Observer, error) {
	kcp := &controlplanev1.KubeadmControlPlane{}
	if err := walker.FromMap(stored, kcp); err != nil {
		return nil, err
	}
	o := &controlPlane{
		controllers: c, machines: map[string]*clusterv1.Machine{}, configs: map[string]*bootstrapv1.KubeadmConfig{},
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
	ctx := context.Background()
	machine, err := desiredstate.ComputeDesiredMachine(kcp, o.cluster, "fd-a", nil)
	if err != nil {
		return err
	}
	config, err := desiredstate.ComputeDesiredKubeadmConfig(kcp, o.cluster, join, name, nil)
	if err != nil {
		return err
	}
	infra, err := desiredstate.ComputeDesiredInfraMachine(ctx, o.client, kcp, o.cluster, name, nil)
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
	machine, err := desiredstate.ComputeDesiredMachine(kcp, o.cluster, o.machines[name].Spec.FailureDomain, o.machines[name])
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{
		"labels":      desiredstate.ControlPlaneMachineLabels(kcp, o.cluster.Name),
		"annotations": desiredstate.ControlPlaneMachineAnnotations(kcp),
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
		upToDate, result, err := o.upToDate(kcp, name)
		if err != nil {
			return walker.Observation{Error: err.Error()}
		}
		if !upToDate {
			answer.Outdated = append(answer.Outdated, name)
			answer.Why[name] = result.ConditionMessages
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

func (o *controlPlane) upToDate(kcp *controlplanev1.KubeadmControlPlane, name string) (ok bool, result *internal.UpToDateResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return internal.UpToDate(context.Background(), o.client, o.cluster, o.machines[name].DeepCopy(), kcp.DeepCopy(), &o.now, o.infra, o.configs)
}

type deployment struct {
	*controllers
	set     *clusterv1.MachineSet
	machine *clusterv1.Machine
	before  map[string]any
}

// deployment makes one MachineSet and one of its Machines.
func (c *controllers) deployment(_ string, stored map[string]any) (walker.Observer, error) {
	md := &clusterv1.MachineDeployment{}
	if err := walker.FromMap(stored, md); err != nil {
		return nil, err
	}
	set, err := computeDesiredMachineSet(context.Background(), md, nil)
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
	o := &deployment{controllers: c, set: madeSet, machine: made}
	o.before, err = o.desired(md)
	return o, err
}

// desired is what the MachineDeployment would apply to its MachineSet, and that to its Machine.
func (o *deployment) desired(md *clusterv1.MachineDeployment) (map[string]any, error) {
	set, err := computeDesiredMachineSet(context.Background(), md, o.set)
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
	current, _, results, reason := mdutil.FindNewAndOldMachineSets(md, []*clusterv1.MachineSet{o.set.DeepCopy()}, o.now)
	if current == nil {
		answer.Outdated = []string{o.machine.Name}
		messages := results[o.set.Name].ConditionMessages
		if len(messages) == 0 {
			messages = []string{reason}
		}
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
