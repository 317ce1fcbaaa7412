//! A World in a file: what one run read, to be judged again without the cluster. Everything secret is a hash keyed for
//! this one file, so that equal still shows as equal and nothing else can be learned by looking.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::World;
use crate::compare::redact::{MARK, Redactor};
use crate::object::{Body, Inventory, Object, Path};

/// The version of the file format that this program writes and reads.
pub const API_VERSION: &str = "rollgate.dev/v1alpha1";
/// The kind of the file.
pub const KIND: &str = "World";

/// A World in a file, as `rollgate snapshot` writes it.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Always [`API_VERSION`].
    pub api_version: String,
    /// Always [`KIND`].
    pub kind: String,
    /// The program that wrote it, with its version.
    pub made_by: String,
    /// Key of the hashes that stand for secrets, in hexadecimal; made for this file alone.
    pub key: String,
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
        // The key would tell which guess at a hashed secret is right.
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

/// A key that nobody has used before.
#[must_use]
pub fn fresh_key() -> [u8; 32] {
    let mut key = [0_u8; 32];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
    if read.is_err() {
        // Where there is no such device, the seeds of the standard library's maps are random too.
        for chunk in key.chunks_mut(8) {
            use std::hash::{BuildHasher as _, RandomState};
            chunk.copy_from_slice(&RandomState::new().hash_one(0_u8).to_le_bytes());
        }
    }
    key
}

impl Snapshot {
    /// Makes the file of a World, with everything secret in it hashed under `key`, also what a policy says is `redact`ed. The
    /// World is taken, because that of a fleet should not be there twice.
    #[must_use]
    pub fn of(mut world: World, key: &[u8], redact: &[String]) -> Self {
        let mut redactor = Redactor::new(key).with_patterns(redact.iter().map(String::as_str));
        for object in world.live.objects().iter().chain(world.base.objects.objects()) {
            learn(&mut redactor, object);
        }
        for reading in world.readings.iter().filter(|reading| reading.secret) {
            reading.found.iter().for_each(|secret| redactor.remember(secret.clone()));
        }
        world.live = hidden(&redactor, std::mem::take(&mut world.live));
        world.base.objects = hidden(&redactor, std::mem::take(&mut world.base.objects));
        for reading in world.readings.iter_mut().filter(|reading| reading.secret) {
            reading.found = reading.found.as_deref().map(|secret| redactor.mark(secret));
        }
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            made_by: concat!("rollgate ", env!("CARGO_PKG_VERSION")).to_owned(),
            key: key.iter().map(|byte| format!("{byte:02x}")).collect(),
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
        let head: Head = serde_json::from_slice(bytes).map_err(|error| broken(&error))?;
        if head.api_version != API_VERSION {
            let version = head.api_version.chars().filter(|c| !c.is_control()).take(60).collect();
            return Err(SnapshotError::Version(version));
        }
        serde_json::from_slice(bytes).map_err(|error| broken(&error))
    }
}

/// Replaces the hashes in a World by what they stand for, wherever `rendered` holds the same secret: equal secrets are equal
/// again, in the object itself and in what controllers made of it; others stay hashes and so differ.
pub fn reveal(world: &mut World, key: &str, redact: &[String], rendered: &Inventory) {
    let Some(key) = unhex(key) else { return };
    let mut redactor = Redactor::new(&key).with_patterns(redact.iter().map(String::as_str)).keeping_marks();
    rendered.objects().iter().for_each(|object| learn(&mut redactor, object));
    for object in rendered.objects() {
        if let Ok(value) = object.value() {
            drop(redactor.value(&object.key, &Path::root(), None, &value));
        }
    }
    let marks = redactor.into_marks();
    if marks.is_empty() {
        return;
    }
    for objects in [&mut world.live, &mut world.base.objects] {
        let mut revealed: Vec<Object> = std::mem::take(objects).into();
        for object in &mut revealed {
            if let Body::Value(value) = &mut object.body {
                uncover(value, &marks);
            }
        }
        *objects = revealed.into();
    }
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
        Some(Object { body: Body::Value(value), ..object })
    };
    Vec::from(objects).into_iter().filter_map(hide).collect::<Vec<_>>().into()
}

/// Puts the plain text in the place of every mark that is known.
fn uncover(value: &mut Value, marks: &HashMap<String, Value>) {
    match value {
        Value::Object(map) => map.values_mut().for_each(|value| uncover(value, marks)),
        Value::Array(items) => items.iter_mut().for_each(|value| uncover(value, marks)),
        Value::String(text) if text.contains(MARK) => {
            let whole = marks.get(text.as_str()).cloned();
            if let Some(plain) = whole.or_else(|| plain(text, marks).map(Value::String)) {
                *value = plain;
            }
        }
        _ => {}
    }
}

/// A text with the known marks replaced; `None` where there is none.
fn plain(text: &str, marks: &HashMap<String, Value>) -> Option<String> {
    let (mut out, mut rest, mut found) = (String::with_capacity(text.len()), text, false);
    while let Some(start) = rest.find(MARK) {
        let end = rest[start..].find('>').map_or(rest.len(), |length| start + length + 1);
        out.push_str(&rest[..start]);
        let known = marks.get(&rest[start..end]).and_then(Value::as_str);
        found |= known.is_some();
        out.push_str(known.unwrap_or(&rest[start..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    found.then_some(out)
}

/// Bytes from hexadecimal digits.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
