//! What a field of a cluster's infrastructure does to the pools of that cluster, which no rule about the field alone can say.

use super::stage::Stage;
use super::verdict::Answer;
use crate::kinds::contract::{CORE, MACHINE_POOL};
use crate::kinds::fields::cluster_name;
use crate::kinds::pools::{Pools, Reach, Reached};
use crate::kinds::references;
use crate::kinds::{Role, Typed, contract};
use crate::model::{Effect, RuleId};
use crate::object::{GroupKind, Key, Path};
use crate::providers::kind;
use crate::tree::Value;

/// The worst of what a field does to pools; `None` where it reaches none.
pub(super) fn answer(stage: &Stage<'_>, key: &Typed<'_>, sides: (&Value, &Value), path: &Path) -> Option<Answer> {
    let pools = key.known.pools.filter(|pools| (pools.reads)(path))?;
    let Some(cluster) = cluster_of(stage, key, sides.0) else {
        // Without a Cluster the provider does nothing.
        let is_read = is_read(stage, &GroupKind::new(CORE, contract::CLUSTER), key);
        return (!is_read).then(|| unread(stage, "the Clusters"));
    };
    let mut worst: Option<(Reach, Key)> = None;
    for each in each(stage, (&cluster, pools), sides, path) {
        let (_, pool, reach) = match each {
            Ok(each) => each,
            Err(pool) => return Some(unread(stage, &pool.to_string())),
        };
        if worst.as_ref().is_none_or(|(worst, _)| reach.0 > worst.0) {
            worst = Some((reach, pool));
        }
    }
    if worst.is_none() && !is_read(stage, &GroupKind::new(CORE, MACHINE_POOL), key) {
        return Some(unread(stage, "the pools of its Cluster"));
    }
    worst.map(|((effect, rule), pool)| {
        let answer = Answer::known(stage.rules, effect, rule);
        let because = format!("{pool} is built from it too. {}", answer.because);
        answer.saying(because)
    })
}

/// The MachinePools whose Machines a field replaces.
pub(super) fn replaced(stage: &Stage<'_>, key: &Typed<'_>, sides: (&Value, &Value), path: &Path) -> Vec<Key> {
    let Some(pools) = key.known.pools.filter(|pools| (pools.reads)(path)) else { return Vec::new() };
    let Some(cluster) = cluster_of(stage, key, sides.0) else { return Vec::new() };
    let all = each(stage, (&cluster, pools), sides, path).into_iter().flatten();
    all.filter(|(_, _, reach)| reach.0 == Effect::Rollout).map(|(owner, ..)| owner).collect()
}

/// Each pool of a cluster that a field reaches, by its MachinePool and its infrastructure, with what it does to it. An error where
/// the infrastructure was not read.
fn each(
    stage: &Stage<'_>,
    (cluster, pools): (&Key, &Pools),
    (old, new): (&Value, &Value),
    path: &Path,
) -> Vec<Result<(Key, Key, Reach), Key>> {
    let owners = stage.owners_of(cluster).into_iter().filter(|owner| kind(owner).role == Role::Pool);
    let reach = |owner: &Key| {
        let pool = infrastructure(stage, owner, pools)?;
        let before = stage.before(&pool);
        if before.is_none() && stage.scene.world.coverage.shows(&pool) {
            // It is new, and nothing runs in it yet.
            return None;
        }
        let Some(value) = stage.after(&pool).or(before) else { return Some(Err(pool)) };
        let reach = (pools.reached)(&Reached { path, old, new, kind: &pool.kind, pool: &value })?;
        Some(Ok((owner.clone(), pool, reach)))
    };
    owners.filter_map(reach).collect()
}

/// The infrastructure of a pool, where it is of a kind that is reached.
fn infrastructure(stage: &Stage<'_>, owner: &Key, pools: &Pools) -> Option<Key> {
    let value = stage.after(owner).or_else(|| stage.before(owner))?;
    let named = references::references(&value);
    let (reference, group) = named.into_iter().find_map(|reference| {
        let group = pools.group_of(&reference.kind)?;
        Some((reference, group))
    })?;
    Some(Key::of(group, reference.kind, owner.namespace.clone(), reference.name))
}

/// The Cluster of an infrastructure: by what it says itself, or by who names it.
fn cluster_of(stage: &Stage<'_>, key: &Key, value: &Value) -> Option<Key> {
    let named = stage.referrers(key).into_iter().map(|reference| &reference.from);
    let by_name = cluster_name(value).map(|name| contract::cluster(key.namespace.as_deref(), name));
    named.filter(|from| kind(from).role == Role::Cluster).min().cloned().or(by_name)
}

/// Whether all of a kind beside an object were read.
fn is_read(stage: &Stage<'_>, kind: &GroupKind, beside: &Key) -> bool {
    let namespace = beside.namespace.as_deref().or(stage.scene.world.host.namespace.as_deref());
    stage.scene.world.coverage.has_list(kind, namespace.unwrap_or_default())
}

/// Nobody knows which pools are there.
fn unread(stage: &Stage<'_>, what: &str) -> Answer {
    let answer = Answer::known(stage.rules, Effect::Unknown, RuleId::of("pool/unread"));
    let because = format!("{what} were not read; {}", answer.because);
    answer.saying(because)
}
