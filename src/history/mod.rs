//! What was let out: which Machines of which clusters, when, and under which digest. A budget of a day is counted from it, and whoever
//! notes what goes out is compared with it once more, so that of two at once only one takes what is left.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::store::{Kept, entries};
use crate::tree::json;

/// A file with the history.
pub(crate) type File = crate::store::FileStore<History>;
/// A ConfigMap with the history.
pub type Object = crate::store::ClusterStore<History>;

/// How long what went out counts.
pub(crate) const DAY: SignedDuration = SignedDuration::from_hours(24);
/// How long it is kept where there is room.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Most entries.
const MOST: usize = 1_000;
/// Bytes that they take; an object of a cluster holds one MiB.
const MOST_BYTES: usize = 512 * 1024;
const KIND: &str = "History";

/// What was let out, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    entries: Vec<Spent>,
}

/// One install that was let out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spent {
    /// Its name.
    pub id: String,
    /// When.
    #[cfg_attr(test, schemars(with = "String"))]
    pub time: Timestamp,
    /// The digest of its report.
    pub digest: String,
    /// The release that wrote it, with its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// By whom, as the program was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The clusters whose Machines were to go.
    pub clusters: Vec<OfCluster>,
}

/// Machines of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OfCluster {
    /// Namespace of its Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of its Cluster.
    pub name: String,
    /// How many; `None` where that is not known.
    pub machines: Option<u64>,
}

impl OfCluster {
    fn is(&self, other: &Self) -> bool {
        self.namespace == other.namespace && self.name == other.name
    }
}

impl std::fmt::Display for OfCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// How many Machines may go in a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Of all clusters together.
    pub per_day: Option<u64>,
    /// Of each.
    pub per_cluster: Option<u64>,
}

/// A limit that an install would go over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// The cluster that it is about; `None` where it is about all of them.
    pub cluster: Option<String>,
    /// Machines that went in the last day.
    pub spent: u64,
    /// Installs of the last day whose Machines nobody could count.
    pub unknown: usize,
    /// Machines that would go now; `None` where they cannot be counted.
    pub now: Option<u64>,
    /// The limit.
    pub limit: u64,
    /// When so much is a day old that it fits; `None` where it never does by itself.
    pub until: Option<Timestamp>,
}

