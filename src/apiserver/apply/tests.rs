use super::*;
use crate::schema::{SchemaShape, Type};
use crate::tree::json;

const HELM: Applier<'_> = Applier { manager: "helm", adopts_updates: false, takes: Takes::Nothing, force: false };

/// A place without defaults.
fn place(shape: SchemaShape) -> SchemaNode {
    SchemaNode { shape, default: None, nullable: false, filled: false }
}

/// A place of a type, or a list of such places.
fn text() -> SchemaNode {
    place(SchemaShape::Leaf(Type::Text))
}

fn number() -> SchemaNode {
    place(SchemaShape::Leaf(Type::Number))
}

fn list(items: SchemaNode, merge: Merge) -> SchemaNode {
    place(SchemaShape::List { items: items.into(), merge })
}

/// Named fields, written as a whole or one by one.
fn fields<const N: usize>(fields: [(&'static str, SchemaNode); N], atomic: bool) -> SchemaNode {
    let fields = fields.into_iter().map(|(name, node)| (name, node.into())).collect();
    place(SchemaShape::Fields { fields, atomic, open: false })
}

/// A schema with one of each sort of place.
fn schema() -> SchemaNode {
    let texts = || place(SchemaShape::Map { values: text().into(), atomic: false });
    let named = fields([("name", text()), ("value", text())], false);
    fields(
        [
            ("a", number()),
            ("replicas", number()),
            ("b", fields([("c", number()), ("filled", number())], false)),
            ("labels", texts()),
            ("whole", list(text(), Merge::Whole)),
            ("set", list(text(), Merge::Set)),
            ("args", list(named, Merge::Keys(vec!["name".to_owned()]))),
            ("ref", fields([("name", text()), ("namespace", text())], true)),
            ("filled", SchemaNode { default: Some(json!({})), ..texts() }),
        ],
        false,
    )
}

fn live(spec: Value, owned: Value, other: Value) -> Value {
    json!({"spec": spec, "metadata": {"managedFields": [
        {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": owned}},
        {"manager": "autoscaler", "operation": "Update", "fieldsV1": {"f:spec": other}}]}})
}

fn applied(live: &Value, spec: Value, applier: Applier<'_>) -> Applied {
    apply(live, &json!({"spec": spec}), Some(&schema()), applier)
}

fn spec(applied: Applied) -> Value {
    match applied {
        Applied::Merged(value) => value["spec"].clone(),
        Applied::Conflict { .. } | Applied::Nulled { .. } => panic!("it is refused: {applied:?}"),
    }
}

#[test]
fn what_is_rendered_wins_and_what_nobody_sends_stays() {
    let live = live(json!({"a": 1, "replicas": 5}), json!({"f:a": {}}), json!({}));
    assert_eq!(spec(applied(&live, json!({"a": 2}), HELM)), json!({"a": 2, "replicas": 5}));
}

#[test]
fn what_the_manager_sent_before_and_no_longer_sends_goes() {
    let live = live(json!({"a": 1, "b": {"c": 1, "filled": 2}}), json!({"f:a": {}, "f:b": {"f:c": {}}}), json!({}));
    assert_eq!(spec(applied(&live, json!({"a": 1}), HELM)), json!({"a": 1}));
}

#[test]
fn what_another_manager_owns_too_stays() {
    let live = live(json!({"a": 1, "replicas": 3}), json!({"f:a": {}, "f:replicas": {}}), json!({"f:replicas": {}}));
    assert_eq!(spec(applied(&live, json!({"a": 1}), HELM)), json!({"a": 1, "replicas": 3}));
}

#[test]
fn another_value_for_a_field_of_another_manager_is_a_conflict_unless_forced() {
    let live = live(json!({"replicas": 3}), json!({}), json!({"f:replicas": {}}));
    assert_eq!(
        applied(&live, json!({"replicas": 1}), HELM),
        Applied::Conflict { manager: "autoscaler".into(), paths: vec!["spec.replicas".into()] }
    );
    let forced = Applier { force: true, ..HELM };
    assert_eq!(spec(applied(&live, json!({"replicas": 1}), forced)), json!({"replicas": 1}));
}

#[test]
fn a_null_for_a_field_of_another_manager_is_a_conflict_too() {
    let live = live(json!({"a": 1, "replicas": 3}), json!({"f:a": {}}), json!({"f:replicas": {}}));
    assert_eq!(
        applied(&live, json!({"a": 1, "replicas": null}), HELM),
        Applied::Conflict { manager: "autoscaler".into(), paths: vec!["spec.replicas".into()] }
    );
    let map = json!({"metadata": {"managedFields": [{"manager": "autoscaler", "operation": "Update",
        "fieldsV1": {"f:spec": {"f:b": {".": {}, "f:c": {}}}}}]}, "spec": {"b": {"c": 1}}});
    assert_eq!(
        spec(applied(&map, json!({"b": null}), HELM)),
        json!({"b": {"c": 1}}),
        "a map is merged as an empty one"
    );
    // Seen with Kubernetes 1.34: `resources` of a ClusterResourceSet, patched empty through v1beta1 and left out since.
    let absent = |spec: Value| {
        let left_out =
            self::live(json!({"a": 1}), json!({"f:a": {}}), json!({"f:whole": {}, "f:set": {}, "f:labels": {}}));
        applied(&left_out, spec, HELM)
    };
    assert!(matches!(absent(json!({"a": 1, "whole": null})), Applied::Conflict { .. }), "it is added");
    assert!(matches!(absent(json!({"a": 1, "set": null, "labels": null})), Applied::Merged(_)));
    let own = json!({"a": null, "replicas": 3});
    assert_eq!(spec(applied(&live, own, HELM)), json!({"replicas": 3}), "its own field it takes away");
}

#[test]
fn a_field_that_a_webhook_left_out_still_belongs_to_who_sent_it() {
    let live = live(json!({"a": 1}), json!({}), json!({"f:replicas": {}, "f:b": {"f:c": {}}, "f:empty": {}}));
    let paths = |sent: Value| match applied(&live, sent, HELM) {
        Applied::Conflict { paths, .. } => paths,
        other => panic!("it is no conflict: {other:?}"),
    };
    assert_eq!(paths(json!({"replicas": 1})), ["spec.replicas"]);
    assert_eq!(paths(json!({"b": {"c": 1, "d": 1}})), ["spec.b.c"]);
    assert_eq!(paths(json!({"empty": {}})), ["spec.empty"]);
    // Its neighbours belong to nobody.
    assert_eq!(spec(applied(&live, json!({"b": {"d": 1}}), HELM)), json!({"a": 1, "b": {"d": 1}}));
    assert_eq!(spec(applied(&live, json!({"empty": {"d": 1}}), HELM)), json!({"a": 1, "empty": {"d": 1}}));
}

#[test]
fn kubectl_takes_what_it_applied_itself_and_conflicts_with_what_a_webhook_made_of_it() {
    let kubectl = Applier {
        manager: crate::apiserver::contested::KUBECTL,
        adopts_updates: false,
        takes: Takes::ClientSide,
        force: false,
    };
    let last = r#"{"apiVersion":"v1","spec":{"a":1,"ref":{"name":"x"}}}"#;
    let live = |a: i64, reference: Value| {
        json!({"apiVersion": "v1", "spec": {"a": a, "ref": reference}, "metadata": {
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": last},
            "managedFields": [{"manager": "kubectl-client-side-apply", "operation": "Update",
                "fieldsV1": {"f:spec": {"f:a": {}, "f:ref": {}}}}]}})
    };
    let sent = |a: i64, name: &str| json!({"apiVersion": "v1", "spec": {"a": a, "ref": {"name": name}}});
    let applied = |live: &Value, sent: &Value| apply(live, sent, Some(&schema()), kubectl);
    let own = live(1, json!({"name": "x"}));
    assert!(matches!(applied(&own, &sent(2, "y")), Applied::Merged(_)));
    let filled = live(1, json!({"name": "x", "namespace": "n"}));
    assert_eq!(
        applied(&filled, &sent(2, "x")),
        Applied::Conflict { manager: "kubectl-client-side-apply".into(), paths: vec!["spec.ref".into()] }
    );
    let drifted = live(7, json!({"name": "x"}));
    assert!(matches!(applied(&drifted, &sent(2, "x")), Applied::Conflict { .. }), "somebody else wrote it");
    assert!(matches!(applied(&drifted, &sent(7, "x")), Applied::Merged(_)));
}

#[test]
fn the_same_value_is_no_conflict() {
    let live = live(json!({"replicas": 3}), json!({}), json!({"f:replicas": {}}));
    assert_eq!(spec(applied(&live, json!({"replicas": 3}), HELM)), json!({"replicas": 3}));
}

#[test]
fn lists_are_whole_or_merged_as_the_schema_says() {
    let live = live(
        json!({"whole": ["x"], "set": ["x"], "args": [{"name": "x", "value": "1"}, {"name": "y", "value": "1"}]}),
        json!({}),
        json!({}),
    );
    let sent =
        json!({"whole": ["a"], "set": ["a"], "args": [{"name": "y", "value": "2"}, {"name": "a", "value": "1"}]});
    assert_eq!(
        spec(applied(&live, sent, HELM)),
        json!({"whole": ["a"], "set": ["x", "a"],
            "args": [{"name": "x", "value": "1"}, {"name": "y", "value": "2"}, {"name": "a", "value": "1"}]})
    );
}

#[test]
fn items_that_the_manager_sent_before_go_and_those_of_others_stay() {
    let live = live(
        json!({"args": [{"name": "x", "value": "1"}, {"name": "y", "value": "1"}, {"name": "z", "value": "1"}]}),
        json!({"f:args": {"k:{\"name\":\"x\"}": {".": {}, "f:name": {}, "f:value": {}},
            "k:{\"name\":\"y\"}": {".": {}, "f:name": {}, "f:value": {}}}}),
        json!({"f:args": {"k:{\"name\":\"z\"}": {".": {}, "f:name": {}, "f:value": {}}}}),
    );
    assert_eq!(
        spec(applied(&live, json!({"args": [{"name": "y", "value": "1"}]}), HELM)),
        json!({"args": [{"name": "y", "value": "1"}, {"name": "z", "value": "1"}]})
    );
}

#[test]
fn a_map_that_loses_its_last_key_goes() {
    let live = live(json!({"labels": {"a": "1"}, "a": 1}), json!({"f:labels": {"f:a": {}}, "f:a": {}}), json!({}));
    assert_eq!(spec(applied(&live, json!({"a": 1}), HELM)), json!({"a": 1}));
}

#[test]
fn an_empty_map_that_is_sent_becomes_null_and_is_refused_unless_it_has_a_default() {
    let live = live(json!({"labels": {"a": "1"}}), json!({"f:labels": {"f:a": {}}}), json!({}));
    let Applied::Nulled { nulls, .. } = applied(&live, json!({"labels": {}}), HELM) else { panic!("it is not null") };
    assert_eq!(nulls, [Path::root().key("spec").key("labels")]);
    let others = json!({"spec": {"labels": {"a": "1", "b": "2"}}, "metadata": {"managedFields": [
        {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": {"f:labels": {"f:a": {}}}}}]}});
    assert_eq!(spec(applied(&others, json!({"labels": {}}), HELM)), json!({"labels": {"b": "2"}}));
    let filled = json!({"spec": {"filled": {"a": "1"}}, "metadata": {"managedFields": [
        {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": {"f:filled": {"f:a": {}}}}}]}});
    assert_eq!(spec(applied(&filled, json!({"filled": {}}), HELM)), json!({}));
}

#[test]
fn an_empty_list_of_items_that_is_sent_goes_and_is_not_refused() {
    // Seen with Kubernetes 1.34: `readinessGates: []` of a MachineDeployment, `extraArgs: []` of kubeadm.
    let owned = json!({"f:args": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}});
    let live = live(json!({"args": [{"name": "a"}], "a": 1}), owned, json!({}));
    assert_eq!(spec(applied(&live, json!({"args": []}), HELM)), json!({"a": 1}));
}

#[test]
fn an_empty_text_contests_no_field_that_another_version_leaves_out() {
    // Seen with Kubernetes 1.34: `strategy: ""` of a ClusterResourceSet in v1beta2, whose strategy was written in v1beta1.
    let other = json!({"f:args": {"k:{\"name\":\"a\"}": {"f:value": {}}}, "f:labels": {"f:a": {}}});
    let live = live(json!({"args": [{"name": "a", "value": "1"}], "labels": {"a": "1"}}), json!({}), other);
    let is_refused = |spec: Value, is_converted| {
        let owners = owners(&live).into_iter().map(|entry| Ownership { is_converted, ..entry }).collect();
        let sent = json!({"spec": spec});
        matches!(
            apply_owned((&live, owners), (&sent, &sent), Some(&schema()), HELM, Keeps::All),
            Applied::Conflict { .. }
        )
    };
    let field = json!({"args": [{"name": "a", "value": ""}]});
    assert!(!is_refused(field.clone(), true));
    assert!(is_refused(field, false));
    // Under a free key the other version keeps it.
    assert!(is_refused(json!({"labels": {"a": ""}}), true));
}

#[test]
fn a_list_without_items_contests_no_field_that_another_version_leaves_out() {
    // Seen with Kubernetes 1.34: `resources: []` of a ClusterResourceSet in v1beta1, whose resources were patched in v1beta2.
    let is_refused = |kind: &str, items: Value, is_converted| {
        let mut live = live(json!({"whole": ["a"]}), json!({}), json!({"f:whole": {}}));
        live["kind"] = Value::from(kind);
        live["apiVersion"] = json!("addons.cluster.x-k8s.io/v1beta1");
        let owners = owners(&live).into_iter().map(|entry| Ownership { is_converted, ..entry }).collect();
        let sent = json!({"spec": {"whole": items}});
        matches!(
            apply_owned((&live, owners), (&sent, &sent), Some(&schema()), HELM, Keeps::All),
            Applied::Conflict { .. }
        )
    };
    assert!(!is_refused("ClusterResourceSet", json!([]), true));
    assert!(is_refused("ClusterResourceSet", json!([]), false), "nothing is converted");
    assert!(is_refused("ClusterResourceSet", json!(["b"]), true), "it has an item");
    assert!(is_refused("AcmeSet", json!([]), true), "nobody knows its types");
}

#[test]
fn an_empty_map_in_an_item_is_refused_at_its_place() {
    let texts = place(SchemaShape::Map { values: text().into(), atomic: false });
    let item = fields([("name", text()), ("labels", texts)], false);
    let schema = fields([("items", list(item, Merge::Keys(vec!["name".to_owned()])))], false);
    let owned = |name: &str| {
        (format!("k:{{\"name\":\"{name}\"}}"), json!({".": {}, "f:name": {}, "f:labels": {".": {}, "f:k": {}}}))
    };
    let item = |name: &str, labels: Value| json!({"name": name, "labels": labels});
    let owned: Value = ["a", "b"].map(owned).into_iter().collect();
    let live = json!({"spec": {"items": [item("a", json!({"k": "1"})), item("b", json!({"k": "2"}))]}, "metadata": {"managedFields": [
        {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": {"f:items": owned}}}]}});
    let nulls = |spec: Value| match apply(&live, &json!({"spec": spec}), Some(&schema), HELM) {
        Applied::Nulled { nulls, .. } => nulls,
        applied => panic!("it is not null: {applied:?}"),
    };
    let at = |index| Path::root().key("spec").key("items").index(index).key("labels");
    let kept = item("a", json!({"k": "1"}));
    assert_eq!(nulls(json!({"items": [kept, item("b", json!({}))]})), [at(1)]);
    // The first item goes, so that the second one is the first.
    assert_eq!(nulls(json!({"items": [item("b", json!({}))]})), [at(0)]);
}

#[test]
fn a_reference_is_written_whole() {
    let live = live(json!({"ref": {"name": "a", "namespace": "n"}}), json!({"f:ref": {}}), json!({}));
    assert_eq!(spec(applied(&live, json!({"ref": {"name": "b"}}), HELM)), json!({"ref": {"name": "b"}}));
}
