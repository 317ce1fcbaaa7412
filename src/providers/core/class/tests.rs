//! What the webhook of ClusterClass refuses, case by case beside its own tests (`core/webhooks/admission/clusterclass_test.go` and
//! `patch_validation_test.go` of Cluster API 1.14).

use super::*;
use crate::kinds::Webhook as _;
use crate::kinds::gates::State;
use crate::object::Key;
use crate::providers::core::webhook::Core;
use crate::providers::kind;
use crate::tree::json;

/// A class that the webhook takes.
fn class() -> Value {
    let template = |group: &str, kind: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": "t"}});
    let machines = template("infrastructure", "DockerMachineTemplate");
    let bootstrap = template("bootstrap", "KubeadmConfigTemplate");
    let mut plane = template("controlplane", "KubeadmControlPlaneTemplate");
    plane["machineInfrastructure"] = machines.clone();
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": {"name": "c", "namespace": "d"},
        "spec": {
            "infrastructure": template("infrastructure", "DockerClusterTemplate"),
            "controlPlane": plane,
            "workers": {
                "machineDeployments": [{"class": "w", "bootstrap": bootstrap, "infrastructure": machines}],
                "machinePools": [{"class": "p", "bootstrap": bootstrap, "infrastructure": template("infrastructure", "DockerMachinePoolTemplate")}],
            },
            "variables": [{"name": "img", "required": false, "schema": {"openAPIV3Schema": {"type": "string", "default": "a"}}}],
            "patches": [{"name": "img", "enabledIf": "{{ if .img }}true{{ end }}", "definitions": [{
                "selector": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DockerMachineTemplate",
                    "matchResources": {"controlPlane": true, "machineDeploymentClass": {"names": ["w"]}}},
                "jsonPatches": [{"op": "add", "path": "/spec/template/spec/customImage", "valueFrom": {"variable": "img"}}],
            }]}],
        },
    })
}

/// What is refused where `change` is laid over the class at a pointer; null takes away.
fn refused(at: &str, change: &Value, version: &str) -> Vec<String> {
    let old = class();
    let mut new = class();
    if at.is_empty() {
        new = change.clone();
    } else {
        let (holder, last) = at.rsplit_once('/').expect("a pointer");
        let holder = new.pointer_mut(holder).expect("a place that is there");
        match (holder, change) {
            (Value::Object(map), Value::Null) => drop(map.remove(last)),
            (Value::Object(map), change) => drop(map.insert(last, change.clone())),
            (Value::Array(items), change) => items[last.parse::<usize>().expect("a place in a list")] = change.clone(),
            _ => panic!("{at} is no place to put something"),
        }
    }
    let versions = Versions::told("cluster-api", version);
    let key = Key::new("cluster.x-k8s.io/v1beta2", "ClusterClass", Some("d"), "c");
    let write = Write {
        key: &key,
        kind: kind(&key),
        api_version: "cluster.x-k8s.io/v1beta2",
        is_new: false,
        live: Some(&old),
        old: &old,
        new: &new,
        versions: &versions,
        gate: &|_| State::On,
    };
    Core.refusals(&write).into_iter().map(|refusal| refusal.path.to_string()).collect()
}

