package v1beta1

import (
	"sort"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

// deployment is a MachineDeployment with one MachineSet and one of its Machines.
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
	set, err := c.calls.MachineSet(c.client, md, nil)
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
	machine, err := c.calls.Machine(c.client, madeSet, nil)
	if err != nil {
		return nil, err
	}
	machine.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"}
	machine.Name, machine.UID, machine.CreationTimestamp = "demo-worker", "uid-worker", moment(capi.Machines)
	machine.Spec.Bootstrap.DataSecretName = md.Spec.Template.Spec.Bootstrap.DataSecretName
	if md.Spec.Template.Spec.Bootstrap.ConfigRef != nil {
		machine.Spec.Bootstrap.ConfigRef = &corev1.ObjectReference{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfig", Namespace: md.Namespace, Name: machine.Name}
	}
	machine.Spec.InfrastructureRef = corev1.ObjectReference{APIVersion: capi.InfraGroup + "/v1beta1", Kind: "DockerMachine", Namespace: md.Namespace, Name: machine.Name}
	if err := c.server.Made(machine, made); err != nil {
		return nil, err
	}
	o := &deployment{reconcilers: c, set: madeSet, machine: made}
	o.before, err = o.desired(md)
	return o, err
}

// desired is what the MachineDeployment would apply to its MachineSet, and that to its Machine.
func (o *deployment) desired(md *clusterv1.MachineDeployment) (map[string]any, error) {
	set, err := o.calls.MachineSet(o.client, md, o.set)
	if err != nil {
		return nil, err
	}
	machine, err := o.calls.Machine(o.client, set, o.machine)
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
	found, messages, err := o.calls.Found(md, o.set.DeepCopy(), &o.now)
	if err != nil {
		return walker.Observation{Error: err.Error()}
	}
	if !found {
		answer.Outdated = []string{o.machine.Name}
		if len(messages) > 0 {
			answer.Why = map[string][]string{o.machine.Name: messages}
		}
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
