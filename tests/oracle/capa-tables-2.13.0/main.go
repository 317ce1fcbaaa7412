// Command oracle records how CAPA 2.13 answers what the tests of its own webhooks write.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	infrav1beta1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	ekscontrolplanev1beta1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta1"
	ekscontrolplanev1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	ekswebhooks "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/webhooks"
	rosacontrolplanev1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/rosa/api/v1beta2"
	rosawebhooks "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/rosa/webhooks"
	expinfrav1beta1 "sigs.k8s.io/cluster-api-provider-aws/v2/exp/api/v1beta1"
	expinfrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/exp/api/v1beta2"
	expwebhooks "sigs.k8s.io/cluster-api-provider-aws/v2/exp/webhooks"
	"sigs.k8s.io/cluster-api-provider-aws/v2/feature"
	"sigs.k8s.io/cluster-api-provider-aws/v2/webhooks"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
	"rollgate.dev/oracle/written"
)

const gates = "BootstrapFormatIgnition=true"

func main() {
	written.Main("../tables/capa.jsonl", func() (*walker.Provider, error) {
		if err := feature.MutableGates.Set(gates); err != nil {
			return nil, err
		}
		return infra.Build(infra.Config{
			Name: "capa", Module: "sigs.k8s.io/cluster-api-provider-aws/v2", Gates: gates,
			Schemes: []func(*runtime.Scheme) error{
				infrav1.AddToScheme, infrav1beta1.AddToScheme, ekscontrolplanev1.AddToScheme, ekscontrolplanev1beta1.AddToScheme,
				expinfrav1.AddToScheme, expinfrav1beta1.AddToScheme, rosacontrolplanev1.AddToScheme,
			},
			Setup:     setup,
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
		})
	})
}

func setup(mgr ctrl.Manager, c client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&webhooks.AWSMachineTemplate{}, &webhooks.AWSMachine{}, &webhooks.AWSClusterTemplate{}, &webhooks.AWSCluster{},
		&webhooks.AWSClusterControllerIdentity{}, &webhooks.AWSClusterRoleIdentity{}, &webhooks.AWSClusterStaticIdentity{},
		&expwebhooks.AWSMachinePool{}, &expwebhooks.AWSManagedMachinePool{}, &expwebhooks.AWSFargateProfile{},
		&ekswebhooks.AWSManagedControlPlane{}, &ekswebhooks.AWSManagedControlPlaneTemplate{}, &rosawebhooks.ROSAControlPlane{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
