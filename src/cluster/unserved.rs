//! What the API server cannot take at all: kinds that it does not serve, or not in the rendered version. Everything in the stream
//! counts, compared or not. What cannot be asked here is left to the write itself.

use std::collections::BTreeSet;

use super::WorldRead;
use super::call::Caller;
use super::discover::{Catalogue, Served};
use crate::cluster::plan::GroupKind;
use crate::host::kinds;
use crate::object::{ApiVersion, Inventory, Object};

/// Groups of Kubernetes itself beside those that end in `.k8s.io`: that they have a version is enough.
const BUILT_IN: [&str; 4] = ["apps", "autoscaling", "batch", "policy"];

/// Notes the kinds and versions that are not served, of what is rendered and of the last manifest, which Helm reads again before it
/// writes anything.
pub(super) async fn kinds(caller: &Caller, rendered: &Inventory, catalogue: &mut Catalogue, outcome: &mut WorldRead) {
    // What is compared is listed as it is rendered, which says it, too.
    let rendered = rendered.objects().iter().filter(|object| !kinds::is_compared(&object.key));
    let mut all: BTreeSet<_> = rendered.filter_map(asked).collect();
    all.extend(outcome.world.base.objects.objects().iter().filter_map(asked));
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

/// The kind and the version of an object; `None` of the core group, which has one version.
fn asked(object: &Object) -> Option<(GroupKind, Option<String>)> {
    let kind = GroupKind::new(&object.key.group, &object.key.kind);
    let version = ApiVersion::parse(&object.api_version).version.to_owned();
    (!kind.group.is_empty()).then_some((kind, Some(version)))
}

/// Whether a group is one of Kubernetes itself.
fn is_built_in(group: &str) -> bool {
    BUILT_IN.contains(&group) || (group.ends_with(".k8s.io") && !group.ends_with("x-k8s.io"))
}
