//! Fields and template names that the policy keeps as they are: where a render says something else than what was there on first
//! sight, it is set back in place and said. A chart upgrade that would replace Machines for a name alone then replaces none.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::document::Ways;
use super::held;
use crate::model::Finding;
use crate::object::Key;
use crate::policy::{FieldPin, PinMode, Policy};
use crate::rules::Pattern;
use crate::tree::Value;
use crate::world::{World, WriteMethod};
use crate::yaml::{self, Edit, New, NodeId, NodeKind, Patch, Segment, Tree};

/// A stream with its pinned fields set back.
#[derive(Debug, Default)]
pub struct Kept {
    /// The new bytes; `None` where nothing was set back.
    pub bytes: Option<Vec<u8>>,
    /// What was set back, and what could not be.
    pub findings: Vec<Finding>,
}

/// One document that is an object.
pub(super) struct Document<'s> {
    pub(super) tree: Tree<'s>,
    pub(super) key: Key,
}

/// The path that stands for the name of a template.
const NAME: &str = "metadata.name";

/// Sets back the pinned fields of a stream. What was there is what the last manifest said where the host writes merge patches
/// (a value that stays the same there is not sent, so drift in live stays as it is), else what live holds.
#[must_use]
pub(crate) fn keep(stream: &[u8], policy: &Policy, world: &World) -> Kept {
    let pins = &policy.pins.fields;
    if pins.is_empty() {
        return Kept::default();
    }
    let documents = documents(stream);
    let mut kept = Kept::default();
    let mut patches: Vec<Patch> = Vec::new();
    let names = names(&documents, pins, world, &mut kept.findings);
    for document in &documents {
        let mut edits = set_back(document, pins, world, &mut kept.findings);
        edits.extend(renamed(document, world, &names));
        match document.tree.edit(&edits) {
            Ok(found) => patches.extend(found),
            Err(_) => {
                kept.findings.push(finding(&document.key, "its pinned fields cannot be set back in place".to_owned()));
            }
        }
    }
    if !patches.is_empty() {
        kept.bytes = Some(yaml::apply(stream, &patches));
    }
    kept
}

fn finding(key: &Key, message: String) -> Finding {
    Finding::new("pinned-field", key.clone(), message)
}

/// The documents of a stream that are objects; what cannot be read is said elsewhere.
pub(super) fn documents(stream: &[u8]) -> Vec<Document<'_>> {
    let sections = yaml::split(stream).unwrap_or_default();
    let filled = sections.iter().filter(|section| !section.is_blank(stream));
    let read = filled.filter_map(|section| {
        let tree = yaml::read_section(stream, section).ok()?;
        let key = super::stream::key(&tree)?;
        Some(Document { tree, key })
    });
    read.collect()
}

/// What was there of an object before this render.
pub(super) fn before(world: &World, key: &Key) -> Option<Value> {
    let live = held::object(&world.live, key);
    let base = held::object(&world.base.objects, key);
    let merges = world.release.as_ref().is_none_or(|release| release.method == WriteMethod::MergePatch);
    let chosen = match (base, live) {
        (Some(base), Some(_)) if merges => base,
        (_, Some(live)) => live,
        (Some(base), None) => base,
        (None, None) => return None,
    };
    chosen.value().ok().map(std::borrow::Cow::into_owned)
}

/// The edits that set back the pinned fields of one document.
fn set_back(document: &Document<'_>, pins: &[FieldPin], world: &World, findings: &mut Vec<Finding>) -> Vec<Edit> {
    let patterns: Vec<(&FieldPin, Pattern)> = pins
        .iter()
        .filter(|pin| pin.kind == document.key.kind && pin.path != NAME)
        .filter_map(|pin| Some((pin, Pattern::parse(&pin.path).ok()?)))
        .collect();
    if patterns.is_empty() {
        return Vec::new();
    }
    let before = before(world, &document.key);
    let Ok(rendered) = document.tree.to_json() else { return Vec::new() };
    let ways = Ways::of(&document.tree);
    let mut edits = Vec::new();
    let mut done = NodeId(0);
    for node in document.tree.nodes() {
        let steps = ways.to(node);
        if node.0 < done.0 || steps.is_empty() {
            continue;
        }
        let path = held::written(&steps);
        let Some((pin, _)) = patterns.iter().find(|(_, pattern)| pattern.matches(&path)) else { continue };
        done = document.tree.after(node);
        let Some(new) = path.get(&rendered) else { continue };
        let there = before.as_ref().and_then(|before| matching(before, &rendered, &steps));
        let (old, said) = match pin.pin {
            PinMode::Once => (there, "is pinned and was set back to what it was"),
            PinMode::Manual => {
                (pin.value.as_ref(), "is set by hand only (pin: manual) and was set to what the policy says")
            }
            PinMode::Follow => (there, "is followed (pin: follow) and is something else than it was"),
        };
        let Some(old) = old.filter(|old| *old != new) else { continue };
        findings.push(finding(&document.key, format!("{}: {path} {said}", document.key)).at(path));
        if pin.pin != PinMode::Follow {
            edits.push(Edit { node, new: New::Value(old.clone()) });
        }
    }
    edits
}

/// The value at the same place of what was there: items of lists are the same by what names them, else by their place.
fn matching<'v>(mut old: &'v Value, mut new: &Value, steps: &[Segment]) -> Option<&'v Value> {
    for step in steps {
        match step {
            Segment::Key(key) => (old, new) = (old.get(key.as_str())?, new.get(key.as_str())?),
            Segment::Index(place) => {
                let item = new.get(*place)?;
                (old, new) = (item_of(old, item, *place)?, item);
            }
        }
    }
    Some(old)
}

