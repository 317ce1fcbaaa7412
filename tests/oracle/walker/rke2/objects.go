// Package rke2 holds what the recorders of all CAPRKE2 versions share: which values fields take,
// realistic objects, and changes that interact. It is data only: no CAPRKE2 type.
package rke2

import (
	"rollgate.dev/oracle/walker"
	"rollgate.dev/oracle/walker/capi"
)

var skip = walker.Hint{Skip: true}

// Hints are for all kinds of all versions.
var Hints = walker.Hints{
	"version":                      walker.Values("v1.31.4+rke2r1", "v1.31.4+rke2r2", "v1.32.0+rke2r1", "v1.30.9+rke2r1", "v1.31.4", "1.31.4+rke2r1"),
	"replicas":                     walker.Defaulted(1, 3, 1, 5, 2, -1),
	"infrastructureRef.apiVersion": walker.Values(capi.InfraGroup+"/v1beta1", capi.InfraGroup+"/v1beta2", "other.example.com/v1beta1"),
	"infrastructureRef.kind":       walker.Values("DockerMachineTemplate", "OtherMachineTemplate"),
	"infrastructureRef.name":       walker.Values("infra-a", "infra-b", "missing"),
	"infrastructureRef.namespace":  walker.Values("default", "other"),
	"uid":                          skip,
	"fieldPath":                    skip,
	"resourceVersion":              skip,

	"nodeDrainTimeout":        walker.Defaulted("2m0s", "10m0s", "2m0s", "11m0s", "10m", "600s", "-1s"),
	"nodeVolumeDetachTimeout": walker.Defaulted("5m0s", "10m0s", "5m0s", "11m0s", "10m", "-1s"),
	"nodeDeletionTimeout":     walker.Defaulted("10s", "20s", "10s", "21s", "0m20s", "-1s"),
	"metadata.labels":         walker.Values(map[string]any{"example.com/a": "a", "example.com/b": "b"}, map[string]any{"example.com/a": "x", "example.com/b": "b"}),
	"metadata.annotations":    walker.Values(map[string]any{"example.com/a": "a", "example.com/b": "b"}, map[string]any{"example.com/a": "x", "example.com/b": "b"}),
	"rolloutStrategy.type":    walker.Values("RollingUpdate", "OnDelete", "Recreate"),
	"rollingUpdate.maxSurge":  walker.Defaulted(1, 1, 0, 2, "1", "50%"),
	"registrationMethod":      walker.Defaulted("control-plane-endpoint", "internal-first", "control-plane-endpoint", "address", "external-only-ips"),
	"registrationAddress":     walker.Values("10.0.0.100", "10.0.0.101"),

	"serverConfig.cni":             walker.Values("calico", "canal", "cilium", "none"),
	"serverConfig.clusterDNS":      walker.Defaulted("10.43.0.10", "10.43.0.10", "10.43.0.11"),
	"serverConfig.clusterDomain":   walker.Defaulted("cluster.local", "cluster.local", "example.local"),
	"backupConfig.retention":       walker.Defaulted("5", "7", "8"),
	"backupConfig.scheduleCron":    walker.Defaulted("0 */12 * * *", "0 1 * * *", "0 2 * * *"),
	"serverConfig.tlsSan":          walker.Values([]any{"10.0.0.5", "api.example.com"}, []any{"10.0.0.6", "api.example.com"}),
	"agentConfig.nodeTaints":       walker.Values([]any{"CriticalAddonsOnly=true:NoExecute", "example.com/a=b:NoSchedule"}, []any{"example.com/a=b:NoSchedule"}),
	"agentConfig.nodeLabels":       walker.Values([]any{"example.com/a=a", "example.com/b=b"}, []any{"example.com/a=x", "example.com/b=b"}),
	"agentConfig.format":           walker.Defaulted("cloud-config", "cloud-config", "ignition"),
	"agentConfig.dataDir":          walker.Defaulted("/var/lib/rancher/rke2", "/var/lib/rancher/rke2", "/data/rke2"),
	"agentConfig.airGapped":        walker.Defaulted(false, true, false),
	"agentConfig.loadBalancerPort": walker.Defaulted(6444, 6445, 6444),
	"additionalUserData.config":    skip,
	"additionalUserData.strict":    skip,
	"additionalUserData.data":      walker.Values(map[string]any{"bootcmd": "- echo a\n", "disk_setup": "a: b\n"}, map[string]any{"bootcmd": "- echo b\n"}, map[string]any{"bootcmd": "- echo a", "disk_setup": "a:   b"}, map[string]any{"bootcmd": "- echo a\n", "disk_setup": "a: b\n", "runcmd": "- echo c\n"}),

	"files.contentFrom": skip,
	"files.path":        walker.Values("/etc/a", "/etc/b", "/etc/c"),
	"files.content":     walker.Values("address: 10.0.0.5\n", "other: b\n", "address: 10.0.0.6\n"),
	"files.owner":       walker.Defaulted("root:root", "app:app", "root:root"),
	"files.permissions": walker.Defaulted("0644", "0640", "0600"),
}

