//! What one object becomes, for each way of writing, as unit tests.

use super::*;
use crate::host::last_applied::LAST_APPLIED;
use crate::tree::json;

const HELM: Applier<'_> =
    Applier { manager: "helm", adopts_updates: false, takes: crate::apiserver::apply::Takes::Nothing, force: false };

fn after(way: WriteMethod, live: &Value, last: Last<'_>, rendered: &Value) -> (Value, bool) {
    let key = Key::new("cluster.x-k8s.io/v1beta1", "MachineDeployment", Some("n"), "md");
    match write(way, &Before { key: &key, live, last, says_owners: false, definition: &NoDefinition }, rendered, HELM) {
        AfterWrite::Holds { predicted, unsure, .. } => (predicted["spec"].clone(), matches!(unsure, Unsure::Removals)),
        AfterWrite::Refused { because, .. } => panic!("refused: {because}"),
        AfterWrite::Recreated => panic!("made again"),
    }
}

#[test]
fn the_same_change_by_two_ways_of_writing() {
    let live = json!({"spec": {"replicas": 9, "version": "v1.30.0", "byHand": true}});
    let last = json!({"spec": {"replicas": 1, "version": "v1.30.0"}});
    let new = json!({"spec": {"replicas": 1, "version": "v1.31.0"}});
    let known = Last::Known(&last);
    assert_eq!(
        after(WriteMethod::MergePatch, &live, known, &new).0,
        json!({"replicas": 9, "version": "v1.31.0", "byHand": true})
    );
    assert_eq!(
        after(WriteMethod::ServerSideApply, &live, known, &new).0,
        json!({"replicas": 1, "version": "v1.31.0", "byHand": true})
    );
}

#[test]
fn an_adopted_custom_resource_stays_as_it_is() {
    let live = json!({"spec": {"replicas": 9}});
    assert_eq!(after(WriteMethod::MergePatch, &live, Last::Nothing, &json!({"spec": {"replicas": 1}})).0, live["spec"]);
}

#[test]
fn without_a_base_removals_are_not_seen_and_that_is_said() {
    let live = json!({"spec": {"replicas": 9, "dropped": 1}});
    let seen = after(WriteMethod::MergePatch, &live, Last::Unknown, &json!({"spec": {"replicas": 1}}));
    assert_eq!(seen, (json!({"replicas": 1, "dropped": 1}), true));
    assert!(!after(WriteMethod::MergePatch, &live, Last::Unknown, &json!({"spec": {"replicas": 1, "dropped": 1}})).1);
}

/// A kind whose older versions are there for sure.
struct Sure;

impl Definition for Sure {
    fn has_older_versions(&self) -> bool {
        true
    }
}

#[test]
fn an_apply_that_goes_through_another_version_loses_lists_without_items() {
    let key = Key::new("cluster.x-k8s.io/v1beta2", "MachineHealthCheck", Some("n"), "a");
    let check = |conditions: Value| {
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": {"name": "a"},
            "spec": {"clusterName": "c", "checks": {"unhealthyNodeConditions": conditions}}})
    };
    let conditions = json!({"f:clusterName": {}, "f:checks": {"f:unhealthyNodeConditions": {}}});
    let left = |(operation, mine, fields): (&str, &str, &Value), theirs: &str, definition: &dyn Definition| {
        let mut live = check(json!([{"type": "Ready", "status": "False", "timeoutSeconds": 5}]));
        let entry = |manager: &str, operation: &str, version: &str, fields: &Value| {
            json!({"manager": manager, "operation": operation, "apiVersion": format!("cluster.x-k8s.io/{version}"),
                "fieldsV1": {"f:spec": fields}})
        };
        live["metadata"]["managedFields"] = json!([
            entry("helm", operation, mine, fields),
            entry("kubectl-create", "Update", theirs, &json!({"f:clusterName": {}})),
        ]);
        // What was never sent before is not put back where it is sent now.
        let mut last = check(Value::Null);
        last["spec"].as_object_mut().expect("a map").shift_remove("checks");
        let before = Before { key: &key, live: &live, last: Last::Known(&last), says_owners: true, definition };
        let written = write(WriteMethod::ServerSideApply, &before, &check(json!([])), HELM);
        let AfterWrite::Holds { predicted, .. } = written else { panic!("it is written") };
        predicted.pointer("/spec/checks/unhealthyNodeConditions").cloned()
    };
    let own = ("Apply", "v1beta2", &conditions);
    assert_eq!(left(own, "v1beta1", &Sure), None);
    assert_eq!(left(own, "v1beta2", &Sure), Some(json!([])), "all wrote one version");
    assert_eq!(left(own, "v1beta1", &NoDefinition), Some(json!([])), "nobody knows whether that version is there");
    let other = json!({"f:clusterName": {}});
    assert_eq!(
        left(("Apply", "v1beta2", &other), "v1beta1", &Sure),
        Some(json!([])),
        "it did not apply the list before"
    );
    assert_eq!(left(("Apply", "v1beta1", &other), "v1beta2", &Sure), None, "it applied in another version before");
    assert_eq!(left(("Update", "v1beta2", &other), "v1beta1", &Sure), Some(json!([])), "its first apply");
}

