//! Edits in place: each style, each place, and every other byte untouched.

use rollgate::facade::tree::Value;
use rollgate::facade::yaml::{self, Edit, New, NodeId, Segment, Spot, Tree};
use serde_json::json;

fn node(tree: &Tree<'_>, path: &[&str]) -> NodeId {
    let path: Vec<Segment> = path.iter().map(|key| Segment::from(*key)).collect();
    tree.at(&path).expect("the path is there")
}

fn replaced(text: &str, path: &[&str], token: &str, with: &str) -> Result<String, String> {
    let tree = yaml::read(text.as_bytes()).expect("readable");
    let node = node(&tree, path);
    let spots = spots(tree.scalar_text(node).expect("a scalar"), token, with);
    let edit = Edit { node, new: New::Text { spots, number: false } };
    let patches = tree.edit(&[edit]).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(yaml::apply(text.as_bytes(), &patches)).expect("text"))
}

/// Every place where the token stands in the text, and what takes its place.
fn spots(text: &str, token: &str, with: &str) -> Vec<Spot> {
    let places = text.match_indices(token);
    places.map(|(start, _)| Spot { range: start..start + token.len(), with: with.to_owned() }).collect()
}

fn set(text: &str, path: &[&str], value: Value) -> Result<String, String> {
    let tree = yaml::read(text.as_bytes()).expect("readable");
    let edit = Edit { node: node(&tree, path), new: New::Value(value) };
    let patches = tree.edit(&[edit]).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(yaml::apply(text.as_bytes(), &patches)).expect("text"))
}

const OLD: &str = "55.55.55.55";

#[test]
fn tokens_in_every_style() {
    let new = "10.0.3.7";
    for (before, after) in [
        ("a: 55.55.55.55 # c\nb: 1\n", "a: 10.0.3.7 # c\nb: 1\n"),
        ("a: '55.55.55.55'\n", "a: '10.0.3.7'\n"),
        ("a: \"ip=55.55.55.55,\"\r\nb: 2\r\n", "a: \"ip=10.0.3.7,\"\r\nb: 2\r\n"),
        ("a: https://55.55.55.55:6443/x\n", "a: https://10.0.3.7:6443/x\n"),
        ("a: {b: 55.55.55.55/24, c: d}\n", "a: {b: 10.0.3.7/24, c: d}\n"),
        ("a: |\n  é 55.55.55.55.\n\n    x 55.55.55.55\nb: 1\n", "a: |\n  é 10.0.3.7.\n\n    x 10.0.3.7\nb: 1\n"),
        (
            "a: >-\n  one 55.55.55.55\n  two\n\n    more 55.55.55.55\n",
            "a: >-\n  one 10.0.3.7\n  two\n\n    more 10.0.3.7\n",
        ),
        (
            "a: \"#!/bin/sh\\n55.55.55.55\\tx \\\"55.55.55.55\\\"\\n\"\n",
            "a: \"#!/bin/sh\\n10.0.3.7\\tx \\\"10.0.3.7\\\"\\n\"\n",
        ),
        ("a: one\n  55.55.55.55\n  two\n", "a: one\n  10.0.3.7\n  two\n"),
        ("a: \"one\n  55.55.55.55\n\n  two\"\n", "a: \"one\n  10.0.3.7\n\n  two\"\n"),
        ("a: |\r\n  x 55.55.55.55\r\n  y\r\n", "a: |\r\n  x 10.0.3.7\r\n  y\r\n"),
        ("a: |2\n    55.55.55.55\n", "a: |2\n    10.0.3.7\n"),
        ("\u{FEFF}a: 55.55.55.55", "\u{FEFF}a: 10.0.3.7"),
        ("a: &x 55.55.55.55\nb: *x\n", "a: &x 10.0.3.7\nb: *x\n"),
        ("a: !!str 55.55.55.55\n", "a: !!str 10.0.3.7\n"),
        ("a: 'it''s 55.55.55.55'\n", "a: 'it''s 10.0.3.7'\n"),
    ] {
        let path: &[&str] = if before.contains('{') { &["a", "b"] } else { &["a"] };
        assert_eq!(replaced(before, path, OLD, new).as_deref(), Ok(after), "{before}");
    }
}

