//! The weight of owners without a mirror: pools, whose Machines their infrastructure provider replaces, MachineSets that
//! stand alone, which only count, and control planes that only a pack knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::Change;
use crate::impact;
use crate::judge::reached;
use crate::judge::replicas;
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::kinds::fields;
use crate::kinds::fields::number;
use crate::kinds::{Role, Typed};
use crate::model::Effect;
use crate::model::Rollout;
use crate::object::Key;
use crate::providers::kind;
use crate::tree::Value;

/// The entry of a pool whose infrastructure may have fewer hosts than it has: the cloud ends those above its upper bound.
#[must_use]
pub(crate) fn bounded(stage: &Stage<'_>, key: &Typed<'_>, (old, new): (&Value, &Value)) -> Option<Rollout> {
    let bound = key.known.most?;
    let at = |side: &Value| side.pointer(bound).and_then(Value::as_u64);
    if key.known.scales_itself.is_some_and(|scales| !scales(new, None)) {
        return None;
    }
    let most = at(new).filter(|most| at(old).is_none_or(|old| *most < old))?;
    let pool = pools_of(stage, key).into_iter().next();
    let before = pool.as_ref().and_then(|pool| stage.before(pool));
    let runs =
        before.as_deref().and_then(|pool| number(pool, "/status/replicas").or_else(|| number(pool, "/spec/replicas")));
    if runs.is_some_and(|runs| runs <= most) {
        return None;
    }
    let cluster = before.as_deref().and_then(fields::cluster_name).unwrap_or_default();
    let owner = pool.unwrap_or_else(|| Key::clone(key));
    Some(Rollout {
        replicas: Some(most),
        machines: runs.map(|runs| runs - most),
        steps: vec![format!("the cloud ends hosts until {most} run")],
        course: None,
        causes: vec![bound.trim_start_matches('/').replace('/', ".")],
        ..Rollout::plain(&owner, cluster, Effect::Scale, Vec::new(), 0)
    })
}

/// The pools whose infrastructure an object is.
pub(crate) fn pools_of(stage: &Stage<'_>, key: &Key) -> Vec<Key> {
    let referrers = stage.referrers(key).into_iter().map(|reference| &reference.from);
    let pools: BTreeSet<&Key> = referrers.filter(|from| kind(from).role == Role::Pool).collect();
    pools.into_iter().cloned().collect()
}

/// The entries of the pools whose Machines their provider replaces, because of what changes in their infrastructure or in that of
/// their cluster.
pub(crate) fn behind(
    stage: &Stage<'_>,
    key: &Typed<'_>,
    sides: (&Value, &Value),
    (changes, answers): (&[Change], &[Answer]),
) -> Vec<Rollout> {
    let rolls = changes.iter().zip(answers).filter(|(_, answer)| answer.effect == Effect::Rollout);
    let mut causes: BTreeMap<Key, Vec<String>> = BTreeMap::new();
    for (change, _) in rolls {
        let pools = match key.known.role {
            Role::InfraPool => pools_of(stage, key),
            _ => reached::replaced(stage, key, sides, &change.path),
        };
        pools.into_iter().for_each(|pool| causes.entry(pool).or_default().push(change.path.to_string()));
    }
    causes.into_iter().filter_map(|(pool, causes)| pool_replaced(stage, &pool, causes)).collect()
}

/// The entry of a pool all of whose Machines are replaced; `None` where it has none, or goes.
fn pool_replaced(stage: &Stage<'_>, pool: &Key, causes: Vec<String>) -> Option<Rollout> {
    let (old, new) = (stage.before(pool)?, stage.after(pool)?);
    let runs = number(&old, "/status/replicas").unwrap_or_else(|| fields::wanted(&old, None));
    let names = machine_names(stage, pool);
    let cluster = stage.cluster_of(pool, &new).map(|cluster| cluster.name.clone()).unwrap_or_default();
    (runs > 0).then(|| Rollout {
        replicas: Some(fields::wanted(&new, Some(&old))),
        steps: vec![in_its_own_order(Role::Pool, runs)],
        causes,
        ..Rollout::plain(pool, &cluster, Effect::Rollout, names, runs)
    })
}

/// The Machines of an owner, as far as they were read.
fn machine_names(stage: &Stage<'_>, owner: &Key) -> Vec<String> {
    let owned = stage.scene.view.owned_by(owner).filter(|object| kind(&object.key).role == Role::Machine);
    owned.map(|object| object.key.name.clone()).collect()
}

/// What happens to Machines of an owner without a mirror.
fn in_its_own_order(role: Role, runs: u64) -> String {
    let who = if role == Role::Pool { "the infrastructure provider" } else { "its controller" };
    let what = if runs == 1 { "the Machine".to_owned() } else { format!("the {runs} Machines") };
    format!("{who} replaces {what} in its own order")
}

/// The entry of a changed owner; `None` where no Machine of it is replaced or deleted.
#[must_use]
pub(crate) fn rollout(
    stage: &Stage<'_>,
    key: &Typed<'_>,
    (old, new): (&Value, &Value),
    (changes, answers): (&[Change], &[Answer]),
    lost: Option<Rollout>,
) -> Option<Rollout> {
    if !replicas::makes_machines(key.known, new) {
        return None;
    }
    let worst = |effect: Effect| -> Vec<String> {
        let about = changes.iter().zip(answers).filter(|(_, answer)| answer.effect == effect);
        about.map(|(change, _)| change.path.to_string()).collect()
    };
    let names = machine_names(stage, key);
    let taken_over = replicas::taken_over(stage, key, old, new);
    let before = fields::wanted(taken_over.as_ref().unwrap_or(old), None);
    let now = fields::comes_to(fields::wanted(new, Some(old)), key.known.keeps, before);
    let runs = number(old, "/status/replicas").unwrap_or(before);
    let base = Rollout {
        owner: Key::clone(key),
        cluster: stage.cluster_of(key, new).map(|cluster| cluster.name.clone()).unwrap_or_default(),
        effect: Effect::Rollout,
        replicas: Some(now),
        present: None,
        machines: Some(runs),
        machine_names: names,
        max_surge: None,
        max_unavailable: None,
        steps: Vec::new(),
        course: None,
        causes: worst(Effect::Rollout),
    };
    let ends = worst(Effect::Delete);
    if !ends.is_empty() {
        let names = base.machine_names.clone();
        return Some(impact::gone(base, before, names, ends));
    }
    if lost.is_some() {
        return lost;
    }
    if !base.causes.is_empty() {
        let steps = vec![in_its_own_order(key.known.role, runs)];
        return Some(Rollout { steps, ..base });
    }
    (now < before && !worst(Effect::Scale).is_empty()).then(|| impact::fewer(base, before, now))
}
