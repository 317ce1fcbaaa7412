//! What the sources of late values give: files and variables of this machine, fields of objects.
//! A source that has nothing is absent; one that cannot be read, or gives several values, is doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use base64::Engine as _;
use serde_json::Value;

use crate::kinds::contract::SECRET;
use crate::object::{Inventory, Key, Object};
use crate::policy::{LateValue, ObjectSource, Policy, Source};
use crate::world::SourceReading;

/// Most bytes that a file source may have; a value is a line, not a document.
const MOST_BYTES: u64 = 64 * 1024;

/// An object that has to be read for a late value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted<'p> {
    /// The late value.
    pub value: &'p LateValue,
    /// Place of the source in its list, from 0.
    pub place: usize,
    /// The field of the object.
    pub source: &'p ObjectSource,
    /// Namespace to look in: that of the source, else that of the release; none for what lies in no namespace.
    pub namespace: Option<String>,
}

impl Wanted<'_> {
    /// The identity of the object.
    #[must_use]
    pub fn key(&self) -> Key {
        let source = self.source;
        Key::new(&source.api_version, &source.kind, self.namespace.as_deref(), &source.name)
    }
}

/// The objects that the late values with these names come from, in the policy's order.
#[must_use]
pub fn wanted<'p>(policy: &'p Policy, names: &BTreeSet<String>, namespace: Option<&str>) -> Vec<Wanted<'p>> {
    let mut list = Vec::new();
    for (value, place, from) in each(policy, names) {
        if let Some(source) = &from.object {
            let namespace = source.namespace.as_deref().or(namespace).map(str::to_owned);
            list.push(Wanted { value, place, source, namespace });
        }
    }
    list
}

/// Reads the `file` and `env` sources of the late values with these names. Relative files start from `folder`, that of the policy.
#[must_use]
pub fn local(
    policy: &Policy,
    names: &BTreeSet<String>,
    folder: &Path,
    env: &BTreeMap<String, String>,
) -> Vec<SourceReading> {
    let mut list = Vec::new();
    for (value, place, from) in each(policy, names) {
        let (found, unread) = match (&from.file, &from.env) {
            (Some(file), _) => match read_file(&folder.join(file)) {
                Ok(found) => (found, None),
                Err(why) => (None, Some(why)),
            },
            (_, Some(name)) => (env.get(name).cloned(), None),
            _ => continue,
        };
        list.push(SourceReading { found: tidy(found), unread, ..blank(value, place, from, None) });
    }
    list
}

/// What one object gave, for whoever reads the cluster: `object` is the object, `None` where it is known not to be there,
/// or why it could not be read.
#[must_use]
pub fn reading(wanted: &Wanted<'_>, object: Result<Option<&Value>, String>) -> SourceReading {
    let from = &wanted.value.from[wanted.place];
    let mut reading = blank(wanted.value, wanted.place, from, wanted.namespace.as_deref());
    match object {
        Err(why) => reading.unread = Some(why),
        Ok(None) => {}
        Ok(Some(object)) => {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            reading.uid = text("/metadata/uid");
            reading.resource_version = text("/metadata/resourceVersion");
            match extract(object, wanted.source) {
                Ok(found) => reading.found = tidy(found),
                Err(why) => reading.unread = Some(why),
            }
        }
    }
    reading
}

/// What the objects of an inventory (an old render, a snapshot, files) give. An object that is not in it is absent.
/// Without a namespace on one of the two sides, kind and name decide, as everywhere offline.
#[must_use]
pub fn within(
    policy: &Policy,
    names: &BTreeSet<String>,
    namespace: Option<&str>,
    live: &Inventory,
) -> Vec<SourceReading> {
    let mut list = Vec::new();
    for wanted in wanted(policy, names, namespace) {
        let key = wanted.key();
        let fits = |other: &Key| {
            other.group == key.group
                && other.kind == key.kind
                && other.name == key.name
                && (other.namespace.is_none() || key.namespace.is_none() || other.namespace == key.namespace)
        };
        let found: Vec<&Object> = live.objects().iter().filter(|object| fits(&object.key)).collect();
        let places: BTreeSet<Option<&str>> = found.iter().map(|object| object.key.namespace.as_deref()).collect();
        let object = live.get(&key).or_else(|| found.last().copied());
        list.push(match object.map(Object::value).transpose() {
            Ok(_) if live.get(&key).is_none() && places.len() > 1 => {
                reading(&wanted, Err("it stands in several namespaces; give --namespace".to_owned()))
            }
            Ok(value) => reading(&wanted, Ok(value.as_deref())),
            Err(error) => reading(&wanted, Err(error.to_string())),
        });
    }
    list
}

