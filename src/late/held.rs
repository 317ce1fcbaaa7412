//! The value that live objects hold in the places of a placeholder: what was written there last time, when neither a source nor a pin
//! knows it any more. It counts only where every place that can be compared says the same.

use std::collections::BTreeMap;

use super::document::Ways;
use super::kind;
use super::layers::{self, Spot};
use super::stream::Marked;
use super::targets::Targets;
use crate::model::some_of;
use crate::object::{Inventory, Key, Object, Path, Segment as Step};
use crate::policy::LateValue;
use crate::tree::Value;
use crate::yaml::Segment;

/// What live holds in the places of one late value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// The different values, each of its type and no placeholder, with the places that hold them.
    pub(super) values: BTreeMap<String, Vec<String>>,
}

impl Held {
    /// The value that all places agree on.
    pub(super) fn agreed(&self) -> Option<&str> {
        self.most().filter(|_| self.values.len() == 1)
    }

    /// The value that most places hold.
    pub(super) fn most(&self) -> Option<&str> {
        self.ranked().first().map(|(value, _)| *value)
    }

    /// The places that hold one.
    pub(super) fn places(&self) -> usize {
        self.values.values().map(Vec::len).sum()
    }

    /// The values, that of the most places first.
    fn ranked(&self) -> Vec<(&str, &[String])> {
        let mut all: Vec<_> = self.values.iter().map(|(value, places)| (value.as_str(), places.as_slice())).collect();
        all.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
        all
    }

    /// The values in that order.
    pub(super) fn choice(&self) -> impl Iterator<Item = &str> {
        self.ranked().into_iter().map(|(value, _)| value)
    }

    /// Which values stand where, in words; the odd places are named.
    pub(super) fn told(&self) -> String {
        let ranked = self.ranked();
        let count = |places: &[String]| {
            if places.len() == 1 { "one place".to_owned() } else { format!("{} places", places.len()) }
        };
        match ranked.as_slice() {
            [(value, [_])] => format!("{value} in its place"),
            [(value, places)] => format!("{value} in all {} places of it", places.len()),
            [(value, places), odd @ ..] => {
                let odd = odd.iter().map(|(value, places)| format!("{value} in {}", named(places)));
                std::iter::once(format!("{value} in {}", count(places))).chain(odd).collect::<Vec<_>>().join(", ")
            }
            [] => "nothing".to_owned(),
        }
    }
}

/// A few places by name.
fn named(places: &[String]) -> String {
    let mut places: Vec<&str> = places.iter().map(String::as_str).collect();
    places.dedup();
    some_of(&places, 3)
}

/// What live holds in the places of the late value at `place` in the policy. `unknown` says which texts are no value.
pub(super) fn held(
    place: usize,
    value: &LateValue,
    marked: &[Marked<'_>],
    targets: &Targets<'_>,
    live: &Inventory,
    unknown: impl Fn(&str) -> bool,
) -> Held {
    let mut held = Held::default();
    for document in marked.iter().filter(|document| document.values().any(|other| other == place)) {
        let Some(object) = document.key().and_then(|key| object(live, &key)) else { continue };
        let Ok(content) = object.value() else { continue };
        let ways = Ways::of(&document.tree);
        for hit in document.hits.iter().filter(|hit| !hit.key) {
            let Some(text) = document.tree.scalar_text(hit.node) else { continue };
            let path = ways.to(hit.node);
            for candidate in candidates(&content, &path) {
                let found = aligned(text, &hit.spots, candidate, targets, place).unwrap_or_default();
                let found: Vec<&str> = found.iter().map(|text| text.trim_matches(['[', ']'])).collect();
                let fits = |text: &&str| kind::check(value, text).is_ok() && !unknown(text);
                if !found.is_empty() && found.iter().all(fits) {
                    let name = format!("{}: {}", object.key, written(&path));
                    found
                        .into_iter()
                        .for_each(|text| held.values.entry(text.to_owned()).or_default().push(name.clone()));
                    break;
                }
            }
        }
    }
    held
}

/// The live object of a document; without a namespace on one of the two sides, kind and name decide.
pub(super) fn object<'l>(live: &'l Inventory, key: &Key) -> Option<&'l Object> {
    live.get(key).or_else(|| {
        let mut fitting = live.named(&key.name).filter(|object| {
            let other = &object.key;
            other.group == key.group
                && other.kind == key.kind
                && (other.namespace.is_none() || key.namespace.is_none() || other.namespace == key.namespace)
        });
        fitting.next().filter(|_| fitting.next().is_none())
    })
}

/// A way through a document as people write it.
pub(super) fn written(steps: &[Segment]) -> Path {
    let mut path = Path::root();
    for step in steps {
        path.push(match step {
            Segment::Key(key) => Step::Key(key.clone()),
            Segment::Index(place) => Step::Index(*place),
        });
    }
    path
}

/// The texts at a path: the very place first, then the same place of the other items of the last list on the way, since lists
/// grow at any end.
fn candidates<'v>(object: &'v Value, path: &[Segment]) -> Vec<&'v str> {
    let step = |value: &'v Value, segment: &Segment| match segment {
        Segment::Key(key) => value.get(key.as_str()),
        Segment::Index(place) => value.get(*place),
    };
    let walk = |from: &'v Value, path: &[Segment]| path.iter().try_fold(from, step).and_then(Value::as_str);
    let mut found: Vec<&str> = walk(object, path).into_iter().collect();
    let list = path.iter().rposition(|segment| matches!(segment, Segment::Index(_)));
    if let Some(at) = list
        && let Some(Value::Array(items)) = path[..at].iter().try_fold(object, step)
    {
        found.extend(items.iter().filter_map(|item| walk(item, &path[at + 1..])));
    }
    found
}

/// What stands in `live` where `text` has placeholders of one late value, if the rest of the two is the same.
fn aligned(text: &str, spots: &[Spot], live: &str, targets: &Targets<'_>, place: usize) -> Option<Vec<String>> {
    let first = spots.first()?;
    let mut rest = live.strip_prefix(&text[..first.range.start])?;
    let mut found = Vec::new();
    for (at, spot) in spots.iter().enumerate() {
        let next = spots.get(at + 1);
        let between = &text[spot.range.end..next.map_or(text.len(), |next| next.range.start)];
        let length = match next {
            Some(_) if between.is_empty() => return None,
            Some(_) => rest.get(1..)?.find(between)? + 1,
            None => rest.strip_suffix(between)?.len(),
        };
        let (taken, after) = (rest.get(..length)?, rest.get(length..)?);
        if spot.values().any(|value| value == place) {
            found.extend(behind(&text[spot.range.clone()], spot, taken, targets, place)?);
        }
        rest = after.get(between.len()..)?;
    }
    Some(found)
}

/// What stands in the place of one spot: the value itself, or what is packed in it.
fn behind(own: &str, spot: &Spot, taken: &str, targets: &Targets<'_>, place: usize) -> Option<Vec<String>> {
    if spot.places.len() == 1 && targets.iter().any(|target| target.placeholder == own) {
        return Some(vec![taken.to_owned()]);
    }
    let (own, live) = (layers::open(own)?, layers::open(taken)?);
    aligned(&own, &layers::spots(&own, targets), &live, targets, place)
}
