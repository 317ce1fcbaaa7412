//! The patches of a class: which template each is about, and what comes out of it.
//! Read beside `core/reconcilers/topology/cluster/patches/inline/json_patch_generator.go` of Cluster API 1.14. What an
//! external patch makes is not computed, nor what a Go template makes with functions that are not known here: such a patch
//! leaves a print of everything that it may read, and comes out the same where the print is the same.

use crate::gotemplate as template;
use crate::gotemplate::Trouble;
use crate::gotemplate::Values;
use crate::judge::topology::blueprint::{ClassPart, Role};
use crate::judge::topology::values::{list, look_up};
use crate::kinds::Versions;
use crate::kinds::contract::CONVERSION_DATA;
use crate::kinds::fields::{annotation, text};
use crate::providers::core::changes::PATCHED_METADATA;
use crate::tree::{Map, Value, json};

/// What patches made of one template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Patched {
    /// The template's `spec`, with every patch that can be computed.
    pub(crate) spec: Value,
    /// Patches that are not computed: name, why, and all that they may read.
    pub(crate) opaque: Vec<(String, String, Value)>,
    /// A patch that fails, which stops the topology controller: name and why.
    pub(crate) broken: Option<(String, String)>,
}

/// The spec of a template. One that was read in another version than it is stored in has empty metadata by its conversion: Go leaves
/// no struct out.
#[must_use]
pub(crate) fn spec_of(template: &Value) -> Value {
    let mut spec = template.get("spec").cloned().unwrap_or_default();
    if annotation(template, CONVERSION_DATA).is_some()
        && let Some(Value::Object(inner)) = spec.get_mut("template")
        && inner.get("metadata").and_then(Value::as_object).is_some_and(Map::is_empty)
    {
        inner.shift_remove("metadata");
    }
    spec
}

/// Applies the patches of a class to a template that was read in the version of its reference.
#[must_use]
pub(crate) fn apply(
    template: &Value,
    part: &ClassPart,
    class: &Value,
    values: &Values,
    versions: &Versions,
) -> Patched {
    let mut object = json!({"spec": spec_of(template)});
    let mut out = Patched { spec: Value::Null, opaque: Vec::new(), broken: None };
    for patch in list(class, "/spec/patches") {
        let name = text(patch, "/name").unwrap_or("without a name").to_owned();
        if patch.get("external").is_some_and(|external| !external.is_null()) {
            // An extension is handed everything, the number of Machines and labels included, and may read all of it.
            let print = json!([patch.get("external"), values, template.get("spec")]);
            out.opaque.push((name, "is an external patch".to_owned(), print));
            continue;
        }
        if list(patch, "/definitions").next().is_none() {
            // `engine.go` createPatchGenerator; the webhook lets an empty list through.
            out.broken.get_or_insert((name, "it has no definitions".to_owned()));
            continue;
        }
        let definitions: Vec<&Value> =
            list(patch, "/definitions").filter(|definition| selects(definition, part)).collect();
        if definitions.is_empty() {
            continue;
        }
        match is_enabled(patch, values) {
            Ok(false) => {}
            Ok(true) => {
                for definition in definitions {
                    define(&mut object, &mut out, (&name, patch, definition), values);
                }
            }
            Err(trouble) => {
                for definition in definitions {
                    out.take(trouble.clone(), (&name, patch, definition), values);
                }
            }
        }
    }
    let (own, patched) = (spec_of(template), object["spec"].take());
    // The version matters only where a patch reaches them.
    let is_reached = own.pointer("/template/metadata") != patched.pointer("/template/metadata");
    let parts: &[&str] = if is_reached && versions.has(&PATCHED_METADATA) { &["spec", "metadata"] } else { &["spec"] };
    out.spec = taken_back(own, patched, part.role, parts);
    out
}

