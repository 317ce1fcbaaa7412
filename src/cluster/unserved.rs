//! What the API server cannot take at all: kinds that it does not serve, or not in the rendered version. Everything in the stream
//! counts, compared or not. What cannot be asked here is left to the write itself.

use std::collections::BTreeSet;

use super::Outcome;
use super::call::Caller;
use super::discover::{Catalogue, Served};
use crate::cluster::plan::GroupKind;
use crate::host::kinds;
use crate::object::{ApiVersion, Inventory};

/// Groups of Kubernetes itself beside those that end in `.k8s.io`: that they have a version is enough.
const BUILT_IN: [&str; 4] = ["apps", "autoscaling", "batch", "policy"];

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
