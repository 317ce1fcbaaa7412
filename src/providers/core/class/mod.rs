//! Mirror of what the webhook of ClusterClass refuses about a class by itself: its references, strategies, health checks, names,
//! taints, labels, variables and patches, and kinds that cannot become others.
//! Read beside `core/webhooks/admission/clusterclass.go` and `internal/topology/check/compatibility.go` of Cluster API 1.14; up to 1.13
//! the former is in `internal/webhooks`. What it refuses because of clusters stands in `src/judge/topology/admission.rs`.

mod patches;
mod variables;

use super::changes::{CLASS_TAINTS, MACHINES_OF_PLANE_STAY, V1BETA2};
use super::webhook::strategy_counts;
use super::{checks, in_hub, naming, taints};
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::kinds::{Role, Versions, labels};
use crate::model::RuleId;
use crate::object::{ApiVersion, Path};
use crate::tree::Value;

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("class/rejected");

/// Lists of workers, with the word that a template for names has for them.
const WORKERS: [(&str, &str); 2] = [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")];

/// What is refused about a class, new or changed.
pub(super) fn refusals(write: &Write<'_>) -> Vec<Refusal> {
    let read = |side: &Value| in_hub(Role::Class, side, write.versions);
    let (new, versions) = (read(write.new), write.versions);
    let mut out = Vec::new();
    let spec = Path::root().key("spec");
    references(&new, &spec, &mut out);
    plane(&new, versions, &spec, &mut out);
    infrastructure_names(&new, &spec, &mut out);
    for (workers, word) in WORKERS {
        for (place, group) in list(&new, &format!("/spec/workers/{workers}")).enumerate() {
            let at = spec.key("workers").key(workers).index(place);
            group_of_workers(group, word, versions, &at, &mut out);
        }
    }
    variables::refusals(&new, &spec, &mut out);
    patches::refusals(&new, versions, &spec, &mut out);
    if !write.is_new {
        kept_kinds(&read(write.old), &new, versions, &spec, &mut out);
    }
    out
}

/// The control plane of a class: labels, names, taints and its health check.
fn plane(new: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    let at = spec.key("controlPlane");
    let nothing = Value::Null;
    let plane = new.pointer("/spec/controlPlane").unwrap_or(&nothing);
    labels::refusals(plane.get("metadata"), &at.key("metadata"), out);
    named(plane, None, &at, out);
    if versions.has(&CLASS_TAINTS) {
        taints::refusals(plane.get("taints"), "taints", &at, false, out);
    }
    checks::inner(plane, RULE, false, &at, out);
    if checks::is_described(plane.get("healthCheck")) && !is_reference(plane, "machineInfrastructure") {
        refuse(
            out,
            RULE,
            &at,
            "healthCheck",
            "only a control plane with machineInfrastructure can have a health check",
        );
    }
}

/// One group of workers of a class.
fn group_of_workers(group: &Value, word: &str, versions: &Versions, at: &Path, out: &mut Vec<Refusal>) {
    labels::refusals(group.get("metadata"), &at.key("metadata"), out);
    named(group, Some((word, "topologyName")), at, out);
    if versions.has(&CLASS_TAINTS) {
        taints::refusals(group.get("taints"), "taints", at, false, out);
    }
    if word == "machineDeployment" {
        checks::inner(group, RULE, versions.has(&V1BETA2), at, out);
        if versions.has(&V1BETA2) {
            strategy_counts(group.pointer("/rollout/strategy/rollingUpdate"), RULE, at, out);
        }
    }
}

/// The names of infrastructure clusters.
fn infrastructure_names(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    if let Some(infrastructure) = new.pointer("/spec/infrastructure") {
        named(infrastructure, None, &spec.key("infrastructure"), out);
    }
}

/// Names that a template makes are names that an API server takes (`validateNamingStrategies`).
fn named(holder: &Value, own: Option<(&str, &str)>, at: &Path, out: &mut Vec<Refusal>) {
    let template = text(holder, "/naming/template").filter(|template| !template.is_empty());
    if let Some(fault) = template.and_then(|template| naming::fault(template, own)) {
        refuse(out, RULE, at, "naming.template", fault);
    }
}

/// Whether a part of a class says which template it is made from.
fn is_reference(holder: &Value, slot: &str) -> bool {
    holder.pointer(&format!("/{slot}/templateRef")).and_then(Value::as_object).is_some_and(|map| !map.is_empty())
}

/// Calls with each reference to a template: the holder's place, and the reference.
fn each_reference(class: &Value, spec: &Path, mut call: impl FnMut(Path, Option<&Value>, bool)) {
    let of = |holder: Option<&'_ Value>, slot: &str| -> Option<Value> {
        let holder = holder?;
        let part = if slot.is_empty() { Some(holder) } else { holder.get(slot) };
        part?.get("templateRef").cloned()
    };
    let at = |base: Path, slot: &str| if slot.is_empty() { base } else { base.key(slot) }.key("templateRef");
    for (pointer, slot, must) in
        [("infrastructure", "", true), ("controlPlane", "", true), ("controlPlane", "machineInfrastructure", false)]
    {
        let reference = of(class.pointer(&format!("/spec/{pointer}")), slot);
        call(at(spec.key(pointer), slot), reference.as_ref(), must);
    }
    for (workers, _) in WORKERS {
        for (place, group) in list(class, &format!("/spec/workers/{workers}")).enumerate() {
            for slot in ["bootstrap", "infrastructure"] {
                let base = spec.key("workers").key(workers).index(place);
                call(at(base, slot), of(Some(group), slot).as_ref(), true);
            }
        }
    }
}

