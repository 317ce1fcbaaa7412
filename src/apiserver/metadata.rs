//! What is refused about metadata: names, labels, annotations, owner references, and fields that only the server sets.
//! Read beside `k8s.io/apimachinery` v0.36 `pkg/api/validation/objectmeta.go` and `pkg/util/validation/validation.go`,
//! `k8s.io/apiserver` v0.36 `pkg/registry/rest/{create,update}.go` and `pkg/endpoints/handlers/fieldmanager`.

use super::{Reach, Refusal, Way, word};
use crate::kinds::labels;
use crate::object::{Key, Object, Path};
use crate::tree::Value;

/// Longest name of an object.
const NAME: usize = 253;
/// Longest name that is one label, as of a Namespace or a Service.
const LABEL: usize = 63;
/// Most bytes of all annotations together (`TotalAnnotationSizeLimitB`).
pub(crate) const ANNOTATIONS: usize = 256 * 1024;

/// Fields that the API server sets alone, and that conflict with what it holds. Another `creationTimestamp` is passed over
/// (`pkg/registry/rest/update.go` BeforeUpdate).
const BY_SERVER: [&str; 3] = ["uid", "resourceVersion", "deletionTimestamp"];

/// The fields of ObjectMeta: a server-side apply of any other is refused (`k8s.io/apimachinery` v0.36
/// `pkg/util/managedfields/internal/typeconverter.go` ObjectToTyped).
pub(super) const FIELDS: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Whether nothing is refused about the metadata of an object whatever is there, by a look at the metadata alone; false where only the
/// tree can tell.
#[must_use]
pub(crate) fn is_harmless(object: &Object, way: Way) -> bool {
    is_plain(object)
        || object.metadata().is_some_and(|sent| {
            let told = |key: &str| sent.get("metadata").and_then(|metadata| metadata.get(key));
            let says = |key: &&str| told(key).is_some_and(|value| is_said(value) || is_emptied(key, value));
            !BY_SERVER.iter().any(says) && refusals(&object.key, &sent, None, None, way).is_empty()
        })
}

/// Whether the lines of the metadata tell that alone.
fn is_plain(object: &Object) -> bool {
    let is_fine = |map: &str, key: &str, text: &str| text_entry(map, key, text, map == "labels").is_none();
    object.has_plain_metadata(ANNOTATIONS, is_fine) && name(&object.key, &object.key.name).is_none()
}

/// Whether a field that the API server sets is said.
fn is_said(value: &Value) -> bool {
    !value.is_null() && value.as_str() != Some("")
}

/// Whether a field takes the version of an object away, without which none is updated.
fn is_emptied(field: &str, value: &Value) -> bool {
    field == "resourceVersion" && value.as_str() == Some("")
}

/// Whether the kinds of a group are defined in a cluster: those that are built in are updated whatever version is told.
fn is_custom(group: &str) -> bool {
    group.contains('.') && (!group.ends_with(".k8s.io") || group.ends_with(".x-k8s.io"))
}

/// What is refused about the metadata of a write. `last` is the object as the host wrote it last time.
#[must_use]
pub(crate) fn refusals(key: &Key, sent: &Value, live: Option<&Value>, last: Option<&Value>, way: Way) -> Vec<Refusal> {
    let mut out = Vec::new();
    let Some(metadata) = sent.get("metadata").and_then(Value::as_object) else { return out };
    out.extend(name(key, metadata.get("name").and_then(Value::as_str).unwrap_or_default()));
    for (what, is_label) in [("labels", true), ("annotations", false)] {
        match metadata.get(what) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                out.extend(map.iter().filter_map(|(key, value)| entry(what, key, value, is_label)));
            }
            Some(other) => {
                out.push(
                    Refusal::at(&["metadata", what], format!("it must be a map and is {}", word(other))).of_release(),
                );
            }
        }
    }
    let size = |map: &crate::tree::Map| -> usize {
        map.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
    };
    if metadata.get("annotations").and_then(Value::as_object).is_some_and(|map| size(map) > ANNOTATIONS) {
        out.push(Refusal::at(
            &["metadata", "annotations"],
            format!("they are longer than {ANNOTATIONS} bytes together"),
        ));
    }
    out.extend(types(metadata));
    owners(metadata.get("ownerReferences"), &mut out);
    by_server((key, metadata), live, last, way, &mut out);
    let unknown = metadata.keys().filter(|field| way.applied && !FIELDS.contains(&field.as_str()));
    out.extend(unknown.map(|field| Refusal::at(&["metadata", field], "no object has such a field")));
    out
}

/// A field of the metadata, whether a value is of its type in Go, and what that is called (`k8s.io/apimachinery` v0.36 `pkg/apis/meta/v1/types.go`
/// ObjectMeta): nobody who decodes another one gets further.
type Typed = (&'static str, fn(&Value) -> bool, &'static str);

