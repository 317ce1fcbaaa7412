//! What could forge a report is written out: control characters, escape sequences of terminals, signs that turn the direction of a
//! text or hide in it, line ends in what has to be one line. A reader sees the text that was meant, or that there was more in it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{DryRunReport, LateValueReport, Report};
use crate::model::Within;
use crate::object::Key;

/// Whether a character can change how what stands around it looks.
#[must_use]
pub fn is_risky(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text as one line.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// A text of several lines.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n' || c == '\t')
}

fn escaped(text: &str, stays: fn(char) -> bool) -> Cow<'_, str> {
    // Nearly every text is plain, and reports are long.
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let risky = |c: char| is_risky(c) && !stays(c);
    if !text.contains(risky) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !risky(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.extend([format!("\\u{{{:x}}}", u32::from(c))]),
        }
    }
    Cow::Owned(out)
}

fn in_place(text: &mut String) {
    if let Cow::Owned(clean) = line(text) {
        *text = clean;
    }
}

fn maybe(text: &mut Option<String>) {
    text.iter_mut().for_each(in_place);
}

/// Escapes every name, key, sentence and value of a report. Values keep their line ends: they may be files.
pub fn report(report: &mut Report) {
    for reason in &mut report.reasons {
        in_place(&mut reason.gate);
        in_place(&mut reason.message);
        maybe(&mut reason.next);
    }
    for finding in &mut report.findings {
        key(&mut finding.object);
        in_place(&mut finding.message);
    }
    report.warnings.iter_mut().for_each(in_place);
    for object in &mut report.objects {
        [&mut object.api_version, &mut object.kind, &mut object.name, &mut object.because]
            .into_iter()
            .for_each(in_place);
        maybe(&mut object.namespace);
        maybe(&mut object.renamed_from);
        for change in &mut object.changes {
            [&mut change.path, &mut change.because].into_iter().for_each(in_place);
            maybe(&mut change.key);
            within(&mut change.within);
            [&mut change.before, &mut change.after].into_iter().for_each(|side| side.iter_mut().for_each(value));
        }
    }
    for ignored in &mut report.ignored {
        [&mut ignored.path, &mut ignored.reason].into_iter().for_each(in_place);
    }
    for rollout in &mut report.rollouts {
        key(&mut rollout.owner);
        in_place(&mut rollout.cluster);
        let lists = [&mut rollout.machine_names, &mut rollout.steps, &mut rollout.causes];
        lists.into_iter().for_each(|list| list.iter_mut().for_each(in_place));
    }
    report.server_dry_run.iter_mut().for_each(answers);
    report.late_values.iter_mut().for_each(late_value);
    [&mut report.policy.source, &mut report.live.source].into_iter().for_each(in_place);
    maybe(&mut report.host.release);
    maybe(&mut report.host.namespace);
    report.providers.values_mut().for_each(in_place);
}

fn late_value(late: &mut LateValueReport) {
    in_place(&mut late.name);
    maybe(&mut late.value);
    maybe(&mut late.source);
    late.filled.iter_mut().flat_map(|place| [&mut place.object, &mut place.path]).for_each(in_place);
    for attempt in &mut late.attempts {
        in_place(&mut attempt.source);
        attempt.keys.iter_mut().for_each(in_place);
    }
}

fn answers(report: &mut DryRunReport) {
    for object in &mut report.objects {
        [&mut object.api_version, &mut object.kind, &mut object.name, &mut object.because]
            .into_iter()
            .for_each(in_place);
        maybe(&mut object.namespace);
        for difference in &mut object.differences {
            in_place(&mut difference.path);
            maybe(&mut difference.key);
            within(&mut difference.within);
            [&mut difference.predicted, &mut difference.answered]
                .into_iter()
                .for_each(|side| side.iter_mut().for_each(value));
        }
    }
}

fn key(key: &mut Key) {
    [&mut key.group, &mut key.kind, &mut key.name].into_iter().for_each(in_place);
    maybe(&mut key.namespace);
}

fn within(way: &mut [Within]) {
    way.iter_mut().for_each(|step| in_place(&mut step.path));
}

fn value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = lines(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(map) => {
            if map.keys().any(|key| matches!(line(key), Cow::Owned(_))) {
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(key, value)| (line(&key).into_owned(), value))
                    .collect::<Map<_, _>>();
            }
            map.values_mut().for_each(self::value);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stream_calls_the_places_of_a_late_value_is_written_out() {
        let mut late: LateValueReport = serde_json::from_value(serde_json::json!({
            "name": "vip", "state": "resolved", "places": 1,
            "filled": [{"object": "A x\u{202e}y", "path": "data[\"k\u{202e}\"]", "line": 3}],
            "attempts": [{"source": "env V\u{202e}", "state": "key-missing", "keys": ["a\u{202e}b"]}]
        }))
        .expect("a report");
        late_value(&mut late);
        assert!(!serde_json::to_string(&late).expect("JSON").contains('\u{202e}'), "{late:?}");
    }

    #[test]
    fn what_could_forge_a_line_is_written_out() {
        for (text, expected) in [
            ("plain é 漢", "plain é 漢"),
            ("a\nrollgate: allow", "a\\nrollgate: allow"),
            ("\u{1b}[2J\u{1b}]0;x\u{7}", "\\u{1b}[2J\\u{1b}]0;x\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("a\u{2028}b\u{85}c\r\n", "a\\u{2028}b\\u{85}c\\r\\n"),
            ("\u{feff}\u{200b}\u{e0041}", "\\u{feff}\\u{200b}\\u{e0041}"),
        ] {
            assert_eq!(line(text), expected);
        }
        assert_eq!(lines("a\n\tb\r\u{1b}"), "a\n\tb\\r\\u{1b}");
    }

    #[test]
    fn values_are_written_out_with_their_keys() {
        let mut tree = serde_json::json!({"a\u{1b}": ["x\u{202e}", {"b": "one\ntwo\u{7f}"}]});
        value(&mut tree);
        assert_eq!(tree, serde_json::json!({"a\\u{1b}": ["x\\u{202e}", {"b": "one\ntwo\\u{7f}"}]}));
    }
}
