//! What the API server keeps of both sides of a write: fields that the kind does not have go, defaults come, webhooks fill in. This is done
//! before anybody compares, so that what is predicted, what is judged and what is shown are one thing.

use crate::compare::{Action, Pair, changes};
use crate::kinds::shapes::{Shape, has_shapes};
use crate::kinds::webhook::{NoWebhook, Written};
use crate::kinds::{Kind, Versions};
use crate::model::{Change, Effect, Sent};
use crate::object::Path;
use crate::parallel;
use crate::providers::kind;
use crate::tree::Value;

/// Both sides of a write as the API server keeps them, in the version in which it is written.
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

/// What the API server of these versions keeps of what was sent; `None` where an object goes.
pub(super) fn kept(pair: &Pair, kind: &'static Kind, versions: &Versions) -> Option<Kept> {
    let (live, predicted) = pair.sent();
    let mut new = predicted?.clone();
    let mut old = if pair.action == Action::Create { new.clone() } else { live?.clone() };
    let (key, api_version) = (&pair.key, pair.api_version.as_str());
    let mut dropped = Vec::new();
    let shape = if has_shapes(&key.group) { Shape::of(&key.kind, api_version, versions) } else { None };
    if let Some(shape) = shape {
        let written = Written { key, api_version, shape, versions };
        let at = Path::root().key("spec");
        for (side, is_new) in [(&mut old, false), (&mut new, true)] {
            if let Some(map) = side.as_object_mut().filter(|map| map.get("spec").is_some_and(Value::is_null)) {
                // A null that the schema does not allow is no value.
                map.remove("spec");
            }
            if let Some(spec) = side.get_mut("spec") {
                let gone = shape.prune(spec, &at);
                shape.fill(spec);
                if is_new {
                    dropped = gone;
                }
            }
            kind.webhook.unwrap_or(&NoWebhook).fill_in(&written, side);
        }
    }
    Some(Kept { old, new, dropped, shape })
}

/// Makes of each pair what the API server keeps of it. A pair stays as it was sent where the versions that are possible do not agree, where
/// its write is refused, and where it takes the place of another object; so what is refused is shown as it was written.
pub(crate) fn keep(pairs: &mut [Pair], possible: &[Versions], refuses_unknown: bool) {
    parallel::each(pairs, |pair| {
        let Some((kept, changes)) = agreed(pair, possible, refuses_unknown) else { return };
        let predicted = pair.predicted.replace(kept.new);
        let live = if pair.action == Action::Create { None } else { pair.live.replace(kept.old) };
        pair.changes = changes;
        pair.sent = Some(Sent { live, predicted });
    });
}

/// What is kept of a pair, with what differs in it; `None` where that is what was sent, or not certain.
fn agreed(pair: &Pair, possible: &[Versions], refuses_unknown: bool) -> Option<(Kept, Vec<Change>)> {
    if pair.action == Action::Delete || pair.renamed_from.is_some() || pair.effect == Effect::Rejected {
        return None;
    }
    let kind = kind(&pair.key);
    let (first, others) = possible.split_first()?;
    let found = kept(pair, kind, first)?;
    let is_sent = pair.predicted.as_ref() == Some(&found.new)
        && (pair.action == Action::Create || pair.live.as_ref() == Some(&found.old));
    if is_sent || (refuses_unknown && !found.dropped.is_empty()) {
        return None;
    }
    let differs = changes(&found.old, &found.new);
    let is_alike = |versions: &Versions| {
        kept(pair, kind, versions).is_some_and(|other| changes(&other.old, &other.new) == differs)
    };
    others.iter().all(is_alike).then_some((found, differs))
}
