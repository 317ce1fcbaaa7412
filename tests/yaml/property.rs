//! Edits of generated documents, checked against an edit of their JSON.

use proptest::prelude::*;
use rollgate::facade::tree::Value;
use rollgate::facade::yaml::{self, Edit, New, Segment, Spot};

/// The styles in which a text can stand, with the text's place marked; the value is at `a` or `a[0]`.
const PLACES: [(&str, bool); 14] = [
    ("a: @\nb: 1\n", false),
    ("a: '@'\nb: 1\n", false),
    ("a: \"@\" # c\nb: 1\n", false),
    ("a: [@, x]\nb: 1\n", true),
    ("a: ['@', x]\r\nb: 1\r\n", true),
    ("a: x @ y\nb: 1\n", false),
    ("a: 'it''s @'\nb: é\n", false),
    ("a: \"x\\n@\\ty\"\nb: 1\n", false),
    ("# é\na:\n- @\n- y\n", true),
    ("a: x\n  @\n  y\nb: 1\n", false),
    ("a: \"x\n  @\n\n  y\"\nb: 1\n", false),
    ("a: |\n  x @\n    y\nb: 1\n", false),
    ("a: |-\r\n  x\r\n  @ y\r\nb: 1\r\n", false),
    ("a: >-\n  x\n  y @ z\nb: 1\n", false),
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9.:/-]{1,12}",
        "[ -~]{0,12}",
        "[ -~\n\té\u{85}\u{2028}\u{FEFF}\u{7}]{0,8}",
        prop::sample::select(vec![
            "yes", "0777", "1_000", "~", "null", "1e3", "- a", "a: b", "x #y", "", "'", "\"", "\\", "&a", "*a", "!x",
            "---", "a\nb\n"
        ])
        .prop_map(str::to_owned),
    ]
}

fn json(document: &str) -> Value {
    yaml::read(document.as_bytes()).expect("readable").to_json().expect("small")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_change_one_value_and_nothing_else(place in 0..PLACES.len(), new in text(), whole in prop::bool::ANY) {
        let (template, in_list) = PLACES[place];
        let document = template.replace('@', "TOKEN");
        let path: Vec<Segment> = if in_list { vec!["a".into(), 0.into()] } else { vec!["a".into()] };
        let tree = yaml::read(document.as_bytes()).expect("readable");
        let node = tree.at(&path).expect("the node");
        let old = tree.string(node).expect("a string").to_owned();
        let wanted = if whole { new.clone() } else { old.replace("TOKEN", &new) };
        let start = old.find("TOKEN").expect("the token");
        let spots = vec![Spot { range: start..start + "TOKEN".len(), with: new.clone() }];
        let edit = if whole { New::Value(new.into()) } else { New::Text { spots, number: false } };
        let patches = tree
            .edit(&[Edit { node, new: edit }])
            .map_err(|error| TestCaseError::fail(format!("{document:?}: {error}")))?;
        let patched = String::from_utf8(yaml::apply(document.as_bytes(), &patches)).expect("text");
        let mut expected = json(&document);
        *expected.pointer_mut(if in_list { "/a/0" } else { "/a" }).expect("the value") = wanted.into();
        prop_assert_eq!(json(&patched), expected, "{:?}", patched);
        let span = tree.span(node);
        prop_assert_eq!(&patched[..span.start], &document[..span.start]);
        prop_assert!(patched.ends_with(&document[span.end..]));
    }

    #[test]
    fn own_quotes_read_back(text in "\\PC{0,20}|[\\x00-\\u{ffff}]{0,10}") {
        let quoted = yaml::double_quoted(&text);
        prop_assert!(!quoted.contains('\n'));
        for document in [format!("k: {quoted}"), format!("[{quoted}]"), quoted] {
            let value = json(&document);
            let read = value.get("k").or_else(|| value.get(0)).unwrap_or(&value);
            prop_assert_eq!(read.as_str(), Some(text.as_str()));
        }
    }

    #[test]
    fn streams_are_cut_without_loss(pieces in prop::collection::vec(prop::sample::select(vec!["---", "\n", "a: 1", " # c", "\r\n", "--- ", "x", "\u{FEFF}", "- b", " "]), 0..20)) {
        let stream = pieces.concat();
        if let Ok(sections) = yaml::split(stream.as_bytes()) {
            let mut at = 0;
            for section in &sections {
                prop_assert_eq!(section.separator.start, at);
                prop_assert_eq!(section.document.start, section.separator.end);
                let before = &stream.as_bytes()[..section.document.start];
                prop_assert_eq!(section.line, 1 + before.iter().filter(|byte| **byte == b'\n').count());
                at = section.document.end;
            }
            prop_assert_eq!(at, stream.len());
        }
    }
}
