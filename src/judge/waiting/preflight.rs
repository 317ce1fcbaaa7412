//! The preflight checks of MachineSets: no Machine is made whose version does not fit that of the control plane.
//! Read beside `core/reconcilers/machineset/machineset_preflight.go` of Cluster API 1.14 (feature gate
//! MachineSetPreflightChecks, on unless told since 1.9). A control plane that is still being upgraded only delays; one that is paused
//! before it is, holds back until it may go on.

use semver::Version;

use super::pause::{self, annotation_path};
use super::side::Side;
use crate::kinds::fields::annotation;
use crate::kinds::fields::target;
use crate::kinds::fields::text;
use crate::model::{Hold, Places, Why};
use crate::object::{Key, Path};
use crate::providers::core::PREFLIGHT;
use crate::providers::core::changes::PREFLIGHT_ON;
use crate::providers::kind;
use crate::tree::Value;

/// The annotation that names the checks to skip.
pub(super) const SKIP: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";
/// The check that waits for an upgrade of the control plane.
const STABLE: &str = "ControlPlaneIsStable";
/// Minor versions that workers may be behind their control plane.
const SKEW: u64 = 3;

/// What the checks hold against new Machines of a MachineDeployment.
pub(super) fn of_workers(side: Side<'_>, key: &Key, owner: &Value, cluster: Option<&Key>) -> Option<Hold> {
    let hold = fails(side, key, owner, cluster)?;
    // With room below the wanted number old Machines go first, whether or not new ones can be made; but those beyond that room wait, so
    // that a write which ends the check lets them go.
    let room = owner.pointer("/spec/rollout/strategy/rollingUpdate/maxUnavailable");
    let is_none = |room: &Value| {
        matches!(room.as_str().map_or_else(|| room.as_u64(), |text| text.trim_end_matches('%').parse().ok()), Some(0))
    };
    (room.is_none_or(is_none) || ends(side, key, cluster)).then_some(hold)
}

/// Whether the checks that fail before the write fail no more after it.
fn ends(side: Side<'_>, key: &Key, cluster: Option<&Key>) -> bool {
    let after = Side::after(side.stage);
    !side.is_after() && after.get(key).is_some_and(|owner| failure(after, key, &owner, cluster).is_none())
}

/// What the checks hold against every new Machine of a MachineDeployment, and against the removal of unhealthy ones.
pub(super) fn fails(side: Side<'_>, key: &Key, owner: &Value, cluster: Option<&Key>) -> Option<Hold> {
    let stage = side.stage;
    let told = stage.told_gate(PREFLIGHT);
    // Where nobody told the gate, the checks may have held something back so far, and may hold back nothing from now on.
    if !told.unwrap_or(!side.is_after()) {
        return None;
    }
    let (says, places) = failure(side, key, owner, cluster)?;
    if told.is_none() && !stage.versions.has(&PREFLIGHT_ON) {
        return None;
    }
    Some(Hold {
        why: Why::Preflight,
        places,
        says: format!("the preflight check of MachineSets fails: {says}"),
        over: "the versions fit or the check is skipped".to_owned(),
    })
}

/// Which check lets no Machine of a new owner be made, unless the gate is known to be off.
pub(super) fn of_new(side: Side<'_>, key: &Key, owner: &Value, cluster: Option<&Key>) -> Option<String> {
    let stage = side.stage;
    let is_on = stage.told_gate(PREFLIGHT).unwrap_or_else(|| stage.versions.has(&PREFLIGHT_ON));
    is_on.then(|| failure(side, key, owner, cluster)).flatten().map(|(says, _)| says)
}

/// Why the checks let no new Machine be made, where the gate is known to be on.
pub(super) fn makes_none(side: Side<'_>, key: &Key, owner: &Value, cluster: Option<&Key>) -> Option<String> {
    if !side.stage.told_gate(PREFLIGHT).unwrap_or(false) {
        return None;
    }
    let (says, _) = failure(side, key, owner, cluster)?;
    Some(format!("the preflight check of MachineSets lets no Machine be made: {says}"))
}

