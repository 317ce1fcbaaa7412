//! Objects that change alike, shown once; and of kinds with many ways to change, each change once with the objects that have it.

use super::names::{Crowd, Names, Own};
use super::{by_effect, by_role};
use crate::hashed::HashMap;
use crate::object::Location;
use crate::report::{ChangeReport, ObjectReport, Report};
use crate::tree::Value;

/// Most ways in which objects of one kind change before each change is shown on its own.
const WAYS: usize = 3;
/// Most values of its own that one place has before they are listed together.
const VALUES: usize = 3;

/// Objects that change alike.
#[derive(Debug)]
pub(crate) struct ObjectGroup<'r> {
    /// The first of them.
    pub first: &'r ObjectReport,
    /// All of them.
    pub crowd: Crowd<'r>,
    /// What is said of the objects as a whole.
    pub remarks: Vec<Remark<'r>>,
    /// What changes in them.
    pub changes: Vec<ChangeGroup<'r>>,
    /// Where they stand in what was rendered.
    pub locations: Vec<&'r Location>,
}

/// A sentence about objects as a whole.
#[derive(Debug)]
pub(crate) struct Remark<'r> {
    /// Those that it is about, where they are not all of the group.
    pub crowd: Option<Crowd<'r>>,
    /// The sentence.
    pub because: String,
    /// The rule that decided.
    pub rule: &'r str,
}

/// One change that several objects have.
#[derive(Debug)]
pub(crate) struct ChangeGroup<'r> {
    /// The change of the first of them.
    pub first: &'r ChangeReport,
    /// Those that have it, where they are not all of the group.
    pub crowd: Option<Crowd<'r>>,
    /// The two sides.
    pub sides: Sides<'r>,
    /// What is said about it, each sentence once.
    pub because: Vec<String>,
    /// Where it stands in what was rendered.
    pub locations: Vec<&'r Location>,
}

/// The two sides of a change.
#[derive(Debug)]
pub(crate) enum Sides<'r> {
    /// Equal everywhere, but for names that are each object's own.
    Same {
        /// Value before; absent where there was none.
        before: Option<Value>,
        /// Value after; absent where it goes away.
        after: Option<Value>,
    },
    /// A reference moves to a template of another name, which is shown as an object of its own.
    Renamed {
        /// Kind of the template.
        kind: &'r str,
        /// The first object's old and new name.
        example: (&'r str, &'r str),
    },
    /// Each object has values of its own.
    Each(Vec<Each<'r>>),
}

/// The values of one object.
#[derive(Debug)]
pub(crate) struct Each<'r> {
    /// The object, as people call it.
    pub object: String,
    /// Its values.
    pub change: &'r ChangeReport,
}

/// An object with what it is compared by.
struct Entry<'r> {
    object: &'r ObjectReport,
    own: Own<'r>,
    because: String,
    changes: Vec<Compared<'r>>,
}

/// A change with what it is compared by.
struct Compared<'r> {
    change: &'r ChangeReport,
    /// The template that it moves a reference to.
    template: Option<&'r ObjectReport>,
    /// The place, and what decided about it.
    place: String,
    /// The sentence.
    because: String,
    /// Both sides, without the names that are the object's own.
    sides: (Option<Value>, Option<Value>),
    /// All of it as one text.
    whole: String,
}

/// The objects that a person has to read about, in the order of the rows.
pub(super) fn objects<'r>(report: &'r Report, names: &Names<'r>) -> Vec<ObjectGroup<'r>> {
    let entries: Vec<Entry<'r>> =
        report.objects.iter().filter(|object| !object.is_quiet()).map(|object| entry(object, names)).collect();
    let mut out = Vec::new();
    for family in grouped(entries.iter().collect(), |entry| family(entry.object)) {
        let ways = grouped(family.clone(), |entry| way(entry));
        if ways.len() > WAYS {
            out.extend(group(&family));
        } else {
            out.extend(ways.iter().filter_map(|entries| group(entries)));
        }
    }
    out.sort_by_key(|group: &ObjectGroup<'_>| (by_effect(group.first.effect), by_role(&group.first.key())));
    out
}

/// What objects have to share so that one heading fits all of them.
fn family(object: &ObjectReport) -> String {
    let renamed = object.renamed_from.is_some();
    format!("{:?}", (&object.key().group, &object.kind, object.action, object.effect, renamed))
}

/// Everything about an object that is not its own name.
fn way(entry: &Entry<'_>) -> String {
    let changes: Vec<&str> = entry.changes.iter().map(|change| change.whole.as_str()).collect();
    format!("{:?}", (&entry.because, &entry.object.rule, changes))
}

fn entry<'r>(object: &'r ObjectReport, names: &Names<'r>) -> Entry<'r> {
    let own = names.own(&object.key());
    let changes = object.changes.iter().map(|change| compared(change, names.rename(object, change), &own)).collect();
    Entry { because: own.pattern(&object.because), changes, own, object }
}

fn compared<'r>(change: &'r ChangeReport, template: Option<&'r ObjectReport>, own: &Own<'r>) -> Compared<'r> {
    let sides = match template {
        Some(template) => (Some(Value::from(template.kind.as_str())), None),
        None => {
            let side = |value: &Option<Value>| value.as_ref().map(|value| own.pattern_of(value));
            (side(&change.before), side(&change.after))
        }
    };
    let item = change.key.as_deref().map(|key| own.pattern(key));
    let place = format!("{:?}", (&change.path, &change.within, item, change.effect, change.touches, &change.rule));
    // A sentence that names the templates says no more than the reference does.
    let because = match template {
        Some(template) => {
            let old = template.renamed_from.as_deref().unwrap_or_default();
            own.pattern(&change.because.replace(&template.name, "<new>").replace(old, "<old>"))
        }
        None => own.pattern(&change.because),
    };
    let whole = format!("{place}\n{because}\n{sides:?}");
    Compared { change, template, place, because, sides, whole }
}

