// Command oracle records how CAPV 1.14 answers what the tests of its own webhooks write, in govmomi mode and in supervisor mode.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"
	vmwarev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/vmware/v1beta1"
	"sigs.k8s.io/cluster-api-provider-vsphere/webhooks"
	vmwarewebhooks "sigs.k8s.io/cluster-api-provider-vsphere/webhooks/vmware"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
	"rollgate.dev/oracle/written"
)

func main() {
	written.Main("../tables/capv.jsonl", func() (*walker.Provider, error) {
		return infra.Build(infra.Config{
			Name: "capv", Module: "sigs.k8s.io/cluster-api-provider-vsphere",
			Schemes:   []func(*runtime.Scheme) error{infrav1.AddToScheme, vmwarev1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{"config/default/crd/bases", "config/supervisor/crd/bases"},
			Manifests: []string{"config/govmomi/webhook/manifests.yaml", "config/supervisor/webhook/manifests.yaml"},
		})
	})
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&webhooks.VSphereMachineTemplate{}, &webhooks.VSphereClusterTemplate{}, &webhooks.VSphereMachine{},
		&webhooks.VSphereFailureDomain{}, &webhooks.VSphereDeploymentZone{}, &webhooks.VSphereVM{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	// An empty network provider refuses interfaces; NSX-VPC is the one that allows most.
	const provider = "NSX-VPC"
	if err := (&vmwarewebhooks.VSphereMachineTemplate{}).SetupWebhookWithManager(mgr, provider); err != nil {
		return err
	}
	if err := (&vmwarewebhooks.VSphereMachine{}).SetupWebhookWithManager(mgr, provider); err != nil {
		return err
	}
	return (&vmwarewebhooks.VSphereCluster{}).SetupWebhookWithManager(mgr, provider)
}
