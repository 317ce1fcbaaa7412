//! What a pause that ends lets go beside the work of owners with a mirror: deletions that were asked for before, and owners of
//! which only their provider knows what waits.
//! Read beside `util/paused/paused.go` (EnsurePausedCondition) and `core/reconcilers/cluster/cluster_controller.go`
//! (reconcileDelete) of Cluster API 1.14.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::lifted::Lifted;
use super::machines::controller;
use super::pause::{self, annotation_path};
use super::side::Side;
use crate::judge::deletions::unhindered;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::contract::MACHINE_SET;
use crate::kinds::fields::{self, annotation, number, target, text};
use crate::model::{Action, Effect, Hold, Places, Rollout, RuleId, Why};
use crate::object::{Key, Object, Path, is_deleting};
use crate::providers::{kind, machines, typed};
use crate::tree::Value;

/// The annotation of a Cluster whose hooks before its deletion are done.
const OK_TO_DELETE: &str = "runtime.cluster.x-k8s.io/ok-to-delete";

/// What pauses that end with this write let go.
pub(super) fn lifted(stage: &Stage<'_>) -> Vec<Lifted> {
    let mut keys: BTreeSet<Key> = BTreeSet::new();
    for pair in stage.pairs.iter().filter(|pair| pair.action == Action::Update) {
        let is_annotated =
            |side: &Option<Value>| side.as_ref().is_some_and(|object| annotations(&pair.key, object).next().is_some());
        if (is_annotated(&pair.live) && !is_annotated(&pair.predicted)) || pause::is_handed_on(pair) {
            keys.insert(pair.key.clone());
        }
        if kind(&pair.key).role == Role::Cluster {
            keys.insert(pair.key.clone());
            let [before, after] = Side::both(stage).map(|side| side.cluster(&pair.key));
            let is_paused = |side: Option<Arc<Value>>| side.is_some_and(|cluster| pause::is_paused_cluster(&cluster));
            if is_paused(before) && !is_paused(after) {
                keys.extend(members(stage, &pair.key));
            }
        }
    }
    keys.iter().filter_map(|key| of(stage, key)).collect()
}

/// Everything in a Cluster that may have work or a deletion waiting and that no mirror knows.
fn members(stage: &Stage<'_>, cluster: &Key) -> Vec<Key> {
    let mut out: Vec<Key> = stage.owners_of(cluster).into_iter().cloned().collect();
    let namespace = cluster.namespace.as_deref();
    let of_pools: Vec<Key> = out
        .iter()
        .filter(|owner| kind(owner).role == Role::Pool)
        .filter_map(|pool| {
            target(stage.before(pool)?.pointer("/spec/template/spec/infrastructureRef")?, pool.namespace.as_deref())
        })
        .collect();
    out.extend(of_pools);
    let is_here = |key: &Key| namespace.is_none() || key.namespace.is_none() || key.namespace.as_deref() == namespace;
    for object in stage.scene.view.objects().filter(|object| is_here(&object.key)) {
        // A MachineDeployment scales its MachineSets; a Machine that hangs is found among those of its cluster.
        let is_wanted = match kind(&object.key).role {
            Role::Machine => false,
            Role::Set => true,
            _ => object.may_say("deletionTimestamp"),
        };
        if !is_wanted || out.contains(&object.key) {
            continue;
        }
        let belongs = |value: &Value| fields::cluster_name(value) == Some(cluster.name.as_str());
        if stage
            .before(&object.key)
            .is_some_and(|value| belongs(&value) && (is_deleting(&value) || is_alone(&object.key, &value)))
        {
            out.push(object.key.clone());
        }
    }
    out
}

/// Whether a MachineSet has no MachineDeployment above it.
fn is_alone(key: &Key, value: &Value) -> bool {
    key.kind == MACHINE_SET && controller(key, value).is_none()
}

/// What starts with one object that is no longer paused.
fn of(stage: &Stage<'_>, key: &Key) -> Option<Lifted> {
    let (old, new) = (stage.before(key)?, stage.after(key)?);
    let key = &typed(key);
    let known = key.known;
    // What its mirror finds is told where it is assessed, its deletion too.
    if known.mirror.is_some() {
        return None;
    }
    let [before, after] = Side::both(stage);
    let was = holds(before, key, &old);
    let hold = was.first().filter(|_| holds(after, key, &new).is_empty())?;
    let (effect, words, rollouts) = if is_deleting(&old) {
        let found = unhindered(stage, key, &old);
        (found.effect, format!("its deletion goes on: {}", found.because), found.rollouts)
    } else {
        waiting(stage, key, &old)?
    };
    let rule = if is_deleting(&old) { RuleId::of("waiting/deletion") } else { RuleId::of("waiting/unpaused") };
    let because = format!("{}, and {words}", hold.over);
    let places: Places = was.iter().flat_map(|hold| hold.places.clone()).collect();
    Some(Lifted { owner: Key::clone(key), effect, waits: None, rule, because, places, rollouts })
}

/// The annotations of an object that keep its controller from it.
fn annotations(key: &Key, object: &Value) -> impl Iterator<Item = &'static str> {
    let own = kind(key).pauses;
    // The operator of hosts asks for its own annotations, and not for that of the contract.
    let common = Some(pause::ANNOTATION).filter(|_| own.is_empty() || kind(key).role != Role::Host);
    let known = common.into_iter().chain(own.iter().copied());
    known.filter(|name| annotation(object, name).is_some()).collect::<Vec<_>>().into_iter()
}

