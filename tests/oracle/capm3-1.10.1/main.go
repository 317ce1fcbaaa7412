// Command oracle records how the webhooks of CAPM3 1.10 answer changes of its objects. The module
// of its API holds no CRD files: they are made from its Go types, as the provider makes them.
package main

import (
	"os"
	"path/filepath"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

var kinds = []string{"Metal3MachineTemplate", "Metal3DataTemplate", "Metal3ClusterTemplate", "Metal3Machine", "Metal3Cluster"}

func hints() walker.Hints {
	skip := walker.Hint{Skip: true}
	hints := walker.Hints{
		"providerID":            skip,
		"image.url":             walker.Values("http://example.com/a.qcow2", "http://example.com/b.qcow2", "not a url"),
		"image.checksum":        walker.Values("http://example.com/a.sha256", "http://example.com/b.sha256"),
		"image.checksumType":    walker.Values("sha256", "sha512"),
		"image.format":          walker.Values("qcow2", "raw", "live-iso"),
		"customDeploy":          skip,
		"automatedCleaningMode": walker.Values("metadata", "disabled"),
		"operator":              walker.Values("in", "notin"),
		"controlPlaneEndpoint":  walker.Values(map[string]any{"host": "10.6.0.5", "port": 6443}, map[string]any{"host": "10.6.0.6", "port": 6443}),
	}
	v4, v6 := walker.Values("10.6.0.1", "10.6.0.2"), walker.Values("2001:db8::1", "2001:db8::2")
	for family, addresses := range map[string]walker.Hint{"ipv4": v4, "ipv4DHCP": v4, "ipv6": v6, "ipv6DHCP": v6, "ipv6SLAAC": v6} {
		for _, place := range []string{"network", "gateway.string", "services.dns[]"} {
			hints[family+".routes."+place] = addresses
		}
	}
	hints["networkData.services.dns[]"] = v4
	return hints
}

func main() {
	folder, err := os.MkdirTemp("", "capm3")
	if err != nil {
		panic(err)
	}
	walker.Main(func() (*walker.Provider, error) {
		defer os.RemoveAll(folder)
		if err := write(folder); err != nil {
			return nil, err
		}
		config := infra.Config{
			Name: "capm3", Module: "github.com/metal3-io/cluster-api-provider-metal3/api",
			Schemes:   []func(*runtime.Scheme) error{infrav1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{filepath.Join(folder, "crds")},
			Manifests: []string{filepath.Join(folder, "webhooks.yaml")},
			Hints:     hints(),
		}
		for _, kind := range kinds {
			config.Kinds = append(config.Kinds, infra.Kind(infrav1.GroupVersion.Group, kind, nil))
		}
		return infra.Build(config)
	})
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&infrav1.Metal3MachineTemplate{}, &infrav1.Metal3DataTemplate{}, &infrav1.Metal3ClusterTemplate{},
		&infrav1.Metal3Machine{}, &infrav1.Metal3Cluster{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
