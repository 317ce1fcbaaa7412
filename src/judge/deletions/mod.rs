//! What the deletion of an object does: to its own Machines, or to those that still need it.

mod owner;
mod servers;
mod users;

use self::users::Need;
use super::outcome::Outcome;
use super::replicas;
use super::stage::Stage;
use super::topology;
use super::verdict::Answer;
use super::waiting::pause;
use super::waiting::side::Side;
use crate::kinds::{Role, Typed, fields};
use crate::model::{Classified, Effect, Finding, Hold, Pair, Rollout, RuleId};
use crate::object::Key;
use crate::providers::kind;
use crate::tree::Value;

/// The answer about a deleted object.
#[derive(Debug, Clone)]
pub(crate) struct Deletion {
    /// What it does to Machines.
    pub(crate) effect: Effect,
    /// What it does as soon as a pause ends that keeps it back.
    pub(crate) waits: Option<Effect>,
    /// Rule that decided.
    pub(crate) rule: RuleId,
    /// One sentence.
    pub(crate) because: String,
    /// Machines that go.
    pub(crate) rollouts: Vec<Rollout>,
    /// What deserves a line of its own.
    pub(crate) findings: Vec<Finding>,
}

/// The outcome of a pair whose object goes.
pub(super) fn deleted(
    stage: &Stage<'_>,
    (key, pair): (&Typed<'_>, &Pair),
    old: &Value,
    out: &mut Classified,
) -> Outcome {
    let Deletion { effect, waits, rule, because, rollouts, findings } = judge(stage, key, old);
    out.add_weight(rollouts);
    out.findings.extend(findings);
    // The host may have its own reason, such as a hook of the same name, or what goes with it.
    let because = if pair.because.is_empty() { because } else { format!("{}; {because}", pair.because) };
    Outcome::whole(pair, &Answer { waits, ..Answer::whole(effect, rule, because) })
}

/// Judges the deletion of an object.
#[must_use]
pub(crate) fn judge(stage: &Stage<'_>, key: &Typed<'_>, old: &Value) -> Deletion {
    let found = unhindered(stage, key, old);
    if found.effect != Effect::Delete {
        return found;
    }
    if crate::object::is_deleting(old) {
        let because = "it is being deleted already, so this write changes nothing";
        return plain(Effect::None, RuleId::of("delete/under-way"), because);
    }
    let cluster = if key.known.role == Role::Cluster { Some(Key::clone(key)) } else { stage.cluster_of(key, old) };
    match pause::of_object(Side::after(stage), key, old, cluster.as_ref()).first() {
        Some(hold) => held(&found, hold),
        None => found,
    }
}

/// A deletion that waits: the controllers that would delete the Machines do nothing for now.
fn held(found: &Deletion, hold: &Hold) -> Deletion {
    let because = hold.tells(&found.because);
    Deletion { waits: Some(found.effect), ..plain(Effect::Latent, RuleId::of("delete/held-back"), &because) }
}

/// The deletion of an object, where nothing holds the controllers back.
pub(crate) fn unhindered(stage: &Stage<'_>, key: &Typed<'_>, old: &Value) -> Deletion {
    match key.known.role {
        Role::ControlPlane if !replicas::makes_machines(key.known, old) => {
            let because =
                format!("{key} is removed, and the control plane that it stands for is destroyed; it has no Machines");
            plain(Effect::Delete, RuleId::of("delete/control-plane"), &because)
        }
        Role::Cluster => owner::of_cluster(stage, key),
        Role::Deployment | Role::Set | Role::Pool | Role::Machine => {
            owner::judge(stage, key, old, RuleId::of("delete/workers"))
        }
        Role::ControlPlane => owner::judge(stage, key, old, RuleId::of("delete/control-plane")),
        Role::InfraMachine => servers::of_machine(stage, key, old),
        Role::InfraPool => servers::of_pool(key),
        Role::Host => servers::of_host(stage, key, old),
        Role::Class => {
            let users = topology::users_of_deleted(stage, key);
            match topology::unread::clusters_of_deleted(stage, key).filter(|_| users.is_empty()) {
                Some(because) => plain(Effect::Unknown, RuleId::of("class/clusters-unread"), &because),
                None if users.is_empty() => referred_to(stage, key),
                None => class_in_use(key, &users),
            }
        }
        Role::HealthCheck => plain(
            Effect::None,
            RuleId::of("delete/health-check"),
            "unhealthy Machines are no longer replaced; no Machine is touched",
        ),
        Role::InfraCluster => plain(
            Effect::Delete,
            RuleId::of("delete/infrastructure"),
            "the networks and load balancers of the cluster are torn down while its Machines need them",
        ),
        Role::Config => config(stage, key, old),
        Role::Address => plain(
            Effect::Unknown,
            RuleId::of("delete/address"),
            "the address may be given to another Machine while one still has it",
        ),
        Role::Template | Role::Data | Role::Other => referred_to(stage, key),
    }
}

/// What one Machine was bootstrapped with goes.
fn config(stage: &Stage<'_>, key: &Typed<'_>, old: &Value) -> Deletion {
    let mut machines = fields::owned_by(key, old).filter(|owner| kind(owner).role == Role::Machine);
    let makes_use = |machine: &Key| stage.after(machine).is_some_and(|value| !users::is_going(stage, machine, &value));
    match machines.find(makes_use) {
        Some(machine) => in_use(key, &format!("{machine} was made of it and still refers to it")),
        None => referred_to(stage, key),
    }
}

/// The webhook lets no class go that a cluster has (`clusterclass.go` ValidateDelete). Helm 3 does not say so.
fn class_in_use(key: &Key, users: &[String]) -> Deletion {
    let because = format!(
        "the webhook refuses to delete {key} while the clusters {} have it; it stays, and no release owns it any more",
        users.join(", ")
    );
    let message = because.clone();
    let finding = Finding::new("removed-in-use", key.clone(), message);
    Deletion { findings: vec![finding], ..plain(Effect::Rejected, RuleId::of("delete/class-in-use"), &because) }
}

/// An answer without Machines.
fn plain(effect: Effect, rule: RuleId, because: &str) -> Deletion {
    Deletion { effect, waits: None, rule, because: because.to_owned(), rollouts: Vec::new(), findings: Vec::new() }
}

/// Something that others may refer to goes.
fn referred_to(stage: &Stage<'_>, key: &Typed<'_>) -> Deletion {
    let referrers = stage.referrers(key);
    let needing = |wanted: Need| {
        let mut all = referrers.iter().map(|reference| &reference.from);
        all.find(|from| users::need(stage, key, from) == wanted)
    };
    if let Some(from) = needing(Need::Lasting) {
        let because = match kind(from).role {
            role if role.is_workers() => format!(
                "{from} still refers to it: Machines that run are untouched, but no new one can be made, also not in place of a broken one"
            ),
            Role::ControlPlane => format!(
                "{from} still refers to it: its controller stops with an error, and nothing of the control plane is reconciled until it is back"
            ),
            Role::Class => format!("{from} still refers to it: its clusters can no longer be reconciled"),
            _ => format!("{from} still refers to it"),
        };
        return in_use(key, &because);
    }
    if stage.feeds_pool(key) {
        let because = "the bootstrap config of a MachinePool names it, which is made anew again and again: no new Machine of the pool can join";
        return in_use(key, because);
    }
    if let Some(from) = stage.mentioned_by(key).filter(|_| key.known.named_alone) {
        return in_use(key, &format!("{from} has its name in its spec, and may need it"));
    }
    let is_pool = key.known.role == Role::Other && key.known.named_alone;
    let may_be_used_elsewhere = is_pool || key.known.role == Role::Template;
    let unread = || topology::unread::class(stage, key).or_else(|| topology::unread::owners(stage, key));
    if let Some(because) = may_be_used_elsewhere.then(unread).flatten() {
        return in_use(key, &because);
    }
    if let Some(from) = needing(Need::UntilReplaced) {
        let because = format!(
            "{from} still refers to it, and its MachineDeployment names another template: until the rollout ends no lost Machine of {from} can be \
             made anew"
        );
        return plain(Effect::None, RuleId::of("delete/old-template"), &because);
    }
    if key.known.is_felt_by_reference() {
        return plain(
            Effect::None,
            RuleId::of("delete/unused"),
            "nothing refers to it after the write, so no Machine depends on it",
        );
    }
    plain(Effect::Unknown, RuleId::of("unknown/kind"), &unknown(stage, key))
}

/// What is said of the removal of an object of which nothing tells what it does.
fn unknown(stage: &Stage<'_>, key: &Typed<'_>) -> String {
    if key.known.installs_into.is_some() {
        return "what it has installed is taken out of every cluster that it selects, which may be their network"
            .to_owned();
    }
    let group = if key.group.is_empty() { "the core group" } else { key.group.as_str() };
    match stage.rules.knows(key) {
        true => {
            format!("what the removal of an object of the kind {} of {group} does to Machines is not known", key.kind)
        }
        false => format!(
            "nothing is known about the kind {} of {group}, so its deletion may do anything to Machines",
            key.kind
        ),
    }
}

/// An object goes that another one cannot do without.
fn in_use(key: &Key, because: &str) -> Deletion {
    let message = format!("{key} is removed, although {because}");
    let finding = Finding::new("removed-in-use", key.clone(), message);
    Deletion { findings: vec![finding], ..plain(Effect::Unknown, RuleId::of("delete/in-use"), because) }
}
