//! Which names in a text are an object's own: its cluster, its namespace, its name. Texts that differ in nothing else are equal,
//! and with the list of clusters beside them nothing is lost.

use std::collections::{BTreeMap, BTreeSet};

use crate::hashed::{HashMap, HashSet};
use crate::kinds::contract::{CLUSTER, CORE};
use crate::model::first_and_more;
use crate::object::Key;
use crate::report::{ChangeReport, ObjectReport, Report, sentence};
use crate::tree::Value;

/// What stands for the cluster of each object.
const OF_CLUSTER: &str = "<cluster>";
/// What stands for the names of each object itself: its cluster, its namespace, its name, the name that it had before, and what
/// moves to it.
const MARKS: [&str; 5] = [OF_CLUSTER, "<namespace>", "<name>", "<old name>", "<owner>"];
/// Stands around the key of the one object that a text is about; no text of a report has a control character in it.
const ALONE: char = '\u{1}';
/// Most names that are listed before they are counted.
const LISTED: usize = 3;

/// A cluster as people call it; the namespace where it tells more than the name does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClusterName<'r> {
    /// Its namespace, where one is known.
    pub namespace: Option<&'r str>,
    /// Its name.
    pub name: &'r str,
}

/// An object and the names that are its own.
#[derive(Debug, Clone)]
pub(super) struct Own<'r> {
    pub(super) key: Key,
    cluster: Option<ClusterName<'r>>,
    old_name: Option<&'r str>,
    /// What moves to it, where it is a template of a new name.
    owner: Option<String>,
}

/// Everything that a report knows by name.
#[derive(Debug, Default)]
pub(super) struct Names<'r> {
    /// The clusters of each namespace by their names.
    known: HashMap<Option<&'r str>, BTreeMap<&'r str, ClusterName<'r>>>,
    /// The cluster of each owner of Machines.
    of_owner: HashMap<&'r Key, &'r str>,
    /// Templates with a new name: namespace, old and new name, to the template.
    renamed: HashMap<(Option<&'r str>, &'r str, &'r str), &'r ObjectReport>,
    /// Templates with a new name by their keys, each with the owner whose reference moves to it, where one does.
    templates: HashMap<Key, (&'r ObjectReport, Option<&'r ObjectReport>)>,
    /// Every object that is spoken of, by how people call it.
    called: HashMap<String, Key>,
    /// The objects that change.
    objects: HashMap<Key, &'r ObjectReport>,
}

impl<'r> Names<'r> {
    pub(super) fn of(report: &'r Report) -> Self {
        let mut names = Self::default();
        for rollout in report.rollouts.iter().filter(|rollout| !rollout.cluster.is_empty()) {
            names.of_owner.insert(&rollout.owner, &rollout.cluster);
            names.know(rollout.owner.namespace.as_deref(), &rollout.cluster);
        }
        for object in &report.objects {
            let namespace = object.namespace.as_deref();
            let key = object.key();
            if let Some(cluster) = object.cluster.as_deref() {
                names.know(namespace, cluster);
            } else if is_cluster(&key) {
                names.know(namespace, &object.name);
            }
            if let Some(old) = object.renamed_from.as_deref() {
                names.renamed.insert((namespace, old, &object.name), object);
                names.templates.insert(key.clone(), (object, None));
            }
            names.called.insert(key.to_string(), key.clone());
            names.objects.insert(key, object);
        }
        let owners = report.rollouts.iter().map(|one| &one.owner);
        let found = report.findings.iter().map(|one| &one.object);
        let reasons = report.reasons.iter().filter_map(|one| one.object.as_ref());
        for key in owners.chain(found).chain(reasons) {
            names.called.entry(key.to_string()).or_insert_with(|| key.clone());
        }
        for object in &report.objects {
            for change in &object.changes {
                let template = names.rename(object, change).filter(|template| !std::ptr::eq(*template, object));
                if let Some(entry) = template.and_then(|template| names.templates.get_mut(&template.key())) {
                    entry.1 = Some(object);
                }
            }
        }
        names
    }

    fn know(&mut self, namespace: Option<&'r str>, name: &'r str) {
        self.known.entry(namespace).or_default().insert(name, ClusterName { namespace, name });
    }

