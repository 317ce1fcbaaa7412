//! Approvals in trailers of the commits of a change. Who gives one is who made the commit: somebody who wrote nothing of the change, with
//! a signature where the policy wants one. What leaves a doubt about any of it lets nothing through.

use std::collections::BTreeSet;

use super::ledger::{self, Flaw, Malformed};
use super::{Approval, FoundLedger};
use crate::policy::ApprovalTrailer;
use crate::tree::{Value, json};
use crate::yaml;

/// Most bytes of one trailer.
const MOST_BYTES: usize = 64 * 1024;
/// Most trailers of one commit.
const MOST_IN_ONE: usize = 50;

/// One commit of the change that is judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Its whole hash.
    pub hash: String,
    /// Who wrote it.
    pub author: Person,
    /// Who made the commit.
    pub committer: Person,
    /// Who else wrote it, as its trailers `Co-authored-by` say.
    pub others: Vec<Person>,
    /// Whether it has one parent and changes nothing.
    pub is_empty: bool,
    /// The texts of the trailers with the name that the policy says.
    pub trailers: Vec<String>,
    /// Lines of its message that start like such a trailer.
    pub lines: usize,
    /// What its signature proves.
    pub signature: Signature,
}

/// Somebody, as Git was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Person {
    /// Name.
    pub name: String,
    /// Mail address.
    pub mail: String,
}

/// What the signature of a commit proves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Signature {
    /// Nobody looked.
    #[default]
    NotAsked,
    /// It was made with a key of this signer, as Git calls them: `anna@example.org`, or `Anna <anna@example.org>`.
    By(String),
    /// Nothing, and why.
    Nothing(String),
}

impl Person {
    /// Somebody from `Anna <anna@example.org>`; a mail address alone is one too.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Self {
        match text.rsplit_once('<').and_then(|(name, rest)| Some((name, rest.split_once('>')?.0))) {
            Some((name, mail)) => Self { name: name.trim().to_owned(), mail: mail.trim().to_owned() },
            None => Self { name: String::new(), mail: text.trim().to_owned() },
        }
    }

    /// Whether both are one, by their address or by their name: who has two addresses has one name.
    fn is(&self, other: &Self) -> bool {
        let same = |one: &str, two: &str| {
            let (one, two) = (one.trim().to_lowercase(), two.trim().to_lowercase());
            !one.is_empty() && one == two
        };
        same(&self.mail, &other.mail) || same(&self.name, &other.name)
    }
}

impl Commit {
    fn short(&self) -> &str {
        self.hash.get(..12).unwrap_or(&self.hash)
    }

    fn people(&self) -> impl Iterator<Item = &Person> {
        [&self.author, &self.committer].into_iter().chain(&self.others)
    }
}

