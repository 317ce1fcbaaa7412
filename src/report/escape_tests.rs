use std::collections::HashSet;

use super::*;

#[test]
fn what_a_stream_calls_the_places_of_a_late_value_is_written_out() {
    let mut late: LateValueReport = crate::tree::from_value(crate::tree::json!({
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
fn what_a_ci_service_takes_for_a_command_is_broken_up_and_an_address_is_not() {
    for (text, expected) in [
        ("a ##[error]b", "a \\u{23}#[error]b"),
        ("###[x]", "#\\u{23}#[x]"),
        ("##vso[task.setvariable variable=a]b", "\\u{23}#vso[task.setvariable variable=a]b"),
        ("x##teamcity[message]", "x\\u{23}#teamcity[message]"),
        ("::add-mask::x", "\\u{3a}:add-mask::x"),
        ("a ::error file=b,line=1::c", "a \\u{3a}:error file=b,line=1::c"),
        (":::stop-commands::x", ":\\u{3a}:stop-commands::x"),
        // A near miss is left as it is written: a comment, addresses, names with colons.
        ("## a [b]", "## a [b]"),
        ("::/0 and ::1", "::/0 and ::1"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
        ("fd00::a,fd00::b", "fd00::a,fd00::b"),
        ("std::io::Error", "std::io::Error"),
    ] {
        assert_eq!(line(text), expected);
        assert_eq!(line(&line(text)), expected);
        let value = crate::tree::json!({ text: text });
        let written = json(&value);
        assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), value);
        assert_eq!(written.contains(text), line(text) == text, "{written}");
    }
    assert_eq!(lines("a\n::debug::b"), "a\n\\u{3a}:debug::b");
}

/// Puts a sign into each text of a report in turn, once for each kind of place.
fn forged(value: &Value, root: &Value, way: &mut Vec<String>, seen: &mut HashSet<String>) -> usize {
    match value {
        Value::Object(map) => {
            let below = map.iter().map(|(key, value)| {
                way.push(key.replace('~', "~0").replace('/', "~1"));
                let count = forged(value, root, way, seen);
                way.pop();
                count
            });
            below.sum()
        }
        Value::Array(items) => {
            let below = items.iter().enumerate().map(|(at, value)| {
                way.push(at.to_string());
                let count = forged(value, root, way, seen);
                way.pop();
                count
            });
            below.sum()
        }
        Value::String(_) => {
            let place = way.iter().filter(|step| step.parse::<usize>().is_err()).cloned().collect::<Vec<_>>().join("/");
            if !seen.insert(place.clone()) {
                return 0;
            }
            let mut tree = root.clone();
            *tree.pointer_mut(&format!("/{}", way.join("/"))).expect("it was found there") =
                "a\u{1b}[2J\u{202e}\r".into();
            // A word of a table has no room for it.
            let Ok(mut found) = crate::tree::from_value::<Report>(tree) else { return 0 };
            report(&mut found);
            let mut text = serde_json::to_string(&found).expect("JSON").into_bytes();
            crate::report::human::write(&found, crate::report::human::Paint(false), &mut text).expect("memory");
            let text = String::from_utf8(text).expect("text");
            assert!(!text.chars().any(|c| is_risky(c) && c != '\n') && !text.contains("\\u001b"), "{place}: {text}");
            1
        }
        _ => 0,
    }
}

#[test]
fn no_place_of_a_report_can_hold_a_sign_that_forges_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/scenarios");
    let (mut seen, mut tried) = (HashSet::new(), 0);
    for entry in std::fs::read_dir(folder).expect("the scenarios") {
        let file = entry.expect("an entry").path().join("expected.json");
        let Ok(bytes) = std::fs::read(file) else { continue };
        let tree: Value = serde_json::from_slice(&bytes).expect("a report");
        tried += forged(&tree, &tree, &mut Vec::new(), &mut seen);
    }
    assert!(tried > 35, "{tried} places were tried");
}

#[test]
fn json_says_the_same_with_its_signs_written_out() {
    let value = crate::tree::json!({"a\u{9b}": "x\u{202e}\u{e0041}\u{7f} é\n\u{1b}"});
    let mut compact = serde_json::Serializer::with_formatter(Vec::new(), Visible);
    serde::Serialize::serialize(&value, &mut compact).expect("memory");
    for text in [String::from_utf8(compact.into_inner()).expect("text"), json(&value)] {
        assert!(!text.trim_end().chars().any(|c| is_risky(c) && c != '\n'), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
    }
}

#[test]
fn values_are_written_out_with_their_keys() {
    let mut tree = crate::tree::json!({"a\u{1b}": ["x\u{202e}", {"b": "one\ntwo\u{7f}"}]});
    value(&mut tree);
    assert_eq!(tree, crate::tree::json!({"a\\u{1b}": ["x\\u{202e}", {"b": "one\ntwo\\u{7f}"}]}));
}