    /// Every cluster that is known.
    pub(super) fn clusters(&self) -> BTreeSet<ClusterName<'r>> {
        self.known.values().flat_map(BTreeMap::values).copied().collect()
    }

    /// The template of a new name that a change moves a reference to.
    pub(super) fn rename(&self, object: &ObjectReport, change: &ChangeReport) -> Option<&'r ObjectReport> {
        let (Some(Value::String(old)), Some(Value::String(new))) = (&change.before, &change.after) else { return None };
        self.renamed.get(&(object.namespace.as_deref(), old.as_str(), new.as_str())).copied()
    }

    /// The owner whose reference moves to a template of a new name.
    pub(super) fn owner_of(&self, template: &Key) -> Option<&'r ObjectReport> {
        self.templates.get(template)?.1
    }

    /// Whether a sentence says no more than that a reference moves to this template.
    pub(super) fn is_about_rename(&self, template: &Key, text: &str) -> bool {
        self.templates.get(template).is_some_and(|(template, _)| {
            text.contains(&template.name) && template.renamed_from.as_ref().is_some_and(|old| text.contains(old))
        })
    }

    /// An object that changes.
    pub(super) fn object(&self, key: &Key) -> Option<&'r ObjectReport> {
        self.objects.get(key).copied()
    }

    /// A sentence without the two values of the change that it names.
    pub(super) fn without_values(&self, key: &Key, text: &str) -> String {
        let changes = self.object(key).map(|object| object.changes.as_slice()).unwrap_or_default();
        for change in changes {
            let place = sentence::way(&change.path, &change.within);
            let (before, after) = sentence::excerpt(change.before.as_ref(), change.after.as_ref());
            let said = format!("{place} {before} -> {after}");
            if let Some((start, end)) = text.split_once(&said) {
                return format!("{start}{place}, each from and to values of its own,{end}");
            }
        }
        text.to_owned()
    }

    /// An object with its own names.
    pub(super) fn own(&self, key: &Key) -> Own<'r> {
        let template = self.templates.get(key);
        let old_name = template.and_then(|(template, _)| template.renamed_from.as_deref());
        let owner = template.and_then(|(_, owner)| *owner).map(|owner| owner.key().to_string());
        Own { key: key.clone(), cluster: self.cluster(key), old_name, owner }
    }

    /// The object that a sentence begins with, and the rest of the sentence.
    pub(super) fn subject<'t>(&self, text: &'t str) -> Option<(Own<'r>, &'t str)> {
        let (called, rest) = called(text)?;
        Some((self.own(self.called.get(called)?), rest))
    }

    /// The object that a sentence begins with, where the report may speak of it in this sentence only: then nothing but its name counts.
    pub(super) fn named<'t>(&self, text: &'t str) -> Option<(Own<'r>, &'t str)> {
        self.subject(text).or_else(|| {
            let (called, rest) = called(text).filter(|(_, rest)| rest.starts_with(','))?;
            let (kind, name) = called.split_once(' ')?;
            let (namespace, name) =
                name.split_once('/').map_or((None, name), |(namespace, name)| (Some(namespace), name));
            let is_kind = kind.starts_with(|first: char| first.is_ascii_uppercase());
            is_kind.then(|| (self.own(&Key::of("", kind, namespace.map(str::to_owned), name)), rest))
        })
    }

    /// The cluster of an object: what the report says, else the one whose name its own name begins with, else the only one.
    fn cluster(&self, key: &Key) -> Option<ClusterName<'r>> {
        let known = self.known.get(&key.namespace.as_deref())?;
        let named = |name: &str| known.get(name).copied();
        if let Some(name) = self.of_owner.get(key) {
            return named(name);
        }
        if is_cluster(key) {
            return named(&key.name);
        }
        if let Some(name) = self.object(key).and_then(|object| object.cluster.as_deref()) {
            return named(name);
        }
        // An owner that has a new name itself could lead in a circle.
        if let Some(owner) = self.owner_of(key).filter(|owner| owner.renamed_from.is_none()) {
            return self.cluster(&owner.key());
        }
        match starts(&key.name).find_map(named) {
            Some(place) => Some(place),
            None if known.len() == 1 => known.values().next().copied(),
            None => None,
        }
    }
}

/// How a sentence calls what it begins with, as a kind and a name, and the rest of it.
fn called(text: &str) -> Option<(&str, &str)> {
    let kind = text.find(' ')?;
    let ends = text.get(kind + 1..)?.find([' ', ':', ',']).map_or(text.len(), |at| kind + 1 + at);
    Some((text.get(..ends)?, text.get(ends..)?))
}

