//! What a release does to objects that it shares with its own past or with another release, told as cases.

use super::tests::{annotated, helm3, ids, object, ours, paths, predicted, told};
use super::*;
use crate::model::Effect;
use crate::tree::{Value, json};
use crate::world::{BaseKind, WriteMethod};

fn control_plane(spec: Value) -> Value {
    object("KubeadmControlPlane", Some("n"), "cp", spec)
}

/// The cluster of `helm3`, written by Helm 4 with server-side apply.
fn helm4(live: &[Value], last: &[Value]) -> crate::world::World {
    let mut world = helm3(live, last);
    world.host.kind = Some(HostKind::Helm4);
    world.host.method = Some(WriteMethod::ServerSideApply);
    world
}

/// A live object whose fields Helm applied.
fn applied(mut object: Value, fields: Value) -> Value {
    object["metadata"]["managedFields"] = json!([{"manager": "helm", "operation": "Apply",
        "apiVersion": object["apiVersion"], "fieldsV1": {"f:spec": fields}}]);
    ours(object)
}

#[test]
fn keep_counts_on_the_live_object_and_not_in_a_manifest() {
    let plain = control_plane(json!({"version": "v1.30.0"}));
    let kept = annotated(plain.clone(), "helm.sh/resource-policy", "keep");
    let without = |live: &Value, last: &Value| {
        told(&predicted(&[], &helm3(std::slice::from_ref(live), std::slice::from_ref(last))))
    };
    assert!(without(&kept, &plain).is_empty(), "somebody annotated the live object");
    assert!(without(&kept, &kept).is_empty());
    assert_eq!(without(&plain, &kept), ["delete KubeadmControlPlane cp"], "somebody took the annotation away");
    // An object that is rendered is written, whatever it says about being kept.
    let new = annotated(control_plane(json!({"version": "v1.31.0"})), "helm.sh/resource-policy", "keep");
    let prediction = predicted(&[new], &helm3(&[ours(kept)], &[plain]));
    assert_eq!(paths(&prediction.pairs[0]), ["spec.version"]);
}

#[test]
fn going_back_after_a_half_applied_release_repairs_nothing_with_patches_and_everything_with_apply() {
    let old = control_plane(json!({"version": "v1.30.0", "replicas": 3}));
    let half = control_plane(json!({"version": "v1.31.0", "replicas": 3}));
    // The last deployed revision is the base: that of the failed one never counts.
    let by_patch = predicted(std::slice::from_ref(&old), &helm3(&[ours(half.clone())], std::slice::from_ref(&old)));
    assert!(by_patch.pairs.is_empty(), "{:?}", told(&by_patch));
    let live = applied(half, json!({"f:version": {}, "f:replicas": {}}));
    let by_apply = predicted(std::slice::from_ref(&old), &helm4(&[live], std::slice::from_ref(&old)));
    assert_eq!(paths(&by_apply.pairs[0]), ["spec.version"]);
}

#[test]
fn an_object_that_moves_to_another_release_is_refused_there_and_deleted_by_the_one_that_drops_it() {
    let new = control_plane(json!({"version": "v1.30.0"}));
    let live = annotated(new.clone(), "meta.helm.sh/release-name", "other");
    let gains = predicted(std::slice::from_ref(&new), &helm3(std::slice::from_ref(&live), &[]));
    assert_eq!((gains.pairs[0].effect, gains.pairs[0].rule.as_str()), (Effect::Rejected, "host/ownership"));
    assert!(gains.pairs[0].because.contains("\"other\""), "{}", gains.pairs[0].because);
    // Helm does not look at who owns what it deletes.
    let drops = predicted(&[], &helm3(&[live], &[new]));
    assert_eq!(told(&drops), ["delete KubeadmControlPlane cp"]);
}

