// Command oracle records how Cluster API 1.7 answers changes of its objects: its webhooks,
// KubeadmControlPlane's internal.NeedsRollout and MachineDeployment's mdutil.FindNewMachineSet.
package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/controlplane/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1/needsrollout"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment/mdutil"
)

func main() {
	calls := needsrollout.Calls()
	calls.UpToDate, calls.Found = upToDate, found
	v1beta1.Main(calls)
}

func upToDate(machine *clusterv1.Machine, kcp *controlplanev1.KubeadmControlPlane, now *metav1.Time, infra map[string]*unstructured.Unstructured, configs map[string]*bootstrapv1.KubeadmConfig) (bool, []string, error) {
	reason, needed := internal.NeedsRollout(now, kcp.Spec.RolloutAfter, kcp.Spec.RolloutBefore, infra, configs, kcp, machine)
	return !needed, needsrollout.Before(reason, ": diff:"), nil
}

func found(md *clusterv1.MachineDeployment, set *clusterv1.MachineSet, now *metav1.Time) (bool, []string, error) {
	return mdutil.FindNewMachineSet(md, []*clusterv1.MachineSet{set}, now) != nil, nil, nil
}
