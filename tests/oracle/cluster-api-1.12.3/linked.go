package main

import (
	"context"
	_ "unsafe" // for go:linkname

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	_ "sigs.k8s.io/cluster-api/internal/controllers/machinedeployment" // for computeDesiredMachineSet
	"sigs.k8s.io/cluster-api/internal/controllers/machineset"
)

// The controllers' own functions that their packages do not export.

//go:linkname computeDesiredMachineSet sigs.k8s.io/cluster-api/internal/controllers/machinedeployment.computeDesiredMS
func computeDesiredMachineSet(ctx context.Context, md *clusterv1.MachineDeployment, current *clusterv1.MachineSet) (*clusterv1.MachineSet, error)

//go:linkname computeDesiredMachine sigs.k8s.io/cluster-api/internal/controllers/machineset.(*Reconciler).computeDesiredMachine
func computeDesiredMachine(r *machineset.Reconciler, ms *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error)

//go:linkname machineLabelsFromMachineSet sigs.k8s.io/cluster-api/internal/controllers/machineset.machineLabelsFromMachineSet
func machineLabelsFromMachineSet(ms *clusterv1.MachineSet) map[string]string

//go:linkname machineAnnotationsFromMachineSet sigs.k8s.io/cluster-api/internal/controllers/machineset.machineAnnotationsFromMachineSet
func machineAnnotationsFromMachineSet(ms *clusterv1.MachineSet) map[string]string