#[test]
fn an_apply_that_changes_its_version_sorts_arguments() {
    let args = |names: [&str; 2]| {
        let list: Vec<Value> = names.iter().map(|name| json!({"name": name, "value": "1"})).collect();
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": {"name": "cp"},
            "spec": {"kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraArgs": list}}}}})
    };
    let key = Key::new("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", Some("n"), "cp");
    let of = |live: [&str; 2],
              definition: &dyn Definition,
              (operation, mine, theirs): (&str, &str, &str),
              applier: Applier<'_>| {
        let mut live = args(live);
        let entry = |manager: &str, operation: &str, version: &str| {
            json!({"manager": manager, "operation": operation, "apiVersion": format!("controlplane.cluster.x-k8s.io/{version}"),
                "fieldsV1": {"f:spec": {"f:replicas": {}}}})
        };
        live["metadata"]["managedFields"] = json!([entry("helm", operation, mine), entry("other", "Apply", theirs)]);
        let before = Before { key: &key, live: &live, last: Last::Unknown, says_owners: true, definition };
        let written = write(WriteMethod::ServerSideApply, &before, &args(["v", "profiling"]), applier);
        let AfterWrite::Holds { predicted, .. } = written else { panic!("it is written") };
        let at = "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/0/name";
        predicted.pointer(at).and_then(Value::as_str).expect("a name").to_owned()
    };
    let stored = ["v", "profiling"];
    let first_of = |operation: &str, (mine, theirs): (&str, &str), applier: Applier<'_>| {
        of(stored, &NoDefinition, (operation, mine, theirs), applier)
    };
    let first = |mine: &str, theirs: &str| first_of("Apply", (mine, theirs), HELM);
    assert_eq!(first("v1beta1", "v1beta2"), "profiling");
    // Another one's older version leaves the order alone, and so do updates that the host does not make its own.
    assert_eq!(first("v1beta2", "v1beta1"), "v");
    assert_eq!(first_of("Update", ("v1beta1", "v1beta2"), HELM), "v");
    // Helm 4 makes its own what Helm 3 patched; seen with both.
    let adopts = Applier { adopts_updates: true, ..HELM };
    assert_eq!(first_of("Update", ("v1beta1", "v1beta2"), adopts), "profiling");
    // A list that would come back as it is live comes back so only where that version is there for sure.
    let again = |definition: &dyn Definition| of(["profiling", "v"], definition, ("Apply", "v1beta1", "v1beta2"), HELM);
    assert_eq!((again(&Sure), again(&NoDefinition)), ("profiling".to_owned(), "v".to_owned()));
}

