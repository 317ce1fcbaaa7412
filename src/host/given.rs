//! A write of which both sides are given, as an API server shows them to a webhook: nothing is predicted, and nobody's habits count.
//! What the host would have kept or skipped by its own marks is written all the same, so none of them is looked at.

use super::locate::Locator;
use super::pairs::{blank, trimmed};
use super::predict::Prediction;
use super::referred::{cluster_of, is_of_going, mark_keys, named, reaches_keys};
use super::{kinds, removals, rename};
use crate::apiserver::update::fold_string_data;
use crate::compare::{Action, Pair, changes};
use crate::hashed::HashSet;
use crate::kinds::contract::SECRET;
use crate::object::{Key, LoadError, Object};
use crate::tree::Value;
use crate::world::World;

/// Both sides of one write; `None` where the object is not there on that side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    /// What the API server holds.
    pub before: Option<&'a Object>,
    /// What it is about to hold.
    pub after: Option<&'a Object>,
}

/// The pair of a write that is given. Nothing where its object is neither compared nor referred to by one that is.
///
/// # Errors
/// When an object is not what Kubernetes reads.
pub(crate) fn given(write: Given<'_>, world: &World) -> Result<Prediction, LoadError> {
    let mut out = Prediction::default();
    let Some(object) = write.after.or(write.before) else { return Ok(out) };
    let key = &object.key;
    let of_cluster = cluster_of(key).is_some_and(|cluster| world.live.get(&cluster).is_some());
    if !kinds::is_compared(key) && !of_cluster && !is_referred_to(key, world)? {
        out.passed.push(key.clone());
        return Ok(out);
    }
    out.compared = 1;
    let tree = |side: Option<&Object>| side.map(|object| object.value().map(|value| whole(value.into_owned(), key)));
    let Some(mut pair) = pair(object, tree(write.before).transpose()?, tree(write.after).transpose()?) else {
        return Ok(out);
    };
    if of_cluster && reaches_keys(&pair) && !is_of_going(&world.live, &Locator::new(world), key) {
        let what = if pair.action == Action::Delete { "goes away" } else { "changes" };
        mark_keys(&mut pair, what);
    }
    out.pairs.push(pair);
    rename::still_in_use(&mut out, world);
    Ok(out)
}

/// Whether a Secret or ConfigMap is named by a live object that is compared.
fn is_referred_to(key: &Key, world: &World) -> Result<bool, LoadError> {
    if !kinds::is_compared_when_referred(key) {
        return Ok(false);
    }
    let names = HashSet::from_iter([key.name.as_str()]);
    Ok(!named(&world.live, &names)?.is_empty())
}

/// A tree in the form in which the API server keeps it.
fn whole(mut value: Value, key: &Key) -> Value {
    if key.group.is_empty() && key.kind == SECRET {
        fold_string_data(&mut value);
    }
    value
}

/// The pair of two sides; `None` where they do not differ.
fn pair(object: &Object, before: Option<Value>, after: Option<Value>) -> Option<Pair> {
    match (before, after) {
        (Some(before), Some(after)) => {
            let changes = changes(&before, &after);
            if changes.is_empty() {
                return None;
            }
            let mut pair = blank(object.key.clone(), object.api_version.clone(), Action::Update, object.line);
            (pair.live, pair.predicted, pair.changes) = (Some(trimmed(before)), Some(trimmed(after)), changes);
            Some(pair)
        }
        (None, Some(after)) => {
            let mut pair = blank(object.key.clone(), object.api_version.clone(), Action::Create, object.line);
            pair.predicted = Some(trimmed(after));
            Some(pair)
        }
        (Some(before), None) => Some(removals::deleted(object, before)),
        (None, None) => None,
    }
}
