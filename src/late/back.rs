//! Sets fields of a stream back to what they were, so that what would replace Machines does not go out and the rest does.
//! What a document should say is compared with what it says, and only the difference is written.

use std::collections::HashMap;

use super::fields::{Document, before, documents, item_of};
use crate::object::{Key, Path, Segment};
use crate::tree::Value;
use crate::world::World;
use crate::yaml::{self, Edit, New, NodeId, Patch, Spot, Tree};

/// The fields of one object that stay as they are.
#[derive(Clone, PartialEq)]
pub(crate) struct Stays {
    /// The object, by its new name where it is a template that took the place of another one.
    pub key: Key,
    /// The name of that other one.
    pub renamed_from: Option<String>,
    /// What is live, in the shape of the rendered version.
    pub live: Option<Value>,
    /// The fields, in the rendered version's names.
    pub paths: Vec<Path>,
}

impl std::fmt::Debug for Stays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stays").field("key", &self.key).field("paths", &self.paths).finish_non_exhaustive()
    }
}

/// Why a field cannot stay as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoWayBack {
    /// The chart does not render it any more, or holds it inside of a List, or says nothing that was there before.
    #[error("{0} cannot stay as it is: no document of the stream holds it")]
    NotInStream(Key),
    /// Nothing is known that it was before.
    #[error("{0} cannot stay as it is: it is new")]
    New(Key),
    /// The field does not come from the stream.
    #[error("{0}: {1} cannot stay as it is: the stream does not say it")]
    NotSaid(Key, Path),
    /// The document cannot be written in place.
    #[error("{0}: the fields that should stay cannot be written in place ({1})")]
    NotInPlace(Key, String),
}

/// New names of templates to the old ones, by kind.
type Names<'a> = HashMap<(&'a str, &'a str), &'a str>;

/// The stream with these fields as they were. A template of a new name gets its old name and its old spec, and whoever
/// refers to it refers to the old one.
///
/// What it was is what the last manifest said where the host writes merge patches (a value that stays the same there is not
/// sent, so drift in live stays as it is), else what is live.
///
/// # Errors
/// The first field that cannot stay as it is. Nothing is written then.
pub(crate) fn set_back(stream: &[u8], all: &[Stays], world: &World) -> Result<Vec<u8>, NoWayBack> {
    let documents = documents(stream);
    let mut wanted: Vec<Option<Value>> = vec![None; documents.len()];
    for stays in all {
        let place = place_of(&documents, &stays.key).ok_or_else(|| NoWayBack::NotInStream(stays.key.clone()))?;
        let document = &documents[place];
        let not_in_place = |error: yaml::Error| NoWayBack::NotInPlace(stays.key.clone(), error.to_string());
        let rendered = document.tree.to_json().map_err(not_in_place)?;
        let target = wanted[place].get_or_insert(rendered);
        keep(target, stays, world)?;
    }
    let names: Names<'_> = all
        .iter()
        .filter_map(|stays| Some(((stays.key.kind.as_str(), stays.key.name.as_str()), stays.renamed_from.as_deref()?)))
        .collect();
    let mut patches = Vec::new();
    for (document, target) in documents.iter().zip(wanted) {
        let Ok(rendered) = document.tree.to_json() else { continue };
        let mut target = target.unwrap_or_else(|| rendered.clone());
        refer_back(&mut target, &names);
        let found = written(document, &rendered, &target);
        patches.extend(found.map_err(|why| NoWayBack::NotInPlace(document.key.clone(), why))?);
    }
    Ok(yaml::apply(stream, &patches))
}