/// The text that an object holds at the path of the source: text as it is, numbers and booleans as they are written,
/// data of a Secret decoded. `None` where nothing stands there.
///
/// # Errors
/// When the path is no JSONPath, finds several values, or finds a map or a list.
pub fn extract(object: &Value, source: &ObjectSource) -> Result<Option<String>, String> {
    let path = &source.path;
    let mut nodes = jsonpath_rust::query::js_path(path, object)
        .map_err(|_| format!("the path {path} cannot be evaluated; write it as $.data.key"))?;
    if nodes.len() > 1 {
        return Err(format!("the path {path} finds {} values; make it find one", nodes.len()));
    }
    let Some(node) = nodes.pop() else { return Ok(None) };
    match node.val {
        Value::Null => Ok(None),
        Value::String(text) if is_secret(source) && node.path.starts_with("$['data']") => decode(text).map(Some),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::Bool(truth) => Ok(Some(truth.to_string())),
        Value::Array(_) => Err(format!("the path {path} finds a list; make it find one value")),
        Value::Object(_) => Err(format!("the path {path} finds a map; make it find one value")),
    }
}

/// How a person calls a source, and the path inside it.
#[must_use]
pub fn describe(source: &Source, namespace: Option<&str>) -> (String, String) {
    match (&source.object, &source.file, &source.env) {
        (Some(object), _, _) => {
            let namespace = object.namespace.as_deref().or(namespace);
            let key = Key::new(&object.api_version, &object.kind, namespace, &object.name);
            (key.to_string(), object.path.clone())
        }
        (_, Some(file), _) => (format!("file {file}"), String::new()),
        (_, _, Some(name)) => (format!("env {name}"), String::new()),
        _ => ("nowhere".to_owned(), String::new()),
    }
}

/// A reading that found nothing yet.
fn blank(value: &LateValue, place: usize, from: &Source, namespace: Option<&str>) -> SourceReading {
    let (source, path) = describe(from, namespace);
    SourceReading {
        value: value.name.clone(),
        place,
        found: None,
        source: if path.is_empty() { source } else { format!("{source} at {path}") },
        uid: None,
        resource_version: None,
        unread: None,
        secret: from.object.as_ref().is_some_and(is_secret),
    }
}

/// Each source of the late values with these names.
fn each<'p>(policy: &'p Policy, names: &BTreeSet<String>) -> impl Iterator<Item = (&'p LateValue, usize, &'p Source)> {
    policy
        .late_values
        .iter()
        .filter(|value| names.contains(&value.name))
        .flat_map(|value| value.from.iter().enumerate().map(move |(place, from)| (value, place, from)))
}

/// Whether the object is a Secret of the core group.
#[must_use]
pub fn is_secret(source: &ObjectSource) -> bool {
    source.api_version == "v1" && source.kind == SECRET
}

fn decode(text: &str) -> Result<String, String> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text.trim())
        .map_err(|_| "the data of the Secret is not base64".to_owned())?;
    String::from_utf8(bytes).map_err(|_| "the data of the Secret is not text".to_owned())
}

