//! Questions to a tree: lookups as Kubernetes sees the document, spans as it is written.

use rollgate::facade::yaml::{self, NodeKind, Scalar, Segment, Style};
use serde_json::json;

#[test]
fn lookups_see_what_kubernetes_sees() {
    let text =
        "base: &b {a: 1, c: 2}\nx:\n  a: 0\n  <<: *b\n  c: 3\n  c: 4\n  yes: y\n  0777: o\nz: *b\nlist: [p, {q: r}]\n";
    let tree = yaml::read(text.as_bytes()).expect("readable");
    let value = |path: &[Segment]| tree.at(path).map(|node| serde_json::Value::from(tree.value(node).expect("small")));
    assert_eq!(value(&["x".into(), "a".into()]), Some(json!(1)), "a merge wins over what stands before it");
    assert_eq!(value(&["x".into(), "c".into()]), Some(json!(4)), "the last of equal keys wins");
    assert_eq!(value(&["x".into(), "true".into()]), Some(json!(true)));
    assert_eq!(value(&["x".into(), "511".into()]), Some(json!("o")));
    assert_eq!(value(&["x".into(), "<<".into()]), None);
    assert_eq!(value(&["z".into(), "c".into()]), Some(json!(2)));
    assert_eq!(value(&["list".into(), 1.into(), "q".into()]), Some(json!("r")));
    assert_eq!(value(&["list".into(), 2.into()]), None);
    assert_eq!(value(&["base".into(), "a".into(), "b".into()]), None);
    let again: Vec<_> = tree
        .duplicates()
        .into_iter()
        .map(|duplicate| (duplicate.key, tree.position(duplicate.again.start).line))
        .collect();
    assert_eq!(again, [("c".to_owned(), 6)]);
}

#[test]
fn spans_are_of_the_stream_in_bytes() {
    let stream = "\u{FEFF}é: 1\n---\n# c\na: &x 'é' # d\nb: |\n  t\n\nc:\nd: [1, {e: f}]\n";
    let section = yaml::split(stream.as_bytes()).expect("a stream")[1];
    let tree = yaml::read_section(stream.as_bytes(), &section).expect("readable");
    let shown = |key: &str| {
        let node = tree.at(&[key.into()]).expect("the key");
        (tree.node(node).kind, &stream[tree.span(node).start..tree.span(node).end])
    };
    assert_eq!(shown("a"), (NodeKind::Scalar(Style::Single), "'é'"));
    assert_eq!(shown("b"), (NodeKind::Scalar(Style::Literal), "|\n  t\n\n"));
    assert_eq!(shown("c"), (NodeKind::Scalar(Style::Plain), ""));
    assert_eq!(shown("d"), (NodeKind::Seq { flow: true }, "[1, {e: f}]"));
    let d = tree.at(&["d".into()]).expect("the key");
    assert_eq!(tree.position(tree.span(d).start), yaml::Position { line: 9, column: 4 });
    assert_eq!(
        tree.span(tree.root().expect("a root")).of(stream.as_bytes()).len(),
        stream.len() - stream.find("a: &x").expect("it") - 1
    );
    assert_eq!(tree.scalar(tree.at(&["c".into()]).expect("the key")), Some(Scalar::Null));
}

#[test]
fn keys_and_items_are_listed_as_written() {
    let tree = yaml::read(b"a: 1\nb: {c: d}\na: 2\ne:\n- f\n- - g\n").expect("readable");
    let root = tree.root().expect("a root");
    let keys: Vec<_> = tree.entries(root).filter_map(|(key, _)| tree.key_text(key)).collect();
    assert_eq!(keys, ["a", "b", "a", "e"]);
    let list = tree.get(root, "e").expect("the key");
    assert_eq!(tree.items(list).count(), 2);
    assert_eq!(tree.entries(list).count(), 0);
    assert_eq!(tree.items(root).count(), 0);
}

