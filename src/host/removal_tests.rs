//! What goes away without being said, told as cases: each of them would be a false "safe" where it is not seen.

use super::tests::{annotated, deployment, helm3, ids, object, old_render, ours, predicted, template, told, world};
use super::*;
use crate::compare::Action;
use crate::model::Effect;
use crate::tree::{Value, json};
use crate::world::{BaseKind, LiveKind, WriteMethod};

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn secret(name: &str, data: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "n"}, "data": {"a": data}})
}

#[test]
fn a_hook_does_not_keep_an_object_of_its_name_from_being_deleted() {
    let cluster = object("Cluster", Some("n"), "a", json!({}));
    let hook = annotated(cluster.clone(), "helm.sh/hook", "post-delete");
    let world = helm3(&[ours(cluster.clone())], std::slice::from_ref(&cluster));
    assert_eq!(told(&predicted(std::slice::from_ref(&hook), &world)), ["delete Cluster a"]);
    assert_eq!(told(&predicted(&[hook], &old_render(&[cluster]))), ["delete Cluster a"]);
}

#[test]
fn a_hook_that_takes_the_place_of_an_object_deletes_it_once() {
    let cluster = object("Cluster", Some("n"), "a", json!({}));
    let hook = annotated(cluster.clone(), "helm.sh/hook", "pre-upgrade");
    assert_eq!(told(&predicted(&[hook], &helm3(&[ours(cluster.clone())], &[cluster]))), ["delete Cluster a"]);
}

#[test]
fn a_hook_of_a_base_file_is_not_what_was_written_last() {
    let live = object("MachineDeployment", Some("n"), "md", json!({"x": 1}));
    let hook = annotated(object("MachineDeployment", Some("n"), "md", json!({"x": 2})), "helm.sh/hook", "pre-upgrade");
    let mut world = world(LiveKind::Cluster, BaseKind::File, &[live], &[hook]);
    world.host.kind = Some(HostKind::Helm3);
    let new = object("MachineDeployment", Some("n"), "md", json!({"x": 2}));
    assert_eq!(told(&predicted(&[new], &world)), ["update MachineDeployment md"]);
}

#[test]
fn kubectl_knows_no_hooks() {
    let live = object("MachineDeployment", Some("n"), "md", json!({"x": 1}));
    let hook = annotated(object("MachineDeployment", Some("n"), "md", json!({"x": 2})), "helm.sh/hook", "post-install");
    let mut world = world(LiveKind::Cluster, BaseKind::Unknown, &[live], &[]);
    world.host.kind = Some(HostKind::Kubectl);
    assert_eq!(told(&predicted(&[hook], &world)), ["update MachineDeployment md"]);
}

#[test]
fn kubectl_prunes_only_where_it_writes() {
    let applied = |namespace: &str| {
        let cluster = object("Cluster", Some(namespace), "other", json!({}));
        annotated(cluster, "kubectl.kubernetes.io/last-applied-configuration", "{}")
    };
    let stream = [object("Cluster", Some("n"), "a", json!({}))];
    let mut in_a_set = object("Cluster", Some("m"), "other", json!({}));
    in_a_set["metadata"]["labels"]["applyset.kubernetes.io/part-of"] = json!("applyset-x-v1");
    for (live, doubted) in [(applied("n"), 1), (applied("m"), 0), (in_a_set, 1)] {
        let mut world = world(LiveKind::Cluster, BaseKind::File, &[live], &stream);
        world.host.kind = Some(HostKind::Kubectl);
        world.host.method = Some(WriteMethod::LastApplied);
        world.host.prune = true;
        assert_eq!(predicted(&stream, &world).doubts.len(), doubted);
    }
}

#[test]
fn a_namespace_goes_with_everything_in_it() {
    let live = [object("Cluster", Some("n"), "a", json!({})), object("Cluster", Some("other"), "b", json!({}))];
    let prediction = predicted(&[], &helm3(&live, &[namespace("n")]));
    assert_eq!(told(&prediction), ["delete Namespace n"]);
    assert_eq!(prediction.pairs[0].effect, Effect::Delete);
    assert_eq!(prediction.pairs[0].because, "it is removed, and Cluster n/a goes with it");
    let empty = predicted(&[], &helm3(&live, &[namespace("empty")]));
    assert!(empty.pairs.is_empty());
    let kept = annotated(namespace("n"), "helm.sh/resource-policy", "keep");
    assert!(predicted(&[], &helm3(&live, &[kept])).pairs.is_empty());
    assert!(predicted(&[namespace("n")], &helm3(&live, &[namespace("n")])).pairs.is_empty());
}

