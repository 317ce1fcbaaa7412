package capi

import (
	"strings"

	"rollgate.dev/oracle/walker"
)

// kubeadm makes the full content of a KubeadmConfigSpec coherent: one file and one user take their
// secret from elsewhere, and one disk partition has a layout of its own.
func kubeadm(version string, config map[string]any) {
	if items, ok := config["files"].([]any); ok && len(items) > 1 {
		file := items[1].(map[string]any)
		delete(file, "content")
		file["contentFrom"] = map[string]any{"secret": map[string]any{"name": "secret-a", "key": "key-a"}}
	}
	if items, ok := config["users"].([]any); ok && len(items) > 1 {
		user := items[1].(map[string]any)
		delete(user, "passwd")
		user["passwdFrom"] = map[string]any{"secret": map[string]any{"name": "secret-a", "key": "key-a"}}
	}
	if items, ok := at(config, "diskSetup")["partitions"].([]any); ok && len(items) > 1 {
		// v1beta1 takes layout and diskLayout side by side, and then no Machine can be made of it.
		delete(items[0].(map[string]any), "diskLayout")
		if _, ok := items[1].(map[string]any)["diskLayout"]; ok && version == "v1beta1" {
			delete(items[1].(map[string]any), "diskLayout")
		} else if ok {
			delete(items[1].(map[string]any), "layout")
		}
	}
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

// external swaps local etcd for external etcd, and tokens for a discovery file.
func external(config map[string]any) {
	etcd := at(config, "clusterConfiguration", "etcd")
	delete(etcd, "local")
	etcd["external"] = map[string]any{
		"endpoints": []any{"https://10.0.1.1:2379", "https://10.0.1.2:2379"},
		"caFile":    "/etc/etcd/ca.crt", "certFile": "/etc/etcd/tls.crt", "keyFile": "/etc/etcd/tls.key",
	}
	discovery := at(config, "joinConfiguration", "discovery")
	delete(discovery, "bootstrapToken")
	discovery["file"] = map[string]any{
		"kubeConfigPath": "/etc/kubernetes/discovery.conf",
		"kubeConfig": map[string]any{
			"cluster": map[string]any{"server": "https://10.0.0.100:6443", "insecureSkipTLSVerify": true},
			"user":    map[string]any{"exec": map[string]any{"command": "/bin/token", "args": []any{"a", "b"}, "env": []any{map[string]any{"name": "A", "value": "b"}}, "provideClusterInfo": true}},
		},
	}
	// Init and join differ.
	at(config, "joinConfiguration", "nodeRegistration")["criSocket"] = "/run/join.sock"
	at(config, "initConfiguration")["skipPhases"] = []any{"addon/kube-proxy"}
}

func args(version string, pairs ...string) any {
	if version == "v1beta1" {
		result := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			result[pairs[i]] = pairs[i+1]
		}
		return result
	}
	var result []any
	for i := 0; i < len(pairs); i += 2 {
		result = append(result, map[string]any{"name": pairs[i], "value": pairs[i+1]})
	}
	return result
}

// small is a realistic kubeadm configuration with the file that waits for a virtual address.
func small(version string) map[string]any {
	registration := func() map[string]any {
		return map[string]any{
			"name":             "{{ ds.meta_data.local_hostname }}",
			"kubeletExtraArgs": args(version, "cloud-provider", "external", "node-ip", "::"),
		}
	}
	return map[string]any{
		"clusterConfiguration": map[string]any{
			"apiServer": map[string]any{"extraArgs": args(version, "audit-log-maxage", "7", "cloud-provider", "external"), "certSANs": []any{"10.0.0.5", "api.example.com"}},
		},
		"initConfiguration": map[string]any{"nodeRegistration": registration()},
		"joinConfiguration": map[string]any{"nodeRegistration": registration()},
		"files": []any{
			map[string]any{"path": "/etc/kubernetes/manifests/kube-vip.yaml", "owner": "root:root", "content": "address: 55.55.55.55\n"},
			map[string]any{"path": "/etc/app.conf", "permissions": "0644", "contentFrom": map[string]any{"secret": map[string]any{"name": "app", "key": "conf"}}},
		},
		"users":               []any{map[string]any{"name": "admin", "sudo": "ALL=(ALL) NOPASSWD:ALL", "sshAuthorizedKeys": []any{"ssh-ed25519 AAAA a"}}},
		"preKubeadmCommands":  []any{"echo pre", "hostnamectl set-hostname x"},
		"postKubeadmCommands": []any{"echo post"},
		"ntp":                 map[string]any{"enabled": true, "servers": []any{"ntp.example.com"}},
	}
}

