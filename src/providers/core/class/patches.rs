//! What the webhook of ClusterClass refuses about its patches: names, selectors that match nothing, operations, places and values.
//! Read beside `core/webhooks/admission/patch_validation.go` of Cluster API 1.14.

use std::collections::BTreeSet;

use super::RULE;
use crate::gotemplate::{self, Trouble};
use crate::kinds::Versions;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::providers::core::changes::{PATCHES_OF_SPEC, V1BETA2};
use crate::tree::Value;

/// Builtin variables that a patch may take a value from, without the word before them.
const BUILTINS: [&str; 46] = [
    "cluster",
    "cluster.name",
    "cluster.namespace",
    "cluster.uid",
    "cluster.metadata.labels",
    "cluster.metadata.annotations",
    "cluster.topology",
    "cluster.topology.classRef.name",
    "cluster.topology.classRef.namespace",
    "cluster.topology.class",
    "cluster.topology.classNamespace",
    "cluster.topology.version",
    "cluster.network",
    "cluster.network.serviceDomain",
    "cluster.network.services",
    "cluster.network.pods",
    "cluster.network.ipFamily",
    "controlPlane",
    "controlPlane.name",
    "controlPlane.replicas",
    "controlPlane.version",
    "controlPlane.metadata.labels",
    "controlPlane.metadata.annotations",
    "controlPlane.machineTemplate.infrastructureRef.name",
    "machineDeployment",
    "machineDeployment.class",
    "machineDeployment.name",
    "machineDeployment.replicas",
    "machineDeployment.topologyName",
    "machineDeployment.version",
    "machineDeployment.metadata.labels",
    "machineDeployment.metadata.annotations",
    "machineDeployment.bootstrap.configRef.name",
    "machineDeployment.infrastructureRef.name",
    "machinePool",
    "machinePool.class",
    "machinePool.name",
    "machinePool.replicas",
    "machinePool.topologyName",
    "machinePool.version",
    "machinePool.metadata.labels",
    "machinePool.metadata.annotations",
    "machinePool.bootstrap.configRef.name",
    "machinePool.infrastructureRef.name",
    "",
    "builtin",
];

/// What is refused about the patches of a class, in the names of v1beta2.
pub(super) fn refusals(class: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    let mut names = BTreeSet::new();
    let variables: BTreeSet<&str> =
        list(class, "/spec/variables").filter_map(|variable| text(variable, "/name")).collect();
    for (place, patch) in list(class, "/spec/patches").enumerate() {
        let at = spec.key("patches").index(place);
        let name = text(patch, "/name").unwrap_or_default();
        match name {
            "" => refuse(out, RULE, &at, "name", "the patch has no name"),
            "inline" => refuse(out, RULE, &at, "name", "no patch can be called inline"),
            _ if !names.insert(name) => refuse(out, RULE, &at, "name", format!("the patch {name} stands there twice")),
            _ => {}
        }
        readable(text(patch, "/enabledIf"), &at, "enabledIf", out);
        kinds_of_patch(patch, versions, &at, out);
        for (place, definition) in list(patch, "/definitions").enumerate() {
            let at = at.key("definitions").index(place);
            for (place, operation) in list(definition, "/jsonPatches").enumerate() {
                let at = at.key("jsonPatches").index(place);
                one_operation(operation, &variables, versions, &at, out);
            }
            selector(class, definition.get("selector").unwrap_or(&Value::Null), &at.key("selector"), out);
        }
    }
}

/// A patch is made of definitions or comes from an extension, not both.
fn kinds_of_patch(patch: &Value, versions: &Versions, at: &Path, out: &mut Vec<Refusal>) {
    let has = |key: &str| patch.get(key).is_some_and(|value| !value.is_null());
    match (has("definitions"), has("external")) {
        (false, false) => refuse(out, RULE, at, "", "the patch has neither definitions nor an extension"),
        (true, true) => refuse(out, RULE, at, "", "the patch has both definitions and an extension"),
        _ => {}
    }
    let Some(external) = patch.get("external").filter(|external| external.is_object()) else { return };
    let told = |key: &str| {
        external.get(key).and_then(Value::as_str).is_some_and(|name| !name.is_empty() || !versions.has(&V1BETA2))
    };
    if !told("validateTopologyExtension") && !told("generatePatchesExtension") {
        refuse(out, RULE, at, "external", "the patch names no extension that generates patches or validates");
    }
}

/// A template that Go cannot read is refused before it is ever run.
fn readable(template: Option<&str>, at: &Path, below: &str, out: &mut Vec<Refusal>) {
    if let Some(Err(Trouble::Fails(why))) = template.map(gotemplate::check) {
        refuse(out, RULE, at, below, format!("the template cannot be read: {why}"));
    }
}