#[test]
fn a_namespace_that_is_a_hook_is_deleted_on_every_upgrade() {
    let live = [object("Cluster", Some("n"), "a", json!({}))];
    let hook = |policy: &str| {
        let hook = annotated(namespace("n"), "helm.sh/hook", "pre-install,pre-upgrade");
        annotated(hook, "helm.sh/hook-delete-policy", policy)
    };
    let prediction = predicted(&[hook("before-hook-creation")], &helm3(&live, &[]));
    assert_eq!(told(&prediction), ["delete Namespace n"]);
    assert_eq!(prediction.pairs[0].effect, Effect::Delete);
    assert!(predicted(&[hook("hook-failed")], &helm3(&live, &[])).pairs.is_empty());
}

#[test]
fn a_definition_goes_with_every_object_of_its_kind() {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusters.cluster.x-k8s.io"}, "spec": {"names": {"kind": "Cluster"}}});
    let cluster = object("Cluster", Some("n"), "a", json!({}));
    let other = object("MachineDeployment", Some("n"), "a", json!({}));
    assert_eq!(
        told(&predicted(&[], &helm3(&[cluster], std::slice::from_ref(&definition)))),
        ["delete CustomResourceDefinition clusters.cluster.x-k8s.io"]
    );
    assert!(predicted(&[], &helm3(&[other], &[definition])).pairs.is_empty());
}

#[test]
fn a_release_of_flux_goes_with_what_it_wrote() {
    let mut cluster = object("Cluster", Some("n"), "a", json!({}));
    cluster["metadata"]["labels"] =
        json!({"helm.toolkit.fluxcd.io/name": "demo", "helm.toolkit.fluxcd.io/namespace": "flux"});
    let release = |name: &str| {
        json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": name, "namespace": "flux"}})
    };
    let world = helm3(&[cluster], &[release("demo"), release("other")]);
    assert_eq!(told(&predicted(&[], &world)), ["delete HelmRelease demo"]);
}

#[test]
fn a_template_that_another_owner_still_needs_is_deleted_even_where_it_was_renamed() {
    let mut second = deployment(None, "t-1");
    second["metadata"]["name"] = "md-2".into();
    let old = [deployment(None, "t-1"), second.clone(), template(None, "t-1", "a")];
    let prediction = predicted(&[deployment(None, "t-2"), second, template(None, "t-2", "b")], &old_render(&old));
    assert_eq!(ids(&prediction), ["template-in-use-removed"]);
    assert_eq!(
        told(&prediction),
        ["update MachineDeployment md", "create DockerMachineTemplate t-2", "delete DockerMachineTemplate t-1"]
    );
}

#[test]
fn equal_keys_with_other_content_are_doubt_and_with_the_same_are_not() {
    let one = |x: u8| object("Cluster", Some("n"), "a", json!({"x": x}));
    let world = helm3(&[ours(one(1))], &[one(1)]);
    assert!(predicted(&[one(1), one(2)], &world).doubts.len() == 1);
    let mut twice = helm3(&[ours(one(1))], &[one(1)]);
    twice.host.method = Some(WriteMethod::ServerSideApply);
    assert!(predicted(&[one(2), one(1)], &twice).doubts.len() == 1);
}

#[test]
fn what_lives_outside_namespaces_is_found_whatever_namespace_is_rendered() {
    let config = |namespace: Option<&str>, url: &str| {
        let mut value = json!({"apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig",
            "metadata": {"name": "x"}, "spec": {"clientConfig": {"url": url}}});
        if let Some(namespace) = namespace {
            value["metadata"]["namespace"] = namespace.into();
        }
        value
    };
    let world = helm3(&[ours(config(None, "a"))], &[config(Some("elsewhere"), "a")]);
    assert_eq!(told(&predicted(&[config(Some("elsewhere"), "b")], &world)), ["update ExtensionConfig x"]);
}

