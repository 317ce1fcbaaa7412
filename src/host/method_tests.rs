//! The ways of writing beside patch and apply, told as cases: replace, delete and make anew, and what Argo CD is told.

use super::tests::{annotated, helm3, ids, object, ours, paths, predicted, told, world};
use super::*;
use crate::model::Effect;
use crate::tree::{Value, json};
use crate::world::{BaseKind, LiveKind, WriteMethod};

fn deployment(spec: Value) -> Value {
    object("MachineDeployment", Some("n"), "md", spec)
}

#[test]
fn helm_3_with_force_reverts_what_drifted() {
    let live = ours(annotated(deployment(json!({"replicas": 9, "paused": true})), "by", "hand"));
    let last = deployment(json!({"replicas": 1}));
    let mut world = helm3(&[live], std::slice::from_ref(&last));
    assert!(predicted(std::slice::from_ref(&last), &world).pairs.is_empty());
    world.host.replace = true;
    let prediction = predicted(&[last], &world);
    assert_eq!(paths(&prediction.pairs[0]), ["metadata.annotations.by", "spec.replicas", "spec.paused"]);
    assert!(
        prediction.doubts.is_empty() && prediction.warnings[0].contains("replaces whole objects"),
        "{:?}",
        prediction.warnings
    );
}

#[test]
fn helm_3_with_force_writes_what_it_adopts() {
    let mut world = helm3(&[ours(deployment(json!({"replicas": 9})))], &[]);
    world.host.replace = true;
    assert_eq!(paths(&predicted(&[deployment(json!({"replicas": 1}))], &world).pairs[0]), ["spec.replicas"]);
}

#[test]
fn helm_4_does_not_replace_what_it_applies() {
    let live = ours(deployment(json!({"replicas": 9})));
    let last = deployment(json!({"replicas": 1}));
    let mut world = helm3(&[live], std::slice::from_ref(&last));
    world.host.kind = Some(HostKind::Helm4);
    world.host.replace = true;
    world.host.method = Some(WriteMethod::ServerSideApply);
    let prediction = predicted(std::slice::from_ref(&last), &world);
    assert_eq!(prediction.pairs[0].effect, Effect::Rejected);
    assert_eq!(prediction.pairs[0].rule, "host/replace-with-apply");
    world.host.method = Some(WriteMethod::MergePatch);
    assert_eq!(paths(&predicted(&[last], &world).pairs[0]), ["spec.replicas"]);
}

#[test]
fn an_object_that_is_made_anew_is_deleted_even_where_nothing_changes() {
    let same = deployment(json!({"replicas": 1}));
    let mut world = world(LiveKind::Cluster, BaseKind::Unknown, std::slice::from_ref(&same), &[]);
    world.host.kind = Some(HostKind::Kubectl);
    world.host.method = Some(WriteMethod::Recreate);
    let prediction = predicted(&[same], &world);
    assert_eq!(told(&prediction), ["delete MachineDeployment md"]);
    assert_eq!((prediction.pairs[0].rule.as_str(), ids(&prediction)), ("host/recreates", vec!["recreated"]));
}

#[test]
fn take_ownership_takes_over_what_belongs_to_somebody_else() {
    let mut world = helm3(&[deployment(json!({"replicas": 9}))], &[]);
    world.host.take_ownership = true;
    assert_eq!(ids(&predicted(&[deployment(json!({"replicas": 1}))], &world)), ["adopted-unchanged"]);
}

/// A cluster to which Argo CD writes, with its application among the live objects.
fn argo(live: Value, sync: Value, ignored: Value) -> crate::world::World {
    let application = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": "demo", "namespace": "argocd"},
        "spec": {"syncPolicy": {"syncOptions": sync}, "ignoreDifferences": ignored}});
    let mut world = world(LiveKind::Cluster, BaseKind::Unknown, &[live, application], &[]);
    world.host.kind = Some(HostKind::Argocd);
    world.host.release = Some("demo".into());
    world
}

