//! What the text of an object tells about refusals and about what it carries, held beside its tree: the text may leave a question open,
//! but what it denies the tree must deny too.

use bytes::Bytes;
use proptest::prelude::*;

use super::is_harmless;
use crate::apiserver::{self, Way};
use crate::host::inside::holds_compared;
use crate::kinds::contract::CONFIG_MAP;
use crate::object::{Object, Stream};
use crate::tree::{Value, json};

/// Lines of `metadata` beside its name.
const METADATA: [&str; 20] = [
    "  namespace: ns",
    "  labels: {}",
    "  labels:\n    app: demo",
    "  labels:\n    app: true",
    "  labels:\n    app: \"1\"\n    a b: c",
    "  labels: demo",
    "  annotations:\n    note: |\n      a\n\n      b",
    "  annotations:\n    count: 1",
    "  annotations:\n    'Big/Key': any thing",
    "  uid: \"1\"",
    "  uid: \"\"",
    "  resourceVersion: \"7\"",
    "  creationTimestamp: null",
    "  ownerReferences:\n  - kind: A",
    "  managedFields: [{}]",
    "  # words",
    "  labels: &x\n    app: demo",
    "  name: b",
    "# at the edge",
    "  labels:\n    app: \"a\\x62\"\n    b: no",
];
/// Entries of the root beside the head.
const REST: [&str; 31] = [
    "data:\n  a: b",
    "data:\n  run.sh: |\n    echo 1\n\n    echo 2\n  b: \"x\"",
    "data:\n  a: 1",
    "data:\n  a: |\n    x\n  b: true",
    "data:\n  a: |\n  b: yes",
    "data:\n  a/b: c",
    "data:\n  \"a b\": c",
    "data: {a: 1}",
    "data: &x\n  a: 1",
    "data:\n# words\n  a: 1",
    "data:\n  a: x\n    y: 1",
    "data:\n  a: \"x\n  b: y\"\n  c: 1",
    "data:\n    a: b\n  c: 1",
    "'data':\n  a: 1",
    "data :\n  a: 1",
    "data:\n- a",
    "binaryData:\n  a: '?'",
    "stringData:\n  a: 1",
    "x: \"\ndata:\n  a: b\n  c: \"",
    "x: |+\n  a\n\n",
    "data:\n  a: |\n    apiVersion: cluster.x-k8s.io/v1beta1\n    kind: Cluster",
    "data:\n  a: |\n    apiVersion: v1",
    "data:\n  a: \"\\x61piVersion: cluster.x-k8s.io/v1beta1\"",
    "data:\n  a: \"api\\\n    Version: cluster.x-k8s.io/v1beta1\"",
    "data:\n  a: !!binary YXBpVmVyc2lvbjogY2x1c3Rlci54LWs4cy5pby92MWJldGEx",
    "type: kubernetes.io/tls",
    "immutable: true",
    "spec:\n  a: null",
    "# data:\n#   a: 1",
    "<<: {data: {a: 1}}",
    "immutable: \"yes\"",
];
const KINDS: [(&str, &str); 5] = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("apps/v1", "Deployment"),
    ("cluster.x-k8s.io/v1beta1", "Cluster"),
    ("example.com/v1", "ConfigMap"),
];
const WAYS: [Way; 3] =
    [Way { applied: false, whole: false }, Way { applied: false, whole: true }, Way { applied: true, whole: true }];

/// The objects of a document with these parts, where it is one.
fn objects(kind: usize, metadata: &[usize], rest: &[usize], head_last: bool, crlf: bool) -> Vec<Object> {
    let (api_version, kind) = KINDS[kind];
    let mut parts = vec![format!("apiVersion: {api_version}\nkind: {kind}")];
    let more: String = metadata.iter().map(|place| format!("{}\n", METADATA[*place])).collect();
    parts.push(format!("metadata:\n  name: a\n{more}").trim_end_matches('\n').to_owned());
    parts.extend(rest.iter().map(|place| REST[*place].to_owned()));
    if head_last {
        parts.rotate_left(1);
    }
    let mut text = parts.join("\n") + "\n";
    if crlf {
        text = text.replace('\n', "\r\n");
    }
    let stream = Stream::load(&Bytes::from(text));
    stream.map(|stream| stream.objects.objects().to_vec()).unwrap_or_default()
}

/// Whether the tree of an object shows something that is refused, whatever is there.
fn is_refused(object: &Object, sent: &Value, way: Way) -> bool {
    let live = json!({"metadata": {"uid": "2", "resourceVersion": "8"}});
    let refused = |live: Option<&Value>| {
        !apiserver::of_metadata(&object.key, sent, live, None, way).is_empty()
            || !apiserver::of_data(&object.key, sent, live).is_empty()
    };
    refused(None) || refused(Some(&live))
}

/// Whether a text of its data holds a compared object.
fn carries(sent: &Value) -> bool {
    let texts = sent.get("data").and_then(Value::as_object).into_iter().flatten();
    texts.filter_map(|(_, value)| value.as_str()).any(holds_compared)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_text_denies_its_tree_denies_too(
        kind in 0..KINDS.len(),
        metadata in prop::collection::vec(0..METADATA.len(), 0..3),
        rest in prop::collection::vec(0..REST.len(), 0..4),
        head_last in prop::bool::ANY,
        crlf in prop::bool::weighted(0.1),
    ) {
        for object in objects(kind, &metadata, &rest, head_last, crlf) {
            let Ok(sent) = object.glance() else { continue };
            for way in WAYS {
                prop_assert!(!is_harmless(&object, way) || !is_refused(&object, &sent, way), "{sent:?}");
            }
            if object.key.kind == CONFIG_MAP && !object.may_say_again("apiVersion") {
                prop_assert!(!carries(&sent), "{sent:?}");
            }
        }
    }
}

/// Without this the property could hold because the text never tells anything.
#[test]
fn everyday_objects_need_no_tree() {
    for (kind, metadata, rest) in
        [(0, &[0, 2, 6][..], &[0][..]), (0, &[], &[1]), (2, &[2, 8, 12], &[27]), (4, &[], &[2])]
    {
        let all = objects(kind, metadata, rest, false, false);
        assert_eq!(all.len(), 1);
        for way in WAYS {
            assert!(is_harmless(&all[0], way) && !is_refused(&all[0], &all[0].glance().expect("a tree"), way));
        }
        assert!(!all[0].may_say_again("apiVersion"));
    }
    // An apply of what has a schema asks the schema, and what is encoded is decoded.
    let applied = WAYS[2];
    assert!(!is_harmless(&objects(3, &[], &[27], false, false)[0], applied));
    assert!(!is_harmless(&objects(1, &[], &[0], false, false)[0], applied));
    assert!(!is_harmless(&objects(0, &[], &[26], false, false)[0], WAYS[0]));
    assert!(objects(0, &[], &[20], false, false)[0].may_say_again("apiVersion"));
}
