// Command oracle records how Cluster API 1.10 answers what the tests of its own webhooks write.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/api/v1beta1"
	bootstrapwebhooks "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks"
	controlplanev1 "sigs.k8s.io/cluster-api/controlplane/kubeadm/api/v1beta1"
	controlplanewebhooks "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks"
	expv1 "sigs.k8s.io/cluster-api/exp/api/v1beta1"
	expwebhooks "sigs.k8s.io/cluster-api/exp/webhooks"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/webhooks"

	"rollgate.dev/oracle/tables"
	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

const gates = "ClusterTopology=true,MachinePool=true"

func main() {
	walker.Main(func() (*walker.Provider, error) {
		if err := feature.MutableGates.Set(gates); err != nil {
			return nil, err
		}
		provider, err := infra.Build(infra.Config{
			Name: "cluster-api", Module: "sigs.k8s.io/cluster-api", Gates: gates,
			Schemes: []func(*runtime.Scheme) error{
				clusterv1.AddToScheme, expv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme,
			},
			Setup:     setup,
			CRDs:      []string{"config/crd/bases", "bootstrap/kubeadm/config/crd/bases", "controlplane/kubeadm/config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml", "bootstrap/kubeadm/config/webhook/manifests.yaml", "controlplane/kubeadm/config/webhook/manifests.yaml"},
		})
		if err != nil {
			return nil, err
		}
		provider.Kinds, err = tables.Kinds("../tables/cluster-api.jsonl", provider.Server, kinds...)
		return provider, err
	})
}

// kinds are those whose webhooks a package outside of this module can set up.
var kinds = []string{
	"Cluster", "ClusterClass", "Machine", "MachineSet", "MachineDeployment", "MachinePool", "MachineHealthCheck",
	"KubeadmConfig", "KubeadmConfigTemplate", "KubeadmControlPlane", "KubeadmControlPlaneTemplate",
}

func setup(mgr ctrl.Manager, c client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&webhooks.ClusterClass{Client: tables.Alone(c)}, &webhooks.Cluster{Client: c}, &webhooks.Machine{}, &webhooks.MachineSet{}, &webhooks.MachineDeployment{},
		&expwebhooks.MachinePool{}, &webhooks.MachineHealthCheck{},
		&bootstrapwebhooks.KubeadmConfig{}, &bootstrapwebhooks.KubeadmConfigTemplate{},
		&controlplanewebhooks.KubeadmControlPlane{}, &controlplanewebhooks.KubeadmControlPlaneTemplate{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