#[test]
fn argo_cd_leaves_alone_what_it_was_told_to_only_where_it_respects_that() {
    let live = deployment(json!({"replicas": 9}));
    let new = [deployment(json!({"replicas": 1}))];
    let ignored =
        json!([{"group": "cluster.x-k8s.io", "kind": "MachineDeployment", "jsonPointers": ["/spec/replicas"]}]);
    let world = argo(live.clone(), json!([]), ignored.clone());
    assert_eq!(paths(&predicted(&new, &world).pairs[0]), ["spec.replicas"]);
    let world = argo(live.clone(), json!(["RespectIgnoreDifferences=true"]), ignored);
    assert!(predicted(&new, &world).pairs.is_empty());
    let program = json!([{"group": "*", "kind": "*", "jqPathExpressions": [".spec | del(.replicas)"]}]);
    let world = argo(live, json!(["RespectIgnoreDifferences=true"]), program);
    assert_eq!(predicted(&new, &world).doubts.len(), 1);
}

#[test]
fn argo_cd_replaces_or_makes_anew_what_says_so() {
    let live = annotated(deployment(json!({"replicas": 1})), "by", "hand");
    let with =
        |options: &str| [annotated(deployment(json!({"replicas": 1})), "argocd.argoproj.io/sync-options", options)];
    let world = argo(live, json!([]), json!([]));
    assert_eq!(told(&predicted(&with("Replace=true,Force=true"), &world)), ["delete MachineDeployment md"]);
    let replaced = predicted(&with("Replace=true"), &world);
    assert!(
        paths(&replaced.pairs[0]).contains(&"metadata.annotations.by".to_owned()),
        "{:?}",
        paths(&replaced.pairs[0])
    );
    let forced = predicted(&with("Force=true"), &world);
    assert_eq!(forced.doubts.len(), 1);

    // What only the live object says counts in the sync that takes it away.
    let [last] = with("Replace=true,Force=true");
    let world = argo(last, json!([]), json!([]));
    let plain = deployment(json!({"replicas": 1}));
    assert_eq!(told(&predicted(std::slice::from_ref(&plain), &world)), ["delete MachineDeployment md"]);
    let [last] = with("Force=true");
    let world = argo(last, json!([]), json!([]));
    assert!(told(&predicted(&[plain], &world)).iter().all(|text| !text.starts_with("delete")));
}

#[test]
fn argo_cd_is_predicted_both_ways_where_its_application_is_not_known() {
    let mut live = deployment(json!({"replicas": 1, "dropped": 1}));
    live["metadata"]["managedFields"] = json!([{"manager": "argocd-controller", "operation": "Apply",
        "apiVersion": "cluster.x-k8s.io/v1beta1", "fieldsV1": {"f:spec": {"f:replicas": {}, "f:dropped": {}}}}]);
    let mut world = world(LiveKind::Cluster, BaseKind::Unknown, &[live], &[]);
    world.host.kind = Some(HostKind::Argocd);
    let prediction = predicted(&[deployment(json!({"replicas": 1}))], &world);
    assert!(prediction.pairs.is_empty());
    assert_eq!(paths(&prediction.others[0].pairs[0]), ["spec.dropped"]);
    assert!(prediction.warnings.iter().any(|text| text.contains("Application")), "{:?}", prediction.warnings);
}

#[test]
fn an_apply_takes_over_what_kubectl_wrote_before() {
    let mut live = deployment(json!({"replicas": 1, "dropped": 1}));
    live["metadata"]["managedFields"] = json!([{"manager": "kubectl-client-side-apply", "operation": "Update",
        "apiVersion": "cluster.x-k8s.io/v1beta1", "fieldsV1": {"f:spec": {"f:replicas": {}, "f:dropped": {}}}}]);
    let mut world = world(LiveKind::Cluster, BaseKind::Unknown, &[live], &[]);
    world.host.kind = Some(HostKind::Kubectl);
    world.host.method = Some(WriteMethod::ServerSideApply);
    assert_eq!(paths(&predicted(&[deployment(json!({"replicas": 1}))], &world).pairs[0]), ["spec.dropped"]);
}

