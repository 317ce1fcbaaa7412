//! Which objects a stream holds: recorded from cli-runtime's builder, as kubectl and both Helms call it, and from Helm's own
//! sorting of hooks (`tests/oracle/objects`), and read here.

use std::collections::BTreeMap;
use std::io::Read as _;

use rollgate::facade::host::hook::{Role, role};
use rollgate::facade::host::{Host, HostKind};
use rollgate::facade::object::{Object, Stream};
use rollgate::facade::tree::Value;

/// One object, as the recording writes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
struct Seen {
    #[serde(rename = "a")]
    api_version: String,
    #[serde(rename = "k")]
    kind: String,
    #[serde(rename = "ns", default)]
    namespace: String,
    #[serde(rename = "n")]
    name: String,
    /// The text of `data.v`.
    #[serde(rename = "v", default)]
    text: Option<String>,
}

/// What one program makes of one stream.
#[derive(Debug, serde::Deserialize)]
struct Case {
    #[serde(rename = "in")]
    text: String,
    by: String,
    written: Vec<Seen>,
    #[serde(default)]
    hooks: Vec<Seen>,
    #[serde(default)]
    refused: bool,
}

/// How a case came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Both read equal objects, or neither reads it.
    Same,
    /// Go stops, and so nothing is written; what is read here does not matter.
    GoStops,
    /// It is refused here on purpose: a document without a name, or text that Go drops without a word.
    Stricter,
    /// It is said that it is not known what is a hook.
    Unclear,
    /// Anything else.
    Different,
}

/// What is refused here although Go reads it.
const STRICTER: [&str; 6] = [
    // Go's scanner takes it for the end, whatever stands behind it.
    "control character U+0000",
    "text after the end of the document",
    "metadata.name is missing",
    "apiVersion is missing",
    "kind is missing",
    "this JSON value cannot be read",
];

fn seen(object: &Object, with_text: bool) -> Seen {
    let value = object.value().expect("it was read before");
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    Seen {
        api_version: text("/apiVersion"),
        kind: text("/kind"),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
        text: value.pointer("/data/v").and_then(Value::as_str).filter(|_| with_text).map(str::to_owned),
    }
}

fn outcome(case: &Case) -> (Outcome, String) {
    let kind = match case.by.as_str() {
        "helm3" => HostKind::Helm3,
        "helm4" => HostKind::Helm4,
        _ => HostKind::Kubectl,
    };
    // Helm 4 prints folded texts anew before it writes them.
    let with_text = kind != HostKind::Helm4;
    let host = Host { kind: Some(kind), post_rendered: kind == HostKind::Helm4, ..Host::default() };
    let stream = match Stream::load(&bytes::Bytes::copy_from_slice(case.text.as_bytes())) {
        Ok(stream) => stream,
        Err(_) if case.refused => return (Outcome::Same, String::new()),
        Err(error) => {
            let error = error.to_string();
            // Helm builds no document that it skips for a hook of a time that it does not know.
            let skipped = kind != HostKind::Kubectl && error.contains("so Helm and kubectl refuse it");
            let known = skipped || STRICTER.iter().any(|word| error.contains(word));
            return (if known { Outcome::Stricter } else { Outcome::Different }, error);
        }
    };
    if case.refused {
        return (Outcome::GoStops, String::new());
    }
    let (mut written, mut hooks) = (Vec::new(), Vec::new());
    for object in stream.objects.objects() {
        match role(object, &host) {
            Ok(Role::Written) => written.push(seen(object, with_text)),
            Ok(Role::Hook) => hooks.push(seen(object, with_text)),
            Ok(Role::Skipped | Role::Left) => {}
            Ok(Role::Unclear) => return (Outcome::Unclear, String::new()),
            Err(error) => return (Outcome::Different, error.to_string()),
        }
    }
    let order = |objects: &[Seen]| {
        let mut objects = objects.to_vec();
        if !with_text {
            objects.iter_mut().for_each(|object| object.text = None);
        }
        objects.sort();
        objects
    };
    let ours = (order(&written), order(&hooks));
    let theirs = (order(&case.written), order(&case.hooks));
    if ours == theirs { (Outcome::Same, String::new()) } else { (Outcome::Different, format!("{ours:?}")) }
}

/// Compares every case of a recording: counts by outcome, and the first that differ.
fn compare(text: &str) -> (BTreeMap<Outcome, usize>, String) {
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    let mut different = Vec::new();
    for line in text.lines().skip(1) {
        let case: Case = serde_json::from_str(line).expect("a case");
        let (outcome, why) = outcome(&case);
        *counts.entry(outcome).or_default() += 1;
        if outcome == Outcome::Different && different.len() < 20 {
            let Case { text, by, written, hooks, .. } = &case;
            different.push(format!("{text:?} by {by}: {why}\n  recorded: {written:?} {hooks:?}"));
        }
    }
    (counts, different.join("\n"))
}

fn recording() -> String {
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/objects/streams.jsonl.gz"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.expect("the recording").as_slice()).read_to_string(&mut text).expect("text");
    text
}

#[test]
fn every_recorded_stream_holds_the_same_objects() {
    let (counts, different) = compare(&recording());
    assert_eq!(counts.get(&Outcome::Different), None, "{counts:?}\n{different}");
    assert!(counts.get(&Outcome::Same).is_some_and(|same| *same > 3000), "{counts:?}");
}

#[test]
fn the_recording_fits_its_program() {
    let text = recording();
    let header: Value = serde_json::from_str(text.lines().next().expect("a header")).expect("JSON");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/objects");
    assert_eq!(header["program"], crate::program_of(folder), "run tests/oracle/objects/record.sh");
}

/// Plays a larger recording: `ROLLGATE_STREAMS=FILE cargo test --test yaml -- --ignored streams::bulk`.
#[test]
#[ignore = "needs a recording named by ROLLGATE_STREAMS"]
fn bulk() {
    let path = std::env::var("ROLLGATE_STREAMS").expect("ROLLGATE_STREAMS names a recording");
    let (counts, different) = compare(&std::fs::read_to_string(path).expect("the recording can be read"));
    println!("{counts:?}");
    assert_eq!(counts.get(&Outcome::Different), None, "{counts:?}\n{different}");
}
