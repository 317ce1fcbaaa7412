//! What the sources of late values give that are fields of objects, in a cluster or among files.
//! A source that has nothing is absent; one that cannot be read, or gives several values, is doubt.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64::Engine as _;

use crate::object::{Inventory, Key, Object};
use crate::policy::{LateValue, ObjectSource, Policy, Selector, Source, SourceKind};
use crate::tree::Value;
use crate::world::{Gap, SourceReading, release};

/// An object that has to be read for a late value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted<'p> {
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
    pub(crate) fn key(&self) -> Key {
        let source = self.source;
        Key::new(&source.api_version, &source.kind, self.namespace.as_deref(), &source.name)
    }
}

/// The objects that the late values with these names come from, in the policy's order.
#[must_use]
pub(crate) fn wanted<'p>(policy: &'p Policy, names: &BTreeSet<String>, namespace: Option<&str>) -> Vec<Wanted<'p>> {
    let mut list = Vec::new();
    for (value, place, from) in each(policy, names) {
        if let SourceKind::Object(source) = from.kind() {
            let namespace = source.namespace.as_deref().or(namespace).map(str::to_owned);
            list.push(Wanted { value, place, source, namespace });
        }
    }
    list
}

/// What one object gave, for whoever reads the cluster: `object` is the object, or the list that a selector found; `None` where it
/// is known not to be there, or why it could not be read.
#[must_use]
pub(crate) fn reading(wanted: &Wanted<'_>, object: Result<Option<&Value>, String>) -> SourceReading {
    let from = &wanted.value.from[wanted.place];
    let mut reading = blank(wanted.value, wanted.place, from, wanted.namespace.as_deref());
    match object.and_then(|object| object.map_or(Ok(None), |object| only(wanted.source, object))) {
        Err(why) => {
            // The API server's own word for a missing right, as whoever read it passes it on.
            reading.gap = why.starts_with("forbidden").then_some(Gap::Forbidden);
            reading.unread = Some(why);
        }
        Ok(None) => {}
        Ok(Some(object)) => {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            reading.uid = text("/metadata/uid");
            reading.resource_version = text("/metadata/resourceVersion");
            reading.clone_of = clone_of(object);
            // Names of other values of a release are nobody's business.
            let keys = || match wanted.source.release {
                Some(_) => Vec::new(),
                None => keys_beside(object, &wanted.source.path),
            };
            match extract(object, wanted.source) {
                Ok(None) => reading.gap = Some(Gap::KeyMissing(keys())),
                Ok(found) => reading.found = tidy(found),
                Err(why) => reading.unread = Some(why),
            }
        }
    }
    reading
}

/// What a source gave whose kind the API server does not know.
#[must_use]
pub(crate) fn no_kind(wanted: &Wanted<'_>) -> SourceReading {
    SourceReading { gap: Some(Gap::KindUnknown), ..reading(wanted, Ok(None)) }
}

/// The one object that a selector found; several are no choice of ours.
fn only<'v>(source: &ObjectSource, found: &'v Value) -> Result<Option<&'v Value>, String> {
    let Some(selector) = &source.selector else { return Ok(Some(found)) };
    let items = found.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match items {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => {
            let names: Vec<&str> =
                several.iter().filter_map(|item| item.pointer("/metadata/name").and_then(Value::as_str)).collect();
            Err(format!(
                "{} objects have the labels {selector}: {}; make the selector find one",
                names.len(),
                names.join(", ")
            ))
        }
    }
}

/// Labels and annotations by which the tools that copy objects from namespace to namespace mark their copies.
const CLONES: [(&str, &str, &str); 6] = [
    ("labels", "generate.kyverno.io/source-uid", "Kyverno"),
    ("labels", "generate.kyverno.io/clone-source", "Kyverno"),
    ("annotations", "reflector.v1.k8s.emberstack.com/reflects", "Reflector"),
    ("annotations", "replicator.v1.mittwald.de/replicated-from-version", "kubernetes-replicator"),
    ("annotations", "kubed.appscode.com/origin", "Config Syncer"),
    ("labels", "hnc.x-k8s.io/inherited-from", "the Hierarchical Namespace Controller"),
];