#[test]
fn what_an_apply_empties_is_refused_unless_a_webhook_fills_it_in() {
    let check = |spec: Value| object("MachineHealthCheck", Some("n"), "c", spec);
    let workers = |spec: Value| object("MachineDeployment", Some("n"), "md", spec);
    let outcome = |mut live: Value, owned: Value, mut rendered: Value| {
        for side in [&mut live, &mut rendered] {
            side["apiVersion"] = json!("cluster.x-k8s.io/v1beta2");
        }
        live["metadata"]["managedFields"] = json!([{"manager": "helm", "operation": "Apply",
            "apiVersion": live["apiVersion"], "fieldsV1": {"f:spec": owned}}]);
        let mut world = helm3(&[ours(live)], &[]);
        world.host.kind = Some(HostKind::Helm4);
        world.host.method = Some(WriteMethod::ServerSideApply);
        predicted(&[rendered], &world).pairs.iter().map(|pair| pair.effect).collect::<Vec<_>>()
    };
    let checks = json!({"nodeStartupTimeoutSeconds": 600, "unhealthyMachineConditions": []});
    let owned = json!({"f:checks": {"f:nodeStartupTimeoutSeconds": {}, "f:unhealthyMachineConditions": {}}});
    let filled = outcome(check(json!({"checks": checks})), owned, check(json!({"checks": {}})));
    assert!(!filled.contains(&Effect::Rejected), "{filled:?}");
    let owned = json!({"f:remediation": {"f:maxInFlight": {}}});
    let refused =
        outcome(workers(json!({"remediation": {"maxInFlight": 1}})), owned, workers(json!({"remediation": {}})));
    assert_eq!(refused, [Effect::Rejected]);
}

#[test]
fn what_kustomize_controller_applied_goes_with_its_manifest() {
    let of = |label: &str, manager: &str| {
        let mut live = deployment(json!({"replicas": 1, "dropped": 1}));
        live["metadata"]["labels"] = json!({label: "apps"});
        live["metadata"]["managedFields"] = json!([{"manager": manager, "operation": "Apply",
            "apiVersion": "cluster.x-k8s.io/v1beta1", "fieldsV1": {"f:spec": {"f:replicas": {}, "f:dropped": {}}}}]);
        let mut world = world(LiveKind::Cluster, BaseKind::Unknown, &[live], &[]);
        world.host.kind = Some(HostKind::Flux);
        let prediction = predicted(&[deployment(json!({"replicas": 1}))], &world);
        let changed = |pair: &crate::compare::Pair| paths(pair).contains(&"spec.dropped".to_owned());
        (prediction.pairs.iter().any(changed), prediction.others.len())
    };
    let kustomized = "kustomize.toolkit.fluxcd.io/name";
    assert_eq!(of(kustomized, "kustomize-controller"), (true, 0));
    assert_eq!(of(kustomized, "helm-controller").1, 1, "helm-controller owns what is there");
    assert_eq!(of("helm.toolkit.fluxcd.io/name", "helm-controller").1, 1, "both ways are possible");
}

#[test]
fn a_patch_compares_with_the_first_of_two_in_the_last_manifest() {
    let of = |replicas: i64| deployment(json!({"replicas": replicas}));
    let world = helm3(&[ours(of(2))], &[of(3), of(2)]);
    // The patch from the first to the same again holds nothing, and the one to the second holds what is there.
    assert!(predicted(&[of(3)], &world).pairs.is_empty());
    assert!(predicted(&[of(2)], &world).pairs.is_empty());
    assert_eq!(paths(&predicted(&[of(4)], &world).pairs[0]), ["spec.replicas"]);
    // Where live was moved to the first by hand, the second is written again.
    let world = helm3(&[ours(of(3))], &[of(3), of(2)]);
    assert_eq!(paths(&predicted(&[of(2)], &world).pairs[0]), ["spec.replicas"]);
}
