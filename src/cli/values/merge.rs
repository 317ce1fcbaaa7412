//! Several values files as one, as Helm lays them over each other (helm `pkg/cli/values/options.go`, mergeMaps): maps are merged,
//! everything else is replaced by the later file. A null stays, since it tells Helm to drop the chart's default.

use std::fmt::Write as _;

use anyhow::{anyhow, bail};

use crate::session::late::fill::Input;
use crate::tree::{Map, Value};
use crate::yaml::{self, double_quoted};

/// One text that says what all the texts say together.
pub(super) fn merge(inputs: &[Input], texts: &[String]) -> anyhow::Result<String> {
    let mut all = Map::new();
    for (input, text) in inputs.iter().zip(texts) {
        let name = &input.name;
        let value =
            yaml::read(text.as_bytes()).and_then(|tree| tree.to_json()).map_err(|error| anyhow!("{name}:{error}"))?;
        match value {
            Value::Object(map) => lay(&mut all, map),
            Value::Null => {}
            _ => bail!("{name}: values are a map"),
        }
    }
    let mut text = String::new();
    block(&mut text, &all, 0);
    Ok(if all.is_empty() { "{}\n".to_owned() } else { text })
}

/// Lays `over` onto `under`.
fn lay(under: &mut Map, over: Map) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Object(under)), Value::Object(over)) => lay(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// A map as lines.
fn block(text: &mut String, map: &Map, depth: usize) {
    for (key, value) in map {
        write!(text, "{:indent$}{}:", "", word(key), indent = depth * 2).expect("writing to a string cannot fail");
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push('\n');
                block(text, inner, depth + 1);
            }
            other => {
                text.push(' ');
                flow(text, other);
                text.push('\n');
            }
        }
    }
}

/// A value on one line.
fn flow(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => text.push_str(&double_quoted(string)),
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                text.push_str(if place > 0 { ", " } else { "" });
                flow(text, item);
            }
            text.push(']');
        }
        Value::Object(map) => {
            text.push('{');
            for (place, (key, value)) in map.iter().enumerate() {
                text.push_str(if place > 0 { ", " } else { "" });
                text.push_str(&double_quoted(key));
                text.push_str(": ");
                flow(text, value);
            }
            text.push('}');
        }
        plain => write!(text, "{plain}").expect("writing to a string cannot fail"),
    }
}

/// A key, plain where it can be nothing but itself.
fn word(key: &str) -> String {
    let tree = yaml::read(key.as_bytes());
    let is_itself = tree.is_ok_and(|tree| tree.root().and_then(|root| tree.string(root)) == Some(key));
    let simple = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    if is_itself && simple { key.to_owned() } else { double_quoted(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(texts: &[&str]) -> anyhow::Result<String> {
        let input = |text: &&str| Input { name: "v.yaml".to_owned(), text: (*text).to_owned(), template: false };
        let inputs: Vec<Input> = texts.iter().map(input).collect();
        merge(&inputs, &texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn later_files_win_and_maps_are_merged() {
        let text = merged(&[
            "a: {b: 1, c: [1, 2]}\nkeep: 'yes'\nyes: x\n",
            "# nothing\n",
            "a:\n  c: [3]\n  d: {e: null}\nkeep: \"10\"\n",
        ])
        .expect("maps");
        assert_eq!(text, "a:\n  b: 1\n  c: [3]\n  d:\n    e: null\nkeep: \"10\"\n\"true\": \"x\"\n");
        let read = |text: &str| yaml::read(text.as_bytes()).expect("readable").to_json().expect("json");
        assert_eq!(read(&text)["keep"], "10");
    }

    #[test]
    fn values_are_maps() {
        assert!(merged(&["a: 1", "- 1"]).expect_err("a list").to_string().contains("v.yaml: values are a map"));
        assert_eq!(merged(&["", ""]).expect("nothing"), "{}\n");
    }
}
