package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// provider is one Cluster API manager. Its name is that of its program and of its folder under config/.
type provider struct {
	name string
	// label is what clusterctl puts on its CRDs, and the name of its entry in the inventory.
	label string
	// kind of provider in the inventory.
	kind  string
	gates string
	// args that only this manager knows.
	args []string

	webhookPort, healthPort int
	certDir                 string
	ca                      []byte
}

// capdProgram is the development provider under a main of this repository.
const capdProgram = "capd"

func providers() []*provider {
	return []*provider{
		{name: "core", label: "cluster-api", kind: "CoreProvider", gates: "ClusterTopology=true,MachinePool=true"},
		{name: "bootstrap", label: "bootstrap-kubeadm", kind: "BootstrapProvider", gates: "MachinePool=true"},
		{name: "controlplane", label: "control-plane-kubeadm", kind: "ControlPlaneProvider", gates: "ClusterTopology=true"},
		{name: capdProgram, label: "infrastructure-docker", kind: "InfrastructureProvider", gates: "ClusterTopology=true"},
		{name: "rke2-bootstrap", label: "bootstrap-rke2", kind: "BootstrapProvider"},
		{name: "rke2-controlplane", label: "control-plane-rke2", kind: "ControlPlaneProvider"},
	}
}

// arguments of the manager's command line.
func (p *provider) arguments(kubeconfig string) []string {
	args := []string{
		"--kubeconfig=" + kubeconfig,
		fmt.Sprintf("--webhook-port=%d", p.webhookPort),
		"--webhook-cert-dir=" + p.certDir,
		fmt.Sprintf("--health-addr=127.0.0.1:%d", p.healthPort),
		"--v=2",
	}
	// The one built here serves no metrics and elects no leader; the others must be told.
	if p.name != capdProgram {
		args = append(args, "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--leader-elect=false")
	}
	if p.gates != "" {
		args = append(args, "--feature-gates="+p.gates)
	}
	return append(args, p.args...)
}

// installWebhooks makes the manager's certificate and writes its webhook configurations, renamed: every provider calls
// its two the same.
func (p *provider) installWebhooks(config *rest.Config, dir string) error {
	hooks := envtest.WebhookInstallOptions{LocalServingHost: "127.0.0.1", LocalServingPort: p.webhookPort}
	raw, err := os.ReadFile(filepath.Join(dir, p.name, "webhooks", "manifests.yaml"))
	if err != nil {
		return err
	}
	documents := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = addWebhooks(&hooks, document, p.name)
		}
		if err != nil {
			return fmt.Errorf("webhooks of %s: %w", p.name, err)
		}
	}
	if err := hooks.Install(config); err != nil {
		return fmt.Errorf("webhooks of %s: %w", p.name, err)
	}
	p.certDir, p.ca = hooks.LocalServingCertDir, hooks.LocalServingCAData
	return nil
}

func addWebhooks(hooks *envtest.WebhookInstallOptions, document []byte, name string) error {
	var of metav1.TypeMeta
	if err := yaml.Unmarshal(document, &of); err != nil {
		return err
	}
	switch of.Kind {
	case "MutatingWebhookConfiguration":
		hook := &admissionv1.MutatingWebhookConfiguration{}
		hooks.MutatingWebhooks = append(hooks.MutatingWebhooks, hook)
		if err := yaml.Unmarshal(document, hook); err != nil {
			return err
		}
		hook.Name = name + "-mutating"
	case "ValidatingWebhookConfiguration":
		hook := &admissionv1.ValidatingWebhookConfiguration{}
		hooks.ValidatingWebhooks = append(hooks.ValidatingWebhooks, hook)
		if err := yaml.Unmarshal(document, hook); err != nil {
			return err
		}
		hook.Name = name + "-validating"
	case "": // The part before the first separator.
	default:
		return fmt.Errorf("unexpected kind %q", of.Kind)
	}
	return nil
}

// readCRDs reads the CRDs of one folder under config/.
func readCRDs(dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("%w; run tests/bench/build.sh", err)
	}
	options := envtest.CRDInstallOptions{Paths: []string{dir}, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(&options); err != nil {
		return nil, err
	}
	return options.CRDs, nil
}

// mark gives a CRD the labels by which Cluster API finds the contract versions that it serves.
func (p *provider) mark(crd *apiextensionsv1.CustomResourceDefinition) {
	if crd.Labels == nil {
		crd.Labels = map[string]string{}
	}
	crd.Labels["cluster.x-k8s.io/provider"] = p.label
	for _, version := range crd.Spec.Versions {
		crd.Labels["cluster.x-k8s.io/"+version.Name] = version.Name
	}
}

// convertByWebhook lets the manager convert between the versions of a CRD.
func (p *provider) convertByWebhook(crd *apiextensionsv1.CustomResourceDefinition) {
	if len(crd.Spec.Versions) < 2 {
		return
	}
	url := fmt.Sprintf("https://127.0.0.1:%d/convert", p.webhookPort)
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: p.ca},
			ConversionReviewVersions: []string{"v1", "v1beta1"},
		},
	}
}

// onlyStorageVersion stops a CRD from serving anything that would need a conversion: a request for another version is
// answered with 404 instead of with an object whose apiVersion was merely rewritten.
func onlyStorageVersion(_ *provider, crd *apiextensionsv1.CustomResourceDefinition) {
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		version.Served = version.Storage
	}
	crd.Spec.Conversion = nil
}

// inventoryEntry is what `clusterctl init` would have written about this provider: the way to its version.
func (p *provider) inventoryEntry(config string) (*unstructured.Unstructured, error) {
	version, err := os.ReadFile(filepath.Join(config, p.name, "version"))
	if err != nil {
		return nil, err
	}
	name := p.label
	for _, prefix := range []string{"bootstrap-", "control-plane-", "infrastructure-"} {
		name = strings.TrimPrefix(name, prefix)
	}
	entry := &unstructured.Unstructured{Object: map[string]any{
		"providerName": name,
		"type":         p.kind,
		"version":      strings.TrimSpace(string(version)),
	}}
	entry.SetAPIVersion("clusterctl.cluster.x-k8s.io/v1alpha3")
	entry.SetKind("Provider")
	entry.SetNamespace(managerNamespace)
	entry.SetName(p.label)
	entry.SetLabels(map[string]string{
		"clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/core": "inventory", "cluster.x-k8s.io/provider": p.label,
	})
	return entry, nil
}
