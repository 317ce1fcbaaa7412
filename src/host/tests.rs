//! What hosts do, told as cases: which objects are paired, with which action, and what is said about it.

use jiff::Timestamp;

use super::*;
use crate::compare::{Action, Pair};
use crate::model::Effect;
use crate::object::{Inventory, Object};
use crate::tree::{Value, json};
use crate::world::{Base, BaseKind, LiveKind, LiveSource, Release, ReleaseStatus, World, WriteMethod};

pub(super) fn side(objects: &[Value]) -> Inventory {
    objects.iter().map(|value| Object::from_value(value.clone(), 1).expect("an object")).collect::<Vec<_>>().into()
}

pub(super) fn world(kind: LiveKind, base: BaseKind, live: &[Value], last: &[Value]) -> World {
    World {
        base: Base { kind: base, objects: side(last), ..Base::default() },
        host: Host { namespace: Some("n".into()), ..Host::default() },
        ..World::new(LiveSource::new(kind, "test"), side(live), Timestamp::UNIX_EPOCH)
    }
}

pub(super) fn old_render(live: &[Value]) -> World {
    world(LiveKind::OldRender, BaseKind::Live, live, &[])
}

/// A cluster to which Helm 3 writes.
pub(super) fn helm3(live: &[Value], last: &[Value]) -> World {
    let mut world = world(LiveKind::Cluster, BaseKind::Release, live, last);
    world.host.kind = Some(HostKind::Helm3);
    world.host.release = Some("r".into());
    world
}

pub(super) fn predicted(rendered: &[Value], world: &World) -> Prediction {
    predict(&side(rendered), world).expect("a prediction")
}

