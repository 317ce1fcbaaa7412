package v1beta1

import (
	"context"
	_ "unsafe" // for go:linkname

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/controlplane/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/controllers"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment"
	"sigs.k8s.io/cluster-api/internal/controllers/machineset"
)

// Calls are the controllers' own functions, in the form that one version has.
type Calls struct {
	// Kubeadm is the version that the bootstrap controller writes into configurations it completes.
	Kubeadm string
	// Default changes the configuration of a new control plane Machine; nil where a version does not.
	Default func(spec *bootstrapv1.KubeadmConfigSpec, kubernetes string) error
	// ControlPlaneMachine is the Machine that a control plane wants, from none or from the one that it has.
	ControlPlaneMachine func(c client.Client, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, failureDomain *string, existing *clusterv1.Machine) (*clusterv1.Machine, error)
	// MachineSet is what a MachineDeployment wants, from none or from the one that it has.
	MachineSet func(c client.Client, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet) (*clusterv1.MachineSet, error)
	// Machine is what a MachineSet wants, from none or from the one that it has.
	Machine func(c client.Client, set *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error)
	// UpToDate compares a control plane Machine with its owner; the messages say what differs.
	UpToDate func(machine *clusterv1.Machine, kcp *controlplanev1.KubeadmControlPlane, now *metav1.Time, infra map[string]*unstructured.Unstructured, configs map[string]*bootstrapv1.KubeadmConfig) (bool, []string, error)
	// Found says whether a MachineSet is the one that its MachineDeployment wants; the messages say what differs.
	Found func(md *clusterv1.MachineDeployment, set *clusterv1.MachineSet, now *metav1.Time) (bool, []string, error)
}

// ControlPlaneMachine is Calls.ControlPlaneMachine since 1.7.
func ControlPlaneMachine(c client.Client, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, failureDomain *string, existing *clusterv1.Machine) (*clusterv1.Machine, error) {
	return computeDesiredControlPlaneMachine(&controllers.KubeadmControlPlaneReconciler{Client: c}, kcp, cluster, failureDomain, existing)
}

// MachineSet is Calls.MachineSet since 1.7.
func MachineSet(c client.Client, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet) (*clusterv1.MachineSet, error) {
	return computeDesiredMachineSet(&machinedeployment.Reconciler{Client: c}, context.Background(), md, existing, nil)
}

// Machine is Calls.Machine up to 1.9.
func Machine(c client.Client, set *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error) {
	return computeDesiredMachine(&machineset.Reconciler{Client: c}, set, existing), nil
}

// The controllers' own functions that their packages do not export. Nothing compares these forms with the ones that a version has: called in
// another form they read results that nobody wrote, so each may be called only by the versions that its caller above names.

//go:linkname computeDesiredControlPlaneMachine sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/controllers.(*KubeadmControlPlaneReconciler).computeDesiredMachine
func computeDesiredControlPlaneMachine(r *controllers.KubeadmControlPlaneReconciler, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, failureDomain *string, existing *clusterv1.Machine) (*clusterv1.Machine, error)

//go:linkname computeDesiredMachineSet sigs.k8s.io/cluster-api/internal/controllers/machinedeployment.(*Reconciler).computeDesiredMachineSet
func computeDesiredMachineSet(r *machinedeployment.Reconciler, ctx context.Context, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet, old []*clusterv1.MachineSet) (*clusterv1.MachineSet, error)

//go:linkname computeDesiredMachine sigs.k8s.io/cluster-api/internal/controllers/machineset.(*Reconciler).computeDesiredMachine
func computeDesiredMachine(r *machineset.Reconciler, ms *clusterv1.MachineSet, existing *clusterv1.Machine) *clusterv1.Machine

//go:linkname machineLabelsFromMachineSet sigs.k8s.io/cluster-api/internal/controllers/machineset.machineLabelsFromMachineSet
func machineLabelsFromMachineSet(ms *clusterv1.MachineSet) map[string]string

//go:linkname machineAnnotationsFromMachineSet sigs.k8s.io/cluster-api/internal/controllers/machineset.machineAnnotationsFromMachineSet
func machineAnnotationsFromMachineSet(ms *clusterv1.MachineSet) map[string]string
