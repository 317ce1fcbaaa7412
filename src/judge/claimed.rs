//! A Secret that the controller of an object takes for this object alone, while another object has it.

use std::borrow::Cow;

use super::stage::Stage;
use super::verdict::Answer;
use crate::kinds::Typed;
use crate::kinds::contract::SECRET;
use crate::kinds::fields::{list, text};
use crate::model::Effect;
use crate::object::{Key, Path};
use crate::tree::Value;

/// The answer about the name of a Secret that another object has.
pub(super) fn answer(stage: &Stage<'_>, key: &Typed<'_>, new: &Value, path: &Path) -> Option<Answer> {
    key.known.claim.filter(|claim| path.starts_with(claim.at))?;
    of_object(stage, key, new)
}

/// The answer about an object whose controller does not take the Secret that it names.
pub(super) fn of_object(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> Option<Answer> {
    let claim = key.known.claim?;
    let name = (claim.of)(new)?;
    let secret = Key::of("", SECRET, key.namespace.clone(), name);
    let other = owner(stage, key, &secret)?.or_else(|| {
        let is_other = |other: &Key| {
            (&other.group, &other.kind, &other.namespace) == (&key.group, &key.kind, &key.namespace)
                && other.name != key.name
        };
        let claims = |side: Option<Cow<'_, Value>>| side.is_some_and(|side| (claim.of)(&side) == Some(name));
        let after = stage.referrers(&secret).into_iter().map(|reference| &reference.from);
        let mut after = after.filter(|other| is_other(other) && claims(stage.written_after(other)));
        // Who gives it up with this write has it still.
        let before = || {
            let mut pairs = stage.pairs_of_kind(&key.kind).map(|pair| &pair.key);
            pairs.find(|other| is_other(other) && claims(stage.written_before(other)))
        };
        after.next().or_else(before).cloned()
    })?;
    let because = format!(
        "{other} has {secret}, which the provider takes for one cluster alone: each reconcile of {key} ends with an error, no Machine of a new cluster \
         is made, and its deletion deletes the Secret of the other; give it a Secret of its own"
    );
    Some(Answer::known(stage.rules, Effect::Unknown, claim.rule).saying(because))
}

/// Which other object of the provider owns a Secret, as its owner references say; `None` where this one does already.
fn owner(stage: &Stage<'_>, key: &Typed<'_>, secret: &Key) -> Option<Option<Key>> {
    let live = stage.before(secret);
    let mut other = None;
    for reference in live.iter().flat_map(|secret| list(secret, "/metadata/ownerReferences")) {
        let word = |pointer: &str| text(reference, pointer).unwrap_or_default();
        if word("/apiVersion").split('/').next() != Some(key.group.as_str()) {
            continue;
        }
        if (word("/kind"), word("/name")) == (key.kind.as_str(), key.name.as_str()) {
            return None;
        }
        other = Some(Key::of(key.group.clone(), word("/kind"), key.namespace.clone(), word("/name")));
    }
    Some(other)
}
