//! What somebody writes into things that belong to an owner which does not stand in the write: a MachineSet of a MachineDeployment, a
//! Machine of a control plane and what that was made of, a label by which an owner takes something over.
//! Read beside `core/reconcilers/machinedeployment/mdutil/util.go` (FindNewAndOldMachineSets), `machinedeployment_controller.go`
//! (getAndAdoptMachineSetsForDeployment) and `controlplane/kubeadm/pkg/filters.go` of Cluster API 1.14.

use std::sync::Arc;

use super::machines::{controller, is_orphan};
use super::side::Side;
use super::touched::differs;
use super::{Lifted, adoption, holds};
use crate::judge::stage::Stage;
use crate::kinds::contract::{
    BOOTSTRAP, CLUSTER_NAME, CONTROL_PLANE, CORE, INFRASTRUCTURE, MACHINE, MACHINE_DEPLOYMENT, OF_CONTROL_PLANE,
};
use crate::kinds::fields::{self, label, target};
use crate::kinds::{Mirror, Role};
use crate::model::{Act, Action, Effect, Member, Pair, Places, Rollout, RuleId, hold_of, plural};
use crate::object::{Key, Path, is_deleting};
use crate::providers::core::machine_deployment;
use crate::providers::{kind, machines, typed};
use crate::tree::Value;

/// Everything of this kind in a write.
pub(super) fn lifted(stage: &Stage<'_>) -> Vec<Lifted> {
    let mut out = Vec::new();
    for pair in stage.pairs.iter().filter(|pair| pair.action == Action::Update) {
        match kind(&pair.key).role {
            Role::Set => {
                out.extend(set_of_deployment(stage, pair));
                out.extend(set_taken_over(stage, pair));
            }
            Role::Machine => {
                out.extend(part_of_control_plane(stage, pair, &pair.key));
                out.extend(machine_taken_over(stage, pair));
            }
            _ if matches!(pair.key.group.as_str(), BOOTSTRAP | INFRASTRUCTURE) => {
                let machine = pair.live.as_ref().and_then(|live| controller(&pair.key, live));
                let machine = machine.filter(|owner| owner.group == CORE && owner.kind == MACHINE);
                out.extend(machine.and_then(|machine| part_of_control_plane(stage, pair, &machine)));
            }
            _ => {}
        }
    }
    out
}

/// An owner that does something to Machines of its own.
struct Acting<'a> {
    stage: &'a Stage<'a>,
    key: &'a Key,
    owner: &'a Value,
    mirror: &'static dyn Mirror,
}

impl Acting<'_> {
    /// What it does; held back where its controller does nothing for now.
    fn does(
        &self,
        effect: Effect,
        (names, count): (Vec<String>, u64),
        because: String,
        (rule, cause): (RuleId, &str),
        places: Places,
    ) -> Lifted {
        let Self { stage, key, owner, mirror } = *self;
        let cluster = stage.cluster_of(key, owner);
        let act = if effect == Effect::Rollout { Act::Replace } else { Act::Fewer };
        let held = holds(Side::after(stage), &typed(key), mirror, owner, cluster.as_ref());
        let told = Lifted { owner: key.clone(), effect, waits: None, rule, because, places, rollouts: Vec::new() };
        if let Some(hold) = hold_of(&held, act) {
            let because = hold.tells(&told.because);
            return Lifted { effect: Effect::Latent, waits: Some(effect), because, ..told };
        }
        let name = cluster.map_or_else(String::new, |cluster| cluster.name.clone());
        let wanted = fields::wanted(owner, None);
        let (surge, unavailable) = mirror.room(owner, wanted);
        let room = (effect == Effect::Rollout).then_some((surge, unavailable));
        let rollout = Rollout {
            replicas: Some(wanted),
            max_surge: room.map(|(surge, _)| surge),
            max_unavailable: room.map(|(_, unavailable)| unavailable),
            steps: vec![told.because.clone()],
            causes: vec![cause.to_owned()],
            ..Rollout::plain(key, &name, effect, names, count)
        };
        Lifted { rollouts: vec![rollout], ..told }
    }
}

/// A place in the spec or in the metadata of an object.
fn place(pair: &Pair, block: &str, field: &str) -> (Key, Option<Path>) {
    (pair.key.clone(), Some(Path::root().key(block).key(field)))
}