/// What of a control plane stays as its template has it, whatever patches say (`engine.go` updateDesiredState, PreserveFields).
const PRESERVED: [&str; 5] = [
    "/template/spec/machineTemplate/metadata",
    "/template/spec/machineTemplate/infrastructureRef",
    "/template/spec/machineTemplate/spec/infrastructureRef",
    "/template/spec/replicas",
    "/template/spec/version",
];

/// A spec with what is taken over of a patched one (`patch.go` patchTemplate): these parts of its template, no field beside them.
fn taken_back(own: Value, mut patched: Value, role: Role, parts: &[&str]) -> Value {
    if role == Role::ControlPlane {
        for pointer in PRESERVED {
            let (own, patched) = (own.pointer(pointer), patched.pointer_mut(pointer));
            if let (Some(own), Some(patched)) = (own, patched) {
                *patched = own.clone();
            }
        }
    }
    let mut out = own;
    let Some(template) = patched.get_mut("template").and_then(Value::as_object_mut) else { return out };
    let Some(own) = out.as_object_mut().map(|map| map.entry("template").or_insert_with(|| json!({}))) else {
        return out;
    };
    for key in parts {
        match (template.get_mut(key).map(Value::take), own.as_object_mut()) {
            (Some(value), Some(own)) => drop(own.insert((*key).to_owned(), value)),
            (None, Some(own)) => drop(own.shift_remove(key)),
            (_, None) => {}
        }
    }
    out
}

/// Applies one definition of a patch; its values are all computed before the first one is used.
fn define(object: &mut Value, out: &mut Patched, about: (&str, &Value, &Value), values: &Values) {
    let (name, _, definition) = about;
    let computed: Result<Vec<_>, Trouble> =
        list(definition, "/jsonPatches").map(|operation| Ok((operation, resolved(operation, values)?))).collect();
    let operations = match computed {
        Ok(operations) => operations,
        Err(trouble) => return out.take(trouble, about, values),
    };
    for (operation, value) in operations {
        let Err(why) = edit(object, operation, value.clone()) else { continue };
        if out.opaque.is_empty() {
            out.broken.get_or_insert((name.to_owned(), why));
        } else {
            // What an earlier patch that is not computed made may be what this one needs.
            out.opaque.push((name.to_owned(), why, json!([operation, value])));
        }
    }
}

impl Patched {
    /// Notes a definition that has no outcome here.
    fn take(&mut self, trouble: Trouble, (name, patch, definition): (&str, &Value, &Value), values: &Values) {
        match trouble {
            Trouble::NotComputed(what) => {
                self.opaque.push((name.to_owned(), format!("uses {what}"), print(patch, definition, values)));
            }
            Trouble::Fails(why) => {
                self.broken.get_or_insert((name.to_owned(), why));
            }
        }
    }
}

/// Whether a patch is enabled (patchIsEnabled): its condition comes out as `true`.
fn is_enabled(patch: &Value, values: &Values) -> Result<bool, Trouble> {
    match text(patch, "/enabledIf") {
        Some(condition) => Ok(template::render(condition, values)? == Value::Bool(true)),
        None => Ok(true),
    }
}

/// Whether a definition is about a template (matchesSelector).
fn selects(definition: &Value, part: &ClassPart) -> bool {
    let same = |key: &str| text(definition, &format!("/selector/{key}")) == text(&part.reference, &format!("/{key}"));
    if !same("apiVersion") || !same("kind") {
        return false;
    }
    let resources = definition.pointer("/selector/matchResources").unwrap_or(&Value::Null);
    let told = |key: &str| resources.get(key) == Some(&json!(true));
    let named = |key: &str| {
        list(resources, &format!("/{key}/names")).filter_map(Value::as_str).any(|name| matches(name, &part.group.class))
    };
    match (part.role, part.group.word) {
        (Role::Infrastructure, _) => told("infrastructureCluster"),
        (_, "controlPlane") => told("controlPlane"),
        (_, "machineDeployment") => named("machineDeploymentClass"),
        _ => named("machinePoolClass"),
    }
}

