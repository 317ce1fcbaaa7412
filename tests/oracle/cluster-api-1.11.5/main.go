// Command oracle records how Cluster API 1.11 answers changes of its objects: its webhooks,
// KubeadmControlPlane's internal.UpToDate and MachineDeployment's mdutil.FindNewMachineSet.
package main

import (
	"context"
	_ "unsafe" // for go:linkname

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/controllers"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/v1beta2"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks"
	expadmission "sigs.k8s.io/cluster-api/exp/webhooks"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment"
	"sigs.k8s.io/cluster-api/internal/controllers/machinedeployment/mdutil"
	"sigs.k8s.io/cluster-api/internal/controllers/machineset"
	coreadmission "sigs.k8s.io/cluster-api/webhooks"
)

func main() { v1beta2.Main(calls()) }

func calls() v1beta2.Calls {
	return v1beta2.Calls{
		Webhooks: webhooks,
		ControlPlaneMachine: func(c client.Client, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, failureDomain string, existing *clusterv1.Machine) (*clusterv1.Machine, error) {
			return computeDesiredControlPlaneMachine(&controllers.KubeadmControlPlaneReconciler{Client: c}, kcp, cluster, failureDomain, existing)
		},
		Config: config, InfraMachine: infraMachine, ControlPlaneMetadata: controlPlaneMetadata,
		MachineSet: func(c client.Client, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet) (*clusterv1.MachineSet, error) {
			return computeDesiredMachineSet(&machinedeployment.Reconciler{Client: c}, context.Background(), md, existing, nil)
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

// config is what the control plane controller makes for a new Machine (scale.go), and what the bootstrap controller
// writes first into the configuration of one that joins (joinControlplane).
func config(kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, join bool, name string) (*bootstrapv1.KubeadmConfig, error) {
	plane := &internal.ControlPlane{KCP: kcp}
	spec := plane.InitialControlPlaneConfig()
	if join {
		spec = plane.JoinControlPlaneConfig()
	}
	version, err := semver.ParseTolerant(kcp.Spec.Version)
	if err != nil {
		return nil, err
	}
	internal.DefaultFeatureGates(spec, version)
	if join && spec.JoinConfiguration.ControlPlane == nil {
		spec.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
	}
	labels, annotations := controlPlaneMetadata(kcp, cluster.Name)
	return &bootstrapv1.KubeadmConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: kcp.Namespace, Labels: labels, Annotations: annotations, OwnerReferences: []metav1.OwnerReference{owner(kcp)}},
		Spec:       *spec,
	}, nil
}

func owner(kcp *controlplanev1.KubeadmControlPlane) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane", Name: kcp.Name, UID: kcp.UID}
}

func controlPlaneMetadata(kcp *controlplanev1.KubeadmControlPlane, cluster string) (labels, annotations map[string]string) {
	return internal.ControlPlaneMachineLabelsForCluster(kcp, cluster), kcp.Spec.MachineTemplate.ObjectMeta.Annotations
}

func infraMachine(c client.Client, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, name string) (*unstructured.Unstructured, error) {
	ref := kcp.Spec.MachineTemplate.Spec.InfrastructureRef
	template := &unstructured.Unstructured{}
	template.SetAPIVersion(ref.APIGroup + "/v1beta1")
	template.SetKind(ref.Kind)
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: kcp.Namespace, Name: ref.Name}, template); err != nil {
		return nil, err
	}
	templateRef := &corev1.ObjectReference{APIVersion: template.GetAPIVersion(), Kind: ref.Kind, Namespace: kcp.Namespace, Name: ref.Name}
	labels, annotations := controlPlaneMetadata(kcp, cluster.Name)
	ownerRef := owner(kcp)
	return external.GenerateTemplate(&external.GenerateTemplateInput{
		Template: template, TemplateRef: templateRef, Namespace: kcp.Namespace, Name: name, ClusterName: cluster.Name, OwnerRef: &ownerRef,
		Labels: labels, Annotations: annotations,
	})
}

func webhooks(c client.Client) []recorder.Webhook {
	getter := func(gk schema.GroupKind) (string, error) { return gk.Group + "/v1beta1", nil }
	clusterv1beta1.SetAPIVersionGetter(getter)
	controlplanev1beta1.SetAPIVersionGetter(getter)
	return []recorder.Webhook{
		&coreadmission.ClusterClass{Client: c}, &coreadmission.Cluster{Client: c}, &coreadmission.Machine{},
		&coreadmission.MachineSet{}, &coreadmission.MachineDeployment{}, &coreadmission.MachineDrainRule{},
		&expadmission.MachinePool{}, &coreadmission.ClusterResourceSet{}, &coreadmission.MachineHealthCheck{},
		&bootstrapadmission.KubeadmConfig{}, &bootstrapadmission.KubeadmConfigTemplate{},
		&controlplaneadmission.KubeadmControlPlane{}, &controlplaneadmission.KubeadmControlPlaneTemplate{},
	}
}

func upToDate(_ client.Client, _ *clusterv1.Cluster, machine *clusterv1.Machine, kcp *controlplanev1.KubeadmControlPlane, now *metav1.Time, infra map[string]*unstructured.Unstructured, configs map[string]*bootstrapv1.KubeadmConfig) (bool, []string, error) {
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
