//! Which changes `setBack: rolling` takes out of a stream: those that replace or destroy Machines, or may, and that the policy does not
//! expect.

use super::Judged;
use super::expect::template;
use crate::compare::{Change, Pair};
use crate::model::Effect;
use crate::object::{Key, Path};

/// The changes of one object that replace or destroy Machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rolling {
    /// The object.
    pub key: Key,
    /// Name of the template that it took the place of, where it goes with a reference to it.
    pub renamed_from: Option<String>,
    /// Places in it.
    pub paths: Vec<Path>,
}

/// The changes of a write that replace or destroy Machines, now or when something that keeps them back is over. A template of a
/// new name goes with the reference to it.
#[must_use]
pub(crate) fn rolling(judged: &Judged<'_>) -> Vec<Rolling> {
    let expected = judged.expected();
    let mut found: Vec<Rolling> = Vec::new();
    for pair in judged.pairs {
        let rolls = |change: &&Change| weighs(change) && !expected.has(pair, change);
        for change in pair.changes.iter().filter(rolls) {
            add(&mut found, pair, Some(&change.path));
            if let Some(template) = template(judged, pair, change) {
                add(&mut found, template, None);
            }
        }
    }
    found
}

/// Whether a change takes Machines, or may.
fn weighs(change: &Change) -> bool {
    let takes = |effect: Effect| matches!(effect, Effect::Rollout | Effect::Delete | Effect::Unknown);
    takes(change.effect) || change.waits.is_some_and(takes)
}

fn add(found: &mut Vec<Rolling>, pair: &Pair, path: Option<&Path>) {
    let place = found.iter().position(|one| one.key == pair.key).unwrap_or_else(|| {
        let renamed_from = pair.renamed_from.clone();
        found.push(Rolling { key: pair.key.clone(), renamed_from, paths: Vec::new() });
        found.len() - 1
    });
    found[place].paths.extend(path.cloned());
}
