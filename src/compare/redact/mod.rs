//! Nothing secret is ever shown: values of Secrets, passwords, tokens, private keys, credentials in addresses, whole or as part of a
//! larger text; and of files, commands and bootstrap data only what has a form that no secret has. All else is a keyed mark.

mod guarded;
mod harmless;
mod hide;
mod json;
mod learn;
mod learned;
mod mark;
mod memo;
mod patterns;
mod places;
mod quoted;
mod search;
mod shapes;
mod text;
mod views;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

pub(crate) use self::json::Document;
use self::learned::Learned;
pub use self::mark::MarkKey;
pub(crate) use self::mark::{MARK, beginnings, is_mark, remarked};
use self::memo::{Budget, Memo};
use self::patterns::{is_at, steps};
use self::places::{Guard, Level};
use crate::hashed::{HashMap, HashSet};
use crate::model::{Change, Pair};
use crate::object::{Key, Path, Route, Segment};
use crate::parallel;
use crate::tree::{Text, Value};

/// How many encodings are looked behind.
const DEEPEST: usize = 4;
/// How many layers of escapes are undone.
const ESCAPES: usize = 3;
/// Fewest letters of a word that is hidden unseen.
pub(crate) const UNSEEN: usize = 24;
/// Most digits of a number in a guarded place; more could be drawn by lot.
const DIGITS: usize = 12;

/// Hides what is secret. It knows secrets by their place, by their form, and those that it has seen in other places.
pub struct Redactor {
    key: MarkKey,
    /// Paths that a policy names as secret, as dotted patterns with `*` for one step and `**` for any number.
    patterns: Vec<Vec<String>>,
    /// Paths that a policy names as harmless.
    shown: Vec<Vec<String>>,
    /// Names that are harmless in this run.
    names: HashSet<String>,
    /// Secrets seen so far.
    known: Learned,
    /// Secrets that have a mark of their own wherever they stand, also as a part of what is hidden.
    parts: Learned,
    /// How much may still be unpacked.
    budget: Budget,
    /// Where texts are secret that were looked at already, by what is known now.
    looked: Memo<Vec<Range<usize>>>,
    /// What is hidden of lines of texts in which anything can stand, by the names that are known now.
    lines: Memo<Vec<Range<usize>>>,
    /// What has the form of a secret in texts that were looked at already.
    shaped: Memo<Vec<String>>,
    /// Whether what is encoded as a whole is hidden inside of its encoding.
    inside: bool,
    /// The marks of texts that were hidden already.
    marked: Memo<String>,
    /// The marks that were made: what else looks like one was rendered so.
    own: Mutex<HashSet<String>>,
    /// Each mark that was made, with what it stands for, where that is wanted.
    made: Option<Mutex<HashMap<String, Value>>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl guarded::Names for Redactor {
    fn has(&self, word: &str) -> bool {
        self.names.contains(word)
    }

    fn of_line(&self, line: &str, look: &dyn Fn() -> Vec<Range<usize>>) -> Vec<Range<usize>> {
        self.lines.get(line, &self.budget, look)
    }
}

impl Redactor {
    /// A redactor whose marks depend on `key`, so that they cannot be looked up. The same key gives the same marks.
    #[must_use]
    pub fn new(key: &MarkKey) -> Self {
        Self {
            key: key.clone(),
            patterns: Vec::new(),
            shown: Vec::new(),
            names: HashSet::default(),
            known: Learned::default(),
            parts: Learned::default(),
            budget: Budget::default(),
            looked: Memo::default(),
            lines: Memo::default(),
            shaped: Memo::default(),
            inside: false,
            marked: Memo::default(),
            own: Mutex::default(),
            made: None,
        }
    }

    /// Hides inside of encodings: for who reads the places there, and not for people.
    #[must_use]
    pub fn hiding_inside(mut self) -> Self {
        self.inside = true;
        self
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
        self.patterns.extend(patterns.into_iter().map(steps));
        self
    }

    /// Shows what stands at such paths, unless it is a value of a Secret or has the form of one.
    #[must_use]
    pub fn with_shown<'p>(mut self, patterns: impl IntoIterator<Item = &'p str>) -> Self {
        self.shown.extend(patterns.into_iter().map(steps));
        self
    }

