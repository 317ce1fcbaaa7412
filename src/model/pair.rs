//! The pair of one object before and after the write, and the changes between the two.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Effect, Touches};
use crate::object::{Key, Location, Path, Segment, Veil};
use crate::tree::Value;

/// What the host does to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Nothing that matters is written.
    Unchanged,
    /// The object is new.
    Create,
    /// The object is changed.
    Update,
    /// The object is deleted.
    Delete,
}

/// Which comparison stood behind the effect of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Each Machine was compared with its owner, as the controller does.
    Machines,
    /// The old spec was compared with the new one; the Machines were derived from the old spec.
    Specs,
}

/// A document inside a string, and the place inside that document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Within {
    /// How the string was read: `yaml`, `json`, `base64`, `gzip`, `cloud-init`.
    pub decode: String,
    /// Path inside what was read; empty for a mere decoding.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

/// One place that differs, and what that does.
#[derive(Clone, PartialEq)]
pub struct Change {
    /// Place in the object, in the rendered version's names: in predicted, or in live where an item of a list goes.
    pub path: Path,
    /// The place in live, where an item of a list on the way stands elsewhere there.
    pub was: Option<Path>,
    /// Identity of the list item that the path goes through, for lists with keys.
    pub item: Option<String>,
    /// Value in live; `None` where there was none.
    pub before: Option<Value>,
    /// Value in predicted; `None` where it goes away.
    pub after: Option<Value>,
    /// The way into strings that are documents; empty for an ordinary place.
    pub within: Vec<Within>,
    /// Late value that the new side still stands for, offline: equal to itself and to nothing else.
    pub symbol: Option<String>,
    /// What it does to Machines; `Unknown` until it was judged.
    pub effect: Effect,
    /// What it moves besides Machines.
    pub touches: Option<Touches>,
    /// What it does as soon as a pause or another block ends that keeps it back; its effect is latent then.
    pub waits: Option<Effect>,
    /// Rule or mirror cause that decided, such as `kcp/version`; empty until it was judged.
    pub rule: String,
    /// One sentence for a person.
    pub because: String,
    /// Where that behaviour stands: project, file, function, version.
    pub source: String,
    /// Where the place stands in what was rendered; `None` until it was looked for, and where nothing was rendered.
    pub at: Option<Location>,
}

impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Change")
            .field("path", &self.path.to_string())
            .field("item", &self.item)
            .field("before", &self.before.as_ref().map(Veil))
            .field("after", &self.after.as_ref().map(Veil))
            .field("within", &self.within)
            .field("effect", &self.effect)
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

impl Change {
    /// Whether it is a whole item of a list that predicted alone has: its place says nothing of live.
    #[must_use]
    pub(crate) fn is_new_item(&self) -> bool {
        self.before.is_none()
            && self.within.is_empty()
            && matches!(self.path.segments().last(), Some(Segment::Index(_)))
    }

    /// Whether it is a whole item of a list that live alone has.
    #[must_use]
    pub(crate) fn is_gone_item(&self) -> bool {
        self.after.is_none() && self.within.is_empty() && matches!(self.path.segments().last(), Some(Segment::Index(_)))
    }

    /// A change that nobody has judged yet.
    #[must_use]
    pub fn unjudged(path: Path, before: Option<Value>, after: Option<Value>) -> Self {
        Self {
            path,
            was: None,
            item: None,
            before,
            after,
            within: Vec::new(),
            symbol: None,
            effect: Effect::Unknown,
            touches: None,
            waits: None,
            rule: String::new(),
            because: String::new(),
            source: String::new(),
            at: None,
        }
    }
}

/// One object before and after the write.
#[derive(Clone)]
pub struct Pair {
    /// Its identity (the new one where a template was renamed).
    pub key: Key,
    /// Its `apiVersion` as rendered, else as live.
    pub api_version: String,
    /// What the host does to it.
    pub action: Action,
    /// What the API server holds, in the rendered version's shape; `None` when it is created.
    pub live: Option<Value>,
    /// What the API server will hold; `None` when it is deleted.
    pub predicted: Option<Value>,
    /// Both sides before the API server kept what it keeps of them, where that is something else; gone when the pair is judged.
    pub sent: Option<Sent>,
    /// Name of the template that this one takes the place of, found by the reference that moves.
    pub renamed_from: Option<String>,
    /// Whether that one goes with the same write, and is shown here alone.
    pub takes_over: bool,
    /// Differences, unjudged at first.
    pub changes: Vec<Change>,
    /// Effect of the object as a whole: the worst of its changes, or of its deletion.
    pub effect: Effect,
    /// What happens to the object as a whole as soon as a pause or another block ends; its effect is latent then.
    pub waits: Option<Effect>,
    /// Which comparison stood behind it; `None` where nothing was compared.
    pub basis: Option<Basis>,
    /// Rule that decided an effect of the object as a whole (a deletion, say); empty where only changes count.
    pub rule: String,
    /// One sentence about the object as a whole; empty where only changes count.
    pub because: String,
    /// Line of the rendered stream where its document starts; 0 where there is none.
    pub line: usize,
    /// Where it stands in what was rendered; `None` until it was looked for, and where nothing was rendered.
    pub at: Option<Location>,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair")
            .field("key", &self.key)
            .field("action", &self.action)
            .field("live", &self.live.as_ref().map(Veil))
            .field("predicted", &self.predicted.as_ref().map(Veil))
            .field("renamed_from", &self.renamed_from)
            .field("changes", &self.changes)
            .field("effect", &self.effect)
            .field("basis", &self.basis)
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

/// Both sides of an object as they were read and sent.
#[derive(Clone)]
pub struct Sent {
    /// Before the write.
    pub live: Option<Value>,
    /// After it.
    pub predicted: Option<Value>,
    /// Fields of it that the kind does not have.
    pub dropped: Vec<Path>,
    /// Whether all versions that are possible keep the very same of both sides.
    pub is_certain: bool,
}

impl Pair {
    /// A pair without content.
    #[must_use]
    pub(crate) fn of(key: Key, api_version: String, action: Action) -> Self {
        Self {
            key,
            api_version,
            action,
            live: None,
            predicted: None,
            sent: None,
            renamed_from: None,
            takes_over: false,
            changes: Vec::new(),
            effect: Effect::None,
            waits: None,
            basis: None,
            rule: String::new(),
            because: String::new(),
            line: 0,
            at: None,
        }
    }

    /// Both sides as they were read and sent.
    #[must_use]
    pub fn sent(&self) -> (Option<&Value>, Option<&Value>) {
        match &self.sent {
            Some(sent) => (sent.live.as_ref(), sent.predicted.as_ref()),
            None => (self.live.as_ref(), self.predicted.as_ref()),
        }
    }

    /// What the API server holds of the object itself: where it is shown beside the one whose place it takes, `live` is that other one's.
    #[must_use]
    pub(crate) fn held(&self) -> Option<&Value> {
        match (&self.renamed_from, self.action) {
            (None, _) => self.live.as_ref(),
            (Some(_), Action::Unchanged) => self.predicted.as_ref(),
            (Some(_), _) => None,
        }
    }

    /// The template that this one takes the place of.
    #[must_use]
    pub fn predecessor(&self) -> Option<Key> {
        let name = self.renamed_from.clone()?;
        Some(self.key.with_name(name))
    }

    /// Sets the effect to the worst of what is known so far and the changes.
    pub fn settle(&mut self) {
        let worst = self.changes.iter().map(|change| change.effect).max().unwrap_or_default();
        self.effect = self.effect.max(worst);
    }
}
