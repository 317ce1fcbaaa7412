// Package needsrollout holds what the calls of Cluster API 1.6 to 1.8 share.
package needsrollout

import (
	"strings"

	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1"
)

// Calls are those that no version has of its own; the comparisons are missing.
func Calls() v1beta1.Calls {
	return v1beta1.Calls{
		Kubeadm:             "kubeadm.k8s.io/v1beta4",
		ControlPlaneMachine: v1beta1.ControlPlaneMachine, MachineSet: v1beta1.MachineSet, Machine: v1beta1.Machine,
	}
}

// Before is the part of a reason before a mark. What follows is a diff whose layout is not stable.
func Before(reason, mark string) []string {
	if reason, _, _ = strings.Cut(reason, mark); reason != "" {
		return []string{reason}
	}
	return nil
}
