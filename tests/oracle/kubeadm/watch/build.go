// Package watch is what the recorders of all versions of Cluster API share: how a version's webhooks and schemas are set up,
// what a controller is asked about the Machines that it made, and the identities of these. It knows no API version.
package watch

import (
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/controlplane/kubeadm/recorder"
	"sigs.k8s.io/cluster-api/feature"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

const module = "sigs.k8s.io/cluster-api"

// Make makes what a controller would have made for a stored object, and asks it.
type Make func(e *Environment, stored map[string]any) (walker.Observer, error)

// Generation is the API version in which objects are stored, with the calls of one release.
type Generation struct {
	// Gates are the feature gates beside the defaults.
	Gates string
	// Schemes register the types.
	Schemes []func(*runtime.Scheme) error
	// Contracts are the labels of a provider's CRDs, by API group.
	Contracts func(group string) map[string]string
	// Cluster is the one that all objects belong to.
	Cluster client.Object
	// Core is the module's folder that holds the core's configuration.
	Core string
	// Webhooks are those of all kinds, ready to convert.
	Webhooks func(c client.Client) []recorder.Webhook
	// ControlPlane and Deployment are of the two kinds whose controllers compare Machines.
	ControlPlane, Deployment Make
	// More are kinds beside those that every release has.
	More []walker.Kind
}

// Environment is what the controllers find around them.
type Environment struct {
	Client client.Client
	Server *walker.Server
	Now    metav1.Time
}

// Main records one release.
func Main(generation Generation) {
	walker.Main(func() (*walker.Provider, error) { return build(generation) })
}

func build(g Generation) (*walker.Provider, error) {
	if err := feature.MutableGates.Set(g.Gates); err != nil {
		return nil, err
	}
	version, err := walker.ModuleVersion(module)
	if err != nil {
		return nil, err
	}
	provider := &walker.Provider{
		Name: "cluster-api", Module: module, Version: version, Gates: g.Gates, Now: capi.Now, Hints: capi.Hints,
	}
	e := &Environment{Now: moment(capi.Now)}
	if e.Client, err = g.client(); err != nil {
		return nil, err
	}
	if e.Server, provider.CRDs, err = g.server(e.Client); err != nil {
		return nil, err
	}
	observe := func(made Make) func(string, map[string]any) (walker.Observer, error) {
		return func(_ string, stored map[string]any) (walker.Observer, error) { return made(e, stored) }
	}
	controlPlane, deployment := capi.ControlPlane(), capi.Deployment()
	controlPlane.Observe, deployment.Observe = observe(g.ControlPlane), observe(g.Deployment)
	provider.Server, provider.Kinds = e.Server, []walker.Kind{controlPlane, deployment}
	for _, kinds := range [][]walker.Kind{capi.Templates(), capi.Judged(), g.More} {
		provider.Kinds = append(provider.Kinds, kinds...)
	}
	return provider, nil
}

func (g *Generation) client() (client.Client, error) {
	scheme := runtime.NewScheme()
	basic := []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme, metav1.AddMetaToScheme}
	for _, add := range append(basic, g.Schemes...) {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return walker.NewClient(scheme, g.Contracts, g.Cluster), nil
}

// server answers as the API server does, with the release's CRDs and webhooks; the text is the digest of the CRDs.
func (g *Generation) server(c client.Client) (*walker.Server, string, error) {
	mgr, handlers, err := walker.NewManager(c.Scheme(), c)
	if err != nil {
		return nil, "", err
	}
	if err := recorder.SetUp(mgr, g.Webhooks(c)...); err != nil {
		return nil, "", err
	}
	dir, err := walker.ModuleDir(module)
	if err != nil {
		return nil, "", err
	}
	var crdDirs, manifests []string
	for _, part := range []string{g.Core, "bootstrap/kubeadm", "controlplane/kubeadm"} {
		crdDirs = append(crdDirs, filepath.Join(dir, part, "config/crd/bases"))
		manifests = append(manifests, filepath.Join(dir, part, "config/webhook/manifests.yaml"))
	}
	crds, digest, err := walker.LoadCRDs(crdDirs...)
	if err != nil {
		return nil, "", err
	}
	server, err := walker.NewServer(crds, manifests, handlers)
	return server, digest, err
}

func moment(text string) metav1.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return metav1.NewTime(parsed)
}
