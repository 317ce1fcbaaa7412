package v1beta2

import (
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
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
		WantedSet: c.calls.MachineSet, WantedMachine: c.calls.Machine, Metadata: c.calls.Metadata, Found: c.calls.Found,
	}
	err := workers.Make(md, func(set *clusterv1.MachineSet) {
		watch.Age(set, clusterv1.GroupVersion.WithKind("MachineSet"), "demo-set", "uid-set")
		set.Spec.Replicas = md.Spec.Replicas
		watch.Unique(clusterv1.MachineDeploymentUniqueLabel, set.Labels, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels)
	}, func(machine *clusterv1.Machine) {
		watch.Age(machine, clusterv1.GroupVersion.WithKind("Machine"), watch.Worker, "uid-worker")
		bootstrap := md.Spec.Template.Spec.Bootstrap
		machine.Spec.Bootstrap.DataSecretName = bootstrap.DataSecretName
		if bootstrap.ConfigRef.IsDefined() {
			machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: machine.Name}
		}
		machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capi.InfraGroup, Kind: "DockerMachine", Name: machine.Name}
	})
	if err != nil {
		return nil, err
	}
	return watch.Observe(md, workers)
}
