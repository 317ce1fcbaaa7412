//! Who cannot do without something that goes: what refers to it and will make Machines of it.

use crate::judge::stage::Stage;
use crate::kinds::{Role, Typed, fields};
use crate::model::Action;
use crate::object::{Key, is_deleting};
use crate::providers::core::changes::OLD_SETS_SCALE_DOWN;
use crate::providers::kind;
use crate::tree::Value;

/// How much something that refers to an object needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It makes Machines of it, or may.
    Lasting,
    /// It is an old MachineSet that goes as soon as Machines of the new one have taken its place.
    UntilReplaced,
    /// It makes no Machine any more.
    None,
}

/// How much an object that refers to something that goes needs it.
pub(super) fn need(stage: &Stage<'_>, key: &Typed<'_>, from: &Key) -> Need {
    let Some(user) = stage.after(from) else { return Need::Lasting };
    let role = kind(from).role;
    let is_made_of = matches!(key.known.role, Role::Template | Role::Config);
    let makes = role.is_workers() || role == Role::ControlPlane;
    if is_made_of && makes && is_going(stage, from, &user) {
        return Need::None;
    }
    if role != Role::Set {
        return Need::Lasting;
    }
    let is_gone = |owner: &Key| stage.pair(owner).is_some_and(|pair| pair.action == Action::Delete);
    if fields::is_spent_set(from, &user, is_gone) {
        return Need::None;
    }
    let is_left = key.known.role == Role::Template && is_left(stage, key, from, &user);
    if is_left { Need::UntilReplaced } else { Need::Lasting }
}

/// Whether an object goes already, with the owner above it or with its Cluster.
pub(super) fn is_going(stage: &Stage<'_>, key: &Key, object: &Value) -> bool {
    fields::is_going(key, object, |above| stage.before(above).is_some_and(|above| is_deleting(&above)))
}

/// Whether the MachineDeployment of a MachineSet names another template by now and is free to replace its Machines: then its controller
/// scales it down without the template (cluster-api `core/reconcilers/machineset/machineset_controller.go`
/// reconcileExternalTemplateReference, v1.14; pull request 10913 brought it). One that is paused keeps the old set for as long as it is.
fn is_left(stage: &Stage<'_>, key: &Key, set: &Key, value: &Value) -> bool {
    let Some(owner) = fields::controller(set, value).filter(|owner| kind(owner).role == Role::Deployment) else {
        return false;
    };
    let Some(deployment) = stage.after(&owner) else { return false };
    let cluster = stage.cluster_of(&owner, &deployment).and_then(|cluster| stage.after(&cluster));
    let is_paused = fields::is_paused(&deployment, cluster.as_deref())
        || deployment.pointer("/spec/paused") == Some(&Value::Bool(true));
    let names_it = || stage.referrers(key).iter().any(|reference| reference.from == owner);
    !is_paused && !names_it() && stage.versions.has(&OLD_SETS_SCALE_DOWN)
}