/// What the trailers of a change approve; the fault where the commits could not be read.
#[must_use]
pub(crate) fn found(rules: &ApprovalTrailer, place: &str, commits: Result<Vec<Commit>, String>) -> FoundLedger {
    let (commits, unread) = match commits {
        Ok(commits) => (commits, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let (mut approvals, mut malformed) = (Vec::new(), Vec::new());
    for commit in &commits {
        let at = format!("commit {}", commit.short());
        if commit.lines > commit.trailers.len() {
            let why = format!(
                "{}: stands outside of the last paragraph of the message, where Git finds no trailer; commit what rollgate approve \
                 prints as it is",
                rules.git_trailer
            );
            malformed.push(Malformed::of(at.clone(), why));
        }
        if commit.trailers.is_empty() {
            continue;
        }
        let allowed = if commit.trailers.len() > MOST_IN_ONE {
            let why = format!("it has {} trailers; {MOST_IN_ONE} are the most", commit.trailers.len());
            Err((Flaw::Form, why))
        } else {
            may_approve(rules, commit, &commits)
        };
        if let Err((flaw, why)) = allowed {
            malformed.push(Malformed { flaw, ..Malformed::of(at, why) });
            continue;
        }
        for text in &commit.trailers {
            match read(text) {
                Ok(approval) => approvals.push((commit, approval)),
                Err(why) => {
                    let why = format!("{why}; drop the commit, and commit what rollgate approve prints");
                    malformed.push(Malformed::of(at.clone(), why));
                }
            }
        }
    }
    let approvals = singles(approvals, &mut malformed);
    let (place, name) = (place.to_owned(), place.to_owned());
    FoundLedger { place, name, is_file: true, approvals, malformed, unread }
}

/// Approvals that stand in one commit only, and there once, with their commit in their name. Of two nobody can say which is meant.
fn singles(all: Vec<(&Commit, Approval)>, malformed: &mut Vec<Malformed>) -> Vec<Approval> {
    let mut seen = BTreeSet::new();
    let twins: BTreeSet<String> =
        all.iter().filter(|(_, one)| !seen.insert(one.id.clone())).map(|(_, one)| one.id.clone()).collect();
    for (commit, one) in all.iter().filter(|(_, one)| twins.contains(&one.id)) {
        let why = format!("approval {} stands in the change more than once; keep one of them", one.id);
        malformed.push(Malformed::of(format!("commit {}", commit.short()), why));
    }
    let alone = all.into_iter().filter(|(_, one)| !twins.contains(&one.id));
    let named = alone.map(|(commit, one)| Approval {
        id: format!("{}.{}", commit.short(), one.id),
        by: Some(commit.committer.mail.clone()),
        ..one
    });
    named.collect()
}

/// Whether who made a commit may approve the change that it is a commit of.
fn may_approve(rules: &ApprovalTrailer, commit: &Commit, all: &[Commit]) -> Result<(), (Flaw, String)> {
    let who = &commit.committer;
    let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
    if !plain(&who.mail) {
        return Err((Flaw::Unproven, "its committer has no mail address that can be read; set user.email".to_owned()));
    }
    if !commit.author.mail.eq_ignore_ascii_case(&who.mail) {
        let why = format!(
            "it was written by {} and committed by {}, so it is not clear who approves; approve again on top of the change",
            shown(&commit.author),
            shown(who)
        );
        return Err((Flaw::Unproven, why));
    }
    match &commit.signature {
        _ if !rules.signed => {}
        Signature::By(signer) if Person::parse(signer).mail.eq_ignore_ascii_case(&who.mail) => {}
        Signature::By(signer) => {
            let why =
                format!("it was signed by {signer} and committed by {}; the addresses must be the same", shown(who));
            return Err((Flaw::Unproven, why));
        }
        Signature::Nothing(why) => return Err((Flaw::Unproven, why.clone())),
        Signature::NotAsked => return Err((Flaw::Unproven, "nobody looked at its signature".to_owned())),
    }
    if rules.by_author {
        return Ok(());
    }
    if !commit.is_empty {
        let why = "it changes files itself, and who writes a change does not approve it; an approval is a commit that changes nothing \
                   (git commit --allow-empty)";
        return Err((Flaw::OwnChange, why.to_owned()));
    }
    // What changes nothing is no part of the change, as other approvals are none.
    let own = all.iter().filter(|other| !other.is_empty && other.hash != commit.hash);
    let mut own = own.filter(|other| other.people().any(|person| person.is(who) || person.is(&commit.author)));
    // Git tells the newest first; the oldest is named.
    match own.next_back() {
        Some(other) => Err((
            Flaw::OwnChange,
            format!(
                "it is by {}, who had a hand in commit {} of the change; somebody else has to approve it",
                shown(who),
                other.short()
            ),
        )),
        None => Ok(()),
    }
}

/// Somebody as a report calls them.
fn shown(person: &Person) -> String {
    match person.name.is_empty() {
        true => person.mail.clone(),
        false => format!("{} <{}>", person.name, person.mail),
    }
}

/// Reads the text of a trailer.
fn read(text: &str) -> Result<Approval, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("the trailer has {} bytes; {MOST_BYTES} are the most", text.len()));
    }
    if text.chars().any(is_odd) {
        return Err("the trailer holds characters that cannot be shown".to_owned());
    }
    let value = yaml::read_strict(text.as_bytes()).map_err(|error| format!("the trailer: {}", error.message))?;
    let Some(fields) = value.as_object() else {
        return Err("the trailer is no approval: it is not written as {\"id\": ...}".to_owned());
    };
    // What a commit cannot do: note a use, be taken back, or say who made it.
    if let Some(odd) = fields.keys().find(|key| ["by", "once", "uses", "revoked", "breakGlass"].contains(&key.as_str()))
    {
        return Err(format!("{odd}: an approval in a commit cannot say that"));
    }
    if has_odd(&value) {
        return Err("the trailer holds characters that cannot be shown".to_owned());
    }
    let approval = ledger::approval(value)?;
    match approval.expires > approval.time {
        true => Ok(approval),
        false => Err("expires: it would end before it was given".to_owned()),
    }
}

/// Whether a character can hide what a text says, or move what stands beside it.
fn is_odd(c: char) -> bool {
    let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffd}');
    c.is_control() || turns
}

fn has_odd(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().any(is_odd),
        Value::Array(list) => list.iter().any(has_odd),
        Value::Object(fields) => fields.iter().any(|(key, value)| key.chars().any(is_odd) || has_odd(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The message of a commit that approves: what for people, and the trailer.
///
/// # Errors
/// When nobody could read that trailer again.
pub(crate) fn message(name: &str, approval: &Approval) -> Result<String, String> {
    let subject: String = one_line(&approval.reason).chars().take(100).collect();
    let mut text = format!("Approve: {subject}\n\n");
    let mut line = |label: &str, value: &str| text.extend([format!("{label} {}\n", one_line(value))]);
    approval.release.iter().for_each(|release| line("release", &release.to_string()));
    approval.clusters.iter().for_each(|cluster| line("cluster", &cluster.to_string()));
    approval.machines.iter().for_each(|machines| line("Machines", &machines.to_string()));
    for held in &approval.gates {
        held.says.iter().for_each(|says| line(&held.gate, says));
    }
    line("until", &approval.expires.to_string());
    let plain = Approval { by: None, ..approval.clone() };
    let trailer = json!(plain).to_string();
    read(&trailer)?;
    text.extend(["\n", name, ": ", &trailer, "\n"]);
    Ok(text)
}

/// A text in one line, with nothing in it that a terminal acts on; no comment of Git's either.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if is_odd(c) { ' ' } else { c }).collect();
    line.trim().to_owned()
}

#[cfg(test)]
#[path = "trailer_tests.rs"]
mod tests;
