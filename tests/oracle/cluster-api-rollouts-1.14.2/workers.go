package main

import (
	"context"
	_ "unsafe" // for go:linkname

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/watch"
	_ "sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment" // for computeDesiredMachineSet
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment/mdutil"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

// deployment gives the template of a MachineSet an owner of the same template.
func (a *all) deployment(one comparison) {
	owner := func(template map[string]any) map[string]any {
		return framed("MachineDeployment", "cluster.x-k8s.io/v1beta2", map[string]any{"spec": map[string]any{"template": template}})
	}
	a.base("cluster.x-k8s.io", "MachineDeployment", one.Test, owner(one.MachineTemplateSpec), owner(one.Wanted), func(_ string, stored map[string]any) (walker.Observer, error) {
		return a.workers(stored)
	})
}

func (a *all) workers(stored map[string]any) (walker.Observer, error) {
	md := &clusterv1.MachineDeployment{}
	if err := walker.FromMap(stored, md); err != nil {
		return nil, err
	}
	workers := &watch.Workers[clusterv1.MachineDeployment, *clusterv1.MachineSet, *clusterv1.Machine]{
		Environment: a.e, Cluster: a.cluster, Set: &clusterv1.MachineSet{}, Machine: &clusterv1.Machine{},
		WantedSet: func(_ client.Client, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet) (*clusterv1.MachineSet, error) {
			return computeDesiredMachineSet(context.Background(), md, existing)
		},
		WantedMachine: func(c client.Client, set *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error) {
			return computeDesiredMachine(&machineset.Reconciler{Client: c}, set, existing)
		},
		Metadata: func(set *clusterv1.MachineSet) (labels, annotations map[string]string) {
			return machineLabelsFromMachineSet(set), machineAnnotationsFromMachineSet(set)
		},
		Found: found,
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

func found(md *clusterv1.MachineDeployment, set *clusterv1.MachineSet, now *metav1.Time) (bool, []string, error) {
	current, _, results, reason := mdutil.FindNewAndOldMachineSets(md, []*clusterv1.MachineSet{set}, *now)
	if current != nil {
		return true, nil, nil
	}
	if messages := results[set.Name].ConditionMessages; len(messages) > 0 {
		return false, messages, nil
	}
	return false, []string{reason}, nil
}

// The controllers' own functions that their packages do not export.

//go:linkname computeDesiredMachineSet sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment.computeDesiredMS
func computeDesiredMachineSet(ctx context.Context, md *clusterv1.MachineDeployment, current *clusterv1.MachineSet) (*clusterv1.MachineSet, error)

//go:linkname computeDesiredMachine sigs.k8s.io/cluster-api/core/reconcilers/machineset.(*Reconciler).computeDesiredMachine
func computeDesiredMachine(r *machineset.Reconciler, ms *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error)

//go:linkname machineLabelsFromMachineSet sigs.k8s.io/cluster-api/core/reconcilers/machineset.machineLabelsFromMachineSet
func machineLabelsFromMachineSet(ms *clusterv1.MachineSet) map[string]string

//go:linkname machineAnnotationsFromMachineSet sigs.k8s.io/cluster-api/core/reconcilers/machineset.machineAnnotationsFromMachineSet
func machineAnnotationsFromMachineSet(ms *clusterv1.MachineSet) map[string]string
