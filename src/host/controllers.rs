//! Controllers of Cluster API that the stream itself installs, and the definitions of their kinds: others of them may call Machines out
//! of date of which nothing else changes, and what is judged here is judged as the present ones do.

use std::collections::BTreeMap;

use super::hook::{self, Role};
use super::predict::Run;
use super::{carried, kinds, stream};
use crate::kinds::contract::{CORE, installs};
use crate::kinds::fields::{label, text};
use crate::model::first_and_more;
use crate::object::{Key, LoadError, Object};
use crate::providers::{self, versions};
use crate::rules::{self, Rules};
use crate::tree::Value;
use crate::world::providers::PROVIDER_LABEL;
use crate::world::{LiveKind, Unread};

/// Kinds without which a controller does nothing, or is not asked.
const NEEDED: [(&str, &str); 7] = [
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("", "ServiceAccount"),
];

/// What of a container decides what a controller does.
const DECIDES: [&str; 5] = ["image", "command", "args", "env", "envFrom"];

/// What to do about a doubt.
const REMEDY: &str = "ask what it replaces (rollgate plan --upgrade NAME=VERSION), read the provider's notes on this version, and say \
     `unseen: {controllers: warn}` in the policy for this write";

/// What to do about a doubt of what goes.
const LEFT: &str = "see to it that somebody else installs it before this write, or say `unseen: {controllers: warn}` in the policy for this write";

/// Adds a doubt for each controller that runs otherwise after the write.
pub(super) fn add(run: &mut Run<'_>) -> Result<(), LoadError> {
    for object in run.rendered.objects() {
        let Some(sort) = Sort::of(&object.key) else { continue };
        let Some(before) = carried::before(run, object) else {
            let doubt = is_one(object).then(|| arrives(run, object)).flatten();
            run.out.controllers.extend(doubt);
            continue;
        };
        if sort == Sort::Controller && !object.may_say(PROVIDER_LABEL) && !before.may_say(PROVIDER_LABEL) {
            continue;
        }
        let (before, after) = (before.value()?, object.value()?);
        let doubt = match sort {
            Sort::Controller => controller(object, &before, &after),
            Sort::Definition => definition(object, &before, &after),
            // It is compared itself.
            Sort::Installer => None,
        };
        run.out.controllers.extend(doubt);
    }
    leave(run);
    Ok(())
}

/// Adds a doubt where what a provider's controller is or needs leaves the stream: what it does not do any more, nobody does.
fn leave(run: &mut Run<'_>) {
    let old = run.last_written();
    if run.world.host.leaves_removed() || !has_clusters(run) {
        return;
    }
    let of_controller = |key: &Key| {
        Sort::of(key) == Some(Sort::Controller)
            || NEEDED.iter().any(|(group, kind)| *group == key.group && *kind == key.kind)
    };
    // What is not compared is not among what is known to be written; a hook of its name is another object.
    let stays = |key: &Key| {
        let rendered = run.locator.anywhere(run.rendered, key);
        rendered.is_some_and(|object| matches!(hook::role(object, &run.world.host), Ok(Role::Written | Role::Left)))
    };
    let goes = |object: &&Object| {
        of_controller(&object.key)
            && object.may_say(PROVIDER_LABEL)
            && object.value().is_ok_and(|value| label(&value, PROVIDER_LABEL).is_some())
            && !stays(&object.key)
            && run.was_written(object)
            && !stream::is_kept(object, run.world.host.kind).unwrap_or(false)
    };
    let gone: Vec<Key> = old.objects().iter().filter(goes).map(|object| object.key.clone()).collect();
    if gone.is_empty() {
        return;
    }
    let names: Vec<String> = gone.iter().map(ToString::to_string).collect();
    run.out.controllers.push(Unread {
        what: "what is still done for Machines".to_owned(),
        why: format!(
            "{} leaves the stream: without its controller no Machine is made, drained, repaired or deleted, and without its webhooks objects \
             are written unchecked",
            first_and_more(&names)
        ),
        remedy: LEFT.to_owned(),
        keys: gone,
    });
}

/// Whether the cluster has objects of Cluster API besides those that say which providers are installed.
fn has_clusters(run: &Run<'_>) -> bool {
    let mut all = run.world.live.objects().iter().map(|object| &object.key);
    all.any(|key| kinds::is_compared(key) && !installs(&key.group))
}

/// Whether an object runs a provider's controller, or defines kinds that are compared.
pub(crate) fn is_one(object: &Object) -> bool {
    match Sort::of(&object.key) {
        Some(Sort::Controller) => object.may_say(PROVIDER_LABEL),
        Some(Sort::Definition) => {
            object.key.name.split_once('.').is_some_and(|(_, group)| providers::is_compared(group))
        }
        Some(Sort::Installer) => true,
        None => false,
    }
}

/// What decides how objects of Cluster API are kept and what is done for them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Controller,
    Definition,
    /// What the operator installs a provider for.
    Installer,
}