#[test]
fn what_a_class_says_of_itself_holds_together() {
    let refused = |at: &str, change: Value| refused(at, &change, "v1.14.2");
    assert_eq!(refused("/metadata/name", json!("c")), Vec::<String>::new());
    let plane = "/spec/controlPlane";
    let workers = "/spec/workers/machineDeployments/0";
    let rolling = json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}});
    let check = |checks: Value| json!({"checks": checks});
    for (at, change, path) in [
        ("/spec/infrastructure/templateRef/name", json!(""), "spec.infrastructure.templateRef.name"),
        ("/spec/infrastructure/templateRef/kind", json!("DockerCluster"), "spec.infrastructure.templateRef.kind"),
        ("/spec/infrastructure/templateRef/kind", json!("DevClusterTemplate"), "spec.infrastructure.templateRef.kind"),
        (
            "/spec/infrastructure/templateRef/apiVersion",
            json!("other.io/v1"),
            "spec.infrastructure.templateRef.apiVersion",
        ),
        (
            "/spec/controlPlane/machineInfrastructure",
            Value::Null,
            "spec.controlPlane.machineInfrastructure.templateRef.kind",
        ),
        (
            &format!("{plane}/healthCheck"),
            check(json!({"nodeStartupTimeoutSeconds": 29})),
            "spec.controlPlane.healthCheck.checks.nodeStartupTimeoutSeconds",
        ),
        (&format!("{plane}/metadata"), json!({"labels": {"-bad": "x"}}), "spec.controlPlane.metadata.labels.-bad"),
        (&format!("{plane}/naming"), json!({"template": "{{ .cluster.name }}-X"}), "spec.controlPlane.naming.template"),
        (
            &format!("{plane}/naming"),
            json!({"template": "{{ .machinePool.topologyName }}"}),
            "spec.controlPlane.naming.template",
        ),
        (
            &format!("{plane}/taints"),
            json!([{"key": "node-role.kubernetes.io/master"}]),
            "spec.controlPlane.taints[0].key",
        ),
        (&format!("{workers}/rollout"), rolling, "spec.workers.machineDeployments[0].rollout.strategy"),
        (
            &format!("{workers}/naming"),
            json!({"template": "{{ .cluster.nam }}"}),
            "spec.workers.machineDeployments[0].naming.template",
        ),
        (
            &format!("{workers}/healthCheck"),
            json!({"remediation": {"maxInFlight": "1"}}),
            "spec.workers.machineDeployments[0].healthCheck.remediation.maxInFlight",
        ),
    ] {
        assert!(
            refused(at, change.clone()).iter().any(|found| found == path),
            "{at} {change}: {:?}",
            refused(at, change.clone())
        );
    }
    for (at, change) in [
        (format!("{plane}/healthCheck"), check(json!({"nodeStartupTimeoutSeconds": 0}))),
        (format!("{plane}/naming"), json!({"template": "{{ .cluster.name }}-{{ .random }}"})),
        (format!("{plane}/taints"), json!([{"key": "node-role.kubernetes.io/control-plane"}])),
        (format!("{workers}/naming"), json!({"template": "{{ .machineDeployment.topologyName }}-{{ .random }}"})),
        (format!("{workers}/bootstrap/templateRef/kind"), json!("RKE2ConfigTemplate")),
        (format!("{workers}/rollout"), json!({"strategy": {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 0}}})),
    ] {
        assert_eq!(refused(&at, change), Vec::<String>::new(), "{at}");
    }
}

#[test]
fn variables_have_names_and_schemas_that_hold() {
    let refused = |change: Value| refused("/spec/variables", &change, "v1.14.2");
    let one = |name: &str, schema: Value| json!([{"name": "img", "schema": {"openAPIV3Schema": {"type": "string"}}}, {"name": name, "schema": {"openAPIV3Schema": schema}}]);
    let at = "spec.variables[1].schema.openAPIV3Schema";
    for (change, path) in [
        (one("", json!({"type": "string"})), "spec.variables[1].name".to_owned()),
        (one("builtin", json!({"type": "string"})), "spec.variables[1].name".to_owned()),
        (one("a.b", json!({"type": "string"})), "spec.variables[1].name".to_owned()),
        (one("img", json!({"type": "string"})), "spec.variables[1].name".to_owned()),
        (one("v", json!({})), format!("{at}.type")),
        (one("v", json!({"type": "array"})), format!("{at}.items")),
        (one("v", json!({"type": "string", "default": 3})), format!("{at}.default")),
        (one("v", json!({"type": "integer", "maximum": 3, "enum": [2, 4]})), format!("{at}.enum[1]")),
        (
            one("v", json!({"type": "object", "properties": {"a": {"type": "string", "default": 1}}})),
            format!("{at}.properties.a.default"),
        ),
        (
            one(
                "v",
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            ),
            format!("{at}.additionalProperties"),
        ),
        (
            one("v", json!({"type": "string", "x-kubernetes-validations": [{"rule": " "}]})),
            format!("{at}.x-kubernetes-validations[0].rule"),
        ),
    ] {
        assert!(refused(change.clone()).contains(&path), "{change}: {:?}", refused(change.clone()));
    }
    let open = json!({"type": "object", "properties": {"a": {"x-kubernetes-preserve-unknown-fields": true}, "b": {"type": "array", "items": {"type": "string"}, "default": ["x"]}}});
    assert_eq!(refused(one("v", open)), Vec::<String>::new());
}

