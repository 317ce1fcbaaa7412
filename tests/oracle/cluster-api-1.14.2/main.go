// Command oracle records how Cluster API 1.14 answers changes of its objects: its webhooks,
// KubeadmControlPlane's pkg.UpToDate and MachineDeployment's mdutil.FindNewAndOldMachineSets.
package main

import (
	"context"
	_ "unsafe" // for go:linkname

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/desiredstate"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta2"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	controlplaneconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	_ "sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment" // for computeDesiredMachineSet
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment/mdutil"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	coreconversion "sigs.k8s.io/cluster-api/core/webhooks/conversion"
)

func main() { v1beta2.Main(calls()) }

func calls() v1beta2.Calls {
	return v1beta2.Calls{
		Core: "core", Webhooks: webhooks,
		ControlPlaneMachine: func(_ client.Client, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, failureDomain string, existing *clusterv1.Machine) (*clusterv1.Machine, error) {
			return desiredstate.ComputeDesiredMachine(kcp, cluster, failureDomain, existing)
		},
		Config: func(kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, join bool, name string) (*bootstrapv1.KubeadmConfig, error) {
			return desiredstate.ComputeDesiredKubeadmConfig(kcp, cluster, join, name, nil)
		},
		InfraMachine: func(c client.Client, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, name string) (*unstructured.Unstructured, error) {
			return desiredstate.ComputeDesiredInfraMachine(context.Background(), c, kcp, cluster, name, nil)
		},
		ControlPlaneMetadata: func(kcp *controlplanev1.KubeadmControlPlane, cluster string) (labels, annotations map[string]string) {
			return desiredstate.ControlPlaneMachineLabels(kcp, cluster), desiredstate.ControlPlaneMachineAnnotations(kcp)
		},
		MachineSet: func(_ client.Client, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet) (*clusterv1.MachineSet, error) {
			return computeDesiredMachineSet(context.Background(), md, existing)
		},
		Machine: func(c client.Client, set *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error) {
			return computeDesiredMachine(&machineset.Reconciler{Client: c}, set, existing)
		},
		Metadata: func(set *clusterv1.MachineSet) (labels, annotations map[string]string) {
			return machineLabelsFromMachineSet(set), machineAnnotationsFromMachineSet(set)
		},
		UpToDate: upToDate, Found: found,
	}
}

func webhooks(c client.Client) []recorder.Webhook {
	getter := func(_ context.Context, gk schema.GroupKind) (string, error) { return gk.Group + "/v1beta1", nil }
	coreconversion.SetAPIVersionGetter(getter)
	controlplaneconversion.SetAPIVersionGetter(getter)
	return []recorder.Webhook{
		&coreadmission.ClusterClass{Client: c}, &coreadmission.Cluster{Client: c}, &coreadmission.Machine{},
		&coreadmission.MachineSet{}, &coreadmission.MachineDeployment{}, &coreadmission.MachineDrainRule{},
		&coreadmission.MachinePool{}, &coreadmission.ClusterResourceSet{}, &coreadmission.MachineHealthCheck{},
		&bootstrapadmission.KubeadmConfig{}, &bootstrapadmission.KubeadmConfigTemplate{},
		&controlplaneadmission.KubeadmControlPlane{}, &controlplaneadmission.KubeadmControlPlaneTemplate{},
	}
}

func upToDate(c client.Client, cluster *clusterv1.Cluster, machine *clusterv1.Machine, kcp *controlplanev1.KubeadmControlPlane, now *metav1.Time, infra map[string]*unstructured.Unstructured, configs map[string]*bootstrapv1.KubeadmConfig) (bool, []string, error) {
	ok, result, err := pkg.UpToDate(context.Background(), c, cluster, machine, kcp, now, infra, configs)
	if result == nil {
		return ok, nil, err
	}
	return ok, result.ConditionMessages, err
}

func found(md *clusterv1.MachineDeployment, set *clusterv1.MachineSet, now *metav1.Time) (bool, []string, error) {
	current, _, results, reason := mdutil.FindNewAndOldMachineSets(md, []*clusterv1.MachineSet{set}, *now)
	if current != nil {
		return true, nil, nil
	}
	if messages := results[set.Name].ConditionMessages; len(messages) > 0 {
		return false, messages, nil
	}
	return false, []string{reason}, nil
}

// The controllers' own functions that their packages do not export.

//go:linkname computeDesiredMachineSet sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment.computeDesiredMS
func computeDesiredMachineSet(ctx context.Context, md *clusterv1.MachineDeployment, current *clusterv1.MachineSet) (*clusterv1.MachineSet, error)

//go:linkname computeDesiredMachine sigs.k8s.io/cluster-api/core/reconcilers/machineset.(*Reconciler).computeDesiredMachine
func computeDesiredMachine(r *machineset.Reconciler, ms *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error)

//go:linkname machineLabelsFromMachineSet sigs.k8s.io/cluster-api/core/reconcilers/machineset.machineLabelsFromMachineSet
func machineLabelsFromMachineSet(ms *clusterv1.MachineSet) map[string]string

//go:linkname machineAnnotationsFromMachineSet sigs.k8s.io/cluster-api/core/reconcilers/machineset.machineAnnotationsFromMachineSet
func machineAnnotationsFromMachineSet(ms *clusterv1.MachineSet) map[string]string
