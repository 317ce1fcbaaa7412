//! All approvals of one place, and the only ways to change one: given, used, revoked. What is no approval stays where it is, is named,
//! and lets nothing through.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Approval, MOST_USES, Revoked, Use, text};
use crate::store::Kept;
use crate::tree::Value;
use crate::yaml;

/// Approvals that an object of the cluster keeps; those that ended go first, the oldest before the others.
const MOST: usize = 200;
/// Bytes that they take; an object of a cluster holds one MiB.
const MOST_BYTES: usize = 512 * 1024;

/// The approvals of one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// In the order in which they stand there.
    approvals: Vec<Approval>,
    /// What is no approval.
    malformed: Vec<Malformed>,
}

/// Something that stands among approvals and is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Malformed {
    /// Where.
    pub at: String,
    /// Why it is none.
    pub why: String,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Flaw::is_form")]
    pub flaw: Flaw,
    /// Its key and text, to be written back as they are.
    #[serde(skip)]
    pub(super) raw: Option<(String, String)>,
}

/// What is wrong with something that stands among approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// It is not written as an approval is.
    #[default]
    Form,
    /// Whoever gave it is a judge in their own case.
    OwnChange,
    /// Nothing proves who gave it.
    Unproven,
}

impl Flaw {
    const fn is_form(&self) -> bool {
        matches!(self, Self::Form)
    }
}

/// Why approvals could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// The text is not a list of approvals.
    #[error("{file}:{line}:{column}: {message}")]
    Unreadable {
        /// File or key, as it was given.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// There is no such approval.
    #[error("there is no approval {id}; rollgate approve --list shows what there is")]
    NotThere {
        /// The name.
        id: String,
    },
    /// It is no longer good, or is another one than it was.
    #[error("approval {id} does not count any more: {why}")]
    Ended {
        /// The name.
        id: String,
        /// What ended it.
        why: String,
    },
    /// The glass was broken with these words before, too long ago.
    #[error("the glass was broken for this release with the same reason at {first} already ({id}); say a new one")]
    SameReason {
        /// When first.
        first: Timestamp,
        /// The entry that says so.
        id: String,
    },
    /// There is no room.
    #[error("{count} approvals are still good, and there is no room for one more; revoke what is not needed")]
    Full {
        /// How many.
        count: usize,
    },
    /// The file is written in a way that cannot be added to.
    #[error(
        "{file}: an approval cannot be added to it as it is written; write `approvals:` with one entry a `-` below it"
    )]
    Unwritable {
        /// The file.
        file: String,
    },
}

impl Malformed {
    /// Something that is not written as an approval is.
    pub(super) const fn of(at: String, why: String) -> Self {
        Self { at, why, flaw: Flaw::Form, raw: None }
    }
}

impl Ledger {
    /// What a place held when it was read.
    #[must_use]
    pub fn of(approvals: Vec<Approval>) -> Self {
        Self { approvals, malformed: Vec::new() }
    }

    /// The approvals, and what is none.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Approval>, Vec<Malformed>) {
        (self.approvals, self.malformed)
    }

    /// The approvals.
    #[must_use]
    pub fn approvals(&self) -> &[Approval] {
        &self.approvals
    }

    /// What is no approval.
    #[must_use]
    pub fn malformed(&self) -> &[Malformed] {
        &self.malformed
    }

    /// Adds one. In an object of the cluster what ended makes room; in a file, whose history Git keeps, a person does.
    ///
    /// # Errors
    /// When there is no room.
    pub fn give(&mut self, approval: Approval, makes_room: bool) -> Result<(), LedgerError> {
        let now = approval.time;
        let is_full = |approvals: &[Approval]| {
            let bytes: usize = approvals.iter().map(|one| json(one).len()).sum();
            approvals.len() > MOST || bytes > MOST_BYTES
        };
        self.approvals.push(approval);
        while is_full(&self.approvals) {
            match self.approvals.iter().position(|one| one.ended(now).is_some()).filter(|_| makes_room) {
                Some(oldest) => drop(self.approvals.remove(oldest)),
                None => return Err(LedgerError::Full { count: self.approvals.len() - 1 }),
            }
        }
        Ok(())
    }

    /// Writes down that somebody broke through a hold. One reason is good for one release and a time, from its first use on.
    ///
    /// # Errors
    /// When the reason is an old one, or there is no room.
    pub fn broke(&mut self, entry: &Approval, longest: Duration, makes_room: bool) -> Result<(), LedgerError> {
        if let Some(why) = self.spent(entry, longest) {
            return Err(why);
        }
        // The same run twice in one second is written down once.
        match self.approvals.iter().any(|one| one.id == entry.id) {
            true => Ok(()),
            false => self.give(entry.clone(), makes_room),
        }
    }

    /// Why the reason of an entry is no new one.
    #[must_use]
    pub fn spent(&self, entry: &Approval, longest: Duration) -> Option<LedgerError> {
        let same = |one: &&Approval| one.break_glass && one.reason == entry.reason && one.release == entry.release;
        let first = self.approvals.iter().filter(same).min_by_key(|one| one.time)?;
        let age = Duration::try_from(entry.time.duration_since(first.time)).unwrap_or_default();
        (age > longest).then(|| LedgerError::SameReason { first: first.time, id: first.id.clone() })
    }

    /// Takes one back.
    ///
    /// # Errors
    /// When there is none of that name, or it was taken back already.
    pub fn revoke(&mut self, id: &str, revoked: &Revoked) -> Result<(), LedgerError> {
        let approval = self.find(id)?;
        if approval.revoked.is_some() {
            let why = approval.ended(revoked.time).unwrap_or_default();
            return Err(LedgerError::Ended { id: id.to_owned(), why });
        }
        approval.revoked = Some(revoked.clone());
        Ok(())
    }

    /// Uses one for an install: the same that was judged, and only while it is good.
    ///
    /// # Errors
    /// When it is not there, is another one, or ended in the meantime.
    pub fn take(&mut self, judged: &Approval, used: &Use) -> Result<(), LedgerError> {
        let id = &judged.id;
        let approval = self.find(id)?;
        let same =
            Approval { uses: judged.uses.clone(), revoked: judged.revoked.clone(), ..approval.clone() } == *judged;
        let ended = approval.ended(used.time);
        if let Some(why) = ended.or_else(|| (!same).then(|| "it is not the one that was judged".to_owned())) {
            return Err(LedgerError::Ended { id: id.clone(), why });
        }
        approval.uses.push(used.clone());
        approval.uses.drain(..approval.uses.len().saturating_sub(MOST_USES));
        Ok(())
    }

    fn find(&mut self, id: &str) -> Result<&mut Approval, LedgerError> {
        let found = self.approvals.iter_mut().find(|one| one.id == id);
        found.ok_or_else(|| LedgerError::NotThere { id: id.to_owned() })
    }

    /// Puts what has the name of another one among what is no approval: nobody can say which of them is meant.
    fn without_twins(mut self, place: &str) -> Self {
        let mut seen = BTreeSet::new();
        let twins: BTreeSet<String> =
            self.approvals.iter().filter(|one| !seen.insert(one.id.clone())).map(|one| one.id.clone()).collect();
        let why = "it stands there more than once; keep one of them";
        self.malformed.extend(twins.iter().map(|id| Malformed {
            at: format!("{place}, approval {id}"),
            why: why.to_owned(),
            flaw: Flaw::Form,
            raw: None,
        }));
        self.approvals.retain(|one| !twins.contains(&one.id));
        self
    }
}

