//! Health checks: which Machines they have replaced after the write and not before it.
//! A check acts on the state that it finds, within seconds; so it is asked about the Machines as they are now, on both sides.

mod check;
mod remedy;
mod topology;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use self::check::Findings;
use self::remedy::Remedy;
use super::lifted::Lifted;
use super::machines::{self, KnownMachine};
use super::pause::{self, annotation_path};
use super::references::hold as missing;
use super::side::Side;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::contract::CORE;
use crate::kinds::contract::MACHINE;
use crate::kinds::contract::MACHINE_HEALTH_CHECK;
use crate::kinds::contract::TOPOLOGY_OWNED;
use crate::kinds::fields::{target, wanted};
use crate::model::Rollout;
use crate::model::RuleId;
use crate::model::{Action, Effect};
use crate::model::{Hold, Places, Why};
use crate::object::{Key, Path};
use crate::providers::kind;
use crate::tree::Value;

/// A Machine that a check has replaced, or would have.
#[derive(Debug, Clone)]
pub(super) struct Sick {
    /// The Machine.
    pub(super) machine: String,
    /// Who replaces it.
    pub(super) owner: Key,
    /// The check that finds it.
    pub(super) check: Key,
    /// Why, as a clause.
    pub(super) says: String,
    /// Whether that depends on what the Node says, which is not seen from here.
    pub(super) depends: bool,
    /// Whether somebody told to replace it, and not its state.
    is_told: bool,
    /// Whether the check asks somebody else than the owner to see to it.
    is_external: bool,
    /// When it has lasted long enough, and its owner tries again, where that is still to come.
    due: Option<Timestamp>,
    /// Whether the limit of its check lets it be replaced once the others are well.
    is_within_limit: bool,
    /// What keeps it from being replaced.
    pub(super) holds: Vec<Hold>,
}

/// What the health checks of a cluster have replaced after the write and not before it.
pub(super) fn lifted(stage: &Stage<'_>, cluster: &Key) -> Vec<Lifted> {
    let [before, after] = Side::both(stage).map(|side| sick(side, cluster));
    let mut groups: BTreeMap<(Key, Key, bool), (Vec<&Sick>, Places)> = BTreeMap::new();
    for (name, sick) in &after {
        let was = before.get(name);
        // A remediation from outside leaves a Machine to its owner once nobody asks for it any more.
        let is_handed_back = |was: &Sick| was.is_external && !sick.is_external;
        let acted = was.is_some_and(|was| was.holds.is_empty() && was.depends == sick.depends && !is_handed_back(was));
        // One that is due earlier than before did not wait for that.
        let is_later = |was: &Sick| sick.due.is_none_or(|due| was.due.is_some_and(|was| was <= due));
        // Others start or go, and then the limit lets it be replaced which did not before.
        let is_let = |was: &Sick| sick.is_within_limit && !was.is_within_limit;
        let waited = was.is_some_and(|was| is_later(was) && !is_let(was)) && !sick.holds.is_empty();
        if !acted && !waited {
            let (group, released) =
                groups.entry((sick.owner.clone(), sick.check.clone(), sick.holds.is_empty())).or_default();
            group.push(sick);
            // What held it back before may have ended at its own place.
            released.extend(was.into_iter().flat_map(|was| &was.holds).flat_map(|hold| hold.places.clone()));
        }
    }
    groups.values().map(|group| of_group(stage, cluster, group)).collect()
}

/// The Machines of one owner that one check has replaced, or would have if nothing held it back.
fn of_group(stage: &Stage<'_>, cluster: &Key, (group, released): &(Vec<&Sick>, Places)) -> Lifted {
    let first = group[0];
    let names: Vec<String> = group.iter().map(|sick| sick.machine.clone()).collect();
    let (count, noun) = (names.len() as u64, if names.len() == 1 { "Machine" } else { "Machines" });
    let found = if first.depends { "may find" } else { "finds" };
    let each: Vec<String> = group.iter().map(|sick| format!("{}: {}", sick.machine, sick.says)).collect();
    let (each, them) = (each.join("; "), if count == 1 { "it" } else { "them" });
    let what = if first.check == first.owner {
        format!("a health check has marked {count} {noun} already ({each}), and the owner deletes and replaces {them}")
    } else if first.is_external {
        format!("{} {found} {count} {noun} unhealthy ({each}) and hands {them} to an external remediation", first.check)
    } else {
        format!("{} {found} {count} {noun} unhealthy ({each}), and the owner deletes and replaces {them}", first.check)
    };
    let again = match group.iter().any(|sick| sick.is_told) {
        true => "; new Machines get the same annotation, so they are replaced again and again",
        false => "",
    };
    let because = format!("{what}{again}");
    let held = first.holds.first();
    let effect = if held.is_some() { Effect::Latent } else { Effect::Rollout };
    Lifted {
        owner: first.owner.clone(),
        effect,
        waits: held.map(|_| Effect::Rollout),
        rule: RuleId::of("waiting/unhealthy"),
        because: held.map_or_else(|| because.clone(), |held| held.tells(&because)),
        places: places(stage, cluster, group, released),
        rollouts: held
            .is_none()
            .then(|| Rollout {
                steps: vec![match count {
                    1 => "deletes 1 unhealthy Machine and makes another in its place".to_owned(),
                    _ => format!("deletes {count} unhealthy Machines and makes new ones in their place"),
                }],
                causes: vec![first.check.to_string()],
                ..Rollout::plain(&first.owner, &cluster.name, Effect::Rollout, names, count)
            })
            .into_iter()
            .collect(),
    }
}

