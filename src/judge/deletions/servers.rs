//! What the deletion of a server does: of a host of bare metal, of the infrastructure of a Machine, of that of a pool. Their
//! finalizers give the server back, whoever still runs on it (`metal3-io/baremetal-operator`
//! `internal/controller/metal3.io/host_state_machine.go` of v0.10, and the contract for infrastructure Machines).

use super::{Deletion, plain};
use crate::judge::stage::Stage;
use crate::kinds::contract::{CORE, MACHINE};
use crate::kinds::fields::{owned_by, target, text};
use crate::model::{Effect, Rollout, RuleId};
use crate::object::Key;
use crate::tree::Value;

/// The infrastructure of one Machine goes.
pub(super) fn of_machine(stage: &Stage<'_>, key: &Key, old: &Value) -> Deletion {
    let rule = RuleId::of("delete/server");
    match user_of(stage, key, old) {
        Some(machine) => lost(stage, key, old, rule, machine),
        None => {
            let because =
                format!("the server that {key} stands for is given back; which Machine runs on it is not told");
            let weight = weight(key, String::new(), Vec::new(), key);
            Deletion { rollouts: vec![weight], ..plain(Effect::Delete, rule, &because) }
        }
    }
}

/// A host of bare metal goes.
pub(super) fn of_host(stage: &Stage<'_>, key: &Key, old: &Value) -> Deletion {
    let rule = RuleId::of("delete/host");
    let state = text(old, "/status/provisioning/state");
    if let Some(user) = user_of(stage, key, old) {
        return lost(stage, key, old, rule, user);
    }
    match state {
        None => {
            let because = format!("{key} is removed, and whether a Machine runs on it is not told");
            plain(Effect::Unknown, rule, &because)
        }
        Some(state) if state.contains("provisioned") || state == "provisioning" => {
            let because = format!("{key} is {state}, and it is wiped and given back although nobody says who uses it");
            Deletion {
                rollouts: vec![weight(key, String::new(), Vec::new(), key)],
                ..plain(Effect::Delete, rule, &because)
            }
        }
        Some(state) => plain(Effect::None, rule, &format!("{key} is {state}, so no Machine runs on it")),
    }
}

/// The infrastructure of a pool goes.
pub(super) fn of_pool(key: &Key) -> Deletion {
    let because = format!("{key} is removed, and all hosts of the pool are given back with it");
    plain(Effect::Delete, RuleId::of("delete/pool"), &because)
}

/// A server goes from under a Machine.
fn lost(stage: &Stage<'_>, key: &Key, old: &Value, rule: RuleId, machine: Key) -> Deletion {
    let because = format!("{key} is removed, and {machine} runs on it: its server is given back at once");
    let cluster = stage.cluster_of(&machine, &stage.before(&machine).unwrap_or_default());
    let cluster =
        cluster.or_else(|| stage.cluster_of(key, old)).map(|cluster| cluster.name.clone()).unwrap_or_default();
    let rollout = weight(&machine, cluster, vec![machine.name.clone()], key);
    Deletion { rollouts: vec![rollout], ..plain(Effect::Delete, rule, &because) }
}

/// The weight of one server.
fn weight(owner: &Key, cluster: String, names: Vec<String>, gone: &Key) -> Rollout {
    Rollout {
        replicas: Some(0),
        steps: vec!["takes the server away from under its Machine, without a drain".to_owned()],
        causes: vec![format!("{gone} is removed")],
        ..Rollout::plain(owner, &cluster, Effect::Delete, names, 1)
    }
}

/// The Machine that runs on a server: by the owner references of the server, or by who says so of itself. Of a host it is the Machine of
/// the one that has it, and where that is not told, that one.
fn user_of(stage: &Stage<'_>, key: &Key, value: &Value) -> Option<Key> {
    let namespace = key.namespace.as_deref();
    let consumer = value.pointer("/spec/consumerRef").and_then(|consumer| target(consumer, namespace));
    let of_consumer = consumer.as_ref().map(|consumer| stage.before(consumer).unwrap_or_default());
    let (key, value) = (consumer.as_ref().unwrap_or(key), of_consumer.as_deref().unwrap_or(value));
    let owner = owned_by(key, value).find(|owner| owner.group == CORE && owner.kind == MACHINE);
    // A chart that renders both names one from the other.
    owner.or_else(|| {
        let names = |reference: &Value| {
            target(reference, namespace)
                .is_some_and(|named| (&named.group, &named.kind, &named.name) == (&key.group, &key.kind, &key.name))
        };
        let mut machines = stage.scene.view.of_kind(MACHINE).filter(|machine| machine.key.group == CORE);
        let found = machines.find(|machine| {
            machine.key.namespace == key.namespace
                && machine.may_say(&key.name)
                && stage
                    .before(&machine.key)
                    .is_some_and(|value| value.pointer("/spec/infrastructureRef").is_some_and(names))
        });
        found.map(|machine| machine.key.clone()).or_else(|| consumer.clone())
    })
}