pub(super) fn object(kind: &str, namespace: Option<&str>, name: &str, spec: Value) -> Value {
    let group = match kind {
        _ if kind.starts_with("Docker") => "infrastructure.cluster.x-k8s.io",
        "KubeadmControlPlane" => "controlplane.cluster.x-k8s.io",
        "KubeadmConfigTemplate" => "bootstrap.cluster.x-k8s.io",
        _ => "cluster.x-k8s.io",
    };
    let mut object =
        json!({"apiVersion": format!("{group}/v1beta1"), "kind": kind, "metadata": {"name": name}, "spec": spec});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

pub(super) fn deployment(namespace: Option<&str>, template: &str) -> Value {
    object(
        "MachineDeployment",
        namespace,
        "md",
        json!({"template": {"spec": {"infrastructureRef":
        {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DockerMachineTemplate", "name": template}}}}),
    )
}

pub(super) fn template(namespace: Option<&str>, name: &str, image: &str) -> Value {
    object("DockerMachineTemplate", namespace, name, json!({"template": {"spec": {"customImage": image}}}))
}

pub(super) fn annotated(mut object: Value, name: &str, value: &str) -> Value {
    object["metadata"]["annotations"][name] = value.into();
    object
}

pub(super) fn ours(object: Value) -> Value {
    let mut object =
        annotated(annotated(object, "meta.helm.sh/release-name", "r"), "meta.helm.sh/release-namespace", "n");
    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "Helm".into();
    object
}

/// Each pair as `action kind name`.
pub(super) fn told(prediction: &Prediction) -> Vec<String> {
    let word = |action: Action| match action {
        Action::Unchanged => "unchanged",
        Action::Create => "create",
        Action::Update => "update",
        Action::Delete => "delete",
    };
    prediction.pairs.iter().map(|pair| format!("{} {} {}", word(pair.action), pair.key.kind, pair.key.name)).collect()
}

pub(super) fn ids(prediction: &Prediction) -> Vec<&str> {
    prediction.findings.iter().map(|finding| finding.id.as_str()).collect()
}

pub(super) fn paths(pair: &Pair) -> Vec<String> {
    pair.changes.iter().map(|change| change.path.to_string()).collect()
}

#[test]
fn an_old_render_is_its_own_base() {
    let old =
        [object("Cluster", None, "a", json!({"paused": true})), object("MachineDeployment", None, "gone", json!({}))];
    let new = [object("Cluster", None, "a", json!({})), object("MachineHealthCheck", None, "new", json!({}))];
    let prediction = predicted(&new, &old_render(&old));
    assert_eq!(
        told(&prediction),
        ["update Cluster a", "create MachineHealthCheck new", "delete MachineDeployment gone"]
    );
    assert_eq!(paths(&prediction.pairs[0]), ["spec.paused"]);
    assert!(prediction.doubts.is_empty());
}

#[test]
fn what_controllers_made_is_not_taken_for_rendered() {
    let plain = ["Machine", "MachineSet", "DockerMachine"].map(|kind| object(kind, None, "m", json!({})));
    let marked = plain.clone().map(|mut object| {
        object["metadata"]["ownerReferences"] =
            json!([{"kind": "MachineDeployment", "name": "md", "controller": true}]);
        object
    });
    assert!(predicted(&[], &old_render(&marked)).pairs.is_empty());
    // What a chart rendered itself goes with it.
    assert_eq!(
        told(&predicted(&[], &old_render(&plain))),
        ["delete Machine m", "delete MachineSet m", "delete DockerMachine m"]
    );
}

#[test]
fn other_objects_pass_through_and_are_counted() {
    let other = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
    let prediction = predicted(&[other, object("Cluster", None, "a", json!({}))], &old_render(&[]));
    assert_eq!((prediction.compared, prediction.passed.len()), (1, 1));
}

#[test]
fn a_secret_is_compared_where_a_compared_object_names_it() {
    let secret = |name: &str, data: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"a": data}});
    let user =
        object("KubeadmConfigTemplate", None, "t", json!({"files": [{"contentFrom": {"secret": {"name": "used"}}}]}));
    let prediction = predicted(
        &[secret("used", "Mg=="), secret("unused", "Mg=="), user.clone()],
        &old_render(&[secret("used", "MQ=="), secret("unused", "MQ=="), user]),
    );
    assert_eq!(told(&prediction), ["update Secret used"]);
    assert_eq!((prediction.compared, prediction.passed.len()), (2, 1));
}

#[test]
fn the_namespace_of_the_release_fills_an_absent_one() {
    let live = [ours(object("Cluster", Some("n"), "a", json!({"x": 1})))];
    let last = [object("Cluster", None, "a", json!({"x": 1}))];
    let prediction = predicted(&[object("Cluster", None, "a", json!({"x": 2}))], &helm3(&live, &last));
    assert_eq!(told(&prediction), ["update Cluster a"]);
    assert_eq!(prediction.pairs[0].key.namespace.as_deref(), Some("n"));
}

#[test]
fn online_a_missing_namespace_is_doubt_and_never_default() {
    let mut world = helm3(&[object("Cluster", Some("default"), "a", json!({"x": 1}))], &[]);
    world.host.namespace = None;
    let prediction = predicted(&[object("Cluster", None, "a", json!({"x": 2}))], &world);
    assert!(prediction.pairs.is_empty());
    assert_eq!(prediction.doubts[0].keys[0].name, "a");
}

#[test]
fn helm_3_does_not_repair_drift_and_helm_4_does() {
    let live = [ours(object("MachineDeployment", Some("n"), "md", json!({"replicas": 9})))];
    let last = [object("MachineDeployment", Some("n"), "md", json!({"replicas": 1}))];
    let new = [object("MachineDeployment", Some("n"), "md", json!({"replicas": 1, "paused": true}))];
    let mut world = helm3(&live, &last);
    assert_eq!(paths(&predicted(&new, &world).pairs[0]), ["spec.paused"]);
    world.host.method = Some(WriteMethod::ServerSideApply);
    assert_eq!(paths(&predicted(&new, &world).pairs[0]), ["spec.replicas", "spec.paused"]);
}

#[test]
fn an_unknown_host_is_predicted_both_ways() {
    let live = [object("MachineDeployment", Some("n"), "md", json!({"replicas": 9}))];
    let last = [object("MachineDeployment", Some("n"), "md", json!({"replicas": 1}))];
    let mut world = world(LiveKind::Cluster, BaseKind::File, &live, &last);
    let prediction = predicted(&last, &world);
    assert!(prediction.pairs.is_empty());
    assert_eq!(told(prediction.others.first().expect("the other way")), ["update MachineDeployment md"]);
    world.host.kind = Some(HostKind::Helm3);
    assert!(predicted(&last, &world).others.is_empty());
}

#[test]
fn the_release_record_says_how_an_upgrade_writes() {
    let live = [object("MachineDeployment", Some("n"), "md", json!({"replicas": 9}))];
    let last = [object("MachineDeployment", Some("n"), "md", json!({"replicas": 1}))];
    let mut world = world(LiveKind::Cluster, BaseKind::Release, &live, &last);
    world.host.kind = Some(HostKind::Helm4);
    world.release = Some(Release {
        name: "r".into(),
        namespace: "n".into(),
        deployed: 3,
        newest: 3,
        status: ReleaseStatus::Deployed,
        method: WriteMethod::MergePatch,
    });
    assert!(predicted(&last, &world).pairs.is_empty());
}

#[test]
fn what_the_last_manifest_had_is_deleted_unless_live_says_keep() {
    let gone = |name: &str| object("MachineDeployment", Some("n"), name, json!({}));
    let live = [gone("a"), annotated(gone("b"), "helm.sh/resource-policy", "keep"), gone("other release")];
    let last = [gone("a"), gone("b"), gone("not there any more")];
    assert_eq!(told(&predicted(&[], &helm3(&live, &last))), ["delete MachineDeployment a"]);
}

#[test]
fn an_object_of_somebody_else_stops_helm() {
    let live = [object("Cluster", Some("n"), "a", json!({"x": 1}))];
    let prediction = predicted(&[object("Cluster", Some("n"), "a", json!({"x": 2}))], &helm3(&live, &[]));
    assert_eq!((prediction.pairs[0].effect, prediction.pairs[0].rule.as_str()), (Effect::Rejected, "host/ownership"));
}

#[test]
fn helm_3_adopts_without_writing_and_that_is_said() {
    let live = [ours(object("Cluster", Some("n"), "a", json!({"x": 1})))];
    let prediction = predicted(&[object("Cluster", Some("n"), "a", json!({"x": 2}))], &helm3(&live, &[]));
    assert!(prediction.pairs.is_empty());
    assert_eq!(ids(&prediction), ["adopted-unchanged"]);
}

#[test]
fn an_owner_without_a_base_is_undecided_where_something_could_go_away() {
    let live = [object("KubeadmControlPlane", Some("n"), "cp", json!({"version": "v1", "extra": 1}))];
    let world = world(LiveKind::Cluster, BaseKind::Unknown, &live, &[]);
    let prediction = predicted(&[object("KubeadmControlPlane", Some("n"), "cp", json!({"version": "v1"}))], &world);
    assert_eq!(prediction.doubts[0].keys[0].name, "cp");
}

#[test]
fn a_base_file_that_lacks_an_object_is_no_proof_of_adoption() {
    let live = [object("KubeadmControlPlane", Some("n"), "cp", json!({"version": "v1"}))];
    let world = world(LiveKind::Cluster, BaseKind::File, &live, &[]);
    let prediction = predicted(&[object("KubeadmControlPlane", Some("n"), "cp", json!({"version": "v2"}))], &world);
    assert_eq!(told(&prediction), ["update KubeadmControlPlane cp"]);
}

#[test]
fn without_a_base_owners_that_the_release_made_and_the_stream_lacks_are_doubt() {
    let live = [
        ours(object("MachineDeployment", Some("n"), "md", json!({}))),
        object("MachineDeployment", Some("n"), "not ours", json!({})),
    ];
    let world = world(LiveKind::Cluster, BaseKind::Unknown, &live, &[]);
    let prediction = predicted(&[], &world);
    assert_eq!(prediction.doubts[0].keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["md"]);
}

#[test]
fn a_chart_that_moves_to_another_version_changes_nothing() {
    let old = object(
        "MachineDeployment",
        None,
        "md",
        json!({"minReadySeconds": 5, "template": {"spec": {"nodeDrainTimeout": "1m"}}}),
    );
    let mut new = object(
        "MachineDeployment",
        None,
        "md",
        json!({"template": {"spec": {"minReadySeconds": 5, "deletion": {"nodeDrainTimeoutSeconds": 60}}}}),
    );
    new["apiVersion"] = "cluster.x-k8s.io/v1beta2".into();
    let prediction = predicted(&[new], &old_render(&[old]));
    assert!(prediction.pairs.is_empty() && prediction.warnings.len() == 1, "{:?}", prediction.pairs);
}

#[test]
fn hooks_are_outside_base_and_deletion() {
    let hook = annotated(object("Cluster", None, "h", json!({"x": 1})), "helm.sh/hook", "post-install");
    assert!(predicted(&[], &old_render(std::slice::from_ref(&hook))).pairs.is_empty());
    assert_eq!(predicted(&[hook], &old_render(&[])).passed.len(), 1);
}

#[test]
fn a_hook_that_is_made_anew_deletes_the_live_object() {
    let live = [object("Cluster", Some("n"), "h", json!({}))];
    let hook = annotated(object("Cluster", Some("n"), "h", json!({})), "helm.sh/hook", "pre-upgrade");
    assert_eq!(told(&predicted(&[hook], &helm3(&live, &[]))), ["delete Cluster h"]);
}

#[test]
fn the_last_of_two_equal_keys_wins() {
    let new = [object("Cluster", None, "a", json!({"x": 2})), object("Cluster", None, "a", json!({"x": 1}))];
    let prediction = predicted(&new, &old_render(&[object("Cluster", None, "a", json!({"x": 1}))]));
    assert!(prediction.pairs.is_empty());
    // The host writes the first one too, and that it is undone at once is no promise.
    assert_eq!(prediction.doubts[0].keys[0].name, "a");
}

#[test]
fn a_renamed_template_is_paired_with_the_one_it_takes_the_place_of() {
    let old = [deployment(None, "t-1"), template(None, "t-1", "a")];
    let new = [deployment(None, "t-2"), template(None, "t-2", "b")];
    let prediction = predicted(&new, &old_render(&old));
    assert_eq!(told(&prediction), ["update MachineDeployment md", "create DockerMachineTemplate t-2"]);
    let renamed = &prediction.pairs[1];
    assert_eq!(renamed.renamed_from.as_deref(), Some("t-1"));
    assert_eq!(paths(renamed), ["spec.template.spec.customImage"]);
    assert!(prediction.findings.is_empty());
}

#[test]
fn a_reference_may_say_the_namespace_that_the_template_leaves_out() {
    let with_namespace = |name: &str| {
        let mut deployment = deployment(None, name);
        deployment["spec"]["template"]["spec"]["infrastructureRef"]["namespace"] = "capi-demo".into();
        deployment
    };
    let old = [with_namespace("t-1"), template(None, "t-1", "a")];
    let prediction = predicted(&[with_namespace("t-2"), template(None, "t-2", "b")], &old_render(&old));
    assert_eq!(prediction.pairs[1].renamed_from.as_deref(), Some("t-1"));
}

#[test]
fn a_new_name_for_equal_content_is_a_finding() {
    let old = [deployment(None, "t-1"), template(None, "t-1", "a")];
    let new = [deployment(None, "t-2"), annotated(template(None, "t-2", "a"), "checksum/spec", "2")];
    assert_eq!(ids(&predicted(&new, &old_render(&old))), ["renamed-equal-content"]);
}

#[test]
fn a_kept_old_template_is_paired_too_and_not_deleted() {
    let kept = annotated(template(None, "t-1", "a"), "helm.sh/resource-policy", "keep");
    let prediction = predicted(
        &[deployment(None, "t-2"), template(None, "t-2", "b")],
        &old_render(&[deployment(None, "t-1"), kept]),
    );
    assert_eq!(told(&prediction), ["update MachineDeployment md", "create DockerMachineTemplate t-2"]);
}

#[test]
fn going_back_to_a_template_that_is_still_there_shows_what_that_means() {
    let both = [template(None, "t-1", "a"), template(None, "t-2", "b")];
    let old = [vec![deployment(None, "t-2")], both.to_vec()].concat();
    let new = [vec![deployment(None, "t-1")], both.to_vec()].concat();
    let prediction = predicted(&new, &old_render(&old));
    assert_eq!(told(&prediction), ["update MachineDeployment md", "unchanged DockerMachineTemplate t-1"]);
    assert_eq!(paths(&prediction.pairs[1]), ["spec.template.spec.customImage"]);
}

#[test]
fn a_removed_template_that_is_still_referred_to_is_a_finding() {
    let old = [deployment(None, "t-1"), template(None, "t-1", "a")];
    assert_eq!(ids(&predicted(&[deployment(None, "t-1")], &old_render(&old))), ["template-in-use-removed"]);
}

#[test]
fn a_machine_set_that_still_makes_machines_from_the_old_template_is_named() {
    let set = object("MachineSet", Some("n"), "md-1", deployment(None, "t-1")["spec"].clone());
    let last = [deployment(Some("n"), "t-1"), template(Some("n"), "t-1", "a")];
    let live: Vec<Value> = last.iter().cloned().map(ours).chain([set]).collect();
    let prediction = predicted(&[deployment(Some("n"), "t-2"), template(Some("n"), "t-2", "b")], &helm3(&live, &last));
    assert_eq!(ids(&prediction), ["old-template-removed"]);
    assert_eq!(told(&prediction), ["update MachineDeployment md", "create DockerMachineTemplate t-2"]);
}

#[test]
fn a_conflict_names_the_other_manager() {
    let mut live = object("MachineDeployment", Some("n"), "md", json!({"replicas": 3}));
    live["metadata"]["managedFields"] = json!([{"manager": "autoscaler", "operation": "Update",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
    let new = object("MachineDeployment", Some("n"), "md", json!({"replicas": 1}));
    let mut world = world(LiveKind::Cluster, BaseKind::File, &[live], std::slice::from_ref(&new));
    world.host.method = Some(WriteMethod::ServerSideApply);
    let prediction = predicted(std::slice::from_ref(&new), &world);
    assert_eq!(prediction.pairs[0].effect, Effect::Rejected);
    assert!(prediction.pairs[0].because.contains("autoscaler"), "{}", prediction.pairs[0].because);
    world.host.kind = Some(HostKind::Flux);
    assert_eq!(paths(&predicted(&[new], &world).pairs[0]), ["spec.replicas"]);
}

#[test]
fn an_empty_list_that_the_schema_refuses_stops_the_write() {
    let control_plane = |errors: Option<Value>| {
        let mut registration = json!({"name": "x"});
        if let Some(errors) = errors {
            registration["ignorePreflightErrors"] = errors;
        }
        let spec = json!({"kubeadmConfigSpec": {"initConfiguration": {"nodeRegistration": registration}}});
        let mut object = object("KubeadmControlPlane", Some("n"), "cp", spec);
        object["apiVersion"] = "controlplane.cluster.x-k8s.io/v1beta2".into();
        object
    };
    let old = control_plane(None);
    let new = [control_plane(Some(json!([])))];
    for world in [old_render(std::slice::from_ref(&old)), helm3(&[ours(old.clone())], std::slice::from_ref(&old))] {
        let prediction = predicted(&new, &world);
        assert_eq!((prediction.pairs[0].effect, prediction.pairs[0].rule.as_str()), (Effect::Rejected, "host/schema"));
        let place = "spec.kubeadmConfigSpec.initConfiguration.nodeRegistration.ignorePreflightErrors";
        assert!(prediction.pairs[0].because.contains(place), "{}", prediction.pairs[0].because);
    }
}