#[test]
fn patches_select_and_change_what_is_there() {
    let at = "/spec/patches/0/definitions/0";
    let refused = |below: &str, change: Value| refused(&format!("{at}{below}"), &change, "v1.14.2");
    let operation = |change: Value| {
        let mut operation = json!({"op": "add", "path": "/spec/template/spec/x", "value": 1});
        for (key, value) in change.as_object().expect("a map") {
            if value.is_null() {
                operation.as_object_mut().expect("a map").remove(key);
            } else {
                operation[key.as_str()] = value.clone();
            }
        }
        json!([operation])
    };
    for change in [
        json!({"op": "move"}),
        json!({"path": "/metadata/labels"}),
        json!({"path": "/spec/list/1"}),
        json!({"op": "replace", "path": "/spec/list/0"}),
        json!({"value": null}),
        json!({"valueFrom": {"variable": "img"}}),
        json!({"value": null, "valueFrom": {}}),
        json!({"value": null, "valueFrom": {"variable": "none"}}),
        json!({"value": null, "valueFrom": {"variable": "builtin.cluster.nothing"}}),
        json!({"value": null, "valueFrom": {"template": "{{ .a "}}),
    ] {
        assert!(!refused("/jsonPatches", operation(change.clone())).is_empty(), "{change}");
    }
    for change in [
        json!({"path": "/spec/list/0"}),
        json!({"path": "/spec/list/-"}),
        json!({"op": "remove", "value": null}),
        json!({"value": null, "valueFrom": {"variable": "img[0].a"}}),
        json!({"value": null, "valueFrom": {"variable": "builtin.machineDeployment.version"}}),
        json!({"value": null, "valueFrom": {"template": "{{ .img }}"}}),
    ] {
        assert_eq!(refused("/jsonPatches", operation(change.clone())), Vec::<String>::new(), "{change}");
    }
    let resources = |what: Value| refused("/selector/matchResources", what);
    for bad in [
        json!({}),
        json!({"infrastructureCluster": true}),
        json!({"machineDeploymentClass": {"names": ["none"]}}),
        json!({"machineDeploymentClass": {"names": ["a*b"]}}),
        json!({"machinePoolClass": {"names": ["*"]}}),
    ] {
        assert!(!resources(bad.clone()).is_empty(), "{bad}");
    }
    for good in [
        json!({"controlPlane": true}),
        json!({"machineDeploymentClass": {"names": ["*"]}}),
        json!({"machineDeploymentClass": {"names": ["w*"]}}),
    ] {
        assert_eq!(resources(good.clone()), Vec::<String>::new(), "{good}");
    }
}

#[test]
fn what_came_with_a_version_counts_from_it_on() {
    let whole = json!([{"op": "add", "path": "/spec", "value": {}}]);
    let at = "/spec/patches/0/definitions/0/jsonPatches";
    for (version, is_refused) in
        [("v1.11.4", true), ("v1.11.5", false), ("v1.12.1", true), ("v1.12.2", false), ("v1.13.6", false)]
    {
        assert_eq!(!refused(at, &whole, version).is_empty(), is_refused, "{version}");
    }
    let machines = "/spec/controlPlane/machineInfrastructure";
    let of_plane = |version: &str| {
        refused(machines, &Value::Null, version).iter().filter(|path| path.contains("machineInfrastructure")).count()
    };
    assert_eq!((of_plane("v1.12.3"), of_plane("v1.13.6")), (0, 2));
}
