//! Every way of reading gives what the exact one gives: walking, beside another document, heads, any bytes.

use proptest::prelude::*;

use super::*;
use crate::tree::Value;

/// The walker gives what the exact reader gives, or nothing.
fn walks_as_parsed(document: &[u8]) -> Option<bool> {
    let text = text::check(document).ok()?;
    let Some(walked) = walk(&text) else { return Some(false) };
    let (parsed, rest) = parse_exactly(&text).unwrap_or_else(|problem| {
        panic!("walked, but {problem:?}: {:?}", String::from_utf8_lossy(document));
    });
    assert_eq!(rest, None, "{:?}", String::from_utf8_lossy(document));
    assert_eq!(walked, parsed, "{:?}", String::from_utf8_lossy(document));
    Some(true)
}

#[test]
fn every_recorded_text_walks_as_parsed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/yaml");
    let mut walked = 0;
    for file in std::fs::read_dir(folder).expect("the folder") {
        let cases = std::fs::read_to_string(file.expect("an entry").path()).expect("a recording");
        for line in cases.lines().skip(1) {
            let case: Value = serde_json::from_str(line).expect("JSON");
            if let Some(text) = case["in"].as_str() {
                walked += usize::from(walks_as_parsed(text.as_bytes()) == Some(true));
            }
        }
    }
    assert!(walked > 1000, "only {walked} texts were walked");
}

/// Pieces of which texts are put together, so that most are nearly right.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "bc",
        "key: ",
        "- ",
        "? ",
        ": ",
        ":",
        "-",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "#",
        " # c",
        "\n",
        "\n  ",
        "\n    ",
        "\n- ",
        "\n  - ",
        " ",
        "  ",
        "\t",
        "'",
        "\"",
        "''",
        "\\n",
        "\\x41",
        "\\",
        "|",
        "|-\n",
        ">\n",
        "|2",
        "&a ",
        "*a",
        "!!str ",
        "! ",
        "<<: ",
        "~",
        "null",
        "yes",
        "0777",
        ".inf",
        "\r\n",
        "\r",
        "\u{85}",
        "é",
        "\u{FEFF}",
        "---",
        "...",
        "a: 1\n",
        "x:\n",
        "- a\n",
        "{a: b}",
        "[a, b]",
        "a: |\n  x\n  y\n",
        "'q'",
        "\"q\"",
        "\"q\": ",
        "::1",
        "a: \"x\ny\"",
        "word ",
    ];
    prop_oneof![8 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => "[ -~]{1,3}"]
}

const EVERYDAY: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {a: b, \"c\": 'd'}\n  finalizers:\n  - \
    f.x/y # c\ndata:\n  s: |\n    #!/bin/sh\n    echo hi\n\n  t: >-\n    folded\n    text\n  q: \"a\\tb\"\n  n: 5\n  e:\nlist:\n- \
    a\n- b: c\n  'd': \"e\"\n  f:\n    - g\n-   - x\n    - y: z\n-\n";

fn document() -> impl Strategy<Value = String> {
    let mutated = prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, piece()), 0..5).prop_map(|edits| {
        let mut text: Vec<char> = EVERYDAY.chars().collect();
        for (place, removed, piece) in edits {
            let at = place.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, piece.chars());
        }
        text.into_iter().collect::<String>()
    });
    prop_oneof![prop::collection::vec(piece(), 0..14).prop_map(|pieces| pieces.concat()), mutated]
}

fn edited(text: &str, edits: &[(prop::sample::Index, usize, String)]) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for (place, removed, piece) in edits {
        let at = place.index(text.len() + 1);
        let end = (at + removed).min(text.len());
        text.splice(at..end, piece.chars());
    }
    text.into_iter().collect()
}

/// A document and another one that mostly repeats it: with pieces put in, lines moved, taken out or said twice.
fn pair() -> impl Strategy<Value = (String, String)> {
    let edits = |most: usize| prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, piece()), 0..most);
    let lines = prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3_u8), 0..3);
    let front = prop_oneof![3 => Just(EVERYDAY), 1 => Just(NESTED), 1 => Just("")];
    (front, document(), edits(3), lines, edits(3)).prop_map(|(front, tail, before, lines, after)| {
        let old = if front.is_empty() { tail } else { edited(front, &before) };
        let mut moved: Vec<&str> = old.split_inclusive('\n').collect();
        for (from, to, what) in lines.iter().filter(|_| !old.is_empty()) {
            let line = moved.get(from.index(moved.len().max(1))).copied().unwrap_or_default();
            let to = to.index(moved.len() + 1);
            match what {
                0 if !moved.is_empty() => drop(moved.remove(from.index(moved.len()))),
                1 => moved.insert(to, line),
                _ if to < moved.len() => moved.swap(to, 0),
                _ => {}
            }
        }
        let new = edited(&moved.concat(), &after);
        (old, new)
    })
}

/// Collections in collections, in all the ways that they are written.
const NESTED: &str = "a:\n  b:\n    c: {d: e,\n      f: g}\n    h:\n    - i: |+\n        j\n\n      k: [l,\n    m]\n    - n: \"o\n        p\"\n      \
    q:\n      - - r: s\n          t: 'u'\n        - v\n  w: x\n# y\n  z:\n   a1: b1\n\nc1: d1\ne1: >\n\n f1\n\n\ng1:\n- h1\n-\n  i1: j1\n";

