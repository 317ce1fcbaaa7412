// Command oracle records how CAPZ 1.26 answers what the tests of its own webhooks write.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	infrav1alpha1 "sigs.k8s.io/cluster-api-provider-azure/api/v1alpha1"
	infrav1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"
	expinfrav1 "sigs.k8s.io/cluster-api-provider-azure/exp/api/v1beta1"
	expwebhooks "sigs.k8s.io/cluster-api-provider-azure/internal/exp/webhooks"
	"sigs.k8s.io/cluster-api-provider-azure/internal/webhooks"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
	"rollgate.dev/oracle/written"
)

// kinds are those that tests write; an AzureMachine asks for its Cluster, again and again, and is left out.
var kinds = []string{
	"AzureCluster", "AzureClusterIdentity", "AzureClusterTemplate", "AzureMachinePool", "AzureMachineTemplate", "AzureManagedCluster",
	"AzureManagedControlPlane", "AzureManagedControlPlaneTemplate", "AzureManagedMachinePool", "AzureManagedMachinePoolTemplate",
}

func main() {
	written.Main("../tables/capz.jsonl", func() (*walker.Provider, error) {
		return infra.Build(infra.Config{
			Name: "capz", Module: "sigs.k8s.io/cluster-api-provider-azure",
			Schemes: []func(*runtime.Scheme) error{
				infrav1.AddToScheme, infrav1alpha1.AddToScheme, expinfrav1.AddToScheme, clusterv1.AddToScheme, clusterv1beta1.AddToScheme,
			},
			Setup:     setup,
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
		})
	}, kinds...)
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&webhooks.AzureMachineTemplateWebhook{}, &webhooks.AzureMachineWebhook{}, &webhooks.AzureClusterTemplateWebhook{},
		&webhooks.AzureClusterWebhook{}, &webhooks.AzureClusterIdentityWebhook{}, &expwebhooks.AzureMachinePoolWebhook{},
		&expwebhooks.AzureMachinePoolMachineWebhook{},
		&webhooks.AzureManagedControlPlaneWebhook{}, &webhooks.AzureManagedControlPlaneTemplateWebhook{},
		&webhooks.AzureManagedMachinePoolWebhook{}, &webhooks.AzureManagedMachinePoolTemplateWebhook{},
		&webhooks.AzureManagedClusterWebhook{}, &webhooks.AzureManagedClusterTemplateWebhook{},
		&webhooks.AzureASOManagedClusterWebhook{}, &webhooks.AzureASOManagedControlPlaneWebhook{},
		&webhooks.AzureASOManagedMachinePoolWebhook{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
