// Package capi holds what the recorders of all Cluster API versions share: which values fields
// take, realistic objects, and changes that interact. It is data only: no Cluster API type.
package capi

import "rollgate.dev/oracle/walker"

// The clock of all recordings, and the times of the objects: Machines are made after Created and
// their certificates end 60 days after Now.
const (
	Now        = "2026-01-01T00:00:00Z"
	Created    = "2025-01-01T00:00:00Z"
	Machines   = "2025-02-01T00:00:00Z"
	Expiry     = "2026-03-02T00:00:00Z"
	InfraGroup = "infrastructure.cluster.x-k8s.io"
)

const token = "abcdef.0123456789abcdef"

var never = walker.Hint{Never: true}
var skip = walker.Hint{Skip: true}

// Hints are for all kinds of all versions.
var Hints = walker.Hints{
	"spec.version":  walker.Values("v1.31.4", "v1.31.5", "v1.32.0", "v1.33.0", "v1.30.9", "1.31.4", "v1.31.4+build.1", "v1.31.4-rc.1", "latest"),
	"spec.replicas": walker.Values(3, 1, 5, 2, 4, -1),

	"infrastructureRef.apiVersion": walker.Values(InfraGroup+"/v1beta1", InfraGroup+"/v1beta2", "other.example.com/v1beta1"),
	"infrastructureRef.apiGroup":   walker.Values(InfraGroup, "other.example.com"),
	"infrastructureRef.kind":       walker.Values("DockerMachineTemplate", "OtherMachineTemplate"),
	"infrastructureRef.name":       walker.Values("infra-a", "infra-b", "missing"),
	"infrastructureRef.namespace":  walker.Values("default", "other"),
	"configRef.apiVersion":         walker.Values("bootstrap.cluster.x-k8s.io/v1beta1", "bootstrap.cluster.x-k8s.io/v1beta2", "other.example.com/v1beta1"),
	"configRef.apiGroup":           walker.Values("bootstrap.cluster.x-k8s.io", "other.example.com"),
	"configRef.kind":               walker.Values("KubeadmConfigTemplate", "OtherConfigTemplate"),
	"configRef.name":               walker.Values("config-a", "config-b", "missing"),
	"configRef.namespace":          walker.Values("default", "other"),
	"controlPlaneRef.apiVersion":   walker.Values("controlplane.cluster.x-k8s.io/v1beta1", "controlplane.cluster.x-k8s.io/v1beta2", "other.example.com/v1beta1"),
	"controlPlaneRef.apiGroup":     walker.Values("controlplane.cluster.x-k8s.io", "other.example.com"),
	"controlPlaneRef.kind":         walker.Values("KubeadmControlPlane", "OtherControlPlane"),
	"controlPlaneRef.name":         walker.Values("demo", "demo-b"),
	"controlPlaneRef.namespace":    walker.Values("default", "other"),
	"uid":                          skip,
	"fieldPath":                    skip,
	"resourceVersion":              skip,
	"providerID":                   skip,
	"dataSecretName":               skip,

	"rollout.after":                        times,
	"rolloutAfter":                         times,
	"certificatesExpiryDays":               walker.Values(30, 7, 59, 60, 61, 90, 3),
	"rollout.strategy.type":                walker.Defaulted("RollingUpdate", "RollingUpdate", "OnDelete", "Recreate"),
	"rolloutStrategy.type":                 walker.Defaulted("RollingUpdate", "RollingUpdate", "OnDelete", "Recreate"),
	"rollingUpdate.maxSurge":               walker.Defaulted(1, 1, 0, 2, "1", "0", "50%"),
	"rollingUpdate.maxUnavailable":         walker.Defaulted(0, 0, 1, "1", "25%"),
	"machineNaming.template":               walker.Values("{{ .kubeadmControlPlane.name }}-{{ .random }}", "cp-{{ .random }}", "no-random"),
	"machineNamingStrategy.template":       walker.Values("{{ .kubeadmControlPlane.name }}-{{ .random }}", "cp-{{ .random }}", "no-random"),
	"readinessGates.conditionType":         walker.Values("example.com/a", "example.com/b", "example.com/c"),
	"machineTemplate.taints":               skip,
	"machineTemplate.spec.taints":          skip,
	"machineTemplate.metadata.labels":      keyed,
	"machineTemplate.metadata.annotations": keyed,

	"clusterConfiguration.controlPlaneEndpoint":            walker.Values("10.0.0.100:6443", "10.0.0.101:6443"),
	"clusterConfiguration.imageRepository":                 walker.Defaulted("registry.k8s.io", "registry.example.com/a", "registry.example.com/b"),
	"clusterConfiguration.kubernetesVersion":               walker.Values("v1.31.4", "v1.32.0"),
	"clusterConfiguration.certificatesDir":                 walker.Defaulted("/etc/kubernetes/pki", "/etc/kubernetes/pki", "/etc/pki"),
	"clusterConfiguration.certificateValidityPeriodDays":   walker.Defaulted(365, 400, 500, 4000),
	"clusterConfiguration.caCertificateValidityPeriodDays": walker.Defaulted(3650, 3000, 3500),
	"clusterConfiguration.dns.imageTag":                    walker.Values("v1.11.3", "v1.12.0", "v1.8.0", "v1.99.0", "bad tag"),
	"clusterConfiguration.etcd.external":                   skip,
	"etcd.local.imageTag":                                  walker.Values("3.5.16-0", "3.5.21-0", "bad tag"),
	"etcd.local.dataDir":                                   walker.Defaulted("/var/lib/etcd", "/var/lib/etcd", "/data/etcd"),
	"etcd.external.endpoints":                              walker.Values([]any{"https://10.0.1.1:2379", "https://10.0.1.2:2379"}, []any{"https://10.0.1.3:2379"}),
	"clusterConfiguration.featureGates":                    walker.Values(map[string]any{"EtcdLearnerMode": true, "PublicKeysECDSA": false}, map[string]any{"EtcdLearnerMode": false, "PublicKeysECDSA": false}),
	"clusterConfiguration.clusterName":                     walker.Values("demo", "demo-b"),
	"networking.podSubnet":                                 walker.Values("10.244.0.0/16", "10.245.0.0/16"),
	"networking.serviceSubnet":                             walker.Values("10.96.0.0/12", "10.97.0.0/16"),
	"networking.dnsDomain":                                 walker.Defaulted("cluster.local", "cluster.local", "example.local"),
	"apiServer.timeoutForControlPlane":                     walker.Defaulted("4m0s", "20m0s", "5m0s", "20m"),
	"extraEnvs.valueFrom":                                  skip,
	"extraVolumes.pathType":                                walker.Values("Directory", "File", "DirectoryOrCreate"),

	"bootstrapTokens.token":                   walker.Values(token, "bbcdef.0123456789abcdef", "cbcdef.0123456789abcdef"),
	"bootstrapTokens.expires":                 walker.Values("2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"),
	"bootstrapToken.token":                    walker.Values(token, "bbcdef.0123456789abcdef"),
	"discovery.tlsBootstrapToken":             walker.Values(token, "bbcdef.0123456789abcdef"),
	"discovery.file":                          skip,
	"kubeConfig.user.authProvider":            skip,
	"exec.apiVersion":                         walker.Defaulted("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1", "client.authentication.k8s.io/v1"),
	"localAPIEndpoint.bindPort":               walker.Defaulted(6443, 6443, 6444),
	"nodeRegistration.imagePullPolicy":        walker.Defaulted("IfNotPresent", "Always", "Never", "Sometimes"),
	"nodeRegistration.imagePullSerial":        walker.Defaulted(true, true, false),
	"nodeRegistration.taints":                 walker.Values([]any{map[string]any{"key": "example.com/a", "value": "x", "effect": "NoSchedule"}, map[string]any{"key": "example.com/b", "effect": "NoExecute"}}, []any{map[string]any{"key": "example.com/a", "value": "y", "effect": "NoSchedule"}}),
	"caCertPath":                              walker.Defaulted("/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/other.crt"),
	"controlPlaneComponentHealthCheckSeconds": walker.Defaulted(240, 300, 240),

	"files.contentFrom":               skip,
	"files.owner":                     walker.Defaulted("root:root", "app:app", "root:root"),
	"files.permissions":               walker.Defaulted("0644", "0640", "0600"),
	"files.path":                      walker.Values("/etc/a", "/etc/b", "/etc/c"),
	"files.content":                   walker.Values("address: 10.0.0.5\n", "other: b\n", "address: 10.0.0.6\n"),
	"users.passwdFrom":                skip,
	"diskLayout":                      walker.Values([]any{map[string]any{"percentage": 40, "partitionType": "Linux"}, map[string]any{"percentage": 60}}, []any{map[string]any{"percentage": 20}, map[string]any{"percentage": 60}}, []any{map[string]any{"percentage": 80}, map[string]any{"percentage": 60}}),
	"format":                          walker.Defaulted("cloud-config", "cloud-config", "ignition"),
	"verbosity":                       walker.Defaulted(0, 3, 5),
	"ignition":                        skip,
	"diskSetup.filesystems.replaceFS": walker.Values("ext4", "xfs"),
	"partitions.tableType":            walker.Values("gpt", "mbr"),
	"contentFormat":                   skip,

	"clusterNetwork.pods.cidrBlocks":     walker.Values([]any{"192.168.0.0/16"}, []any{"192.169.0.0/16"}, []any{"not-a-cidr"}),
	"clusterNetwork.services.cidrBlocks": walker.Values([]any{"10.128.0.0/12"}, []any{"10.64.0.0/12"}, []any{"not-a-cidr"}),
	"controlPlaneEndpoint.port":          walker.Values(6443, 6444),
	"spec.clusterName":                   walker.Values("demo", "other"),
	"nodeStartupTimeout":                 walker.Defaulted("10m0s", "12m0s", "15m0s", "1s", "12m"),
	"maxUnhealthy":                       walker.Defaulted("100%", "40%", 2),
	"unhealthyRange":                     walker.Values("[3-5]", "[1-2]", "bad"),
}

var times = walker.Values("2024-06-01T00:00:00Z", "2025-06-01T00:00:00Z", Machines, Created, "2030-01-01T00:00:00Z", Now)

var keyed = walker.Values(map[string]any{"example.com/a": "a", "example.com/b": "b"}, map[string]any{"example.com/a": "x", "example.com/b": "b"})