/// The item of an old list that an item of the new one stands for: the one of its name, else the one in its place.
pub(super) fn item_of<'v>(old: &'v Value, item: &Value, place: usize) -> Option<&'v Value> {
    match ["path", "name", "key", "type"].into_iter().find(|name| item.get(name).is_some()) {
        Some(name) => old.as_array()?.iter().find(|other| other.get(name) == item.get(name)),
        None => old.get(place),
    }
}

/// New names of templates to the old ones that they are set back to, by namespace and kind.
type Names = HashMap<(Option<String>, String, String), String>;

/// The namespace that an object is in, as far as it says so: what says none is in that of the release.
fn home<'k>(key: &'k Key, world: &'k World) -> Option<&'k str> {
    key.namespace.as_deref().or(world.host.namespace.as_deref())
}

/// Which templates only have a new name: an owner refers to it where it referred to the old one before, and the content is the same.
fn names(documents: &[Document<'_>], pins: &[FieldPin], world: &World, findings: &mut Vec<Finding>) -> Names {
    let kinds: BTreeSet<&str> =
        pins.iter().filter(|pin| pin.path == NAME && pin.pin == PinMode::Once).map(|pin| pin.kind.as_str()).collect();
    let mut wishes: BTreeMap<(Option<&str>, String, String), BTreeSet<String>> = BTreeMap::new();
    if kinds.is_empty() {
        return Names::new();
    }
    for document in documents {
        let Some(before) = before(world, &document.key) else { continue };
        let ways = Ways::of(&document.tree);
        for (node, kind, name) in references(&document.tree, &kinds) {
            let Some(old) = text_at(&before, &ways.to(node)) else { continue };
            if old != name {
                wishes.entry((home(&document.key, world), kind, name)).or_default().insert(old);
            }
        }
    }
    let mut names = Names::new();
    for ((namespace, kind, name), olds) in wishes {
        let is_here = |key: &Key| home(key, world) == namespace && key.kind == kind;
        let template =
            |name: &str| documents.iter().find(|document| is_here(&document.key) && document.key.name == name);
        let Some(new) = template(&name) else { continue };
        let old = match olds.len() {
            1 => olds.into_iter().next().filter(|old| template(old).is_none()),
            _ => None,
        };
        let same = old.as_ref().and_then(|old| {
            let before = before(world, &new.key.with_name(old.clone()))?;
            Some(is_same(&new.tree.to_json().ok()?, &before))
        });
        match (old, same) {
            (Some(old), Some(true)) => {
                let message = format!("{kind} {name} holds what {old} holds, so its pinned name was set back");
                findings.push(finding(&new.key, message));
                names.insert((namespace.map(str::to_owned), kind, name), old);
            }
            _ => {
                let message = format!("{kind} {name} holds something else than before, so its new name stays");
                findings.push(finding(&new.key, message));
            }
        }
    }
    names
}

/// The names in references to these kinds: node, kind and name.
fn references(tree: &Tree<'_>, kinds: &BTreeSet<&str>) -> Vec<(NodeId, String, String)> {
    let maps = tree.nodes().filter(|node| matches!(tree.node(*node).kind, NodeKind::Map { .. }));
    let found = maps.filter_map(|map| {
        let kind = tree.string(tree.get(map, "kind")?).filter(|kind| kinds.contains(kind))?;
        let name = tree.get(map, "name")?;
        Some((name, kind.to_owned(), tree.string(name)?.to_owned()))
    });
    found.collect()
}

fn text_at(value: &Value, steps: &[Segment]) -> Option<String> {
    let found = steps.iter().try_fold(value, |value, step| match step {
        Segment::Key(key) => value.get(key.as_str()),
        Segment::Index(place) => value.get(*place),
    });
    found.and_then(Value::as_str).map(str::to_owned)
}

/// Whether a rendered template holds nothing else than one that is there, defaults of the API server apart.
fn is_same(rendered: &Value, before: &Value) -> bool {
    fn within(new: &Value, old: &Value) -> bool {
        match (new, old) {
            (Value::Object(new), Value::Object(old)) => {
                new.iter().all(|(key, value)| old.get(key).is_some_and(|other| within(value, other)))
            }
            (Value::Array(new), Value::Array(old)) => {
                new.len() == old.len() && new.iter().zip(old).all(|(new, old)| within(new, old))
            }
            (new, old) => new == old,
        }
    }
    let spec = |value: &Value| value.get("spec").cloned().unwrap_or_default();
    // What was rendered before and is not any more is a change, which only a manifest can show.
    let (new, old) = (spec(rendered), spec(before));
    new == old || before.pointer("/metadata/uid").is_some() && within(&new, &old)
}

/// The edits that write old names in one document: its own, and those in its references.
fn renamed(document: &Document<'_>, world: &World, names: &Names) -> Vec<Edit> {
    let mut edits = Vec::new();
    let to = |name: &str| New::Value(Value::from(name));
    let namespace = home(&document.key, world).map(str::to_owned);
    let own = (namespace.clone(), document.key.kind.clone(), document.key.name.clone());
    if let Some(old) = names.get(&own)
        && let Some(node) = document.tree.at(&["metadata".into(), "name".into()])
    {
        edits.push(Edit { node, new: to(old) });
    }
    let kinds: BTreeSet<&str> = names.keys().map(|(_, kind, _)| kind.as_str()).collect();
    for (node, kind, name) in references(&document.tree, &kinds) {
        if let Some(old) = names.get(&(namespace.clone(), kind, name)) {
            edits.push(Edit { node, new: to(old) });
        }
    }
    edits
}
