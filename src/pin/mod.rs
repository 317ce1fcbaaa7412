//! Pins: the recorded value of a late value, with where it came from, and the places that keep them.
//! A value of a Secret is never written in the clear: its pin holds a stretched hash by which it can be recognised, and the value
//! encrypted where the policy says to whom.

mod book;
pub(crate) mod cluster;
mod encrypted;
mod file;
mod seal;

use crate::policy::ValueType;
use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use book::BookError;
pub(crate) use book::{Book, Event};
pub(crate) use cluster::ClusterStore;
pub(crate) use encrypted::Keys;
pub(crate) use file::FileStore;
pub(crate) use seal::{is_seal, recognises, seal};

/// Who runs this: the user of a pipeline with its job where one says so, else the user of the machine.
#[must_use]
pub(crate) fn author(env: &BTreeMap<String, String>) -> Option<String> {
    let text = |name: &str| env.get(name).filter(|text| !text.is_empty()).cloned();
    let user = ["GITLAB_USER_LOGIN", "GITHUB_ACTOR", "USER", "LOGNAME"].into_iter().find_map(text);
    match (user, text("CI_JOB_URL").or_else(|| text("GITHUB_RUN_ID"))) {
        (Some(user), Some(job)) => Some(format!("{user} ({job})")),
        (user, job) => user.or(job),
    }
}

/// The recorded value of one late value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// Name of the late value.
    pub name: String,
    /// The value; its seal where it is secret.
    pub value: String,
    /// Whether `value` is a seal, since the value came from a Secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// The value behind the seal, encrypted with age to those whom the policy names, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<String>,
    /// Its type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<ValueType>,
    /// Where it came from: the object, file or variable.
    pub source: String,
    /// Path inside the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Uid of the object, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Its resourceVersion at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// When it was pinned.
    pub time: Timestamp,
    /// By whom: a user, or the job of a pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Digest of the policy that was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// What the source said when a person set another value: said again, it holds nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Why, where a person did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The value behind a seal, in the run that has it in hand.
    #[serde(skip)]
    pub clear: Clear,
}

/// A sealed value in the clear: never written, never shown, and no part of what a pin is.
#[derive(Clone, Default)]
pub struct Clear(Option<String>);

impl Clear {
    /// A value that a run has in hand.
    #[must_use]
    pub fn of(value: &str) -> Self {
        Self(Some(value.to_owned()))
    }

    /// The value, where the run has it.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Clear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl PartialEq for Clear {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Clear {}

impl Pin {
    /// Whether a newer pin of the same name holds the same value. A seal is known to another seal only by the value in the clear.
    #[must_use]
    pub fn agrees(&self, newer: &Self) -> bool {
        let text = if newer.secret { newer.clear.0.as_deref() } else { Some(newer.value.as_str()) };
        match self.secret {
            true => self.value == newer.value || text.is_some_and(|text| recognises(&self.value, text)),
            false => text == Some(self.value.as_str()),
        }
    }

    /// This pin with a seal in the place of its value.
    #[must_use]
    pub fn sealed(self) -> Self {
        let seal = |text: &str| seal(text, &format!("{}|{}|{}", self.name, self.source, self.time));
        let over = self.over.as_deref().map(|over| if is_seal(over) { over.to_owned() } else { seal(over) });
        Self { value: seal(&self.value), secret: true, over, clear: Clear::of(&self.value), ..self }
    }

    /// This pin, with its secret value encrypted to those who may have it back. Without recipients it stays as it is.
    ///
    /// # Errors
    /// When one of the recipients is none of age.
    pub fn encrypted_to(self, recipients: &[String]) -> Result<Self, String> {
        match self.clear.text() {
            Some(text) if self.secret && self.encrypted.is_none() && !recipients.is_empty() => {
                Ok(Self { encrypted: Some(encrypted::encrypt(text, recipients)?), ..self })
            }
            _ => Ok(self),
        }
    }

    /// This pin with its value in hand, where one of the keys opens it. What its seal does not recognise is not its value.
    #[must_use]
    pub fn opened(self, keys: &Keys) -> Self {
        let value = self.encrypted.as_deref().and_then(|text| keys.open(text));
        match value.filter(|value| self.secret && recognises(&self.value, value)) {
            Some(value) => Self { clear: Clear(Some(value)), ..self },
            None => self,
        }
    }

    /// Whether a person has set it in the knowledge that the source says this.
    #[must_use]
    pub fn outranks(&self, said: &str) -> bool {
        self.over.as_deref().is_some_and(|over| over == said || recognises(over, said))
    }

    /// This pin with who wrote it and under which policy.
    #[must_use]
    pub fn signed(self, by: Option<String>, policy: &str) -> Self {
        Self { by, policy: Some(policy.to_owned()).filter(|digest| !digest.is_empty()), ..self }
    }
}
