// Command oracle records how CAPRKE2 0.21 answers what the tests of its own webhooks write.
package main

import (
	bootstrapv1alpha1 "github.com/rancher/cluster-api-provider-rke2/bootstrap/api/v1alpha1"
	bootstrapv1 "github.com/rancher/cluster-api-provider-rke2/bootstrap/api/v1beta1"
	controlplanev1alpha1 "github.com/rancher/cluster-api-provider-rke2/controlplane/api/v1alpha1"
	controlplanev1 "github.com/rancher/cluster-api-provider-rke2/controlplane/api/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
	"rollgate.dev/oracle/written"
)

func main() {
	written.Main("../tables/caprke2.jsonl", func() (*walker.Provider, error) {
		return infra.Build(infra.Config{
			Name: "caprke2", Module: "github.com/rancher/cluster-api-provider-rke2",
			Schemes: []func(*runtime.Scheme) error{
				bootstrapv1.AddToScheme, bootstrapv1alpha1.AddToScheme, controlplanev1.AddToScheme, controlplanev1alpha1.AddToScheme,
			},
			Setup:     setup,
			CRDs:      []string{"bootstrap/config/crd/bases", "controlplane/config/crd/bases"},
			Manifests: []string{"bootstrap/config/webhook/manifests.yaml", "controlplane/config/webhook/manifests.yaml"},
		})
	})
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, setup := range []func(ctrl.Manager) error{
		bootstrapv1.SetupRKE2ConfigWebhookWithManager, bootstrapv1.SetupRKE2ConfigTemplateWebhookWithManager,
		controlplanev1.SetupRKE2ControlPlaneWebhookWithManager, controlplanev1.SetupRKE2ControlPlaneTemplateWebhookWithManager,
	} {
		if err := setup(mgr); err != nil {
			return err
		}
	}
	return nil
}
