// Package uptodate calls the comparison of Cluster API 1.9 and 1.10.
package uptodate

import (
	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/controlplane/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta1"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment/mdutil"
)

// Calls are those of both versions; Machine is that of 1.9.
func Calls() v1beta1.Calls {
	return v1beta1.Calls{
		Kubeadm: "kubeadm.k8s.io/v1beta4", Default: featureGates,
		ControlPlaneMachine: v1beta1.ControlPlaneMachine, MachineSet: v1beta1.MachineSet, Machine: v1beta1.Machine,
		UpToDate: upToDate, Found: found,
	}
}

func featureGates(spec *bootstrapv1.KubeadmConfigSpec, kubernetes string) error {
	version, err := semver.ParseTolerant(kubernetes)
	if err == nil {
		internal.DefaultFeatureGates(spec, version)
	}
	return err
}

func upToDate(machine *clusterv1.Machine, kcp *controlplanev1.KubeadmControlPlane, now *metav1.Time, infra map[string]*unstructured.Unstructured, configs map[string]*bootstrapv1.KubeadmConfig) (bool, []string, error) {
	ok, _, messages, err := internal.UpToDate(machine, kcp, now, infra, configs)
	return ok, messages, err
}

func found(md *clusterv1.MachineDeployment, set *clusterv1.MachineSet, now *metav1.Time) (bool, []string, error) {
	current, reason, err := mdutil.FindNewMachineSet(md, []*clusterv1.MachineSet{set}, now)
	if current != nil || err != nil {
		return current != nil, nil, err
	}
	_, _, messages := mdutil.MachineTemplateUpToDate(&set.Spec.Template, &md.Spec.Template)
	if len(messages) == 0 {
		messages = []string{reason}
	}
	return false, messages, nil
}
