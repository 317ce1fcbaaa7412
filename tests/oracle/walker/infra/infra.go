// Package infra records providers whose webhooks and schemas alone decide: no comparison is called,
// every kind is accepted or refused. Templates of infrastructure providers are of this sort.
package infra

import (
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
)

// Config is one version of one provider.
type Config struct {
	Name   string
	Module string
	Gates  string
	// Schemes register the provider's types.
	Schemes []func(*runtime.Scheme) error
	// Setup registers the provider's webhooks.
	Setup func(mgr ctrl.Manager, c client.Client) error
	// CRDs and Manifests are folders and files below the module's folder, or absolute paths.
	CRDs      []string
	Manifests []string
	// Kinds are walked over a base with every field set.
	Kinds []walker.Kind
	Hints walker.Hints
}

// now is not asked for by any webhook; the header wants it.
const now = "2026-01-01T00:00:00Z"

// Build makes the recorder's view of a provider.
func Build(config Config) (*walker.Provider, error) {
	scheme := runtime.NewScheme()
	basic := []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme, metav1.AddMetaToScheme}
	for _, add := range append(basic, config.Schemes...) {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	labels := func(string) map[string]string { return map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"} }
	c := walker.NewClient(scheme, labels)
	mgr, handlers, err := walker.NewManager(scheme, c)
	if err != nil {
		return nil, err
	}
	if err := config.Setup(mgr, c); err != nil {
		return nil, err
	}
	version, err := walker.ModuleVersion(config.Module)
	if err != nil {
		return nil, err
	}
	provider := &walker.Provider{
		Name: config.Name, Module: config.Module, Version: version, Gates: config.Gates, Now: now,
		Hints: merge(common, config.Hints), Kinds: config.Kinds,
	}
	dir, err := walker.ModuleDir(config.Module)
	if err != nil {
		return nil, err
	}
	crds, digest, err := walker.LoadCRDs(below(dir, config.CRDs)...)
	if err != nil {
		return nil, err
	}
	provider.CRDs = digest
	provider.Server, err = walker.NewServer(crds, below(dir, config.Manifests), handlers)
	return provider, err
}

func below(dir string, names []string) []string {
	var paths []string
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		paths = append(paths, name)
	}
	return paths
}

// Kind is walked over one base with every field set.
func Kind(group, kind string, hints walker.Hints) walker.Kind {
	return walker.Kind{Group: group, Kind: kind, Hints: hints, Bases: []walker.Base{{Name: "full", Full: true}}, Pairs: metadata}
}

// metadata changes that no schema of a kind names.
func metadata(string, map[string]any) []walker.Case {
	return []walker.Case{
		walker.Many("label-own", walker.Set("/metadata/labels", map[string]any{"example.com/own": "x"})),
		walker.Many("annotation-own", walker.Set("/metadata/annotations", map[string]any{"example.com/own": "x"})),
		walker.Many("annotation-dry-run", walker.Set("/metadata/annotations", map[string]any{"topology.cluster.x-k8s.io/dry-run": ""})),
		walker.Many("dry-run-and-spec", walker.Set("/metadata/annotations", map[string]any{"topology.cluster.x-k8s.io/dry-run": ""}), walker.Set("/spec/template/metadata", map[string]any{"labels": map[string]any{"n": "v"}})),
		walker.Many("template-metadata", walker.Set("/spec/template/metadata", map[string]any{"labels": map[string]any{"n": "v"}})),
		walker.Many("unknown-field", walker.Set("/spec/unknownField", "x")),
		walker.Many("unknown-template-field", walker.Set("/spec/template/spec/unknownField", "x")),
	}
}

var common = walker.Hints{
	"uid":             {Skip: true},
	"fieldPath":       {Skip: true},
	"resourceVersion": {Skip: true},
}

func merge(a, b walker.Hints) walker.Hints {
	result := walker.Hints{}
	for key, hint := range a {
		result[key] = hint
	}
	for key, hint := range b {
		result[key] = hint
	}
	return result
}