#[test]
fn a_first_install_that_takes_ownership_writes_what_it_renders() {
    let rendered = control_plane(json!({"version": "v1.31.0"}));
    let mut world = helm3(&[control_plane(json!({"version": "v1.30.0", "replicas": 3}))], &[]);
    world.base.kind = BaseKind::FirstInstall;
    world.host.take_ownership = true;
    let prediction = predicted(std::slice::from_ref(&rendered), &world);
    assert_eq!(paths(&prediction.pairs[0]), ["spec.version"]);
    // Flux takes ownership without being told.
    let mut flux = world.clone();
    flux.host = Host { kind: Some(HostKind::Flux), method: Some(WriteMethod::MergePatch), ..flux.host };
    flux.host.take_ownership = false;
    assert_eq!(paths(&predicted(std::slice::from_ref(&rendered), &flux).pairs[0]), ["spec.version"]);
    // An upgrade compares what it adopts with itself.
    world.base.kind = BaseKind::Release;
    let prediction = predicted(&[rendered], &world);
    assert_eq!((prediction.pairs.len(), ids(&prediction)), (0, vec!["adopted-unchanged"]));
}

/// What the API server is asked, as verb and body.
fn asked(rendered: &[Value], world: &crate::world::World) -> Vec<(Verb, Value)> {
    let all = writes(&super::tests::side(rendered), world).expect("writes");
    all.into_iter().map(|write| write.request.expect("a request")).map(|request| (request.verb, request.body)).collect()
}

#[test]
fn the_server_is_asked_with_the_verb_of_the_host() {
    let old = control_plane(json!({"version": "v1.30.0", "replicas": 3}));
    let new = control_plane(json!({"version": "v1.31.0", "replicas": 3}));
    let live = ours(control_plane(json!({"version": "v1.30.0", "replicas": 9})));
    let (rendered, last) = (std::slice::from_ref(&new), std::slice::from_ref(&old));
    let marks = json!({"labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n"}});
    let mut world = helm3(std::slice::from_ref(&live), last);
    let patch = json!({"metadata": marks, "spec": {"version": "v1.31.0"}});
    assert_eq!(asked(rendered, &world), [(Verb::MergePatch, patch)]);
    world.host.replace = true;
    let [(verb, body)] = &asked(rendered, &world)[..] else { panic!("one write") };
    assert_eq!((*verb, &body["spec"]), (Verb::Replace, &new["spec"]));
    let [(verb, body)] = &asked(rendered, &helm4(std::slice::from_ref(&live), last))[..] else { panic!("one write") };
    assert_eq!((*verb, &body["spec"], &body["metadata"]["labels"]), (Verb::Apply, &new["spec"], &marks["labels"]));
    let [(verb, body)] = &asked(rendered, &helm3(&[], last))[..] else { panic!("one write") };
    assert_eq!((*verb, &body["spec"]), (Verb::Create, &new["spec"]));
    let mut world = helm3(&[live], &[]);
    world.host.kind = Some(HostKind::Kubectl);
    let [(verb, body)] = &asked(rendered, &world)[..] else { panic!("one write") };
    assert_eq!((*verb, &body["spec"]), (Verb::MergePatch, &json!({"version": "v1.31.0", "replicas": 3})));
    assert!(body["metadata"]["annotations"].to_string().contains("last-applied"), "{body}");
}

