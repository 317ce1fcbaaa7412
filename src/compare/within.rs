//! Strings that are documents: base64, gzip, cloud-init, YAML, JSON. A change in one is named by the place inside, also
//! through several layers; a change of form alone is said to be that, and still is a change.

use super::form;
use std::cell::Cell;
use std::io::Read as _;
use std::rc::Rc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::diff::part_changes_within;
use crate::model::{Change, Within};
use crate::object::Path;
use crate::tree::{Map, Value};
use crate::yaml;

/// Most bytes that a gzipped text may unfold to; more is left alone.
pub(super) const LARGEST: usize = 8 * 1024 * 1024;
/// Most bytes that are read behind encodings for one object, both sides together; what is packed beyond is compared as it stands.
const LARGEST_TOGETHER: usize = 32 * 1024 * 1024;
/// How many documents may stand in each other; each is a walk of its own.
const DEEPEST: usize = 12;

/// What may still be read of the documents in the strings of one object.
#[derive(Debug, Clone)]
pub(super) struct Layers {
    left: Rc<Cell<usize>>,
    depth: usize,
}

impl Default for Layers {
    fn default() -> Self {
        Self { left: Rc::new(Cell::new(LARGEST_TOGETHER)), depth: 0 }
    }
}

impl Layers {
    /// One document further in; `None` where that is too deep or too much.
    fn below(&self, read: usize) -> Option<Self> {
        self.left.set(self.left.get().saturating_sub(read));
        let more = self.depth < DEEPEST && self.left.get() > 0;
        more.then(|| Self { left: Rc::clone(&self.left), depth: self.depth + 1 })
    }
}
/// Fewest characters that are taken for base64 of a text; shorter ones are words.
const SHORTEST_BASE64: usize = 16;

