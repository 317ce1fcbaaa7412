//! Nothing secret is ever shown: values of Secrets, passwords, tokens, private keys, credentials in addresses, whole or
//! as part of a larger text. What is hidden shows as a short keyed hash, so that a change of it is still seen.

mod learned;
mod places;
mod shapes;
mod text;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use self::learned::Learned;
use crate::model::pair::{Change, Pair};
use crate::object::{Key, Path, Route, Segment};
use crate::parallel;

/// Secrets that are shorter than this are hidden in their own place only: as part of other texts they would hide words.
const SHORTEST_LEARNED: usize = 8;

/// How many encodings are looked behind.
const DEEPEST: usize = 4;

/// How a mark begins.
pub const MARK: &str = "<redacted:";

/// Hides what is secret. It knows secrets by their place, by their shape, and those that it has seen in other places.
pub struct Redactor {
    /// Key of the hashes.
    key: Vec<u8>,
    /// Paths that a policy names, as dotted patterns with `*` for one step and `**` for any number.
    patterns: Vec<Vec<String>>,
    /// Secrets seen so far.
    known: Learned,
    /// Each mark that was made, with what it stands for, where that is wanted.
    made: Option<Mutex<HashMap<String, Value>>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Redactor {
    /// A redactor whose hashes depend on `key`, so that they cannot be looked up. The same key gives the same hashes:
    /// take one from the cluster or the policy where a digest has to outlive the run, else a random one.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self { key: key.to_vec(), patterns: Vec::new(), known: Learned::default(), made: None }
    }

    /// Keeps each mark that is made from now on, with what it stands for.
    #[must_use]
    pub fn keeping_marks(mut self) -> Self {
        self.made = Some(Mutex::default());
        self
    }

    /// The marks that were kept.
    #[must_use]
    pub fn into_marks(self) -> HashMap<String, Value> {
        self.made.map(|made| made.into_inner().unwrap_or_else(PoisonError::into_inner)).unwrap_or_default()
    }