func infra(version, kind, name string) map[string]any {
	if version == "v1beta1" {
		return map[string]any{"apiVersion": InfraGroup + "/v1beta1", "kind": kind, "name": name}
	}
	return map[string]any{"apiGroup": InfraGroup, "kind": kind, "name": name}
}

func controlPlane(version string, obj map[string]any) {
	labels := at(obj, "metadata")
	labels["labels"] = map[string]any{"cluster.x-k8s.io/cluster-name": "demo"}
}

func smallControlPlane(version string, obj map[string]any) {
	controlPlane(version, obj)
	spec := at(obj, "spec")
	spec["replicas"], spec["version"] = int64(3), "v1.31.4"
	spec["kubeadmConfigSpec"] = small(version)
	template := at(spec, "machineTemplate")
	template["metadata"] = map[string]any{"labels": map[string]any{"example.com/a": "a"}, "annotations": map[string]any{"example.com/b": "b"}}
	if version == "v1beta1" {
		template["infrastructureRef"] = infra(version, "DockerMachineTemplate", "infra-a")
		template["nodeDrainTimeout"] = "10m0s"
	} else {
		template["spec"] = map[string]any{
			"infrastructureRef": infra(version, "DockerMachineTemplate", "infra-a"),
			"deletion":          map[string]any{"nodeDrainTimeoutSeconds": int64(600)},
		}
	}
}

// ControlPlane is the KubeadmControlPlane without its observer.
func ControlPlane() walker.Kind {
	return walker.Kind{
		Group: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane",
		Bases: []walker.Base{
			{Name: "small", Prepare: smallControlPlane},
			{Name: "small-differs", Prepare: func(version string, obj map[string]any) {
				smallControlPlane(version, obj)
				init := at(obj, "spec", "kubeadmConfigSpec", "initConfiguration")
				init["skipPhases"] = []any{"addon/kube-proxy"}
				at(init, "nodeRegistration")["criSocket"] = "/run/init.sock"
			}},
			{Name: "small-old", Prepare: func(version string, obj map[string]any) {
				smallControlPlane(version, obj)
				spec := at(obj, "spec")
				spec["version"], spec["replicas"] = "v1.30.2", int64(1)
			}},
			{Name: "bare", Prepare: func(version string, obj map[string]any) {
				smallControlPlane(version, obj)
				spec := at(obj, "spec")
				spec["kubeadmConfigSpec"] = map[string]any{"clusterConfiguration": map[string]any{"imageRepository": "registry.k8s.io"}}
				if version != "v1beta1" {
					delete(at(spec, "machineTemplate"), "metadata")
				}
			}},
			{Name: "full", Full: true, Prepare: func(version string, obj map[string]any) {
				controlPlane(version, obj)
				kubeadm(version, at(obj, "spec", "kubeadmConfigSpec"))
			}},
			{Name: "full-external", Full: true, Prepare: func(version string, obj map[string]any) {
				controlPlane(version, obj)
				config := at(obj, "spec", "kubeadmConfigSpec")
				kubeadm(version, config)
				external(config)
			}},
		},
		Pairs: controlPlanePairs,
	}
}

