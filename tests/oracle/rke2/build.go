// Package recorder records CAPRKE2: what its admission webhooks answer, and which Machines its control plane finds outdated.
package recorder

import (
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	"sigs.k8s.io/cluster-api/util/collections"
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1alpha1 "github.com/rancher/cluster-api-provider-rke2/bootstrap/api/v1alpha1"
	bootstrapv1 "github.com/rancher/cluster-api-provider-rke2/bootstrap/api/v1beta1"
	controlplanev1alpha1 "github.com/rancher/cluster-api-provider-rke2/controlplane/api/v1alpha1"
	controlplanev1 "github.com/rancher/cluster-api-provider-rke2/controlplane/api/v1beta1"
	rke2provider "github.com/rancher/cluster-api-provider-rke2/pkg/rke2"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
	"rollgate.dev/oracle/walker/rke2"
)

const module = "github.com/rancher/cluster-api-provider-rke2"

func contracts(string) map[string]string {
	return map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"}
}

// Outdated is ControlPlane.MachinesNeedingRollout in the form that one version has.
type Outdated func(owner *rke2provider.ControlPlane) collections.Machines

// Main records one version. Its hints come before those of all versions where both speak of a field.
func Main(outdated Outdated, hints walker.Hints) {
	walker.Main(func() (*walker.Provider, error) { return build(outdated, hints) })
}

func build(outdated Outdated, own walker.Hints) (*walker.Provider, error) {
	hints := walker.Hints{}
	for _, some := range []walker.Hints{rke2.Hints, own} {
		for key, hint := range some {
			hints[key] = hint
		}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, apiextensionsv1.AddToScheme, metav1.AddMetaToScheme, clusterv1.AddToScheme,
		bootstrapv1.AddToScheme, bootstrapv1alpha1.AddToScheme, controlplanev1.AddToScheme, controlplanev1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	cluster := &clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", UID: "uid-cluster"},
	}
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.0.0.100", Port: 6443}
	c := walker.NewClient(scheme, contracts, cluster)
	mgr, handlers, err := walker.NewManager(scheme, c)
	if err != nil {
		return nil, err
	}
	for _, setup := range []func(ctrl.Manager) error{
		bootstrapv1.SetupRKE2ConfigWebhookWithManager, bootstrapv1.SetupRKE2ConfigTemplateWebhookWithManager,
		controlplanev1.SetupRKE2ControlPlaneWebhookWithManager, controlplanev1.SetupRKE2ControlPlaneTemplateWebhookWithManager,
	} {
		if err := setup(mgr); err != nil {
			return nil, err
		}
	}
	dir, err := walker.ModuleDir(module)
	if err != nil {
		return nil, err
	}
	var crdDirs, manifests []string
	for _, part := range []string{"bootstrap", "controlplane"} {
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
	watch := &reconcilers{call: outdated, client: c, server: server, cluster: cluster}
	controlPlane := rke2.ControlPlane()
	controlPlane.Observe = watch.controlPlane
	return &walker.Provider{
		Name: "caprke2", Module: module, Version: version, Now: capi.Now, CRDs: digest,
		Server: server, Hints: hints, Kinds: append([]walker.Kind{controlPlane}, rke2.Templates()...),
	}, nil
}
