// Command oracle records how Cluster API 1.6 answers changes of its objects: its webhooks,
// KubeadmControlPlane's internal.NeedsRollout and MachineDeployment's mdutil.FindNewMachineSet.
package main

import (
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/controlplane/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/controllers"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1/needsrollout"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment/mdutil"
)

func main() {
	calls := needsrollout.Calls()
	calls.Kubeadm, calls.UpToDate, calls.Found = "kubeadm.k8s.io/v1beta1", upToDate, found
	calls.ControlPlaneMachine, calls.MachineSet = controlPlaneMachine, machineSet
	v1beta1.Main(calls)
}

func upToDate(machine *clusterv1.Machine, kcp *controlplanev1.KubeadmControlPlane, now *metav1.Time, infra map[string]*unstructured.Unstructured, configs map[string]*bootstrapv1.KubeadmConfig) (bool, []string, error) {
	reason, needed := internal.NeedsRollout(now, kcp.Spec.RolloutAfter, kcp.Spec.RolloutBefore, infra, configs, kcp, machine)
	return !needed, needsrollout.Before(reason, ": diff:"), nil
}

func found(md *clusterv1.MachineDeployment, set *clusterv1.MachineSet, now *metav1.Time) (bool, []string, error) {
	return mdutil.FindNewMachineSet(md, []*clusterv1.MachineSet{set}, now) != nil, nil, nil
}

func controlPlaneMachine(c client.Client, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, failureDomain *string, existing *clusterv1.Machine) (*clusterv1.Machine, error) {
	infra, bootstrap := &corev1.ObjectReference{}, &corev1.ObjectReference{}
	if existing != nil {
		infra, bootstrap = &existing.Spec.InfrastructureRef, existing.Spec.Bootstrap.ConfigRef
	}
	return computeDesiredControlPlaneMachine(&controllers.KubeadmControlPlaneReconciler{Client: c}, kcp, cluster, infra, bootstrap, failureDomain, existing)
}

func machineSet(c client.Client, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet) (*clusterv1.MachineSet, error) {
	return computeDesiredMachineSet(&machinedeployment.Reconciler{Client: c}, md, existing, nil, logr.Discard())
}

// The controllers' own functions that their packages do not export, where 1.7 has others.

//go:linkname computeDesiredControlPlaneMachine sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/controllers.(*KubeadmControlPlaneReconciler).computeDesiredMachine
func computeDesiredControlPlaneMachine(r *controllers.KubeadmControlPlaneReconciler, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, infraRef, bootstrapRef *corev1.ObjectReference, failureDomain *string, existing *clusterv1.Machine) (*clusterv1.Machine, error)

//go:linkname computeDesiredMachineSet sigs.k8s.io/cluster-api/internal/controllers/machinedeployment.(*Reconciler).computeDesiredMachineSet
func computeDesiredMachineSet(r *machinedeployment.Reconciler, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet, old []*clusterv1.MachineSet, log logr.Logger) (*clusterv1.MachineSet, error)