#[test]
fn the_keys_of_a_cluster_are_watched_although_nothing_names_them() {
    let cluster = object("Cluster", Some("n"), "demo", json!({}));
    let world =
        helm3(&[ours(cluster.clone())], &[cluster.clone(), secret("demo-ca", "MQ=="), secret("other-ca", "MQ==")]);
    let gone = predicted(std::slice::from_ref(&cluster), &world);
    assert_eq!(told(&gone), ["delete Secret demo-ca"]);
    assert_eq!(gone.pairs[0].effect, Effect::Unknown);
    let changed = predicted(&[cluster, secret("demo-ca", "Mg=="), secret("other-ca", "Mg==")], &world);
    assert_eq!(told(&changed), ["update Secret demo-ca"]);
    assert_eq!(changed.pairs[0].effect, Effect::Unknown);
}

#[test]
fn a_secret_that_was_not_read_is_compared_with_what_was_written_last() {
    let host = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "h", "namespace": "n"}, "spec": {"bmc": {"credentialsName": "bmc"}}});
    let world = helm3(&[ours(host.clone())], &[host.clone(), secret("bmc", "MQ==")]);
    assert_eq!(told(&predicted(&[host.clone(), secret("bmc", "Mg==")], &world)), ["update Secret bmc"]);
    assert!(predicted(&[host, secret("bmc", "MQ==")], &world).pairs.is_empty());
}

#[test]
fn a_secret_that_a_hook_makes_anew_is_a_change_of_it() {
    let user = object(
        "KubeadmConfigTemplate",
        Some("n"),
        "t",
        json!({"files": [{"contentFrom": {"secret": {"name": "used"}}}]}),
    );
    let hook = annotated(secret("used", "Mg=="), "helm.sh/hook", "pre-upgrade");
    let world = helm3(&[ours(user.clone()), secret("used", "MQ==")], std::slice::from_ref(&user));
    assert_eq!(told(&predicted(&[user, hook], &world)), ["update Secret used"]);
}

#[test]
fn argo_cd_prunes_what_it_tracks_and_nothing_that_has_an_owner() {
    let tracked = |kind: &str, name: &str| {
        let id = format!("demo:cluster.x-k8s.io/{kind}:n/{name}");
        annotated(object(kind, Some("n"), name, json!({})), "argocd.argoproj.io/tracking-id", &id)
    };
    let mut owned = tracked("MachineDeployment", "md");
    owned["metadata"]["ownerReferences"] = json!([{"kind": "Cluster", "name": "a", "uid": "1"}]);
    let kept = annotated(tracked("Cluster", "kept"), "argocd.argoproj.io/sync-options", "Prune=false,Validate=false");
    let live = [tracked("Cluster", "a"), owned, kept, object("Cluster", Some("n"), "not tracked", json!({}))];
    let mut world = world(LiveKind::Cluster, BaseKind::Unknown, &live, &[]);
    world.host.kind = Some(HostKind::Argocd);
    world.host.release = Some("demo".into());
    let prediction = predicted(&[], &world);
    assert_eq!(told(&prediction), ["delete Cluster a"]);
    assert_eq!(prediction.pairs[0].action, Action::Delete);
}

fn foreign(name: &str, size: &str) -> Value {
    json!({"apiVersion": "infrastructure.acme.com/v1", "kind": "AcmeMachineTemplate",
        "metadata": {"name": name, "namespace": "n"}, "spec": {"size": size}})
}

fn user_of_foreign(name: &str) -> Value {
    let reference = json!({"apiVersion": "infrastructure.acme.com/v1", "kind": "AcmeMachineTemplate", "name": name});
    let spec = json!({"template": {"spec": {"infrastructureRef": reference}}});
    object("MachineDeployment", Some("n"), "md", spec)
}

#[test]
fn objects_of_an_unknown_provider_count_where_they_are_referred_to() {
    let old = [user_of_foreign("t"), foreign("t", "small"), foreign("other", "small")];
    let new = [user_of_foreign("t"), foreign("t", "large"), foreign("other", "large")];
    let offline = predicted(&new, &old_render(&old));
    assert_eq!(told(&offline), ["update AcmeMachineTemplate t"]);
    assert_eq!((offline.compared, offline.passed.len()), (2, 1));
    // Online their group is not read: what was written last stands for it.
    let online = helm3(&[ours(old[0].clone())], &old);
    assert_eq!(told(&predicted(&new, &online)), ["update AcmeMachineTemplate t"]);
    assert_eq!(told(&predicted(&new[..1], &online)), ["delete AcmeMachineTemplate t"]);
    let mut blind = online;
    blind.base.kind = BaseKind::Unknown;
    blind.base.objects = Vec::new().into();
    assert!(predicted(&new, &blind).doubts.iter().any(|doubt| doubt.keys[0].name == "t"));
}

