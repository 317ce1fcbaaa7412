// Package needsrollout holds what the calls of Cluster API 1.6 to 1.8 share.
package needsrollout

import (
	"strings"
	_ "unsafe" // for go:linkname

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1"
	"sigs.k8s.io/cluster-api/internal/controllers/machineset"
)

// Calls are those that no version has of its own; the comparisons are missing.
func Calls() v1beta1.Calls {
	return v1beta1.Calls{
		Kubeadm:             "kubeadm.k8s.io/v1beta4",
		ControlPlaneMachine: v1beta1.ControlPlaneMachine, MachineSet: v1beta1.MachineSet, Machine: machine,
	}
}

// Before is the part of a reason before a mark. What follows is a diff whose layout is not stable.
func Before(reason, mark string) []string {
	if reason, _, _ = strings.Cut(reason, mark); reason != "" {
		return []string{reason}
	}
	return nil
}

func machine(c client.Client, set *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error) {
	return computeDesiredMachine(&machineset.Reconciler{Client: c}, set, existing), nil
}

//go:linkname computeDesiredMachine sigs.k8s.io/cluster-api/internal/controllers/machineset.(*Reconciler).computeDesiredMachine
func computeDesiredMachine(r *machineset.Reconciler, ms *clusterv1.MachineSet, existing *clusterv1.Machine) *clusterv1.Machine