    /// Also hides what stands at paths like `spec.files.*.content` or `data.**`; list places count as a step.
    #[must_use]
    pub fn with_patterns<'p>(mut self, patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let steps = |pattern: &str| pattern.split('.').map(str::to_owned).collect();
        self.patterns.extend(patterns.into_iter().map(steps));
        self
    }

    /// Hides everything secret in the changes of all pairs, and in what is said about them.
    pub fn pairs(&mut self, pairs: &mut [Pair]) {
        let found = parallel::map(pairs, |pair| self.found_in(pair));
        found.into_iter().flatten().for_each(|secret| self.remember(secret));
        parallel::each(pairs, |pair| {
            pair.because = self.text(&pair.because);
            for change in &mut pair.changes {
                self.change(&pair.key, change);
            }
        });
    }

    /// The secrets of both sides of a pair.
    fn found_in(&self, pair: &Pair) -> Vec<String> {
        let sides = [&pair.live, &pair.predicted].into_iter().flatten();
        sides.flat_map(|side| self.secrets_of(&pair.key, side)).collect()
    }

    /// Remembers the secrets of an object, so that they are also hidden where they stand in other texts.
    pub fn learn(&mut self, key: &Key, object: &Value) {
        for secret in self.secrets_of(key, object) {
            self.remember(secret);
        }
    }

    /// The secrets of an object, and what is behind those that are encoded.
    fn secrets_of(&self, key: &Key, object: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.collect(key, &Route::At(&Path::root()), None, object, &mut found);
        let behind: Vec<String> = found.iter().filter_map(|secret| decoded(secret)).collect();
        found.extend(behind);
        found
    }

    /// Remembers one secret text.
    pub fn remember(&mut self, secret: String) {
        let secret = secret.trim();
        if secret.chars().count() >= SHORTEST_LEARNED {
            self.known.add(secret);
        }
    }

    /// Hides what is secret in one change.
    pub fn change(&self, key: &Key, change: &mut Change) {
        let mut path = change.path.clone();
        // Inside a document the place there says what a value is, too.
        for within in &change.within {
            if let Ok(inner) = Path::parse(&within.path) {
                inner.segments().iter().for_each(|segment| path.push(segment.clone()));
            }
        }
        let item = change.item.clone();
        // A secret file stays secret when it is read as a document.
        let whole = self.is_secret(key, &Route::At(&change.path), item.as_deref());
        for side in [&mut change.before, &mut change.after].into_iter().flatten() {
            *side = if whole { self.hidden(side) } else { self.value(key, &path, item.as_deref(), side) };
        }
        change.because = self.text(&change.because);
    }

    /// The value at `path` of an object, with what is secret in it hidden. `item` is the identity of the list item that
    /// the path goes through.
    #[must_use]
    pub fn value(&self, key: &Key, path: &Path, item: Option<&str>, value: &Value) -> Value {
        self.value_at(key, &Route::At(path), item, value)
    }

    fn value_at(&self, key: &Key, place: &Route<'_>, item: Option<&str>, value: &Value) -> Value {
        if self.is_secret(key, place, item) {
            return self.hidden(value);
        }
        match value {
            Value::Object(map) => {
                let item = places::name_of(value).or(item);
                let entries =
                    map.iter().map(|(name, value)| (name.clone(), self.value_at(key, &place.key(name), item, value)));
                Value::Object(entries.collect())
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                Value::Array(items.map(|(at, value)| self.value_at(key, &place.index(at), item, value)).collect())
            }
            Value::String(text) if self.hides_encoded(text) => Value::String(self.mark(text)),
            Value::String(text) => Value::String(self.text(text)),
            other => other.clone(),
        }
    }

    /// A text with what is secret in it hidden: what has the shape of a secret, and every secret that was learned.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        self.masked(text, self.ranges(text, 0))
    }

    /// Where a text is secret: by its shape, because it was learned, or behind an encoding of a part of it.
    fn ranges(&self, text: &str, depth: usize) -> Vec<Range<usize>> {
        let mut ranges = text::secrets(text);
        self.known.find(text, &mut ranges);
        if depth < DEEPEST {
            let hides = |inner: &str| !self.ranges(inner, depth + 1).is_empty();
            let encoded = text::encoded(text);
            ranges.extend(
                encoded.into_iter().filter(|range| decoded(&text[range.clone()]).is_some_and(|inner| hides(&inner))),
            );
        }
        ranges
    }

    /// The short keyed hash that stands for a secret.
    #[must_use]
    pub fn mark(&self, secret: &str) -> String {
        let hash = keyed_hash(&self.key, secret.as_bytes());
        let short: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let mark = format!("{MARK}{short}>");
        self.keep(&mark, || Value::String(secret.to_owned()));
        mark
    }

    /// Keeps what a mark stands for, where that is wanted.
    fn keep(&self, mark: &str, value: impl FnOnce() -> Value) {
        if let Some(made) = &self.made {
            made.lock().unwrap_or_else(PoisonError::into_inner).insert(mark.to_owned(), value());
        }
    }

    /// Whether what stands at a place is secret whatever it is.
    fn is_secret(&self, key: &Key, place: &Route<'_>, item: Option<&str>) -> bool {
        let named = || {
            let path = place.to_path();
            self.patterns.iter().any(|pattern| matches(pattern, path.segments()))
        };
        places::is_secret(key, place, item) || !self.patterns.is_empty() && named()
    }

    /// A value with every leaf hidden; what is no text keeps its shape as a mark too.
    fn hidden(&self, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                Value::Object(map.iter().map(|(name, value)| (name.clone(), self.hidden(value))).collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(|value| self.hidden(value)).collect()),
            Value::Null | Value::Bool(_) => value.clone(),
            Value::String(text) if text.is_empty() => value.clone(),
            Value::String(text) => Value::String(self.mark(text)),
            Value::Number(number) => {
                // Not the mark of the same digits as text: the two are different values.
                let mark = self.mark(&format!("number {number}"));
                self.keep(&mark, || value.clone());
                Value::String(mark)
            }
        }
    }

    /// Whether a text is an encoding of something with a secret in it.
    fn hides_encoded(&self, text: &str) -> bool {
        decoded(text).is_some_and(|inner| !self.ranges(&inner, 1).is_empty())
    }

    /// `text` with the ranges replaced by marks.
    fn masked(&self, text: &str, mut ranges: Vec<Range<usize>>) -> String {
        ranges.sort_unstable_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        let mut result = String::with_capacity(text.len());
        let mut at = 0;
        for range in ranges {
            if range.end <= at {
                continue;
            }
            let start = range.start.max(at);
            result.push_str(&text[at..start]);
            result.push_str(&self.mark(&text[start..range.end]));
            at = range.end;
        }
        result.push_str(&text[at..]);
        result
    }

    /// Collects the secret texts below a value.
    fn collect(&self, key: &Key, place: &Route<'_>, item: Option<&str>, value: &Value, found: &mut Vec<String>) {
        if self.is_secret(key, place, item) {
            leaves(value, found);
            return;
        }
        match value {
            Value::Object(map) => {
                let item = places::name_of(value).or(item);
                for (name, value) in map {
                    self.collect(key, &place.key(name), item, value, found);
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    self.collect(key, &place.index(at), item, value, found);
                }
            }
            Value::String(text) => shaped(text, 0, found),
            _ => {}
        }
    }
}