fn is_cluster(key: &Key) -> bool {
    key.group == CORE && key.kind == CLUSTER
}

/// Whether a name is another one, or goes on behind it with a sign between.
fn begins_with(name: &str, start: &str) -> bool {
    name.strip_prefix(start).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// A name, and each shorter one that it goes on behind with a sign between, the longest first.
fn starts(name: &str) -> impl Iterator<Item = &str> {
    let signs = name.char_indices().rev().filter(|(_, sign)| !sign.is_alphanumeric());
    std::iter::once(name).chain(signs.map(|(at, _)| &name[..at]))
}

impl ObjectReport {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.api_version, &self.kind, self.namespace.as_deref(), &self.name)
    }
}

impl<'r> Own<'r> {
    /// A text with its own names taken out, so that it can be compared with what is said of another object.
    pub(super) fn pattern(&self, text: &str) -> String {
        if MARKS.iter().any(|mark| text.contains(mark)) {
            // A text that says such a mark itself is equal to nothing but itself.
            return format!("{ALONE}{}{ALONE}{text}", self.key);
        }
        let names = self.names().into_iter().zip(MARKS).filter_map(|(name, mark)| Some((name?, mark)));
        let mut marks: Vec<(&str, &str)> = names.filter(|(name, _)| !name.is_empty()).collect();
        // Of equal length the earlier one counts: sorting keeps their order.
        marks.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        replaced(text, &marks)
    }

    /// The pattern of a value: of every text in it.
    pub(super) fn pattern_of(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.pattern(text)),
            Value::Array(items) => items.iter().map(|item| self.pattern_of(item)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (self.pattern(key), self.pattern_of(value))).collect(),
            other => other.clone(),
        }
    }

    /// Its names, in the order of their marks.
    fn names(&self) -> [Option<&str>; 5] {
        let cluster = self.cluster.map(|cluster| cluster.name);
        let (namespace, name) = (self.key.namespace.as_deref(), Some(self.key.name.as_str()));
        [cluster, namespace, name, self.old_name, self.owner.as_deref()]
    }

    /// Namespace and name.
    pub(super) fn full(&self) -> String {
        let name = &self.key.name;
        self.key.namespace.as_ref().map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}"))
    }

    /// How it is called among others of its kind: by what is not its cluster's name.
    pub(super) fn short(&self) -> String {
        match self.cluster {
            Some(cluster) if begins_with(&self.key.name, cluster.name) => {
                self.key.name.replacen(cluster.name, OF_CLUSTER, 1)
            }
            _ => self.full(),
        }
    }
}

/// A text with whole names replaced, the first mark that fits at each place.
fn replaced(text: &str, marks: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(next) = rest.chars().next() {
        let starts = !before.is_some_and(char::is_alphanumeric);
        let found = marks.iter().find(|(name, _)| starts && begins_with(rest, name));
        let (written, width) = match found {
            Some((name, mark)) => (*mark, name.len()),
            None => (&rest[..next.len_utf8()], next.len_utf8()),
        };
        out.push_str(written);
        before = rest[..width].chars().next_back();
        rest = &rest[width..];
    }
    out
}

/// Objects that share a fate, as people call them together.
#[derive(Debug, Clone)]
pub(crate) struct Crowd<'r> {
    /// Their kind; the first one's where they are of several.
    pub kind: String,
    /// How many they are.
    pub count: usize,
    /// Their namespace, where they share one and `names` do not say it.
    pub namespace: Option<String>,
    /// Their names, each once; with `<cluster>` in them where they belong to several clusters.
    pub names: Vec<String>,
    /// Their clusters, as far as they are known.
    pub clusters: BTreeSet<ClusterName<'r>>,
    /// What stands for names that all of them share, and the names.
    shared: Vec<(&'static str, String)>,
}