#[test]
fn a_renamed_template_of_an_unknown_provider_is_paired_with_the_old_one() {
    let old = [user_of_foreign("t-1"), foreign("t-1", "small")];
    let prediction = predicted(&[user_of_foreign("t-2"), foreign("t-2", "large")], &old_render(&old));
    assert_eq!(told(&prediction), ["update MachineDeployment md", "create AcmeMachineTemplate t-2"]);
    assert_eq!(prediction.pairs[1].renamed_from.as_deref(), Some("t-1"));
}

#[test]
fn what_nobody_asked_for_is_doubt_and_neither_new_nor_gone() {
    let (cluster, md) =
        (object("Cluster", Some("n"), "a", json!({})), object("MachineDeployment", Some("n"), "md", json!({})));
    let mut world = helm3(&[], std::slice::from_ref(&md));
    world.coverage = crate::world::Asked::default().into();
    let prediction = predicted(std::slice::from_ref(&cluster), &world);
    assert!(prediction.pairs.is_empty(), "{:?}", told(&prediction));
    assert_eq!(prediction.doubts[0].keys.len(), 2, "{:?}", prediction.doubts);
    // Once it was asked for it is new, and gone.
    for kind in ["Cluster", "MachineDeployment"] {
        world.coverage.note_list(&crate::object::GroupKind::new("cluster.x-k8s.io", kind), Some("n"));
    }
    let prediction = predicted(&[cluster], &world);
    assert_eq!((told(&prediction), prediction.doubts.len()), (vec!["create Cluster a".to_owned()], 0));
}

/// The items of a List in one document, as the host reads them.
fn list(items: &[Value], annotations: &Value) -> crate::object::Inventory {
    let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {"annotations": annotations}, "items": items});
    let bytes = list.to_string().replacen('{', "---\n{", 1).into();
    crate::object::Stream::load(&bytes).expect("a stream").objects
}

#[test]
fn a_hook_on_an_item_of_a_list_hides_nothing_from_helm_3() {
    let live = object("MachineDeployment", Some("n"), "md", json!({"x": 1}));
    let new = object("MachineDeployment", Some("n"), "md", json!({"x": 2}));
    let hook = annotated(new.clone(), "helm.sh/hook", "pre-upgrade");
    let mut world = helm3(&[ours(live.clone())], std::slice::from_ref(&live));
    let told_of = |stream: &crate::object::Inventory, world: &crate::world::World| {
        let prediction = predict(stream, world).expect("a prediction");
        (told(&prediction), prediction.doubts.len())
    };
    assert_eq!(
        told_of(&list(std::slice::from_ref(&hook), &json!({})), &world),
        (vec!["update MachineDeployment md".to_owned()], 0)
    );
    // A list that is itself a hook takes all of its items with it.
    let all = list(&[new], &json!({"helm.sh/hook": "pre-upgrade"}));
    assert_eq!(told_of(&all, &world).0, ["delete MachineDeployment md"]);
    // Flux takes lists apart first; of Helm 4 that depends on a post-renderer.
    world.host.kind = Some(HostKind::Flux);
    assert_eq!(told_of(&list(std::slice::from_ref(&hook), &json!({})), &world).0, ["delete MachineDeployment md"]);
    world.host.kind = Some(HostKind::Helm4);
    assert_eq!(told_of(&list(&[hook], &json!({})), &world).1, 1);
}

#[test]
fn a_hook_of_a_time_that_helm_does_not_know_is_no_part_of_anything() {
    let cluster = object("Cluster", Some("n"), "a", json!({}));
    let skipped = annotated(cluster.clone(), "helm.sh/hook", "crd-install");
    let prediction = predicted(&[skipped], &helm3(&[ours(cluster.clone())], std::slice::from_ref(&cluster)));
    assert_eq!(told(&prediction), ["delete Cluster a"]);
}
