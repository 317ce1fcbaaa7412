//! What the API server cannot take at all: kinds that it does not serve, or not in the rendered version, and namespaces that are
//! not there. Everything in the stream counts, compared or not. What cannot be asked here is left to the write itself.

use std::collections::BTreeSet;

use super::Outcome;
use super::call::{Caller, Fault};
use super::discover::{Catalogue, Served};
use super::list;
use crate::host::{HostKind, kinds};
use crate::object::{ApiVersion, Inventory, Key};
use crate::world::plan::{GroupKind, Keep};

/// Groups of Kubernetes itself beside those that end in `.k8s.io`: that they have a version is enough.
const BUILT_IN: [&str; 4] = ["apps", "autoscaling", "batch", "policy"];
/// So many namespaces are asked for.
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
    let asked = wanted.into_iter().take(NAMESPACES).map(|name| async move {
        let path = format!("/api/v1/namespaces/{name}");
        let answer = list::get(caller, &path, Keep::default()).await;
        matches!(answer, Err(Fault::NotFound(found)) if found == name).then(|| key(name))
    });
    let absent: Vec<Key> = futures_util::future::join_all(asked).await.into_iter().flatten().collect();
    absent.into_iter().for_each(|key| outcome.world.coverage.note_absent(key));
}

/// The key of a namespace.
fn key(name: &str) -> Key {
    Key::new("v1", "Namespace", None, name)
}
