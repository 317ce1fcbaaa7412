//! What the API server says to a write of which it has kept what it keeps (`keep`): feature gates, schema and webhooks refuse.
//! The order is the API server's own, and what each step does is the kind's; a kind without a shape goes through untouched.

use super::keep::{Kept, Past, kept};
use super::refused;
use crate::compare::{Action, Pair};
use crate::kinds::around::{self, Around};
use crate::kinds::gates::{self, Open, State};
use crate::kinds::webhook::{NoWebhook, Refusal, Write};
use crate::kinds::{Kind, Versions};
use crate::object::Path;
use crate::providers;
use crate::tree::Value;

/// Both sides of an object as the API server keeps them, in the superset form.
pub(crate) struct Sides {
    /// Before the write.
    pub(crate) old: Value,
    /// After it.
    pub(crate) new: Value,
}

/// What the API server says to a write.
#[derive(Default)]
pub(crate) struct Admission {
    /// Fields of the write that the kind does not have, as rendered.
    pub(crate) dropped: Vec<Path>,
    /// What is refused, by schema or webhook; empty where nothing is.
    pub(crate) refusals: Vec<Refusal>,
    /// What a webhook may refuse, because nobody knows what it finds when it looks around.
    pub(crate) unsure: Vec<Refusal>,
    /// What a webhook may refuse, because nobody said whether its feature gate is on.
    pub(crate) open: Vec<Open>,
    /// Whether a content that cannot change is the same on both sides.
    pub(crate) same: bool,
    /// Whether both sides are as Go's types hold them, so that what neither has does not differ.
    pub(crate) as_go: bool,
}

/// Sends a write through the API server. A new object has nothing to be compared with: it stands for its own past, so that
/// only what is refused about it alone is found. `moved` brings both sides of the object into the superset form, and `past` says
/// what the old side is.
#[must_use]
pub(crate) fn admit(
    pair: &Pair,
    kind: &'static Kind,
    versions: &Versions,
    moved: &dyn Fn(&Value, &Value) -> Sides,
    state: &dyn Fn(&str) -> State,
    around: &dyn Around,
    past: Past,
) -> Option<(Sides, Admission)> {
    let (key, api_version) = (&pair.key, pair.api_version.as_str());
    let (live, sent) = pair.sent();
    if pair.action == Action::Delete {
        return Some((moved(live?, &Value::Null), Admission::default()));
    }
    let is_new = pair.action == Action::Create;
    let Kept { old, new, mut dropped, shape } = kept(pair, kind, versions, past)?;
    // What was there already and does not change is nobody's write.
    dropped.retain(|path| is_new || live.and_then(|live| path.get(live)) != sent.and_then(|sent| path.get(sent)));
    let webhook = kind.webhook.unwrap_or(&NoWebhook);
    let mut refusals = Vec::new();
    let has_spec = webhook.asks_for_spec(&key.kind) || new.get("spec").is_some_and(|spec| !spec.is_null());
    if let Some(shape) = shape.filter(|_| has_spec) {
        // What was there already is let through; of a new object nothing was.
        let before = if is_new || old.get("spec").is_none() { None } else { Some(&old) };
        refusals.extend(refused::by_schema(
            shape,
            (kind, webhook),
            api_version,
            (before, &new),
            (live.filter(|_| !is_new), sent),
            past == Past::Taken,
            versions,
        ));
    }
    let Sides { mut old, mut new } = moved(&old, &new);
    webhook.normalise(key, &mut old, &mut new, versions);
    let needs = providers::gates::needed(kind, key, &new, is_new, versions);
    let (off, open) = gates::unmet(&needs, state);
    let write = Write { key, kind, api_version, is_new, live, old: &old, new: &new, versions, gate: state };
    let mut unsure = Vec::new();
    if refusals.is_empty() {
        refusals.extend(off);
        refusals.extend(webhook.refusals(&write));
        if matches!(pair.action, Action::Create | Action::Update) {
            let (refused, doubted) = around::outcome(webhook.looks_up(&write, around));
            refusals.extend(refused);
            unsure = doubted;
        }
    }
    let fixed = webhook.differences(&write);
    let same = fixed.as_ref().is_some_and(Vec::is_empty);
    if let (true, Some(places), Some(fixed)) = (refusals.is_empty(), fixed, kind.fixed) {
        let refusal = |path: Path| Refusal { rule: fixed.rule, message: fixed.message(&path), path };
        refusals.extend(places.into_iter().map(refusal));
    }
    let as_go = webhook.is_normalised(&key.kind);
    Some((Sides { old, new }, Admission { dropped, refusals, unsure, open, same, as_go }))
}

/// Whether a path lies at or below one of these.
#[must_use]
pub(crate) fn lies_in(path: &Path, places: &[Path]) -> bool {
    places.iter().any(|place| place.covers(path))
}
