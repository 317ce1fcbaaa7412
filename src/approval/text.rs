//! The text of a file with approvals. Nothing in it is printed again: what is new is put beside what stands there, so that comments,
//! order and spelling stay.

use super::{Approval, LedgerError};
use crate::tree::{Value, json};
use crate::yaml::{self, NodeId, NodeKind, Patch, Segment, Span, Tree, write_value};

const API_VERSION: &str = "rollgate.dev/v1alpha1";
const KIND: &str = "Approvals";
const LIST: &str = "approvals";
const HEADER: &str =
    "# What people have approved. `rollgate approve` adds to it; whoever may change this file may approve.\n";

/// The entries of a file with their lines.
pub(super) fn items(file: &str, bytes: &[u8]) -> Result<Vec<(usize, Value)>, LedgerError> {
    let fail = |line, column, message: String| LedgerError::Unreadable { file: file.to_owned(), line, column, message };
    let mut value = yaml::read_strict(bytes).map_err(|error| fail(error.line, error.column, error.message))?;
    if value.is_null() {
        return Ok(Vec::new());
    }
    let says = |field: &str, wanted: &str| value.get(field).and_then(Value::as_str) == Some(wanted);
    if !says("apiVersion", API_VERSION) || !says("kind", KIND) {
        return Err(fail(1, 1, format!("expected apiVersion {API_VERSION} and kind {KIND}")));
    }
    if let Some(odd) =
        value.as_object().into_iter().flatten().map(|(key, _)| key).find(|key| !KEYS.contains(&key.as_str()))
    {
        return Err(fail(1, 1, format!("{odd}: there is no such field here; there are {}", KEYS.join(", "))));
    }
    let entries = match value.get_mut(LIST).map(Value::take) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(entries)) => entries.into(),
        Some(_) => return Err(fail(1, 1, format!("{LIST}: expected a list (lines that start with -)"))),
    };
    let tree = yaml::read(bytes).map_err(|error| fail(error.line, error.column, error.message))?;
    let line = |place: usize| {
        let node = tree.at(&[Segment::from(LIST), Segment::from(place)]);
        node.map_or(1, |node| tree.position(tree.span(node).start).line)
    };
    Ok(entries.into_iter().enumerate().map(|(place, entry)| (line(place), entry)).collect())
}

/// The fields of the file.
const KEYS: [&str; 3] = ["apiVersion", "kind", LIST];

/// The text with what became of approvals that stand in it, and with those that are new. `None` where it cannot be written so.
pub(super) fn changed(before: &[u8], old: &[Approval], new: &[Approval]) -> Option<String> {
    let text = std::str::from_utf8(before).ok()?;
    let tree = yaml::read(before).ok()?;
    let fresh: Vec<&Approval> = new.iter().filter(|one| !old.iter().any(|known| known.id == one.id)).collect();
    let Some(root) = tree.root().filter(|root| matches!(tree.node(*root).kind, NodeKind::Map { .. })) else {
        let head = if text.trim().is_empty() { HEADER } else { text };
        let end = if head.ends_with('\n') { "" } else { "\n" };
        let list: String = fresh.iter().map(|one| block(one, "  ")).collect();
        return Some(format!("{head}{end}apiVersion: {API_VERSION}\nkind: {KIND}\n{LIST}:\n{list}"));
    };
    let mut patches = Vec::new();
    let list = tree.get(root, LIST);
    for entry in list.into_iter().flat_map(|list| tree.items(list)) {
        let id = tree.get(entry, "id").and_then(|id| tree.string(id));
        let both = |list: &'_ [Approval]| list.iter().find(|one| Some(one.id.as_str()) == id).cloned();
        if let (Some(was), Some(is)) = (both(old), both(new)) {
            patches.extend(became(&tree, text, entry, &was, &is)?);
        }
    }
    if !fresh.is_empty() {
        patches.push(added(&tree, text, root, list, &fresh)?);
    }
    String::from_utf8(yaml::apply(before, &patches)).ok()
}

