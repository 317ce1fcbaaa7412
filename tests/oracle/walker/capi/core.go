package capi

import "rollgate.dev/oracle/walker"

const coreGroup = "cluster.x-k8s.io"

func bootstrap(version, name string) map[string]any {
	if version == "v1beta1" {
		return map[string]any{"configRef": map[string]any{"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfigTemplate", "name": name}}
	}
	return map[string]any{"configRef": map[string]any{"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": name}}
}

func smallMachineSpec(version string) map[string]any {
	spec := map[string]any{
		"clusterName": "demo", "version": "v1.31.4", "failureDomain": "fd-a",
		"bootstrap":         bootstrap(version, "config-a"),
		"infrastructureRef": infra(version, "DockerMachineTemplate", "infra-a"),
	}
	if version == "v1beta1" {
		spec["nodeDrainTimeout"] = "10m0s"
	} else {
		spec["deletion"] = map[string]any{"nodeDrainTimeoutSeconds": int64(600)}
	}
	return spec
}

var selector = map[string]any{"matchLabels": map[string]any{"example.com/pool": "a"}}

func templated(obj map[string]any) {
	metadata := at(obj, "spec", "template", "metadata")
	metadata["labels"] = map[string]any{"example.com/pool": "a", "example.com/a": "a"}
	metadata["annotations"] = map[string]any{"example.com/b": "b"}
}

func smallWorkers(version string, obj map[string]any) {
	spec := at(obj, "spec")
	spec["clusterName"], spec["replicas"] = "demo", int64(3)
	spec["selector"] = selector
	templated(obj)
	at(spec, "template")["spec"] = smallMachineSpec(version)
}

func fullWorkers(_ string, obj map[string]any) {
	at(obj, "spec")["selector"] = selector
	templated(obj)
}

// workerHints are for kinds that make Machines from a template.
func workerHints(object string) walker.Hints {
	naming := walker.Values("{{ ."+object+".name }}-{{ .random }}", "w-{{ .random }}", "no-random")
	return walker.Hints{
		"machineNaming.template":         naming,
		"machineNamingStrategy.template": naming,
		"template.spec.taints":           walker.Hint{Skip: true, Values: []any{[]any{map[string]any{"key": "example.com/a", "value": "x", "effect": "NoSchedule", "propagation": "Always"}}}},
		"spec.taints":                    skip,
		"template.spec.clusterName":      walker.Values("demo", "other"),
		"template.spec.version":          walker.Values("v1.31.4", "v1.31.5", "v1.32.0", "v1.30.9", "1.31.4", "v1.31.4+build.1", "latest"),
		"template.metadata.labels":       walker.Values(map[string]any{"example.com/pool": "a", "example.com/a": "a"}, map[string]any{"example.com/pool": "a", "example.com/a": "x"}, map[string]any{"example.com/pool": "b"}),
		"selector":                       walker.Values(selector, map[string]any{"matchLabels": map[string]any{"example.com/a": "a"}}, map[string]any{"matchLabels": map[string]any{"example.com/other": "a"}}, map[string]any{"matchExpressions": []any{map[string]any{"key": "example.com/pool", "operator": "In", "values": []any{"a", "b"}}}}),
		"deletePolicy":                   walker.Defaulted("Random", "Oldest", "Newest", "Random", "Eldest"),
		"deletion.order":                 walker.Defaulted("Random", "Oldest", "Newest", "Random", "Eldest"),
		"strategy.type":                  walker.Defaulted("RollingUpdate", "RollingUpdate", "OnDelete", "Recreate"),
		"maxInFlight":                    walker.Values(1, 2, "20%", "bad"),
		"minReadySeconds":                walker.Defaulted(0, 10, 20),
		"progressDeadlineSeconds":        walker.Defaulted(600, 700, 800),
		"revisionHistoryLimit":           walker.Defaulted(1, 3, 4),
	}
}