#[test]
fn kubectl_removes_what_it_applied_last() {
    let live = json!({"metadata": {"annotations": {LAST_APPLIED: r#"{"spec":{"a":1,"b":1}}"#}}, "spec": {"a": 1, "b": 1, "c": 1}});
    assert_eq!(
        after(WriteMethod::LastApplied, &live, Last::Unknown, &json!({"spec": {"a": 2}})).0,
        json!({"a": 2, "c": 1})
    );
}

#[test]
fn kubectl_leaves_annotations_of_others_where_the_manifest_has_none() {
    let live = json!({"metadata": {"annotations": {"by": "hand", "mine": "1",
        LAST_APPLIED: r#"{"metadata":{"annotations":{"mine":"1"}}}"#}}});
    let key = Key::new("cluster.x-k8s.io/v1beta1", "MachineDeployment", Some("n"), "md");
    let before = Before { key: &key, live: &live, last: Last::Unknown, says_owners: false, definition: &NoDefinition };
    let written = write(WriteMethod::LastApplied, &before, &json!({"metadata": {"name": "md"}}), HELM);
    let AfterWrite::Holds { predicted, .. } = written else { panic!("it is written") };
    let annotations = &predicted["metadata"]["annotations"];
    assert_eq!((&annotations["by"], annotations.get("mine")), (&json!("hand"), None));
}

#[test]
fn a_replace_drops_what_is_not_rendered_and_keeps_what_the_server_and_webhooks_write() {
    let live = json!({"apiVersion": "v", "metadata": {"uid": "1", "finalizers": ["f"], "annotations": {"by": "hand"},
        "labels": {"a": "1"}, "managedFields": [
        {"manager": "helm", "operation": "Update", "apiVersion": "v", "fieldsV1":
            {"f:spec": {"f:replicas": {}, "f:dropped": {}, "f:strategy": {".": {}, "f:type": {}}}}},
        {"manager": "manager", "operation": "Update", "apiVersion": "v", "fieldsV1": {"f:spec": {"f:endpoint": {}}}}]},
        "spec": {"replicas": 9, "dropped": 1, "strategy": {"type": "RollingUpdate"}, "endpoint": "x"},
        "status": {"ready": true}});
    let last = json!({"spec": {"replicas": 1, "dropped": 1}});
    let new = json!({"apiVersion": "v", "metadata": {"labels": {"a": "2"}}, "spec": {"replicas": 1}});
    let key = Key::new("cluster.x-k8s.io/v1beta1", "MachineDeployment", Some("n"), "md");
    let before =
        Before { key: &key, live: &live, last: Last::Known(&last), says_owners: false, definition: &NoDefinition };
    let AfterWrite::Holds { predicted, .. } = write(WriteMethod::Replace, &before, &new, HELM) else {
        panic!("it is written")
    };
    assert_eq!(predicted["spec"], json!({"replicas": 1, "strategy": {"type": "RollingUpdate"}}));
    assert_eq!(predicted["status"], live["status"]);
    assert_eq!(predicted["metadata"]["labels"], json!({"a": "2"}));
    assert_eq!(predicted["metadata"].get("annotations"), None);
    assert_eq!((&predicted["metadata"]["uid"], &predicted["metadata"]["finalizers"]), (&json!("1"), &json!(["f"])));
}

#[test]
fn what_a_failed_revision_applied_goes_and_what_a_webhook_added_stays() {
    struct Since(Vec<Value>);
    impl Definition for Since {
        fn sent_since(&self) -> &[Value] {
            &self.0
        }
    }
    let key = Key::new("example.org/v1", "X", None, "x");
    let object =
        |spec: Value| json!({"apiVersion": "example.org/v1", "kind": "X", "metadata": {"name": "x"}, "spec": spec});
    let mut live = object(json!({"a": 1, "failed": 2, "filled": 3}));
    let owned = json!({"f:spec": {"f:a": {}, "f:failed": {}, "f:filled": {}}});
    live["metadata"]["managedFields"] =
        json!([{"manager": "helm", "operation": "Apply", "apiVersion": "example.org/v1", "fieldsV1": owned}]);
    let last = object(json!({"a": 1}));
    let left = |sent_since: Vec<Value>| {
        let definition = &Since(sent_since);
        let before = Before { key: &key, live: &live, last: Last::Known(&last), says_owners: true, definition };
        let AfterWrite::Holds { predicted, .. } = write(WriteMethod::ServerSideApply, &before, &last, HELM) else {
            panic!("it is written")
        };
        predicted["spec"].clone()
    };
    assert_eq!(left(Vec::new()), json!({"a": 1, "failed": 2, "filled": 3}));
    assert_eq!(left(vec![object(json!({"a": 1, "failed": 2}))]), json!({"a": 1, "filled": 3}));
}

#[test]
fn helm_makes_texts_of_labels_and_annotations_without_a_value() {
    let key = Key::new("v1", "X", None, "x");
    let written =
        || json!({"metadata": {"labels": {"a": null, "b": "c"}, "annotations": {"p": null}, "finalizers": null}});
    let by_helm = json!({"metadata": {"labels": {"a": "", "b": "c"}, "annotations": {"p": ""}, "finalizers": null}});
    for host in [Some(HostKind::Helm3), Some(HostKind::Helm4), Some(HostKind::Flux)] {
        assert_eq!(sent(written(), &key, host), by_helm, "{host:?}");
    }
    assert_eq!(sent(written(), &key, Some(HostKind::Kubectl)), written());
    assert_eq!(sent(written(), &key, None), written(), "nobody knows");
    let whole = json!({"metadata": {"annotations": null}});
    assert_eq!(sent(whole.clone(), &key, Some(HostKind::Helm4)), whole, "a whole map that is null is none");
}

#[test]
fn plain_data_of_a_secret_is_kept_encoded() {
    let key = Key::new("v1", "Secret", None, "s");
    assert_eq!(sent(json!({"stringData": {"a": "x"}}), &key, None), json!({"data": {"a": "eA=="}}));
}