/// The fields beside labels, annotations and the name.
const TYPES: [Typed; 11] = [
    ("generateName", Value::is_string, "a text"),
    ("selfLink", Value::is_string, "a text"),
    ("uid", Value::is_string, "a text"),
    ("resourceVersion", Value::is_string, "a text"),
    ("creationTimestamp", is_time, "a time, such as 2026-01-31T12:00:00Z"),
    ("deletionTimestamp", is_time, "a time, such as 2026-01-31T12:00:00Z"),
    ("generation", Value::is_i64, "a whole number"),
    ("deletionGracePeriodSeconds", Value::is_i64, "a whole number"),
    ("finalizers", is_list_of_texts, "a list of texts"),
    ("ownerReferences", is_list_of_maps, "a list of maps"),
    ("managedFields", is_list_of_maps, "a list of maps"),
];

fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.is_empty() || text.parse::<jiff::Timestamp>().is_ok())
}

fn is_list_of_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(|item| item.is_string() || item.is_null()))
}

fn is_list_of_maps(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(|item| item.is_object() || item.is_null()))
}

/// Fields that are of another type than Go's.
fn types(metadata: &crate::tree::Map) -> impl Iterator<Item = Refusal> + '_ {
    TYPES.iter().filter_map(|(field, is, wanted)| {
        let value = metadata.get(field).filter(|value| !value.is_null() && !is(value))?;
        let is_list = matches!((value, *wanted), (Value::Array(_), wanted) if wanted.starts_with("a list"));
        let found = if is_list { "a list of something else" } else { word(value) };
        Some(Refusal::at(&["metadata", field], format!("it must be {wanted} and is {found}")).of_release())
    })
}

/// What is refused about one label or annotation.
fn entry(what: &str, key: &str, value: &Value, is_label: bool) -> Option<Refusal> {
    let at = |because: String| Some(Refusal::at(&["metadata", what, key], because));
    match value {
        Value::Null => None,
        Value::String(text) => text_entry(what, key, text, is_label),
        other => {
            at(format!("its value must be a text and is {}: put it in quotes", word(other))).map(Refusal::of_release)
        }
    }
}

/// What is refused about one whose value is a text.
fn text_entry(what: &str, key: &str, text: &str, is_label: bool) -> Option<Refusal> {
    let at = |because: String| Some(Refusal::at(&["metadata", what, key], because));
    // An annotation's key is looked at in lower case.
    let is_key = if is_label { labels::is_key(key) } else { labels::is_key(&key.to_ascii_lowercase()) };
    if !is_key {
        return at("its key is not a qualified name".to_owned());
    }
    if is_label && !labels::is_value(text) {
        let why =
            if text.len() > LABEL { format!("longer than {LABEL} characters") } else { "not a label value".to_owned() };
        return at(format!("its value is {why}"));
    }
    None
}

/// What is refused about a name.
fn name(key: &Key, name: &str) -> Option<Refusal> {
    if name.is_empty() {
        return None;
    }
    let bad = |because: String| Some(Refusal::at(&["metadata", "name"], because));
    let core = key.group.is_empty();
    match (key.group.as_str(), key.kind.as_str()) {
        ("rbac.authorization.k8s.io" | "certificates.k8s.io", _) => {
            let is_bad = matches!(name, "." | "..") || name.contains(['/', '%']);
            return is_bad.then(|| bad("it must not be . or .., nor hold / or %".to_owned())).flatten();
        }
        (_, "Namespace" | "Service") if core => {
            if name.len() > LABEL || !is_dns_label(name) {
                return bad(format!("it must be at most {LABEL} small letters, digits and dashes"));
            }
        }
        _ => {
            if name.len() > NAME || !name.split('.').all(is_dns_label) {
                return bad(format!(
                    "it must be at most {NAME} small letters, digits, dashes and dots, with a letter or digit at both ends"
                ));
            }
        }
    }
    None
}

/// Whether a text is a label of a DNS name.
fn is_dns_label(text: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && ends(text.bytes().next())
        && ends(text.bytes().last())
}

/// What is refused about owner references (`ValidateOwnerReferences`).
fn owners(value: Option<&Value>, out: &mut Vec<Refusal>) {
    let Some(list) = value.and_then(Value::as_array) else { return };
    for (place, reference) in list.iter().enumerate() {
        for key in ["apiVersion", "kind", "name", "uid"] {
            if reference.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
                let path = Path::root().key("metadata").key("ownerReferences").index(place).key(key);
                out.push(Refusal { path, because: "it must not be empty".to_owned(), reach: Reach::Object });
            }
        }
    }
    let controls = |reference: &&Value| reference.get("controller") == Some(&Value::Bool(true));
    if list.iter().filter(controls).count() > 1 {
        out.push(Refusal::at(&["metadata", "ownerReferences"], "only one of them may be the controller"));
    }
}