// Deployment is the MachineDeployment without its observer.
func Deployment() walker.Kind {
	return walker.Kind{
		Group: coreGroup, Kind: "MachineDeployment", Hints: workerHints("machineSet"),
		Bases: []walker.Base{
			{Name: "small", Prepare: smallWorkers},
			{Name: "small-ondelete", Prepare: func(version string, obj map[string]any) {
				smallWorkers(version, obj)
				spec := at(obj, "spec")
				if version != "v1beta1" {
					spec = at(spec, "rollout")
				}
				spec["strategy"] = map[string]any{"type": "OnDelete"}
			}},
			{Name: "small-secret", Prepare: func(version string, obj map[string]any) {
				smallWorkers(version, obj)
				spec := at(obj, "spec", "template", "spec")
				spec["bootstrap"] = map[string]any{"dataSecretName": "secret-a"}
				delete(spec, "failureDomain")
			}},
			{Name: "small-autoscaled", NoWalk: true, Prepare: func(version string, obj map[string]any) {
				smallWorkers(version, obj)
				at(obj, "metadata")["annotations"] = map[string]any{
					"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "2",
					"cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "4",
				}
			}},
			{Name: "full", Full: true, Prepare: fullWorkers},
		},
		Pairs: deploymentPairs,
	}
}

