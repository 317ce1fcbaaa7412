//! All pins of one place with their history, and how they are written down: deterministic, so that Git shows only what changed.
//! A pin never changes silently: recording keeps what stands, only `set` and `unset` move it, and both leave a trace.

mod comments;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Keys, Pin, is_seal, seal};
use crate::yaml::{self, double_quoted as quoted};

/// The pins of one place, ordered by name, and what happened to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Book {
    /// Comment lines at the top of the file, kept as they are.
    header: String,
    /// The pins, ordered by name.
    pins: Vec<Pin>,
    /// What happened, oldest first.
    history: Vec<Event>,
}

/// What happened to a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entry {
    /// An allowed run recorded the first value.
    Recorded,
    /// A person set it.
    Set,
    /// A person took it away.
    Unset,
}

impl Entry {
    /// The word as it stands in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Set => "set",
            Self::Unset => "unset",
        }
    }
}

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Event {
    /// When.
    pub time: Timestamp,
    /// Name of the late value.
    pub name: String,
    /// What happened.
    pub action: Entry,
    /// Value before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Value after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Why, where a person did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Why pins could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    /// The text is not a list of pins.
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
    /// Somebody else pinned another value in the meantime.
    #[error("{name} was pinned to {value} in the meantime; run again, it will be compared with the source")]
    Moved {
        /// Name of the late value.
        name: String,
        /// What it is pinned to, as it may be shown.
        value: String,
    },
    /// There is no such pin.
    #[error("{name} is not pinned; rollgate pin list shows what is")]
    NotPinned {
        /// Name of the late value.
        name: String,
    },
}

/// The file as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Page {
    api_version: String,
    kind: String,
    #[serde(default)]
    pins: Vec<Pin>,
    #[serde(default)]
    history: Vec<Event>,
}

impl Book {
    /// A book of these pins and this history.
    #[must_use]
    pub fn new(mut pins: Vec<Pin>, history: Vec<Event>) -> Self {
        pins.sort_by(|left, right| left.name.cmp(&right.name));
        Self { header: String::new(), pins, history }
    }

    /// The pins, ordered by name.
    #[must_use]
    pub fn pins(&self) -> &[Pin] {
        &self.pins
    }

    /// What happened, oldest first.
    #[must_use]
    pub fn history(&self) -> &[Event] {
        &self.history
    }

