//! What a change of `spec.replicas` does: more Machines, fewer, or none at all.

use std::sync::Arc;

use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::kinds::contract::REPLICAS_MANAGED_BY;
use crate::kinds::fields::{annotation, comes_to, number, target, wanted};
use crate::kinds::{Kind, Role, Typed};
use crate::model::Effect;
use crate::model::RuleId;
use crate::object::Key;
use crate::providers::kind;
use crate::rules::Rules;
use crate::tree::Value;

/// Whether an owner makes Machines. A control plane that does has a template for them (Cluster API's contract for control
/// plane providers, `docs/book/src/developer/providers/contracts/control-plane.md`); a hosted or managed one has none.
#[must_use]
pub(crate) fn makes_machines(kind: &Kind, owner: &Value) -> bool {
    match kind.role {
        role if role.is_workers() => true,
        Role::ControlPlane => {
            let spec = owner.get("spec").unwrap_or(&Value::Null);
            ["machineTemplate", "infrastructureTemplate", "infrastructureRef"].iter().any(|key| spec.get(key).is_some())
        }
        _ => false,
    }
}

/// Whether something outside of Cluster API decides how many Machines a pool has: the annotation says anything but `false`
/// (`util/annotations/helpers.go` ReplicasManagedByExternalAutoscaler of Cluster API 1.14).
#[must_use]
pub(crate) fn is_managed(pool: &Value) -> bool {
    annotation(pool, REPLICAS_MANAGED_BY).is_some_and(|told| told != "false")
}

/// The infrastructure that a pool names.
pub(super) fn infrastructure(key: &Key, pool: &Value) -> Option<Key> {
    target(pool.pointer("/spec/template/spec/infrastructureRef")?, key.namespace.as_deref())
}

/// Whether somebody else than Cluster API decides how many Machines a pool has: its provider says whether it asks its own object, which
/// `there` gives, or the annotation of the pool.
fn is_elsewhere(key: &Key, pool: &Value, there: impl Fn(&Key) -> Option<Arc<Value>>) -> bool {
    let infrastructure = infrastructure(key, pool);
    match infrastructure.as_ref().and_then(|infrastructure| kind(infrastructure).scales_itself) {
        None => is_managed(pool),
        Some(scales) => infrastructure
            .and_then(|infrastructure| there(&infrastructure))
            .is_some_and(|infrastructure| scales(&infrastructure, annotation(pool, REPLICAS_MANAGED_BY))),
    }
}

/// Whether somebody else than Cluster API decided before the write how many Machines the pool has.
pub(crate) fn was_elsewhere(stage: &Stage<'_>, key: &Typed<'_>, old: &Value) -> bool {
    key.known.role == Role::Pool && is_elsewhere(key, old, |infrastructure| stage.before(infrastructure))
}

/// Whether somebody else than Cluster API decides after the write how many Machines the pool has.
pub(crate) fn goes_elsewhere(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> bool {
    key.known.role == Role::Pool && is_elsewhere(key, new, |infrastructure| stage.after(infrastructure))
}

/// Why a smaller number of a pool comes to fewer still: its controller gives each zone as many and rounds down. With how many there are then.
pub(crate) fn rounded(stage: &Stage<'_>, key: &Key, new: &Value, says: u64) -> Option<String> {
    let infrastructure = infrastructure(key, new)?;
    let zones = kind(&infrastructure).zones?;
    let plane = stage.control_plane_of(key, new);
    let zones = zones(&*stage.after(&infrastructure)?, plane.as_deref()).max(1);
    let each = says / zones;
    (each * zones != says).then(|| {
        format!(
            "{infrastructure} stands in {zones} zones, each gets {says} / {zones} rounded down, so {} are left",
            each * zones
        )
    })
}

/// The infrastructure of a pool that changes with this write and whose controller then writes the number that the pool says, too.
pub(crate) fn written_along(stage: &Stage<'_>, key: &Key, new: &Value) -> Option<Key> {
    let infrastructure = infrastructure(key, new).filter(|infrastructure| kind(infrastructure).writes_number_along)?;
    let (before, after) = (stage.before(&infrastructure)?, stage.after(&infrastructure)?);
    (before.get("spec") != after.get("spec")).then_some(infrastructure)
}

/// A pool before the write with the number of Machines that it runs, where something outside of Cluster API chose that number until now
/// and what its spec says counts from now on; `None` where nothing of that changes, or nobody said how many run.
#[must_use]
pub(crate) fn taken_over(stage: &Stage<'_>, key: &Typed<'_>, old: &Value, new: &Value) -> Option<Value> {
    if !was_elsewhere(stage, key, old) || goes_elsewhere(stage, key, new) {
        return None;
    }
    let runs = number(old, "/status/replicas")?;
    let mut out = old.clone();
    *out.pointer_mut("/spec/replicas")? = runs.into();
    Some(out)
}

/// The answer about `spec.replicas`, with both numbers in its sentence. Of an owner whose controller never goes below `keeps` Machines.
#[must_use]
pub(crate) fn answer(rules: &Rules, rule: RuleId, keeps: u64, (old, new): (&Value, &Value)) -> Answer {
    let (before, says) = (wanted(old, None), wanted(new, Some(old)));
    let after = comes_to(says, keeps, before);
    let removed = number(new, "/spec/replicas").is_none();
    let filled = if removed { ", because the field goes away and the webhook fills it in" } else { "" };
    let kept = if after == says { String::new() } else { format!("; its controller never goes from {keeps} to fewer") };
    let tail = format!("{filled}{kept}");
    if after == before {
        return Answer::known(rules, Effect::None, rule).saying(format!("the number of Machines stays {before}{tail}"));
    }
    if after == 0 {
        // There may be more or fewer than were wanted.
        return Answer::known(rules, Effect::Delete, rule).saying(format!(
            "no Machine is wanted any more, after {before}: those that are there are deleted and not replaced{tail}"
        ));
    }
    let verb = if after > before { "made" } else { "deleted" };
    let count = before.abs_diff(after);
    let plural = if count == 1 { "Machine is" } else { "Machines are" };
    Answer::known(rules, Effect::Scale, rule)
        .saying(format!("scales from {before} to {after}: {count} {plural} {verb}, none is replaced{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_managed_control_plane_makes_no_machines() {
        let makes = |name: &str, spec: Value| {
            makes_machines(crate::providers::kind_of("controlplane.cluster.x-k8s.io", name), &json!({"spec": spec}))
        };
        assert!(!makes("AWSManagedControlPlane", json!({"version": "v1.33"})));
        assert!(!makes("KamajiControlPlane", json!({"replicas": 3})));
        assert!(makes("CK8sControlPlane", json!({"machineTemplate": {}})));
        assert!(makes("TalosControlPlane", json!({"infrastructureTemplate": {}})));
        assert!(!makes("KubeadmControlPlaneTemplate", json!({"machineTemplate": {}})));
    }
}