    /// Shows these words wherever they stand: names of objects, late values that are not secret.
    #[must_use]
    pub fn with_names<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        for name in names {
            // Most names stand on both sides, and in many objects.
            if !self.names.contains(name) {
                self.names.insert(name.to_owned());
            }
        }
        self.lines.forget();
        self
    }

    /// Hides everything secret in the changes of all pairs, and in what is said about them.
    pub fn pairs(&mut self, pairs: &mut [Pair]) {
        let found = parallel::map(pairs, |pair| self.found_in(pair));
        found.into_iter().flatten().for_each(|secret| self.notice(&secret));
        parallel::each(pairs, |pair| {
            pair.because = self.text(&pair.because);
            for change in &mut pair.changes {
                self.change(&pair.key, change);
            }
        });
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
        let mut level = Level::root(key).along(change.path.segments());
        if !change.within.is_empty() {
            level = level.inside();
        }
        for side in [&mut change.before, &mut change.after].into_iter().flatten() {
            *side = if whole {
                self.hidden(side)
            } else {
                self.value_at(key, &Route::At(&path), level, item.as_deref(), side)
            };
        }
        change.because = self.text(&change.because);
        change.path = self.path(Level::root(key), &change.path);
        for within in &mut change.within {
            let inner = Path::parse(&within.path).map(|path| self.path(Level::root(key).inside(), &path).to_string());
            within.path = inner.unwrap_or_default();
        }
        let named =
            |item: &str| item.split(" > ").map(|name| self.name(Guard::Typed, name)).collect::<Vec<_>>().join(" > ");
        change.item = change.item.as_deref().map(named);
    }

    /// The value at `path` of an object, with what is secret in it hidden. `item` is the identity of the list item that
    /// the path goes through.
    #[must_use]
    pub fn value(&self, key: &Key, path: &Path, item: Option<&str>, value: &Value) -> Value {
        self.value_at(key, &Route::At(path), Level::root(key).along(path.segments()), item, value)
    }

    fn value_at(&self, key: &Key, place: &Route<'_>, level: Level, item: Option<&str>, value: &Value) -> Value {
        self.changed(key, place, level, item, value).unwrap_or_else(|| value.clone())
    }

    /// A value with what is secret in it hidden; `None` where nothing is. Most have no secret, and then no copy is made.
    fn changed(&self, key: &Key, place: &Route<'_>, level: Level, item: Option<&str>, value: &Value) -> Option<Value> {
        if self.is_secret(key, place, item) {
            return Some(self.hidden(value));
        }
        match value {
            Value::Object(map) => {
                let item = places::name_of(value).or(item);
                let below =
                    |name: &Text, value: &Value| self.changed(key, &place.key(name), level.below(name), item, value);
                let named = |name: &Text| match self.name(level.guard, name) {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(hidden) => Some(Text::from(hidden)),
                };
                let changed = map.changed(below);
                if map.keys().all(|name| named(name).is_none()) {
                    return changed.map(Value::Object);
                }
                let entries = changed.as_ref().unwrap_or(map).iter();
                let renamed = entries.map(|(name, value)| (named(name).unwrap_or_else(|| name.clone()), value.clone()));
                Some(Value::Object(renamed.collect()))
            }
            Value::Array(items) => {
                let below = |at: usize, value: &Value| self.changed(key, &place.index(at), level, item, value);
                items.changed(below).map(Value::Array)
            }
            Value::String(text) => {
                let hidden = self.document(key, place, level, item, text);
                let hidden = hidden.or_else(|| self.encoded(key, place, level, item, text)).map(Cow::Owned);
                let hidden = hidden.unwrap_or_else(|| self.text_at(place, level, item, text));
                (hidden != text.as_str()).then(|| Value::from(hidden.into_owned()))
            }
            Value::Number(number) if level.guard >= Guard::Typed && number.to_string().len() > DIGITS => {
                Some(self.hidden(value))
            }
            _ => None,
        }
    }

    /// A text that is one JSON document: with what is secret in its values hidden, it is one still. So each of its values has
    /// the mark that it has in a field of its own, and what a controller compares with it stays equal to it.
    fn document(&self, key: &Key, place: &Route<'_>, level: Level, item: Option<&str>, text: &str) -> Option<String> {
        let document = Document::of(text)?;
        let text_of = |field: &str| document.tree.get(field).and_then(Value::as_str);
        let hidden = match text_of("apiVersion").zip(text_of("kind")) {
            Some((version, kind)) if place.last_key().is_some_and(places::holds_the_object) => {
                let key = Key::new(version, kind, None, "");
                self.value(&key, &Path::root(), None, &document.tree)
            }
            _ => self.value_at(key, place, level.of_json(), item, &document.tree),
        };
        // What is secret as a whole, or across values.
        let hidden = self.text(&document.with(hidden).to_string());
        if hidden != text {
            self.keep(&hidden, || Value::from(text));
        }
        Some(hidden)
    }

    /// A text that is the encoding of a text, with what is secret there hidden there.
    fn encoded(&self, key: &Key, place: &Route<'_>, level: Level, item: Option<&str>, text: &str) -> Option<String> {
        let inner = unencoded(text).filter(|_| self.inside)?;
        let hidden = self.value_at(key, place, level.inside(), item, &Value::from(inner));
        Some(encode(hidden.as_str()?))
    }

    /// A value as [`Self::value`] hides it, but as if anything could stand in each of its places.
    #[must_use]
    pub fn value_unknown(&self, key: &Key, value: &Value) -> Value {
        self.value_at(key, &Route::At(&Path::root()), Level::root(key).inside(), None, value)
    }

    /// A text at a place, with what is hidden there.
    fn text_at<'t>(&self, place: &Route<'_>, level: Level, item: Option<&str>, text: &'t str) -> Cow<'t, str> {
        let mut ranges = self.looked(text);
        if !ranges.is_empty() && views::is_encoded(text) {
            return Cow::Owned(self.mark(text));
        }
        ranges.extend(self.guarded(place, level, item, text));
        let masked = self.masked(text, ranges);
        if masked != text {
            self.keep(&masked, || Value::from(text));
        }
        masked
    }

    /// What is hidden of a text for the place that it stands at.
    fn guarded(&self, place: &Route<'_>, level: Level, item: Option<&str>, text: &str) -> Vec<Range<usize>> {
        let field = place.last_key();
        let typed = (level.is_harmless(field) || level.is_harmless_argument(field, item)) && harmless::is_typed(text);
        let shows = typed || self.names.contains(text) || self.is_shown(place);
        match level.guard {
            _ if shows => Vec::new(),
            Guard::Open => harmless::drawn_by_lot(text),
            Guard::Plain if harmless::is_chosen(text) => Vec::new(),
            Guard::Plain | Guard::Typed | Guard::Free => guarded::hidden(text, self),
        }
    }

    /// A text with what is secret in it hidden: what has the form of a secret, and every secret that was learned.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        self.masked(text, self.looked(text)).into_owned()
    }

    /// A path with the keys hidden that are secrets or look like one.
    #[must_use]
    fn path(&self, root: Level, path: &Path) -> Path {
        let mut level = root;
        let step = |segment: &Segment| match segment {
            Segment::Key(key) => {
                let name = self.name(level.guard, key).into_owned();
                level = level.below(key);
                Segment::Key(name)
            }
            Segment::Index(index) => Segment::Index(*index),
        };
        path.segments().iter().map(step).collect::<Vec<_>>().into()
    }

    /// The name of a field or an item.
    fn name<'t>(&self, guard: Guard, name: &'t str) -> Cow<'t, str> {
        let mut ranges = self.looked(name);
        if guard >= Guard::Typed && !harmless::is_harmless(name) && !self.names.contains(name) {
            let whole = name.split(['.', '-', '_', '/', ' ']).any(harmless::is_opaque);
            ranges.extend(whole.then_some(0..name.len()));
        }
        self.masked(name, ranges)
    }

    /// Whether what stands at a place is secret whatever it is.
    fn is_secret(&self, key: &Key, place: &Route<'_>, item: Option<&str>) -> bool {
        places::is_secret(key, place, item) || is_at(&self.patterns, place)
    }

    /// Whether the policy shows what stands at a place.
    fn is_shown(&self, place: &Route<'_>) -> bool {
        is_at(&self.shown, place)
    }
}

/// The text that another is the base64 of, such that nothing is lost by encoding it again.
pub(crate) fn unencoded(text: &str) -> Option<String> {
    let of_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    if text.len() < UNSEEN || !text.len().is_multiple_of(4) || !text.bytes().all(of_base64) {
        return None;
    }
    // The engine refuses what it would not write, so encoding gives the same text.
    String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok()
}

/// What [`unencoded`] reads.
pub(crate) fn encode(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

#[cfg(test)]
mod tests;
