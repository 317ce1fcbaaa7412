//! Objects that carry others inside: releases and applications that somebody else renders, and manifests kept as data.
//! What they hold is not in the stream, so a changed one is named and never passed over.

use std::collections::HashSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::inside::{self, Sources};
use super::predict::Run;
use super::{kinds, merge, reprint};
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::object::{Inventory, LoadError, Object};
use crate::world::{BaseKind, LiveKind, Unread, World};

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
    let old = if run.way.is_none() { &run.world.live } else { &run.world.base.objects };
    let sources = Sources::of(&[run.rendered, old])?;
    let (mut fresh, mut changed, mut remote) = (Vec::new(), Vec::new(), Vec::new());
    for object in run.rendered.objects() {
        if !carries(object, &values)? {
            continue;
        }
        let differs = differs(run, object)?;
        let is_remote = || -> Result<bool, LoadError> {
            let was = before(run, object)
                .and_then(|before| Some(inside::is_remote(&before.key, before.value().ok()?.as_ref())));
            Ok(sources.are_only_remote(&object.key)
                || inside::is_remote(&object.key, object.value()?.as_ref()) && was.unwrap_or(true))
        };
        match differs {
            Differs::No => {}
            _ if is_remote()? => remote.push(object.key.to_string()),
            Differs::New => fresh.push(object.key.to_string()),
            Differs::Yes => changed.push((object.key.clone(), "it changes")),
            Differs::MayBe => changed.push((object.key.clone(), "it is not known what it was before")),
        }
    }
    for gone in old.objects() {
        // What goes with a release of Flux is read from the cluster, where there is one.
        let seen = kinds::may_take_others(&gone.key) && run.world.source.kind == LiveKind::Cluster;
        if !seen && !run.is_written(&gone.key) && run.was_written(gone) && inside::is_carrier(gone) {
            if sources.are_only_remote(&gone.key) || inside::is_remote(&gone.key, gone.value()?.as_ref()) {
                remote.push(gone.key.to_string());
            } else {
                changed.push((gone.key.clone(), "it goes away"));
            }
        }
    }
    if let [first, more @ ..] = remote.as_slice() {
        run.out.warnings.push(format!(
            "{first} and {} more change and write into other clusters, which were not looked at",
            more.len()
        ));
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

/// Whether an object carries others: by its kind, by a release that takes values from it, or by what its data holds.
fn carries(object: &Object, values: &HashSet<(String, String)>) -> Result<bool, LoadError> {
    let key = &object.key;
    if inside::is_carrier(object) {
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
            true => BASE64_STANDARD
                .decode(text.trim())
                .is_ok_and(|bytes| inside::holds_compared(&String::from_utf8_lossy(&bytes))),
            false => inside::holds_compared(text),
        })
    }))
}

/// Kind and name of the ConfigMaps and Secrets that releases of the stream take values from, where they write into this cluster.
fn named_values(rendered: &Inventory) -> Result<HashSet<(String, String)>, LoadError> {
    let mut found = HashSet::new();
    for object in rendered.objects().iter().filter(|object| inside::is_carrier(object)) {
        let value = object.value()?;
        if !inside::is_remote(&object.key, &value) {
            found.extend(inside::values_of(&value));
        }
    }
    Ok(found)
}

/// The object as it was written last, or as it is there.
fn before<'a>(run: &Run<'a>, object: &Object) -> Option<&'a Object> {
    let world: &'a World = run.world;
    let base = run.way.is_some().then(|| run.locator.anywhere(&world.base.objects, &object.key)).flatten();
    base.or_else(|| run.locator.anywhere(&world.live, &object.key))
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
    fn what_is_written_into_other_clusters_is_a_note() {
        let remote = |version: &str| {
            let mut release = release(version);
            release["spec"]["kubeConfig"] = json!({"secretRef": {"name": "demo-kubeconfig"}});
            release["spec"]["chart"] =
                json!({"spec": {"chart": "cni", "sourceRef": {"kind": "HelmRepository", "name": "cni"}}});
            release
        };
        let source = |url: &str| {
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository", "metadata": {"name": "cni", "namespace": "n"},
                "spec": {"url": url}})
        };
        let values = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v", "namespace": "n"}, "data": {"a": text}});
        let (old, new) = ([remote("v1"), source("a"), values("a")], [remote("v2"), source("b"), values("b")]);
        let found = predicted(&new, &old_render(&old));
        assert_eq!(named(&found), [""; 0]);
        assert!(found.warnings.iter().any(|warning| warning.contains("other clusters")), "{:?}", found.warnings);
        assert_eq!(named(&predicted(&[], &old_render(&old))), [""; 0]);
        // A kubeconfig that goes brings the release into this cluster, and one release that stays here makes the source count.
        let mut here = release("v2");
        here["spec"]["chart"] = new[0]["spec"]["chart"].clone();
        assert_eq!(named(&predicted(&[here.clone(), source("a")], &old_render(&old[..2]))), ["HelmRelease n/r"]);
        here["metadata"]["name"] = json!("here");
        let both = [remote("v1"), here.clone(), source("b")];
        assert_eq!(named(&predicted(&both, &old_render(&[remote("v1"), here, source("a")]))), ["HelmRepository n/cni"]);
        // A source that nothing here names may be that of somebody else.
        assert_eq!(named(&predicted(&[source("b")], &old_render(&[source("a")]))), ["HelmRepository n/cni"]);
        let application = |server: &str, revision: &str| {
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a", "namespace": "n"},
                "spec": {"destination": {"server": server}, "source": {"targetRevision": revision}}})
        };
        for (server, count) in [("https://10.0.0.1:6443", 0), ("https://kubernetes.default.svc", 1)] {
            let found = predicted(&[application(server, "b")], &old_render(&[application(server, "a")]));
            assert_eq!(named(&found).len(), count, "{server}");
        }
    }

    #[test]
    fn a_carrier_is_known_by_its_kind_or_by_what_it_holds() {
        let object = |api_version: &str, kind: &str, spec: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "n"}, "spec": spec});
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"}});
        let reference = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "name": "md"});
        for (api_version, kind, spec, found) in [
            ("provisioning.cattle.io/v1", "Cluster", json!({"rkeConfig": {}}), true),
            ("k0rdent.mirantis.com/v1beta1", "ClusterDeployment", json!({}), true),
            ("kro.run/v1alpha1", "ResourceGraphDefinition", json!({}), true),
            ("hypershift.openshift.io/v1beta1", "NodePool", json!({}), true),
            ("example.com/v1", "Bundle", json!({"resources": [cluster]}), true),
            ("example.com/v1", "Bundle", json!({"text": format!("---\n{cluster}\n")}), true),
            ("example.com/v1", "Release", json!({"valuesFrom": [{"kind": "ConfigMap", "name": "v"}]}), true),
            ("example.com/v1", "Release", json!({"template": "aws-1-0", "config": {"workers": 3}}), true),
            ("keda.sh/v1alpha1", "ScaledObject", json!({"scaleTargetRef": reference}), false),
            ("monitoring.coreos.com/v1", "PodMonitor", json!({"selector": {}}), false),
            ("apps/v1", "Deployment", json!({"template": {}}), false),
        ] {
            let mut after = spec.clone();
            after["more"] = json!("b");
            let (old, new) = (object(api_version, kind, spec), object(api_version, kind, after));
            assert_eq!(
                named(&predicted(&[new], &old_render(&[old]))).len(),
                usize::from(found),
                "{kind} {api_version}"
            );
        }
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