/// A MachineSet that is edited past its MachineDeployment, which then finds another template in it than its own, or puts its number back.
fn set_of_deployment(stage: &Stage<'_>, pair: &Pair) -> Option<Lifted> {
    let (template, replicas) = ("/spec/template", "/spec/replicas");
    if !differs(pair, template) && !differs(pair, replicas) {
        return None;
    }
    let (set, now) = (stage.before(&pair.key)?, stage.after(&pair.key)?);
    let key = controller(&pair.key, &set).filter(|owner| kind(owner).role == Role::Deployment)?;
    let mirror = kind(&key).mirror?;
    let mut owner = Arc::unwrap_or_clone(stage.before(&key).filter(|owner| !is_deleting(owner))?);
    mirror.fill_in(&mut owner, &stage.versions);
    let versions = &stage.versions;
    let before = machine_deployment::sets(stage.scene.view, &key, versions);
    let place_of = before.iter().position(|own| own.name == pair.key.name)?;
    let mut after = before.clone();
    after.get_mut(place_of)?.value = Value::clone(&now);
    let outdated =
        |sets: &[machine_deployment::Set]| machine_deployment::outdated(sets, &owner, versions, stage.scene.world.now);
    let (was, is) = (outdated(&before), outdated(&after));
    let newly = || was.iter().zip(&is).zip(&before).filter(|((was, is), _)| was.is_empty() && !is.is_empty());
    let names: Vec<String> = newly().flat_map(|(_, set)| set.machines.clone()).collect();
    let count: u64 = newly().map(|(_, set)| set.count).sum();
    let acting = Acting { stage, key: &key, owner: &owner, mirror };
    let name = &pair.key.name;
    if count > 0 {
        let because = format!(
            "the template of {name} is no longer that of its MachineDeployment, which replaces {}",
            plural(count, "Machine")
        );
        let told = (RuleId::of("waiting/past-the-owner"), "spec.template");
        return Some(acting.does(
            Effect::Rollout,
            (names, count),
            because,
            told,
            vec![place(pair, "spec", "template")],
        ));
    }
    let (had, has) = (fields::wanted(&set, None), fields::wanted(&now, None));
    let fewer = had.saturating_sub(has);
    if fewer == 0 || !is.get(place_of)?.is_empty() {
        return None;
    }
    let because = format!(
        "{name} deletes {}, and its MachineDeployment puts the number back and makes as many anew",
        plural(fewer, "Machine")
    );
    let told = (RuleId::of("waiting/past-the-owner"), "spec.replicas");
    Some(acting.does(Effect::Rollout, (Vec::new(), fewer), because, told, vec![place(pair, "spec", "replicas")]))
}

/// A MachineSet that a MachineDeployment takes over by its labels, where Machines are too many then.
fn set_taken_over(stage: &Stage<'_>, pair: &Pair) -> Option<Lifted> {
    if !differs(pair, "/metadata/labels") && !differs(pair, "/metadata/ownerReferences") {
        return None;
    }
    let [before, after] = Side::both(stage);
    let takes = |side: Side<'_>, key: &Key, owner: &Value| {
        adoption::orphan_sets(side, key, owner).into_iter().find(|set| set.name == pair.key.name)
    };
    let all = after.all(CORE, MACHINE_DEPLOYMENT, pair.key.namespace.as_deref());
    let near = all.into_iter().filter(|(key, owner)| stage.before(key).is_some() && !is_deleting(owner));
    let taken = |(key, owner): (Key, Arc<Value>)| {
        let set = takes(after, &key, &owner).filter(|_| takes(before, &key, &owner).is_none())?;
        Some((key, owner, set))
    };
    let (key, owner, set) = near.filter_map(taken).next()?;
    let own: u64 = machine_deployment::sets(stage.scene.view, &key, &stage.versions).iter().map(|set| set.count).sum();
    let surplus = (own + set.count).saturating_sub(fields::wanted(&owner, None).max(own)).min(set.count);
    if surplus == 0 {
        return None;
    }
    let acting = Acting { stage, key: &key, owner: &owner, mirror: kind(&key).mirror? };
    let because = format!(
        "it takes over {} with {}, and deletes {surplus} that are too many",
        pair.key.name,
        plural(set.count, "Machine")
    );
    let places = vec![place(pair, "metadata", "labels"), place(pair, "metadata", "ownerReferences")];
    let told = (RuleId::of("waiting/adopted"), "metadata.labels");
    Some(acting.does(Effect::Delete, (Vec::new(), surplus), because, told, places))
}

