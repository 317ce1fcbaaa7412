//! Asks for the versions of the providers, the best record first, until each whose kinds were read has one.
//! Feature gates are read from the controllers' arguments. What may not be read is a warning, since the worst of the known versions counts then; what broke is a doubt.

use std::collections::BTreeSet;

use super::call::{CallFault, Caller};
use super::discover::{Catalogue, Served};
use super::read::{login, refused, unread};
use super::{WorldRead, list};
use crate::cluster::plan::{GroupKind, Keep};
use crate::providers::core::in_place;
use crate::providers::release_of;
use crate::providers::versions::named;
use crate::tree::Value;
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
pub(super) async fn read(caller: &Caller, catalogue: &mut Catalogue, outcome: &mut WorldRead) {
    if !outcome.plan.providers {
        return;
    }
    let mut sightings: Vec<Sighting> = Vec::new();
    let mut refusals = Vec::new();
    let mut group = "";
    let wanted = wanted(outcome);
    for (next, kind, label, reader) in SOURCES {
        if next != group && open(&wanted, &sightings).is_empty() {
            break;
        }
        group = next;
        let wanted = GroupKind::new(group, kind);
        let Some(answer) = everywhere(caller, catalogue, &(wanted.clone(), label)).await else { continue };
        match answer {
            Ok(listed) => {
                let found = listed.objects.iter().filter_map(|object| reader(object.value().ok()?.as_ref()));
                add(&mut sightings, found.collect());
            }
            Err((remedy, fault)) => refusals.push((format!("list of {wanted}"), remedy, fault)),
        }
    }
    if !open(&wanted, &sightings).is_empty() {
        definitions(caller, &mut sightings).await;
    }
    let open = open(&wanted, &sightings);
    outcome.world.providers = providers::merge(&sightings);
    if !open.is_empty() {
        told(outcome, &open, refusals);
    }
}

/// The providers whose versions may decide: those of what is rendered, and of what is there.
fn wanted(outcome: &WorldRead) -> BTreeSet<&'static str> {
    let live = outcome.world.live.objects().iter().map(|object| (object.key.group.as_str(), object.key.kind.as_str()));
    let asked = outcome.plan.kinds.keys().filter(|_| !outcome.plan.only_there);
    let kinds: BTreeSet<(&str, &str)> =
        asked.map(|kind| (kind.group.as_str(), kind.kind.as_str())).chain(live).collect();
    kinds.into_iter().filter_map(|(group, kind)| release_of(group, kind)).collect()
}

/// Those of which no version was found.
fn open(wanted: &BTreeSet<&'static str>, sightings: &[Sighting]) -> Vec<&'static str> {
    let found: BTreeSet<&str> = sightings.iter().map(|sighting| named(providers::short(&sighting.name))).collect();
    wanted.iter().copied().filter(|name| !found.contains(name)).collect()
}

/// Adds what a record says of parts of which no better record said anything.
fn add(sightings: &mut Vec<Sighting>, found: Vec<Sighting>) {
    let known: BTreeSet<String> = sightings.iter().map(|sighting| sighting.name.clone()).collect();
    sightings.extend(found.into_iter().filter(|one| !known.contains(&one.name)));
}

/// Fills in the feature gates that the chart needs, and who may update in place where a gate lets one. Where the controllers cannot be
/// read, nothing is known of them, and what depends on them says so.
pub(super) async fn gates(caller: &Caller, catalogue: &mut Catalogue, outcome: &mut WorldRead) {
    if !outcome.plan.gates {
        return;
    }
    let controllers = (GroupKind::new("apps", "Deployment"), Some(PROVIDER_LABEL));
    if let Some(Ok(listed)) = everywhere(caller, catalogue, &controllers).await {
        let found = listed.objects.iter().filter_map(|object| Some(providers::gates(object.value().ok()?.as_ref())));
        outcome.world.feature_gates = providers::agreed(found);
    }
    if outcome.world.feature_gates.get(in_place::GATE) == Some(&true) {
        extensions(caller, catalogue, outcome).await;
    }
}

/// Adds the runtime extensions, of which one may update Machines where they are. They decide about the course that is told and about no
/// verdict, so not being able to read them is a warning.
async fn extensions(caller: &Caller, catalogue: &mut Catalogue, outcome: &mut WorldRead) {
    let (group, kind) = in_place::EXTENSIONS;
    match everywhere(caller, catalogue, &(GroupKind::new(group, kind), None)).await {
        Some(Ok(listed)) => {
            let fresh: Vec<_> =
                listed.objects.into_iter().filter(|object| outcome.world.live.get(&object.key).is_none()).collect();
            fresh.into_iter().for_each(|object| outcome.world.live.push(object));
        }
        Some(Err((remedy, fault))) => outcome.warnings.push(format!(
            "nobody knows whether a runtime extension updates Machines in place ({kind}): {}; {remedy}",
            fault.why()
        )),
        None => {}
    }
}

/// All objects of a kind, or why not; `None` where the API server does not know it.
async fn everywhere(
    caller: &Caller,
    catalogue: &mut Catalogue,
    (wanted, label): &(GroupKind, Option<&str>),
) -> Option<Result<list::Listed, (String, CallFault)>> {
    catalogue.more(caller, &BTreeSet::from([(wanted.clone(), None)])).await;
    let resource = match catalogue.find(wanted, None) {
        Ok(Served::As(resource) | Served::Otherwise(resource)) => resource,
        Ok(Served::Absent) => return None,
        Err(fault) => return Some(Err((login(&fault), fault))),
    };
    let listed = list::list(caller, &resource.path(None), *label, list::JSON, Keep::default()).await;
    Some(listed.map_err(|fault| (refused(&fault, &wanted.group, &resource.plural, &["list"]), fault)))
}

/// Labels of definitions, the last resort; that they cannot be read says nothing new.
async fn definitions(caller: &Caller, sightings: &mut Vec<Sighting>) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    if let Ok(found) = list::labels(caller, path, PROVIDER_LABEL).await {
        add(sightings, found.iter().filter_map(|(name, labels)| providers::definition(name, labels)).collect());
    }
}

/// Says of which providers no version is known, and why.
fn told(outcome: &mut WorldRead, open: &[&str], refusals: Vec<(String, String, CallFault)>) {
    for (what, remedy, fault) in refusals {
        if !matches!(fault, CallFault::Forbidden(_)) {
            outcome.world.unread.push(unread(&format!("the provider versions ({what})"), &fault, &remedy, Vec::new()));
            return;
        }
        outcome.warnings.push(format!("the provider versions are not known: {}; {remedy}", fault.why()));
    }
    outcome.warnings.push(format!(
        "no version of {} was found in the cluster, so the worst of what the versions known here do counts; pass --provider NAME=VERSION",
        open.join(", ")
    ));
}
