// Package v1beta2 records Cluster API from 1.11 on, whose objects are stored in v1beta2: what the admission webhooks answer,
// and what the controllers compare. How a version calls its comparison it says by Calls.
package v1beta2

import (
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder"
	"sigs.k8s.io/cluster-api/feature"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

const (
	module = "sigs.k8s.io/cluster-api"
	gates  = "ClusterTopology=true"
)

// contracts are the labels of providers' CRDs: infrastructure still serves v1beta1 only, so that a
// reference written in v1beta1 comes back as it was written.
func contracts(group string) map[string]string {
	if group == capi.InfraGroup {
		return map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"}
	}
	return map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"}
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
		corev1.AddToScheme, apiextensionsv1.AddToScheme, metav1.AddMetaToScheme, clusterv1.AddToScheme, clusterv1beta1.AddToScheme,
		addonsv1.AddToScheme, addonsv1beta1.AddToScheme, bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme,
		controlplanev1.AddToScheme, controlplanev1beta1.AddToScheme,
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
	if err := recorder.SetUp(mgr, calls.Webhooks(c)...); err != nil {
		return nil, err
	}
	dir, err := walker.ModuleDir(module)
	if err != nil {
		return nil, err
	}
	var crdDirs, manifests []string
	for _, part := range []string{calls.Core, "bootstrap/kubeadm", "controlplane/kubeadm"} {
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
	kinds = append(append(kinds, capi.Judged()...), capi.More()...)
	return &walker.Provider{
		Name: "cluster-api", Module: module, Version: version, Gates: gates, Now: capi.Now, CRDs: digest,
		Server: server, Hints: capi.Hints, Kinds: kinds,
	}, nil
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
