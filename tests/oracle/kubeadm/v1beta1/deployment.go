package v1beta1

import (
	corev1 "k8s.io/api/core/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/watch"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

// deployment makes one MachineSet and one of its Machines.
func (c *reconcilers) deployment(e *watch.Environment, stored map[string]any) (walker.Observer, error) {
	md := &clusterv1.MachineDeployment{}
	if err := walker.FromMap(stored, md); err != nil {
		return nil, err
	}
	workers := &watch.Workers[clusterv1.MachineDeployment, *clusterv1.MachineSet, *clusterv1.Machine]{
		Environment: e, Cluster: c.cluster, Set: &clusterv1.MachineSet{}, Machine: &clusterv1.Machine{},
		WantedSet: c.calls.MachineSet, WantedMachine: c.calls.Machine, Found: c.calls.Found,
		Metadata: func(set *clusterv1.MachineSet) (labels, annotations map[string]string) {
			return machineLabelsFromMachineSet(set), machineAnnotationsFromMachineSet(set)
		},
	}
	err := workers.Make(md, func(set *clusterv1.MachineSet) {
		watch.Age(set, clusterv1.GroupVersion.WithKind("MachineSet"), "demo-set", "uid-set")
		set.Spec.Replicas = md.Spec.Replicas
		watch.Unique(clusterv1.MachineDeploymentUniqueLabel, set.Labels, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels)
	}, func(machine *clusterv1.Machine) {
		watch.Age(machine, clusterv1.GroupVersion.WithKind("Machine"), watch.Worker, "uid-worker")
		bootstrap := md.Spec.Template.Spec.Bootstrap
		machine.Spec.Bootstrap.DataSecretName = bootstrap.DataSecretName
		if bootstrap.ConfigRef != nil {
			machine.Spec.Bootstrap.ConfigRef = &corev1.ObjectReference{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfig", Namespace: md.Namespace, Name: machine.Name}
		}
		machine.Spec.InfrastructureRef = corev1.ObjectReference{APIVersion: capi.InfraGroup + "/v1beta1", Kind: "DockerMachine", Namespace: md.Namespace, Name: machine.Name}
	})
	if err != nil {
		return nil, err
	}
	return watch.Observe(md, workers)
}