func deploymentPairs(version string, _ map[string]any) []walker.Case {
	set, remove, many := walker.Set, walker.Remove, walker.Many
	strategy, after := "/spec/rollout/strategy", "/spec/rollout/after"
	if version == "v1beta1" {
		strategy, after = "/spec/strategy", "/spec/rolloutAfter"
	}
	const template = "/spec/template/spec"
	return []walker.Case{
		many("bootstrap-to-secret", set(template+"/bootstrap", map[string]any{"dataSecretName": "s"})),
		many("bootstrap-to-config", set(template+"/bootstrap", bootstrap(version, "config-b"))),
		many("cluster-name-both", set("/spec/clusterName", "other"), set(template+"/clusterName", "other")),
		many("selector-and-labels", set("/spec/selector", map[string]any{"matchLabels": map[string]any{"n": "v"}}), set("/spec/template/metadata/labels", map[string]any{"n": "v"})),
		many("labels-and-version", set("/spec/template/metadata/labels/new", "v"), set(template+"/version", "v1.32.0")),
		many("version-and-infra", set(template+"/version", "v1.32.0"), set(template+"/infrastructureRef/name", "infra-b")),
		many("surge0-unavailable0", set(strategy, map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": 0, "maxUnavailable": 0}})),
		many("surge0-unavailable1", set(strategy, map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": 0, "maxUnavailable": 1}})),
		many("ondelete", set(strategy, map[string]any{"type": "OnDelete"})),
		many("ondelete-and-version", set(strategy, map[string]any{"type": "OnDelete"}), set(template+"/version", "v1.32.0")),
		many("rolling", set(strategy, map[string]any{"type": "RollingUpdate"})),
		many("after-between", set(after, "2025-06-01T00:00:00Z")),
		many("after-future", set(after, "2030-01-01T00:00:00Z")),
		many("after-old", set(after, "2024-01-01T00:00:00Z")),
		many("after-equal", set(after, Machines)),
		many("paused", set("/spec/paused", true)),
		many("paused-and-version", set("/spec/paused", true), set(template+"/version", "v1.32.0")),
		many("annotation-paused-and-version", set("/metadata/annotations", map[string]any{"cluster.x-k8s.io/paused": ""}), set(template+"/version", "v1.32.0")),
		many("annotation-own", set("/metadata/annotations", map[string]any{"example.com/own": "x"})),
		many("label-own", set("/metadata/labels", map[string]any{"example.com/own": "x", coreGroup + "/cluster-name": "demo"})),
		many("skip-preflight", set("/metadata/annotations", map[string]any{"machineset.cluster.x-k8s.io/skip-preflight-checks": "All"})),
		many("skip-preflight-bad", set("/metadata/annotations", map[string]any{"machineset.cluster.x-k8s.io/skip-preflight-checks": "Bad"})),
		many("autoscaled-replicas-removed", set("/metadata/annotations", map[string]any{
			"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "5",
			"cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "7"}), remove("/spec/replicas")),
		many("replicas-removed", remove("/spec/replicas")),
		many("unknown-field", set("/spec/unknownField", "x")),
		many("template-metadata-removed", remove("/spec/template/metadata")),
		many("taint-reserved", set(template+"/taints", []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule", "propagation": "Always"}})),
		many("taint", set(template+"/taints", []any{map[string]any{"key": "example.com/new", "effect": "NoSchedule", "propagation": "Always"}})),
	}
}

// Judged are the core kinds that webhooks and schemas alone answer for.
func Judged() []walker.Kind {
	kinds := []walker.Kind{
		{Group: coreGroup, Kind: "MachineSet", Hints: workerHints("machineSet"), Bases: []walker.Base{
			{Name: "small", Prepare: smallWorkers}, {Name: "full", Full: true, Prepare: fullWorkers}}},
		{Group: coreGroup, Kind: "MachinePool", Hints: workerHints("machinePool"), Bases: []walker.Base{
			{Name: "small", Prepare: func(version string, obj map[string]any) {
				smallWorkers(version, obj)
				delete(at(obj, "spec"), "selector")
				delete(at(obj, "spec", "template", "spec"), "failureDomain")
			}},
			{Name: "full", Full: true, Prepare: func(version string, obj map[string]any) { templated(obj) }}}},
		{Group: coreGroup, Kind: "Machine", Hints: workerHints("machine"), Bases: []walker.Base{
			{Name: "small", Prepare: func(version string, obj map[string]any) {
				at(obj, "metadata")["labels"] = map[string]any{coreGroup + "/cluster-name": "demo"}
				obj["spec"] = smallMachineSpec(version)
			}},
			{Name: "full", Full: true}}},
	}
	return append(kinds, healthCheck(), cluster())
}

func healthCheck() walker.Kind {
	return walker.Kind{Group: coreGroup, Kind: "MachineHealthCheck",
		Hints: walker.Hints{
			"selector":                          walker.Values(selector, map[string]any{"matchLabels": map[string]any{"example.com/pool": "b"}}),
			"unhealthyConditions.type":          walker.Values("Ready", "MemoryPressure", "DiskPressure"),
			"unhealthyConditions.status":        walker.Values("False", "Unknown", "True"),
			"unhealthyNodeConditions.type":      walker.Values("Ready", "MemoryPressure", "DiskPressure"),
			"unhealthyNodeConditions.status":    walker.Values("False", "Unknown", "True"),
			"unhealthyMachineConditions.type":   walker.Values("InfrastructureReady", "BootstrapConfigReady", "NodeReady", "Ready"),
			"unhealthyMachineConditions.status": walker.Values("False", "Unknown", "True"),
			"nodeStartupTimeoutSeconds":         walker.Defaulted(600, 720, 900, 1),
			"unhealthyLessThanOrEqualTo":        walker.Defaulted("100%", "40%", 2, "bad"),
			"unhealthyInRange":                  skip,
			"unhealthyRange":                    skip,
			"remediationTemplate.apiVersion":    walker.Values(InfraGroup+"/v1beta1", InfraGroup+"/v1beta2"),
			"remediationTemplate.kind":          walker.Values("DockerRemediationTemplate", "OtherRemediationTemplate"),
			"remediationTemplate.name":          walker.Values("remediation-a", "remediation-b"),
			"remediationTemplate.namespace":     walker.Values("default", "other"),
			"templateRef.apiVersion":            walker.Values(InfraGroup+"/v1beta1", InfraGroup+"/v1beta2"),
			"templateRef.kind":                  walker.Values("DockerRemediationTemplate", "OtherRemediationTemplate"),
			"templateRef.name":                  walker.Values("remediation-a", "remediation-b"),
		},
		Bases: []walker.Base{
			{Name: "small", Prepare: func(version string, obj map[string]any) {
				spec := at(obj, "spec")
				spec["clusterName"], spec["selector"] = "demo", selector
				if version == "v1beta1" {
					spec["maxUnhealthy"] = "40%"
					spec["unhealthyConditions"] = []any{map[string]any{"type": "Ready", "status": "Unknown", "timeout": "5m0s"}}
					return
				}
				spec["checks"] = map[string]any{"unhealthyNodeConditions": []any{map[string]any{"type": "Ready", "status": "Unknown", "timeoutSeconds": int64(300)}}}
				spec["remediation"] = map[string]any{"triggerIf": map[string]any{"unhealthyLessThanOrEqualTo": "40%"}}
			}},
			{Name: "full", Full: true},
		},
		Pairs: func(version string, _ map[string]any) []walker.Case {
			return []walker.Case{
				walker.Many("cluster-name", walker.Set("/spec/clusterName", "other")),
				walker.Many("selector-empty", walker.Set("/spec/selector", map[string]any{})),
				walker.Many("selector-empty-labels", walker.Set("/spec/selector", map[string]any{"matchLabels": map[string]any{}})),
			}
		}}
}

func cluster() walker.Kind {
	reference := func(version, group, kind, name string) map[string]any {
		if version == "v1beta1" {
			return map[string]any{"apiVersion": group + "/v1beta1", "kind": kind, "name": name, "namespace": "default"}
		}
		return map[string]any{"apiGroup": group, "kind": kind, "name": name}
	}
	return walker.Kind{Group: coreGroup, Kind: "Cluster",
		Hints: walker.Hints{
			"infrastructureRef.kind":          walker.Values("DockerCluster", "OtherCluster"),
			"topology":                        skip,
			"controlPlaneEndpoint.host":       walker.Values("10.0.0.100", "10.0.0.101"),
			"availabilityGates.conditionType": walker.Values("example.com/a", "example.com/b", "example.com/c"),
		},
		Bases: []walker.Base{
			{Name: "small", Prepare: func(version string, obj map[string]any) {
				spec := at(obj, "spec")
				spec["clusterNetwork"] = map[string]any{"pods": map[string]any{"cidrBlocks": []any{"192.168.0.0/16"}}, "services": map[string]any{"cidrBlocks": []any{"10.128.0.0/12"}}, "serviceDomain": "cluster.local"}
				spec["controlPlaneEndpoint"] = map[string]any{"host": "10.0.0.100", "port": int64(6443)}
				spec["controlPlaneRef"] = reference(version, "controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "demo")
				spec["infrastructureRef"] = reference(version, InfraGroup, "DockerCluster", "demo")
			}},
			{Name: "full", Full: true},
		},
		Pairs: func(version string, _ map[string]any) []walker.Case {
			set, remove, many := walker.Set, walker.Remove, walker.Many
			return []walker.Case{
				many("refs-removed", remove("/spec/controlPlaneRef"), remove("/spec/infrastructureRef")),
				many("endpoint-removed", remove("/spec/controlPlaneEndpoint")),
				many("paused", set("/spec/paused", true)),
				many("topology-added", set("/spec/topology", map[string]any{"class": "c", "classRef": map[string]any{"name": "c"}, "version": "v1.31.4"})),
				many("pods-two-families", set("/spec/clusterNetwork/pods/cidrBlocks", []any{"192.168.0.0/16", "fd00::/64"})),
				many("pods-two-same-family", set("/spec/clusterNetwork/pods/cidrBlocks", []any{"192.168.0.0/16", "10.3.0.0/16"})),
				many("label-own", set("/metadata/labels", map[string]any{"example.com/own": "x"})),
			}
		}}
}

// More are kinds that only some versions serve, judged by webhooks and schemas alone.
func More() []walker.Kind {
	return []walker.Kind{
		{Group: "addons.cluster.x-k8s.io", Kind: "ClusterResourceSet", Bases: []walker.Base{{Name: "full", Full: true}},
			Hints: walker.Hints{
				"clusterSelector": walker.Values(selector, map[string]any{"matchLabels": map[string]any{"example.com/pool": "b"}}),
				"strategy":        walker.Defaulted("ApplyOnce", "ApplyOnce", "Reconcile"),
			}},
		{Group: coreGroup, Kind: "MachineDrainRule", Bases: []walker.Base{{Name: "full", Full: true}},
			Hints: walker.Hints{
				"selector":          walker.Values(selector, map[string]any{"matchLabels": map[string]any{"example.com/pool": "b"}}),
				"clusterSelector":   walker.Values(selector),
				"podSelector":       walker.Values(selector),
				"namespaceSelector": walker.Values(selector),
				"drain.order":       skip,
				"drain.behavior":    walker.Values("Skip", "Drain", "WaitCompleted"),
			}},
	}
}