/// Which check fails, and what would end that.
fn failure(side: Side<'_>, key: &Key, owner: &Value, cluster: Option<&Key>) -> Option<(String, Places)> {
    let cluster = side.cluster(cluster?)?;
    let namespace = key.namespace.as_deref();
    let plane_key = target(cluster.pointer("/spec/controlPlaneRef")?, namespace)?;
    let plane = side.get(&plane_key)?;
    let (have, want) = (text(&plane, "/spec/version")?, text(owner, "/spec/template/spec/version")?);
    let config = owner.pointer("/spec/template/spec/bootstrap/configRef").and_then(|config| target(config, namespace));
    let skipped = skipped(side, owner, config.as_ref());
    let is_skipped = |check: &str| is_among(&skipped, check);
    let (plane_minor, minor) = (minor(have)?, minor(want)?);
    let is_kubeadm = config.as_ref().is_some_and(|config| kind(config).config_place().is_some());
    // Its controller ends this, but not while it is paused; and a write that skips the check does not wait for it.
    let unstable = unstable(&plane, have);
    let unstable = unstable.filter(|_| pause::is_annotated(&plane) || skips_later(side, key, STABLE));
    let says = if let Some(says) = unstable.filter(|_| !is_skipped(STABLE)) {
        let mut places = of_owner(key, config.as_ref());
        places.push((plane_key.clone(), Some(annotation_path(pause::ANNOTATION))));
        let paused = if pause::is_annotated(&plane) { " and is paused" } else { "" };
        return Some((format!("{plane_key} {says}{paused}"), places));
    } else if !is_skipped("KubernetesVersionSkew") && minor > plane_minor {
        format!("its version {want} is ahead of the control plane's {have}")
    } else if !is_skipped("KubernetesVersionSkew") && minor + SKEW < plane_minor {
        format!("its version {want} is more than {SKEW} minor versions behind the control plane's {have}")
    } else if is_kubeadm && !is_skipped("KubeadmVersionSkew") && minor != plane_minor {
        format!("kubeadm of {want} does not join a control plane of {have}")
    } else {
        return None;
    };
    let mut places = of_owner(key, config.as_ref());
    places.push((key.clone(), Some(Path::root().key("spec").key("template").key("spec").key("version"))));
    places.push((plane_key, Some(Path::root().key("spec").key("version"))));
    Some((says, places))
}

/// Whether a check counts before the write, and is skipped after it.
fn skips_later(side: Side<'_>, key: &Key, check: &str) -> bool {
    let after = Side::after(side.stage);
    let Some(owner) = after.get(key).filter(|_| !side.is_after()) else { return false };
    let config = owner.pointer("/spec/template/spec/bootstrap/configRef");
    let config = config.and_then(|config| target(config, key.namespace.as_deref()));
    is_among(&skipped(after, &owner, config.as_ref()), check)
}

/// Whether a check is among those that are skipped.
fn is_among(skipped: &[String], check: &str) -> bool {
    skipped.iter().any(|told| told == "All" || told == check)
}

/// Where a check can be skipped: at the workers, or at their bootstrap template.
fn of_owner(key: &Key, config: Option<&Key>) -> Places {
    [Some(key), config].into_iter().flatten().map(|key| (key.clone(), Some(annotation_path(SKIP)))).collect()
}

/// Why a control plane is not stable (`internal/contract/controlplane.go`, IsProvisioning and IsUpgrading).
fn unstable(plane: &Value, want: &str) -> Option<String> {
    let listed = plane.pointer("/status/versions").and_then(Value::as_array).filter(|versions| !versions.is_empty());
    let have: Vec<&str> = match listed {
        Some(versions) => versions.iter().filter_map(|version| text(version, "/version")).collect(),
        None => text(plane, "/status/version").into_iter().collect(),
    };
    let version = |text: &str| Version::parse(text.trim_start_matches('v')).ok();
    let is_older = |have: &&str| version(have).zip(version(want)).is_some_and(|(have, want)| have < want);
    if have.is_empty() {
        // Without a status it is a render, or was read without one.
        return plane.get("status").map(|_| "has no version yet".to_owned());
    }
    have.into_iter().find(is_older).map(|have| format!("is still at {have}"))
}

/// The checks that are skipped: the annotation of the workers, else that of their bootstrap template.
fn skipped(side: Side<'_>, owner: &Value, config: Option<&Key>) -> Vec<String> {
    let of = |object: &Value| annotation(object, SKIP).filter(|text| !text.is_empty()).map(str::to_owned);
    let config = config.filter(|config| side.may(config, |object| object.may_say(SKIP)));
    let told = of(owner).or_else(|| config.and_then(|config| side.get(config)).as_deref().and_then(of));
    told.unwrap_or_default().split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// The minor version of a Kubernetes version.
fn minor(version: &str) -> Option<u64> {
    version.trim_start_matches('v').split('.').nth(1)?.parse().ok()
}