/// Each reference names a template (`ClusterClassTemplateIsValid`).
fn references(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    each_reference(new, spec, |at, reference, must| {
        let Some(reference) = reference.filter(|reference| reference.as_object().is_some_and(|map| !map.is_empty()))
        else {
            if must {
                refuse(out, RULE, &at, "", "the class must name a template here");
            }
            return;
        };
        let told = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
        if told("name").is_empty() {
            refuse(out, RULE, &at, "name", "the name of the template is missing");
        }
        if told("kind").strip_suffix("Template").is_none_or(str::is_empty) {
            refuse(out, RULE, &at, "kind", format!("{:?} is no kind of a template", told("kind")));
        }
        if told("apiVersion").is_empty() || told("apiVersion").matches('/').count() > 1 {
            refuse(out, RULE, &at, "apiVersion", format!("{:?} is no API version", told("apiVersion")));
        }
    });
}

/// Kinds and groups of templates stay, but for the bootstrap of workers (`ClusterClassesAreCompatible`).
pub(crate) fn kept_kinds(old: &Value, new: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    let mut compare = |at: Path, before: Option<&Value>, after: Option<&Value>| {
        let told = |side: Option<&Value>, key: &str| {
            side.and_then(|side| side.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let group = |side| ApiVersion::parse(&told(side, "apiVersion")).group.to_owned();
        for (key, before, after) in
            [("apiVersion", group(before), group(after)), ("kind", told(before, "kind"), told(after, "kind"))]
        {
            if before != after {
                let message = format!("it cannot change from {before:?} to {after:?} while the class exists");
                refuse(out, RULE, &at, key, message);
            }
        }
    };
    let at = |class: &Value, pointer: &str| class.pointer(pointer).cloned();
    for (pointer, path) in [
        ("/spec/infrastructure/templateRef", spec.key("infrastructure")),
        ("/spec/controlPlane/templateRef", spec.key("controlPlane")),
        ("/spec/controlPlane/machineInfrastructure/templateRef", spec.key("controlPlane").key("machineInfrastructure")),
    ] {
        let (before, after) = (at(old, pointer), at(new, pointer));
        if (before.is_none() || after.is_none()) && !versions.has(&MACHINES_OF_PLANE_STAY) {
            continue;
        }
        compare(path.key("templateRef"), before.as_ref(), after.as_ref());
    }
    for (workers, _) in WORKERS {
        let pointer = format!("/spec/workers/{workers}");
        for (place, group) in list(new, &pointer).enumerate() {
            let had = list(old, &pointer).find(|had| text(had, "/class") == text(group, "/class"));
            if let Some(had) = had {
                let at = spec.key("workers").key(workers).index(place).key("infrastructure").key("templateRef");
                let reference = "/infrastructure/templateRef";
                compare(at, had.pointer(reference), group.pointer(reference));
            }
        }
    }
}

#[cfg(test)]
mod tests;
