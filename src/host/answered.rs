//! The API server's own answer to a write beside what was predicted. Where there is an answer it takes the place of the
//! prediction in a second judgement, so that whichever is worse counts; where there is none the prediction stands.

use super::ask::{Said, Sender, Write};
use super::kinds;
use super::predict::Run;
use super::write::{Before, Outcome};
use crate::compare::{Change, changes};
use crate::model::RuleId;
use crate::object::{Key, Object, Veil};
use crate::tree::Value;
use crate::world::WriteMethod;

/// What a run makes of the writes that it comes to.
#[derive(Debug, Default)]
pub(super) enum Mode {
    /// It predicts them.
    #[default]
    Predict,
    /// It collects them, for the API server to be asked.
    Ask(Vec<Write>),
    /// It takes the API server's word for them.
    Answer,
}

impl Mode {
    /// The same mode, with nothing collected.
    pub(super) const fn fresh(&self) -> Self {
        match self {
            Self::Predict => Self::Predict,
            Self::Ask(_) => Self::Ask(Vec::new()),
            Self::Answer => Self::Answer,
        }
    }

    /// Adds what was collected elsewhere.
    pub(super) fn take(&mut self, other: Self) {
        if let (Self::Ask(writes), Self::Ask(more)) = (self, other) {
            writes.extend(more);
        }
    }
}

/// One answer of the API server beside what was predicted.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The object.
    pub key: Key,
    /// Its `apiVersion`, as rendered.
    pub api_version: String,
    /// How it would be written.
    pub way: WriteMethod,
    /// What came of it.
    pub verdict: Agreement,
}

/// Whether an answer is what was predicted.
#[derive(Clone)]
pub enum Agreement {
    /// It is.
    Same,
    /// It was not asked: why.
    NotAsked(String),
    /// Both would hold the object, but not with the same content.
    Different {
        /// Each place, predicted before answered. Of a new object only what is rendered counts.
        changes: Vec<Change>,
        /// What the server holds, which may have secrets that stand nowhere else.
        theirs: Box<Value>,
    },
    /// The server refuses in these words what was predicted to go through.
    Refused(String),
    /// The server lets through what was predicted to be refused.
    Accepted,
}

impl std::fmt::Debug for Agreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Same => f.write_str("Same"),
            Self::NotAsked(why) => f.debug_tuple("NotAsked").field(why).finish(),
            Self::Different { changes, theirs } => {
                f.debug_struct("Different").field("changes", changes).field("theirs", &Veil(theirs)).finish()
            }
            Self::Refused(words) => f.debug_tuple("Refused").field(words).finish(),
            Self::Accepted => f.write_str("Accepted"),
        }
    }
}