/// What has the shape of a secret in a text, also behind an encoding of a part of it.
fn shaped(text: &str, depth: usize, found: &mut Vec<String>) {
    found.extend(text::secrets(text).into_iter().map(|range| text[range].to_owned()));
    if depth < DEEPEST {
        for range in text::encoded(text) {
            if let Some(inner) = decoded(&text[range]) {
                shaped(&inner, depth + 1, found);
            }
        }
    }
}

/// Every text below a value.
fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.values().for_each(|value| leaves(value, found)),
        Value::Array(items) => items.iter().for_each(|value| leaves(value, found)),
        Value::String(text) => found.push(text.clone()),
        _ => {}
    }
}

/// The text behind base64, also gzipped; `None` where there is none.
fn decoded(text: &str) -> Option<String> {
    super::within::decode_text(text).or_else(|| {
        let bytes = BASE64_STANDARD.decode(text.trim()).ok()?;
        String::from_utf8(bytes).ok().filter(|text| !text.contains('\u{0}'))
    })
}

/// Whether a pattern covers a path.
fn matches(pattern: &[String], path: &[Segment]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            matches(rest, path) || path.split_first().is_some_and(|(_, path)| matches(pattern, path))
        }
        (Some((first, rest)), Some((segment, path))) => {
            let fits = first == "*"
                || match segment {
                    Segment::Key(key) => key == first,
                    Segment::Index(index) => *first == index.to_string(),
                };
            fits && matches(rest, path)
        }
        _ => false,
    }
}