/// What becomes of an entry: it is used, or revoked. Nothing else of it changes.
fn became(tree: &Tree<'_>, text: &str, entry: NodeId, was: &Approval, is: &Approval) -> Option<Vec<Patch>> {
    let mut patches = Vec::new();
    let mut fresh = String::new();
    let (first, second) = {
        let mut entries = tree.entries(entry).map(|(key, _)| tree.span(key).start);
        (entries.next()?, entries.next()?)
    };
    let is_flow = tree.node(entry).kind == NodeKind::Map { flow: true };
    for (field, differs, value) in
        [("uses", was.uses != is.uses, json!(is.uses)), ("revoked", was.revoked != is.revoked, json!(is.revoked))]
    {
        if !differs {
            continue;
        }
        let mut written = String::new();
        write_value(&value, true, &mut written);
        match tree.get(entry, field) {
            Some(node) => patches.push(Patch { span: tree.span(node), bytes: written.into_bytes() }),
            None if is_flow => fresh.extend([field, ": ", &written, ", "]),
            None => {
                let line = text[..first].rfind('\n').map_or(0, |at| at + 1);
                let indent = " ".repeat(text[line..first].chars().count());
                fresh.extend([field, ": ", &written, "\n", &indent]);
            }
        }
    }
    patches.push(Patch { span: Span::new(second, second), bytes: fresh.into_bytes() });
    Some(patches)
}

/// Where new entries go, and how they are written there.
fn added(tree: &Tree<'_>, text: &str, root: NodeId, list: Option<NodeId>, fresh: &[&Approval]) -> Option<Patch> {
    let blocks = |indent: &str| fresh.iter().map(|one| block(one, indent)).collect::<String>();
    let at = |at: usize, bytes: String| Some(Patch { span: Span::new(at, at), bytes: bytes.into_bytes() });
    let Some(list) = list else {
        return at(text.len(), format!("{}{LIST}:\n{}", line_end(text), blocks("  ")));
    };
    let span = tree.span(list);
    let last = tree.items(list).last();
    match (tree.node(list).kind, last) {
        (NodeKind::Seq { flow: false }, Some(last)) => {
            let first = tree.items(list).next()?;
            let dash = text[..tree.span(first).start].rfind('-')?;
            let line = text[..dash].rfind('\n').map_or(0, |at| at + 1);
            let (end, break_) = end_of_line(text, end_of(tree, last));
            at(end, format!("{break_}{}", blocks(&text[line..dash])))
        }
        (NodeKind::Seq { flow: true }, Some(_)) => {
            let flow = |one: &&Approval| {
                let mut written = String::new();
                write_value(&json!(one), true, &mut written);
                format!(", {written}")
            };
            at(span.end - 1, fresh.iter().map(flow).collect())
        }
        (NodeKind::Seq { .. }, None) => {
            let bytes = format!("\n{}", blocks("  ")).trim_end().to_owned().into_bytes();
            Some(Patch { span, bytes })
        }
        // Nothing is written behind the key.
        _ => {
            let key = tree.entries(root).find(|(key, _)| tree.key_is(*key, LIST)).map(|(key, _)| tree.span(key).end)?;
            let (end, break_) = end_of_line(text, key.max(span.end));
            at(end, format!("{break_}{}", blocks("  ")))
        }
    }
}

/// Where the text of a node ends: where its last part does.
fn end_of(tree: &Tree<'_>, node: NodeId) -> usize {
    let inner = match tree.node(node).kind {
        NodeKind::Map { flow: false } => tree.entries(node).last().map(|(_, value)| value),
        NodeKind::Seq { flow: false } => tree.items(node).last(),
        _ => None,
    };
    inner.map_or_else(|| tree.span(node).end, |inner| end_of(tree, inner).max(tree.span(inner).start))
}

/// The start of the line behind a place, and the line break that is missing there.
fn end_of_line(text: &str, from: usize) -> (usize, &'static str) {
    if from > 0 && text[..from].ends_with('\n') {
        return (from, "");
    }
    match text[from..].find('\n') {
        Some(length) => (from + length + 1, ""),
        None => (text.len(), "\n"),
    }
}

/// The line break that the end of a text lacks.
fn line_end(text: &str) -> &'static str {
    if text.is_empty() || text.ends_with('\n') { "" } else { "\n" }
}

/// An approval as an entry of a list.
fn block(approval: &Approval, indent: &str) -> String {
    let Value::Object(fields) = json!(approval) else { return String::new() };
    let mut text = String::new();
    // As people read it: what was said yes to, then by whom and until when.
    let order = [
        "id",
        "breakGlass",
        "reason",
        "by",
        "time",
        "expires",
        "once",
        "digest",
        "key",
        "release",
        "clusters",
        "machines",
        "gates",
        "uses",
    ];
    for field in order {
        let Some(value) = fields.get(field) else { continue };
        text.push_str(indent);
        text.push_str(if text.len() == indent.len() { "- " } else { "  " });
        text.push_str(field);
        text.push_str(": ");
        match value {
            Value::String(value) => text.push_str(&yaml::double_quoted(value)),
            value => write_value(value, true, &mut text),
        }
        text.push('\n');
    }
    text
}