/// What in the write makes a check act: the check itself, else what its Machines get from their owner, else their Cluster.
fn places(stage: &Stage<'_>, cluster: &Key, group: &[&Sick], released: &Places) -> Places {
    let first = group[0];
    let is_written = |key: &Key| {
        stage.pair(key).is_some_and(|pair| match pair.action {
            Action::Create => true,
            Action::Update => !pair.changes.is_empty(),
            _ => false,
        })
    };
    let below = |keys: &[&str]| Some(keys.iter().fold(Path::root(), |path, key| path.key(*key)));
    if first.check != *cluster && first.check != first.owner && is_written(&first.check) {
        return vec![(first.check.clone(), None)];
    }
    let mut out = Vec::new();
    for keys in [
        &["spec", "template", "metadata"][..],
        &["spec", "machineTemplate", "metadata"],
        &["spec", "remediation"],
        &["spec", "remediationStrategy"],
        &["metadata", "annotations", pause::ANNOTATION],
    ] {
        out.push((first.owner.clone(), below(keys)));
    }
    out.extend(released.iter().cloned());
    out.push((cluster.clone(), below(&["spec", "paused"])));
    out.push((cluster.clone(), below(&["spec", "topology"])));
    let class = stage.after(cluster).and_then(|value| crate::judge::topology::class_of(cluster, &value));
    out.extend(class.map(|class| (class, below(&["spec"]))));
    for sick in group {
        let machine = cluster.sibling(MACHINE, sick.machine.as_str());
        let names = [check::SKIP, check::REMEDIATE, pause::ANNOTATION];
        out.extend(names.map(|name| (machine.clone(), Some(annotation_path(name)))));
        out.push((machine, below(&["metadata", "labels"])));
    }
    out
}

/// The Machines of a cluster that health checks have replaced on one side, by name; each once.
pub(super) fn sick(side: Side<'_>, cluster: &Key) -> BTreeMap<String, Sick> {
    let mut out: BTreeMap<String, Sick> = BTreeMap::new();
    if !machines::has_any(side, cluster) {
        return out;
    }
    let value = side.cluster(cluster);
    let checks = checks(side, cluster, value.as_deref());
    if checks.is_empty() && !machines::may_say(side, cluster, check::MARK) {
        return out;
    }
    let machines = machines::of_cluster(side, cluster);
    let mut marked: Vec<&KnownMachine> = machines.iter().filter(|found| check::is_marked(&found.value)).collect();
    let values: Vec<Value> = machines.iter().map(|found| found.value.clone()).collect();
    let remedy = Remedy::of(side, cluster, &machines);
    let mut add = |sick: Sick| {
        let known = out.get(&sick.machine);
        // One check that acts is enough; what its owner does, deletes the Machine.
        let weight = |sick: &Sick| (sick.holds.is_empty(), !sick.depends, !sick.is_external);
        if known.is_none_or(|known| weight(&sick) > weight(known)) {
            out.insert(sick.machine.clone(), sick);
        }
    };
    for (key, check) in checks {
        let stage = side.stage;
        let findings = check::findings(&check, &values, value.as_deref(), stage.scene.world.now, &stage.versions);
        let is_paused = !pause::of_object(side, &key, &check, Some(cluster)).is_empty();
        marked.retain(|found| is_paused || !check::finds_well(&check, &findings, &found.value));
        let findings = Findings { coming: coming(side, &check, &machines), ..findings };
        let holds = holds(side, &key, &check, cluster, &findings);
        of_check(side, (&key, &check), &findings, &machines, (&remedy, &holds)).for_each(&mut add);
    }
    marked.into_iter().filter_map(|found| of_mark(side, found, &remedy)).for_each(add);
    out
}

/// Whether nobody replaces the Machines of an owner for being unhealthy. Of a pool that is its infrastructure's business: no provider
/// whose pools are known here asks for it.
fn leaves_sick(side: Side<'_>, owner: &Key) -> bool {
    let known = kind(owner);
    let infra =
        || target(side.get(owner)?.pointer("/spec/template/spec/infrastructureRef")?, owner.namespace.as_deref());
    known.leaves_sick || known.role == Role::Pool && infra().is_some_and(|infra| kind(&infra).role == Role::InfraPool)
}