impl Run<'_> {
    /// Whether every rendered object has to be looked at, also those to which no change is predicted.
    pub(super) const fn looks_at_all(&self) -> bool {
        !matches!(self.mode, Mode::Predict)
    }

    /// Collects the write of a live object, where writes are collected.
    pub(super) fn collect(&mut self, object: &Object, way: WriteMethod, before: &Before<'_>, rendered: &Value) -> bool {
        let sender = Sender { host: &self.world.host, applier: self.applier() };
        let repeated = self.is_repeated(object);
        let Mode::Ask(writes) = &mut self.mode else { return false };
        let (key, api_version) = (before.key.clone(), object.api_version.clone());
        let request = repeated.map_or_else(|| sender.change(way, before, rendered), Err);
        writes.push(Write { key, api_version, way, request });
        true
    }

    /// Collects the write of a new object, where writes are collected.
    pub(super) fn collect_new(&mut self, object: &Object, key: &Key, rendered: &Value) -> bool {
        let sender = Sender { host: &self.world.host, applier: self.applier() };
        let Some(way) = self.way_of_new(rendered) else { return false };
        let unread = kinds::is_foreign(key).then(|| "it is not known whether it is there already".to_owned());
        let why_not = self.is_repeated(object).or(unread);
        let Mode::Ask(writes) = &mut self.mode else { return false };
        let (key, api_version) = (key.clone(), object.api_version.clone());
        let request = why_not.map_or_else(|| Ok(sender.create(way, rendered)), Err);
        writes.push(Write { key, api_version, way, request });
        true
    }

    /// Why an object that stands in the stream more than once is not asked about: the later write meets what the earlier
    /// one left.
    fn is_repeated(&self, object: &Object) -> Option<String> {
        let repeated = self.sorted.doubles.contains(&object.key);
        repeated.then(|| "it stands in the stream more than once, and one write follows the other".to_owned())
    }

    /// How a new object is written.
    fn way_of_new(&self, rendered: &Value) -> Option<WriteMethod> {
        let way = self.way?;
        Some(self.argo.as_ref().map_or(way, |argo| argo.way(rendered, way)))
    }

    /// What becomes of a live object by the server's own word, where it was asked.
    pub(super) fn by_server(
        &mut self,
        object: &Object,
        key: &Key,
        way: WriteMethod,
        predicted: Outcome,
        live: &Value,
    ) -> Outcome {
        let Some(said) = self.answer(key, way) else { return predicted };
        let ours = match &predicted {
            Outcome::Holds { predicted, .. } => {
                super::pairs::refused_by_schema(live, predicted).is_none().then_some(predicted)
            }
            Outcome::Refused { .. } | Outcome::Recreated => None,
        };
        let verdict = match (&said, ours) {
            (Said::NotAsked(why), _) => Agreement::NotAsked(why.clone()),
            (Said::Holds(theirs), Some(ours)) => compared(changes(ours, theirs), theirs),
            (Said::Holds(_), None) => Agreement::Accepted,
            (Said::Refuses(words), Some(_)) => Agreement::Refused(words.clone()),
            (Said::Refuses(_), None) => Agreement::Same,
        };
        self.note(object, key, way, verdict);
        match said {
            Said::Holds(theirs) => Outcome::Holds { predicted: *theirs, blind: false, adopted: false },
            Said::Refuses(words) => {
                Outcome::Refused { rule: RuleId::of("host/server-refuses"), because: refusal(&words) }
            }
            Said::NotAsked(_) => predicted,
        }
    }

    /// What becomes of a new object by the server's own word, where it was asked.
    ///
    /// # Errors
    /// Why the server refuses it.
    pub(super) fn created_by_server(
        &mut self,
        object: &Object,
        key: &Key,
        rendered: Value,
    ) -> Result<Value, (Value, String)> {
        let Some(way) = self.way_of_new(&rendered) else { return Ok(rendered) };
        let Some(said) = self.answer(key, way) else { return Ok(rendered) };
        let verdict = match &said {
            Said::NotAsked(why) => Agreement::NotAsked(why.clone()),
            Said::Holds(theirs) => compared(of_rendered(&rendered, theirs), theirs),
            Said::Refuses(words) => Agreement::Refused(words.clone()),
        };
        self.note(object, key, way, verdict);
        match said {
            Said::Holds(theirs) => Ok(*theirs),
            Said::Refuses(words) => Err((rendered, refusal(&words))),
            Said::NotAsked(_) => Ok(rendered),
        }
    }

    /// The answer to one write.
    fn answer(&self, key: &Key, way: WriteMethod) -> Option<Said> {
        if !matches!(self.mode, Mode::Answer) {
            return None;
        }
        let found = self.world.answers.iter().flatten().find(|answer| answer.key == *key && answer.way == way);
        found.map(|answer| answer.said.clone())
    }

    /// Writes down what came of one question.
    fn note(&mut self, object: &Object, key: &Key, way: WriteMethod, verdict: Agreement) {
        let api_version = object.api_version.clone();
        self.out.answered.push(Answered { key: key.clone(), api_version, way, verdict });
    }
}

/// Whether an answer that holds the object is what was predicted.
fn compared(changes: Vec<Change>, theirs: &Value) -> Agreement {
    if changes.is_empty() {
        return Agreement::Same;
    }
    Agreement::Different { changes, theirs: Box::new(theirs.clone()) }
}

/// Where the server holds something else than what a new object renders. What the chart leaves out and the server or its
/// webhooks fill in is no difference.
fn of_rendered(rendered: &Value, theirs: &Value) -> Vec<Change> {
    let mut found = changes(&super::merge::pruned(rendered.clone()), theirs);
    found.retain(|change| change.before.is_some());
    found
}

/// A refusal as a sentence.
fn refusal(words: &str) -> String {
    format!("the API server refuses the write, asked by a dry run: {words}; the release stops half-way")
}