#[test]
fn a_write_that_one_request_cannot_stand_for_says_why() {
    let old = control_plane(json!({"version": "v1.30.0"}));
    let new = control_plane(json!({"version": "v1.31.0"}));
    let why = |rendered: &[Value], world: &crate::world::World| -> Vec<String> {
        let all = writes(&super::tests::side(rendered), world).expect("writes");
        all.into_iter().filter_map(|write| write.request.err()).collect()
    };
    let mut patched = ours(old.clone());
    patched["metadata"]["managedFields"] = json!([{"manager": "helm", "operation": "Update",
        "apiVersion": old["apiVersion"], "fieldsV1": {"f:spec": {"f:version": {}}}}]);
    let mut world = helm4(&[patched], std::slice::from_ref(&old));
    world.release = Some(crate::world::Release {
        name: "r".into(),
        namespace: "n".into(),
        deployed: 1,
        newest: 1,
        status: crate::world::ReleaseStatus::Deployed,
        method: WriteMethod::MergePatch,
    });
    assert!(why(std::slice::from_ref(&new), &world)[0].contains("makes fields its own"));
    let mut world = helm3(&[ours(old.clone())], &[]);
    world.base.kind = BaseKind::Unknown;
    assert!(why(std::slice::from_ref(&new), &world)[0].contains("wrote last time is not known"));
    let twice = [new, control_plane(json!({"version": "v1.32.0"}))];
    assert!(why(&twice, &helm3(&[ours(old.clone())], &[old]))[0].contains("more than once"));
}

/// A prediction by the server's word.
fn answered(rendered: &[Value], live: &[Value], last: &[Value], said: ServerSaid) -> (Prediction, Prediction) {
    let mut world = helm3(live, last);
    let key = super::tests::side(rendered).objects()[0].key.clone();
    world.answers = Some(vec![ServerAnswer { key, way: WriteMethod::MergePatch, said }]);
    let mut ours = predicted(rendered, &world);
    let theirs = ours.others.pop().expect("a prediction by the server's word");
    (ours, theirs)
}

#[test]
fn the_servers_answer_is_judged_beside_the_prediction_and_differences_are_named() {
    let old = control_plane(json!({"version": "v1.30.0"}));
    let live = [ours(old.clone())];
    let (rendered, last) = ([old.clone()], [old]);
    let mut holds = live[0].clone();
    let (ours, theirs) = answered(&rendered, &live, &last, ServerSaid::Holds(Box::new(holds.clone())));
    assert!(ours.pairs.is_empty() && theirs.pairs.is_empty());
    assert!(matches!(theirs.answered[0].verdict, Agreement::Same));
    holds["spec"]["version"] = json!("v1.31.0");
    let (ours, theirs) = answered(&rendered, &live, &last, ServerSaid::Holds(Box::new(holds)));
    assert!(ours.pairs.is_empty());
    assert_eq!(paths(&theirs.pairs[0]), ["spec.version"]);
    let Agreement::Different { changes, .. } = &theirs.answered[0].verdict else { panic!("a difference") };
    assert_eq!((&changes[0].before, &changes[0].after), (&Some(json!("v1.30.0")), &Some(json!("v1.31.0"))));
    let (_, theirs) = answered(&rendered, &live, &last, ServerSaid::Refuses("not today".into()));
    assert_eq!((theirs.pairs[0].effect, theirs.pairs[0].rule.as_str()), (Effect::Rejected, "host/server-refuses"));
    assert!(theirs.pairs[0].because.contains("not today"));
    let (_, theirs) = answered(&rendered, &live, &last, ServerSaid::NotAsked("so".into()));
    assert!(theirs.pairs.is_empty() && matches!(theirs.answered[0].verdict, Agreement::NotAsked(_)));
}

#[test]
fn of_a_new_object_only_what_is_rendered_is_compared_with_the_answer() {
    let new = control_plane(json!({"version": "v1.30.0"}));
    let mut holds = new.clone();
    holds["spec"]["rolloutStrategy"] = json!({"type": "RollingUpdate"});
    let (_, theirs) = answered(std::slice::from_ref(&new), &[], &[], ServerSaid::Holds(Box::new(holds.clone())));
    assert!(matches!(theirs.answered[0].verdict, Agreement::Same), "{:?}", theirs.answered);
    holds["spec"]["version"] = json!("v1.31.0");
    let (_, theirs) = answered(std::slice::from_ref(&new), &[], &[], ServerSaid::Holds(Box::new(holds)));
    let Agreement::Different { changes, .. } = &theirs.answered[0].verdict else { panic!("a difference") };
    assert_eq!(changes.len(), 1);
    let (_, theirs) = answered(&[new], &[], &[], ServerSaid::Refuses("no".into()));
    assert_eq!(theirs.pairs[0].effect, Effect::Rejected);
}

