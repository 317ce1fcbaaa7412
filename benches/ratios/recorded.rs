//! Two streams of a recording of the controllers' answers: each case is one object before and after one change of one field,
//! so that nothing in them is the same on both sides.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::Value;

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
        ["managedFields", "uid", "creationTimestamp"].iter().for_each(|key| drop(metadata.shift_remove(*key)));
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

/// A value in block style, every text in quotes.
fn block(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                write!(out, "\n{indent}{}:", Value::from(key.as_str())).expect("a string can be written");
                block(value, depth + 1, out);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for item in list {
                write!(out, "\n{indent}-").expect("a string can be written");
                block(item, depth + 1, out);
            }
        }
        leaf => write!(out, " {leaf}").expect("a string can be written"),
    }
}