/// HMAC-SHA-256 (RFC 2104).
fn keyed_hash(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(kind: &str, object: &Value) -> String {
        let api_version = if matches!(kind, "Secret" | "ConfigMap") { "v1" } else { "x.cluster.x-k8s.io/v1beta1" };
        let key = Key::new(api_version, kind, None, "x");
        Redactor::new(b"k").value(&key, &Path::root(), None, object).to_string()
    }

    #[test]
    fn the_hash_is_the_one_of_rfc_4231() {
        let hash = keyed_hash(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(hash[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    }

    #[test]
    fn every_value_of_a_secret_is_hidden_and_its_keys_are_not() {
        let text = shown(
            "Secret",
            &json!({"metadata": {"name": "s"}, "data": {"tls.key": "Y2FuYXJ5"}, "stringData": {"a": "canary"}}),
        );
        assert!(!text.contains("canary") && !text.contains("Y2FuYXJ5") && text.contains("tls.key"), "{text}");
    }

    #[test]
    fn secrets_are_found_in_the_fields_of_every_kind() {
        let cases = [
            json!({"spec": {"users": [{"name": "a", "passwd": "canary"}]}}),
            json!({"spec": {"initConfiguration": {"bootstrapTokens": [{"token": "canary"}]}}}),
            json!({"spec": {"files": [{"path": "/etc/kubernetes/pki/ca.key", "content": "canary"}]}}),
            json!({"spec": {"topology": {"variables": [{"name": "registryPassword", "value": "canary"}]}}}),
            json!({"spec": {"topology": {"variables": [{"name": "registry", "value": {"password": "canary"}}]}}}),
            json!({"spec": {"files": [{"path": "/a", "content": "x: 1\npassword: canary\n"}]}}),
            json!({"spec": {"files": [{"path": "/a", "encoding": "base64", "content": BASE64_STANDARD.encode("token: canary-token")}]}}),
            json!({"spec": {"preKubeadmCommands": ["export HTTPS_PROXY=http://user:canary@proxy:3128"]}}),
            json!({"spec": {"certificateKey": "canary"}}),
            json!({"spec": {"credentials": {"clientSecret": "canary"}}}),
        ];
        for case in cases {
            let text = shown("KubeadmControlPlane", &case);
            assert!(!text.contains("canary") && text.contains("<redacted:"), "{text}");
            assert!(!text.contains(&BASE64_STANDARD.encode("token: canary-token")), "{text}");
        }
    }

    #[test]
    fn what_only_names_a_secret_is_shown() {
        let object = json!({"spec": {"files": [{"contentFrom": {"secret": {"name": "my-secret", "key": "value"}}}],
            "identityRef": {"kind": "Secret", "name": "cloud-config"}, "secretName": "s", "tokenTTL": "24h",
            "sshAuthorizedKeys": ["ssh-ed25519 AAAA me"], "privateKeyFile": "/etc/x"}});
        assert_eq!(shown("KubeadmControlPlane", &object), object.to_string());
    }

    #[test]
    fn a_changed_secret_shows_as_two_marks() {
        let mut redactor = Redactor::new(b"k");
        let key = Key::new("v1", "Secret", None, "s");
        let path = Path::parse("data.a").expect("a path");
        let mut change = Change::unjudged(path, Some(json!("b2xkLXZhbHVl")), Some(json!("bmV3LXZhbHVl")));
        redactor.learn(&key, &json!({"data": {"a": "b2xkLXZhbHVl"}}));
        redactor.change(&key, &mut change);
        assert_ne!(change.before, change.after);
        assert!(change.before.as_ref().and_then(Value::as_str).is_some_and(|text| text.starts_with("<redacted:")));
        assert!(!redactor.text("it was old-value before").contains("old-value"));
    }

    #[test]
    fn a_leaf_change_in_a_named_item_is_known_by_that_name() {
        let redactor = Redactor::new(b"k");
        let key = Key::new("x.cluster.x-k8s.io/v1", "KubeadmConfigTemplate", None, "x");
        let path = Path::parse("spec.template.spec.files[2].content").expect("a path");
        let mut change = Change::unjudged(path, None, Some(json!("canary")));
        change.item = Some("/root/.ssh/id_rsa".into());
        redactor.change(&key, &mut change);
        assert_ne!(change.after, Some(json!("canary")));
    }

    #[test]
    fn a_secret_is_hidden_behind_encodings_of_a_part_of_a_text() {
        let encoded = BASE64_STANDARD.encode("export TOKEN=canary-of-old");
        let twice = BASE64_STANDARD.encode(format!("sh -c {encoded}"));
        let redactor = Redactor::new(b"k");
        for word in [&encoded, &twice] {
            let shown = redactor.text(&format!("echo {word} | base64 -d | sh"));
            assert!(!shown.contains(word.as_str()) && shown.starts_with("echo <redacted:"), "{shown}");
        }
        let mut redactor = Redactor::new(b"k");
        let key = Key::new("x.cluster.x-k8s.io/v1", "A", None, "x");
        redactor.learn(&key, &json!({"spec": {"commands": [format!("echo {twice} | sh")]}}));
        assert!(!redactor.text("it was canary-of-old").contains("canary"));
        let harmless = BASE64_STANDARD.encode("nothing to see in here");
        assert_eq!(redactor.text(&harmless), harmless);
    }

    #[test]
    fn a_policy_can_name_more_places() {
        let redactor = Redactor::new(b"k").with_patterns(["spec.**.community"]);
        let key = Key::new("x.cluster.x-k8s.io/v1", "A", None, "x");
        let text =
            redactor.value(&key, &Path::root(), None, &json!({"spec": {"a": [{"community": "canary"}]}})).to_string();
        assert!(!text.contains("canary"));
    }
}