/// A Machine of a control plane, or what it was made of, that is edited so that its controller finds it out of date.
fn part_of_control_plane(stage: &Stage<'_>, pair: &Pair, machine: &Key) -> Option<Lifted> {
    let key = controller(machine, &*stage.before(machine)?).filter(|owner| owner.group == CONTROL_PLANE)?;
    let mirror = kind(&key).mirror?;
    let mut owner = Arc::unwrap_or_clone(stage.before(&key).filter(|owner| !is_deleting(owner))?);
    mirror.fill_in(&mut owner, &stage.versions);
    let cluster = stage.cluster_of(&key, &owner)?;
    let members = machines::of_control_plane(stage.scene.view, &key, &cluster.name, &stage.versions);
    let before = members.into_iter().find(|member| member.name == machine.name && !member.is_deleting())?;
    let now = Value::clone(&*stage.after(&pair.key)?);
    let is_behind = |place: &str| {
        target(before.machine.pointer(place)?, machine.namespace.as_deref()).filter(|named| *named == pair.key)
    };
    let mut after = before.clone();
    if pair.key == *machine {
        after.machine = now;
    } else if is_behind("/spec/bootstrap/configRef").is_some() {
        after.config = Some(now);
    } else if is_behind("/spec/infrastructureRef").is_some() {
        after.infra = Some(now);
    } else {
        return None;
    }
    let causes = |member: &Member| mirror.outdated(member, &owner, &stage.versions, stage.scene.world.now);
    let cause = causes(&after).into_iter().next().filter(|_| causes(&before).is_empty())?;
    let acting = Acting { stage, key: &key, owner: &owner, mirror };
    let because = format!("it finds the Machine {} out of date by this and replaces it", machine.name);
    let blocks = ["spec", "metadata"].map(|block| (pair.key.clone(), Some(Path::root().key(block))));
    let told = (RuleId::of("waiting/past-the-owner"), &*cause.path.to_string());
    Some(acting.does(Effect::Rollout, (vec![machine.name.clone()], 1), because, told, blocks.into()))
}

/// A Machine that nobody controls and that a control plane takes over by its labels, where it is one too many then. One without a
/// bootstrap config stops its controller.
fn machine_taken_over(stage: &Stage<'_>, pair: &Pair) -> Option<Lifted> {
    let (was, is) = (stage.before(&pair.key)?, stage.after(&pair.key)?);
    let adoptable = |machine: &Value| {
        let cluster = label(machine, CLUSTER_NAME).filter(|_| label(machine, OF_CONTROL_PLANE).is_some());
        cluster.filter(|_| is_orphan(machine)).map(str::to_owned)
    };
    let name = adoptable(&is).filter(|name| adoptable(&was).as_ref() != Some(name))?;
    is.pointer("/spec/bootstrap/configRef")?;
    let cluster = crate::kinds::contract::cluster(pair.key.namespace.as_deref(), &name);
    let planes = stage.owners_of(&cluster).into_iter().filter(|owner| owner.group == CONTROL_PLANE);
    let (key, mirror) = planes.filter_map(|key| Some((key, kind(key).mirror?))).next()?;
    let owner = stage.before(key).filter(|owner| !is_deleting(owner))?;
    let members = machines::of_control_plane(stage.scene.view, key, &name, &stage.versions);
    let own = members.iter().filter(|member| member.name != pair.key.name && !member.is_deleting()).count() as u64;
    if own < fields::wanted(&owner, None) {
        return None;
    }
    let acting = Acting { stage, key, owner: &owner, mirror };
    let because = format!("it takes over the Machine {}, and deletes 1 that is too many", pair.key.name);
    let places = vec![place(pair, "metadata", "labels"), place(pair, "metadata", "ownerReferences")];
    let told = (RuleId::of("waiting/adopted"), "metadata.labels");
    Some(acting.does(Effect::Delete, (Vec::new(), 1), because, told, places))
}
