package main

import (
	"context"
	_ "unsafe" // for go:linkname

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/controllers"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment"
	"sigs.k8s.io/cluster-api/internal/controllers/machineset"
)

// The controllers' own functions that their packages do not export.

//go:linkname computeDesiredControlPlaneMachine sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/controllers.(*KubeadmControlPlaneReconciler).computeDesiredMachine
func computeDesiredControlPlaneMachine(r *controllers.KubeadmControlPlaneReconciler, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, failureDomain string, existing *clusterv1.Machine) (*clusterv1.Machine, error)

//go:linkname computeDesiredMachineSet sigs.k8s.io/cluster-api/internal/controllers/machinedeployment.(*Reconciler).computeDesiredMachineSet
func computeDesiredMachineSet(r *machinedeployment.Reconciler, ctx context.Context, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet, old []*clusterv1.MachineSet) (*clusterv1.MachineSet, error)

//go:linkname computeDesiredMachine sigs.k8s.io/cluster-api/internal/controllers/machineset.(*Reconciler).computeDesiredMachine
func computeDesiredMachine(r *machineset.Reconciler, ms *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error)

//go:linkname machineLabelsFromMachineSet sigs.k8s.io/cluster-api/internal/controllers/machineset.machineLabelsFromMachineSet
func machineLabelsFromMachineSet(ms *clusterv1.MachineSet) map[string]string

//go:linkname machineAnnotationsFromMachineSet sigs.k8s.io/cluster-api/internal/controllers/machineset.machineAnnotationsFromMachineSet
func machineAnnotationsFromMachineSet(ms *clusterv1.MachineSet) map[string]string