    /// The pin of one late value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Pin> {
        self.pins.iter().find(|pin| pin.name == name)
    }

    /// This book with the values in hand that one of the keys opens.
    #[must_use]
    pub fn opened(self, keys: &Keys) -> Self {
        Self { pins: self.pins.into_iter().map(|pin| pin.opened(keys)).collect(), ..self }
    }

    /// Writes down what a run resolved first. What is pinned already stays; only a seal takes the place of the same value in plain
    /// text, and an encrypted value that of a seal alone. Says whether anything was written.
    ///
    /// # Errors
    /// When one of them is pinned to another value: then nothing is added.
    pub fn record(&mut self, pins: &[Pin]) -> Result<bool, BookError> {
        let clash = |pin: &&Pin| self.get(&pin.name).is_some_and(|old| !old.agrees(pin));
        if let Some(pin) = pins.iter().find(clash) {
            let hidden = |old: &Pin| pin.secret || old.secret;
            let shown = |old: &Pin| if hidden(old) { "another value".to_owned() } else { old.value.clone() };
            let value = self.get(&pin.name).map(shown).unwrap_or_default();
            return Err(BookError::Moved { name: pin.name.clone(), value });
        }
        let fresh: Vec<Pin> = pins.iter().filter(|pin| self.get(&pin.name).is_none()).cloned().collect();
        for pin in &fresh {
            self.note(Event {
                time: pin.time,
                name: pin.name.clone(),
                action: Entry::Recorded,
                before: None,
                after: Some(pin.value.clone()),
                reason: pin.reason.clone(),
                by: pin.by.clone(),
            });
        }
        self.pins.extend(fresh.iter().cloned());
        self.pins.sort_by(|left, right| left.name.cmp(&right.name));
        let is_better = |pin: &&Pin| {
            let lacks = |old: &Pin| !old.secret || old.encrypted.is_none() && pin.encrypted.is_some();
            pin.secret && self.get(&pin.name).is_some_and(lacks)
        };
        let better: Vec<&Pin> = pins.iter().filter(is_better).collect();
        for pin in &better {
            self.pins.iter_mut().filter(|old| old.name == pin.name).for_each(|old| *old = (*pin).clone());
            self.hush(&pin.name);
        }
        Ok(!fresh.is_empty() || !better.is_empty())
    }

    /// Seals what the history still says of a value that has turned out to be secret.
    fn hush(&mut self, name: &str) {
        let mut seals = BTreeMap::new();
        for event in self.history.iter_mut().filter(|event| event.name == name) {
            let salt = format!("{name}|history|{}", event.time);
            for text in [&mut event.before, &mut event.after].into_iter().flatten().filter(|text| !is_seal(text)) {
                *text = seals.entry(text.clone()).or_insert_with(|| seal(text, &salt)).clone();
            }
        }
    }

    /// Adds to the history, which forgets what is oldest.
    fn note(&mut self, event: Event) {
        self.history.push(event);
        self.history.drain(..self.history.len().saturating_sub(MOST_EVENTS));
    }

    /// Sets a pin because a person wants it, and notes what it was before.
    pub fn set(&mut self, pin: Pin) {
        let before = self.get(&pin.name).map(|old| old.value.clone());
        self.note(Event {
            time: pin.time,
            name: pin.name.clone(),
            action: Entry::Set,
            before,
            after: Some(pin.value.clone()),
            reason: pin.reason.clone(),
            by: pin.by.clone(),
        });
        self.pins.retain(|old| old.name != pin.name);
        if pin.secret {
            self.hush(&pin.name);
        }
        self.pins.push(pin);
        self.pins.sort_by(|left, right| left.name.cmp(&right.name));
    }

    /// Takes a pin away because a person wants it.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn unset(&mut self, name: &str, reason: &str, time: Timestamp, by: Option<String>) -> Result<Pin, BookError> {
        let at = self.pins.iter().position(|pin| pin.name == name);
        let pin = self.pins.remove(at.ok_or_else(|| BookError::NotPinned { name: name.to_owned() })?);
        self.note(Event {
            time,
            name: name.to_owned(),
            action: Entry::Unset,
            before: Some(pin.value.clone()),
            after: None,
            reason: Some(reason.to_owned()),
            by,
        });
        Ok(pin)
    }

    /// Reads the text of a pin file; an empty one holds no pins.
    ///
    /// # Errors
    /// When it is not YAML, or not a list of pins.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, BookError> {
        let fail =
            |line, column, message: String| BookError::Unreadable { file: file.to_owned(), line, column, message };
        let value = yaml::read_strict(bytes).map_err(|error| fail(error.line, error.column, error.message))?;
        let header = header(bytes);
        if value.is_null() {
            return Ok(Self { header, ..Self::default() });
        }
        let page: Page = serde_path_to_error::deserialize(serde_json::Value::from(value)).map_err(|error| {
            let (path, why) = (error.path().to_string(), yaml::plain(&error.inner().to_string()));
            fail(1, 1, if path == "." { why } else { format!("{path}: {why}") })
        })?;
        if page.api_version != API_VERSION || page.kind != KIND {
            return Err(fail(1, 1, format!("expected apiVersion {API_VERSION} and kind {KIND}")));
        }
        let book = Self { header, ..Self::new(page.pins, page.history) };
        match book.pins.windows(2).find(|pair| pair[0].name == pair[1].name) {
            Some(pair) => Err(fail(1, 1, format!("{} is pinned twice; keep one of the two", pair[0].name))),
            None => Ok(book),
        }
    }

    /// The text of the pin file that had the text `before`, with its comments.
    #[must_use]
    pub fn render_over(&self, before: &[u8]) -> String {
        let text = self.render();
        let Ok(before) = std::str::from_utf8(before) else { return text };
        let woven = comments::woven(before, &text);
        // Whatever the comments look like: what is read is what is meant, or they go.
        match Self::parse("", woven.as_bytes()) {
            Ok(read) if read.pins == self.pins && read.history == self.history => woven,
            _ => text,
        }
    }

    /// The text of the pin file: the same pins always give the same bytes.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = if self.header.is_empty() { DEFAULT_HEADER.to_owned() } else { self.header.clone() };
        line(&mut text, "", "apiVersion", API_VERSION);
        line(&mut text, "", "kind", KIND);
        list(&mut text, "pins", &self.pins, |text, pin| {
            line(text, "  - ", "name", &quoted(&pin.name));
            line(text, "    ", "value", &quoted(&pin.value));
            if pin.secret {
                line(text, "    ", "secret", "true");
            }
            optional(text, "encrypted", pin.encrypted.as_ref());
            if let Some(kind) = pin.kind {
                line(text, "    ", "type", kind.word());
            }
            line(text, "    ", "source", &quoted(&pin.source));
            optional(text, "path", Some(&pin.path).filter(|path| !path.is_empty()));
            optional(text, "uid", pin.uid.as_ref());
            optional(text, "resourceVersion", pin.resource_version.as_ref());
            line(text, "    ", "time", &quoted(&pin.time.to_string()));
            optional(text, "by", pin.by.as_ref());
            optional(text, "policy", pin.policy.as_ref());
            optional(text, "over", pin.over.as_ref());
            optional(text, "reason", pin.reason.as_ref());
        });
        list(&mut text, "history", &self.history, |text, event| {
            line(text, "  - ", "time", &quoted(&event.time.to_string()));
            line(text, "    ", "name", &quoted(&event.name));
            line(text, "    ", "action", event.action.word());
            optional(text, "before", event.before.as_ref());
            optional(text, "after", event.after.as_ref());
            optional(text, "reason", event.reason.as_ref());
            optional(text, "by", event.by.as_ref());
        });
        text
    }
}

/// Events that are kept: an object of a cluster holds one MiB at most.
const MOST_EVENTS: usize = 200;
const API_VERSION: &str = "rollgate.dev/v1alpha1";
const KIND: &str = "Pins";
const DEFAULT_HEADER: &str =
    "# Written by rollgate: the late values as they were first resolved. Change one with `rollgate pin set`.\n";

/// The comment lines before anything else.
fn header(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.split_inclusive('\n').take_while(|line| line.starts_with('#')).collect()
}

fn list<T>(text: &mut String, name: &str, items: &[T], write: impl Fn(&mut String, &T)) {
    let empty = if items.is_empty() { " []" } else { "" };
    writeln!(text, "{name}:{empty}").expect("writing to a string cannot fail");
    for item in items {
        write(text, item);
    }
}

fn line(text: &mut String, indent: &str, name: &str, value: &str) {
    writeln!(text, "{indent}{name}: {value}").expect("writing to a string cannot fail");
}

fn optional(text: &mut String, name: &str, value: Option<&String>) {
    if let Some(value) = value {
        line(text, "    ", name, &quoted(value));
    }
}

#[cfg(test)]
mod tests;
