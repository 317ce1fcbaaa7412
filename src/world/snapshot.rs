//! A World in a file: what one run read, to be judged again without the cluster. Everything secret is a mark, so that equal still
//! shows as equal; the key of the marks is not in the file, so that nothing else can be learned by looking.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::uncover::{self, Uncover};
use super::workload::Workload;
use super::{SourceReading, World};
use crate::compare::redact::{MARK, MarkKey, Redactor};
use crate::hashed::{HashMap, HashSet};
use crate::object::{Body, Inventory, Object, Path};
use crate::parallel;
use crate::tree::{Text, Value};

/// The version of the file format that this program writes and reads.
pub(crate) const API_VERSION: &str = "rollgate.dev/v1alpha1";
/// The kind of the file.
pub(crate) const KIND: &str = "World";

/// A World in a file, as `rollgate snapshot` writes it.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Always [`API_VERSION`].
    pub api_version: String,
    /// Always [`KIND`].
    pub kind: String,
    /// The program that wrote it, with its version.
    pub made_by: String,
    /// Which key the marks were made with. The key itself is in no file that leaves the machine.
    pub key_id: String,
    /// State of the cluster that each list shows: kind (and namespace) to resourceVersion.
    #[serde(default)]
    pub resource_versions: BTreeMap<String, String>,
    /// Places that the policy names as secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redact: Vec<String>,
    /// What was read.
    pub world: World,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("made_by", &self.made_by).field("world", &self.world).finish_non_exhaustive()
    }
}

/// Why a file is not a snapshot that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// A format of another version.
    #[error(
        "it is of version {0}, and this program reads {API_VERSION}; use the rollgate that wrote it, or take a new snapshot"
    )]
    Version(String),
    /// Not the format at all.
    #[error("line {line}, column {column}: {what}")]
    Broken {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong, without what stands there.
        what: String,
    },
}

/// The part of a file that says what it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
}

