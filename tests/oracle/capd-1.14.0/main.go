// Command oracle records how the webhooks and schemas of CAPD 1.14 answer changes of its objects.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cluster-api/feature"
	infrav1beta1 "sigs.k8s.io/cluster-api/test/infrastructure/docker/api/v1beta1"
	infrav1 "sigs.k8s.io/cluster-api/test/infrastructure/docker/api/v1beta2"
	"sigs.k8s.io/cluster-api/test/infrastructure/docker/webhooks"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

const (
	gates = "ClusterTopology=true"
	group = "infrastructure.cluster.x-k8s.io"
)

func main() {
	walker.Main(func() (*walker.Provider, error) {
		if err := feature.MutableGates.Set(gates); err != nil {
			return nil, err
		}
		config := infra.Config{
			Name: "capd", Module: "sigs.k8s.io/cluster-api/test", Gates: gates,
			Schemes:   []func(*runtime.Scheme) error{infrav1.AddToScheme, infrav1beta1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{"infrastructure/docker/config/crd/bases"},
			Manifests: []string{"infrastructure/docker/config/webhook/manifests.yaml"},
			Hints: walker.Hints{
				"providerID": {Skip: true},
				"inMemory":   {Skip: true},
			},
		}
		for _, kind := range []string{
			"DockerMachineTemplate", "DevMachineTemplate", "DockerClusterTemplate", "DevClusterTemplate",
			"DockerMachine", "DevMachine", "DockerCluster", "DevCluster",
		} {
			config.Kinds = append(config.Kinds, infra.Kind(group, kind, nil))
		}
		return infra.Build(config)
	})
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&webhooks.DockerMachineTemplate{}, &webhooks.DevMachineTemplate{}, &webhooks.DockerClusterTemplate{}, &webhooks.DevClusterTemplate{},
		&webhooks.DockerMachine{}, &webhooks.DevMachine{}, &webhooks.DockerCluster{}, &webhooks.DevCluster{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
