// Package v1beta2 records Cluster API from 1.11 on, whose objects are stored in v1beta2: what the admission webhooks answer,
// and what the controllers compare. How a version calls its comparison it says by Calls.
package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/watch"

	"rollgate.dev/oracle/walker/capi"
)

// contracts are the labels of providers' CRDs: infrastructure still serves v1beta1 only, so that a
// reference written in v1beta1 comes back as it was written.
func contracts(group string) map[string]string {
	if group == capi.InfraGroup {
		return map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"}
	}
	return map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"}
}

// reconcilers make what the controllers would have made for an object, and ask them.
type reconcilers struct {
	calls   Calls
	cluster *clusterv1.Cluster
}

// Main records one version.
func Main(calls Calls) {
	cluster := &clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", UID: "uid-cluster"},
	}
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.0.0.100", Port: 6443}
	ask := &reconcilers{calls: calls, cluster: cluster}
	watch.Main(watch.Generation{
		Gates: "ClusterTopology=true",
		Schemes: []func(*runtime.Scheme) error{
			clusterv1.AddToScheme, clusterv1beta1.AddToScheme, addonsv1.AddToScheme, addonsv1beta1.AddToScheme,
			bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme, controlplanev1.AddToScheme, controlplanev1beta1.AddToScheme,
		},
		Contracts: contracts, Cluster: cluster, Core: calls.Core, Webhooks: calls.Webhooks,
		ControlPlane: ask.controlPlane, Deployment: ask.deployment, More: capi.More(),
	})
}
