// Command oracle records how the webhooks and schemas of CAPA 2.13 answer changes of its objects.
package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	ekscontrolplanev1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	ekswebhooks "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/webhooks"
	"sigs.k8s.io/cluster-api-provider-aws/v2/webhooks"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/infra"
)

const group = "infrastructure.cluster.x-k8s.io"

func hints() walker.Hints {
	skip := walker.Hint{Skip: true}
	return walker.Hints{
		"providerID": skip, "instanceID": skip, "ignition": skip, "hostID": skip, "dynamicHostAllocation": skip,
		"capacityReservationId": skip, "marketType": skip, "insecureSkipSecretsManager": skip, "filters": skip,
		// Gated, or beside fields that exclude them.
		"s3Bucket": skip, "ipamPool": skip, "ipv6": skip, "elasticIpPool": skip, "targetGroupIPType": skip,
		"natGatewaysIPsSource": skip, "sourceSecurityGroupIds": skip, "sourceSecurityGroupRoles": skip,
		"nonRootVolumes.throughput": skip, "template.spec.cloudInit.secretPrefix": skip, "template.spec.cloudInit.secretCount": skip,
		"disableIngressRules":               walker.Values(false),
		"allowedCIDRBlocks":                 walker.Values([]any{"192.0.2.0/24"}, []any{"198.51.100.0/24"}, []any{"bad"}),
		"nodePortIngressRuleCidrBlocks":     walker.Values([]any{"192.0.2.0/24"}, []any{"198.51.100.0/24"}, []any{"bad"}),
		"cidrBlocks":                        walker.Values([]any{"192.0.2.0/24"}, []any{"198.51.100.0/24"}),
		"ipv6CidrBlocks":                    walker.Values([]any{"2001:db8:1::/48"}, []any{"2001:db8:2::/48"}),
		"ipv4CidrBlock":                     walker.Values("10.2.0.0/16", "10.3.0.0/16", "bad"),
		"carrierGatewayId":                  walker.Values("cagw-a", "cagw-b", "bad"),
		"internetGatewayId":                 walker.Values("igw-a", "igw-b"),
		"loadBalancerType":                  walker.Values("nlb", "classic", "alb", "elb", "disabled"),
		"capacityReservationPreference":     walker.Values("None", "Open", "CapacityReservationsOnly"),
		"rolearn":                           walker.Values("arn:aws:iam::123456789012:role/a", "arn:aws:iam::123456789012:role/b"),
		"userarn":                           walker.Values("arn:aws:iam::123456789012:user/a", "arn:aws:iam::123456789012:user/b"),
		"vpcCni.env.valueFrom":              skip,
		"spotMarketOptions":                 walker.Values(map[string]any{"maxPrice": "0.1"}, map[string]any{"maxPrice": "0.2"}),
		"tenancy":                           walker.Defaulted("default", "dedicated", "default", "host"),
		"eksLookupType":                     skip,
		"networkInterfaces":                 skip,
		"rootVolume.type":                   walker.Values("gp3", "io1", "gp2"),
		"nonRootVolumes.type":               walker.Values("gp3", "io1", "gp2"),
		"size":                              walker.Values(20, 21),
		"iops":                              walker.Values(3000, 3001),
		"throughput":                        walker.Values(200, 201),
		"deviceName":                        walker.Values("/dev/sdb", "/dev/sdc"),
		"secretPrefix":                      walker.Values("prefix-a", "prefix-b"),
		"sshKeyName":                        walker.Values("key-a", "key-b"),
		"region":                            walker.Values("eu-west-1", "us-east-1"),
		"controlPlaneEndpoint":              skip,
		"secondaryControlPlaneLoadBalancer": skip,
		"cidrBlock":                         walker.Values("10.0.0.0/16", "10.1.0.0/16"),
		"subnets":                           skip,
		"version":                           walker.Values("v1.31.0", "v1.32.0", "v1.30.0", "v1.33.0"),
		"identityRef":                       walker.Values(map[string]any{"kind": "AWSClusterControllerIdentity", "name": "default"}, map[string]any{"kind": "AWSClusterRoleIdentity", "name": "role-a"}),
	}
}

func main() {
	walker.Main(func() (*walker.Provider, error) {
		config := infra.Config{
			Name: "capa", Module: "sigs.k8s.io/cluster-api-provider-aws/v2",
			Schemes:   []func(*runtime.Scheme) error{infrav1.AddToScheme, ekscontrolplanev1.AddToScheme},
			Setup:     setup,
			CRDs:      []string{"config/crd/bases"},
			Manifests: []string{"config/webhook/manifests.yaml"},
			Hints:     hints(),
		}
		for _, kind := range []string{"AWSMachineTemplate", "AWSMachine", "AWSClusterTemplate", "AWSCluster"} {
			entry := infra.Kind(group, kind, nil)
			if kind == "AWSCluster" {
				entry.Bases = append(entry.Bases, walker.Base{Name: "small", Prepare: func(_ string, obj map[string]any) { obj["spec"] = small() }})
			}
			config.Kinds = append(config.Kinds, entry)
		}
		config.Kinds = append(config.Kinds, infra.Kind("controlplane.cluster.x-k8s.io", "AWSManagedControlPlane", nil))
		return infra.Build(config)
	})
}

// small is a cluster in a VPC that is there already, as it is once the endpoint is known.
func small() map[string]any {
	return map[string]any{
		"region": "eu-west-1", "sshKeyName": "key-a",
		"identityRef":              map[string]any{"kind": "AWSClusterControllerIdentity", "name": "default"},
		"network":                  map[string]any{"vpc": map[string]any{"id": "vpc-a", "cidrBlock": "10.0.0.0/16"}},
		"controlPlaneLoadBalancer": map[string]any{"loadBalancerType": "nlb", "name": "demo"},
		"controlPlaneEndpoint":     map[string]any{"host": "demo.example.com", "port": int64(6443)},
	}
}

func setup(mgr ctrl.Manager, _ client.Client) error {
	for _, hook := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&webhooks.AWSMachineTemplate{}, &webhooks.AWSMachine{}, &webhooks.AWSClusterTemplate{}, &webhooks.AWSCluster{},
		&ekswebhooks.AWSManagedControlPlane{},
	} {
		if err := hook.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
