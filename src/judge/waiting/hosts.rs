//! Bare metal hosts that a write brings to a rollout that waits for one: with a surge the new Machine comes before an old one goes, and it
//! comes on no host but a free one (CAPM3 `baremetal/metal3machine_manager.go` Associate, chooseHost, v1.10).

use std::collections::BTreeSet;

use super::side::Side;
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::kinds::contract::{CORE, MACHINE};
use crate::kinds::fields::{annotation, target, text, wanted};
use crate::model::{Action, Hold, Pair, Why};
use crate::object::{GroupKind, Key, Object, Path, View};
use crate::providers::hosts::{HOST, HOST_OF_MACHINE, METAL3_MACHINE, chooses, free, is_free, selector, template};
use crate::providers::kind;
use crate::tree::Value;
use crate::world::{Coverage, LiveKind, World};

/// The owners that may wait for a host that the write brings: those of the namespaces in which it writes hosts.
pub(super) fn reached(stage: &Stage<'_>) -> Vec<Key> {
    let written = stage.pairs_of_kind(HOST.1).filter(|pair| matches!(pair.action, Action::Create | Action::Update));
    let namespaces: BTreeSet<Option<&str>> = written.map(|pair| pair.key.namespace.as_deref()).collect();
    if namespaces.is_empty() {
        return Vec::new();
    }
    stage.keys(|key| namespaces.contains(&key.namespace.as_deref()) && kind(key).role.is_part_of_cluster())
}

/// What holds the Machines of an owner back that are out of date, where it is a host that this write brings.
pub(in crate::judge) fn none_free(stage: &Stage<'_>, key: &Key, assessment: &Assessment) -> Option<Hold> {
    let mut hosts = stage.pairs_of_kind(HOST.1).filter(|pair| pair.key.namespace == key.namespace).peekable();
    hosts.peek()?;
    assessment.pending().next()?;
    // A strategy that takes old Machines first gets their hosts back.
    let (surge, unavailable) = assessment.mirror.room(&assessment.new, wanted(&assessment.new, Some(&assessment.old)));
    if surge == 0 || unavailable > 0 || is_being_set_up(stage, key, assessment) {
        return None;
    }
    let side = Side::before(stage);
    let get = |key: &Key| side.get(key).map(|value| Value::clone(&value));
    let has_all = are_read(stage.scene.world, stage.scene.view, key.namespace.as_deref());
    // Of hosts that nobody read none is known to be free, and a template that nobody read may choose every host.
    let is_metal = template(key, &assessment.new).is_some();
    if !is_metal || free(stage.scene.view, key, has_all, get).is_some_and(|free| free > 0) {
        return None;
    }
    let selector = selector(key, get).unwrap_or_default();
    let comes = |pair: &&Pair| {
        let is_taken = |host: &Value| host.pointer("/spec/consumerRef").is_some_and(|consumer| !consumer.is_null());
        match (pair.action, &pair.live, &pair.predicted) {
            (Action::Create, _, Some(host)) => chooses(&selector, host) && !is_taken(host),
            (Action::Update, Some(was), Some(is)) => {
                let fits = |host: &Value| is_free(host, key) && chooses(&selector, host);
                !fits(was) && fits(is)
            }
            _ => false,
        }
    };
    let coming: Vec<(Key, Option<Path>)> = hosts.filter(comes).map(|pair| (pair.key.clone(), None)).collect();
    let first = coming.first()?.0.clone();
    Some(Hold {
        why: Why::NothingToMakeOf,
        says: "no host is free for the next Machine".to_owned(),
        over: match coming.len() {
            1 => format!("{first} comes, a host for the next Machine"),
            more => format!("{first} and {} more come, hosts for the next Machines", more - 1),
        },
        places: coming,
    })
}

/// Whether all hosts of a namespace were read. An old render shows none, and a dump in which Machines of Metal3 have hosts, but no host is,
/// was made without them.
pub(crate) fn are_read(world: &World, live: &dyn View, namespace: Option<&str>) -> bool {
    let has_host = |machine: &Object| machine.value().is_ok_and(|value| annotation(&value, HOST_OF_MACHINE).is_some());
    match (&world.source.kind, &world.coverage) {
        (LiveKind::Cluster, Coverage::Whole) => {
            live.of_kind(HOST.1).next().is_some() || !live.of_kind(METAL3_MACHINE).any(has_host)
        }
        (LiveKind::Cluster, coverage) => {
            coverage.has_list(&GroupKind::new(HOST.0, HOST.1), namespace.unwrap_or_default())
        }
        (LiveKind::OldRender | LiveKind::None, _) => false,
    }
}

/// Whether the owner's next Machine has a host already and is only not up yet.
fn is_being_set_up(stage: &Stage<'_>, key: &Key, assessment: &Assessment) -> bool {
    let new = assessment.units.iter().filter(|unit| unit.after.is_empty()).flat_map(|unit| &unit.names);
    let has_host = |name: &String| {
        let namespace = key.namespace.clone();
        let machine = Key::of(CORE, MACHINE, namespace, name.as_str());
        let machine = stage.before(&machine)?;
        let is_up = text(&machine, "/spec/providerID").is_some();
        let infra = target(machine.pointer("/spec/infrastructureRef")?, key.namespace.as_deref())?;
        let infra = stage.before(&infra)?;
        (!is_up && annotation(&infra, HOST_OF_MACHINE).is_some()).then_some(())
    };
    new.into_iter().any(|name| has_host(name).is_some())
}