impl Snapshot {
    /// Makes the file of a World, with everything secret in it marked under `key`, also what a policy says is `redact`ed. The
    /// World is taken, because that of a fleet should not be there twice.
    #[must_use]
    pub fn of(mut world: World, key: &MarkKey, redact: &[String]) -> Self {
        let mut redactor = redactor(key, redact);
        for part in std::iter::once(&world.live).chain(world.base.parts()) {
            part.objects().iter().for_each(|object| learn(&mut redactor, object));
        }
        for revision in world.histories.iter().flat_map(|history| &history.revisions) {
            revision.objects.objects().iter().for_each(|object| learn(&mut redactor, object));
        }
        for reading in world.readings.iter().filter(|reading| reading.secret) {
            reading.found.iter().for_each(|secret| redactor.remember_part(secret));
        }
        world.live = hidden(&redactor, std::mem::take(&mut world.live));
        for part in world.base.parts_mut() {
            *part = hidden(&redactor, std::mem::take(part));
        }
        for reading in world.readings.iter_mut().filter(|reading| reading.secret) {
            reading.found = reading.found.as_deref().map(|secret| key.mark(secret));
        }
        for history in &mut world.histories {
            for revision in &mut history.revisions {
                revision.objects = hidden(&redactor, std::mem::take(&mut revision.objects));
                // Of a write that failed Helm repeats what the API server said of it.
                revision.description = redactor.quoted(&revision.description);
            }
        }
        let of_histories = world.histories.iter_mut().flat_map(|history| &mut history.unread);
        for unread in world.unread.iter_mut().chain(of_histories) {
            unread.why = redactor.quoted(&unread.why);
        }
        for why in world.workloads.iter_mut().flat_map(Workload::gaps) {
            *why = redactor.quoted(why);
        }
        for image in &mut world.images {
            image.url = redactor.quoted(&image.url);
        }
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            made_by: concat!("rollgate ", env!("CARGO_PKG_VERSION")).to_owned(),
            key_id: key.id(),
            resource_versions: std::mem::take(&mut world.source.resource_versions),
            redact: redact.to_vec(),
            world,
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it is of another version, or not what this program writes.
    pub fn read(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let whole = serde_json::from_slice(bytes);
        let version = match &whole {
            Ok(Self { api_version, .. }) => api_version.clone(),
            // One of another version says no more than that.
            Err(_) => serde_json::from_slice::<Head>(bytes).map_err(|error| broken(&error))?.api_version,
        };
        if version != API_VERSION {
            return Err(SnapshotError::Version(version.chars().filter(|c| !c.is_control()).take(60).collect()));
        }
        whole.map_err(|error| broken(&error))
    }
}

/// Replaces the marks in a World by what they stand for, wherever what is `rendered` (as it came, and with late values filled in) holds the same: equal secrets are equal again, in the
/// object itself and in what controllers made of it. All others become marks of this run, so that no text that is rendered can
/// be one of them. Without the key nothing is known to be equal.
pub fn reveal(world: &mut World, key: Option<&MarkKey>, redact: &[String], rendered: &[&Inventory]) {
    let holds = |objects: &Inventory| parallel::any(objects.objects(), uncover::is_marked);
    let is_read = |found: &SourceReading| found.found.as_ref().is_some_and(|found| found.contains(MARK));
    world.marks = HashSet::default();
    let is_any_marked = |world: &World| std::iter::once(&world.live).chain(world.base.parts()).any(holds);
    if !is_any_marked(world) && !world.readings.iter().any(is_read) {
        return;
    }
    let mut marks = key.map(|key| marks_of(key, redact, rendered)).unwrap_or_default();
    if let Some(key) = key {
        for objects in std::iter::once(&world.live).chain(world.base.parts()) {
            for (hidden, plain) in parallel::map(objects.objects(), |object| marked_texts(object, rendered)).concat() {
                for (mark, plain) in solve(key, &hidden, &plain, &marks).unwrap_or_default() {
                    marks.entry(mark).or_insert_with(|| plain.into());
                }
            }
        }
    }
    let uncover = Uncover::new(marks, key.map_or_else(MarkKey::fresh, MarkKey::derived));
    for objects in std::iter::once(&mut world.live).chain(world.base.parts_mut()) {
        let mut revealed: Vec<Object> = std::mem::take(objects).into();
        parallel::each(&mut revealed, |object| {
            if !object.is_plain()
                && let Body::Value(value) = &mut object.body
                && let Some(revealed) = uncover.value(value)
            {
                *value = revealed;
            }
        });
        *objects = revealed.into();
    }
    // What is filled in must be equal to what stands in the cluster, also where neither is known.
    for found in world.readings.iter_mut().filter_map(|reading| reading.found.as_mut()) {
        *found = uncover.text(found);
    }
    world.marks = uncover.into_made();
}

/// The texts of an object that hold marks, each with the rendered text at the same place: of Secrets that only the cluster has they tell what
/// the marks stand for.
fn marked_texts(object: &Object, rendered: &[&Inventory]) -> Vec<(Text, Text)> {
    let mut found = Vec::new();
    let Body::Value(value) = &object.body else { return found };
    if !object.is_plain() {
        let others = rendered.iter().filter_map(|rendered| rendered.get(&object.key)?.value().ok());
        others.for_each(|other| find_marked(value, &other, &mut found));
    }
    found
}

fn find_marked(hidden: &Value, plain: &Value, found: &mut Vec<(Text, Text)>) {
    match (hidden, plain) {
        (Value::Object(hidden), Value::Object(plain)) => {
            for (name, hidden) in hidden {
                if let Some(plain) = plain.get(name) {
                    find_marked(hidden, plain, found);
                }
            }
        }
        (Value::Array(hidden), Value::Array(plain)) => {
            hidden.iter().zip(plain).for_each(|(hidden, plain)| find_marked(hidden, plain, found));
        }
        (Value::String(hidden), Value::String(plain)) if uncover::may_hold(hidden) && hidden.contains(MARK) => {
            found.push((hidden.clone(), plain.clone()));
        }
        _ => {}
    }
}

/// Most places that are tried for the end of what one mark stands for.
const TRIES: usize = 200;

/// What the marks of a text stand for if the text is `plain`; `None` where it is another one.
fn solve(key: &MarkKey, hidden: &str, plain: &str, known: &HashMap<String, Value>) -> Option<Vec<(String, String)>> {
    let (mut found, mut hidden, mut plain) = (Vec::new(), hidden, plain);
    while let Some(start) = hidden.find(MARK) {
        plain = plain.strip_prefix(&hidden[..start])?;
        let end = start + hidden[start..].find('>')? + 1;
        let mark = &hidden[start..end];
        hidden = &hidden[end..];
        let until = &hidden[..hidden.find(MARK).unwrap_or(hidden.len())];
        let length = match known.get(mark).and_then(Value::as_str).filter(|text| plain.starts_with(*text)) {
            Some(text) => text.len(),
            None if until.is_empty() && hidden.is_empty() => (key.mark(plain) == mark).then_some(plain.len())?,
            None if until.is_empty() => {
                let ends = plain.char_indices().map(|(at, _)| at).skip(1).take(TRIES);
                ends.into_iter().find(|end| key.mark(&plain[..*end]) == mark)?
            }
            None => {
                let mut ends = plain.match_indices(until).map(|(at, _)| at).take(TRIES);
                ends.find(|end| key.mark(&plain[..*end]) == mark)?
            }
        };
        found.push((mark.to_owned(), plain[..length].to_owned()));
        plain = &plain[length..];
    }
    (hidden == plain).then_some(found)
}

/// Whether a file that begins so is a World. Other programs may have written it again, with its fields in another order.
#[must_use]
pub(crate) fn begins(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    bare.starts_with('{') && bare.contains(&format!("\"kind\":\"{KIND}\""))
}

/// Where the key of a snapshot is kept: beside it, so that whoever only gets the snapshot has it not.
#[must_use]
pub(crate) fn key_path(snapshot: &FilePath) -> PathBuf {
    let mut path = snapshot.as_os_str().to_owned();
    path.push(".key");
    path.into()
}

/// Where the key of a snapshot is kept that went to standard output: in the user's own folder, by its id.
#[must_use]
pub(crate) fn kept_key_path(folder: &FilePath, id: &str) -> PathBuf {
    folder.join("keys").join(id)
}

/// The key of a snapshot: the one that was told, else the one beside it, else the one in the user's own folder. `None` where none of
/// them made its marks.
#[must_use]
pub(crate) fn key_of(snapshot: &FilePath, id: &str, told: &MarkKey, folder: Option<&FilePath>) -> Option<MarkKey> {
    if told.id() == id {
        return Some(told.clone());
    }
    // The id comes from the file and becomes part of a path.
    let kept =
        folder.filter(|_| id.bytes().all(|byte| byte.is_ascii_hexdigit())).map(|folder| kept_key_path(folder, id));
    let mut places = [Some(key_path(snapshot)), kept].into_iter().flatten();
    places.find_map(|place| MarkKey::of_hex(&std::fs::read_to_string(place).ok()?).filter(|key| key.id() == id))
}

/// What is said where there is no key.
#[must_use]
pub(crate) fn without_key(snapshot: &FilePath) -> String {
    format!(
        "the key of this snapshot is neither in {} nor in ROLLGATE_KEY: what is hidden in it counts as changed",
        key_path(snapshot).display()
    )
}

/// What hides the secrets of a World.
fn redactor(key: &MarkKey, redact: &[String]) -> Redactor {
    Redactor::new(key).with_patterns(redact.iter().map(String::as_str)).hiding_inside()
}

/// The marks of everything that would be hidden of what is rendered.
fn marks_of(key: &MarkKey, redact: &[String], rendered: &[&Inventory]) -> HashMap<String, Value> {
    let mut redactor = redactor(key, redact).keeping_marks();
    let rendered: Vec<&Object> = rendered.iter().flat_map(|inventory| inventory.objects()).collect();
    redactor.learn_all(&rendered);
    let mark = |object: &&Object| {
        if let Ok(value) = object.value() {
            drop(redactor.value(&object.key, &Path::root(), None, &value));
            // What one place shows, another hides: controllers copy it into documents.
            drop(redactor.value_unknown(&object.key, &value));
            for text in value.get("stringData").and_then(Value::as_object).into_iter().flatten() {
                // The API server keeps it as `data`.
                if let Some(text) = text.1.as_str() {
                    drop(redactor.mark(&BASE64_STANDARD.encode(text)));
                }
            }
        }
    };
    drop(parallel::map(&rendered, mark));
    redactor.into_marks()
}

/// Whether a file starts as a snapshot does.
#[must_use]
pub fn is_snapshot(bytes: &[u8]) -> bool {
    let start: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(64).collect();
    start.starts_with(br#"{"apiVersion":"rollgate.dev/"#)
}

/// A JSON error by its place: its text may quote a value.
fn broken(error: &serde_json::Error) -> SnapshotError {
    let what = if error.is_eof() { "the file ends too early" } else { "this is not what a snapshot has here" };
    SnapshotError::Broken { line: error.line(), column: error.column(), what: what.to_owned() }
}

/// Remembers what is secret in an object.
fn learn(redactor: &mut Redactor, object: &Object) {
    if let Ok(value) = object.value() {
        redactor.learn(&object.key, &value);
    }
}

/// Objects with everything secret hashed.
fn hidden(redactor: &Redactor, objects: Inventory) -> Inventory {
    let hide = |object: Object| {
        let value = redactor.value(&object.key, &Path::root(), None, object.value().ok()?.as_ref());
        Some(object.with_tree(value))
    };
    Vec::from(objects).into_iter().filter_map(hide).collect::<Vec<_>>().into()
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
