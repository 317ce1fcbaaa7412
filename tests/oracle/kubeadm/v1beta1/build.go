// Package v1beta1 records Cluster API up to 1.10, whose objects are v1beta1: what the admission webhooks answer, and what
// the controllers compare. How a version calls its comparison it says by Calls.
package v1beta1

import (
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	bootstrapwebhooks "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks"
	controlplanev1 "sigs.k8s.io/cluster-api/controlplane/kubeadm/api/v1beta1"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder"
	controlplanewebhooks "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks"
	expv1 "sigs.k8s.io/cluster-api/exp/api/v1beta1"
	expwebhooks "sigs.k8s.io/cluster-api/exp/webhooks"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/webhooks"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

const (
	module = "sigs.k8s.io/cluster-api"
	gates  = "ClusterTopology=true,MachinePool=true"
)

func contracts(string) map[string]string {
	return map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"}
}

// Main records one version.
func Main(calls Calls) {
	walker.Main(func() (*walker.Provider, error) { return build(calls) })
}

func build(calls Calls) (*walker.Provider, error) {
	if err := feature.MutableGates.Set(gates); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, apiextensionsv1.AddToScheme, metav1.AddMetaToScheme, clusterv1.AddToScheme, expv1.AddToScheme,
		bootstrapv1.AddToScheme, controlplanev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", UID: "uid-cluster"}}
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.0.0.100", Port: 6443}
	c := walker.NewClient(scheme, contracts, cluster)
	mgr, handlers, err := walker.NewManager(scheme, c)
	if err != nil {
		return nil, err
	}
	if err := recorder.SetUp(mgr, webhooksOf(c)...); err != nil {
		return nil, err
	}
	dir, err := walker.ModuleDir(module)
	if err != nil {
		return nil, err
	}
	var crdDirs, manifests []string
	for _, part := range []string{"", "bootstrap/kubeadm", "controlplane/kubeadm"} {
		crdDirs = append(crdDirs, filepath.Join(dir, part, "config/crd/bases"))
		manifests = append(manifests, filepath.Join(dir, part, "config/webhook/manifests.yaml"))
	}
	crds, digest, err := walker.LoadCRDs(crdDirs...)
	if err != nil {
		return nil, err
	}
	server, err := walker.NewServer(crds, manifests, handlers)
	if err != nil {
		return nil, err
	}
	version, err := walker.ModuleVersion(module)
	if err != nil {
		return nil, err
	}
	now, err := time.Parse(time.RFC3339, capi.Now)
	if err != nil {
		return nil, err
	}
	watch := &reconcilers{calls: calls, client: c, server: server, cluster: cluster, now: metav1.NewTime(now)}
	controlPlane, deployment := capi.ControlPlane(), capi.Deployment()
	controlPlane.Observe, deployment.Observe = watch.controlPlane, watch.deployment
	kinds := append([]walker.Kind{controlPlane, deployment}, capi.Templates()...)
	return &walker.Provider{
		Name: "cluster-api", Module: module, Version: version, Gates: gates, Now: capi.Now, CRDs: digest,
		Server: server, Hints: capi.Hints, Kinds: append(kinds, capi.Judged()...),
	}, nil
}

func webhooksOf(c client.Client) []recorder.Webhook {
	return []recorder.Webhook{
		&webhooks.ClusterClass{Client: c}, &webhooks.Cluster{Client: c}, &webhooks.Machine{},
		&webhooks.MachineSet{}, &webhooks.MachineDeployment{}, &expwebhooks.MachinePool{}, &webhooks.MachineHealthCheck{},
		&bootstrapwebhooks.KubeadmConfig{}, &bootstrapwebhooks.KubeadmConfigTemplate{},
		&controlplanewebhooks.KubeadmControlPlane{}, &controlplanewebhooks.KubeadmControlPlaneTemplate{},
	}
}

// reconcilers make what the controllers would have made for an object, and ask them.
type reconcilers struct {
	calls   Calls
	client  client.Client
	server  *walker.Server
	cluster *clusterv1.Cluster
	now     metav1.Time
}

func moment(text string) metav1.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return metav1.NewTime(parsed)
}

func clusterMap(cluster *clusterv1.Cluster) map[string]any {
	cluster = cluster.DeepCopy()
	cluster.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster"}
	return walker.ToMap(cluster)
}
