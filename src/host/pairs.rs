//! The pairs that a prediction is made of: an object that is new, changed, or whose write is refused.

use std::borrow::Cow;

use super::HostKind;
use super::predict::Run;
use super::reprint;
use super::write::{Definition, sent};
use crate::compare::{Action, Change, Pair, changes};
use crate::kinds::Versions;
use crate::kinds::shapes::Shape;
use crate::kinds::webhook::Written;
use crate::model::Effect;
use crate::model::Finding;
use crate::model::RuleId;
use crate::object::{Key, LoadError, Object};
use crate::providers::core::RELEASE as CORE;
use crate::providers::kind;
use crate::schema;
use crate::tree::Value;
use crate::world::WriteMethod;

impl Run<'_> {
    /// Adds the pair of a new object.
    pub(super) fn create(&mut self, object: &Object) -> Result<(), LoadError> {
        let key = self.locator.full(&object.key);
        let rendered = sent(reprint::value(object, None)?.into_owned(), &key, self.world.host.kind);
        if let Some(because) = self.cannot_be_new() {
            let mut pair = blank(key, object.api_version.clone(), Action::Create, object.line);
            pair.predicted = Some(trimmed(rendered));
            self.reject(&mut pair, RuleId::of("host/replaces-nothing"), because);
            self.out.pairs.push(pair);
            return Ok(());
        }
        let made = match self.way.map(|way| self.argo.as_ref().map_or(way, |argo| argo.way(&rendered, None, way))) {
            None => Some(Ok(rendered)),
            Some(way) => {
                let reply = self.server.create(&self.attempt_of(object, &key, way, None), rendered);
                self.replied(object, &key, way, reply)
            }
        };
        let Some(made) = made else { return Ok(()) };
        let mut pair = blank(key, object.api_version.clone(), Action::Create, object.line);
        pair.predicted = Some(match made {
            Ok(predicted) => trimmed(predicted),
            Err((rendered, because)) => {
                self.reject(&mut pair, RuleId::of("host/server-refuses"), because);
                rendered
            }
        });
        self.out.pairs.push(pair);
        Ok(())
    }

    /// Why nothing new is made: `kubectl replace` asks for each object first (kubectl `pkg/cmd/replace/replace.go`, `Run`); Helm makes what
    /// is not there.
    fn cannot_be_new(&self) -> Option<String> {
        let is_replace = self.world.host.kind == Some(HostKind::Kubectl) && self.way == Some(WriteMethod::Replace);
        is_replace.then(|| "kubectl replace writes only objects that exist, and fails for all others".to_owned())
    }

    /// Adds the pair of a changed object; one that stays as it is adds nothing.
    pub(super) fn update(&mut self, object: &Object, key: Key, live: Value, predicted: Value) {
        let changes = changes(&live, &predicted);
        if changes.is_empty() {
            return;
        }
        let mut pair = blank(key, object.api_version.clone(), Action::Update, object.line);
        pair.live = Some(trimmed(live));
        pair.predicted = Some(trimmed(predicted));
        pair.changes = changes;
        self.out.pairs.push(pair);
    }

    /// Adds the pair of an object whose write is refused; what it would have become is shown as its changes.
    pub(super) fn refuse(
        &mut self,
        object: &Object,
        live: &Object,
        before: Value,
        rendered: Value,
        rule: RuleId,
        because: String,
    ) {
        let wanted = crate::apiserver::merge::overlay(&before, &rendered);
        let changes: Vec<Change> = changes(&before, &wanted);
        let mut pair = blank(live.key.clone(), object.api_version.clone(), Action::Update, object.line);
        pair.live = Some(trimmed(before));
        pair.predicted = Some(trimmed(wanted));
        pair.changes = changes;
        self.reject(&mut pair, rule, because);
        self.out.pairs.push(pair);
    }

    /// Marks a pair as refused, and says so.
    pub(super) fn reject(&mut self, pair: &mut Pair, rule: RuleId, because: String) {
        pair.effect = Effect::Rejected;
        pair.rule = rule.into();
        pair.because.clone_from(&because);
        self.out.findings.push(Finding::new("write-refused", pair.key.clone(), because));
    }
}

