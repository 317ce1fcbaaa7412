//! Who says what becomes of a write: our own rules, or a real API server by its recorded answers. Before it is asked, the requests are
//! collected.

use super::answered::{Agreement, changed, created, refusal};
use super::ask::{Sender, Write};
use super::kinds;
use super::write::{AfterWrite, Before, write};
use crate::model::RuleId;
use crate::object::{Key, Object};
use crate::tree::Value;
use crate::world::{ServerAnswer, ServerSaid, WriteMethod};

/// One write of a rendered object.
pub(super) struct Attempt<'a> {
    /// The object, as rendered.
    pub(super) object: &'a Object,
    /// Its identity in the cluster.
    pub(super) key: &'a Key,
    /// How it is written.
    pub(super) way: WriteMethod,
    /// Who writes.
    pub(super) sender: Sender<'a>,
    /// Whether it stands in the stream more than once.
    pub(super) is_repeated: bool,
}

/// What is said to a write.
pub(super) struct Reply<T> {
    /// What becomes of the object; nothing where that is not known yet.
    pub(super) outcome: Option<T>,
    /// Whether that is what our own rules say, where somebody else says it.
    pub(super) agreement: Option<Agreement>,
    /// The write, where it is to be asked.
    pub(super) write: Option<Write>,
}

impl<T> Reply<T> {
    const fn of(outcome: T) -> Self {
        Self { outcome: Some(outcome), agreement: None, write: None }
    }

    const fn to_be_asked(write: Write) -> Self {
        Self { outcome: None, agreement: None, write: Some(write) }
    }
}

/// A new object as it is then held; else what was sent, and why it is refused.
pub(super) type Made = Result<Value, (Value, String)>;

/// Whoever says what becomes of a write.
pub(super) trait Server: Sync {
    /// Whether it has to be asked about every object, also those to which our own rules see no change.
    fn is_asked_about_all(&self) -> bool {
        true
    }

    /// What becomes of a live object.
    fn change(&self, attempt: &Attempt<'_>, before: &Before<'_>, rendered: &Value) -> Reply<AfterWrite>;

    /// What becomes of a new object.
    fn create(&self, attempt: &Attempt<'_>, rendered: Value) -> Reply<Made>;
}

/// Our own rules.
pub(super) struct Ours;

impl Server for Ours {
    fn is_asked_about_all(&self) -> bool {
        false
    }

    fn change(&self, attempt: &Attempt<'_>, before: &Before<'_>, rendered: &Value) -> Reply<AfterWrite> {
        Reply::of(write(attempt.way, before, rendered, attempt.sender.applier))
    }

    fn create(&self, _: &Attempt<'_>, rendered: Value) -> Reply<Made> {
        Reply::of(Ok(rendered))
    }
}

/// A real API server, by what it answered to a dry run. Where it gave no answer our own rules stand.
pub(super) struct Recorded<'a> {
    /// Its answers.
    pub(super) answers: &'a [ServerAnswer],
}

impl Recorded<'_> {
    fn to(&self, attempt: &Attempt<'_>) -> Option<&ServerSaid> {
        let is = |answer: &&ServerAnswer| answer.key == *attempt.key && answer.way == attempt.way;
        self.answers.iter().find(is).map(|answer| &answer.said)
    }
}

impl Server for Recorded<'_> {
    fn change(&self, attempt: &Attempt<'_>, before: &Before<'_>, rendered: &Value) -> Reply<AfterWrite> {
        let ours = Ours.change(attempt, before, rendered);
        let (Some(said), Some(predicted)) = (self.to(attempt), &ours.outcome) else { return ours };
        let agreement = Some(changed(said, predicted, (before.key, before.live)));
        let outcome = match said {
            ServerSaid::Holds(theirs) => Some(AfterWrite::sure((**theirs).clone())),
            ServerSaid::Refuses(words) => {
                Some(AfterWrite::Refused { rule: RuleId::of("host/server-refuses"), because: refusal(words) })
            }
            ServerSaid::NotAsked(_) => ours.outcome,
        };
        Reply { outcome, agreement, write: None }
    }

    fn create(&self, attempt: &Attempt<'_>, rendered: Value) -> Reply<Made> {
        let Some(said) = self.to(attempt) else { return Reply::of(Ok(rendered)) };
        let agreement = Some(created(said, &rendered));
        let made = match said {
            ServerSaid::Holds(theirs) => Ok((**theirs).clone()),
            ServerSaid::Refuses(words) => Err((rendered, refusal(words))),
            ServerSaid::NotAsked(_) => Ok(rendered),
        };
        Reply { agreement, ..Reply::of(made) }
    }
}

/// Nobody yet: the writes are collected, so that a real API server can be asked.
pub(super) struct Asking;

impl Asking {
    /// Why an object that stands in the stream more than once is not asked about: the later write meets what the earlier
    /// one left.
    fn why_not(attempt: &Attempt<'_>) -> Option<String> {
        let why = "it stands in the stream more than once, and one write follows the other";
        attempt.is_repeated.then(|| why.to_owned())
    }
}

impl Server for Asking {
    fn change(&self, attempt: &Attempt<'_>, before: &Before<'_>, rendered: &Value) -> Reply<AfterWrite> {
        let request = Self::why_not(attempt).map_or_else(|| attempt.sender.change(attempt.way, before, rendered), Err);
        let (key, api_version) = (attempt.key.clone(), attempt.object.api_version.clone());
        Reply::to_be_asked(Write { key, api_version, way: attempt.way, request })
    }

    fn create(&self, attempt: &Attempt<'_>, rendered: Value) -> Reply<Made> {
        let unread =
            || kinds::is_foreign(attempt.key).then(|| "it is not known whether it is there already".to_owned());
        let why_not = Self::why_not(attempt).or_else(unread);
        let request = why_not.map_or_else(|| Ok(attempt.sender.create(attempt.way, &rendered)), Err);
        let (key, api_version) = (attempt.key.clone(), attempt.object.api_version.clone());
        Reply::to_be_asked(Write { key, api_version, way: attempt.way, request })
    }
}
