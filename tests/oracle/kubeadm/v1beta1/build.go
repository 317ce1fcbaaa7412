// Package v1beta1 records Cluster API up to 1.10, whose objects are v1beta1: what the admission webhooks answer, and what
// the controllers compare. How a version calls its comparison it says by Calls.
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	bootstrapwebhooks "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks"
	controlplanev1 "sigs.k8s.io/cluster-api/controlplane/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder/watch"
	controlplanewebhooks "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks"
	expv1 "sigs.k8s.io/cluster-api/exp/api/v1beta1"
	expwebhooks "sigs.k8s.io/cluster-api/exp/webhooks"
	"sigs.k8s.io/cluster-api/webhooks"
)

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
		Gates: "ClusterTopology=true,MachinePool=true",
		Schemes: []func(*runtime.Scheme) error{
			clusterv1.AddToScheme, expv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme,
		},
		Contracts: func(string) map[string]string { return map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"} },
		Cluster:   cluster, Webhooks: webhooksOf, ControlPlane: ask.controlPlane, Deployment: ask.deployment,
	})
}

func webhooksOf(c client.Client) []recorder.Webhook {
	return []recorder.Webhook{
		&webhooks.ClusterClass{Client: c}, &webhooks.Cluster{Client: c}, &webhooks.Machine{},
		&webhooks.MachineSet{}, &webhooks.MachineDeployment{}, &expwebhooks.MachinePool{}, &webhooks.MachineHealthCheck{},
		&bootstrapwebhooks.KubeadmConfig{}, &bootstrapwebhooks.KubeadmConfigTemplate{},
		&controlplanewebhooks.KubeadmControlPlane{}, &controlplanewebhooks.KubeadmControlPlaneTemplate{},
	}
}