/// Whether a patch of a class may write at or around one of these places of a template.
pub(super) fn may_write(class: &Value, part: &ClassPart, places: &[&str]) -> bool {
    let pointers: Vec<String> = places.iter().map(|place| format!("/{}", place.replace('.', "/"))).collect();
    let covers =
        |one: &str, other: &str| other.strip_prefix(one).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let touches = |operation: &Value| {
        let path = text(operation, "/path").unwrap_or_default();
        pointers.iter().any(|pointer| covers(path, pointer) || covers(pointer, path))
    };
    list(class, "/spec/patches").any(|patch| {
        patch.get("external").is_some_and(|external| !external.is_null())
            || list(patch, "/definitions")
                .filter(|definition| selects(definition, part))
                .any(|definition| list(definition, "/jsonPatches").any(touches))
    })
}

/// Whether the name of a class of workers matches, with a `*` at one end.
fn matches(pattern: &str, class: &str) -> bool {
    pattern == "*"
        || pattern == class
        || pattern.strip_prefix('*').is_some_and(|tail| class.ends_with(tail))
        || pattern.strip_suffix('*').is_some_and(|head| class.starts_with(head))
}

/// Everything that the patches of a part may put into its template, whatever that says.
#[must_use]
pub(crate) fn inputs(part: &ClassPart, class: &Value, values: &Values) -> Value {
    let of_patch = |patch: &Value| -> Vec<Value> {
        if patch.get("external").is_some_and(|external| !external.is_null()) {
            return vec![json!([patch.get("external"), values])];
        }
        let definitions = list(patch, "/definitions").filter(|definition| selects(definition, part));
        definitions.map(|definition| print(patch, definition, values)).collect()
    };
    list(class, "/spec/patches").flat_map(of_patch).collect()
}

/// Everything that a definition with Go templates may read.
fn print(patch: &Value, definition: &Value, values: &Values) -> Value {
    let mut templates: Vec<&str> =
        list(definition, "/jsonPatches").filter_map(|operation| text(operation, "/valueFrom/template")).collect();
    templates.extend(text(patch, "/enabledIf"));
    let read: Map = values
        .iter()
        .filter(|(name, _)| *name != "builtin")
        .filter(|(name, _)| templates.iter().any(|template| may_read(template, name)))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let builtin: Vec<Value> = templates.iter().flat_map(|template| builtins(template, values)).collect();
    let named: Vec<Option<Value>> = list(definition, "/jsonPatches")
        .filter_map(|operation| text(operation, "/valueFrom/variable"))
        .map(|path| look_up(values, path).ok())
        .collect();
    json!([patch.get("enabledIf"), definition, read, builtin, named])
}

/// Whether a Go template may read a variable: it has its name, or takes all of them as a whole.
fn may_read(template: &str, name: &str) -> bool {
    template.contains(name) || takes_all(template)
}

/// Whether a Go template uses the dot or the dollar sign alone, and with it every variable.
fn takes_all(template: &str) -> bool {
    let bytes = template.as_bytes();
    (0..bytes.len()).filter(|place| matches!(bytes[*place], b'.' | b'$')).any(|place| {
        let ends = |byte: Option<&u8>| byte.is_none_or(|byte| byte.is_ascii_whitespace() || b"(){}|,".contains(byte));
        let before = place.checked_sub(1).and_then(|place| bytes.get(place));
        ends(before) && ends(bytes.get(place + 1))
    })
}

/// The builtin values that a Go template names, or all of them where it takes all.
fn builtins(template: &str, values: &Values) -> Vec<Value> {
    if takes_all(template) {
        return values.get("builtin").cloned().into_iter().collect();
    }
    let mut out = Vec::new();
    for (start, _) in template.match_indices("builtin") {
        let tail = &template[start..];
        let end = tail.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.').unwrap_or(tail.len());
        // What is not there is read as nothing.
        out.push(look_up(values, tail[..end].trim_end_matches('.')).unwrap_or_default());
    }
    out
}

