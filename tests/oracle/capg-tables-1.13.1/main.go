// Command oracle records how CAPG 1.13 answers what the tests of its own webhooks write.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
	expinfrav1 "sigs.k8s.io/cluster-api-provider-gcp/exp/api/v1beta1"
	expwebhooks "sigs.k8s.io/cluster-api-provider-gcp/exp/webhooks"
	"sigs.k8s.io/cluster-api-provider-gcp/webhooks"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/tables"
	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

func main() {
	walker.Main(func() (*walker.Provider, error) {
		provider, err := infra.Build(infra.Config{
			Name: "capg", Module: "sigs.k8s.io/cluster-api-provider-gcp",
			Schemes:   []func(*runtime.Scheme) error{infrav1.AddToScheme, expinfrav1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
		})
		if err != nil {
			return nil, err
		}
		provider.Kinds, err = tables.Kinds("../tables/capg.jsonl", provider.Server)
		return provider, err
	})
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&webhooks.GCPMachineTemplate{}, &webhooks.GCPMachine{}, &webhooks.GCPClusterTemplate{}, &webhooks.GCPCluster{},
		&expwebhooks.GCPManagedControlPlane{}, &expwebhooks.GCPManagedMachinePool{}, &expwebhooks.GCPManagedCluster{},
		&expwebhooks.GCPMachinePool{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
