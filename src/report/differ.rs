//! Before and after of a change as signed lines, for the formats that show both sides.

use super::notice::clip;
use super::plural;
use crate::tree::Value;

/// A line of one side: `-` was, `+` will be.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct Line {
    /// Of which side.
    pub(super) sign: char,
    /// Its text.
    pub(super) text: String,
}

/// How much of a change is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Most lines of a side.
    pub(super) lines: usize,
    /// Most characters of a line.
    pub(super) line: usize,
}

/// The lines that differ; of texts of several lines, and of lists and maps, only those.
pub(super) fn lines(before: Option<&Value>, after: Option<&Value>, room: Room) -> Vec<Line> {
    let (old, new) = (before.map(text).unwrap_or_default(), after.map(text).unwrap_or_default());
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let diff = similar::TextDiff::from_lines(&old, &new);
    if old.contains('\n') || new.contains('\n') {
        for change in diff.iter_all_changes() {
            match change.tag() {
                similar::ChangeTag::Delete => removed.push(change.value()),
                similar::ChangeTag::Insert => added.push(change.value()),
                similar::ChangeTag::Equal => {}
            }
        }
    } else {
        removed.extend(before.map(|_| old.as_str()));
        added.extend(after.map(|_| new.as_str()));
    }
    let mut list = side('-', &removed, room);
    list.extend(side('+', &added, room));
    list
}

fn side(sign: char, lines: &[&str], room: Room) -> Vec<Line> {
    let shown = if lines.len() > room.lines { room.lines - 1 } else { lines.len() };
    let line = |text: &&str| Line { sign, text: clip(text.trim_end_matches(['\n', '\r']), room.line) };
    let mut list: Vec<Line> = lines.iter().take(shown).map(line).collect();
    if lines.len() > shown {
        list.push(Line { sign, text: format!("... {}", plural((lines.len() - shown) as u64, "more line")) });
    }
    list
}

/// A value as a person reads it: texts as they are, all else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text.to_string(),
        Value::Array(_) | Value::Object(_) => format!("{value:#}"),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn shown(before: Option<Value>, after: Option<Value>) -> Vec<String> {
        let lines = lines(before.as_ref(), after.as_ref(), Room { lines: 3, line: 10 });
        lines.iter().map(|line| format!("{} {}", line.sign, line.text)).collect()
    }

    #[test]
    fn only_the_lines_that_differ_are_shown() {
        assert_eq!(shown(Some(json!("a\nb\nc\n")), Some(json!("a\nB\nc\n"))), ["- b", "+ B"]);
        assert_eq!(
            shown(Some(json!({"a": 1, "b": 2})), Some(json!({"a": 1, "b": 3}))),
            ["-   \"b\": 2", "+   \"b\": 3"]
        );
        assert_eq!(shown(Some(json!(1)), None), ["- 1"]);
        assert_eq!(shown(None, Some(json!(""))), ["+ \"\""]);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!(shown(None, Some(json!("1\n2\n3\n4\n5\n"))), ["+ 1", "+ 2", "+ ... 3 more lines"]);
        assert_eq!(shown(None, Some(json!("0123456789abc"))), ["+ 0123456789… (3 characters more)"]);
    }
}
