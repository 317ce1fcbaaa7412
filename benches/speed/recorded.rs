//! Two streams of a recording of the controllers' answers: each case is one object before and after one change of one field,
//! so that nothing in them is the same on both sides.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use rollgate::facade::tree::Value;

#[path = "../../tests/oracle/patch.rs"]
mod patch;

/// The first `count` cases of a recording, before and after.
pub(crate) fn streams(recording: &Path, count: usize) -> (String, String) {
    let file = std::fs::File::open(recording).expect("the recording is in the repository");
    let mut bases = std::collections::HashMap::new();
    let (mut old, mut new, mut made) = (String::new(), String::new(), 0);
    for line in BufReader::new(flate2::read::GzDecoder::new(file)).lines() {
        let mut line: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let Some(base) = line["base"].as_str().map(str::to_owned) else { continue };
        if line.get("id").is_none() {
            bases.insert(base, line["object"].take());
            continue;
        }
        let mut before: Value = bases[&base].clone();
        let metadata = before["metadata"].as_object_mut().expect("an object");
        ["managedFields", "uid", "creationTimestamp"].iter().for_each(|key| drop(metadata.shift_remove(key)));
        metadata.insert("name".to_owned(), Value::from(format!("c{made}")));
        let mut after = before.clone();
        for operation in line["patch"].as_array().expect("a patch") {
            patch::apply(&mut after, operation);
        }
        for (stream, object) in [(&mut old, &before), (&mut new, &after)] {
            stream.push_str("---");
            block(object, 0, stream);
            stream.push('\n');
        }
        made += 1;
        if made == count {
            break;
        }
    }
    (old, new)
}

/// A value in block style, as charts are rendered: plain where it can be, texts of several lines as they stand.
fn block(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                write!(out, "\n{indent}{}:", word(key)).expect("a string can be written");
                block(value, depth + 1, out);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for item in list {
                write!(out, "\n{indent}-").expect("a string can be written");
                block(item, depth + 1, out);
            }
        }
        Value::String(text) if is_script(text) => {
            out.push_str(" |");
            text.lines().for_each(|line| write!(out, "\n{indent}{line}").expect("a string can be written"));
        }
        Value::String(text) => write!(out, " {}", word(text)).expect("a string can be written"),
        leaf => write!(out, " {leaf}").expect("a string can be written"),
    }
}

/// A text on one line, in quotes unless it cannot be taken for anything else.
fn word(text: &str) -> String {
    let is_reserved = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
        .iter()
        .any(|reserved| text.eq_ignore_ascii_case(reserved));
    let is_plain = !is_reserved
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte));
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// Whether a text can stand as a block of lines.
fn is_script(text: &str) -> bool {
    let is_line = |line: &str| !line.is_empty() && line.trim() == line && line.bytes().all(|byte| byte >= b' ');
    text.ends_with('\n') && text.lines().count() > 1 && text.lines().all(is_line)
}