/// A Machine that its owner was told to replace before.
fn of_mark(side: Side<'_>, found: &KnownMachine, remedy: &Remedy<'_>) -> Option<Sick> {
    let owner = found.owner.clone().filter(|owner| !leaves_sick(side, owner))?;
    let again = remedy.again(found, &owner);
    Some(Sick {
        machine: found.name.clone(),
        holds: remedy.holds(found, &owner),
        check: owner.clone(),
        owner,
        says: "its conditions HealthCheckSucceeded and OwnerRemediated are False".to_owned(),
        depends: false,
        is_told: false,
        is_external: false,
        due: again,
        is_within_limit: true,
    })
}

/// The checks of a cluster: those that are objects, and those that the topology controller makes.
fn checks(side: Side<'_>, cluster: &Key, value: Option<&Value>) -> Vec<(Key, Arc<Value>)> {
    let namespace = cluster.namespace.as_deref();
    let mut out = side.all(CORE, MACHINE_HEALTH_CHECK, namespace);
    out.retain(|(_, check)| check.pointer("/spec/clusterName").and_then(Value::as_str) == Some(cluster.name.as_str()));
    let Some(value) = value.filter(|value| value.pointer("/spec/topology").is_some()) else { return out };
    let made = topology::checks(side, cluster, value);
    let is_made = |check: &Value| crate::kinds::fields::label(check, TOPOLOGY_OWNED).is_some();
    let has_any = !made.is_empty() || out.iter().any(|(_, check)| is_made(check));
    // While something is missing the controller makes and changes none, so that those which it made act as they are.
    if has_any && !crate::judge::topology::is_stopped(side, cluster, value) {
        // What the controller made is computed anew, as it would be after the write.
        out.retain(|(_, check)| !is_made(check));
        out.extend(made.into_iter().map(|check| (cluster.clone(), Arc::new(check))));
    }
    out
}

/// How many Machines a write adds to those that a check looks after: its limit counts them, once they are there.
fn coming(side: Side<'_>, check: &Value, machines: &[KnownMachine]) -> usize {
    if !side.is_after() {
        return 0;
    }
    let selected = machines.iter().filter(|found| check::selects(check, &found.value));
    let owners: BTreeSet<&Key> = selected.filter_map(|found| found.owner.as_ref()).collect();
    let more = |owner: &&Key| {
        let (was, is) = (side.stage.before(owner)?, side.get(owner)?);
        Some(wanted(&is, Some(&was)).saturating_sub(wanted(&was, None)))
    };
    owners.iter().filter_map(more).sum::<u64>().try_into().unwrap_or(usize::MAX)
}

/// What keeps a check from having anything replaced.
fn holds(side: Side<'_>, key: &Key, check: &Value, cluster: &Key, findings: &Findings) -> Vec<Hold> {
    let mut out = pause::of_object(side, key, check, Some(cluster));
    let template = check.pointer("/spec/remediation/templateRef");
    let template = template.and_then(|template| target(template, key.namespace.as_deref()));
    out.extend(template.filter(|template| side.is_missing(template)).map(|template| missing(Why::Stopped, &template)));
    if !check::is_allowed(check, findings.expected(), findings.not_well()) {
        out.push(Hold {
            why: Why::TooManySick,
            places: vec![(key.clone(), Some(Path::root().key("spec").key("remediation").key("triggerIf")))],
            says: format!(
                "{} of {} Machines are not well, which is not within its limit",
                findings.not_well(),
                findings.expected()
            ),
            over: "they are within its limit".to_owned(),
        });
    }
    out
}

/// The Machines that one check finds unhealthy, with who replaces them. Where the check asks for a remediation from outside, nobody asks
/// the owner.
fn of_check<'f>(
    side: Side<'f>,
    (key, check): (&'f Key, &Value),
    findings: &'f Findings,
    machines: &'f [KnownMachine],
    (remedy, holds): (&'f Remedy<'f>, &'f [Hold]),
) -> impl Iterator<Item = Sick> + 'f {
    let is_external = check.pointer("/spec/remediation/templateRef").is_some_and(Value::is_object);
    let is_within_limit = check::is_allowed(check, findings.expected(), findings.unhealthy());
    findings.ailing.iter().filter_map(move |ailing| {
        let found = machines.iter().find(|found| found.name == ailing.machine)?;
        // A Machine that is deleted already is not deleted again.
        if found.is_deleting() {
            return None;
        }
        let owner = found.owner.clone().filter(|owner| is_external || !leaves_sick(side, owner))?;
        let mut all = holds.to_vec();
        let again = if is_external { None } else { remedy.again(found, &owner) };
        if !is_external {
            all.extend(remedy.holds(found, &owner));
        }
        all.extend(ailing.due.map(|due| Hold {
            why: Why::NotYet,
            places: vec![(key.clone(), Some(Path::root().key("spec").key("checks")))],
            says: format!("{} has time until {due}", found.name),
            over: format!("that lasts until {due}"),
        }));
        Some(Sick {
            machine: ailing.machine.clone(),
            owner,
            check: key.clone(),
            says: ailing.says.clone(),
            depends: ailing.depends,
            is_told: ailing.is_told,
            is_external,
            due: ailing.due.max(again),
            is_within_limit,
            holds: all,
        })
    })
}
