// Command oracle records how CAPM3 1.10 answers what the tests of its own webhooks write. The module
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
	"rollgate.dev/oracle/written"
)

var kinds = []string{
	"Metal3MachineTemplate", "Metal3DataTemplate", "Metal3ClusterTemplate", "Metal3Machine", "Metal3Cluster",
	"Metal3Remediation", "Metal3RemediationTemplate",
}

func main() {
	folder, err := os.MkdirTemp("", "capm3")
	if err != nil {
		panic(err)
	}
	written.Main("../tables/capm3.jsonl", func() (*walker.Provider, error) {
		defer os.RemoveAll(folder)
		if err := write(folder); err != nil {
			return nil, err
		}
		return infra.Build(infra.Config{
			Name: "capm3", Module: "github.com/metal3-io/cluster-api-provider-metal3/api",
			Schemes:   []func(*runtime.Scheme) error{infrav1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{filepath.Join(folder, "crds")},
			Manifests: []string{filepath.Join(folder, "webhooks.yaml")},
		})
	}, kinds...)
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&infrav1.Metal3MachineTemplate{}, &infrav1.Metal3DataTemplate{}, &infrav1.Metal3ClusterTemplate{},
		&infrav1.Metal3Machine{}, &infrav1.Metal3Cluster{}, &infrav1.Metal3Remediation{}, &infrav1.Metal3RemediationTemplate{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
