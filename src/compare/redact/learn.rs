//! Learns the secrets of objects, so that they are hidden wherever else they stand: values of Secrets, what stands in places that are
//! secret, what has the form of a secret; also inside files, and behind encodings.

use super::super::within;
use super::harmless::is_form;
use super::{DEEPEST, Redactor, places, text, views};
use crate::kinds::contract::SECRET;
use crate::model::Pair;
use crate::object::{Key, Object, Path, Route};
use crate::parallel;
use crate::tree::Value;

/// Secrets that are shorter than this are hidden in their own place only: as part of other texts they would hide words.
const SHORTEST: usize = 8;
/// Fewest digits of a number that is learned: shorter ones are ports, amounts and ids of users, which would be hidden everywhere.
const SHORTEST_NUMBER: usize = 6;
/// Shorter ones are learned where they are no ordinary word, and found as a word only.
const SHORTEST_ODD: usize = 5;

impl Redactor {
    /// Remembers the secrets of an object, so that they are also hidden where they stand in other texts.
    pub fn learn(&mut self, key: &Key, object: &Value) {
        for secret in self.secrets_of(key, object, None) {
            self.notice(&secret);
        }
    }

    /// Remembers the secrets of many objects; one that cannot be read has none.
    pub(crate) fn learn_all(&mut self, objects: &[&Object]) {
        let secrets = |object: &&Object| Some(self.secrets_of(&object.key, object.value().ok()?.as_ref(), None));
        let found = parallel::map(objects, secrets);
        found.into_iter().flatten().flatten().for_each(|secret| self.notice(&secret));
    }

    /// Remembers one secret text that has a mark of its own wherever it stands: its mark stands for it in other texts, too.
    pub fn remember_part(&mut self, secret: &str) {
        self.remember(secret);
        self.parts.add(secret);
    }

    /// Remembers one secret text, whatever its form.
    pub fn remember(&mut self, secret: &str) {
        let secret = secret.trim();
        let length = secret.chars().count();
        if length >= SHORTEST || length >= SHORTEST_ODD && is_odd(secret) || is_long_number(secret) {
            let mut is_new = self.known.add(secret);
            if secret.contains('\n') {
                // As it reads where its lines are joined or indented.
                let joined: String = secret.lines().map(str::trim).collect();
                is_new |= self.known.add(&joined);
            }
            if is_new {
                // What was looked at already may hold it.
                self.looked.forget();
            }
        }
    }

    /// Remembers a text from a secret place, unless its form says that it is none: Secrets also hold addresses and numbers.
    pub(super) fn notice(&mut self, secret: &str) {
        let bare = secret.trim();
        if (is_long_number(bare) || !is_form(bare)) && !self.names.contains(bare) {
            self.remember(secret);
        }
    }

    /// The secrets of both sides of a pair.
    pub(super) fn found_in(&self, pair: &Pair) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(live) = &pair.live {
            found = self.secrets_of(&pair.key, live, None);
        }
        if let Some(predicted) = &pair.predicted {
            found.extend(self.secrets_of(&pair.key, predicted, pair.live.as_ref()));
        }
        found
    }

    /// The secrets of an object, and what is behind those that are encoded. What it has in common with another side of it, whose
    /// secrets are known, is left out.
    fn secrets_of(&self, key: &Key, object: &Value, other: Option<&Value>) -> Vec<String> {
        let mut found = Vec::new();
        self.collect(key, &Route::At(&Path::root()), None, (object, other), &mut found);
        for secret in std::mem::take(&mut found) {
            if let Some(plain) = self.plain(&secret) {
                self.shaped(&plain, 1, &mut found);
                found.push(plain);
            }
            found.push(secret);
        }
        found
    }

    /// Collects the secret texts below a value that do not stand at the same place of the other side.
    fn collect(
        &self,
        key: &Key,
        place: &Route<'_>,
        item: Option<&str>,
        (value, other): (&Value, Option<&Value>),
        found: &mut Vec<String>,
    ) {
        if other.is_some_and(|other| value.is_same(other)) {
            return;
        }
        if self.is_secret(key, place, item) {
            leaves(value, found);
            return;
        }
        match value {
            Value::Object(map) => {
                let own = places::name_of(value);
                // What the item is called says what is secret in it.
                let other = other.filter(|other| places::name_of(other) == own).and_then(Value::as_object);
                for (name, value) in map {
                    let other = other.and_then(|other| other.get(name));
                    self.collect(key, &place.key(name), own.or(item), (value, other), found);
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    let other = other.and_then(|other| other.get(at));
                    self.collect(key, &place.index(at), item, (value, other), found);
                }
            }
            Value::String(text) => found.extend(self.shaped_in(text)),
            _ => {}
        }
    }

    /// What [`Self::shaped`] finds in a text, found once for each text.
    fn shaped_in(&self, text: &str) -> Vec<String> {
        self.shaped.get(text, &self.budget, || {
            let mut found = Vec::new();
            self.shaped(text, 0, &mut found);
            found
        })
    }

    /// What is behind the encoding of a value of a Secret, also of a short one.
    fn plain(&self, secret: &str) -> Option<String> {
        self.unpacked(secret.trim()).ok().flatten().or_else(|| views::short(secret.trim()))
    }

    /// The values of Secrets in a document.
    fn inside(&self, tree: &Value, found: &mut Vec<String>) {
        if tree.get("kind").and_then(Value::as_str) == Some(SECRET) {
            for value in ["data", "stringData"].iter().filter_map(|field| tree.get(field)) {
                let mut values = Vec::new();
                leaves(value, &mut values);
                found.extend(values.iter().filter_map(|value| self.plain(value)));
                found.extend(values);
            }
            return;
        }
        match tree {
            Value::Object(map) => map.values().for_each(|value| self.inside(value, found)),
            Value::Array(items) => items.iter().for_each(|value| self.inside(value, found)),
            _ => {}
        }
    }

    /// What has the form of a secret in a text, also behind an encoding of a part of it, and the Secrets that it holds.
    fn shaped(&self, text: &str, depth: usize, found: &mut Vec<String>) {
        found.extend(text::secrets(text).into_iter().map(|range| text[range].to_owned()));
        if text.contains(SECRET) && text.contains("ata") {
            within::trees(text).iter().for_each(|tree| self.inside(tree, found));
        }
        if depth < DEEPEST {
            for range in views::encoded(text) {
                if let Ok(Some(inner)) = self.unpacked(&text[range]) {
                    self.shaped(&inner, depth + 1, found);
                }
            }
        }
    }
}

/// Whether a word is a number that is none of a setting: a PIN, say. It is found as a word only.
fn is_long_number(secret: &str) -> bool {
    secret.len() >= SHORTEST_NUMBER && secret.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is none that a sentence would have.
fn is_odd(secret: &str) -> bool {
    !secret.chars().all(|c| c.is_lowercase()) && secret.chars().any(char::is_alphabetic)
}

/// Every text below a value.
pub(super) fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.values().for_each(|value| leaves(value, found)),
        Value::Array(items) => items.iter().for_each(|value| leaves(value, found)),
        Value::String(text) => found.push(text.to_string()),
        _ => {}
    }
}
