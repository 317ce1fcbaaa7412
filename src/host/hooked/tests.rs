//! What becomes of live objects where a hook has their name, and what hooks make, told as cases.

use crate::host::HostKind;
use crate::host::tests::{annotated, helm3, object, old_render, ours, predicted, side, template, told};
use crate::model::Effect;
use crate::tree::json;
use crate::world::WriteMethod;

#[test]
fn a_hook_that_runs_makes_what_is_not_there() {
    let hook =
        |events: &str| annotated(object("MachineDeployment", Some("n"), "md", json!({})), "helm.sh/hook", events);
    let mut world = helm3(&[], &[]);
    for (events, made) in
        [("post-upgrade", 1), ("pre-upgrade,test", 1), ("pre-install", 0), ("test", 0), ("crd-install", 0)]
    {
        assert_eq!(predicted(&[hook(events)], &world).pairs.len(), made, "{events}");
    }
    // Where nobody knows who writes it may be kubectl.
    world.host.kind = None;
    assert_eq!(predicted(&[hook("test")], &world).pairs.len(), 1);
    world.host.kind = Some(HostKind::Helm3);
    // What is deleted when it succeeded was seen.
    let gone = annotated(hook("pre-upgrade"), "helm.sh/hook-delete-policy", "hook-succeeded");
    let prediction = predicted(std::slice::from_ref(&gone), &world);
    assert_eq!(told(&prediction), ["create MachineDeployment md"]);
    assert!(prediction.passed.is_empty(), "{:?}", prediction.passed);
    // Flux may run the tests after the upgrade.
    world.host.kind = Some(HostKind::Flux);
    assert_eq!(told(&predicted(&[hook("test")], &world)), ["create MachineDeployment md"]);
    world.host.no_hooks = true;
    assert!(predicted(&[gone], &world).pairs.is_empty());
}

#[test]
fn a_health_check_that_a_hook_makes_anew_changes() {
    let check = |seconds: u64| {
        let spec = json!({"clusterName": "a", "checks": {"nodeStartupTimeoutSeconds": seconds}});
        object("MachineHealthCheck", Some("n"), "c", spec)
    };
    let hook = |seconds: u64, event: &str| annotated(check(seconds), "helm.sh/hook", event);
    let live = helm3(&[hook(600, "post-upgrade")], &[]);
    assert_eq!(told(&predicted(&[hook(60, "post-upgrade")], &live)), ["update MachineHealthCheck c"]);
    assert_eq!(told(&predicted(&[hook(600, "post-upgrade")], &live)), [""; 0]);
    assert_eq!(told(&predicted(&[hook(60, "test")], &live)), [""; 0]);
    // One that was part of the release goes, and comes back.
    let live = helm3(&[ours(check(600))], &[check(600)]);
    assert_eq!(told(&predicted(&[hook(60, "post-upgrade")], &live)), ["update MachineHealthCheck c"]);
    assert_eq!(told(&predicted(&[hook(60, "test")], &live)), ["delete MachineHealthCheck c"]);
}

#[test]
fn a_template_that_is_a_hook_and_stays_as_it_is_reaches_nothing() {
    let hook = |image: &str| annotated(template(Some("n"), "t", image), "helm.sh/hook", "pre-upgrade");
    let world = helm3(&[template(Some("n"), "t", "a")], &[]);
    assert!(predicted(&[hook("a")], &world).pairs.is_empty());
    assert_eq!(told(&predicted(&[hook("b")], &world)), ["delete DockerMachineTemplate t"]);
}

