// Command oracle records how the webhooks and schemas of CAPZ 1.26 answer changes of its objects.
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
)

const (
	group = "infrastructure.cluster.x-k8s.io"
	// publicKey is that of a pair nobody has: where none is written, the webhook makes one by chance.
	publicKey = "c3NoLXJzYSBBQUFBQjNOemFDMXljMkVBQUFBREFRQUJBQUFCQVFDNnZpR3l1bmExbDFmOHVGK0xlQ0ZlWVh1SWpZeGh4RDdOQml3cWpXTnhRL2xGR0ZMVDh0VGIyT0RLbnY3Vi9sWUljT2o1MHFZUk42MW52MytvVCtZNWJsdDhXUlF1TGZJdHg4aDRVQytiM00vT1p0S1ZCVFQzNVUxU08reVhPNkpJa202dzc0ei9tT2lCZTY4NUpHc0s3LzVDUWx3RFV4SldpMHpTbTlQSXVzZUtCa2hYVHZtQTVlT2psYkRMdUhXa3JIbEpWMDBveXZSaEp4d1JZN2ljK2s5QXhuMTljNWJFY3Exc1ZjYjVvbXdpbkZPdjgzNmU3UDN3Wmh6SndXT3BUSi9tWUlZMkd3T3V0M294eE1qa1pybnc5YnVweWxwZElzWS81Z0pJOUxKV1dYbjJyQU5pSXAzZUpocUtoZHFzbUZoVlVrdVU4NmVZRmlFZTExY2wK"
)

var kinds = []string{
	"AzureMachineTemplate", "AzureClusterTemplate", "AzureCluster", "AzureClusterIdentity",
	"AzureMachinePool", "AzureManagedControlPlane", "AzureManagedMachinePool", "AzureManagedCluster",
	"AzureASOManagedCluster", "AzureASOManagedControlPlane", "AzureASOManagedMachinePool",
}

func hints() walker.Hints {
	skip := walker.Hint{Skip: true}
	return walker.Hints{
		"sshPublicKey":               {Never: true},
		"acceleratedNetworking":      {Skip: true},
		"roleAssignmentName":         skip,
		"systemAssignedIdentityRole": skip,
		"disableExtensionOperations": walker.Values(false, true),
		"providerID":                 skip,
		"diffDiskSettings":           skip, "diskEncryptionSet": skip,
		"providerIDList":       skip,
		"controlPlaneEndpoint": skip,
		"resources":            {Never: true},
		"location":             walker.Values("westeurope", "northeurope"),
		"subscriptionID":       walker.Values("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"),
		"resourceGroup":        walker.Values("group-a", "group-b"),
		"vmSize":               walker.Values("Standard_D2s_v3", "Standard_D4s_v3"),
		"osType":               walker.Values("Linux", "Windows"),
		"diskSizeGB":           walker.Values(30, 31),
		"cachingType":          walker.Values("None", "ReadOnly"),
		"storageAccountType":   walker.Values("Premium_LRS", "Standard_LRS"),
		"spotVMOptions":        skip, "securityProfile": skip, "image": skip, "diagnostics": skip, "capacityReservationGroupID": skip,
		"identity":             walker.Values("None"),
		"lun":                  walker.Values(0, 1),
		"subnetName":           skip,
		"cidrBlocks":           walker.Values([]any{"10.0.0.0/16"}, []any{"10.1.0.0/16"}),
		"version":              walker.Values("v1.31.0", "v1.32.0", "v1.30.0", "v1.33.0"),
		"dnsServiceIP":         walker.Values("10.0.0.10", "10.0.0.11"),
		"networkPlugin":        walker.Values("azure", "kubenet"),
		"networkPolicy":        walker.Values("azure", "calico"),
		"sku":                  walker.Values("Standard_D2s_v3", "Standard_D4s_v3"),
		"mode":                 walker.Values("System", "User"),
		"minSize":              walker.Values(1, 2),
		"maxSize":              walker.Values(5, 6),
		"osDiskType":           walker.Values("Managed", "Ephemeral"),
		"maxPods":              walker.Values(30, 31, 5),
		"maxSurge":             walker.Values(1, 2, "50%"),
		"maxUnavailable":       walker.Values(0, 1),
		"availabilityZones":    walker.Values([]any{"1", "2"}, []any{"3"}),
		"idleTimeoutInMinutes": walker.Values(4, 5, 40),
		"apiServerLB.sku":      walker.Values("Standard"),
		"azureBastion.sku":     walker.Values("Basic", "Standard"),
	}
}

func main() {
	walker.Main(func() (*walker.Provider, error) {
		config := infra.Config{
			Name: "capz", Module: "sigs.k8s.io/cluster-api-provider-azure",
			Schemes: []func(*runtime.Scheme) error{
				infrav1.AddToScheme, infrav1alpha1.AddToScheme, expinfrav1.AddToScheme, clusterv1.AddToScheme, clusterv1beta1.AddToScheme,
			},
			Setup:     setup,
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
			Hints:     hints(),
		}
		for _, kind := range kinds {
			entry := infra.Kind(group, kind, nil)
			entry.Versions = []string{"v1beta1"}
			entry.Bases[0].Prepare = func(_ string, obj map[string]any) { prepare(kind, obj) }
			// Fields that exclude each other stand in no object at once: the walk adds them to a small one.
			if bases := small(kind); bases != nil {
				entry.Bases = bases
			}
			config.Kinds = append(config.Kinds, entry)
		}
		return infra.Build(config)
	})
}

// prepare writes the key where a kind has one.
func prepare(kind string, obj map[string]any) {
	spec, _ := obj["spec"].(map[string]any)
	if kind == "AzureMachineTemplate" {
		machine := spec["template"].(map[string]any)["spec"].(map[string]any)
		machine["sshPublicKey"] = publicKey
	}
}

// small are objects as people write them.
func small(kind string) []walker.Base {
	spec := map[string]map[string]any{
		"AzureCluster": {
			"location": "westeurope", "resourceGroup": "demo", "subscriptionID": "11111111-1111-4111-8111-111111111111",
			"identityRef": map[string]any{"apiVersion": group + "/v1beta1", "kind": "AzureClusterIdentity", "name": "identity"},
			"networkSpec": map[string]any{"vnet": map[string]any{"name": "demo-vnet"}},
		},
		"AzureManagedControlPlane": {
			"location": "westeurope", "resourceGroupName": "demo", "subscriptionID": "11111111-1111-4111-8111-111111111111",
			"version": "v1.31.0", "sshPublicKey": publicKey,
			"identityRef": map[string]any{"apiVersion": group + "/v1beta1", "kind": "AzureClusterIdentity", "name": "identity"},
		},
		"AzureManagedMachinePool": {
			"mode": "System", "sku": "Standard_D2s_v3", "osDiskSizeGB": int64(128), "name": "pool0",
			"scaling":    map[string]any{"minSize": int64(1), "maxSize": int64(5)},
			"nodeLabels": map[string]any{"a": "b"}, "maxPods": int64(30), "enableNodePublicIP": false,
			"availabilityZones": []any{"1", "2"},
		},
		"AzureMachinePool": {
			"location": "westeurope",
			"template": map[string]any{
				"vmSize": "Standard_D2s_v3", "sshPublicKey": publicKey,
				"osDisk": map[string]any{"osType": "Linux", "diskSizeGB": int64(30), "managedDisk": map[string]any{"storageAccountType": "Premium_LRS"}},
			},
		},
	}[kind]
	if spec == nil {
		return nil
	}
	return []walker.Base{{Name: "small", Prepare: func(_ string, obj map[string]any) { obj["spec"] = spec }}}
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