impl Sort {
    fn of(key: &Key) -> Option<Self> {
        match (key.group.as_str(), key.kind.as_str()) {
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet") => Some(Self::Controller),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Some(Self::Definition),
            (group, kind) if installs(group) && kind.ends_with("Provider") => Some(Self::Installer),
            _ => None,
        }
    }
}

/// The doubt about what was not there, or not looked at.
fn arrives(run: &Run<'_>, object: &Object) -> Option<Unread> {
    let why = match carried::is_proven_new(run, &object.key) {
        false => "what it was before is not known, and all is judged by the present ones",
        // A definition that is new has no objects yet.
        true if Sort::of(&object.key) == Some(Sort::Definition) || !carried::has_compared(run) => return None,
        _ if Sort::of(&object.key) == Some(Sort::Installer) && !has_objects_of(run, object) => return None,
        true if Sort::of(&object.key) == Some(Sort::Installer) => {
            "it is new beside objects of its provider, and puts other controllers over those that run (cluster-api-operator patches what is there)"
        }
        true => "it is new beside objects of Cluster API, and all is judged by the present ones",
    };
    Some(Unread {
        what: "what another controller or definition does to Machines".to_owned(),
        why: format!("{}: {why}", object.key),
        remedy: REMEDY.to_owned(),
        keys: vec![object.key.clone()],
    })
}

/// Whether the cluster has objects that the provider of an object of the operator is for; one that is not known may be for any.
fn has_objects_of(run: &Run<'_>, installer: &Object) -> bool {
    let Ok(value) = installer.value() else { return true };
    let sort = text(&value, "/spec/type").unwrap_or(&installer.key.kind).to_ascii_lowercase();
    let starts = |word: &str| sort.starts_with(word);
    if !["core", "infrastructure", "bootstrap", "controlplane"].into_iter().any(starts) {
        return false;
    }
    let provider = versions::named(text(&value, "/spec/name").unwrap_or(&installer.key.name));
    // Of a cluster only the kinds of the stream were read.
    let is_read = run.world.source.kind != LiveKind::Cluster;
    if starts("core") || !is_read || !rules::is_known(provider) {
        return has_clusters(run);
    }
    let all = Rules::built_in();
    let is_its = |key: &Key| {
        providers::release_of(&key.group, &key.kind) == Some(provider)
            || all.providers_about(&key.group, &key.kind).any(|own| own == provider)
    };
    let mut keys = run.world.live.objects().iter().map(|object| &object.key).filter(|key| !installs(&key.group));
    keys.any(|key| kinds::is_compared(key) && is_its(key))
}

/// The doubt, where the definition of a compared kind changes in what decides how its objects are kept.
fn definition(object: &Object, before: &Value, after: &Value) -> Option<Unread> {
    text(after, "/spec/group").filter(|group| providers::is_compared(group))?;
    let keeps = |side: &Value| {
        let versions = side.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        let each = |one: &Value| ["name", "served", "storage", "schema"].map(|field| one.get(field).cloned());
        let strategy = text(side, "/spec/conversion/strategy").map(str::to_owned);
        let service = side.pointer("/spec/conversion/webhook/clientConfig/service").cloned();
        (strategy, service, versions.map(each).collect::<Vec<_>>())
    };
    let says = if keeps(before) != keeps(after) {
        "its versions, schemas or conversion change; what it does not know any more is dropped at the next write, and what is stored may come out \
         with other defaults"
    } else if contracts(before) != contracts(after) {
        "the labels that say which of its versions keeps which contract change; references name a group alone, so without them nothing that refers \
         to the kind is reconciled any more"
    } else {
        return None;
    };
    Some(Unread {
        what: "what another definition of a kind does to its objects".to_owned(),
        why: format!("{}: {says}", object.key),
        remedy: REMEDY.to_owned(),
        keys: vec![object.key.clone()],
    })
}

/// The labels of a definition by which the version of a reference is found (cluster-api `internal/contract/version.go`
/// GetLatestContractAndAPIVersionFromContract, v1.11 to v1.14).
fn contracts(side: &Value) -> BTreeMap<String, Value> {
    let labels = side.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let is_contract = |name: &str| name.strip_prefix(CORE).is_some_and(|rest| rest.starts_with("/v1"));
    labels.filter(|(name, _)| is_contract(name)).map(|(name, value)| (name.to_string(), value.clone())).collect()
}