func at(obj map[string]any, path ...string) map[string]any {
	for _, name := range path {
		next, ok := obj[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			obj[name] = next
		}
		obj = next
	}
	return obj
}

func files(spec map[string]any) {
	items, ok := spec["files"].([]any)
	if !ok || len(items) < 2 {
		return
	}
	file := items[1].(map[string]any)
	delete(file, "content")
	file["contentFrom"] = map[string]any{"secret": map[string]any{"name": "secret-a", "key": "key-a"}}
}

func small() map[string]any {
	return map[string]any{
		"files": []any{
			map[string]any{"path": "/var/lib/rancher/rke2/server/manifests/rke2-calico-config.yaml", "owner": "root:root", "permissions": "0640",
				"content": "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nspec:\n  valuesContent: |-\n    nodeAddressAutodetectionV4:\n      canReach: 55.55.55.55\n"},
			map[string]any{"path": "/etc/app.conf", "contentFrom": map[string]any{"secret": map[string]any{"name": "app", "key": "conf"}}},
		},
		"agentConfig": map[string]any{
			"kubelet":         map[string]any{"extraArgs": []any{"--cloud-provider=external", "--v=2"}},
			"nodeAnnotations": map[string]any{"example.com/a": "a"},
			"format":          "cloud-config",
		},
		"preRKE2Commands":  []any{"sleep 10", "echo pre"},
		"postRKE2Commands": []any{"echo post"},
	}
}