/// What a string was read as.
enum Reading {
    /// Another text, by undoing an encoding.
    Text(&'static str, String),
    /// A tree.
    Tree(&'static str, Value),
}

/// The changes between two strings at `path` that both are documents of one sort; `None` where they are not.
///
/// Where both mean the same, one change is left, with both strings whole. Such a one stands beside the others where the text differs by
/// more than they say, since who compares the strings compares all of it.
pub(super) fn changes(
    path: &Path,
    item: Option<&str>,
    before: &str,
    after: &str,
    layers: &Layers,
) -> Option<Vec<Change>> {
    let layers = layers.below(before.len() + after.len())?;
    let (decode, inner, is_more) = match (read(before, &layers.left)?, read(after, &layers.left)?) {
        (Reading::Text(one, old), Reading::Text(other, new)) if one == other => {
            (one, texts(&old, &new, &layers), false)
        }
        (Reading::Tree(one, old), Reading::Tree(other, new)) if one == other => {
            let is_more = one != "json" && form::differs((before, &old), (after, &new));
            (one, part_changes_within(&old, &new, layers), is_more)
        }
        _ => return None,
    };
    let form = |because: String| {
        let mut form = Change::unjudged(path.clone(), Some(before.into()), Some(after.into()));
        form.item = item.map(str::to_owned);
        form.within = vec![Within { decode: decode.to_owned(), path: String::new() }];
        form.because = because;
        form
    };
    if inner.is_empty() {
        return Some(vec![form(format!("only the form of the {decode} differs, its content is the same"))]);
    }
    let mut out: Vec<Change> = inner.into_iter().map(|change| placed(path, item, decode, change)).collect();
    out.extend(is_more.then(|| form(format!("the form of the {decode} differs too, such as a comment or a spelling"))));
    Some(out)
}

/// The changes between two decoded texts, at the root.
fn texts(before: &str, after: &str, layers: &Layers) -> Vec<Change> {
    if before == after {
        return Vec::new();
    }
    changes(&Path::root(), None, before, after, layers)
        .unwrap_or_else(|| vec![Change::unjudged(Path::root(), Some(before.into()), Some(after.into()))])
}

/// A change inside a document as a change of the object that holds the document.
fn placed(path: &Path, item: Option<&str>, decode: &str, inner: Change) -> Change {
    let mut within = vec![Within { decode: decode.to_owned(), path: inner.path.to_string() }];
    within.extend(inner.within);
    let item = match (item, inner.item) {
        (Some(outer), Some(inner)) => Some(format!("{outer} > {inner}")),
        (outer, inner) => inner.or_else(|| outer.map(str::to_owned)),
    };
    Change { path: path.clone(), was: None, item, within, ..inner }
}

/// Reads a string as a document.
fn read(text: &str, left: &Cell<usize>) -> Option<Reading> {
    let trimmed = text.trim();
    if trimmed.starts_with(['{', '[']) {
        return serde_json::from_str(trimmed)
            .ok()
            .filter(is_tree)
            .map(|tree| Reading::Tree("json", tree))
            .or_else(|| yaml_of(text));
    }
    if trimmed.len() >= SHORTEST_BASE64
        && let Some((decode, plain)) = decode(trimmed, left)
    {
        return Some(Reading::Text(decode, plain));
    }
    yaml_of(text)
}

/// Reads a text of several lines as YAML: cloud-init, a manifest, several manifests.
fn yaml_of(text: &str) -> Option<Reading> {
    if !text.trim().contains('\n') && !text.trim_start().starts_with('{') {
        return None;
    }
    let cloud_init = text.trim_start().lines().take(3).any(|line| line.trim_end() == "#cloud-config");
    let decode = if cloud_init { "cloud-init" } else { "yaml" };
    let bytes = text.as_bytes();
    let sections = yaml::split(bytes).ok()?;
    let mut trees = Vec::new();
    for section in sections.iter().filter(|section| !section.is_blank(bytes)) {
        let tree = yaml::read(section.document.of(bytes)).ok()?.to_json().ok()?;
        if !tree.is_null() {
            trees.push(tree);
        }
    }
    if !trees.iter().all(is_tree) {
        return None;
    }
    match trees.len() {
        0 => None,
        1 => trees.pop().map(|tree| Reading::Tree(decode, tree)),
        _ => Some(Reading::Tree(decode, by_name(trees))),
    }
}

/// The documents that a text is, as YAML or JSON; none where it is no such text.
pub(super) fn trees(text: &str) -> Vec<Value> {
    let bytes = text.as_bytes();
    let Ok(sections) = yaml::split(bytes) else { return Vec::new() };
    let read = |section: &yaml::Section| yaml::read_section(bytes, section).ok()?.to_json().ok();
    sections.iter().filter_map(read).filter(is_tree).collect()
}

/// The documents in a text, or in the text that it holds as base64, zipped or not.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    match decode_text(text, &Cell::new(LARGEST)) {
        Some(plain) => trees(&plain),
        None => trees(text),
    }
}

/// Several manifests of one text, by kind and name where all have both, else by place.
fn by_name(trees: Vec<Value>) -> Value {
    let name = |tree: &Value| {
        let kind = tree.get("kind")?.as_str()?;
        Some(format!("{kind}/{}", tree.get("metadata")?.get("name")?.as_str()?))
    };
    let mut named = Map::new();
    for tree in &trees {
        match name(tree) {
            Some(name) if !named.contains_key(&name) => named.insert(name, tree.clone()),
            _ => return Value::Array(trees.into()),
        };
    }
    Value::Object(named)
}

/// Whether a value has places inside.
fn is_tree(value: &Value) -> bool {
    value.as_object().is_some_and(|map| !map.is_empty()) || value.as_array().is_some_and(|items| !items.is_empty())
}

/// The text behind base64, unzipped where it is gzip; `None` where the text is not base64 of text. What is unpacked is taken off
/// what is `left`, also where nothing comes of it.
pub(super) fn decode_text(text: &str, left: &Cell<usize>) -> Option<String> {
    let text = text.trim();
    (text.len() >= 8).then(|| decode(text, left)).flatten().map(|(_, plain)| plain)
}

/// The text behind base64, and how it was read.
fn decode(text: &str, left: &Cell<usize>) -> Option<(&'static str, String)> {
    let of_base64 =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=') || byte.is_ascii_whitespace();
    if !text.bytes().all(of_base64) {
        return None;
    }
    let compact: String = text.split_ascii_whitespace().collect();
    let bytes = BASE64_STANDARD.decode(compact).ok()?;
    left.set(left.get().saturating_sub(bytes.len()));
    let (decode, bytes) =
        if bytes.starts_with(&[0x1f, 0x8b]) { ("gzip+base64", unzip(&bytes, left)?) } else { ("base64", bytes) };
    let plain = String::from_utf8(bytes).ok()?;
    let readable = !plain.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    readable.then_some((decode, plain))
}

