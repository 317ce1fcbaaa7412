//! What a book keeps and what it refuses, and how it reads as a file.

use super::super::{Clear, recognises};
use super::*;

fn pin(name: &str, value: &str) -> Pin {
    Pin {
        name: name.to_owned(),
        value: value.to_owned(),
        secret: false,
        encrypted: None,
        kind: None,
        source: "ConfigMap capo/capo-cluster-resources".to_owned(),
        path: "$.data.allocated_ip".to_owned(),
        uid: Some("u1".to_owned()),
        resource_version: Some("7".to_owned()),
        time: "2026-11-21T10:00:00Z".parse().expect("a time"),
        by: None,
        policy: None,
        over: None,
        reason: None,
        clear: Clear::default(),
    }
}

#[test]
fn recording_keeps_what_stands_and_refuses_what_moved() {
    let mut book = Book::default();
    assert_eq!(book.record(&[pin("vip", "10.0.3.7"), pin("fip", "1.2.3.4")]), Ok(true));
    assert_eq!(book.record(&[pin("vip", "10.0.3.7")]), Ok(false));
    let moved = BookError::Moved { name: "vip".to_owned(), value: "10.0.3.7".to_owned() };
    assert_eq!(book.record(&[pin("new", "1"), pin("vip", "10.0.3.8")]), Err(moved));
    assert_eq!(book.get("new"), None, "nothing is added when one is refused");
    assert_eq!(book.get("vip").map(|pin| pin.value.as_str()), Some("10.0.3.7"));
    assert_eq!(book.history().len(), 2);
}

#[test]
fn two_seals_agree_only_where_their_values_do() {
    let sealed = |value: &str, by: &str| {
        let pin = Pin { by: Some(by.to_owned()), ..pin("password", value) };
        Pin { source: format!("exec {by}"), ..pin }.sealed()
    };
    let mut book = Book::default();
    assert_eq!(book.record(&[sealed("hunter2", "a")]), Ok(true));
    assert_eq!(book.record(&[sealed("hunter2", "b")]), Ok(false), "the same value behind another salt");
    let moved = BookError::Moved { name: "password".to_owned(), value: "another value".to_owned() };
    assert_eq!(book.record(&[sealed("correct horse", "c")]), Err(moved.clone()));
    assert_eq!(book.record(&[pin("password", "correct horse")]), Err(moved.clone()));
    // Who has lost the value behind a seal cannot say that it is the same.
    let blind = Pin { clear: Clear::default(), ..sealed("hunter2", "d") };
    assert_eq!(book.record(&[blind]), Err(moved));
    assert_eq!(book.record(&[pin("password", "hunter2")]), Ok(false));
    assert!(!format!("{book:?}").contains("hunter2"), "{book:?}");
}

#[test]
fn a_value_that_turns_out_to_be_secret_is_sealed_with_its_history() {
    let mut book = Book::default();
    book.set(pin("password", "hunter1"));
    book.set(Pin { over: Some("hunter0".to_owned()), ..pin("password", "hunter2") });
    let mut other = book.clone();
    assert_eq!(book.record(&[pin("password", "hunter2").sealed()]), Ok(true));
    let text = book.render();
    assert!(!text.contains("hunter"), "{text}");
    assert!(recognises(&book.get("password").expect("a pin").value, "hunter2"));
    assert_eq!(book.history().len(), 2, "the events stay");
    assert_eq!(book.record(&[pin("password", "hunter2").sealed()]), Ok(false), "once is enough");
    other.set(pin("password", "hunter3").sealed());
    assert!(!other.render().contains("hunter"), "{}", other.render());
    assert!(other.record(&[pin("password", "hunter2").sealed()]).is_err());
}

#[test]
fn every_move_by_hand_leaves_a_trace() {
    let mut book = Book::new(vec![pin("vip", "10.0.3.7")], Vec::new());
    book.set(Pin { reason: Some("VIP moved by ticket 4".to_owned()), ..pin("vip", "10.0.3.8") });
    let time = "2026-11-22T10:00:00Z".parse().expect("a time");
    book.unset("vip", "cluster is gone", time, None).expect("it was pinned");
    let trace: Vec<_> =
        book.history().iter().map(|event| (event.action, event.before.as_deref(), event.after.as_deref())).collect();
    assert_eq!(trace, [(Entry::Set, Some("10.0.3.7"), Some("10.0.3.8")), (Entry::Unset, Some("10.0.3.8"), None)]);
    assert_eq!(book.history()[1].reason.as_deref(), Some("cluster is gone"));
    assert_eq!(book.unset("vip", "again", time, None), Err(BookError::NotPinned { name: "vip".to_owned() }));
}

#[test]
fn the_history_forgets_what_is_oldest() {
    let mut book = Book::default();
    (0..MOST_EVENTS + 5).for_each(|number| book.set(pin("vip", &format!("10.0.3.{number}"))));
    assert_eq!(book.history().len(), MOST_EVENTS);
    assert_eq!(book.history()[0].before.as_deref(), Some("10.0.3.4"));
}

#[test]
fn the_file_reads_well() {
    let mut book = Book::default();
    book.record(&[pin("vip", "10.0.3.7")]).expect("nothing stands yet");
    insta::assert_snapshot!(book.render(), @r#"
    # Written by rollgate: the late values as they were first resolved. Change one with `rollgate pin set`.
    apiVersion: rollgate.dev/v1alpha1
    kind: Pins
    pins:
      - name: "vip"
        value: "10.0.3.7"
        source: "ConfigMap capo/capo-cluster-resources"
        path: "$.data.allocated_ip"
        uid: "u1"
        resourceVersion: "7"
        time: "2026-11-21T10:00:00Z"
    history:
      - time: "2026-11-21T10:00:00Z"
        name: "vip"
        action: recorded
        after: "10.0.3.7"
    "#);
}

#[test]
fn comments_in_the_middle_stay_through_a_change() {
    let mut book = Book::default();
    book.record(&[pin("vip", "10.0.3.7"), pin("fip", "1.2.3.4")]).expect("nothing stands yet");
    let before =
        book.render().replace("  - name: \"vip\"\n", "  # Ask team edge first.\n  - name: \"vip\" # ticket 4\n");
    let mut after = Book::parse("p", before.as_bytes()).expect("readable");
    after.set(pin("vip", "10.0.3.8"));
    let text = after.render_over(before.as_bytes());
    assert!(
        text.contains("  # Ask team edge first.\n  - name: \"vip\" # ticket 4\n    value: \"10.0.3.8\"\n"),
        "{text}"
    );
    assert_eq!(Book::parse("p", text.as_bytes()).expect("readable").pins(), after.pins());
    assert_eq!(after.render_over(text.as_bytes()), text);
}

proptest::proptest! {
    /// Whatever stands in a pin reads back from the file, and writing it again gives the same bytes.
    #[test]
    fn a_book_reads_back(name in "[a-z][a-z0-9_.-]{0,12}", texts in proptest::array::uniform3(".*"), secret in proptest::bool::ANY) {
        let [value, path, reason] = texts;
        let pin = Pin { secret, path, reason: Some(reason.clone()), ..pin(&name, &value) };
        let mut book = Book::default();
        book.set(pin.clone());
        book.unset(&name, &reason, pin.time, None).expect("it was pinned");
        book.record(&[pin]).expect("nothing stands in the way");
        let text = book.render();
        let read = Book::parse("pins.yaml", text.as_bytes()).expect("readable");
        proptest::prop_assert_eq!(read.pins(), book.pins());
        proptest::prop_assert_eq!(read.history(), book.history());
        proptest::prop_assert_eq!(read.render(), text);
    }
}