#[test]
fn new_text_is_quoted_where_it_must_be() {
    for (before, with, after) in [
        ("a: VIP\n", "yes", "a: \"yes\"\n"),
        ("a: VIP\n", "6443", "a: \"6443\"\n"),
        ("a: VIP\n", "a: b", "a: \"a: b\"\n"),
        ("a: VIP\n", "x #y", "a: \"x #y\"\n"),
        ("a: VIP\n", "two\nlines", "a: \"two\\nlines\"\n"),
        ("a: 'VIP'\n", "it's", "a: 'it''s'\n"),
        ("a: 'VIP'\n", "tab\there", "a: \"tab\\there\"\n"),
        ("a: \"VIP\"\n", "say \"x\" \\", "a: \"say \\\"x\\\" \\\\\"\n"),
        ("a: [VIP, b]\n", "x,y", "a: [\"x,y\", b]\n"),
        ("a: |\n    k: VIP\n    z: 1\n", "one\ntwo", "a: |\n    k: one\n    two\n    z: 1\n"),
    ] {
        let path: &[&str] = &["a"];
        let got = if before.contains('[') {
            let tree = yaml::read(before.as_bytes()).expect("readable");
            let item = tree.items(node(&tree, path)).next().expect("an item");
            let edit = Edit { node: item, new: New::Text { spots: spots("VIP", "VIP", with), number: false } };
            let patches = tree.edit(&[edit]).expect("an edit");
            String::from_utf8(yaml::apply(before.as_bytes(), &patches)).expect("text")
        } else {
            replaced(before, path, "VIP", with).expect("an edit")
        };
        assert_eq!(got, after);
    }
}

#[test]
fn a_block_that_cannot_hold_the_text_becomes_quoted() {
    for (before, with, after) in [
        ("a: >\n  x VIP y\nb: 1\n", "one\ntwo", "a: \"x one\\ntwo y\\n\"\nb: 1\n"),
        ("a: |\n  VIP\n", " leading", "a: \" leading\\n\"\n"),
        ("a: |\r\n  VIP\r\nb: 1\r\n", "bell\u{7}", "a: \"bell\\x07\\n\"\r\nb: 1\r\n"),
    ] {
        assert_eq!(replaced(before, &["a"], "VIP", with).as_deref(), Ok(after), "{before}");
    }
}

#[test]
fn a_spot_over_several_lines_keeps_the_block() {
    let before = "a: |-\n    AAAA\n    BBBB\n\nb: 1\n";
    assert_eq!(
        replaced(before, &["a"], "AAAA\nBBBB", "CCCC\n\nDD").as_deref(),
        Ok("a: |-\n    CCCC\n\n    DD\n\nb: 1\n")
    );
}

#[test]
fn a_number_stays_a_number_where_the_new_text_is_one() {
    assert_eq!(replaced("a: 55\n", &["a"], "55", "56").as_deref(), Ok("a: 56\n"));
    assert_eq!(replaced("a: 55\n", &["a"], "55", "text").as_deref(), Ok("a: text\n"));
    assert_eq!(replaced("a: 55\n", &["a"], "55", "010").as_deref(), Ok("a: \"010\"\n"));
    let typed = |text: &str, with: &str| {
        let tree = yaml::read(text.as_bytes()).expect("readable");
        let new = New::Text { spots: spots("PORT", "PORT", with), number: true };
        let patches = tree.edit(&[Edit { node: node(&tree, &["a"]), new }]).expect("an edit");
        String::from_utf8(yaml::apply(text.as_bytes(), &patches)).expect("text")
    };
    assert_eq!(typed("a: PORT\n", "6443"), "a: 6443\n");
    assert_eq!(typed("a: \"PORT\"\n", "6443"), "a: \"6443\"\n");
    assert_eq!(typed("a: PORT\n", "0x10"), "a: \"0x10\"\n");
}

#[test]
fn whole_values() {
    for (before, value, after) in [
        ("a: 10m # c\nb: 1\n", json!("20m"), "a: 20m # c\nb: 1\n"),
        ("a:\nb: 1\n", json!("x"), "a: x\nb: 1\n"),
        ("a: |\n  x\n  y\nb: 1\n", json!("p\nq"), "a: \"p\\nq\"\nb: 1\n"),
        ("a: |\r\n  x\r\nb: 1\r\n", json!("p"), "a: p\r\nb: 1\r\n"),
        ("a: 3\n", json!(5), "a: 5\n"),
        ("a: 'x'\n", json!(null), "a: null\n"),
        ("a: 'x'\n", json!("0777"), "a: '0777'\n"),
        ("a: x\n", json!("0777"), "a: \"0777\"\n"),
        ("{a: , b: c}\n", json!("n"), "{a: \"n\", b: c}\n"),
        ("a: b", json!({"k": ["v", 1.5, true]}), "a: {\"k\": [v, 1.5, true]}"),
    ] {
        assert_eq!(set(before, &["a"], value.into()).as_deref(), Ok(after), "{before}");
    }
}
