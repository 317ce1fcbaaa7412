//! Pins in a ConfigMap or a Secret of the cluster: one key a pin, as JSON, and one for the history.

use std::collections::BTreeMap;

use kube::Client;

use super::{Book, BookError, Event, Pin};
use crate::policy::Pins;
use crate::store::{self, Kept};

pub(crate) use crate::store::cluster::{from_object, word};

/// A ConfigMap or a Secret that holds pins.
pub(crate) type ClusterStore = store::ClusterStore<Book>;
/// Key of the history. No late value can have this name: names start with a letter, a digit or `_`.
const HISTORY: &str = ".history";

/// The store that a policy names, in this namespace; it need not exist yet. `None` where the policy names none.
#[must_use]
pub fn store(pins: &Pins, client: Client, namespace: impl Into<String>) -> Option<ClusterStore> {
    let (kind, name) = pins.in_cluster()?;
    Some(ClusterStore::new(client, kind, namespace, name))
}

impl Kept for Book {
    const NOUN: &'static str = "pins";

    type Fault = BookError;

    fn parse(file: &str, bytes: &[u8]) -> Result<Self, BookError> {
        Self::parse(file, bytes)
    }

    fn render(&self, _: &str, before: &[u8]) -> Result<String, BookError> {
        Ok(self.render_over(before))
    }

    fn of_data(place: &str, data: &BTreeMap<String, String>) -> Result<Self, BookError> {
        let fail = |key: &str, error: &dyn std::fmt::Display| Self::unreadable(place, key, error);
        let mut pins = Vec::new();
        let mut history: Vec<Event> = Vec::new();
        for (key, text) in data {
            if key == HISTORY {
                history = serde_json::from_str(text).map_err(|error| fail(key, &error))?;
                continue;
            }
            let pin: Pin = serde_json::from_str(text).map_err(|error| fail(key, &error))?;
            if pin.name != *key {
                return Err(fail(key, &format!("it is the pin of {}", pin.name)));
            }
            pins.push(pin);
        }
        Ok(Self::new(pins, history))
    }

    fn data(&self) -> BTreeMap<String, String> {
        let json = |value: serde_json::Result<String>| value.expect("pins are plain text and times");
        let mut data: BTreeMap<String, String> =
            self.pins().iter().map(|pin| (pin.name.clone(), json(serde_json::to_string(pin)))).collect();
        if !self.history().is_empty() {
            data.insert(HISTORY.to_owned(), json(serde_json::to_string(self.history())));
        }
        data
    }

    fn unreadable(place: &str, key: &str, error: &dyn std::fmt::Display) -> BookError {
        BookError::Unreadable {
            file: format!("{place}, key {key}"),
            line: 1,
            column: 1,
            message: format!("not a pin: {error}"),
        }
    }
}

#[cfg(test)]
mod tests;