#[test]
fn heads_are_found_in_everyday_documents() {
    let text = "# Source: x/templates/a.yaml\napiVersion: cluster.x-k8s.io/v1beta1 # c\nkind: \"Cluster\"\nmetadata:\n  labels:\n    name: no\n  annotations: \n    {}\n  note: |\n    name: no\n  name: 'demo'\n  namespace: ns\nspec:\n- a\n";
    let head = yaml::head(text.as_bytes()).expect("a head");
    assert_eq!((head.api_version, head.kind), ("cluster.x-k8s.io/v1beta1", "Cluster"));
    assert_eq!((head.namespace, head.name), (Some("ns"), "demo"));
    let metadata = std::str::from_utf8(head.metadata.of(text.as_bytes())).expect("text");
    assert!(metadata.starts_with("metadata:\n  labels:") && metadata.ends_with("\n  namespace: ns\n"), "{metadata}");
    for doubtful in [
        format!("{text}kind: Other\n"),
        format!("{text}\"kind\": Other\n"),
        format!("{text}? kind\n: Other\n"),
        format!("{text}<<: {{kind: Other}}\n"),
        format!("{text}a: 1\rkind: Other\n"),
        text.replace("'demo'", "&a demo"),
        text.replace("'demo'", "1"),
        text.replace("'demo'", "!!str demo"),
        text.replace("'demo'", "de\n   mo"),
        text.replace("  labels:", "  name: x\n  labels:"),
        text.replace("metadata:", "x: \"\nmetadata:"),
    ] {
        assert_eq!(yaml::head(doubtful.as_bytes()), None, "{doubtful}");
    }
}

#[test]
fn sections_keep_their_lines() {
    let stream = b"\xEF\xBB\xBF---\na: 1\n--- # c\n\n# only a comment\n---\n";
    let sections = yaml::split(stream).expect("a stream");
    let seen: Vec<_> = sections.iter().map(|section| (section.line, section.is_blank(stream))).collect();
    assert_eq!(seen, [(2, false), (4, true), (7, true)]);
    assert_eq!(yaml::debug::lines(stream).expect("readable"), "{\"a\":1}\nnull\nnull\n");
    for glued in ["a: 1\n---b: 2\n", "---a\n", "--- a: 1\n", "----\n"] {
        assert!(yaml::split(glued.as_bytes()).is_err(), "{glued}");
    }
}

#[test]
fn lines_are_those_of_go() {
    let read = |text: &str| yaml::debug::lines(text.as_bytes());
    for (text, json) in [
        // The first separator of a document is the parser's to read; a later one takes its whole line with it.
        ("--- # c\ra: 1\n", "{\"a\":1}\n"),
        ("a: 1\n--- # c\rb: 1\nc: 2\n", "{\"a\":1}\n{\"c\":2}\n"),
        ("a: 1\n---\u{a0}\u{2003}\nb: 2\n", "{\"a\":1}\n{\"b\":2}\n"),
        // A byte order mark is one at the start of what Go hands to the parser, which has the first separator.
        ("a: 1\n---\n\u{feff}b: 1\n", "{\"a\":1}\n{\"b\":1}\n"),
        ("---\n\u{feff}a: 1\n", "{\"\u{feff}a\":1}\n"),
        ("---\n# c\n...\n---\na: 1\n", "null\n{\"a\":1}\n"),
        // The last line has an end, and CR LF is LF.
        ("a: |\n  b", "{\"a\":\"b\\n\"}\n"),
        ("a: |-\n  b", "{\"a\":\"b\"}\n"),
        ("a: |\n  b\r\r\n  c\r\n", "{\"a\":\"b\\nc\\n\"}\n"),
        // JSON values in a row.
        ("{\"a\": 1} {\"b\": 2}\n", "{\"a\":1}\n{\"b\":2}\n"),
        ("{\"a\": 1}\nb: 2\n---\nc: 3\n", "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"),
    ] {
        assert_eq!(read(text).expect(text), json, "{text:?}");
    }
    // Go would drop all but the first, empty document.
    assert!(rollgate::facade::object::Stream::load(&b"---\n\r---\na: 1\n".to_vec().into()).is_err());
    for refused in ["---# c\na: 1\n", "a: 1\n---\u{a0}x\n", "{\"a\": 1}{\"b\": 2}{"] {
        assert!(read(refused).is_err(), "{refused:?}");
    }
}
