//! The way from one Kubernetes version to another, which the topology controller lays out before it writes anything: where there is none,
//! it stops. A webhook refuses such a version first, unless an annotation switches that off.
//! Read beside `exp/topology/desiredstate/upgrade_plan.go` (ComputeUpgradePlan, GetUpgradePlanOneMinor, DefaultAndValidateUpgradePlans) of
//! Cluster API 1.14.

use semver::{BuildMetadata, Version};

use super::admission::{VERSION, VERSIONS, parse};
use super::blueprint::class_of;
use super::values::list;
use super::weight::owner;
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::kinds::fields::text;
use crate::model::{Effect, RuleId};
use crate::object::Key;
use crate::providers::core::changes::UPGRADE_PLANS;
use crate::tree::Value;

/// The answer about a version to which no way leads from that of the control plane.
pub(super) fn answer(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Option<Answer> {
    let why = stuck(stage, key, old, new)?;
    let because = format!("{why}: the topology controller stops with an error, and nothing of the cluster changes");
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("topology/stuck")).saying(because))
}

/// Why no way leads to the version of a topology, where it gets another one.
pub(super) fn stuck(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Option<String> {
    let (was, is) = (text(old, VERSION)?, text(new, VERSION)?);
    if was == is || !stage.versions.has(&UPGRADE_PLANS) {
        return None;
    }
    let plane = stage.before(&owner(stage, key, old, "controlPlane", ""));
    let has = plane.as_ref().and_then(|plane| text(plane, "/spec/version")).unwrap_or(was);
    let (from, to) = (release(has)?, release(is)?);
    if to < from {
        return Some(format!("no upgrade leads from {has} down to {is}"));
    }
    let class = class_of(key, new).and_then(|class| stage.after(&class)).unwrap_or_default();
    let has_own_way = list(&class, VERSIONS).next().is_some()
        || text(&class, "/spec/upgrade/external/generateUpgradePlanExtension").is_some();
    (!has_own_way && to.minor > from.minor + 1).then(|| format!("no upgrade leads from {has} to {is} in one step"))
}

/// A version without its build, of which nobody knows the order.
fn release(version: &str) -> Option<Version> {
    Some(Version { build: BuildMetadata::EMPTY, ..parse(version)? })
}
