//! Asks for the versions of the providers, the best record first, and stops at the first that answers.
//! Feature gates are read from the controllers' arguments. What may not be read is a warning, since the newest known version is then assumed; what broke is a doubt.

use std::collections::BTreeSet;

use serde_json::Value;

use super::call::{Caller, Fault};
use super::discover::{Catalogue, Served};
use super::read::{login, refused, unread};
use super::{Outcome, list};
use crate::world::plan::{GroupKind, Keep};
use crate::world::providers::{self, PROVIDER_LABEL, Sighting};

/// A record of versions, and how one of its objects is read.
type Source = (&'static str, &'static str, Option<&'static str>, fn(&Value) -> Option<Sighting>);

/// Records in the order of their weight: group, kind, label, reader.
const SOURCES: [Source; 7] = [
    ("clusterctl.cluster.x-k8s.io", "Provider", None, providers::inventory),
    ("turtles-capi.cattle.io", "CAPIProvider", None, providers::operator),
    ("operator.cluster.x-k8s.io", "CoreProvider", None, providers::operator),
    ("operator.cluster.x-k8s.io", "BootstrapProvider", None, providers::operator),
    ("operator.cluster.x-k8s.io", "ControlPlaneProvider", None, providers::operator),
    ("operator.cluster.x-k8s.io", "InfrastructureProvider", None, providers::operator),
    ("apps", "Deployment", Some(PROVIDER_LABEL), providers::deployment),
];

/// Fills in the versions.
pub(super) async fn read(caller: &Caller, catalogue: &mut Catalogue, outcome: &mut Outcome) {
    if !outcome.plan.providers {
        return;
    }
    let mut sightings = Vec::new();
    let mut refusals = Vec::new();
    let mut group = "";
    for (next, kind, label, reader) in SOURCES {
        if !sightings.is_empty() && next != group {
            break;
        }
        group = next;
        let wanted = GroupKind::new(group, kind);
        catalogue.more(caller, &BTreeSet::from([(wanted.clone(), None)])).await;
        let answer = match catalogue.find(&wanted, None) {
            Ok(Served::As(resource) | Served::Otherwise(resource)) => {
                let listed = list::list(caller, &resource.path(None), label, list::JSON, Keep::default()).await;
                listed.map_err(|fault| (refused(&fault, group, &resource.plural, &["list"]), fault))
            }
            Ok(Served::Absent) => continue,
            Err(fault) => Err((login(&fault), fault)),
        };
        match answer {
            Ok(listed) => {
                sightings.extend(listed.objects.iter().filter_map(|object| reader(object.value().ok()?.as_ref())));
            }
            Err((remedy, fault)) => refusals.push((format!("list of {wanted}"), remedy, fault)),
        }
    }
    if sightings.is_empty() {
        definitions(caller, &mut sightings).await;
    }
    outcome.world.providers = providers::merge(&sightings);
    if sightings.is_empty() {
        told(outcome, refusals);
    }
}

/// Fills in the feature gates that the chart needs. Where the controllers cannot be read, nothing is known of them, and what
/// depends on them says so.
pub(super) async fn gates(caller: &Caller, catalogue: &mut Catalogue, outcome: &mut Outcome) {
    if !outcome.plan.gates {
        return;
    }
    let wanted = GroupKind::new("apps", "Deployment");
    catalogue.more(caller, &BTreeSet::from([(wanted.clone(), None)])).await;
    let Ok(Served::As(resource) | Served::Otherwise(resource)) = catalogue.find(&wanted, None) else { return };
    if let Ok(listed) =
        list::list(caller, &resource.path(None), Some(PROVIDER_LABEL), list::JSON, Keep::default()).await
    {
        let found = listed.objects.iter().filter_map(|object| Some(providers::gates(object.value().ok()?.as_ref())));
        outcome.world.feature_gates = providers::agreed(found);
    }
}

/// Labels of definitions, the last resort; that they cannot be read says nothing new.
async fn definitions(caller: &Caller, sightings: &mut Vec<Sighting>) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    if let Ok(found) = list::labels(caller, path, PROVIDER_LABEL).await {
        sightings.extend(found.iter().filter_map(|(name, labels)| providers::definition(name, labels)));
    }
}

/// Says that no version is known, and why.
fn told(outcome: &mut Outcome, refusals: Vec<(String, String, Fault)>) {
    for (what, remedy, fault) in refusals {
        if !matches!(fault, Fault::Forbidden(_)) {
            outcome.world.unread.push(unread(&format!("the provider versions ({what})"), &fault, &remedy, Vec::new()));
            return;
        }
        outcome.warnings.push(format!("the provider versions are not known: {}; {remedy}", fault.why()));
    }
    outcome.warnings.push(
        "no provider version was found in the cluster, so the newest known ones are assumed; give --provider NAME=VERSION"
            .to_owned(),
    );
}
