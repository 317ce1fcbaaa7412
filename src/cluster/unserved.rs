//! What the API server cannot take at all: kinds that it does not serve, or not in the rendered version, and namespaces that are
//! not there. Everything in the stream counts, compared or not. What cannot be asked here is left to the write itself.

use std::collections::BTreeSet;

use super::Outcome;
use super::call::{Caller, Fault};
use super::discover::{Catalogue, Served};
use super::list;
use super::read::{refused, unread};
use crate::cluster::plan::{GroupKind, Keep};
use crate::host::{HostKind, kinds};
use crate::object::{ApiVersion, Inventory, Key};

/// Groups of Kubernetes itself beside those that end in `.k8s.io`: that they have a version is enough.
const BUILT_IN: [&str; 4] = ["apps", "autoscaling", "batch", "policy"];
/// Up to so many namespaces are asked for one by one; above that a list is the smaller read.
const NAMESPACES: usize = 8;

/// Notes the rendered kinds and versions that are not served.
pub(super) async fn kinds(caller: &Caller, rendered: &Inventory, catalogue: &mut Catalogue, outcome: &mut Outcome) {
    let mut all = BTreeSet::new();
    for object in rendered.objects().iter().filter(|object| !object.key.group.is_empty()) {
        let kind = GroupKind::new(&object.key.group, &object.key.kind);
        // What is compared is listed, which says it, too.
        if !kinds::is_compared(&object.key) {
            all.insert((kind, Some(ApiVersion::parse(&object.api_version).version.to_owned())));
        }
    }
    let custom = all.iter().filter(|(kind, _)| !is_built_in(&kind.group)).cloned().collect();
    catalogue.more(caller, &custom).await;
    for (kind, version) in &all {
        let version = version.as_deref().unwrap_or_default();
        let api_version = format!("{}/{version}", kind.group);
        if is_built_in(&kind.group) {
            if catalogue.has_version(&kind.group, version) == Some(false) {
                outcome.world.coverage.note_unserved(kind, &api_version);
            }
            continue;
        }
        if catalogue.has_kind(kind, version) == Some(false) {
            match catalogue.find(kind, Some(version)) {
                Ok(Served::Absent) => outcome.world.coverage.note_not_served(kind),
                Ok(_) => outcome.world.coverage.note_unserved(kind, &api_version),
                Err(_) => {}
            }
        }
    }
}

/// Whether a group is one of Kubernetes itself.
fn is_built_in(group: &str) -> bool {
    BUILT_IN.contains(&group) || (group.ends_with(".k8s.io") && !group.ends_with("x-k8s.io"))
}

/// Notes the namespaces that objects are to be written to and that are not there. Helm makes that of the release where it is
/// told so, and the record of an upgrade lies in it; kubectl makes none.
pub(super) async fn namespaces(caller: &Caller, rendered: &Inventory, outcome: &mut Outcome) {
    let host = &outcome.world.host;
    let home = host.namespace.as_deref();
    // Of a release whose namespace is not known nobody can say which one Helm makes.
    if home.is_none() && host.kind != Some(HostKind::Kubectl) {
        return;
    }
    let mut wanted: BTreeSet<&str> = BTreeSet::new();
    for object in rendered.objects().iter().filter(|object| !kinds::is_cluster_wide(&object.key)) {
        wanted.extend(object.key.namespace.as_deref().filter(|own| Some(*own) != home));
        if host.kind == Some(HostKind::Kubectl) {
            wanted.extend(object.key.namespace.as_deref().or(home));
        }
    }
    wanted.retain(|name| rendered.get(&key(name)).is_none());
    for object in outcome.world.live.objects() {
        if let Some(namespace) = &object.key.namespace {
            wanted.remove(namespace.as_str());
        }
    }
    // What was written to last time was there.
    for object in outcome.world.base.objects.objects() {
        if let Some(namespace) = &object.key.namespace {
            wanted.remove(namespace.as_str());
        }
    }
    let wanted: BTreeSet<String> = wanted.into_iter().map(str::to_owned).collect();
    if wanted.len() > NAMESPACES
        && let Ok(there) = list::labels(caller, ALL, "").await
    {
        let there: BTreeSet<String> = there.into_iter().map(|(name, _)| name).collect();
        wanted.difference(&there).for_each(|name| outcome.world.coverage.note_absent(key(name)));
        return;
    }
    let asked = wanted
        .iter()
        .map(|name| async move { (name, list::get(caller, &format!("{ALL}/{name}"), Keep::default()).await) });
    for (name, answer) in futures_util::future::join_all(asked).await {
        match answer {
            Ok(_) => {}
            Err(Fault::NotFound(found)) if found == *name => outcome.world.coverage.note_absent(key(name)),
            Err(fault) => {
                let remedy = refused(&fault, "", "namespaces", &["get"]);
                let what = format!("whether there is a namespace {name}, to which the release has not written yet");
                outcome.world.unread.push(unread(&what, &fault, &remedy, Vec::new()));
            }
        }
    }
}

/// All namespaces.
const ALL: &str = "/api/v1/namespaces";

/// The key of a namespace.
fn key(name: &str) -> Key {
    Key::new("v1", "Namespace", None, name)
}
