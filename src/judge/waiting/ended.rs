//! A deletion that waits and that a write ends at once: a host that puts its object in the place of the live one takes the finalizers
//! away, so the API server lets go of an owner that its controllers still held, and the garbage collector deletes what it owned.
//! Read beside `k8s.io/apiserver` `pkg/registry/generic/registry/store.go` (deleteWithoutFinalizers), v0.36.

use super::lifted::Lifted;
use super::pause;
use super::side::Side;
use crate::judge::deletions::unhindered;
use crate::judge::stage::Stage;
use crate::model::{Action, Pair, RuleId};
use crate::object::{Path, is_deleting};
use crate::providers::{kind, typed};
use crate::tree::Value;

/// The deletions that go through because nothing holds them any more.
pub(super) fn lifted(stage: &Stage<'_>) -> Vec<Lifted> {
    stage.pairs.iter().filter(|pair| is_ended(pair)).filter_map(|pair| of(stage, pair)).collect()
}

/// Whether an owner that is being deleted loses what holds its deletion.
fn is_ended(pair: &Pair) -> bool {
    let holds = |side: &Option<Value>| {
        let all = side.as_ref().and_then(|object| object.pointer("/metadata/finalizers")).and_then(Value::as_array);
        all.is_some_and(|all| !all.is_empty())
    };
    pair.action == Action::Update
        && kind(&pair.key).role.is_workers()
        && pair.live.as_ref().is_some_and(is_deleting)
        && holds(&pair.live)
        && !holds(&pair.predicted)
}

fn of(stage: &Stage<'_>, pair: &Pair) -> Option<Lifted> {
    let old = stage.before(&pair.key)?;
    // What nobody holds back is on its way without this write.
    let cluster = stage.cluster_of(&pair.key, &old);
    pause::of_object(Side::before(stage), &pair.key, &old, cluster.as_ref()).first()?;
    let found = unhindered(stage, &typed(&pair.key), &old);
    Some(Lifted {
        owner: pair.key.clone(),
        effect: found.effect,
        waits: None,
        rule: RuleId::of("waiting/deletion"),
        because: format!("the write takes its finalizers away, so its deletion ends at once: {}", found.because),
        places: vec![
            (pair.key.clone(), Some(Path::root().key("metadata").key("finalizers"))),
            (pair.key.clone(), None),
        ],
        rollouts: found.rollouts,
    })
}