/// Why the API server refuses the object by its schema, as far as that shows. What is empty when it comes is none where a webhook of the
/// versions that run fills something in.
pub(super) fn refused_by_schema(
    key: &Key,
    live: &Value,
    predicted: &Value,
    versions: impl FnOnce() -> Versions,
) -> Option<String> {
    let text = |key: &str| predicted.get(key).and_then(Value::as_str).unwrap_or_default();
    let node = schema::builtin(text("apiVersion"), text("kind"))?;
    let empty = |spec: &Value| schema::refused_empty(spec, live.get("spec"), node).into_iter().next();
    let first = empty(predicted.get("spec")?)?;
    let first = match filled_by_webhook(key, text("apiVersion"), predicted, &versions()) {
        Some(filled) => empty(filled.get("spec")?)?,
        None => first,
    };
    Some(format!(
        "the API server refuses the write: spec.{first} must not be empty, so leave it out; the release stops half-way"
    ))
}

/// What is known of the kind of an object, in the version in which it is written.
pub(super) struct Defined<'a> {
    pub(super) key: &'a Key,
    pub(super) api_version: &'a str,
    pub(super) versions: &'a dyn Fn() -> Versions,
    pub(super) sent_since: &'a [Value],
}

impl Definition for Defined<'_> {
    fn filled(&self, object: &Value) -> Option<Value> {
        filled_by_webhook(self.key, self.api_version, object, &(self.versions)())
    }

    fn nulls_read<'v>(&self, applied: &'v Value) -> Cow<'v, Value> {
        nulls_read(self.key, applied, self.versions)
    }

    fn sent_since(&self) -> &[Value] {
        self.sent_since
    }

    fn has_older_versions(&self) -> bool {
        (self.versions)().is_known(CORE.name)
    }
}

/// An object with what the webhook of its kind fills in, where it has one that is known.
pub(super) fn filled_by_webhook(key: &Key, api_version: &str, object: &Value, versions: &Versions) -> Option<Value> {
    let (webhook, shape) = kind(key).webhook.zip(Shape::of(&key.kind, api_version, versions))?;
    let mut filled = object.clone();
    webhook.fill_in(&Written { key, api_version, shape, versions, is_past: false }, &mut filled);
    Some(filled)
}

/// What is applied, with what the webhook makes of each `null` that it reads into Go's types and does not leave out: under a free key
/// and in a list. Of other requests the API server drops such a `null` before.
fn nulls_read<'v>(key: &Key, applied: &'v Value, versions: impl FnOnce() -> Versions) -> Cow<'v, Value> {
    let api_version = applied.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if !applied.get("spec").is_some_and(has_null) {
        return Cow::Borrowed(applied);
    }
    let Some(filled) = filled_by_webhook(key, api_version, applied, &versions()) else { return Cow::Borrowed(applied) };
    let mut out = applied.clone();
    take_for_null(&mut out, &filled);
    Cow::Owned(out)
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.values().any(has_null),
        Value::Array(items) => items.iter().any(has_null),
        other => other.is_null(),
    }
}

/// Puts in the place of each `null` what another tree has there.
fn take_for_null(value: &mut Value, other: &Value) {
    match (value, other) {
        (Value::Object(map), Value::Object(other)) => {
            for (key, value) in map.iter_mut().filter(|(_, value)| has_null(value)) {
                other.get(key).into_iter().for_each(|other| take_for_null(value, other));
            }
        }
        (Value::Array(items), Value::Array(other)) if items.len() == other.len() => {
            items.iter_mut().zip(other.iter()).for_each(|(item, other)| take_for_null(item, other));
        }
        (value @ Value::Null, other) => *value = other.clone(),
        _ => {}
    }
}

/// A pair without content, whose document begins at a line.
pub(super) fn blank(key: Key, api_version: String, action: Action, line: usize) -> Pair {
    Pair { line, ..Pair::of(key, api_version, action) }
}

/// An object without its managed fields, which nobody needs once the write is predicted.
pub(super) fn trimmed(mut value: Value) -> Value {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
    }
    value
}