/// Fields that the server sets: written as something else, they conflict with what it holds.
fn by_server(
    (own, metadata): (&Key, &crate::tree::Map),
    live: Option<&Value>,
    last: Option<&Value>,
    way: Way,
    out: &mut Vec<Refusal>,
) {
    let of = |object: Option<&Value>, key: &str| object.and_then(|object| object.get("metadata")?.get(key)).cloned();
    for key in BY_SERVER {
        let may_empty = is_custom(&own.group) && live.is_some();
        let is_told = |value: &&Value| is_said(value) || (may_empty && is_emptied(key, value));
        let Some(told) = metadata.get(key).filter(is_told) else { continue };
        // What the last manifest said already is in no merge patch.
        if !way.whole && live.is_some() && of(last, key).as_ref() == Some(told) {
            continue;
        }
        match live {
            Some(live) if of(Some(live), key).as_ref() != Some(told) => {
                out.push(Refusal::at(
                    &["metadata", key],
                    "it is not that of the object that is there, so the write conflicts",
                ));
            }
            None if key == "resourceVersion" || (key == "uid" && way.applied) => {
                out.push(Refusal::at(&["metadata", key], "it must not be said of an object that is new"));
            }
            _ => {}
        }
    }
    let managed = metadata.get("managedFields").and_then(Value::as_array);
    if way.applied && managed.is_some() {
        out.push(Refusal::at(&["metadata", "managedFields"], "it must not be said in a server-side apply"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    const PATCH: Way = Way { applied: false, whole: false };
    const APPLY: Way = Way { applied: true, whole: true };

    fn found(metadata: &Value, live: Option<&Value>, way: Way) -> Vec<String> {
        let key = Key::of("x.io", "X", None, "x");
        let sent = json!({"metadata": metadata});
        let all = refusals(&key, &sent, live, None, way);
        all.iter().map(|refusal| format!("{:?} {}: {}", refusal.reach, refusal.path, refusal.because)).collect()
    }

    /// Whatever the lines of a metadata are told to be, the tree says the same, for every order of some lines.
    #[test]
    fn what_lines_call_harmless_the_tree_calls_harmless() {
        const LINES: [&str; 21] = [
            "  labels:",
            "  annotations:",
            "    app.kubernetes.io/name: a-b",
            "    yes: no",
            "    a: \"1\"",
            "    a: 1",
            "    on: text # comment",
            "    a/b/c: text",
            "    'q': '-'",
            "    big: -text-",
            "    t: 2020-01-01",
            "    c: a: b",
            "    # comment",
            "    k: |",
            "      text",
            "  uid: u",
            "  namespace: other",
            "  finalizers: x",
            "  generation: 1.5",
            "",
            "  labels: {}",
        ];
        let mut plain = 0;
        for code in 0..LINES.len().pow(4) {
            let line = |digit: u32| LINES[code / LINES.len().pow(digit) % LINES.len()];
            let body = [0, 1, 2, 3].map(line).join("\n");
            let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n{body}\ndata:\n  a: b\n");
            let Ok(stream) = crate::object::Stream::load(&bytes::Bytes::copy_from_slice(text.as_bytes())) else {
                continue;
            };
            for object in stream.objects.objects().iter().filter(|object| is_plain(object)) {
                plain += 1;
                // A text that nobody can read is refused before this by its reader.
                let Some(sent) = object.metadata() else { continue };
                let found = refusals(&object.key, &sent, None, None, PATCH);
                let is_said = |key: &&str| sent.pointer(&format!("/metadata/{key}")).is_some_and(is_said);
                assert!(found.is_empty() && !BY_SERVER.iter().any(is_said), "{text}");
            }
        }
        assert!(plain > 500, "{plain}");
    }

    #[test]
    fn a_field_of_another_type_stops_the_release() {
        for (wrong, right) in [
            (json!({"finalizers": "x"}), json!({"finalizers": ["x.io/y"]})),
            (json!({"finalizers": [1]}), json!({"finalizers": []})),
            (json!({"generateName": 4}), json!({"generateName": "x-"})),
            (json!({"ownerReferences": "x"}), json!({"ownerReferences": []})),
            (json!({"managedFields": "x"}), json!({"managedFields": []})),
            (json!({"generation": "x"}), json!({"generation": 4})),
            (json!({"deletionGracePeriodSeconds": "x"}), json!({"deletionGracePeriodSeconds": null})),
            (json!({"creationTimestamp": "hello"}), json!({"creationTimestamp": null})),
            (json!({"creationTimestamp": 5}), json!({"creationTimestamp": "2026-01-31T12:00:00Z"})),
            (json!({"selfLink": 4}), json!({"selfLink": ""})),
        ] {
            let said = found(&wrong, None, PATCH);
            assert!(said.len() == 1 && said[0].starts_with("Release metadata."), "{wrong} {said:?}");
            assert_eq!(found(&right, None, PATCH), Vec::<String>::new(), "{right}");
        }
    }

    #[test]
    fn a_value_that_is_no_text_stops_the_release() {
        let metadata =
            json!({"name": "x", "labels": {"on": true, "off": "true", "none": null}, "annotations": {"n": 1}});
        assert_eq!(
            found(&metadata, None, PATCH),
            [
                "Release metadata.labels.on: its value must be a text and is a boolean: put it in quotes",
                "Release metadata.annotations.n: its value must be a text and is a number: put it in quotes",
            ]
        );
    }

    #[test]
    fn names_keys_and_values_are_looked_at() {
        let long = "a".repeat(64);
        let metadata = json!({"name": "X_y", "labels": {"a": long, "b c": "d", "e": "-f"}, "annotations": {"Big/Key": "any thing", "": "x"}});
        let paths: Vec<String> = found(&metadata, None, PATCH)
            .iter()
            .map(|text| text.split(':').next().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(
            paths,
            [
                "Object metadata.name",
                "Object metadata.labels.a",
                "Object metadata.labels[\"b c\"]",
                "Object metadata.labels.e",
                "Object metadata.annotations[\"\"]",
            ]
        );
        assert!(found(&json!({"name": "a.b-c", "labels": {"a.b/c": "D_e.f", "empty": ""}}), None, PATCH).is_empty());
    }

    #[test]
    fn owner_references_are_whole() {
        let whole = json!({"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "controller": true});
        assert!(found(&json!({"name": "x", "ownerReferences": [whole]}), None, PATCH).is_empty());
        let bare = json!({"apiVersion": "v1", "kind": "A", "name": "a"});
        assert_eq!(
            found(&json!({"name": "x", "ownerReferences": [bare]}), None, PATCH),
            ["Object metadata.ownerReferences[0].uid: it must not be empty"]
        );
        assert_eq!(found(&json!({"name": "x", "ownerReferences": [whole, whole]}), None, PATCH).len(), 1);
    }

    #[test]
    fn what_only_the_server_sets_conflicts() {
        let live = json!({"metadata": {"uid": "1", "resourceVersion": "7"}});
        assert!(found(&json!({"name": "x", "uid": "1", "resourceVersion": "7"}), Some(&live), PATCH).is_empty());
        assert_eq!(found(&json!({"name": "x", "uid": "2"}), Some(&live), PATCH).len(), 1);
        assert_eq!(found(&json!({"name": "x", "resourceVersion": "6"}), Some(&live), APPLY).len(), 1);
        assert_eq!(found(&json!({"name": "x", "resourceVersion": "6"}), None, PATCH).len(), 1);
        assert_eq!(found(&json!({"name": "x", "uid": "2"}), None, PATCH).len(), 0);
        assert_eq!(found(&json!({"name": "x", "uid": "2", "creationTimestamp": null}), None, APPLY).len(), 1);
        assert_eq!(found(&json!({"name": "x", "managedFields": [{}]}), None, APPLY).len(), 1);
        assert_eq!(found(&json!({"name": "x", "managedFields": [{}]}), None, PATCH).len(), 0);
        assert_eq!(found(&json!({"name": "x", "managedFields": []}), None, APPLY).len(), 1);
        assert_eq!(found(&json!({"name": "x", "managedFields": null}), None, APPLY).len(), 0);
        assert_eq!(found(&json!({"name": "x", "resourceVersion": ""}), Some(&live), PATCH).len(), 1);
        assert_eq!(found(&json!({"name": "x", "resourceVersion": ""}), None, PATCH).len(), 0);
        assert_eq!(found(&json!({"name": "x", "uid": "", "resourceVersion": null}), Some(&live), APPLY).len(), 0);
        let another_time = json!({"name": "x", "creationTimestamp": "2026-01-31T12:00:00Z"});
        assert_eq!(found(&another_time, Some(&live), APPLY).len(), 0);
        let secret = Key::of("", "Secret", None, "x");
        let emptied = json!({"metadata": {"name": "x", "resourceVersion": ""}});
        assert!(refusals(&secret, &emptied, Some(&live), None, PATCH).is_empty(), "built in kinds need no version");
    }

    #[test]
    fn a_field_that_no_object_has_is_refused_where_the_server_applies() {
        let metadata = json!({"name": "x", "label": {"a": "b"}, "generation": 7});
        assert_eq!(found(&metadata, None, APPLY), ["Object metadata.label: no object has such a field"]);
        assert_eq!(found(&metadata, None, PATCH), Vec::<String>::new());
    }
}
