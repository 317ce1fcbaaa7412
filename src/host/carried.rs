//! Objects that carry others inside: releases and applications that somebody else renders, and manifests kept as data.
//! What they hold is not in the stream, so a changed one is named and never passed over.

use std::collections::HashSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::predict::Run;
use super::{kinds, merge, reprint};
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::object::{self, ApiVersion, Inventory, Key, LoadError, Object};
use crate::world::{BaseKind, LiveKind, Unread};

/// Fields of a `spec` that say when something is done, and not what.
const WHEN: [&str; 4] = ["interval", "retryInterval", "timeout", "suspend"];

/// How an object of the stream differs from what was there.
enum Differs {
    No,
    /// It is new: what it carries is new too, or taken over by somebody who asks again.
    New,
    Yes,
    /// What was there is not known.
    MayBe,
}

/// Adds what is said of changed, new and removed objects that carry others.
pub(super) fn add(run: &mut Run<'_>) -> Result<(), LoadError> {
    if run.world.source.kind == LiveKind::None {
        return Ok(());
    }
    let values = named_values(run.rendered)?;
    let (mut fresh, mut changed) = (Vec::new(), Vec::new());
    for object in run.rendered.objects() {
        if !carries(object, &values)? {
            continue;
        }
        match differs(run, object)? {
            Differs::No => {}
            Differs::New => fresh.push(object.key.to_string()),
            Differs::Yes => changed.push((object.key.clone(), "it changes")),
            Differs::MayBe => changed.push((object.key.clone(), "it is not known what it was before")),
        }
    }
    let old = if run.way.is_none() { &run.world.live } else { &run.world.base.objects };
    for gone in old.objects() {
        // What goes with a release of Flux is read from the cluster, where there is one.
        let seen = kinds::may_take_others(&gone.key) && run.world.source.kind == LiveKind::Cluster;
        if !seen && !run.is_written(&gone.key) && run.was_written(gone) && is_carrier(&gone.key) {
            changed.push((gone.key.clone(), "it goes away"));
        }
    }
    if let [first, more @ ..] = fresh.as_slice() {
        run.out.warnings.push(format!(
            "{first} and {} more are new and carry objects that are not in this stream and were not looked at",
            more.len()
        ));
    }
    for (key, why) in changed {
        run.out.carried.push(Unread {
            what: format!("what {key} carries"),
            why: format!("{why}, and the objects inside it are not in this stream"),
            remedy: "plan what it renders by itself, or say `unseen: {inside: warn}` in the policy".to_owned(),
            keys: vec![key],
        });
    }
    Ok(())
}

/// Whether objects of this kind are there to have other objects written.
pub(crate) fn is_carrier(key: &Key) -> bool {
    matches!(
        (key.group.as_str(), key.kind.as_str()),
        (
            "helm.toolkit.fluxcd.io"
                | "kustomize.toolkit.fluxcd.io"
                | "source.toolkit.fluxcd.io"
                | "helm.cattle.io"
                | "fleet.cattle.io",
            _
        ) | ("argoproj.io", "Application" | "ApplicationSet")
    )
}

/// Whether an object carries others: by its kind, by a release that takes values from it, or by what its data holds.
fn carries(object: &Object, values: &HashSet<(String, String)>) -> Result<bool, LoadError> {
    let key = &object.key;
    if is_carrier(key) {
        return Ok(true);
    }
    if !kinds::is_compared_when_referred(key) {
        return Ok(false);
    }
    if values.contains(&(key.kind.clone(), key.name.clone())) {
        return Ok(true);
    }
    if key.kind == CONFIG_MAP && !object.may_say("apiVersion") {
        return Ok(false);
    }
    let value = object.value()?;
    let texts = ["data", "stringData", "binaryData"]
        .into_iter()
        .filter_map(|field| Some((field, value.get(field)?.as_object()?)));
    Ok({ texts }.any(|(field, data)| {
        let encoded = field == "binaryData" || (field == "data" && key.kind == SECRET);
        data.values().filter_map(Value::as_str).any(|text| match encoded {
            true => {
                BASE64_STANDARD.decode(text.trim()).is_ok_and(|bytes| holds_compared(&String::from_utf8_lossy(&bytes)))
            }
            false => holds_compared(text),
        })
    }))
}

/// Whether a text holds an object of a compared kind, in YAML or JSON.
fn holds_compared(text: &str) -> bool {
    const END: [char; 8] = ['"', '\'', ',', '}', ' ', '\n', '\r', '\t'];
    text.match_indices("apiVersion").any(|(at, word)| {
        let rest = text[at + word.len()..].trim_start_matches(['"', '\'', ':', ' ', '\\']);
        let version = rest.split(END).next().unwrap_or_default().trim_end_matches('\\');
        object::is_compared(ApiVersion::parse(version).group)
    })
}