/// Who made the object as a copy of another one, where its marks say so.
fn clone_of(object: &Value) -> Option<String> {
    let mark = |field: &str, name: &str| object.get("metadata")?.get(field)?.get(name)?.as_str();
    let (field, name, tool) = CLONES.iter().find(|(field, name, _)| mark(field, name).is_some())?;
    let source = ["generate.kyverno.io/source-namespace", "generate.kyverno.io/source-name"]
        .map(|name| mark("labels", name).unwrap_or_default());
    match (*tool, source) {
        ("Kyverno", [namespace, name]) if !name.is_empty() => Some(format!("a copy by Kyverno of {namespace}/{name}")),
        ("Reflector", _) => Some(format!("a copy by Reflector of {}", mark(field, name).unwrap_or_default())),
        (tool, _) => Some(format!("a copy by {tool}")),
    }
}

/// The keys that stand where the last step of a path finds none; a few of them, as a hint.
pub(super) fn keys_beside(object: &Value, path: &str) -> Vec<String> {
    let above = path.rfind(['.', '[']).map(|at| &path[..at]).filter(|above| !above.is_empty());
    let object = serde_json::Value::from(object);
    let nodes = above.and_then(|above| jsonpath_rust::query::js_path(above, &object).ok()).unwrap_or_default();
    let map = nodes.first().and_then(|node| node.val.as_object());
    map.into_iter().flat_map(|map| map.keys().take(12).cloned()).collect()
}

/// What the objects of an inventory (an old render, a snapshot, files) give. An object that is not in it is absent.
/// Without a namespace on one of the two sides, kind and name decide, as everywhere offline.
#[must_use]
pub(crate) fn within(
    policy: &Policy,
    names: &BTreeSet<String>,
    namespace: Option<&str>,
    live: &Inventory,
) -> Vec<SourceReading> {
    let mut list = Vec::new();
    for wanted in wanted(policy, names, namespace) {
        let key = wanted.key();
        let selector = wanted.source.selector.as_deref().and_then(|text| Selector::parse(text).ok());
        if let Some(selector) = &selector {
            list.push(selected(&wanted, &key, selector, live));
            continue;
        }
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
                reading(&wanted, Err("it stands in several namespaces; pass --namespace".to_owned()))
            }
            Ok(value) => reading(&wanted, Ok(value.as_deref())),
            Err(error) => reading(&wanted, Err(error.to_string())),
        });
    }
    list
}

/// What the objects of an inventory give that a selector finds.
fn selected(wanted: &Wanted<'_>, key: &Key, selector: &Selector, live: &Inventory) -> SourceReading {
    let alike = live.objects().iter().filter(|object| {
        let other = &object.key;
        other.group == key.group
            && other.kind == key.kind
            && (other.namespace.is_none() || key.namespace.is_none() || other.namespace == key.namespace)
    });
    let items: Vec<Value> = alike
        .filter_map(|object| object.value().ok())
        .filter(|value| selector.fits(value))
        .map(Cow::into_owned)
        .collect();
    reading(wanted, Ok(Some(&crate::tree::json!({ "items": items }))))
}

/// The text that an object holds at the path of the source: text as it is, numbers and booleans as they are written,
/// data of a Secret decoded. `None` where nothing stands there.
///
/// # Errors
/// When the path is no JSONPath, finds several values, or finds a map or a list.
pub(crate) fn extract(object: &Value, source: &ObjectSource) -> Result<Option<String>, String> {
    if source.release.is_some() {
        let values = release::values(object).map_err(|error| error.to_string())?;
        return Ok(at_path(&values, &source.path)?.map(|(text, _)| text));
    }
    let Some((text, way)) = at_path(object, &source.path)? else { return Ok(None) };
    if source.is_secret() && way.starts_with("$['data']") { decode(&text).map(Some) } else { Ok(Some(text)) }
}