func controlPlanePairs(version string, obj map[string]any) []walker.Case {
	const config = "/spec/kubeadmConfigSpec"
	rollout, surge, after, before := "/spec/rollout", "/spec/rollout/strategy/rollingUpdate/maxSurge", "/spec/rollout/after", "/spec/rollout/before"
	infra := "/spec/machineTemplate/spec/infrastructureRef"
	if version == "v1beta1" {
		rollout, surge, after, before = "/spec/rolloutStrategy", "/spec/rolloutStrategy/rollingUpdate/maxSurge", "/spec/rolloutAfter", "/spec/rolloutBefore"
		infra = "/spec/machineTemplate/infrastructureRef"
	}
	set, remove, many := walker.Set, walker.Remove, walker.Many
	registration := func(part string) string { return config + "/" + part + "Configuration/nodeRegistration" }
	cases := []walker.Case{
		many("surge0-replicas1", set(surge, 0), set("/spec/replicas", 1)),
		many("surge0-replicas3", set(surge, 0), set("/spec/replicas", 3)),
		many("surge0-replicas-removed", set(surge, 0), remove("/spec/replicas")),
		many("rollout-null", set(rollout, nil)),
		many("version-and-infra", set("/spec/version", "v1.32.0"), set(infra+"/name", "infra-b")),
		many("version-and-replicas", set("/spec/version", "v1.32.0"), set("/spec/replicas", 5)),
		many("version-and-label", set("/spec/version", "v1.32.0"), set("/spec/machineTemplate/metadata/labels/example.com~1new", "n")),
		many("users-and-files", set(config+"/users/0/name", "other"), set(config+"/files/0/content", "address: 10.0.0.9\n")),
		many("files-swapped", set(config+"/files/0/path", "/etc/swap"), remove(config+"/files/1")),
		many("file-content-to-secret", remove(config+"/files/0/content"), set(config+"/files/0/contentFrom", map[string]any{"secret": map[string]any{"name": "s", "key": "k"}})),
		many("file-both-contents", set(config+"/files/0/contentFrom", map[string]any{"secret": map[string]any{"name": "s", "key": "k"}})),
		many("file-same-path", set(config+"/files/1/path", first(obj, "files", "path"))),
		many("user-passwd-to-secret", remove(config+"/users/0/passwd"), set(config+"/users/0/passwdFrom", map[string]any{"secret": map[string]any{"name": "s", "key": "k"}})),
		many("user-both-passwords", set(config+"/users/0/passwd", "x"), set(config+"/users/0/passwdFrom", map[string]any{"secret": map[string]any{"name": "s", "key": "k"}})),
		many("etcd-local-to-external", remove(config+"/clusterConfiguration/etcd/local"), set(config+"/clusterConfiguration/etcd/external", externalEtcd)),
		many("etcd-external-added", set(config+"/clusterConfiguration/etcd", map[string]any{"external": externalEtcd})),
		many("etcd-external-to-local", set(config+"/clusterConfiguration/etcd", map[string]any{"local": map[string]any{"dataDir": "/var/lib/etcd"}})),
		many("replicas-even-external", set("/spec/replicas", 4), set(config+"/clusterConfiguration/etcd", map[string]any{"external": externalEtcd})),
		many("local-mode-true", set(config+"/clusterConfiguration/featureGates", map[string]any{"ControlPlaneKubeletLocalMode": true})),
		many("local-mode-false", set(config+"/clusterConfiguration/featureGates", map[string]any{"ControlPlaneKubeletLocalMode": false})),
		many("feature-gates-empty", set(config+"/clusterConfiguration/featureGates", map[string]any{})),
		many("init-and-join-name", set(registration("init")+"/name", "other"), set(registration("join")+"/name", "other")),
		many("init-and-join-differently", set(registration("init")+"/name", "one"), set(registration("join")+"/name", "two")),
		many("init-like-join", set(config+"/initConfiguration/nodeRegistration", value(obj, "joinConfiguration", "nodeRegistration"))),
		many("join-like-init", set(config+"/joinConfiguration/nodeRegistration", value(obj, "initConfiguration", "nodeRegistration"))),
		many("taints-empty-both", set(registration("init")+"/taints", []any{}), set(registration("join")+"/taints", []any{})),
		many("taints-removed-both", remove(registration("init")+"/taints"), remove(registration("join")+"/taints")),
		many("cluster-and-join", set(config+"/clusterConfiguration/imageRepository", "registry.example.com/x"), set(registration("join")+"/name", "other")),
		many("cluster-and-init", set(config+"/clusterConfiguration/imageRepository", "registry.example.com/x"), set(registration("init")+"/name", "other")),
		many("dns-and-repository", set(config+"/clusterConfiguration/dns", map[string]any{"imageTag": "v1.12.0"}), set(config+"/clusterConfiguration/imageRepository", "registry.example.com/x")),
		many("dns-repository", set(config+"/clusterConfiguration/dns", map[string]any{"imageRepository": "registry.example.com/dns"})),
		many("coredns-unknown-skipped", set(config+"/clusterConfiguration/dns", map[string]any{"imageTag": "v1.99.0"}), set("/metadata/annotations", map[string]any{"controlplane.cluster.x-k8s.io/skip-coredns": ""})),
		many("annotation-paused", set("/metadata/annotations", map[string]any{"cluster.x-k8s.io/paused": ""})),
		many("paused-and-version", set("/metadata/annotations", map[string]any{"cluster.x-k8s.io/paused": ""}), set("/spec/version", "v1.32.0")),
		many("annotation-own", set("/metadata/annotations", map[string]any{"example.com/own": "x"})),
		many("label-own", set("/metadata/labels/example.com~1own", "x")),
		many("label-cluster-name-changed", set("/metadata/labels/cluster.x-k8s.io~1cluster-name", "other")),
		many("template-label-reserved", set("/spec/machineTemplate/metadata/labels/cluster.x-k8s.io~1cluster-name", "other")),
		many("template-label-invalid", set("/spec/machineTemplate/metadata/labels/example.com~1new", "not valid!")),
		many("template-metadata-both", set("/spec/machineTemplate/metadata", map[string]any{"labels": map[string]any{"n": "v"}, "annotations": map[string]any{"n": "v"}})),
		many("unknown-field", set("/spec/unknownField", "x")),
		many("unknown-nested-field", set(config+"/unknownField", map[string]any{"a": "b"})),
		many("other-version-name", set("/spec/rolloutAfter", "2025-06-01T00:00:00Z")),
		many("after-between", set(after, "2025-06-01T00:00:00Z")),
		many("after-future", set(after, "2030-01-01T00:00:00Z")),
		many("after-old", set(after, "2024-01-01T00:00:00Z")),
		many("before-open", set(before, map[string]any{"certificatesExpiryDays": 90})),
		many("before-closed", set(before, map[string]any{"certificatesExpiryDays": 30})),
		many("before-small", set(before, map[string]any{"certificatesExpiryDays": 3})),
		many("infra-missing", set(infra+"/name", "missing")),
		many("infra-missing-kind", set(infra+"/kind", "MissingMachineTemplate"), set(infra+"/name", "other")),
		many("init-removed", remove(config+"/initConfiguration")),
		many("join-removed", remove(config+"/joinConfiguration")),
		many("init-and-join-removed", remove(config+"/initConfiguration"), remove(config+"/joinConfiguration")),
		many("cluster-configuration-removed", remove(config+"/clusterConfiguration")),
		many("join-control-plane-empty", set(config+"/joinConfiguration/controlPlane", map[string]any{})),
	}
	return append(cases, timeoutPairs(version)...)
}

