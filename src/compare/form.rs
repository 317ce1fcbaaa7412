//! Whether the text of a document differs by more than its values: a comment, a key that stands twice, another spelling.
//! Lines are counted, so a document of several values a line (a flow) is taken as its values say. Quotes are left out: a mark in the
//! place of what is hidden may stand in some or not.

use crate::hashed::HashMap;
use crate::tree::Value;

/// Whether two texts differ in more lines than the values in them do.
pub(super) fn differs((before, old): (&str, &Value), (after, new): (&str, &Value)) -> bool {
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "---");
        lines.map(unquoted).collect()
    };
    let written = moved(lines(before), lines(after));
    let is_flow = |line: &String| !line.starts_with('#') && line.contains(['{', '[']);
    if written.0.iter().chain(&written.1).any(is_flow) {
        return false;
    }
    let entries = |value: &Value| {
        let mut out = Vec::new();
        entries(value, "-", &mut out);
        out.iter().map(|line| unquoted(line)).collect()
    };
    let told = moved(entries(old), entries(new));
    (written.0.len(), written.1.len()) != (told.0.len(), told.1.len())
}

/// A line without its quotes.
fn unquoted(line: &str) -> String {
    line.replace(['"', '\''], "")
}

/// The lines that only the first side has, and those that only the second has, each as often as it is more there.
fn moved(before: Vec<String>, after: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut left: HashMap<String, usize> = HashMap::default();
    for line in before {
        *left.entry(line).or_default() += 1;
    }
    let mut added = Vec::new();
    for line in after {
        match left.get_mut(&line).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => added.push(line),
        }
    }
    let removed = left.into_iter().flat_map(|(line, count)| std::iter::repeat_n(line, count)).collect();
    (removed, added)
}

/// Adds a value as the lines that a document of blocks has for it, without the places in which they stand.
fn entries(value: &Value, key: &str, out: &mut Vec<String>) {
    let open = |out: &mut Vec<String>| {
        if key != "-" {
            out.push(format!("{key}:"));
        }
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            open(out);
            map.iter().for_each(|(key, value)| entries(value, key, out));
        }
        Value::Array(items) if !items.is_empty() => {
            open(out);
            items.iter().for_each(|item| entries(item, "-", out));
        }
        Value::String(text) if text.contains('\n') => {
            out.push(format!("{key}: |"));
            out.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
        }
        plain => out.push(format!("{key}: {plain}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn differ(before: &str, after: &str) -> bool {
        let tree = |text: &str| yaml::read(text.as_bytes()).expect("YAML").to_json().expect("a tree");
        differs((before, &tree(before)), (after, &tree(after)))
    }

    #[test]
    fn values_that_change_come_and_go_are_no_other_form() {
        let before = "# head\na:\n  x: 1\n  y: 2\nl:\n- n: 1\n  m: 2\n- n: 3\nt: |\n  one\n  two\n";
        for after in [
            "# head\na:\n  x: '2'\n  y: \"2\"\nl:\n- n: 1\n  m: 2\n- n: 3\nt: |\n  one\n  two\n",
            "# head\na:\n  x: 2\n  y: 2\nl:\n- n: 1\n  m: 2\n- n: 3\nt: |\n  one\n  two\n",
            "# head\na:\n  x: 1\n  y: 2\n  z: 3\nl:\n- n: 0\n- n: 1\n  m: 2\n- n: 3\nt: |\n  one\n  two\n",
            "# head\na:\n  x: 1\nl:\n- n: 3\nt: |\n  one\n  three\n  two\nb:\n  c: 1\n",
        ] {
            assert!(!differ(before, after), "{after}");
        }
    }

    #[test]
    fn a_comment_a_second_key_and_another_spelling_are() {
        for (before, after) in [
            ("x: 1\nmode: 0640\n", "## template: jinja\nx: 2\nmode: 0640\n"),
            ("x: 1\nmode: 0640\n", "x: 2\nmode: 416\n"),
            ("x: 1\nmode: 0640\n", "x: 2\nmode: 0777\nmode: 0640\n"),
            ("x: 1\n# why\ny: 2\n", "x: 2\ny: 2\n"),
        ] {
            assert!(differ(before, after), "{after}");
        }
    }
}
