// Command oracle records how the webhooks and schemas of CAPC 0.6 answer changes of its objects.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	infrav1beta1 "sigs.k8s.io/cluster-api-provider-cloudstack/api/v1beta1"
	infrav1beta2 "sigs.k8s.io/cluster-api-provider-cloudstack/api/v1beta2"
	infrav1 "sigs.k8s.io/cluster-api-provider-cloudstack/api/v1beta3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

const group = "infrastructure.cluster.x-k8s.io"

func hints() walker.Hints {
	return walker.Hints{
		"providerID": {Skip: true}, "instanceID": {Skip: true},
		"affinity":          walker.Values("no", "pro", "anti", "bad"),
		"affinityGroupIDs":  walker.Values([]any{"group-a", "group-b"}, []any{"group-c"}),
		"customSizeInGB":    walker.Values(20, 21, -1),
		"network.type":      walker.Values("Isolated", "Shared", "bad"),
		"zone.network.type": walker.Values("Isolated", "Shared"),
	}
}

func main() {
	walker.Main(func() (*walker.Provider, error) {
		config := infra.Config{
			Name: "capc", Module: "sigs.k8s.io/cluster-api-provider-cloudstack",
			Schemes:   []func(*runtime.Scheme) error{infrav1.AddToScheme, infrav1beta2.AddToScheme, infrav1beta1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
			Hints:     hints(),
		}
		for _, kind := range []string{"CloudStackMachineTemplate", "CloudStackMachine", "CloudStackCluster"} {
			entry := infra.Kind(group, kind, nil)
			entry.Versions = []string{"v1beta3"}
			if kind == "CloudStackCluster" {
				entry.Bases = append(entry.Bases, walker.Base{Name: "new", Prepare: func(_ string, obj map[string]any) { obj["spec"] = fresh() }})
			}
			config.Kinds = append(config.Kinds, entry)
		}
		return infra.Build(config)
	})
}

// fresh is a cluster whose endpoint nobody has written yet.
func fresh() map[string]any {
	return map[string]any{
		"controlPlaneEndpoint": map[string]any{"host": "", "port": int64(6443)},
		"failureDomains": []any{map[string]any{
			"name":        "fd-a",
			"acsEndpoint": map[string]any{"name": "cloud", "namespace": "default"},
			"zone":        map[string]any{"name": "zone-a", "network": map[string]any{"name": "net-a"}},
		}},
	}
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{&infrav1.CloudStackMachineTemplate{}, &infrav1.CloudStackMachine{}, &infrav1.CloudStackCluster{}} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