/// What keeps the controllers from an object. The annotation of a Cluster keeps them from the Cluster itself.
fn holds(side: Side<'_>, key: &Key, object: &Value) -> Vec<Hold> {
    if kind(key).role == Role::Host {
        let hold = |name| Hold {
            why: Why::Paused,
            places: vec![(key.clone(), Some(annotation_path(name)))],
            says: format!("{name} keeps the operator from it"),
            over: "the operator manages the host again".to_owned(),
        };
        return annotations(key, object).map(hold).collect();
    }
    if kind(key).role != Role::Cluster {
        return pause::of_object(side, key, object, side.stage.cluster_of(key, object).as_ref());
    }
    let places: Places = [
        (pause::is_paused_cluster(object), Path::root().key("spec").key("paused")),
        (pause::is_annotated(object), annotation_path(pause::ANNOTATION)),
    ]
    .into_iter()
    .filter(|(is_said, _)| *is_said)
    .map(|(_, path)| (key.clone(), Some(path)))
    .collect();
    let (says, over) = ("it is paused".to_owned(), "it is no longer paused".to_owned());
    let paused = (!places.is_empty()).then_some(Hold { why: Why::Paused, places, says, over });
    paused.into_iter().chain(pause::left_alone(side, key, object)).chain(waits_for_hooks(side, key, object)).collect()
}

/// Whether a Cluster that is being deleted waits for hooks, and the write says that they are done
/// (`core/reconcilers/cluster/cluster_controller.go`, reconcileDelete).
fn waits_for_hooks(side: Side<'_>, key: &Key, cluster: &Value) -> Option<Hold> {
    let after = if side.is_after() { None } else { Side::after(side.stage).get(key) }?;
    let is_ready = |cluster: &Value| annotation(cluster, OK_TO_DELETE).is_some();
    let may_wait = is_deleting(cluster) && cluster.pointer("/spec/topology").is_some();
    (may_wait && !is_ready(cluster) && is_ready(&after)).then(|| Hold {
        why: Why::Paused,
        places: vec![(key.clone(), Some(annotation_path(OK_TO_DELETE)))],
        says: "hooks come before its deletion".to_owned(),
        over: format!("the hooks before its deletion are said to be done ({OK_TO_DELETE})"),
    })
}

/// What waits for an object without a mirror, where that can be more than nothing.
fn waiting(stage: &Stage<'_>, key: &Key, old: &Value) -> Option<(Effect, String, Vec<Rollout>)> {
    if let Some(told) = kind(key).waiting {
        // What the same write takes back does not come.
        let left = Side::after(stage).get(key);
        return told(left.as_deref().unwrap_or(old)).map(|(effect, words)| (effect, words.to_owned(), Vec::new()));
    }
    match kind(key).role {
        Role::Set => surplus(stage, key, old),
        role if role.owns_machines() || matches!(role, Role::InfraPool | Role::InfraCluster) => {
            let (generation, seen) = (number(old, "/metadata/generation"), number(old, "/status/observedGeneration"));
            let is_seen = generation == Some(1) || (generation.is_some() && generation == seen);
            if is_seen && (!role.owns_machines() || is_settled(stage, key, old)) {
                return None;
            }
            // The infrastructure of a cluster gets its address written into it: a paused Cluster alone says nothing of others.
            if role == Role::InfraCluster && !pause::is_annotated(old) {
                return None;
            }
            Some((Effect::Unknown, "what its provider then does is not modelled".to_owned(), Vec::new()))
        }
        _ => None,
    }
}

/// Whether all Machines of an owner are as it wants them: a pause may come in the middle of what was seen long before.
fn is_settled(stage: &Stage<'_>, key: &Key, owner: &Value) -> bool {
    let Some(there) = number(owner, "/status/replicas") else {
        return fields::wanted(owner, None) == 0 || number(owner, "/metadata/generation") == Some(1);
    };
    let is_current = match fields::up_to_date(owner) {
        Some(current) => current >= there,
        // A provider that does not count them: the Machines tell by their version.
        None => {
            let wanted = ["/spec/version", "/spec/template/spec/version"].iter().find_map(|at| text(owner, at));
            let own = stage.scene.view.owned_by(key);
            let machines = own.filter(|object| kind(&object.key).role == Role::Machine);
            let machines: Vec<&Object> = machines.collect();
            let is_current = |machine: &Value| text(machine, "/spec/version") == wanted;
            // A Machine that was not read proves nothing; those of most pools are no objects.
            let are_there = kind(key).role == Role::Pool || machines.len() as u64 >= there;
            are_there && machines.iter().all(|machine| machine.value().is_ok_and(|machine| is_current(&machine)))
        }
    };
    is_current && number(owner, "/spec/replicas").is_none_or(|wanted| wanted == there)
}

/// The Machines of a MachineSet that stands alone and that are too many.
fn surplus(stage: &Stage<'_>, key: &Key, set: &Value) -> Option<(Effect, String, Vec<Rollout>)> {
    if !is_alone(key, set) {
        return None;
    }
    let cluster = stage.cluster_of(key, set).map(|cluster| cluster.name.clone()).unwrap_or_default();
    let (names, wanted) =
        (machines::names(stage.scene.view, &typed(key), &cluster, &stage.versions), fields::wanted(set, None));
    let count = (names.len() as u64).max(number(set, "/status/replicas").unwrap_or(0));
    let gone = count.checked_sub(wanted).filter(|gone| *gone > 0)?;
    let (effect, names) = if wanted == 0 { (Effect::Delete, names) } else { (Effect::Scale, Vec::new()) };
    let words = format!("{gone} of its {count} Machines are too many and are deleted");
    let rollout = Rollout {
        replicas: Some(wanted),
        steps: vec![format!("deletes {gone} of {count} Machines")],
        causes: vec!["spec.replicas".to_owned()],
        ..Rollout::plain(key, &cluster, effect, names, gone)
    };
    Some((effect, words, vec![rollout]))
}
