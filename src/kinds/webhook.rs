//! What the webhooks of a kind do to a write: they fill in, compare and refuse. A provider implements what its own webhooks do
//! beyond the defaults here, which do nothing.

use super::around::{Around, LookUp};
use super::gates::State;
use super::kind::Kind;
use super::shapes::Shape;
use super::versions::Versions;
use crate::model::RuleId;
use crate::object::{Key, Path, Segment};
use crate::tree::Value;

/// One thing that a webhook refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Id of the cause, for its source.
    pub rule: RuleId,
    /// Place in the superset form.
    pub path: Path,
    /// One sentence.
    pub message: String,
}

/// A refusal by a webhook, at a place that is written as a person writes it.
pub(crate) fn refuse(out: &mut Vec<Refusal>, rule: RuleId, base: &Path, below: &str, message: impl Into<String>) {
    let message = format!("the webhook refuses it: {}", message.into());
    out.push(Refusal { rule, path: place(base, below), message });
}

/// A refusal by the schema of a kind whose schema is not built in, at a place that is written as a person writes it.
pub(crate) fn refuse_by_schema(
    out: &mut Vec<Refusal>,
    rule: RuleId,
    base: &Path,
    below: &str,
    message: impl Into<String>,
) {
    let message = format!("the schema refuses it: {}", message.into());
    out.push(Refusal { rule, path: place(base, below), message });
}

/// A place below another one.
fn place(base: &Path, below: &str) -> Path {
    let mut path = base.clone();
    if let Ok(below) = Path::parse(below) {
        below.segments().iter().for_each(|segment: &Segment| path.push(segment.clone()));
    }
    path
}

/// One side of a write on its way through the mutating webhook, in the form in which it was written.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// The object.
    pub key: &'a Key,
    /// Its `apiVersion`.
    pub api_version: &'a str,
    /// The fields of its kind.
    pub shape: Shape,
    /// The providers' versions.
    pub versions: &'a Versions,
    /// Whether it stood there before the write.
    pub is_past: bool,
}

/// A write as the validating webhook sees it: both sides in the superset form.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    /// The object.
    pub key: &'a Key,
    /// Its kind.
    pub kind: &'static Kind,
    /// Its `apiVersion`.
    pub api_version: &'a str,
    /// Whether it is not there yet; it then stands for its own past.
    pub is_new: bool,
    /// The object as the API server holds it now, as it was read.
    pub live: Option<&'a Value>,
    /// The object before the write.
    pub old: &'a Value,
    /// The object after it.
    pub new: &'a Value,
    /// The providers' versions.
    pub versions: &'a Versions,
    /// What is known of a feature gate.
    pub gate: &'a dyn Fn(&str) -> State,
}

impl std::fmt::Debug for Write<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Write").field("key", &self.key).field("is_new", &self.is_new).finish_non_exhaustive()
    }
}

impl<'a> Write<'a> {
    /// The name of the kind.
    #[must_use]
    pub fn kind_name(&self) -> &'a str {
        &self.key.kind
    }

    /// The object before the write; `None` where it is new.
    #[must_use]
    pub fn past(&self) -> Option<&'a Value> {
        (!self.is_new).then_some(self.old)
    }
}

/// What stands for the webhooks of a kind that has none, or none that fills in or refuses anything: its schema alone is asked.
#[derive(Debug)]
pub(crate) struct SchemaAlone;

impl Webhook for SchemaAlone {
    fn is_schema_alone(&self) -> bool {
        true
    }

    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }
}

/// Says that a place of an object needs a feature gate.
pub(crate) type Need<'n> = dyn FnMut(&'static str, &str) + 'n;

/// The webhooks of a kind.
pub trait Webhook: Sync {
    /// Fills in what the mutating webhook fills in, before the schema is asked.
    fn fill_in(&self, _written: &Written<'_>, _object: &mut Value) {}

    /// Brings both sides into the form in which the provider's Go types hold them, after the move into the superset form.
    fn normalise(&self, _key: &Key, _old: &mut Value, _new: &mut Value, _versions: &Versions) {}

    /// Whether both sides are then as Go's types hold them, so that what neither has does not differ.
    fn is_normalised(&self, _name: &str) -> bool {
        false
    }

    /// Whether it stands for no webhook at all.
    fn is_schema_alone(&self) -> bool {
        false
    }

    /// Whether the API server asks the schema where an object has no spec at all; Go's types may leave out the whole block.
    fn asks_for_spec(&self, _name: &str) -> bool {
        true
    }

    /// Whether the webhook itself says that a number of Machines cannot be negative, so that the schema need not.
    fn refuses_negative_replicas(&self) -> bool {
        false
    }

    /// The places that need a feature gate.
    fn needs(&self, _key: &Key, _object: &Value, _is_new: bool, _versions: &Versions, _need: &mut Need<'_>) {}

    /// What the validating webhook refuses.
    fn refusals(&self, _write: &Write<'_>) -> Vec<Refusal> {
        Vec::new()
    }

    /// What it looks up in the cluster while it admits an object that is new or changed.
    fn looks_up(&self, _write: &Write<'_>, _around: &dyn Around) -> Vec<LookUp> {
        Vec::new()
    }

    /// The places at which a content differs that cannot change; `None` where nothing is compared as a whole.
    fn differences(&self, write: &Write<'_>) -> Option<Vec<Path>> {
        write.kind.fixed.and_then(|fixed| fixed.differences(write.old, write.new, write.versions))
    }
}

/// The webhooks of a kind of which no more is known than what it keeps fixed.
#[derive(Debug)]
pub(crate) struct NoWebhook;

impl Webhook for NoWebhook {}
