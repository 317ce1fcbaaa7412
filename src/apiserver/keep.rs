//! What the API server keeps of both sides of a write: fields that the kind does not have go, defaults come, webhooks fill in. This is done
//! before anybody compares, so that what is predicted, what is judged and what is shown are one thing.

use crate::alike;
use crate::compare::{Action, Pair, changes};
use crate::kinds::shapes::Shape;
use crate::kinds::webhook::{NoWebhook, Written};
use crate::kinds::{Kind, Role, Versions};
use crate::model::{Change, Effect, Sent};
use crate::object::Path;
use crate::parallel;
use crate::providers::kind;
use crate::tree::Value;

/// Both sides of a write as the API server keeps them, in the version in which it is written.
#[derive(Clone)]
pub(super) struct Kept {
    /// Before the write; of a new object the same as after it.
    pub(super) old: Value,
    /// After it.
    pub(super) new: Value,
    /// Fields of the new side that the kind does not have.
    pub(super) dropped: Vec<Path>,
    /// The fields that it has.
    pub(super) shape: Option<Shape>,
}

impl Kept {
    /// Whether it has the fields of a shape.
    fn is_of(&self, shape: Option<Shape>) -> bool {
        match (self.shape, shape) {
            (Some(own), Some(other)) => own.is(other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}

/// What the old side of a write is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    /// Read from an API server.
    Taken,
    /// What was sent before, in whose place the new side comes as a whole.
    Replaced,
    /// What was sent before, all of which is sent again.
    Sent,
    /// What was sent before, of which only what differs is sent (`helm upgrade` of Helm 3: a merge patch from one manifest to the other).
    Merged,
}

/// What the API server of these versions keeps of what was sent; `None` where an object goes.
pub(super) fn kept(pair: &Pair, kind: &'static Kind, versions: &Versions, past: Past) -> Option<Kept> {
    if let Some(sent) = pair.sent.as_ref().filter(|sent| sent.is_certain) {
        let new = pair.predicted.clone()?;
        let old = if pair.action == Action::Create { new.clone() } else { pair.live.clone()? };
        return Some(Kept { old, new, dropped: sent.dropped.clone(), shape: shape(pair, versions) });
    }
    let mut kept = pruned(pair, shape(pair, versions))?;
    fill_in(&mut kept, pair, kind, versions, past);
    Some(kept)
}

/// The fields that an object has in these versions.
fn shape(pair: &Pair, versions: &Versions) -> Option<Shape> {
    Shape::of(&pair.key.kind, &pair.api_version, versions)
}

/// Both sides without the fields that the kind does not have, and with the defaults of its schema.
fn pruned(pair: &Pair, shape: Option<Shape>) -> Option<Kept> {
    let (live, predicted) = pair.sent();
    let mut new = predicted?.clone();
    let mut old = if pair.action == Action::Create { new.clone() } else { live?.clone() };
    let mut dropped = Vec::new();
    if let Some(shape) = shape {
        let at = Path::root().key("spec");
        for side in [&mut old, &mut new] {
            if let Some(map) = side.as_object_mut().filter(|map| map.get("spec").is_some_and(Value::is_null)) {
                // A null that the schema does not allow is no value.
                map.remove("spec");
            }
        }
        match (old.get_mut("spec"), new.get_mut("spec")) {
            (Some(old), Some(new)) => (_, dropped) = shape.prune_and_fill((old, new), &at),
            (Some(old), None) => {
                shape.prune(old, &at);
                shape.fill(old);
            }
            (None, Some(new)) => {
                dropped = shape.prune(new, &at);
                shape.fill(new);
            }
            (None, None) => {}
        }
    }
    Some(Kept { old, new, dropped, shape })
}

/// What the webhook fills in on both sides. What it filled in when the old side was sent is there still: who merges or applies takes away
/// nothing that it never wrote.
fn fill_in(kept: &mut Kept, pair: &Pair, kind: &'static Kind, versions: &Versions, past: Past) {
    let Some(shape) = kept.shape else { return };
    let webhook = kind.webhook.unwrap_or(&NoWebhook);
    let written = |is_past| Written { key: &pair.key, api_version: &pair.api_version, shape, versions, is_past };
    let is_update = pair.action == Action::Update;
    let stays = is_update && matches!(past, Past::Sent | Past::Merged);
    let sent = stays.then(|| kept.old.clone());
    webhook.fill_in(&written(is_update), &mut kept.old);
    if stays && kind.role == Role::InfraCluster {
        // Its controller writes a finalizer into it at once, and that write is filled in, too: not all webhooks fill in everything at first.
        webhook.fill_in(&written(is_update), &mut kept.old);
    }
    if let Some(sent) = sent {
        leave(Some(&sent), &kept.old, &mut kept.new, past == Past::Merged);
    }
    webhook.fill_in(&written(false), &mut kept.new);
}

/// Leaves in the new side what stands in the `filled` old one and was not `sent` with it, unless the new side says it. A list is one value:
/// who sends it sends all of it. Where sides are merged, what both renders say is not sent, and is what the webhook made of it.
fn leave(sent: Option<&Value>, filled: &Value, new: &mut Value, is_merged: bool) {
    if sent == Some(filled) {
        return;
    }
    let (Some(map), Some(new)) = (filled.as_object(), new.as_object_mut()) else { return };
    let unsent = |name: &str, new: &Value| is_merged && sent.and_then(|sent| sent.get(name)) == Some(new);
    new.retain(|name, value| map.contains_key(name) || !unsent(name, value));
    for (name, filled) in map {
        let was = sent.and_then(|sent| sent.get(name));
        match new.get_mut(name) {
            Some(new) if unsent(name, new) => new.clone_from(filled),
            Some(new) => leave(was, filled, new, is_merged),
            None if was.is_none() => drop(new.insert(name.clone(), filled.clone())),
            None => {}
        }
    }
}

/// Makes of each pair what the API server keeps of it. A pair stays as it was sent where the versions that are possible do not agree, where
/// its write is refused, and where it takes the place of another object; so what is refused is shown as it was written.
pub(crate) fn keep(pairs: &mut [Pair], possible: &[Versions], refuses_unknown: bool, past: Past) {
    parallel::each(pairs, |pair| {
        let Some(agreed) = agreed(pair, possible, refuses_unknown, past) else { return };
        let Agreed { kept, changes, is_certain } = agreed;
        let predicted = pair.predicted.replace(kept.new);
        let live = if pair.action == Action::Create { None } else { pair.live.replace(kept.old) };
        if let Some(changes) = changes {
            pair.changes = changes;
        }
        pair.sent = Some(Sent { live, predicted, dropped: kept.dropped, is_certain });
    });
}

/// What all versions that are possible keep of a pair.
struct Agreed {
    /// Both sides, by the first of them.
    kept: Kept,
    /// What differs between the sides; `None` where they are what was sent.
    changes: Option<Vec<Change>>,
    /// Whether the sides are the same by each of them, and not just what differs between the two.
    is_certain: bool,
}

/// What is kept of a pair; `None` where that is not certain, or the write is refused.
fn agreed(pair: &Pair, possible: &[Versions], refuses_unknown: bool, past: Past) -> Option<Agreed> {
    if pair.action == Action::Delete || pair.renamed_from.is_some() || pair.effect == Effect::Rejected {
        return None;
    }
    let kind = kind(&pair.key);
    let (first, others) = possible.split_first()?;
    // What is left before the webhook fills in differs by the shape alone.
    let mut bare: Option<Kept> = None;
    let mut kept = |versions: &Versions| {
        let shape = shape(pair, versions);
        if bare.as_ref().is_none_or(|bare| !bare.is_of(shape)) {
            bare = Some(pruned(pair, shape)?);
        }
        let mut kept = bare.clone()?;
        fill_in(&mut kept, pair, kind, versions, past);
        Some(kept)
    };
    let (cases, found) = alike::scope(|| kept(first));
    let found = found?;
    if refuses_unknown && !found.dropped.is_empty() {
        return None;
    }
    let is_sent = pair.predicted.as_ref() == Some(&found.new)
        && (pair.action == Action::Create || pair.live.as_ref() == Some(&found.old));
    let mut differs = None;
    let mut is_certain = true;
    // Where a set answers each question as one before it, it keeps the same.
    let mut asked = vec![(first, cases)];
    for versions in others {
        if asked.iter().any(|(other, cases)| versions.is_beside(other) && cases.has(versions.case())) {
            continue;
        }
        let (cases, other) = alike::scope(|| kept(versions));
        let other = other?;
        asked.push((versions, cases));
        if other.new == found.new && other.old == found.old && other.dropped == found.dropped {
            continue;
        }
        is_certain = false;
        let differs = differs.get_or_insert_with(|| changes(&found.old, &found.new));
        if changes(&other.old, &other.new) != *differs {
            return None;
        }
    }
    let changes = if is_sent { None } else { Some(differs.unwrap_or_else(|| changes(&found.old, &found.new))) };
    Some(Agreed { kept: found, changes, is_certain })
}

#[cfg(test)]
mod tests {
    use super::leave;
    use crate::tree::{Value, json};

    #[test]
    fn what_a_webhook_filled_in_stays_unless_the_next_render_says_it_or_takes_its_place_away() {
        let sent = json!({"spec": {"a": 1, "kept": {"b": 1}, "gone": {"b": 1}, "list": [{"b": 1}]}});
        let filled = json!({"spec": {
            "a": 1, "kept": {"b": 1, "filled": 2}, "gone": {"b": 1, "filled": 2}, "list": [{"b": 1, "filled": 2}],
            "made": {"c": 3, "d": 4}, "alone": 5,
        }});
        let mut new = json!({"spec": {"a": 9, "kept": {}, "list": [{"b": 1}], "made": {"c": 8}}});
        leave(Some(&sent), &filled, &mut new, false);
        let after = json!({"spec": {
            "a": 9, "kept": {"filled": 2}, "list": [{"b": 1}], "made": {"c": 8, "d": 4}, "alone": 5,
        }});
        assert_eq!(new, after);
        let mut same = json!({"spec": {"a": 9}});
        leave(Some(&sent), &sent, &mut same, true);
        assert_eq!(same, json!({"spec": {"a": 9}}));
    }

    #[test]
    fn what_both_renders_say_is_what_the_webhook_made_of_it_where_only_the_rest_is_sent() {
        let sent = json!({"spec": {"moved": "x", "list": [{"b": 1}], "kept": 1}});
        let filled = json!({"spec": {"place": ["x"], "list": [{"b": 1, "filled": 2}], "kept": 1}});
        let of = |mut new: Value, is_merged| {
            leave(Some(&sent), &filled, &mut new, is_merged);
            new
        };
        assert_eq!(of(sent.clone(), true), filled);
        let whole = json!({"spec": {"moved": "x", "place": ["x"], "list": [{"b": 1}], "kept": 1}});
        assert_eq!(of(sent.clone(), false), whole);
        let other = json!({"spec": {"moved": "y", "place": ["x"], "list": [{"b": 1, "filled": 2}], "kept": 1}});
        assert_eq!(of(json!({"spec": {"moved": "y", "list": [{"b": 1}], "kept": 1}}), true), other);
    }
}
