//! The forecasts of one place: a file, or a ConfigMap with a key for each. What is oldest makes room.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::Forecast;
use crate::store::{Kept, entries};
use crate::tree::json;

/// A file with forecasts.
pub(crate) type File = crate::store::FileStore<Forecasts>;
/// A ConfigMap with forecasts.
pub(crate) type Object = crate::store::ClusterStore<Forecasts>;

/// How long a forecast is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 90);
/// Most forecasts.
const MOST: usize = 500;
/// Bytes that they take; an object of a cluster holds one MiB.
const MOST_BYTES: usize = 512 * 1024;
const KIND: &str = "Forecasts";

/// Forecasts, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Forecasts {
    entries: Vec<Forecast>,
}

/// Why forecasts could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}; fix it, or take it away and start again")]
pub(crate) struct ForecastError {
    /// The file, or the key of the object.
    place: String,
    /// What is wrong.
    why: String,
}

impl Forecasts {
    fn sorted(mut entries: Vec<Forecast>) -> Self {
        entries.sort_by_key(|one| one.time);
        Self { entries }
    }

    /// All of them, the oldest first.
    #[must_use]
    pub(crate) fn entries(&self) -> &[Forecast] {
        &self.entries
    }

    /// Keeps one more. What is too old, and the oldest of what is too much, goes.
    pub(crate) fn keep(&mut self, forecast: Forecast) {
        let now = forecast.time;
        self.entries.retain(|one| one.time + KEPT > now && one.id != forecast.id);
        self.entries.push(forecast);
        self.entries.sort_by_key(|one| one.time);
        let mut bytes: Vec<usize> = self.entries.iter().map(|one| json!(one).to_string().len()).collect();
        let mut all: usize = bytes.iter().sum();
        while self.entries.len() > 1 && (self.entries.len() > MOST || all > MOST_BYTES) {
            self.entries.remove(0);
            all -= bytes.remove(0);
        }
    }
}

impl Kept for Forecasts {
    const NOUN: &'static str = "the forecasts";

    type Fault = ForecastError;

    fn parse(file: &str, bytes: &[u8]) -> Result<Self, ForecastError> {
        let fail = |why: String| ForecastError { place: file.to_owned(), why };
        entries::parse(KIND, bytes).map(Self::sorted).map_err(fail)
    }

    fn render(&self, _: &str, _: &[u8]) -> Result<String, ForecastError> {
        let head = "What was foretold of Machines, as rollgate keeps it; `rollgate score` compares it with what came.";
        Ok(entries::render(head, KIND, &self.entries))
    }

    fn of_data(place: &str, data: &BTreeMap<String, String>) -> Result<Self, ForecastError> {
        let fail = |(key, why)| ForecastError { place: format!("{place}, key {key}"), why };
        entries::of_data(data, |one: &Forecast| &one.id).map(Self::sorted).map_err(fail)
    }

    fn data(&self) -> BTreeMap<String, String> {
        entries::data(&self.entries, |one| &one.id)
    }

    fn unreadable(place: &str, key: &str, error: &dyn std::fmt::Display) -> ForecastError {
        ForecastError { place: format!("{place}, key {key}"), why: error.to_string() }
    }
}