/// What one place holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Found"))]
#[serde(rename_all = "camelCase")]
pub struct FoundHistory {
    /// The place as the policy names it.
    pub place: String,
    /// Whether it is a file: one is read again by whoever judges a snapshot.
    pub is_file: bool,
    /// What was let out.
    pub entries: Vec<Spent>,
    /// Why it could not be read. Nothing is known of the day then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

impl FoundHistory {
    /// What a history holds; the fault where it could not be read.
    #[must_use]
    pub fn of(place: &str, is_file: bool, history: Result<History, String>) -> Self {
        let (entries, unread) = match history {
            Ok(history) => (history.entries, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Self { place: place.to_owned(), is_file, entries, unread }
    }

    /// What was found, as a history of its own.
    #[must_use]
    pub fn history(&self) -> History {
        History { entries: self.entries.clone() }
    }
}

/// Why a history could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// It is something else.
    #[error("{place}: {why}; fix it, or take it away and start again")]
    Unreadable {
        /// The file, or the key of the object.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// Somebody else has taken what was left.
    #[error("{0}")]
    Gone(String),
    /// There is no room.
    #[error("{count} installs of the last day are noted, and there is no room for one more")]
    Full {
        /// How many.
        count: usize,
    },
}

impl Spent {
    /// This note with an id that is made of its content.
    #[must_use]
    pub fn named(mut self) -> Self {
        let content = json!([self.time, self.digest, self.release, self.by, self.clusters]).to_string();
        self.id = Sha256::digest(content.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        self
    }

    fn machines(&self) -> Option<u64> {
        self.clusters.iter().try_fold(0_u64, |sum, one| Some(sum.saturating_add(one.machines?)))
    }
}

impl History {
    fn sorted(mut entries: Vec<Spent>) -> Self {
        entries.sort_by_key(|one| one.time);
        Self { entries }
    }

    /// What was let out.
    #[must_use]
    pub fn entries(&self) -> &[Spent] {
        &self.entries
    }

    /// The limits that an install would go over.
    #[must_use]
    pub fn over(&self, entry: &Spent, limits: Limits) -> Vec<Over> {
        let again = self.repeated(entry);
        let recent: Vec<&Spent> = self.recent(entry.time).filter(|one| Some(one.id.as_str()) != again).collect();
        let mut over = Vec::new();
        if let Some(limit) = limits.per_day {
            let counts = recent.iter().map(|one| (one.time, one.machines()));
            over.extend(exceeds(None, limit, entry.machines(), counts.collect()));
        }
        if let Some(limit) = limits.per_cluster {
            for cluster in &entry.clusters {
                let of = |one: &Spent| {
                    one.clusters
                        .iter()
                        .filter(|other| other.is(cluster))
                        .map(|other| (one.time, other.machines))
                        .collect::<Vec<_>>()
                };
                let counts = recent.iter().flat_map(|one| of(one)).collect();
                over.extend(exceeds(Some(cluster.to_string()), limit, cluster.machines, counts));
            }
        }
        over
    }

    /// Notes an install that goes out, and takes it from what is left: only where it goes over no other limit than was judged, since
    /// those were approved.
    ///
    /// # Errors
    /// When somebody else has taken what was left, or there is no room.
    pub fn spend(&mut self, entry: &Spent, limits: Limits, judged: Option<&[Over]>) -> Result<(), HistoryError> {
        let over = self.over(entry, limits);
        let same =
            |one: &Over, other: &Over| Over { until: None, ..one.clone() } == Over { until: None, ..other.clone() };
        if let Some(judged) = judged
            && let Some(one) = over.iter().find(|one| !judged.iter().any(|known| same(known, one)))
        {
            return Err(HistoryError::Gone(format!("another install went out meanwhile: {one}")));
        }
        let mut entry = entry.clone();
        if let Some(again) = self.repeated(&entry).map(str::to_owned)
            && let Some(place) = self.entries.iter().position(|one| one.id == again)
        {
            let before = self.entries.remove(place);
            // A part of them may have gone at the first try.
            for cluster in &mut entry.clusters {
                let count = before.clusters.iter().find(|one| one.is(cluster)).map(|one| one.machines);
                cluster.machines = match (cluster.machines, count) {
                    (Some(now), Some(Some(then))) => Some(now.max(then)),
                    (now, None) => now,
                    _ => None,
                };
            }
        }
        self.entries.retain(|one| one.time + KEPT > entry.time && one.id != entry.id);
        self.entries.push(entry.clone());
        self.entries.sort_by_key(|one| one.time);
        while self.entries.len() > MOST || self.data().values().map(String::len).sum::<usize>() > MOST_BYTES {
            match self.entries.first() {
                Some(first) if first.time + DAY <= entry.time => drop(self.entries.remove(0)),
                _ => return Err(HistoryError::Full { count: self.entries.len() - 1 }),
            }
        }
        Ok(())
    }

    /// What went out in the last day. What lies in the future did too: clocks differ.
    fn recent(&self, now: Timestamp) -> impl Iterator<Item = &Spent> {
        self.entries.iter().filter(move |one| one.time + DAY > now)
    }

    /// The entry that an install repeats: the last one of its release, where that was the same change. What came between makes it
    /// another one: there, back, and there again replaces Machines three times.
    fn repeated(&self, entry: &Spent) -> Option<&str> {
        entry.release.as_ref()?;
        let last = self.recent(entry.time).filter(|one| one.release == entry.release).last()?;
        let same = last.clusters.len() == entry.clusters.len()
            && last.clusters.iter().all(|one| entry.clusters.iter().any(|other| one.is(other)));
        (last.digest == entry.digest && same).then_some(last.id.as_str())
    }
}

/// Whether so many Machines are too many beside those that went.
fn exceeds(
    cluster: Option<String>,
    limit: u64,
    now: Option<u64>,
    mut went: Vec<(Timestamp, Option<u64>)>,
) -> Option<Over> {
    if now == Some(0) {
        return None;
    }
    went.sort_by_key(|(time, _)| *time);
    let sum =
        |went: &[(Timestamp, Option<u64>)]| went.iter().filter_map(|(_, count)| *count).fold(0, u64::saturating_add);
    let unknown = |went: &[(Timestamp, Option<u64>)]| went.iter().filter(|(_, count)| count.is_none()).count();
    let fits = |went: &[(Timestamp, Option<u64>)]| {
        unknown(went) == 0 && now.is_some_and(|now| sum(went).saturating_add(now) <= limit)
    };
    if fits(&went) {
        return None;
    }
    let until = (0..went.len()).find(|place| fits(&went[place + 1..])).map(|place| went[place].0 + DAY);
    Some(Over { cluster, spent: sum(&went), unknown: unknown(&went), now, limit, until })
}

impl std::fmt::Display for Over {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let machines = |count: u64| {
            let noun = if count == 1 { "Machine" } else { "Machines" };
            format!("{count} {noun}")
        };
        let now = self.now.map_or_else(|| "Machines that nobody can count".to_owned(), machines);
        let of = self.cluster.as_ref().map_or_else(String::new, |cluster| format!(" of {cluster}"));
        let unknown = if self.unknown > 0 { format!(", and {} of unknown size", self.unknown) } else { String::new() };
        write!(
            f,
            "{now}{of} would be replaced or removed, and in the last 24 hours {}{} went out{unknown}; the policy allows {} a day",
            machines(self.spent),
            if self.cluster.is_some() { " of it" } else { "" },
            self.limit
        )
    }
}

impl Kept for History {
    const NOUN: &'static str = "the history";

    type Fault = HistoryError;

    fn parse(file: &str, bytes: &[u8]) -> Result<Self, HistoryError> {
        let fail = |why: String| HistoryError::Unreadable { place: file.to_owned(), why };
        entries::parse(KIND, bytes).map(Self::sorted).map_err(fail)
    }

    fn render(&self, _: &str, _: &[u8]) -> Result<String, HistoryError> {
        let head = "What was let out, as rollgate notes it; budgets of a day are counted from it.";
        Ok(entries::render(head, KIND, &self.entries))
    }

    fn of_data(place: &str, data: &BTreeMap<String, String>) -> Result<Self, HistoryError> {
        let fail = |(key, why)| HistoryError::Unreadable { place: format!("{place}, key {key}"), why };
        entries::of_data(data, |one: &Spent| &one.id).map(Self::sorted).map_err(fail)
    }

    fn data(&self) -> BTreeMap<String, String> {
        entries::data(&self.entries, |one| &one.id)
    }

    fn unreadable(place: &str, key: &str, error: &dyn std::fmt::Display) -> HistoryError {
        HistoryError::Unreadable { place: format!("{place}, key {key}"), why: error.to_string() }
    }
}

#[cfg(test)]
mod tests;
