// Command oracle records how the webhooks and schemas of CABPT 0.6 answer changes of its objects.
package main

import (
	bootstrapv1 "github.com/siderolabs/cluster-api-bootstrap-provider-talos/api/v1alpha3"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

const group = "bootstrap.cluster.x-k8s.io"

func main() {
	walker.Main(func() (*walker.Provider, error) {
		config := infra.Config{
			Name: "cabpt", Module: "github.com/siderolabs/cluster-api-bootstrap-provider-talos",
			Schemes:   []func(*runtime.Scheme) error{bootstrapv1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
			Hints: walker.Hints{
				"source": walker.Values("MachineName", "InfrastructureName"),
				"op":     walker.Values("add", "replace"),
			},
		}
		for _, kind := range []string{"TalosConfigTemplate", "TalosConfig"} {
			entry := infra.Kind(group, kind, nil)
			entry.Versions = []string{"v1alpha3"}
			config.Kinds = append(config.Kinds, entry)
		}
		return infra.Build(config)
	})
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{&bootstrapv1.TalosConfigTemplate{}, &bootstrapv1.TalosConfig{}} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
