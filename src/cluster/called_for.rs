//! What is called for by what was read: the clusters of a class that names a template of the stream, and the hosts that Machines run on
//! whose template only live objects name.

use std::collections::{BTreeMap, BTreeSet};

use super::call::Caller;
use super::discover::Catalogue;
use super::needs;
use super::plan::{GroupKind, KindRead, Scope};
use super::read::{lists, wanted};
use super::{Online, Progress, WorldRead};
use crate::kinds::Role;
use crate::kinds::references::named;
use crate::object::Object;
use crate::providers::kind;
use crate::world::Extent;

/// Reads the clusters of a live class that names a template of the stream. A template says nothing of the class itself, and a class that
/// is rendered beside it was asked for already. The topology controller clones what the class names
/// (`core/reconcilers/topology/cluster/reconcile_state.go`, reconcileReferencedTemplate, of Cluster API 1.14), for clusters of any
/// namespace (`classRef.namespace`, since 1.9).
pub(super) async fn clusters(
    caller: &Caller,
    online: &Online<'_>,
    catalogue: &mut Catalogue,
    outcome: &mut WorldRead,
    progress: &mut Progress<'_>,
) {
    if !is_part_of_a_class(online, outcome) {
        return;
    }
    needs::of_a_class(&mut outcome.plan);
    let known = outcome.plan.scope.namespaces().cloned().unwrap_or_default();
    outcome.plan.scope = Scope::Everywhere(known);
    let is_whole =
        |kind: &GroupKind| matches!(outcome.world.coverage.extent(kind), Some(Extent::Everywhere | Extent::NotServed));
    let mut kinds = outcome.plan.kinds.clone();
    kinds.retain(|kind, _| !is_whole(kind));
    catalogue.more(caller, &wanted(&outcome.plan)).await;
    lists(caller, online, catalogue, &kinds, outcome, progress).await;
}

/// Whether a class that was read, and whose clusters were not, names a template that is written or was.
fn is_part_of_a_class(online: &Online<'_>, outcome: &WorldRead) -> bool {
    let written = online.rendered.objects().iter().chain(outcome.world.base.objects.objects());
    let templates: BTreeSet<(&str, &str)> = written
        .filter(|object| kind(&object.key).role == Role::Template)
        .map(|object| (object.key.kind.as_str(), object.key.name.as_str()))
        .collect();
    let names_one = |class: &Object| {
        let mut is_named = false;
        if let Ok(value) = class.value() {
            named(&value, &mut |named| is_named |= templates.contains(&(named.kind, named.name)));
        }
        is_named
    };
    let mut classes = outcome.world.live.objects().iter().filter(|object| kind(&object.key).role == Role::Class);
    !templates.is_empty() && classes.any(names_one)
}

/// Reads the hosts that new Machines choose from, where a template that live objects name says that they do. Where that is forbidden, the
/// gate asks for them once it needs them.
pub(super) async fn hosts(
    caller: &Caller,
    online: &Online<'_>,
    catalogue: &mut Catalogue,
    outcome: &mut WorldRead,
    progress: &mut Progress<'_>,
) {
    let live = outcome.world.live.objects().iter().map(|object| (object.key.group.as_str(), object.key.kind.as_str()));
    let hosts = needs::hosts_of(live, online.policy).filter(|hosts| !outcome.plan.kinds.contains_key(hosts));
    let Some(hosts) = hosts else { return };
    let reasons = BTreeSet::from(["gate health.hosts".to_owned()]);
    let read = KindRead { optional: true, reasons, ..KindRead::default() };
    let kinds = BTreeMap::from([(hosts, read)]);
    catalogue.more(caller, &kinds.keys().map(|kind| (kind.clone(), None)).collect()).await;
    lists(caller, online, catalogue, &kinds, outcome, progress).await;
    outcome.plan.kinds.extend(kinds);
}
