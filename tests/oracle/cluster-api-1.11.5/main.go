// Command oracle records how Cluster API 1.11 answers changes of its objects: its webhooks,
// KubeadmControlPlane's internal.UpToDate and MachineDeployment's mdutil.FindNewMachineSet.
package main

import (
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks"
	expadmission "sigs.k8s.io/cluster-api/exp/webhooks"
	"sigs.k8s.io/cluster-api/feature"
	coreadmission "sigs.k8s.io/cluster-api/webhooks"

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

func main() { walker.Main(build) }

func build() (*walker.Provider, error) {
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
	if err := setup(mgr, c); err != nil {
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
	watch := &reconcilers{client: c, server: server, cluster: cluster, now: metav1.NewTime(now)}
	controlPlane, deployment := capi.ControlPlane(), capi.Deployment()
	controlPlane.Observe, deployment.Observe = watch.controlPlane, watch.deployment
	kinds := append([]walker.Kind{controlPlane, deployment}, capi.Templates()...)
	kinds = append(append(kinds, capi.Judged()...), capi.More()...)
	return &walker.Provider{
		Name: "cluster-api", Module: module, Version: version, Gates: gates, Now: capi.Now, CRDs: digest,
		Server: server, Hints: capi.Hints, Kinds: kinds,
	}, nil
}

type webhook interface {
	SetupWebhookWithManager(mgr ctrl.Manager) error
}

func setup(mgr ctrl.Manager, c client.Client) error {
	getter := func(gk schema.GroupKind) (string, error) { return gk.Group + "/v1beta1", nil }
	clusterv1beta1.SetAPIVersionGetter(getter)
	controlplanev1beta1.SetAPIVersionGetter(getter)
	for _, hook := range []webhook{
		&coreadmission.ClusterClass{Client: c}, &coreadmission.Cluster{Client: c}, &coreadmission.Machine{},
		&coreadmission.MachineSet{}, &coreadmission.MachineDeployment{}, &coreadmission.MachineDrainRule{},
		&expadmission.MachinePool{}, &coreadmission.ClusterResourceSet{}, &coreadmission.MachineHealthCheck{},
		&bootstrapadmission.KubeadmConfig{}, &bootstrapadmission.KubeadmConfigTemplate{},
		&controlplaneadmission.KubeadmControlPlane{}, &controlplaneadmission.KubeadmControlPlaneTemplate{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
