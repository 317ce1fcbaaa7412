//! How the host is going to write: told, from the release record, or by the habits of the program.

use super::argo::Application;
use super::kinds;
use crate::apiserver::apply::{KUSTOMIZE, Takes};
use crate::apiserver::fields::owners;
use crate::host::HostKind;
use crate::tree::Value;
use crate::world::{BaseKind, World, WriteMethod};

/// The ways of writing that are possible, the likeliest first; more than one where it is not known.
pub(super) fn ways(world: &World) -> Vec<WriteMethod> {
    let mut ways = patching(world);
    if world.host.replace {
        ways.iter_mut().filter(|way| **way == WriteMethod::MergePatch).for_each(|way| *way = WriteMethod::Replace);
    }
    ways
}

/// The ways of writing that are possible, before objects are replaced and not patched.
fn patching(world: &World) -> Vec<WriteMethod> {
    use WriteMethod::{LastApplied, MergePatch, ServerSideApply};
    if let Some(told) = world.host.method {
        return vec![told];
    }
    let recorded = world.release.as_ref().filter(|release| release.deployed > 0).map(|release| release.method);
    let first = world.base.kind == BaseKind::FirstInstall;
    match (world.host.kind, recorded) {
        (Some(HostKind::Helm3), _) => vec![MergePatch],
        (Some(HostKind::Argocd), _) if Application::of(world).is_none() => vec![LastApplied, ServerSideApply],
        (Some(HostKind::Argocd | HostKind::Kubectl), _) => vec![LastApplied],
        // `--server-side=auto` takes the method of the last deployed revision (helm `pkg/action/upgrade.go`).
        (_, Some(recorded)) => vec![recorded],
        (Some(HostKind::Helm4 | HostKind::Flux), None) if first => vec![ServerSideApply],
        (Some(HostKind::Flux), None) if is_kustomized(world) => vec![ServerSideApply],
        (_, None) => vec![MergePatch, ServerSideApply],
    }
}

/// Whether Flux writes by its kustomize-controller: it owns fields of the live objects, and helm-controller owns none. It always applies
/// (kustomize-controller `internal/controller/kustomization_controller.go`, v1.9.4; fluxcd/pkg `ssa/manager_apply.go`, `apply`).
pub(super) fn is_kustomized(world: &World) -> bool {
    const NAMES: [&str; 2] = [KUSTOMIZE, "helm-controller"];
    if world.host.kind != Some(HostKind::Flux) || world.release.is_some() {
        return false;
    }
    let has = |name: &str| {
        let objects = world.live.objects().iter().filter(|object| kinds::is_compared(&object.key));
        let mut named = objects.filter(|object| object.may_say(name));
        named.any(|object| object.value().is_ok_and(|value| owners(&value).iter().any(|owner| owner.manager == name)))
    };
    has(NAMES[0]) && !has(NAMES[1])
}

/// The field manager under which the host applies what is new.
pub(super) fn manager(world: &World) -> &'static str {
    if is_kustomized(world) { KUSTOMIZE } else { field_manager(world.host.kind) }
}

/// The field manager by which an object says itself that it is applied: where both controllers of Flux write, it shows which.
pub(super) fn manager_of(world: &World, live: &Value) -> Option<&'static str> {
    let is_of = |name: &str| owners(live).iter().any(|owner| owner.manager == name);
    let is_open = world.host.kind == Some(HostKind::Flux) && world.release.is_none();
    (is_open && is_of(KUSTOMIZE)).then_some(KUSTOMIZE)
}

/// The field manager under which the host applies.
pub(super) fn field_manager(kind: Option<HostKind>) -> &'static str {
    match kind {
        Some(HostKind::Flux) => "helm-controller",
        Some(HostKind::Argocd) => "argocd-controller",
        Some(HostKind::Kubectl) => "kubectl",
        Some(HostKind::Helm3 | HostKind::Helm4) | None => "helm",
    }
}

/// Whose fields a host makes its own with an apply.
pub(super) fn takes(kind: Option<HostKind>, manager: &str) -> Takes {
    match kind {
        Some(HostKind::Argocd | HostKind::Kubectl) => Takes::ClientSide,
        Some(HostKind::Flux) if manager == KUSTOMIZE => Takes::Kubectl,
        _ => Takes::Nothing,
    }
}

/// Whether what the host wrote by patches before counts as applied: where its last write was a patch, and where a first install takes
/// objects over. An upgrade of a release that was applied meets in its own patches somebody else (helm `pkg/action/upgrade.go`,
/// `releasingUpgrade`, `install.go`, `performInstall`, v4.3: `ClientUpdateOptionUpgradeClientSideFieldManager`).
pub(super) fn adopts_updates(world: &World) -> bool {
    let was_patched = world.release.as_ref().is_some_and(|release| release.method == WriteMethod::MergePatch);
    was_patched || world.base.kind == BaseKind::FirstInstall && world.host.kind != Some(HostKind::Kubectl)
}

/// Whether the host takes fields from other managers instead of stopping at a conflict.
pub(super) fn forces(world: &World) -> bool {
    world.host.force || matches!(world.host.kind, Some(HostKind::Flux | HostKind::Argocd))
}