/// The patches after which a document says what it should, and nothing else.
fn written(document: &Document<'_>, rendered: &Value, target: &Value) -> Result<Vec<Patch>, String> {
    let Some(root) = document.tree.root() else { return Ok(Vec::new()) };
    let mut edits = Vec::new();
    differences(&document.tree, root, (rendered, target), &mut edits);
    let patches = document.tree.edit(&edits).map_err(|error| error.to_string())?;
    // An anchor is written once and read at every place that refers to it.
    match document.tree.says_after(&patches) {
        Ok(says) if says == *target => Ok(patches),
        Ok(_) => Err("a place that shares its text with another one would move with it".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The one document of an object. A document without a namespace is in that of the release.
fn place_of(documents: &[Document<'_>], key: &Key) -> Option<usize> {
    let is_it = |document: &Document<'_>| {
        let other = &document.key;
        let namespace = other.namespace.is_none() || other.namespace == key.namespace;
        other.group == key.group && other.kind == key.kind && other.name == key.name && namespace
    };
    let mut found = documents.iter().enumerate().filter(|(_, document)| is_it(document)).map(|(place, _)| place);
    found.next().filter(|_| found.next().is_none())
}

/// Writes into what a document says what its fields were.
fn keep(target: &mut Value, stays: &Stays, world: &World) -> Result<(), NoWayBack> {
    let name = stays.renamed_from.clone().unwrap_or_else(|| stays.key.name.clone());
    let there = before(world, &stays.key.with_name(name.clone()));
    // Only what has the rendered version's names can be compared with it.
    let there = there.filter(|there| there.get("apiVersion") == target.get("apiVersion"));
    let old = there.as_ref().or(stays.live.as_ref()).ok_or_else(|| NoWayBack::New(stays.key.clone()))?;
    if stays.renamed_from.is_some() {
        let fault = || NoWayBack::NotSaid(stays.key.clone(), Path::root().key("spec"));
        *target.get_mut("spec").ok_or_else(fault)? = old.get("spec").ok_or_else(fault)?.clone();
        target["metadata"]["name"] = Value::from(name);
        return Ok(());
    }
    for path in &stays.paths {
        stay(target, old, path.segments()).ok_or_else(|| NoWayBack::NotSaid(stays.key.clone(), path.clone()))?;
    }
    Ok(())
}

/// Gives one place the value that it had. `None` where the new side has nothing there, nor had the old one.
fn stay(new: &mut Value, old: &Value, steps: &[Segment]) -> Option<()> {
    let (step, rest) = steps.split_first()?;
    let Segment::Key(key) = step else { return None };
    let fields = new.as_object_mut()?;
    let Some(was) = old.get(key) else {
        // The whole of it is new.
        return fields.shift_remove(key).map(|_| ());
    };
    let whole = |fields: &mut crate::tree::Map| {
        fields.insert(key.clone(), was.clone());
        Some(())
    };
    let Some(is) = fields.get_mut(key) else { return whole(fields) };
    match rest {
        [] => whole(fields),
        [Segment::Key(_), ..] if is.is_object() && was.is_object() => stay(is, was, rest),
        [Segment::Index(place), inner @ ..] => {
            let items = is.as_array().map(Vec::len);
            let same = items.is_some() && items == was.as_array().map(Vec::len);
            let item = is.get_mut(*place).filter(|_| same && !inner.is_empty());
            let done = item.and_then(|item| {
                let was = item_of(was, item, *place)?;
                stay(item, was, inner)
            });
            done.or_else(|| whole(fields))
        }
        _ => whole(fields),
    }
}

/// References to templates of a new name get the old one.
fn refer_back(value: &mut Value, names: &Names<'_>) {
    match value {
        Value::Object(fields) => {
            let text = |field: &str| fields.get(field).and_then(Value::as_str);
            let old = text("kind").zip(text("name")).and_then(|reference| names.get(&reference)).copied();
            if let Some(old) = old {
                fields.insert("name".to_owned(), Value::from(old));
            }
            fields.values_mut().for_each(|inner| refer_back(inner, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| refer_back(inner, names)),
        _ => {}
    }
}

/// The edits that make a document say what it should, each as deep as it can be.
fn differences(tree: &Tree<'_>, node: NodeId, (is, wanted): (&Value, &Value), edits: &mut Vec<Edit>) {
    if is == wanted {
        return;
    }
    if let (Value::String(is), Value::String(wanted)) = (is, wanted) {
        edits.push(Edit { node, new: respelled(is, wanted) });
    } else if let Some(children) = children(tree, node, is, wanted) {
        children.into_iter().for_each(|(child, sides)| differences(tree, child, sides, edits));
    } else {
        edits.push(Edit { node, new: New::Value(wanted.clone()) });
    }
}

/// A text in which only what differs is written anew, so that a block stays a block.
fn respelled(is: &str, wanted: &str) -> New {
    let same = |(left, right): &(char, char)| left == right;
    let start: usize = is.chars().zip(wanted.chars()).take_while(same).map(|(left, _)| left.len_utf8()).sum();
    let rest = (&is[start..], &wanted[start..]);
    let from_behind = rest.0.chars().rev().zip(rest.1.chars().rev()).take_while(same);
    let end: usize = from_behind.map(|(left, _)| left.len_utf8()).sum();
    let with = rest.1[..rest.1.len() - end].to_owned();
    New::Text { spots: vec![Spot { range: start..is.len() - end, with }], number: false }
}

/// A node below another one, with what it says and what it should say.
type Child<'v> = (NodeId, (&'v Value, &'v Value));

/// The children that differ, where both sides have the same ones and each has a node of its own.
fn children<'v>(tree: &Tree<'_>, node: NodeId, is: &'v Value, wanted: &'v Value) -> Option<Vec<Child<'v>>> {
    match (is, wanted) {
        (Value::Object(is), Value::Object(wanted)) if is.len() == wanted.len() => {
            let pairs = is.iter().map(|(key, value)| Some((key, value, wanted.get(key)?)));
            let pairs: Vec<_> = pairs.collect::<Option<_>>()?;
            let differ = pairs.into_iter().filter(|(_, is, wanted)| is != wanted);
            differ.map(|(key, is, wanted)| Some((tree.get(node, key)?, (is, wanted)))).collect()
        }
        (Value::Array(is), Value::Array(wanted)) if is.len() == wanted.len() => {
            let pairs = is.iter().zip(wanted).enumerate().filter(|(_, (is, wanted))| is != wanted);
            pairs.map(|(place, sides)| Some((tree.find(node, &[place.into()])?, sides))).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
