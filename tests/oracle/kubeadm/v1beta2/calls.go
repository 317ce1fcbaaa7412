package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder"
)

// Calls are the controllers' own functions, in the form that one version has.
type Calls struct {
	// Core is the module's folder that holds the core's configuration.
	Core string
	// Webhooks are those of all kinds, ready to convert.
	Webhooks func(c client.Client) []recorder.Webhook
	// ControlPlaneMachine is the Machine that a control plane wants, from none or from the one that it has.
	ControlPlaneMachine func(c client.Client, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, failureDomain string, existing *clusterv1.Machine) (*clusterv1.Machine, error)
	// Config is the bootstrap configuration of a new control plane Machine.
	Config func(kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, join bool, name string) (*bootstrapv1.KubeadmConfig, error)
	// InfraMachine is the infra Machine of a new control plane Machine.
	InfraMachine func(c client.Client, kcp *controlplanev1.KubeadmControlPlane, cluster *clusterv1.Cluster, name string) (*unstructured.Unstructured, error)
	// ControlPlaneMetadata are the labels and annotations of the objects beside a control plane Machine.
	ControlPlaneMetadata func(kcp *controlplanev1.KubeadmControlPlane, cluster string) (labels, annotations map[string]string)
	// MachineSet is what a MachineDeployment wants, from none or from the one that it has.
	MachineSet func(c client.Client, md *clusterv1.MachineDeployment, existing *clusterv1.MachineSet) (*clusterv1.MachineSet, error)
	// Machine is what a MachineSet wants, from none or from the one that it has.
	Machine func(c client.Client, set *clusterv1.MachineSet, existing *clusterv1.Machine) (*clusterv1.Machine, error)
	// Metadata are the labels and annotations of the objects beside a worker's Machine.
	Metadata func(set *clusterv1.MachineSet) (labels, annotations map[string]string)
	// UpToDate compares a control plane Machine with its owner; the messages say what differs.
	UpToDate func(c client.Client, cluster *clusterv1.Cluster, machine *clusterv1.Machine, kcp *controlplanev1.KubeadmControlPlane, now *metav1.Time, infra map[string]*unstructured.Unstructured, configs map[string]*bootstrapv1.KubeadmConfig) (bool, []string, error)
	// Found says whether a MachineSet is the one that its MachineDeployment wants; the messages say what differs.
	Found func(md *clusterv1.MachineDeployment, set *clusterv1.MachineSet, now *metav1.Time) (bool, []string, error)
}