#[test]
fn a_hook_that_nothing_deletes_first_is_applied_or_stops_the_release() {
    let live = ours(object("MachineDeployment", Some("n"), "md", json!({"x": 1})));
    let hook = |policy: &str| {
        let hook =
            annotated(object("MachineDeployment", Some("n"), "md", json!({"x": 2})), "helm.sh/hook", "post-upgrade");
        annotated(hook, "helm.sh/hook-delete-policy", policy)
    };
    let mut world = helm3(std::slice::from_ref(&live), &[]);
    let prediction = predicted(&[hook("hook-failed")], &world);
    assert_eq!((prediction.pairs[0].effect, prediction.pairs[0].rule.as_str()), (Effect::Rejected, "host/hook-exists"));
    // One that is being deleted may be gone by then.
    let mut going = live;
    going["metadata"]["deletionTimestamp"] = json!("2026-11-21T12:00:00Z");
    let prediction = predicted(&[hook("hook-failed")], &helm3(&[going], &[]));
    assert_eq!((prediction.pairs.len(), prediction.doubts.len()), (0, 1));
    world.host.kind = Some(HostKind::Helm4);
    world.host.method = Some(WriteMethod::ServerSideApply);
    assert_eq!(told(&predicted(&[hook("hook-failed")], &world)), ["update MachineDeployment md"]);
    assert_eq!(told(&predicted(&[hook("hook-succeeded")], &world)), ["delete MachineDeployment md"]);
    world.host.no_hooks = true;
    assert!(predicted(&[hook("hook-succeeded")], &world).pairs.is_empty());
}

#[test]
fn a_hook_whose_object_is_being_deleted_may_find_it_there() {
    let hook = |policy: Option<&str>| {
        let hook = annotated(object("MachineDeployment", Some("n"), "md", json!({})), "helm.sh/hook", "pre-upgrade");
        policy.map_or(hook.clone(), |policy| annotated(hook, "helm.sh/hook-delete-policy", policy))
    };
    let stands = object("MachineDeployment", Some("n"), "md", json!({}));
    let mut going = stands.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-11-21T12:00:00Z");
    let counted = |live: &crate::tree::Value, last: &[crate::tree::Value], policy: Option<&str>| {
        let prediction = predicted(&[hook(policy)], &helm3(std::slice::from_ref(live), last));
        (prediction.pairs.len(), prediction.doubts.len())
    };
    assert_eq!(counted(&going, &[], None), (0, 1));
    assert_eq!(counted(&ours(going.clone()), std::slice::from_ref(&stands), Some("before-hook-creation")).1, 1);
    assert_eq!(counted(&stands, &[], None), (1, 0));
}

#[test]
fn hooks_that_helm_3_hides_are_those_of_its_record() {
    let cluster = object("Cluster", Some("n"), "a", json!({}));
    let hook = annotated(object("MachineDeployment", Some("n"), "md", json!({})), "helm.sh/hook", "pre-upgrade");
    let live = [ours(cluster.clone()), object("MachineDeployment", Some("n"), "md", json!({}))];
    let mut world = helm3(&live, std::slice::from_ref(&cluster));
    world.base.hooks = side(std::slice::from_ref(&hook));
    let stream = std::slice::from_ref(&cluster);
    assert!(predicted(stream, &world).pairs.is_empty(), "a plan sees the hooks of the stream");
    world.host.post_rendered = true;
    let prediction = predicted(stream, &world);
    assert_eq!(told(&prediction), ["delete MachineDeployment md"]);
    assert!(prediction.warnings.iter().any(|warning| warning.contains("no hook to a post-renderer")));
    // What it shows is no hook, whatever it says of itself.
    world.base.hooks = crate::object::Inventory::default();
    assert_eq!(told(&predicted(&[annotated(cluster, "helm.sh/hook", "pre-upgrade")], &world)), ["update Cluster a"]);
}

#[test]
fn a_hook_of_two_renders_is_made_anew() {
    let hook = annotated(object("MachineDeployment", Some("n"), "md", json!({"x": 1})), "helm.sh/hook", "pre-upgrade");
    let live = old_render(std::slice::from_ref(&hook));
    assert_eq!(told(&predicted(std::slice::from_ref(&hook), &live)), ["delete MachineDeployment md"]);
    // One that does not run on an upgrade does nothing, and one that no earlier one meets is new.
    let other = annotated(hook.clone(), "helm.sh/hook", "pre-install");
    assert!(predicted(&[other], &live).pairs.is_empty());
    let live = old_render(&[object("Cluster", Some("n"), "a", json!({}))]);
    assert_eq!(told(&predicted(&[hook], &live)), ["delete Cluster a", "create MachineDeployment md"]);
}
