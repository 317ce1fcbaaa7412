//! What counts of the objects of a workload cluster.

use super::*;
use crate::tree::json;

fn budget(allowed: i64, seen: u64) -> Value {
    json!({"metadata": {"name": "b", "namespace": "n", "generation": 2},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"observedGeneration": seen, "disruptionsAllowed": allowed, "expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 2}})
}

fn pod(more: Value) -> Value {
    let mut pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "w-0"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    for (pointer, value) in more.as_object().expect("a map") {
        pod[pointer] = value.clone();
    }
    pod
}

#[test]
fn a_budget_counts_where_the_api_server_refuses_evictions() {
    assert!(Budget::of(&budget(0, 2)).is_some() && Budget::of(&budget(1, 2)).is_none());
    assert!(Budget::of(&budget(1, 1)).is_some(), "its controller has not counted since it was changed");
    let mut empty = budget(0, 2);
    empty["status"]["expectedPods"] = json!(0);
    assert!(Budget::of(&empty).is_none());
    empty["status"] = json!({});
    assert!(Budget::of(&empty).is_some(), "nobody has counted yet");
}

#[test]
fn a_pod_is_kept_where_a_drain_asks_for_it_and_the_budget_refuses() {
    let keeps = |budget: &Budget, more: Value| budget.keeps(&pod(more));
    let full = Budget::of(&budget(0, 2)).expect("a budget");
    assert!(keeps(&full, json!({})));
    for more in [
        json!({"metadata": {"annotations": {MIRROR: "x"}}}),
        json!({"metadata": {"labels": {DRAIN: "skip"}}}),
        json!({"metadata": {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "controller": true}]}}),
        json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}}),
        json!({"status": {"phase": "Succeeded"}}),
        json!({"status": {"phase": "Running"}}),
    ] {
        assert!(!keeps(&full, more.clone()), "{more}");
    }
    // One that is not healthy enough keeps also what is not ready, unless it says otherwise.
    let ailing = Budget { healthy: 1, ..full };
    assert!(keeps(&ailing, json!({"status": {"phase": "Running"}})));
    assert!(!keeps(&Budget { lets_unhealthy_go: true, ..ailing }, json!({"status": {"phase": "Running"}})));
}

#[test]
fn a_selector_is_said_as_a_request_says_it() {
    let of = |value: Value| selector(&json!({"spec": {"selector": value}}));
    assert_eq!(of(json!({})).as_deref(), Some(""));
    assert_eq!(
        of(json!({"matchLabels": {"app": "web"}, "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["a", "b"]}, {"key": "x", "operator": "DoesNotExist"}]})),
        Some("!x,app=web,tier in (a,b)".to_owned())
    );
    assert_eq!(of(json!({"matchExpressions": [{"key": "tier", "operator": "Near"}]})), None);
    assert_eq!(selector(&json!({"spec": {}})), None);
}

#[test]
fn a_node_is_what_gates_ask_and_no_more() {
    let node = json!({"metadata": {"name": "cp-0", "labels": {EXCLUDED: "", OF_PLANE[0]: ""}, "annotations": {MACHINE: "demo-cp-0"}},
        "spec": {"providerID": "x://1", "unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "Unknown"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "cp-0"}]}});
    let node = Node::of(&node).expect("a Node");
    assert!(!node.ready && node.unschedulable && node.excluded && node.control_plane);
    assert_eq!((node.addresses, node.machine.as_deref()), (vec!["10.0.0.1".to_owned()], Some("demo-cp-0")));
}

#[test]
fn what_metallb_announces_has_the_addresses_of_its_service() {
    let services = BTreeMap::from([service(
        &json!({"metadata": {"name": "vip", "namespace": "kube-system"}, "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.9"}]}}}),
    )
    .expect("a Service")]);
    let status = json!({"metadata": {"name": "l2-x"}, "status": {"node": "cp-0", "serviceName": "vip", "serviceNamespace": "kube-system"}});
    let announced = Announced::of(&status, &services).expect("a status");
    assert_eq!((announced.node.as_str(), announced.addresses), ("cp-0", vec!["10.0.0.9".to_owned()]));
    assert!(Announced::of(&json!({"status": {}}), &services).is_none());
}

#[test]
fn a_speaker_is_its_version_and_what_it_is_told() {
    let speaker = |image: &str, args: Value| {
        let mut pod = pod(json!({}));
        pod["spec"]["containers"] =
            json!([{"name": "frr", "image": "frr:9.1"}, {"name": "speaker", "image": image, "args": args}]);
        Speaker::of(&pod).expect("a speaker")
    };
    for (image, version) in [
        ("quay.io/metallb/speaker:v0.14.9", Some("0.14.9")),
        ("reg.local:5000/metallb/speaker:0.15.2@sha256:0a", Some("0.15.2")),
        ("quay.io/metallb/speaker:main", None),
        ("reg.local:5000/metallb/speaker", None),
        ("quay.io/metallb/speaker@sha256:0a", None),
    ] {
        assert_eq!(speaker(image, json!([])).version.as_deref(), version, "{image}");
    }
    assert!(speaker("speaker:v0.15.2", json!(["--port=7472", "--ignore-exclude-lb"])).ignores_exclusion);
    assert!(!speaker("speaker:v0.15.2", json!(["--ignore-exclude-lb=false"])).ignores_exclusion);
    assert!(Speaker::of(&pod(json!({}))).is_none(), "no container of that name");
}

#[test]
fn a_pod_of_etcd_is_its_node_and_whether_it_is_ready() {
    let of = |more: Value| EtcdPod::of(&pod(more)).expect("a Pod on a Node");
    assert_eq!(of(json!({})), EtcdPod { node: "w-0".to_owned(), ready: true });
    assert!(!of(json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})).ready);
    assert!(!of(json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}})).ready);
    assert!(EtcdPod::of(&pod(json!({"spec": {}}))).is_none());
}
