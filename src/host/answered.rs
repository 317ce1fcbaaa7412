//! The API server's own answer to a write beside what was predicted. Where there is an answer it takes the place of the
//! prediction in a second judgement, so that whichever is worse counts; where there is none the prediction stands.

use super::pairs::refused_by_schema;
use super::write::AfterWrite;
use crate::apiserver::merge;
use crate::compare::{Change, changes};
use crate::kinds::Versions;
use crate::object::{Key, Veil};
use crate::tree::Value;
use crate::world::{ServerSaid, WriteMethod};

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

/// The answer to the write of a live object beside what was predicted of it.
pub(super) fn changed(said: &ServerSaid, predicted: &AfterWrite, (key, live): (&Key, &Value)) -> Agreement {
    let newest = || Versions::of(&[]);
    let ours = match predicted {
        AfterWrite::Holds { predicted, .. } => {
            refused_by_schema(key, live, predicted, newest).is_none().then_some(predicted)
        }
        AfterWrite::Refused { .. } | AfterWrite::Recreated => None,
    };
    match (said, ours) {
        (ServerSaid::NotAsked(why), _) => Agreement::NotAsked(why.clone()),
        (ServerSaid::Holds(theirs), Some(ours)) => compared(changes(ours, theirs), theirs),
        (ServerSaid::Holds(_), None) => Agreement::Accepted,
        (ServerSaid::Refuses(words), Some(_)) => Agreement::Refused(words.clone()),
        (ServerSaid::Refuses(_), None) => Agreement::Same,
    }
}

/// The answer to the write of a new object beside what is rendered of it.
pub(super) fn created(said: &ServerSaid, rendered: &Value) -> Agreement {
    match said {
        ServerSaid::NotAsked(why) => Agreement::NotAsked(why.clone()),
        ServerSaid::Holds(theirs) => compared(of_rendered(rendered, theirs), theirs),
        ServerSaid::Refuses(words) => Agreement::Refused(words.clone()),
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
    let mut found = changes(&merge::pruned(rendered.clone()), theirs);
    found.retain(|change| change.before.is_some());
    found
}

/// A refusal as a sentence.
pub(super) fn refusal(words: &str) -> String {
    format!("the API server refuses the write, asked by a dry run: {words}; the release stops half-way")
}
