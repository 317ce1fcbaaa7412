//! One stream in several spellings, all of which Kubernetes reads as the same objects.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::seed::Seed;

/// How a stream is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// A document an object, each as one line of JSON.
    Json,
    /// Block style, texts in double quotes where they need some.
    Block,
    /// Block style, all texts quoted, in single quotes where that can be, with comments.
    Quoted,
    /// Keys in another order.
    Shuffled,
    /// All objects in one `kind: List`.
    List,
}

impl Spelling {
    /// All but the plain one.
    pub(crate) const OTHERS: [Self; 4] = [Self::Block, Self::Quoted, Self::Shuffled, Self::List];

    /// Writes a stream.
    pub(crate) fn stream(self, objects: &[Value], seed: &mut Seed) -> Vec<u8> {
        let mut out = String::new();
        if self == Self::List {
            return json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string().into_bytes();
        }
        for object in objects {
            out.push_str("---\n");
            match self {
                Self::Json => writeln!(out, "{object}").expect("a String takes it"),
                Self::Shuffled => writeln!(out, "{}", shuffled(object, seed)).expect("a String takes it"),
                _ => {
                    if self == Self::Quoted {
                        out.push_str("# Comment before an object.\n");
                    }
                    block(object, 0, self == Self::Quoted, &mut out);
                }
            }
        }
        out.into_bytes()
    }
}

/// A value with the keys of every map in another order.
pub(crate) fn shuffled(value: &Value, seed: &mut Seed) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            seed.shuffle(&mut entries);
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), shuffled(value, seed))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| shuffled(item, seed)).collect()),
        other => other.clone(),
    }
}

/// Writes a map or list in block style.
fn block(value: &Value, depth: usize, quoted: bool, out: &mut String) {
    let margin = "  ".repeat(depth);
    match value {
        Value::Object(map) => entries(map, &margin, depth, quoted, out),
        Value::Array(items) => {
            for item in items {
                write!(out, "{margin}-").expect("a String takes it");
                inner(item, depth, quoted, out);
            }
        }
        other => writeln!(out, "{margin}{}", scalar(other, quoted)).expect("a String takes it"),
    }
}

fn entries(map: &Map<String, Value>, margin: &str, depth: usize, quoted: bool, out: &mut String) {
    for (place, (key, value)) in map.iter().enumerate() {
        if quoted && place % 3 == 1 {
            writeln!(out, "{margin}# Comment.").expect("a String takes it");
        }
        write!(out, "{margin}{}:", scalar(&Value::String(key.clone()), quoted)).expect("a String takes it");
        inner(value, depth, quoted, out);
    }
}

/// Writes what stands behind a key or a dash.
fn inner(value: &Value, depth: usize, quoted: bool, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            block(value, depth + 1, quoted, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(value, depth + 1, quoted, out);
        }
        Value::String(text) if !quoted && is_literal(text) => {
            let margin = "  ".repeat(depth + 1);
            out.push_str(" |\n");
            for line in text.lines() {
                writeln!(out, "{margin}{line}").expect("a String takes it");
            }
        }
        other => {
            let comment = if quoted { " # why" } else { "" };
            writeln!(out, " {}{comment}", scalar(other, quoted)).expect("a String takes it");
        }
    }
}

/// Whether a text can stand below `|` as it is.
fn is_literal(text: &str) -> bool {
    let plain = |line: &str| !line.is_empty() && !line.starts_with([' ', '\t']);
    text.ends_with('\n')
        && text.lines().all(plain)
        && text.bytes().all(|byte| byte == b'\n' || (32..127).contains(&byte))
}

fn scalar(value: &Value, quoted: bool) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c))
        && !words.contains(&text.to_ascii_lowercase().as_str());
    if plain && !quoted {
        text.clone()
    } else if quoted && text.bytes().all(|byte| (32..127).contains(&byte)) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        value.to_string()
    }
}