/// What a document reads as beside another one is what it reads as alone; how much was taken over.
fn reads_beside(old: &str, new: &str) -> usize {
    let alone = read_at(new.as_bytes(), 0, 1).and_then(|tree| tree.to_json());
    let Ok(tree) = read_at(old.as_bytes(), 0, 1) else { return 0 };
    let Ok(value) = tree.to_json() else { return 0 };
    let twin = Twin::of(&tree, &value);
    let beside = read_beside(new.as_bytes(), 0, 1, twin);
    match (&alone, &beside) {
        // Keys must stand in the same order, too.
        (Ok(alone), Ok(beside)) => assert_eq!(alone.to_string(), beside.to_string(), "{new:?} beside {old:?}"),
        (Err(_), Err(_)) => {}
        _ => panic!("alone {alone:?}, but {beside:?}: {new:?} beside {old:?}"),
    }
    twin.and_then(|twin| walked_beside(new.as_bytes(), 0, 1, twin)).map_or(0, |(_, meant)| meant.len())
}

#[test]
fn what_both_documents_say_is_read_once() {
    let old = "a: 1\nb:\n  c:\n    d: e\n  f: |\n    g\n\n    h\ni:\n- j: k\n  l: m\nn: o\n";
    assert_eq!(reads_beside(old, old), 4, "the entries of the root");
    assert_eq!(reads_beside(old, &old.replace("d: e", "d: x")), 4, "and inside of the one that differs");
    assert_eq!(reads_beside(old, &old.replace("l: m", "l: x")), 4);
    assert_eq!(reads_beside(old, &format!("new: 1\n{old}")), 4);
    assert_eq!(reads_beside(old, &old.replace("a: 1\n", "")), 3);
    // What is deeper here, goes on here, or was in brackets there is another text.
    for (old, new) in [
        ("a: 1\nb: 2\n", " a: 1\n b: 2\n"),
        ("a:\n  b: 1\n", "a:\n  b: 1\n  c: 2\n"),
        ("a: [1,\n]\nb: 1\n", "a: [1,\nb: 2]\n"),
        ("m: {\n  a: 1\n}\n", "m:\n  a: 1\n"),
        ("a:\nb: 1\n", "a:\n- c\nb: 2\n"),
        ("a: &x 1\nb: [*x]\n", "a: &x 2\nb: [*x]\n"),
        ("a: |+\n  b\n\nc: 1\n", "a: |+\n  b\n\n"),
        ("a: 1\na: 2\nb: 1\n", "a: 1\na: 3\n"),
        ("a: \"x\ny: z\"\n", "a: \"x\ny: w\"\n"),
        ("- a: 1\n-\n  a: 2\n", "- a: 1\n- a: 2\n"),
    ] {
        reads_beside(old, new);
        reads_beside(new, old);
    }
}

#[test]
fn every_recorded_text_reads_beside_another_as_alone() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/yaml");
    let (mut taken, mut before) = (0, String::new());
    for file in std::fs::read_dir(folder).expect("the folder") {
        let cases = std::fs::read_to_string(file.expect("an entry").path()).expect("a recording");
        for line in cases.lines().skip(1) {
            let case: Value = serde_json::from_str(line).expect("JSON");
            if let Some(text) = case["in"].as_str() {
                taken += reads_beside(&before, text) + reads_beside(text, text);
                text.clone_into(&mut before);
            }
        }
    }
    assert!(taken > 1000, "only {taken} entries were taken over");
}

/// What the head scan should find, from the tree.
fn head_of(tree: &Tree<'_>) -> [Option<String>; 4] {
    let at = |path: &[&str]| {
        let path: Vec<_> = path.iter().map(|key| crate::yaml::Segment::from(*key)).collect();
        tree.at(&path).and_then(|node| tree.string(node)).map(str::to_owned)
    };
    [at(&["apiVersion"]), at(&["kind"]), at(&["metadata", "namespace"]), at(&["metadata", "name"])]
}

#[test]
fn a_file_of_our_own_is_one_document() {
    for text in ["a: 1\n---\nb: 2\n", "---\n---\na: 1\n", "a: 1\n...\nb: 2\n"] {
        let error = read_strict(text.as_bytes()).expect_err(text);
        assert!(error.message.starts_with("this file is one document"), "{text}: {error}");
    }
    for text in ["a: 1\n", "---\na: 1\n...\n", "# nothing\n"] {
        assert!(read_strict(text.as_bytes()).is_ok(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_walk_as_parsed(text in document()) {
        walks_as_parsed(text.as_bytes());
    }

    #[test]
    fn texts_read_beside_others_as_alone((old, new) in pair()) {
        reads_beside(&old, &new);
    }

    #[test]
    fn heads_are_never_wrong(text in document(), front in prop::bool::ANY) {
        let text = if front { text } else { format!("{EVERYDAY}{text}") };
        if let (Some(head), Ok(tree)) = (crate::yaml::head(text.as_bytes()), read(text.as_bytes())) {
            let found = [Some(head.api_version), Some(head.kind), head.namespace, Some(head.name)];
            prop_assert_eq!(found.map(|text| text.map(str::to_owned)), head_of(&tree), "{}", text);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(tree) = read_first(&bytes, 0, 1) {
            prop_assert!(tree.to_json().is_ok());
        }
    }
}
