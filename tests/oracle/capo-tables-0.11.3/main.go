// Command oracle records how CAPO 0.11 answers what the tests of its own webhooks write.
package main

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	infrav1alpha1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha1"
	infrav1alpha7 "sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha7"
	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	"sigs.k8s.io/cluster-api-provider-openstack/pkg/webhooks"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
	"rollgate.dev/oracle/written"
)

func main() {
	written.Main("../tables/capo.jsonl", func() (*walker.Provider, error) {
		return infra.Build(infra.Config{
			Name: "capo", Module: "sigs.k8s.io/cluster-api-provider-openstack",
			Schemes: []func(*runtime.Scheme) error{infrav1.AddToScheme, infrav1alpha7.AddToScheme, infrav1alpha1.AddToScheme},
			Setup: func(mgr ctrl.Manager, _ client.Client) error {
				return errors.Join(webhooks.RegisterAllWithManager(mgr)...)
			},
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
		})
	}, "OpenStackCluster", "OpenStackMachineTemplate")
}