/// An approval as it stands in an object.
fn json(approval: &Approval) -> String {
    serde_json::to_string(approval).expect("an approval is plain text and times")
}

/// Reads one approval.
pub(super) fn approval(value: Value) -> Result<Approval, String> {
    let read: Approval = serde_path_to_error::deserialize(serde_json::Value::from(value)).map_err(|error| {
        let (path, why) = (error.path().to_string(), yaml::plain(&error.inner().to_string()));
        if path == "." { why } else { format!("{path}: {why}") }
    })?;
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match read.id.is_empty() || read.id.len() > 253 || !read.id.chars().all(named) {
        true => Err("id: a name is made of letters, digits, -, _ and .".to_owned()),
        false if read.reason.trim().is_empty() => Err("reason: say why".to_owned()),
        false => Ok(read),
    }
}

impl Kept for Ledger {
    const NOUN: &'static str = "approvals";

    type Fault = LedgerError;

    fn parse(file: &str, bytes: &[u8]) -> Result<Self, LedgerError> {
        let mut ledger = Self::default();
        for (line, value) in text::items(file, bytes)? {
            match approval(value) {
                Ok(approval) => ledger.approvals.push(approval),
                Err(why) => ledger.malformed.push(Malformed::of(format!("{file}:{line}"), why)),
            }
        }
        Ok(ledger.without_twins(file))
    }

    fn render(&self, file: &str, before: &[u8]) -> Result<String, LedgerError> {
        let unwritable = || LedgerError::Unwritable { file: file.to_owned() };
        let old = Self::parse(file, before)?;
        let text = text::changed(before, &old.approvals, &self.approvals).ok_or_else(unwritable)?;
        // Whatever the file looked like: it says this now, or it is not written.
        match Self::parse(file, text.as_bytes()) {
            Ok(written) if written.approvals == self.approvals && written.malformed.len() == old.malformed.len() => {
                Ok(text)
            }
            _ => Err(unwritable()),
        }
    }

    fn of_data(place: &str, data: &BTreeMap<String, String>) -> Result<Self, LedgerError> {
        let mut ledger = Self::default();
        for (key, text) in data {
            let read = yaml::read_strict(text.as_bytes()).map_err(|error| error.message).and_then(approval);
            match read {
                Ok(approval) if approval.id == *key => ledger.approvals.push(approval),
                read => {
                    let why = read.map_or_else(|why| why, |other| format!("it is the approval {}", other.id));
                    let raw = Some((key.clone(), text.clone()));
                    ledger.malformed.push(Malformed { raw, ..Malformed::of(format!("{place}, key {key}"), why) });
                }
            }
        }
        // Keys are sorted by name, which says nothing of their age.
        ledger.approvals.sort_by_key(|one| one.time);
        Ok(ledger)
    }

    fn data(&self) -> BTreeMap<String, String> {
        let approvals = self.approvals.iter().map(|one| (one.id.clone(), json(one)));
        approvals.chain(self.malformed.iter().filter_map(|one| one.raw.clone())).collect()
    }

    fn unreadable(place: &str, key: &str, error: &dyn std::fmt::Display) -> LedgerError {
        let file = format!("{place}, key {key}");
        LedgerError::Unreadable { file, line: 1, column: 1, message: error.to_string() }
    }
}

/// The time of an approval, to the second: nobody reads more of it.
#[must_use]
pub(crate) fn to_the_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
