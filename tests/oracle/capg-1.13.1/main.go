// Command oracle records how the webhooks and schemas of CAPG 1.13 answer changes of its objects.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
	expinfrav1 "sigs.k8s.io/cluster-api-provider-gcp/exp/api/v1beta1"
	expwebhooks "sigs.k8s.io/cluster-api-provider-gcp/exp/webhooks"
	"sigs.k8s.io/cluster-api-provider-gcp/webhooks"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

const group = "infrastructure.cluster.x-k8s.io"

func hints() walker.Hints {
	skip := walker.Hint{Skip: true}
	return walker.Hints{
		"providerID":            skip,
		"controlPlaneEndpoint":  skip,
		"instanceType":          walker.Values("n2d-standard-2", "n2d-standard-4"),
		"onHostMaintenance":     walker.Values("Terminate", "Migrate"),
		"confidentialCompute":   walker.Values("Enabled", "Disabled"),
		"suppliedKey":           skip,
		"kmsKeyServiceAccount":  skip,
		"kmsKeyName":            walker.Values("projects/p/locations/l/keyRings/r/cryptoKeys/a", "projects/p/locations/l/keyRings/r/cryptoKeys/b"),
		"ipCidrRange":           walker.Values("/24", "/25"),
		"keyType":               walker.Values("Managed"),
		"mtu":                   walker.Values(1460, 1500, 1200, 9000),
		"IPProtocol":            walker.Values("TCP", "UDP", "ICMP"),
		"ports":                 walker.Values([]any{"80", "90-91"}, []any{"81"}),
		"direction":             walker.Values("Ingress", "Egress"),
		"destinationRanges":     walker.Values([]any{"10.0.0.0/8"}, []any{"10.1.0.0/16"}),
		"sourceRanges":          walker.Values([]any{"10.0.0.0/8"}, []any{"10.1.0.0/16"}),
		"minCount":              walker.Values(1, 2, 9),
		"maxCount":              walker.Values(5, 6, 0),
		"controlPlaneVersion":   skip,
		"loggingService":        walker.Values("logging.googleapis.com/kubernetes", "none", "bad"),
		"monitoringService":     walker.Values("monitoring.googleapis.com/kubernetes", "none", "bad"),
		"enableAutopilot":       walker.Values(false, true),
		"autoCreateSubnetworks": walker.Values(true, false),
	}
}

func main() {
	walker.Main(func() (*walker.Provider, error) {
		config := infra.Config{
			Name: "capg", Module: "sigs.k8s.io/cluster-api-provider-gcp",
			Schemes:   []func(*runtime.Scheme) error{infrav1.AddToScheme, expinfrav1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
			Hints:     hints(),
		}
		for _, kind := range []string{
			"GCPMachineTemplate", "GCPMachine", "GCPClusterTemplate", "GCPCluster",
			"GCPManagedControlPlane", "GCPManagedMachinePool", "GCPManagedCluster",
		} {
			entry := infra.Kind(group, kind, nil)
			entry.Versions = []string{"v1beta1"}
			config.Kinds = append(config.Kinds, entry)
		}
		return infra.Build(config)
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