/// What a gzip stream holds.
fn unzip(bytes: &[u8], left: &Cell<usize>) -> Option<Vec<u8>> {
    let most = LARGEST.min(left.get());
    let mut plain = Vec::new();
    let unpacked = flate2::read::GzDecoder::new(bytes).take(most as u64 + 1).read_to_end(&mut plain);
    left.set(left.get().saturating_sub(plain.len()));
    (unpacked.ok()? <= most).then_some(plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Each change as `decode path / decode path: before -> after`.
    fn told(before: &str, after: &str) -> Vec<String> {
        let changes =
            changes(&Path::root().key("content"), Some("/f"), before, after, &Layers::default()).expect("documents");
        let side = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
        changes
            .iter()
            .map(|change| {
                let way: Vec<String> =
                    change.within.iter().map(|within| format!("{} {}", within.decode, within.path)).collect();
                format!("{}: {} -> {}", way.join(" / "), side(&change.before), side(&change.after))
            })
            .collect()
    }

    fn zipped(text: &str, level: u32) -> String {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
        encoder.write_all(text.as_bytes()).expect("written to memory");
        BASE64_STANDARD.encode(encoder.finish().expect("written to memory"))
    }

    #[test]
    fn a_value_is_found_through_two_layers_of_yaml() {
        let chart = |ip: &str| {
            format!(
                "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nspec:\n  valuesContent: |-\n    installation:\n      canReach: {ip}\n      mtu: 1\n"
            )
        };
        assert_eq!(
            told(&chart("55.55.55.55"), &chart("10.0.3.7")),
            [r#"yaml spec.valuesContent / yaml installation.canReach: "55.55.55.55" -> "10.0.3.7""#]
        );
    }

    #[test]
    fn the_layers_of_an_encoding_are_undone() {
        let text = |n: u32| format!("#cloud-config\npackages: [a]\nruncmd:\n- echo {n}\n");
        assert_eq!(
            told(&zipped(&text(1), 6), &zipped(&text(2), 6)),
            [r#"gzip+base64  / cloud-init runcmd[0]: "echo 1" -> "echo 2""#]
        );
        assert_eq!(
            told(&BASE64_STANDARD.encode("some plain text 1"), &BASE64_STANDARD.encode("some plain text 2")),
            [r#"base64 : "some plain text 1" -> "some plain text 2""#]
        );
    }

    #[test]
    fn a_change_of_form_alone_is_said_to_be_that() {
        for (before, after) in [
            (r#"{"a": 1, "b": 2}"#.to_owned(), r#"{"b":2,"a":1}"#.to_owned()),
            ("a: 1\nb: 2\n".to_owned(), "# new\nb: 2\na: 1\n".to_owned()),
            (zipped("a: 1\nb: 2\n", 1), zipped("a: 1\nb: 2\n", 9)),
        ] {
            let found = changes(&Path::root(), None, &before, &after, &Layers::default()).expect("documents");
            if before != after {
                assert!(found.len() == 1 && found[0].because.starts_with("only the form"), "{found:?}");
            }
        }
    }

    #[test]
    fn manifests_of_one_text_are_known_by_name() {
        let doc =
            |name: &str, value: u32| format!("kind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{v: {value}}}\n");
        let before = format!("{}---\n{}", doc("a", 1), doc("b", 1));
        let after = format!("{}---\n{}", doc("b", 2), doc("a", 1));
        assert_eq!(
            told(&before, &after),
            ["yaml ConfigMap/b.data.v: 1 -> 2".replace("ConfigMap/b", "[\"ConfigMap/b\"]")]
        );
    }

    #[test]
    fn scripts_and_settings_stay_texts() {
        for text in [
            "#!/bin/sh\nset -e\necho a: b",
            "[Global]\nuser=a\n",
            "v1.31.0",
            "controlplane",
            "server = \"x\"\n[host.\"y\"]\n",
        ] {
            assert!(
                changes(&Path::root(), None, text, &text.replace('e', "i"), &Layers::default()).is_none(),
                "{text}"
            );
        }
    }
}