/// The doubt, where a provider's controller changes.
fn controller(object: &Object, before: &Value, after: &Value) -> Option<Unread> {
    let provider = label(after, PROVIDER_LABEL).or_else(|| label(before, PROVIDER_LABEL))?;
    let account = |side: &Value| text(side, "/spec/template/spec/serviceAccountName").map(str::to_owned);
    let runs = |side: &Value| {
        let each = containers(side).map(|one| DECIDES.map(|field| one.get(field).cloned())).collect::<Vec<_>>();
        (each, account(side))
    };
    let is_off = |side: &Value| side.pointer("/spec/replicas").and_then(Value::as_u64) == Some(0);
    if is_off(after) && !is_off(before) {
        return Some(Unread {
            what: "what is still done for Machines".to_owned(),
            why: format!(
                "{}: {provider} is turned off; no Machine is made, drained, repaired or deleted without it",
                object.key
            ),
            remedy: LEFT.to_owned(),
            keys: vec![object.key.clone()],
        });
    }
    if runs(before) == runs(after) {
        return None;
    }
    let images = |side: &Value| containers(side).filter_map(|one| text(one, "/image")).collect::<Vec<_>>().join(", ");
    let (was, is) = (images(before), images(after));
    let how = if was == is { "its settings change".to_owned() } else { format!("{was} -> {is}") };
    Some(Unread {
        what: format!("what another {provider} does to Machines"),
        why: format!("{}: {how}, and Machines are judged by the present one", object.key),
        remedy: REMEDY.to_owned(),
        keys: vec![object.key.clone()],
    })
}

fn containers(side: &Value) -> impl Iterator<Item = &Value> {
    side.pointer("/spec/template/spec/containers").and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{helm3, old_render, predicted};
    use super::*;
    use crate::tree::json;

    fn deployment(tag: &str, args: &[&str], replicas: u64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "capi-controller-manager", "namespace": "n", "labels": {PROVIDER_LABEL: "cluster-api"}},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [
                {"name": "manager", "image": format!("registry.example/capi:{tag}"), "args": args}]}}}})
    }

    #[test]
    fn another_version_or_setting_of_a_controller_is_a_doubt_and_another_number_is_not() {
        let old = [deployment("v1.9.5", &[], 1)];
        for world in [old_render(&old), helm3(&[], &old), helm3(&old, &old)] {
            let why = |new: Value| -> Vec<String> {
                predicted(&[new], &world).controllers.into_iter().map(|one| one.why).collect()
            };
            let [image] = why(deployment("v1.10.2", &[], 1)).try_into().expect("one doubt");
            assert!(image.contains("registry.example/capi:v1.9.5 -> registry.example/capi:v1.10.2"), "{image}");
            let [setting] =
                why(deployment("v1.9.5", &["--feature-gates=ClusterTopology=true"], 1)).try_into().expect("one doubt");
            assert!(setting.contains("its settings change"), "{setting}");
            assert_eq!(why(deployment("v1.9.5", &[], 3)), [""; 0]);
        }
        assert!(predicted(&old, &old_render(&[])).controllers.is_empty(), "nothing ran before it");
    }

    #[test]
    fn a_new_controller_beside_clusters_is_a_doubt() {
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c", "namespace": "n"}, "spec": {}});
        let both = [cluster.clone(), deployment("v1.9.5", &[], 1)];
        let mut set = deployment("v1.9.5", &[], 1);
        set["kind"] = json!("StatefulSet");
        for stream in [&both, &[cluster.clone(), set]] {
            for world in [
                helm3(std::slice::from_ref(&cluster), std::slice::from_ref(&cluster)),
                old_render(std::slice::from_ref(&cluster)),
            ] {
                assert_eq!(predicted(stream, &world).controllers.len(), 1);
            }
            assert!(predicted(stream, &helm3(&[], &[])).controllers.is_empty(), "there is nothing for it to act on");
        }
    }

    #[test]
    fn a_controller_that_loses_its_label_with_the_write_is_one_still() {
        let mut new = deployment("v2", &[], 1);
        new["metadata"]["labels"] = json!({"app": "capi"});
        assert_eq!(predicted(&[new], &old_render(&[deployment("v1", &[], 1)])).controllers.len(), 1);
    }

    #[test]
    fn other_deployments_are_nobodys_business() {
        let mut old = deployment("v1", &[], 1);
        old["metadata"]["labels"] = json!({"app": "web"});
        let mut new = deployment("v2", &[], 1);
        new["metadata"]["labels"] = json!({"app": "web"});
        assert!(predicted(&[new], &old_render(&[old])).controllers.is_empty());
    }

    #[test]
    fn another_schema_of_a_compared_kind_is_a_doubt_and_that_of_others_is_not() {
        let crd = |group: &str, served: bool, bundle: &str| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("machines.{group}"), "annotations": {"a": bundle}},
                "spec": {"group": group, "names": {"kind": "Machine", "plural": "machines"}, "scope": "Namespaced",
                    "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": bundle}}},
                    "versions": [{"name": "v1beta1", "served": served, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
                        {"name": "v1beta2", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}})
        };
        let why = |old: Value, new: Value| predicted(&[new], &old_render(&[old])).controllers.len();
        assert_eq!(why(crd("cluster.x-k8s.io", true, "YQ=="), crd("cluster.x-k8s.io", false, "YQ==")), 1);
        assert_eq!(why(crd("cluster.x-k8s.io", true, "YQ=="), crd("cluster.x-k8s.io", true, "Yg==")), 0);
        assert_eq!(why(crd("example.org", true, "YQ=="), crd("example.org", false, "YQ==")), 0);
    }
}