/// The value of an operation, where it needs one (calculateValue).
fn resolved(operation: &Value, values: &Values) -> Result<Option<Value>, Trouble> {
    if text(operation, "/op") == Some("remove") {
        return Ok(None);
    }
    if let Some(value) = operation.get("value") {
        return Ok(Some(value.clone()));
    }
    if let Some(path) = text(operation, "/valueFrom/variable") {
        return look_up(values, path).map(Some).map_err(Trouble::Fails);
    }
    match text(operation, "/valueFrom/template") {
        Some(template) => template::render(template, values).map(Some),
        None => Err(Trouble::Fails("an operation has neither a value nor a variable".to_owned())),
    }
}

/// Applies one operation of a JSON patch (RFC 6902: `add`, `replace`, `remove`).
fn edit(object: &mut Value, operation: &Value, value: Option<Value>) -> Result<(), String> {
    let pointer = text(operation, "/path").unwrap_or_default();
    let missing = || format!("there is nothing at {pointer}");
    let (parent, last) = pointer.rsplit_once('/').ok_or_else(missing)?;
    let last = last.replace("~1", "/").replace("~0", "~");
    let op = text(operation, "/op").unwrap_or_default();
    match object.pointer_mut(parent).ok_or_else(missing)? {
        Value::Object(map) => match (op, value) {
            ("remove", _) => map.shift_remove(&last).map(drop).ok_or_else(missing),
            ("replace", _) if !map.contains_key(&last) => Err(missing()),
            (_, Some(value)) => {
                map.insert(last, value);
                Ok(())
            }
            _ => Err(missing()),
        },
        Value::Array(items) => {
            let place = if last == "-" { items.len() } else { last.parse().map_err(|_| missing())? };
            match (op, value) {
                ("remove", _) if place < items.len() => {
                    items.remove(place);
                    Ok(())
                }
                ("replace", Some(value)) if place < items.len() => {
                    items[place] = value;
                    Ok(())
                }
                ("add", Some(value)) if place <= items.len() => {
                    items.insert(place, value);
                    Ok(())
                }
                _ => Err(missing()),
            }
        }
        _ => Err(missing()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_go_template_reads_what_it_names() {
        assert!(may_read("{{ .image }}", "image"));
        assert!(!may_read("{{ .builtin.cluster.name }}-x.y", "image"));
        assert!(may_read("{{ range $k, $v := . }}{{ end }}", "image"), "the dot alone is everything");
        assert!(may_read("{{ toJson $ }}", "image"));
    }

    #[test]
    fn operations_follow_the_standard() {
        let mut object = json!({"spec": {"list": ["a"], "map": {"x/y": 1}}});
        let run = |object: &mut Value, operation: Value| edit(object, &operation, operation.get("value").cloned());
        assert_eq!(run(&mut object, json!({"op": "add", "path": "/spec/list/-", "value": "b"})), Ok(()));
        assert_eq!(run(&mut object, json!({"op": "replace", "path": "/spec/map/x~1y", "value": 2})), Ok(()));
        assert_eq!(run(&mut object, json!({"op": "remove", "path": "/spec/list/0"})), Ok(()));
        assert_eq!(object, json!({"spec": {"list": ["b"], "map": {"x/y": 2}}}));
        assert!(run(&mut object, json!({"op": "add", "path": "/spec/none/x", "value": 1})).is_err());
        assert!(run(&mut object, json!({"op": "replace", "path": "/spec/map/z", "value": 1})).is_err());
    }

    #[test]
    fn a_star_at_one_end_matches() {
        assert!(matches("*", "a") && matches("de*", "default") && matches("*ult", "default"));
        assert!(!matches("de*", "other"));
    }
}
