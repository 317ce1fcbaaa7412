//! What comes out of a stream whose fields are set back, byte by byte.

use super::{NoWayBack, Stays, set_back};
use crate::host::Host;
use crate::object::{Key, Path};
use crate::tree::Value;
use crate::world::{World, files};
use crate::yaml;

const HEAD: &str = "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n";

fn value(text: &str) -> Value {
    yaml::read_json(text.as_bytes(), yaml::Span { start: 0, end: text.len() }).expect("YAML")
}

fn nothing() -> World {
    files::nothing(&Host::default(), "2026-11-21T12:00:00Z".parse().expect("a time"))
}

fn key(name: &str) -> Key {
    Key::of("", "Thing", None, name)
}

/// Sets back these fields of the one document, whose spec was `old` and is `new`.
fn back(old: &str, new: &str, paths: &[&str]) -> Result<String, NoWayBack> {
    let live = Some(value(&format!("{HEAD}{old}")));
    let paths = paths.iter().map(|path| Path::parse(path).expect("a path")).collect();
    let stays = Stays { key: key("a"), renamed_from: None, live, paths };
    let stream = format!("{HEAD}{new}");
    let bytes = set_back(stream.as_bytes(), &[stays], &nothing())?;
    let text = String::from_utf8(bytes).expect("text");
    Ok(text.strip_prefix(HEAD).expect("nothing else moves").to_owned())
}

#[test]
fn one_field_and_nothing_beside_it() {
    let (old, new) = ("spec:\n  a: 1\n  b: x\n", "spec:\n  a: 2 # why\n  b: 'y'\n");
    assert_eq!(back(old, new, &["spec.a"]).expect("it can"), "spec:\n  a: 1 # why\n  b: 'y'\n");
    assert_eq!(back(old, new, &["spec.b"]).expect("it can"), "spec:\n  a: 2 # why\n  b: 'x'\n");
}

#[test]
fn a_block_stays_a_block() {
    let text = |word: &str| format!("spec:\n  content: |\n    first\n    {word} here\n    last\n");
    let found = back(&text("old"), &text("new"), &["spec.content"]).expect("it can");
    assert_eq!(found, text("old"));
}

#[test]
fn a_field_that_is_new_goes_and_one_that_went_comes_back() {
    let (old, new) = ("spec:\n  m: {a: 1, gone: [1]}\n", "spec:\n  m:\n    a: 1\n    more: {x: y}\n");
    let found = back(old, new, &["spec.m.more", "spec.m.gone"]).expect("it can");
    assert_eq!(value(&found), value(old), "{found}");
    let whole =
        back("spec:\n  a: 1\n", "spec:\n  a: 1\n  deep: {down: {x: 1}}\n", &["spec.deep.down.x"]).expect("it can");
    assert_eq!(value(&whole), value("spec:\n  a: 1\n"), "{whole}");
}

#[test]
fn items_are_those_of_their_name_and_a_longer_list_goes_as_a_whole() {
    let old = "spec:\n  files:\n  - {path: /a, content: one}\n  - {path: /b, content: two}\n";
    let moved = "spec:\n  files:\n  - path: /b\n    content: new\n  - path: /a\n    content: one\n";
    let found = back(old, moved, &["spec.files[0].content"]).expect("it can");
    assert_eq!(found, moved.replace("new", "two"));
    let longer = "spec:\n  files:\n  - path: /a\n    content: one\n  - path: /b\n    content: two\n  - path: /c\n";
    let found = back(old, longer, &["spec.files[2]"]).expect("it can");
    assert_eq!(value(&found), value(old), "{found}");
}

#[test]
fn what_shares_its_text_with_another_place_is_written_there_only_where_both_stay() {
    let old = "spec:\n  a: {x: 1}\n  b: {x: 1}\n";
    let new = "spec:\n  a: &all {x: 2}\n  b: *all\n";
    let both = back(old, new, &["spec.a.x", "spec.b.x"]);
    assert!(both.as_ref().is_err() || both.as_ref().is_ok_and(|text| value(text) == value(old)), "{both:?}");
    let one = back(old, new, &["spec.a.x"]);
    assert!(one.as_ref().is_err() || one.as_ref().is_ok_and(|text| value(text)["spec"]["b"]["x"] == 2), "{one:?}");
}

#[test]
fn a_template_of_a_new_name_becomes_the_old_one_and_so_do_its_references() {
    let stream = format!(
        "{HEAD}spec: {{size: big}}\n---\napiVersion: v1\nkind: Owner\nmetadata: {{name: o}}\nspec:\n  ref:\n    kind: Thing\n    name: a # of the day\n"
    );
    let live = Some(value("apiVersion: v1\nkind: Thing\nmetadata: {name: old}\nspec: {size: small, more: 1}\n"));
    let stays = Stays { key: key("a"), renamed_from: Some("old".to_owned()), live, paths: Vec::new() };
    let bytes = set_back(stream.as_bytes(), &[stays], &nothing()).expect("it can");
    let text = String::from_utf8(bytes).expect("text");
    let template = text.split("---\n").next().expect("a document");
    assert_eq!(value(template)["metadata"]["name"], "old");
    assert_eq!(value(template)["spec"], crate::tree::json!({"size": "small", "more": 1}));
    assert!(text.ends_with("    name: old # of the day\n"), "{text}");
}

#[test]
fn what_cannot_stay_is_named() {
    let fault = |result: Result<String, NoWayBack>| result.expect_err("it cannot").to_string();
    let of = |key: Key, live: Option<Value>, path: &str| {
        let stays = Stays { key, renamed_from: None, live, paths: vec![Path::parse(path).expect("a path")] };
        set_back(format!("{HEAD}spec: {{a: 1}}\n").as_bytes(), &[stays], &nothing()).map(|_| String::new())
    };
    assert!(fault(of(key("b"), Some(value("spec: {a: 1}")), "spec.a")).contains("no document of the stream holds it"));
    assert!(fault(of(key("a"), None, "spec.a")).contains("it is new"));
    assert!(fault(of(key("a"), Some(value("spec: {}")), "spec.b")).contains("the stream does not say it"));
}