/// The text of a file; `None` where there is no such file.
fn read_file(file: &Path) -> Result<Option<String>, String> {
    let size = match std::fs::metadata(file) {
        Ok(data) => data.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if size > MOST_BYTES {
        return Err(format!("it has {size} bytes; a value has {MOST_BYTES} at most"));
    }
    std::fs::read_to_string(file).map(Some).map_err(|error| error.to_string())
}

/// White space around a value is how files and ConfigMaps end, not part of it.
fn tidy(found: Option<String>) -> Option<String> {
    found.map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source(kind: &str, path: &str) -> ObjectSource {
        ObjectSource {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            name: "late".to_owned(),
            namespace: None,
            path: path.to_owned(),
        }
    }

    fn policy(from: Value) -> Policy {
        let value = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy",
            "lateValues": [{"name": "vip", "from": from}, {"name": "other", "from": [{"env": "OTHER"}]}]});
        crate::policy::parse("p", value.to_string().as_bytes()).expect("a policy")
    }

    fn vip() -> BTreeSet<String> {
        BTreeSet::from(["vip".to_owned()])
    }

    #[test]
    fn a_field_gives_its_text() {
        let object = json!({"data": {"ip": "10.0.3.7", "empty": ""}, "status": {"port": 6443, "up": true, "none": null,
            "list": [1], "addresses": [{"type": "a", "ip": "1"}, {"type": "b", "ip": "2"}]}});
        for (path, text) in [
            ("$.data.ip", Some("10.0.3.7")),
            ("$.data.empty", Some("")),
            ("$['data']['ip']", Some("10.0.3.7")),
            ("$.status.port", Some("6443")),
            ("$.status.up", Some("true")),
            ("$.status.none", None),
            ("$.data.lacks", None),
            ("$.status.addresses[?@.type == 'b'].ip", Some("2")),
        ] {
            let found = extract(&object, &source("ConfigMap", path)).expect(path);
            assert_eq!(found.as_deref(), text, "{path}");
        }
    }

    #[test]
    fn several_values_are_doubt_and_never_a_choice() {
        let object = json!({"a": [{"ip": "1"}, {"ip": "2"}], "map": {}});
        for (path, complaint) in [("$.a[*].ip", "finds 2 values"), ("$.a", "finds a list"), ("$.map", "finds a map")] {
            let why = extract(&object, &source("ConfigMap", path)).expect_err(path);
            assert!(why.contains(complaint), "{why}");
        }
    }

    #[test]
    fn data_of_a_secret_is_decoded_and_that_of_others_is_not() {
        let object =
            json!({"data": {"token": "czNjcjN0", "bad": "%%%", "binary": "/w=="}, "metadata": {"uid": "czNjcjN0"}});
        let read = |kind: &str, path: &str| extract(&object, &source(kind, path));
        assert_eq!(read("Secret", "$.data.token"), Ok(Some("s3cr3t".to_owned())));
        assert_eq!(read("Secret", "$.metadata.uid"), Ok(Some("czNjcjN0".to_owned())));
        assert_eq!(read("ConfigMap", "$.data.token"), Ok(Some("czNjcjN0".to_owned())));
        assert!(read("Secret", "$.data.bad").is_err());
        assert!(read("Secret", "$.data.binary").is_err());
    }

    #[test]
    fn files_and_variables_are_read_for_the_asked_values_only() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("vip.txt"), "\n 10.0.3.7 \n").expect("a file");
        let policy = policy(json!([{"file": "none.txt"}, {"file": "vip.txt"}, {"env": "VIP"}, {"env": "UNSET"}]));
        let env = BTreeMap::from([("VIP".to_owned(), "10.0.3.8\n".to_owned()), ("OTHER".to_owned(), "x".to_owned())]);
        let found: Vec<_> = local(&policy, &vip(), folder.path(), &env)
            .into_iter()
            .map(|reading| (reading.place, reading.source, reading.found, reading.unread))
            .collect();
        let expected = [
            (0, "file none.txt", None),
            (1, "file vip.txt", Some("10.0.3.7")),
            (2, "env VIP", Some("10.0.3.8")),
            (3, "env UNSET", None),
        ]
        .map(|(place, source, found)| (place, source.to_owned(), found.map(str::to_owned), None));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_folder_in_place_of_a_file_is_doubt() {
        let folder = tempfile::tempdir().expect("a folder");
        let readings = local(&policy(json!([{"file": "."}])), &vip(), folder.path(), &BTreeMap::new());
        assert!(readings[0].unread.is_some());
    }

    #[test]
    fn an_inventory_gives_what_its_objects_hold() {
        let from = json!([{"object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "path": "$.data.ip"}}]);
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "c", "namespace": "capo", "uid": "u1", "resourceVersion": "7"}, "data": {"ip": "10.0.3.7"}});
        let live = Inventory::from(vec![Object::from_value(object, 0).expect("an object")]);
        let read = |namespace| within(&policy(from.clone()), &vip(), namespace, &live).remove(0);
        let found = read(Some("capo"));
        assert_eq!(found.found.as_deref(), Some("10.0.3.7"));
        assert_eq!(found.source, "ConfigMap capo/c at $.data.ip");
        assert_eq!((found.uid.as_deref(), found.resource_version.as_deref()), (Some("u1"), Some("7")));
        assert_eq!(read(None).found.as_deref(), Some("10.0.3.7"));
        assert_eq!(read(Some("elsewhere")).found, None);
        let twin = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "b"}, "data": {"ip": "10.0.9.9"}});
        let mut live = live.clone();
        live.push(Object::from_value(twin, 0).expect("an object"));
        let read = |namespace| within(&policy(from.clone()), &vip(), namespace, &live).remove(0);
        assert_eq!((read(None).found, read(None).unread.is_some()), (None, true), "which of the two is not known");
        assert_eq!(read(Some("b")).found.as_deref(), Some("10.0.9.9"));
    }
}
