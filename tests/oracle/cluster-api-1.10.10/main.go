// Command oracle records how Cluster API 1.10 answers changes of its objects: its webhooks,
// KubeadmControlPlane's internal.UpToDate and MachineDeployment's mdutil.FindNewMachineSet.
package main

import (
	_ "unsafe" // for go:linkname

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1/uptodate"
	"sigs.k8s.io/cluster-api/internal/controllers/machineset"
)

func main() {
	calls := uptodate.Calls()
	calls.Machine = machine
	v1beta1.Main(calls)
}

func machine(c client.Client, set *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error) {
	return computeDesiredMachine(&machineset.Reconciler{Client: c}, set, existing)
}

// The controller's own function that its package does not export, where 1.9 returns no error.

//go:linkname computeDesiredMachine sigs.k8s.io/cluster-api/internal/controllers/machineset.(*Reconciler).computeDesiredMachine
func computeDesiredMachine(r *machineset.Reconciler, ms *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error)
