//! What is written by the time that a refused write fails the release.
//! Helm 3 and Helm 4 go on after a refusal (`pkg/kube/client.go` Update of Helm v3.19 and v4.3): every other object is
//! written, only what should go stays, and the release is marked as failed.

use crate::compare::{Action, Pair};
use crate::host::{HostKind, stops_before_writes};
use crate::model::Effect;
use crate::model::{Finding, some_of};
use crate::object::Key;
use crate::world::World;

/// How many objects are named.
const NAMED: usize = 5;

/// The finding about a release that would stop half-way; `None` where nothing is refused, or where the host writes
/// nothing after that.
#[must_use]
pub(crate) fn finding(pairs: &[Pair], world: &World) -> Option<Finding> {
    // A deletion that is refused does not stop the release.
    let refused: Vec<&Pair> =
        pairs.iter().filter(|pair| pair.effect == Effect::Rejected && pair.action != Action::Delete).collect();
    let first = refused.first()?;
    let host = world.host.kind;
    let goes_on = matches!(host, None | Some(HostKind::Helm3 | HostKind::Helm4 | HostKind::Flux));
    if !goes_on || refused.iter().any(|pair| stops_before_writes(&pair.rule, host)) {
        return None;
    }
    let is_written = |pair: &&Pair| {
        pair.effect != Effect::Rejected
            && (pair.action == Action::Create || (pair.action == Action::Update && !pair.changes.is_empty()))
    };
    let mut written: Vec<&Pair> = pairs.iter().filter(is_written).collect();
    written.sort_by_key(|pair| std::cmp::Reverse(pair.effect));
    // What comes anew has gone before that was refused.
    let comes = |key: &Key| pairs.iter().any(|pair| pair.action == Action::Create && pair.key == *key);
    let kept = pairs.iter().filter(|pair| pair.action == Action::Delete && !comes(&pair.key)).count();
    let mut parts = vec![match refused.len() {
        1 => format!("{} is refused", first.key),
        count => format!("{count} objects are refused, {} among them", first.key),
    }];
    if written.is_empty() {
        parts.push("the release fails, and nothing else in it changes".to_owned());
    } else {
        let names = some_of(written.iter().map(|pair| format!("{} ({})", pair.key, pair.effect)), NAMED);
        parts.push(format!("Helm writes the other objects before the release fails: {names}"));
    }
    if kept > 0 {
        let stay =
            if kept == 1 { "1 object that should go stays" } else { &format!("{kept} objects that should go stay") };
        parts.push(format!("Helm then deletes nothing: {stay}"));
    }
    let message = parts.join("; ");
    Some(Finding::new("half-applied", first.key.clone(), message))
}