impl<'r> Crowd<'r> {
    /// Of these objects; at least one.
    pub(super) fn of(members: &[Own<'r>]) -> Self {
        let clusters: BTreeSet<ClusterName<'r>> = members.iter().filter_map(|own| own.cluster).collect();
        let several = clusters.len() > 1;
        let mut seen = HashSet::default();
        let namespace = members.first().and_then(|own| own.key.namespace.as_ref());
        let namespace = namespace.filter(|_| !several);
        let namespace = namespace.filter(|one| members.iter().all(|own| own.key.namespace.as_ref() == Some(one)));
        let names = members.iter().map(|own| match (several, namespace) {
            (true, _) => own.short(),
            (false, Some(_)) => own.key.name.clone(),
            (false, None) => own.full(),
        });
        let names = names.filter(|name| seen.insert(name.clone())).collect();
        let mut shared = Vec::new();
        for (at, mark) in MARKS.into_iter().enumerate() {
            let mut own = members.iter().map(|own| own.names()[at]);
            let first = own.next().flatten();
            shared.extend(first.filter(|_| own.all(|name| name == first)).map(|name| (mark, name.to_owned())));
        }
        Self {
            kind: members.first().map(|own| own.key.kind.clone()).unwrap_or_default(),
            count: members.len(),
            namespace: namespace.cloned(),
            names,
            clusters,
            shared,
        }
    }

    /// A pattern as it is shown: with the names in it that all of them share.
    pub(super) fn shown(&self, pattern: &str) -> String {
        if pattern.contains(ALONE) {
            return pattern.split(ALONE).step_by(2).collect();
        }
        self.shared.iter().fold(pattern.to_owned(), |text, (mark, name)| text.replace(mark, name))
    }

    /// A value of patterns as it is shown: every text in it.
    pub(super) fn shown_value(&self, pattern: &Value) -> Value {
        match pattern {
            Value::String(text) => Value::from(self.shown(text)),
            Value::Array(items) => items.iter().map(|item| self.shown_value(item)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (self.shown(key), self.shown_value(value))).collect(),
            other => other.clone(),
        }
    }

    /// Kind, names and clusters in a few words; `all` is every cluster of the report, of which nobody needs the list again.
    #[must_use]
    pub(crate) fn label(&self, all: &BTreeSet<ClusterName<'_>>) -> String {
        let place = self.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
        let names = match self.names.as_slice() {
            [] => String::new(),
            names if names.len() <= LISTED => names.join(", "),
            names => first_and_more(names),
        };
        let clusters = self.of_clusters(all);
        let of = if clusters.is_empty() { clusters } else { format!(" in {clusters}") };
        format!("{} {place}{names}{of}", self.kind)
    }

    /// Their clusters in a few words; empty where it is one, which the names say.
    #[must_use]
    pub(crate) fn of_clusters(&self, all: &BTreeSet<ClusterName<'_>>) -> String {
        match self.clusters.len() {
            0 | 1 => String::new(),
            count if count == all.len() && count > LISTED => format!("{count} clusters"),
            count if count > LISTED => format!("{count} clusters ({})", listed(&self.clusters)),
            _ => listed(&self.clusters),
        }
    }
}

/// Names of clusters, numbered ones as a range.
#[must_use]
pub(crate) fn listed(places: &BTreeSet<ClusterName<'_>>) -> String {
    let namespaces: HashSet<Option<&str>> = places.iter().map(|place| place.namespace).collect();
    let alone = namespaces.len() <= 1 || places.iter().all(|place| place.namespace == Some(place.name));
    let label = |place: &ClusterName<'_>| match place.namespace.filter(|_| !alone) {
        Some(namespace) => format!("{namespace}/{}", place.name),
        None => place.name.to_owned(),
    };
    let mut labels: Vec<(String, Option<u64>, String)> = places.iter().map(|place| numbered(label(place))).collect();
    labels.sort();
    let mut out: Vec<String> = Vec::new();
    let mut rest = labels.as_slice();
    while let Some(first) = rest.first() {
        let run = 1 + rest.windows(2).take_while(|pair| follows(&pair[0], &pair[1])).count();
        if run > 2 {
            out.push(format!("{} to {}", first.2, rest[run - 1].2));
        } else {
            out.extend(rest[..run].iter().map(|one| one.2.clone()));
        }
        rest = &rest[run..];
    }
    out.join(", ")
}

/// What stands before the number at the end of a name, the number, and the name.
fn numbered(name: String) -> (String, Option<u64>, String) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[stem.len()..];
    let number = digits.parse().ok().filter(|_| digits.len() < 10);
    (stem.to_owned(), number, name)
}

/// Whether one name is the next after another, written in the same way.
fn follows(one: &(String, Option<u64>, String), next: &(String, Option<u64>, String)) -> bool {
    let padded = |name: &(String, Option<u64>, String)| name.2[name.0.len()..].starts_with('0');
    let alike = one.2.len() == next.2.len() || (!padded(one) && !padded(next));
    one.0 == next.0 && alike && one.1.zip(next.1).is_some_and(|(one, next)| one + 1 == next)
}
