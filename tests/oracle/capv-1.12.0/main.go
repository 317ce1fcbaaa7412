// Command oracle records how the webhooks and schemas of CAPV 1.12 answer changes of its objects, in
// govmomi mode and in supervisor mode.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"
	vmwarev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/vmware/v1beta1"
	"sigs.k8s.io/cluster-api-provider-vsphere/internal/webhooks"
	vmwarewebhooks "sigs.k8s.io/cluster-api-provider-vsphere/internal/webhooks/vmware"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

const (
	group      = "infrastructure.cluster.x-k8s.io"
	supervisor = "vmware.infrastructure.cluster.x-k8s.io"
)

func hints() walker.Hints {
	skip := walker.Hint{Skip: true}
	return walker.Hints{
		"providerID":                            skip,
		"ipAddrs":                               walker.Values([]any{"10.6.0.5/24"}, []any{"10.6.0.6/24"}),
		"gateway4":                              walker.Values("10.6.0.1", "10.6.0.2"),
		"gateway6":                              walker.Values("fd00::1", "fd00::2"),
		"nameservers":                           walker.Values([]any{"10.6.0.3"}, []any{"10.6.0.4"}),
		"macAddr":                               walker.Values("00:50:56:00:00:01", "00:50:56:00:00:02"),
		"powerOffMode":                          walker.Defaulted("hard", "trySoft", "soft", "hard"),
		"hardwareVersion":                       walker.Values("vmx-17", "vmx-18", "bad"),
		"minHardwareVersion":                    walker.Values("vmx-17", "vmx-18", "bad"),
		"thumbprint":                            skip,
		"controlPlaneEndpoint":                  skip,
		"namingStrategy.template":               walker.Values("{{ .machine.name }}", "{{ .machine.name }}-x", "none"),
		"template.spec.template":                walker.Values("image-a", "image-b"),
		"addressesFromPools":                    skip,
		"preferredAPIServerCidr":                skip,
		"interfaces":                            skip,
		"networkConfigurations":                 skip,
		"template.spec.network.devices.ipAddrs": skip,
		"region.type":                           walker.Values("Datacenter", "ComputeCluster", "HostGroup"),
		"zone.type":                             walker.Values("ComputeCluster", "Datacenter", "HostGroup"),
		"pciDevices": walker.Values(
			[]any{map[string]any{"deviceId": 1, "vendorId": 2}, map[string]any{"vGPUProfile": "profile-a"}},
			[]any{map[string]any{"deviceId": 1, "vendorId": 3}}, []any{map[string]any{"deviceId": 1}},
		),
		"storagePolicyName": walker.Values("policy-a", "policy-b"),
		"capacity":          walker.Values(map[string]any{"storage": "10Gi"}, map[string]any{"storage": "20Gi"}),
		"to":                walker.Values("default", "192.0.2.0/24"),
		"via":               walker.Values("10.6.0.1", "10.6.0.2"),
	}
}

func main() {
	walker.Main(func() (*walker.Provider, error) {
		config := infra.Config{
			Name: "capv", Module: "sigs.k8s.io/cluster-api-provider-vsphere",
			Schemes:   []func(*runtime.Scheme) error{infrav1.AddToScheme, vmwarev1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{"config/default/crd/bases", "config/supervisor/crd/bases"},
			Manifests: []string{"config/govmomi/webhook/manifests.yaml", "config/supervisor/webhook/manifests.yaml"},
			Hints:     hints(),
		}
		for _, kind := range []string{"VSphereMachineTemplate", "VSphereClusterTemplate", "VSphereMachine", "VSphereCluster", "VSphereFailureDomain", "VSphereDeploymentZone"} {
			entry := infra.Kind(group, kind, nil)
			entry.Versions = []string{"v1beta1"}
			config.Kinds = append(config.Kinds, entry)
		}
		for _, kind := range []string{"VSphereMachineTemplate", "VSphereClusterTemplate", "VSphereMachine", "VSphereCluster"} {
			entry := infra.Kind(supervisor, kind, nil)
			entry.Versions = []string{"v1beta1"}
			entry.Bases[0].Name = "full-supervisor"
			config.Kinds = append(config.Kinds, entry)
		}
		return infra.Build(config)
	})
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&webhooks.VSphereMachineTemplateWebhook{}, &webhooks.VSphereClusterTemplateWebhook{}, &webhooks.VSphereMachineWebhook{},
		&webhooks.VSphereFailureDomainWebhook{}, &webhooks.VSphereDeploymentZoneWebhook{}, &webhooks.VSphereVMWebhook{},
		&vmwarewebhooks.VSphereMachineTemplateWebhook{}, &vmwarewebhooks.VSphereMachineWebhook{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