/// One operation: what it does, where, and with which value.
fn one_operation(
    operation: &Value,
    variables: &BTreeSet<&str>,
    versions: &Versions,
    at: &Path,
    out: &mut Vec<Refusal>,
) {
    let op = text(operation, "/op").unwrap_or_default();
    if !matches!(op, "add" | "replace" | "remove") {
        refuse(out, RULE, at, "op", format!("{op:?} is none of add, replace and remove"));
    }
    let place = text(operation, "/path").unwrap_or_default();
    let start = if versions.has(&PATCHES_OF_SPEC) { "/spec" } else { "/spec/" };
    if !place.starts_with(start) {
        refuse(out, RULE, at, "path", format!("a patch changes what lies below {start}"));
    }
    // Items of lists are reached by number only to put one before the others.
    for index in place.split('/').filter_map(|part| part.parse::<i64>().ok()) {
        if (op == "add" && index != 0) || matches!(op, "replace" | "remove") {
            refuse(out, RULE, at, "path", "items of a list can only be added before (0) or after (-) the others");
        }
    }
    if !matches!(op, "add" | "replace") {
        return;
    }
    let value_from = operation.get("valueFrom").filter(|value| !value.is_null());
    match (operation.get("value").is_some(), value_from) {
        (false, None) => refuse(out, RULE, at, "", "the operation has neither value nor valueFrom"),
        (true, Some(_)) => refuse(out, RULE, at, "", "the operation has both value and valueFrom"),
        _ => {}
    }
    let Some(value_from) = value_from else { return };
    let at = at.key("valueFrom");
    let told = |key: &str| text(value_from, key).filter(|text| !text.is_empty());
    match (told("/template"), told("/variable")) {
        (None, None) => refuse(out, RULE, &at, "", "the value comes from neither a template nor a variable"),
        (Some(_), Some(_)) => refuse(out, RULE, &at, "", "the value comes from both a template and a variable"),
        _ => {}
    }
    readable(told("/template"), &at, "template", out);
    if let Some(variable) = told("/variable").filter(|variable| !is_variable(variable, variables)) {
        refuse(out, RULE, &at, "variable", format!("the class has no variable {variable}"));
    }
}

/// Whether a patch can take a value from a variable of this name.
fn is_variable(variable: &str, variables: &BTreeSet<&str>) -> bool {
    if let Some(builtin) = variable.strip_prefix("builtin.") {
        return BUILTINS.contains(&builtin) && !builtin.is_empty() && builtin != "builtin";
    }
    let name = variable.split(['[', '.']).find(|part| !part.is_empty());
    name.is_some_and(|name| name == "builtin" || variables.contains(name))
}

/// A selector selects something, and each thing that it names has a template of its kind (`validateSelectors`).
fn selector(class: &Value, selector: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let resources = selector.get("matchResources").unwrap_or(&Value::Null);
    let is_on = |key: &str| resources.get(key) == Some(&Value::Bool(true));
    let same = |holder: Option<&Value>| {
        let reference = holder.and_then(|holder| holder.get("templateRef"));
        let told = |key: &str| reference.and_then(|reference| reference.get(key)).and_then(Value::as_str);
        told("kind") == text(selector, "/kind") && told("apiVersion") == text(selector, "/apiVersion")
    };
    let workers = [("machineDeploymentClass", "machineDeployments"), ("machinePoolClass", "machinePools")];
    let names = |key: &str| list(resources, &format!("/{key}/names")).filter_map(Value::as_str).collect::<Vec<_>>();
    if !is_on("infrastructureCluster") && !is_on("controlPlane") && workers.iter().all(|(key, _)| names(key).is_empty())
    {
        refuse(out, RULE, at, "", "the selector selects nothing");
        return;
    }
    if is_on("infrastructureCluster") && !same(class.pointer("/spec/infrastructure")) {
        refuse(
            out,
            RULE,
            at,
            "matchResources.infrastructureCluster",
            "no infrastructure cluster of the class has a template of this kind",
        );
    }
    let planes = ["/spec/controlPlane", "/spec/controlPlane/machineInfrastructure"];
    if is_on("controlPlane") && !planes.iter().any(|plane| same(class.pointer(plane))) {
        refuse(
            out,
            RULE,
            at,
            "matchResources.controlPlane",
            "no control plane of the class has a template of this kind",
        );
    }
    for (key, lists) in workers {
        for (place, name) in names(key).into_iter().enumerate() {
            let below = format!("matchResources.{key}.names[{place}]");
            if let Some(fault) = fault_of_name(name) {
                refuse(out, RULE, at, &below, fault);
                break;
            }
            let mut groups = list(class, &format!("/spec/workers/{lists}"));
            let is_found = groups.any(|group| {
                matches(name, text(group, "/class").unwrap_or_default())
                    && (same(group.get("infrastructure")) || same(group.get("bootstrap")))
            });
            if !is_found {
                refuse(out, RULE, at, &below, format!("no class of workers {name} has a template of this kind"));
            }
        }
    }
}

/// Whether a name in a selector, with a star at one end, is that of a class of workers.
fn matches(name: &str, class: &str) -> bool {
    name == class
        || name == "*"
        || name.strip_prefix('*').is_some_and(|end| class.ends_with(end))
        || name.strip_suffix('*').is_some_and(|start| class.starts_with(start))
}

/// What is wrong with a name in a selector.
fn fault_of_name(name: &str) -> Option<&'static str> {
    let stars = name.matches('*').count();
    let at_end = name.starts_with('*') || name.ends_with('*');
    match stars {
        0 => None,
        1 if !at_end => Some("a star can only stand at one end of the name"),
        1 => (!crate::kinds::labels::is_key(&name.replace('*', "a"))).then_some("it is no name of a class of workers"),
        _ => Some("a name can have one star"),
    }
}
