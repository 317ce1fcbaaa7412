// Command oracle records how the webhooks and schemas of CAPO 0.11 answer changes of its objects.
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
)

const (
	group = "infrastructure.cluster.x-k8s.io"
	id1   = "11111111-1111-4111-8111-111111111111"
	id2   = "22222222-2222-4222-8222-222222222222"
)

func hints() walker.Hints {
	ids := walker.Values(id1, id2)
	skip := walker.Hint{Skip: true}
	return walker.Hints{
		"id": ids, "projectID": ids, "externalNetwork.id": ids,
		"filter": skip, "imageRef": skip, "flavorID": skip, "providerID": skip,
		"storage":                                 walker.Values(map[string]any{"type": "Volume", "volume": map[string]any{"type": "fast"}}, map[string]any{"type": "Local"}),
		"apiServerLoadBalancer.availabilityZone":  walker.Values("az-a", "az-b"),
		"bastion.availabilityZone":                walker.Values("az-a", "az-b"),
		"disableExternalNetwork":                  skip,
		"disablePortSecurity":                     walker.Values(false),
		"disableAPIServerFloatingIP":              walker.Values(false, true),
		"floatingIP":                              walker.Values("203.0.113.9", "203.0.113.10"),
		"availabilityZone":                        walker.Values(map[string]any{"from": "Name", "name": "az-a"}, map[string]any{"from": "Machine"}),
		"schedulerHintAdditionalProperties.value": walker.Values(map[string]any{"type": "Bool", "bool": true}, map[string]any{"type": "String", "string": "x"}),
		"ipAddress":                               walker.Values("10.6.0.5", "10.6.0.6"),
		"macAddress":                              walker.Values("fa:16:3e:00:00:01", "fa:16:3e:00:00:02"),
		"cidr":                                    walker.Values("10.6.0.0/24", "10.7.0.0/24"),
		"gatewayIP":                               walker.Values("10.6.0.1", "10.6.0.2"),
		"ipVersion":                               walker.Values(4, 6),
		"dnsNameservers":                          walker.Values([]any{"10.6.0.3", "10.6.0.4"}, []any{"10.6.0.9"}),
		"apiServerFloatingIP":                     walker.Values("203.0.113.5", "203.0.113.6"),
		"apiServerFixedIP":                        walker.Values("10.6.0.7", "10.6.0.8"),
		"apiServerPort":                           walker.Values(6443, 6444),
		"allowedCIDRs":                            walker.Values([]any{"192.0.2.0/24"}, []any{"198.51.100.0/24"}),
		"controlPlaneEndpoint":                    skip,
		"direction":                               walker.Values("ingress", "egress"),
		"etherType":                               walker.Values("IPv4", "IPv6"),
		"remoteGroupID":                           skip,
		"remoteIPPrefix":                          skip,
		"remoteManagedGroups":                     walker.Values([]any{"controlplane", "worker"}, []any{"worker"}),
		"protocol":                                walker.Values("tcp", "udp"),
		"portRangeMin":                            walker.Values(80, 81),
		"portRangeMax":                            walker.Values(90, 91),
		"subnets":                                 skip,
		"network":                                 skip,
		"router":                                  skip,
		"sizeGiB":                                 walker.Values(20, 21),
	}
}

func main() {
	walker.Main(func() (*walker.Provider, error) {
		config := infra.Config{
			Name: "capo", Module: "sigs.k8s.io/cluster-api-provider-openstack",
			Schemes: []func(*runtime.Scheme) error{infrav1.AddToScheme, infrav1alpha7.AddToScheme, infrav1alpha1.AddToScheme},
			Setup: func(mgr ctrl.Manager, _ client.Client) error {
				return errors.Join(webhooks.RegisterAllWithManager(mgr)...)
			},
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
			Hints:     hints(),
		}
		for _, kind := range []string{"OpenStackMachineTemplate", "OpenStackClusterTemplate", "OpenStackMachine", "OpenStackCluster"} {
			entry := infra.Kind(group, kind, nil)
			entry.Versions = []string{"v1beta1"}
			if kind == "OpenStackCluster" {
				clusters(&entry)
			}
			config.Kinds = append(config.Kinds, entry)
		}
		return infra.Build(config)
	})
}

// clusters adds what clusters look like in practice: the webhook of an update asks what the live one holds.
func clusters(kind *walker.Kind) {
	kind.Bases = append(kind.Bases,
		walker.Base{Name: "small", Prepare: func(_ string, obj map[string]any) { small(obj) }},
		// Before the controller has written the endpoint, without a floating IP.
		walker.Base{Name: "new-internal", Prepare: func(_ string, obj map[string]any) {
			spec := small(obj)
			delete(spec, "controlPlaneEndpoint")
			delete(obj, "status")
			spec["disableAPIServerFloatingIP"] = true
		}},
		walker.Base{Name: "bastion-off", Prepare: func(_ string, obj map[string]any) {
			small(obj)["bastion"] = map[string]any{"enabled": false, "spec": map[string]any{
				"flavor": "small", "image": map[string]any{"filter": map[string]any{"name": "ubuntu"}},
			}}
		}},
	)
	single := kind.Pairs
	kind.Pairs = func(version string, obj map[string]any) []walker.Case {
		return append(single(version, obj),
			walker.Many("endpoint-and-port", walker.Set("/spec/controlPlaneEndpoint", map[string]any{"host": "203.0.113.5", "port": int64(6443)}), walker.Set("/spec/apiServerPort", 6443)),
			walker.Many("bastion-disabled-and-changed", walker.Set("/spec/bastion/enabled", false), walker.Set("/spec/bastion/availabilityZone", "az-c")),
			walker.Many("fixed-ip-and-tags", walker.Set("/spec/apiServerFixedIP", "10.6.0.7"), walker.Set("/spec/tags", []any{"x"})),
			walker.Many("rules-and-load-balancer", walker.Set("/spec/managedSecurityGroups", map[string]any{"allowAllInClusterTraffic": false}), walker.Remove("/spec/apiServerLoadBalancer")),
		)
	}
}

func small(obj map[string]any) map[string]any {
	spec := map[string]any{
		"identityRef":           map[string]any{"name": "cloud-config", "cloudName": "openstack"},
		"managedSubnets":        []any{map[string]any{"cidr": "10.6.0.0/24", "dnsNameservers": []any{"10.6.0.3"}}},
		"externalNetwork":       map[string]any{"id": id1},
		"managedSecurityGroups": map[string]any{"allowAllInClusterTraffic": true},
		"apiServerLoadBalancer": map[string]any{"enabled": true},
		"controlPlaneEndpoint":  map[string]any{"host": "203.0.113.5", "port": int64(6443)},
	}
	obj["spec"] = spec
	obj["status"] = map[string]any{"ready": true, "apiServerLoadBalancer": map[string]any{
		"name": "demo", "id": id2, "ip": "203.0.113.5", "internalIP": "10.6.0.7",
	}}
	return spec
}