/// Items that are alike, in the order of the first of each.
fn grouped<T: Copy>(items: Vec<T>, alike: impl Fn(&T) -> String) -> Vec<Vec<T>> {
    let mut places: HashMap<String, usize> = HashMap::default();
    let mut out: Vec<Vec<T>> = Vec::new();
    for item in items {
        let place = *places.entry(alike(&item)).or_insert(out.len());
        match out.get_mut(place) {
            Some(group) => group.push(item),
            None => out.push(vec![item]),
        }
    }
    out
}

/// A change and the object that has it.
type Of<'e, 'r> = (&'e Entry<'r>, &'e Compared<'r>);

fn group<'r>(entries: &[&Entry<'r>]) -> Option<ObjectGroup<'r>> {
    let first = entries.first()?.object;
    let crowd = crowd(entries.iter().copied());
    let all = entries.len();
    let some = |group: &[&Entry<'r>]| (group.len() < all).then(|| self::crowd(group.iter().copied()));
    let remarks = grouped(entries.to_vec(), |entry| format!("{:?}", (&entry.because, &entry.object.rule)));
    let remarks = remarks.iter().filter_map(|group| {
        let first = group.first().filter(|first| !first.because.is_empty())?;
        let (own, part) = (self::crowd(group.iter().copied()), some(group));
        Some(Remark { because: own.shown(&first.because), crowd: part, rule: &first.object.rule })
    });
    let changes: Vec<Of<'_, 'r>> =
        entries.iter().flat_map(|entry| entry.changes.iter().map(move |change| (*entry, change))).collect();
    let mut groups = Vec::new();
    for place in grouped(changes, |(_, change)| change.place.clone()) {
        let equal = grouped(place.clone(), |(_, change)| format!("{:?}", change.sides));
        if equal.len() > VALUES {
            groups.extend(each(&place, all));
        } else {
            groups.extend(equal.iter().filter_map(|group| same(group, all)));
        }
    }
    groups.sort_by_key(|group| by_effect(group.first.effect));
    let locations = entries.iter().filter_map(|entry| entry.object.location.as_ref()).collect();
    Some(ObjectGroup { first, crowd, remarks: remarks.collect(), changes: groups, locations })
}

fn crowd<'e, 'r: 'e>(entries: impl Iterator<Item = &'e Entry<'r>>) -> Crowd<'r> {
    Crowd::of(&entries.map(|entry| entry.own.clone()).collect::<Vec<_>>())
}

/// The part of a group that has a change; `None` where all of it has.
fn part<'r>(group: &[Of<'_, 'r>], all: usize) -> Option<Crowd<'r>> {
    (group.len() < all).then(|| crowd(group.iter().map(|(entry, _)| *entry)))
}

/// A change that is the same in all of these.
fn same<'r>(group: &[Of<'_, 'r>], all: usize) -> Option<ChangeGroup<'r>> {
    let whole = crowd(group.iter().map(|(entry, _)| *entry));
    let (_, compared) = group.first()?;
    let first = compared.change;
    let side = |value: &Option<Value>| value.as_ref().map(|value| whole.shown_value(value));
    let sides = match compared.template {
        Some(template) if group.len() > 1 => Sides::Renamed {
            kind: &template.kind,
            example: (template.renamed_from.as_deref().unwrap_or_default(), &template.name),
        },
        Some(_) => Sides::Same { before: first.before.clone(), after: first.after.clone() },
        None => Sides::Same { before: side(&compared.sides.0), after: side(&compared.sides.1) },
    };
    Some(ChangeGroup {
        first,
        crowd: part(group, all),
        sides,
        because: because(group, &whole),
        locations: locations(group),
    })
}

/// A change whose values are each object's own.
fn each<'r>(group: &[Of<'_, 'r>], all: usize) -> Option<ChangeGroup<'r>> {
    let (_, compared) = group.first()?;
    let whole = crowd(group.iter().map(|(entry, _)| *entry));
    let values = group.iter().map(|(entry, one)| Each { object: entry.own.full(), change: one.change });
    Some(ChangeGroup {
        first: compared.change,
        crowd: part(group, all),
        sides: Sides::Each(values.collect()),
        because: because(group, &whole),
        locations: locations(group),
    })
}

/// What is said about a change, each sentence once.
fn because<'r>(group: &[Of<'_, 'r>], crowd: &Crowd<'r>) -> Vec<String> {
    if let [(_, only)] = group {
        return vec![only.change.because.clone()];
    }
    let mut out: Vec<String> = Vec::new();
    for (_, compared) in group {
        let text = crowd.shown(&compared.because);
        if !out.contains(&text) {
            out.push(text);
        }
    }
    out
}

/// Where a change stands.
fn locations<'r>(group: &[Of<'_, 'r>]) -> Vec<&'r Location> {
    group.iter().filter_map(|(_, compared)| compared.change.location.as_ref()).collect()
}