/// An object that nothing compares.
fn notes() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes", "namespace": "n"}, "data": {"a": "b"}})
}

/// An object that nothing compares, as a read of the cluster keeps it.
fn there(marked: Value) -> crate::world::There {
    let key = crate::object::Key::new("v1", "ConfigMap", Some("n"), "notes");
    crate::world::There { key, marks: crate::world::Marks::of(&marked) }
}

#[test]
fn helm_takes_over_what_nothing_compares_only_where_it_is_its_own() {
    let refused = |change: &dyn Fn(&mut crate::world::World)| {
        let mut world = helm3(&[], &[]);
        world.host.namespace = Some("n".to_owned());
        change(&mut world);
        let pairs = predicted(&[notes()], &world).pairs;
        pairs.iter().map(|pair| (pair.effect, pair.rule.as_str().to_owned())).collect::<Vec<_>>()
    };
    let held = vec![(Effect::Rejected, "host/ownership".to_owned())];
    assert_eq!(refused(&|_| {}), [], "it is new");
    assert_eq!(refused(&|world| world.standing.there.push(there(notes()))), held);
    assert_eq!(refused(&|world| world.standing.there.push(there(ours(notes())))), [], "it is of this release");
    let other = annotated(ours(notes()), "meta.helm.sh/release-namespace", "m");
    assert_eq!(refused(&|world| world.standing.there.push(there(other.clone()))), held);
    // What a dump of the cluster holds says the same.
    assert_eq!(refused(&|world| world.live.push(crate::object::Object::from_value(notes(), 0).expect("it"))), held);
    let adopts = |kind: HostKind, takes: bool| {
        refused(&|world| {
            world.standing.there.push(there(notes()));
            (world.host.kind, world.host.take_ownership) = (Some(kind), takes);
        })
    };
    assert_eq!(adopts(HostKind::Helm4, false), held);
    assert_eq!(adopts(HostKind::Helm3, true), []);
    assert_eq!(adopts(HostKind::Flux, false), []);
    assert_eq!(adopts(HostKind::Kubectl, false), []);
}

#[test]
fn nothing_new_is_made_in_a_namespace_that_is_being_deleted() {
    let group = object("MachineDeployment", Some("n"), "md", json!({"replicas": 1}));
    let refused = |kind: HostKind, home: &str, live: &[Value], last: &[Value], rendered: &[Value]| {
        let mut world = helm3(live, last);
        world.host.kind = Some(kind);
        world.host.namespace = Some(home.to_owned());
        world.standing.ending.insert("n".to_owned());
        let pairs = predicted(rendered, &world).pairs;
        let refused = pairs.iter().filter(|pair| pair.effect == Effect::Rejected);
        refused.map(|pair| format!("{} {}", pair.key.kind, pair.rule.as_str())).collect::<Vec<_>>()
    };
    let is = std::slice::from_ref(&group);
    let live = [ours(group.clone())];
    // The record of the release is new whatever the release holds.
    assert_eq!(refused(HostKind::Helm3, "n", &live, is, is), ["MachineDeployment host/namespace-ends"]);
    assert_eq!(refused(HostKind::Helm3, "m", &live, is, is), [] as [String; 0]);
    let more = [group.clone(), notes()];
    assert_eq!(refused(HostKind::Helm3, "m", &live, is, &more), ["ConfigMap host/server-refuses"]);
    assert_eq!(refused(HostKind::Kubectl, "n", &live, &[], &more), ["ConfigMap host/server-refuses"]);
    assert_eq!(refused(HostKind::Kubectl, "n", &live, &[], is), [] as [String; 0]);
    assert_eq!(refused(HostKind::Kubectl, "n", &[], &[], is), ["MachineDeployment host/server-refuses"]);
}
