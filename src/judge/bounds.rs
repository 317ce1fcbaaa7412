//! The number of a pool that lies outside of the bounds that its infrastructure says. The provider asks the cloud for it all the same, the cloud
//! refuses, and the reconcile ends there, each time: cluster-api-provider-aws `pkg/cloud/services/eks/nodegroup.go` reconcileNodegroupConfig and
//! `pkg/cloud/services/autoscaling/autoscalinggroup.go` CreateASG and UpdateASG of 2.13, cluster-api-provider-azure
//! `azure/services/agentpools/spec.go` Parameters of 1.21.

use super::plain_owner::pools_of;
use super::replicas::{infrastructure, is_managed};
use super::stage::Stage;
use super::verdict::Answer;
use crate::kinds::contract::REPLICAS_MANAGED_BY;
use crate::kinds::fields::{is_autoscaled, number, wanted};
use crate::kinds::{Asks, Bounds, Role, Typed};
use crate::model::{Effect, RuleId, plural};
use crate::object::{Key, Path};
use crate::providers::kind;
use crate::tree::Value;

/// The number that the provider of a pool asks the cloud for.
enum Number {
    /// This one.
    Of(u64),
    /// One that somebody else chose, which an old render does not say.
    Unseen,
    /// It asks for none.
    None,
}

/// The answer about the number of a pool, or about its bounds, where the cloud refuses the number after the write.
pub(super) fn answer(stage: &Stage<'_>, key: &Typed<'_>, (old, new): (&Value, &Value), path: &Path) -> Option<Answer> {
    let because = match key.known.role {
        Role::Pool if path.is(&["spec", "replicas"]) || path.is(&["metadata", "annotations", REPLICAS_MANAGED_BY]) => {
            let infrastructure = infrastructure(key, new)?;
            let bounds = kind(&infrastructure).bounds?;
            let after = stage.after(&infrastructure)?;
            let before = stage.before(&infrastructure);
            refused(stage, bounds, key, (&infrastructure, before.as_deref(), &after))
        }
        Role::InfraPool => {
            let bounds = key.known.bounds.filter(|bounds| bounds.lies_at(path))?;
            let pools = pools_of(stage, key);
            if pools.is_empty() && bounds.asks != Asks::Once && narrows(bounds, Some(old), new) {
                Some("the bounds become narrower, and the MachinePool that says the number was not read".to_owned())
            } else {
                pools.iter().find_map(|pool| refused(stage, bounds, pool, (key, Some(old), new)))
            }
        }
        _ => None,
    }?;
    Some(answered(stage, because))
}

/// The answer about a new pool that the cloud refuses to make.
pub(super) fn of_new(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> Option<Answer> {
    let infrastructure = infrastructure(key, new).filter(|_| key.known.role == Role::Pool)?;
    let bounds = kind(&infrastructure).bounds?;
    if bounds.asks == Asks::UnlessManaged && is_managed(new)
        || bounds.asks == Asks::Once && stage.before(&infrastructure).is_some()
    {
        return None;
    }
    let (least, most) = bounds.of(&*stage.after(&infrastructure)?)?;
    let says = wanted(new, None);
    let because = format!(
        "its number {says} lies outside of the {least} to {most} that {infrastructure} says, so the cloud refuses it and nothing of the pool is made"
    );
    (says < least || says > most).then(|| answered(stage, because))
}

fn answered(stage: &Stage<'_>, because: String) -> Answer {
    Answer::known(stage.rules, Effect::Unknown, RuleId::of("mp/out-of-bounds")).saying(because)
}

/// Why the cloud refuses the number of a pool after the write.
fn refused(
    stage: &Stage<'_>,
    bounds: &Bounds,
    pool: &Key,
    (infrastructure, before, after): (&Key, Option<&Value>, &Value),
) -> Option<String> {
    let (least, most) = bounds.of(after)?;
    match asked(stage, bounds, pool) {
        Number::Of(says) if says < least || says > most => Some(format!(
            "{pool} is to have {}, and {infrastructure} says {least} to {most}: the cloud refuses that at each reconcile, so no Machine is made or \
             deleted, and what comes after it is not carried out any more",
            plural(says, "Machine")
        )),
        Number::Unseen if narrows(bounds, before, after) => Some(format!(
            "something else scales {pool}, and an old render does not say how many Machines there are; if they are not {least} to {most}, the \
             cloud refuses the bounds, and nothing of the pool is carried out any more; compare with the cluster (--live cluster)"
        )),
        _ => None,
    }
}

/// The number that the provider asks for after the write.
fn asked(stage: &Stage<'_>, bounds: &Bounds, pool: &Key) -> Number {
    let (Some(after), before) = (stage.after(pool), stage.before(pool)) else { return Number::None };
    let is_new = before.is_none();
    let is_managed = is_managed(&after);
    if is_new || bounds.asks == Asks::Once || bounds.asks == Asks::UnlessManaged && is_managed {
        return Number::None;
    }
    let says = number(&after, "/spec/replicas");
    let is_chosen = is_managed || says.is_none() && is_autoscaled(&after);
    if is_chosen && stage.is_of_renders() {
        return Number::Unseen;
    }
    if is_managed {
        let runs =
            before.and_then(|pool| number(&pool, "/spec/replicas").or_else(|| number(&pool, "/status/replicas")));
        return runs.map_or(Number::Unseen, Number::Of);
    }
    Number::Of(wanted(&after, before.as_deref()))
}

/// Whether a number that lay between the bounds may lie outside of them.
fn narrows(bounds: &Bounds, before: Option<&Value>, after: &Value) -> bool {
    let sides = before.and_then(|before| bounds.of(before)).zip(bounds.of(after));
    sides.is_none_or(|((least, most), (at_least, at_most))| at_least > least || at_most < most)
}

impl Bounds {
    /// Both bounds as an object says them.
    fn of(&self, infrastructure: &Value) -> Option<(u64, u64)> {
        let at = |pointer| number(infrastructure, pointer).or(self.unsaid);
        at(self.least).zip(at(self.most))
    }

    /// Whether a path is one of a bound.
    fn lies_at(&self, path: &Path) -> bool {
        let is = |pointer: &str| path.is(&pointer.split('/').skip(1).collect::<Vec<_>>());
        is(self.least) || is(self.most)
    }
}
