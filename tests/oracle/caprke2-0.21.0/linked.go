package main

import (
	_ "unsafe" // for go:linkname

	"github.com/rancher/cluster-api-provider-rke2/controlplane/internal/controllers"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"

	controlplanev1 "github.com/rancher/cluster-api-provider-rke2/controlplane/api/v1beta1"
)

// The controller's own function that its package does not export.

//go:linkname computeDesiredMachine github.com/rancher/cluster-api-provider-rke2/controlplane/internal/controllers.(*RKE2ControlPlaneReconciler).computeDesiredMachine
func computeDesiredMachine(r *controllers.RKE2ControlPlaneReconciler, rcp *controlplanev1.RKE2ControlPlane, cluster *clusterv1.Cluster, infraRef, bootstrapRef *corev1.ObjectReference, failureDomain *string, existing *clusterv1.Machine) (*clusterv1.Machine, error)