/// Kind and name of the ConfigMaps and Secrets that releases of the stream take values from.
fn named_values(rendered: &Inventory) -> Result<HashSet<(String, String)>, LoadError> {
    let mut found = HashSet::new();
    for object in rendered.objects().iter().filter(|object| is_carrier(&object.key)) {
        let value = object.value()?;
        for pointer in ["/spec/valuesFrom", "/spec/postBuild/substituteFrom"] {
            for source in value.pointer(pointer).and_then(Value::as_array).into_iter().flatten() {
                let text = |key: &str| source.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                found.insert((text("kind"), text("name")));
            }
        }
    }
    Ok(found)
}

/// How an object differs from what was written last, or from what is there.
fn differs(run: &Run<'_>, object: &Object) -> Result<Differs, LoadError> {
    let world = run.world;
    let rendered = reprint::value(object)?;
    let compared = |before: &Object, overlaid: bool| {
        // What cannot be read differs for all that is known.
        let Ok(before) = before.value() else { return Differs::MayBe };
        let after = if overlaid { merge::overlay(&before, &rendered) } else { rendered.as_ref().clone() };
        if content(&before) == content(&after) { Differs::No } else { Differs::Yes }
    };
    let live = run.locator.anywhere(&world.live, &object.key);
    if run.way.is_none() {
        return Ok(live.map_or(Differs::New, |live| compared(live, false)));
    }
    if let Some(base) = run.locator.anywhere(&world.base.objects, &object.key) {
        return Ok(compared(base, false));
    }
    if let Some(live) = live {
        return Ok(compared(live, true));
    }
    let proven = matches!(world.base.kind, BaseKind::Release | BaseKind::FirstInstall)
        || world.coverage.shows(&run.locator.full(&object.key));
    Ok(if proven { Differs::New } else { Differs::MayBe })
}

/// What an object says beside its metadata and its clockwork.
fn content(value: &Value) -> Map<String, Value> {
    let mut map = value.as_object().cloned().unwrap_or_default();
    for field in ["metadata", "status", "apiVersion"] {
        map.shift_remove(field);
    }
    if let Some(spec) = map.get_mut("spec").and_then(Value::as_object_mut) {
        WHEN.iter().for_each(|field| drop(spec.shift_remove(*field)));
    }
    map
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{helm3, old_render, predicted};
    use super::*;
    use crate::host::Prediction;

    fn release(version: &str) -> Value {
        json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "r", "namespace": "n"},
            "spec": {"interval": "1m", "valuesFrom": [{"kind": "ConfigMap", "name": "v"}], "values": {"version": version}}})
    }

    fn named(prediction: &Prediction) -> Vec<String> {
        prediction.carried.iter().map(|unread| unread.keys[0].to_string()).collect()
    }

    #[test]
    fn a_changed_release_is_named_and_an_unchanged_one_is_not() {
        let old = [release("v1.30.0")];
        for world in [old_render(&old), helm3(&[], &old), helm3(&old, &old)] {
            assert_eq!(named(&predicted(&[release("v1.31.0")], &world)), ["HelmRelease n/r"]);
            assert_eq!(named(&predicted(&old, &world)), [""; 0]);
            let mut later = release("v1.30.0");
            later["spec"]["interval"] = json!("5m");
            assert_eq!(named(&predicted(&[later], &world)), [""; 0]);
        }
        let gone = predicted(&[], &old_render(&old));
        assert_eq!(named(&gone), ["HelmRelease n/r"]);
        // One that is new is said.
        let new = predicted(&old, &helm3(&[], &[]));
        assert!(new.carried.is_empty() && new.warnings.iter().any(|warning| warning.contains("HelmRelease n/r")));
    }

    #[test]
    fn applications_and_payloads_are_named() {
        let application = |revision: &str| {
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "a", "namespace": "n"},
                "spec": {"template": {"spec": {"source": {"targetRevision": revision}}}}})
        };
        assert_eq!(named(&predicted(&[application("b")], &old_render(&[application("a")]))), ["ApplicationSet n/a"]);
        let map = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}, "data": {"a.yaml": text}});
        let cluster = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerCluster\n";
        let json = r#"{"kind":"Cluster","apiVersion":"cluster.x-k8s.io/v1beta1"}"#;
        for (text, found) in
            [(cluster, true), (json, true), ("apiVersion: apps/v1\n", false), ("cluster.x-k8s.io/v1", false)]
        {
            let prediction = predicted(&[map(text)], &old_render(&[map("old")]));
            assert_eq!(named(&prediction).len(), usize::from(found), "{text}");
        }
        let secret = |text: &str| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"},
                "type": "addons.cluster.x-k8s.io/resource-set", "data": {"a": BASE64_STANDARD.encode(text)}})
        };
        assert_eq!(named(&predicted(&[secret(cluster)], &old_render(&[secret("")]))), ["Secret n/s"]);
        // Values that a release takes are part of it.
        let values = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v", "namespace": "n"}, "data": {"a": "b"}});
        let old = [
            release("v1"),
            map("x"),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v", "namespace": "n"}}),
        ];
        assert_eq!(named(&predicted(&[release("v1"), values], &old_render(&old))), ["ConfigMap n/v"]);
    }
}