func smallControlPlane(_ string, obj map[string]any) {
	at(obj, "metadata")["labels"] = map[string]any{"cluster.x-k8s.io/cluster-name": "demo"}
	obj["spec"] = small()
	spec := at(obj, "spec")
	spec["replicas"], spec["version"] = int64(3), "v1.31.4+rke2r1"
	spec["registrationMethod"] = "internal-first"
	spec["rolloutStrategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1)}}
	spec["serverConfig"] = map[string]any{"cni": "calico", "disableComponents": map[string]any{"kubernetesComponents": []any{"cloudController"}}, "kubeAPIServer": map[string]any{"extraArgs": []any{"--anonymous-auth=true"}}, "tlsSan": []any{"10.0.0.5"}}
	spec["machineTemplate"] = map[string]any{
		"metadata":          map[string]any{"labels": map[string]any{"example.com/a": "a"}, "annotations": map[string]any{"example.com/b": "b"}},
		"infrastructureRef": infra("infra-a"), "nodeDrainTimeout": "2m0s",
	}
}

func infra(name string) map[string]any {
	return map[string]any{"apiVersion": capi.InfraGroup + "/v1beta1", "kind": "DockerMachineTemplate", "name": name, "namespace": "default"}
}

// ControlPlane is the RKE2ControlPlane without its observer.
func ControlPlane() walker.Kind {
	return walker.Kind{
		Group: "controlplane.cluster.x-k8s.io", Kind: "RKE2ControlPlane", Versions: []string{"v1beta1"},
		Bases: []walker.Base{
			{Name: "small", Prepare: smallControlPlane},
			{Name: "small-deprecated", Prepare: func(version string, obj map[string]any) {
				smallControlPlane(version, obj)
				spec := at(obj, "spec")
				spec["infrastructureRef"] = infra("infra-a")
				delete(at(spec, "machineTemplate"), "nodeDrainTimeout")
				spec["nodeDrainTimeout"] = "3m0s"
			}},
			{Name: "bare", Prepare: func(version string, obj map[string]any) {
				smallControlPlane(version, obj)
				spec := at(obj, "spec")
				for _, name := range []string{"files", "agentConfig", "preRKE2Commands", "postRKE2Commands", "serverConfig", "registrationMethod"} {
					delete(spec, name)
				}
				spec["version"] = "v1.31.4+rke2r1"
			}},
			{Name: "full", Full: true, Prepare: func(_ string, obj map[string]any) {
				at(obj, "metadata")["labels"] = map[string]any{"cluster.x-k8s.io/cluster-name": "demo"}
				files(at(obj, "spec"))
			}},
		},
		Pairs: controlPlanePairs,
	}
}

func controlPlanePairs(_ string, obj map[string]any) []walker.Case {
	set, remove, many := walker.Set, walker.Remove, walker.Many
	const template = "/spec/machineTemplate"
	surge := "/spec/rolloutStrategy/rollingUpdate/maxSurge"
	return []walker.Case{
		many("can-reach", set("/spec/files/0/content", "canReach: 10.0.3.7\n")),
		many("surge0-replicas1", set(surge, 0), set("/spec/replicas", 1)),
		many("surge0", set(surge, 0)),
		many("surge0-and-file", set(surge, 0), set("/spec/files/0/content", "canReach: 10.0.3.7\n")),
		many("ondelete-and-version", set("/spec/rolloutStrategy/type", "OnDelete"), set("/spec/version", "v1.32.0+rke2r1")),
		many("file-content-to-secret", remove("/spec/files/0/content"), set("/spec/files/0/contentFrom", map[string]any{"secret": map[string]any{"name": "s", "key": "k"}})),
		many("file-secret-to-config", set("/spec/files/1/contentFrom", map[string]any{"configMap": map[string]any{"name": "c", "key": "k"}})),
		many("file-both-sources", set("/spec/files/1/contentFrom", map[string]any{"secret": map[string]any{"name": "s", "key": "k"}, "configMap": map[string]any{"name": "c", "key": "k"}})),
		many("multus-without-cni", remove("/spec/serverConfig/cni"), set("/spec/serverConfig/cniMultusEnable", true)),
		many("multus", set("/spec/serverConfig/cniMultusEnable", true)),
		many("registration-removed", remove("/spec/registrationMethod")),
		many("registration-set", set("/spec/registrationMethod", "internal-only-ips")),
		many("registration-address-only", set("/spec/registrationMethod", "address"), set("/spec/registrationAddress", "10.0.0.7")),
		many("infra-to-deprecated", remove(template+"/infrastructureRef"), set("/spec/infrastructureRef", infra("infra-a"))),
		many("infra-template-to-deprecated", remove(template), set("/spec/infrastructureRef", infra("infra-a"))),
		many("infra-template-to-other-deprecated", set(template, map[string]any{"infrastructureRef": map[string]any{}}), set("/spec/infrastructureRef", infra("infra-b"))),
		many("deprecated-changed", set("/spec/infrastructureRef", infra("infra-b"))),
		many("both-changed", set("/spec/infrastructureRef", infra("infra-b")), set(template+"/infrastructureRef", infra("infra-b"))),
		many("version-and-infra", set("/spec/version", "v1.32.0+rke2r1"), set(template+"/infrastructureRef/name", "infra-b")),
		many("version-and-label", set("/spec/version", "v1.32.0+rke2r1"), set(template+"/metadata/labels/example.com~1new", "n")),
		many("template-metadata-removed", remove(template+"/metadata")),
		many("registries-none", set("/spec/privateRegistriesConfig", map[string]any{"configs": map[string]any{"r": map[string]any{}}})),
		many("registries", set("/spec/privateRegistriesConfig", map[string]any{"mirrors": map[string]any{"docker.io": map[string]any{"endpoint": []any{"https://m.example.com"}}}})),
		many("manifests", set("/spec/manifestsConfigMapReference", map[string]any{"name": "m", "namespace": "default"})),
		many("user-data-both", set("/spec/agentConfig/additionalUserData", map[string]any{"config": "a: b", "data": map[string]any{"bootcmd": "- a"}})),
		many("user-data-config", set("/spec/agentConfig/additionalUserData", map[string]any{"config": "bootcmd:\n- echo a\n"})),
		many("user-data-write-files", set("/spec/agentConfig/additionalUserData", map[string]any{"data": map[string]any{"write_files": "- path: /a\n"}})),
		many("user-data-not-yaml", set("/spec/agentConfig/additionalUserData", map[string]any{"data": map[string]any{"bootcmd": "{ not yaml"}})),
		many("ignition", set("/spec/agentConfig/format", "ignition")),
		many("ignition-gzip-file", set("/spec/agentConfig/format", "ignition"), set("/spec/files/0/encoding", "gzip")),
		many("kubelet-empty", set("/spec/agentConfig/kubelet", map[string]any{})),
		many("api-server-empty", set("/spec/serverConfig/kubeAPIServer", map[string]any{})),
		many("server-config-empty", set("/spec/serverConfig", map[string]any{})),
		many("agent-config-empty", set("/spec/agentConfig", map[string]any{})),
		many("annotation-own", set("/metadata/annotations", map[string]any{"example.com/own": "x"})),
		many("annotation-exclusion", set("/metadata/annotations", map[string]any{"rke2.controlplane.cluster.x-k8s.io/load-balancer-exclusion": "true"})),
		many("annotation-legacy", set("/metadata/annotations", map[string]any{"controlplane.cluster.x-k8s.io/legacy": "true"})),
		many("unknown-field", set("/spec/unknownField", "x")),
		many("infra-missing", set(template+"/infrastructureRef/name", "missing")),
	}
}

// Templates are judged by webhooks alone.
func Templates() []walker.Kind {
	kind := func(group, name string, path ...string) walker.Kind {
		return walker.Kind{Group: group + ".cluster.x-k8s.io", Kind: name, Versions: []string{"v1beta1"}, Bases: []walker.Base{
			{Name: "full", Full: true, Prepare: func(_ string, obj map[string]any) { files(at(obj, path...)) }},
		}}
	}
	return []walker.Kind{
		kind("controlplane", "RKE2ControlPlaneTemplate", "spec", "template", "spec"),
		kind("bootstrap", "RKE2ConfigTemplate", "spec", "template", "spec"),
		kind("bootstrap", "RKE2Config", "spec"),
	}
}