/// The text at a path of a tree, and the way to it.
///
/// # Errors
/// When the path is no JSONPath, finds several values, or finds a map or a list.
pub(super) fn at_path(tree: &Value, path: &str) -> Result<Option<(String, String)>, String> {
    use serde_json::Value as Json;

    let tree = Json::from(tree);
    let mut nodes = jsonpath_rust::query::js_path(path, &tree)
        .map_err(|_| format!("the path {path} cannot be evaluated; write it as $.data.key"))?;
    if nodes.len() > 1 {
        return Err(format!("the path {path} finds {} values; make it find one", nodes.len()));
    }
    let Some(node) = nodes.pop() else { return Ok(None) };
    let text = match node.val {
        Json::Null => return Ok(None),
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        Json::Bool(truth) => truth.to_string(),
        Json::Array(_) => return Err(format!("the path {path} finds a list; make it find one value")),
        Json::Object(_) => return Err(format!("the path {path} finds a map; make it find one value")),
    };
    Ok(Some((text, node.path)))
}

/// How a person calls a source, and the path inside it.
#[must_use]
pub(crate) fn describe(source: &Source, namespace: Option<&str>) -> (String, String) {
    let place = match source.kind() {
        SourceKind::Object(object) => return (described(object, namespace), object.path.clone()),
        SourceKind::File(file) => format!("file {file}"),
        SourceKind::Env(name) => format!("env {name}"),
        SourceKind::Http(http) => format!("http {}", place_of(&http.url)),
        SourceKind::Template(template) => format!("template {template}"),
        SourceKind::Exec(words) => format!("exec {}", words.first().map(String::as_str).unwrap_or_default()),
    };
    (place, source.path.clone().unwrap_or_default())
}

/// The place that an address names, without the login before it and the query behind it, which may hold a password or a token.
fn place_of(url: &str) -> String {
    let place = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = place.split_once("://") else { return place.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = host.rsplit(']').next().unwrap_or_default().split_once(':').map_or("", |(_, port)| port);
    // A password with a slash in it, which ends the host too early.
    let is_cut = !port.bytes().all(|byte| byte.is_ascii_digit());
    if is_cut { format!("{scheme}://") } else { format!("{scheme}://{host}{path}") }
}

/// How an object is called.
fn described(object: &ObjectSource, namespace: Option<&str>) -> String {
    let namespace = object.namespace.as_deref().or(namespace);
    if let Some(release) = &object.release {
        let place = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        return format!("values of release {place}{release}");
    }
    let name = object.selector.as_ref().map_or(object.name.clone(), |selector| format!("({selector})"));
    Key::new(&object.api_version, &object.kind, namespace, &name).to_string()
}

/// A reading that found nothing yet.
pub(super) fn blank(value: &LateValue, place: usize, from: &Source, namespace: Option<&str>) -> SourceReading {
    let (source, path) = describe(from, namespace);
    SourceReading {
        value: value.name.clone(),
        place,
        found: None,
        source: if path.is_empty() { source } else { format!("{source} at {path}") },
        uid: None,
        resource_version: None,
        unread: None,
        gap: None,
        clone_of: None,
        fits: false,
        secret: value.is_secret(),
    }
}

/// Each source of the late values with these names, and of those that they are made of.
pub(super) fn each<'p>(
    policy: &'p Policy,
    names: &BTreeSet<String>,
) -> impl Iterator<Item = (&'p LateValue, usize, &'p Source)> {
    let names = policy.with_origins(names);
    policy
        .late_values
        .iter()
        .filter(move |value| names.contains(&value.name))
        .flat_map(|value| value.from.iter().enumerate().map(move |(place, from)| (value, place, from)))
}

fn decode(text: &str) -> Result<String, String> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text.trim())
        .map_err(|_| "the data of the Secret is not base64".to_owned())?;
    String::from_utf8(bytes).map_err(|_| "the data of the Secret is not text".to_owned())
}

/// White space around a value is how files and ConfigMaps end, not part of it.
pub(super) fn tidy(found: Option<String>) -> Option<String> {
    found.map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests;