var externalEtcd = map[string]any{"endpoints": []any{"https://10.0.1.1:2379"}, "caFile": "/a", "certFile": "/b", "keyFile": "/c"}

func timeoutPairs(version string) []walker.Case {
	const config = "/spec/kubeadmConfigSpec"
	set, many := walker.Set, walker.Many
	if version == "v1beta1" {
		return []walker.Case{
			many("control-plane-timeout", set(config+"/clusterConfiguration/apiServer/timeoutForControlPlane", "10m0s")),
			many("control-plane-timeout-spelled", set(config+"/clusterConfiguration/apiServer/timeoutForControlPlane", "600s")),
			many("discovery-timeout", set(config+"/joinConfiguration/discovery", map[string]any{"timeout": "7m0s"})),
			many("retry-join", set(config+"/useExperimentalRetryJoin", true)),
		}
	}
	var cases []walker.Case
	for _, name := range []string{"controlPlaneComponentHealthCheckSeconds", "kubeletHealthCheckSeconds", "kubernetesAPICallSeconds", "etcdAPICallSeconds", "tlsBootstrapSeconds", "discoverySeconds"} {
		one := func(part string, seconds int) walker.Op {
			return set(config+"/"+part+"Configuration/timeouts", map[string]any{name: seconds})
		}
		cases = append(cases,
			many("timeout-both-"+name, one("init", 120), one("join", 120)),
			many("timeout-differs-"+name, one("init", 120), one("join", 121)),
			many("timeout-init-"+name, one("init", 120)),
			many("timeout-join-"+name, one("join", 120)))
	}
	return cases
}

func value(obj map[string]any, part, name string) any {
	present := at(at(obj, "spec", "kubeadmConfigSpec"), part)[name]
	if present == nil {
		return map[string]any{}
	}
	return present
}

func first(obj map[string]any, list, name string) any {
	items, _ := at(obj, "spec", "kubeadmConfigSpec")[list].([]any)
	if len(items) == 0 {
		return ""
	}
	item, _ := items[0].(map[string]any)
	return item[name]
}

// Templates are the kinds that hold a kubeadm configuration and are judged by webhooks alone.
func Templates() []walker.Kind {
	trimmed := func(name string) string { return strings.TrimSuffix(name, "Template") }
	kinds := []walker.Kind{}
	for _, kind := range []string{"KubeadmConfigTemplate", "KubeadmConfig"} {
		path := []string{"spec", "template", "spec"}
		if kind == trimmed(kind) {
			path = []string{"spec"}
		}
		kinds = append(kinds, walker.Kind{
			Group: "bootstrap.cluster.x-k8s.io", Kind: kind,
			Bases: []walker.Base{
				{Name: "full", Full: true, Prepare: func(version string, obj map[string]any) { kubeadm(version, at(obj, path...)) }},
				{Name: "small", Prepare: func(version string, obj map[string]any) {
					parent := obj
					for _, name := range path[:len(path)-1] {
						parent = at(parent, name)
					}
					parent[path[len(path)-1]] = small(version)
				}},
			},
		})
	}
	return append(kinds, walker.Kind{
		Group: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlaneTemplate",
		Bases: []walker.Base{
			{Name: "full", Full: true, Prepare: func(version string, obj map[string]any) {
				kubeadm(version, at(obj, "spec", "template", "spec", "kubeadmConfigSpec"))
			}},
			{Name: "small", Prepare: func(version string, obj map[string]any) {
				at(obj, "spec", "template", "spec")["kubeadmConfigSpec"] = small(version)
			}},
		},
	})
}
