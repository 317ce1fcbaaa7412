//! A new object: what it takes over, and whether the API server refuses it.

use super::bounds;
use super::claimed;
use super::outcome::Outcome;
use super::replicas;
use super::selector;
use super::stage::Stage;
use super::taken_key;
use super::topology;
use super::verdict::Answer;
use super::waiting::{self, adoption};
use crate::apiserver::admission::Admission;
use crate::compare::Pair;
use crate::kinds::contract;
use crate::kinds::webhook::Refusal;
use crate::kinds::{Role, Typed, fields};
use crate::model::{Classified, Effect, Finding, RuleId, plural};
use crate::object::{Key, Object};
use crate::providers::kind;
use crate::tree::Value;
use crate::world::LiveKind;

/// An object is new: nothing that exists is touched, and its Machines are named.
pub(super) fn created(
    stage: &Stage<'_>,
    (key, pair): (&Typed<'_>, &Pair),
    new: &Value,
    admission: &Admission,
    out: &mut Classified,
) -> Outcome {
    if let Some(outcome) = refused_as_new(stage, pair, admission, out) {
        return outcome;
    }
    if let Some(outcome) = doubted(stage, pair, admission) {
        return outcome;
    }
    let owned = owned(stage, key);
    if let Some(taken) = adoption::by_new(stage, key, new) {
        out.add_weight(taken.rollout);
        let answer = Answer {
            waits: taken.waits,
            ..Answer::known(stage.rules, taken.effect, RuleId::of("waiting/adopted")).saying(taken.because)
        };
        return Outcome::whole(pair, &answer);
    }
    if let Some(machine) = owned {
        let because = format!(
            "{machine} names it as its controller, so it is there and was not read; what changes in it is not known"
        );
        return Outcome::whole(
            pair,
            &Answer::known(stage.rules, Effect::Unknown, RuleId::of("create/owned")).saying(because),
        );
    }
    let doubt = remediates(stage, key, new).or_else(|| dangles(stage, key, new));
    let doubt = doubt.or_else(|| topology::of_new(stage, key, new)).or_else(|| taken_key::of_new(stage, key, new));
    let doubt = doubt.or_else(|| bounds::of_new(stage, key, new)).or_else(|| claimed::of_object(stage, key, new));
    if let Some(answer) = doubt.or_else(|| selector::runs_away(stage, key, new)) {
        return Outcome::whole(pair, &answer);
    }
    // What nobody looked for may be there, and is not called new.
    let is_seen = is_seen(stage, pair);
    let rule = if is_seen { RuleId::of("create/new") } else { RuleId::of("create/unread") };
    let unseen = "was not compared, as the cluster was not asked for it; if it is new,";
    let (warning, because) = if replicas::makes_machines(key.known, new) {
        let mut machines = plural(fields::wanted(new, None), "Machine");
        if let Some(says) = waiting::of_new(stage, key, new) {
            machines = format!("{machines}, but none for now, as a preflight check of MachineSets fails: {says}");
        }
        let warning = match is_seen {
            true => format!("{} is new and makes {machines}", pair.key),
            false => format!("{} {unseen} it makes {machines}", pair.key),
        };
        (Some(warning), format!("it is new and makes {machines}; none that exists is touched"))
    } else if key.known.role == Role::HealthCheck {
        let says = "Machines that fail it are replaced as soon as it is seen";
        let warning = match is_seen {
            true => format!("{} is new: {says}", pair.key),
            false => format!("{} {unseen} {says}", pair.key),
        };
        (Some(warning), "it is new; Machines that fail it are replaced, healthy ones are not touched".to_owned())
    } else {
        (None, "it is new; no Machine that exists is touched".to_owned())
    };
    let because =
        if is_seen { because } else { format!("the cluster was not asked for it; if it is not there, {because}") };
    out.warnings.extend(warning);
    Outcome::whole(pair, &Answer::whole(Effect::None, rule, because))
}

/// Whether somebody looked for an object.
fn is_seen(stage: &Stage<'_>, pair: &Pair) -> bool {
    stage.scene.world.source.kind != LiveKind::None && stage.scene.world.coverage.shows(&pair.key)
}

/// A new object that its webhook may refuse, because nobody knows what it finds when it looks around.
pub(super) fn doubted(stage: &Stage<'_>, pair: &Pair, admission: &Admission) -> Option<Outcome> {
    // Where nobody looked for the object itself, that is said instead.
    let doubt = admission.unsure.first().filter(|_| is_seen(stage, pair))?;
    Some(Outcome::whole(pair, &unsure(stage, doubt)))
}

/// The answer about a write of which nobody knows whether its webhook refuses it.
pub(super) fn unsure(stage: &Stage<'_>, doubt: &Refusal) -> Answer {
    let answer = Answer::known(stage.rules, Effect::Unknown, RuleId::of("webhook/looks-up"));
    answer.saying(format!("{}: {}", doubt.path, doubt.message))
}

/// The answer about a new remediation of a Machine: its controller acts at once, and asks nobody whether the Machine is sick
/// (cluster-api-provider-metal3 `controllers/metal3remediation_controller.go` reconcileNormal, v1.10; cluster-api-provider-hetzner
/// `controllers/hetznerbaremetalremediation_controller.go`, by reading).
fn remediates(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> Option<Answer> {
    let machine = fields::owned_by(key, new)
        .filter(|_| contract::is_remediation(key))
        .find(|owner| kind(owner).role == Role::Machine && (stage.is_of_renders() || stage.before(owner).is_some()))?;
    let because = format!(
        "it is new and remediates {machine}, whether that is healthy or not: its host is powered off or restarted at once, and the Machine may be \
         deleted"
    );
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("create/remediation")).saying(because))
}

/// The answer about a new object with an owner that is not there by that uid: the garbage collector deletes it within seconds.
fn dangles(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> Option<Answer> {
    let mut references = fields::list(new, "/metadata/ownerReferences");
    let is_there = |reference: &Value| {
        let uid = fields::text(reference, "/uid");
        let owner = fields::owner(key, reference).and_then(|owner| stage.before(&owner));
        owner.is_some_and(|owner| uid.is_some() && fields::text(&owner, "/metadata/uid") == uid)
    };
    let first = references.next()?;
    if is_there(first) || references.any(is_there) {
        return None;
    }
    let word = |pointer: &str| fields::text(first, pointer).unwrap_or_default();
    let because = format!(
        "it has the owner {} {}, and nothing that was read has that uid: if nothing has it, the garbage collector deletes this object within \
         seconds; leave metadata.ownerReferences out",
        word("/kind"),
        word("/name")
    );
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("any/owner-written")).saying(because))
}

/// A live Machine or MachineSet that a new owner controls already.
fn owned(stage: &Stage<'_>, key: &Typed<'_>) -> Option<Key> {
    let mut own = stage.scene.view.owned_by(key).filter(|_| key.known.role.owns_machines());
    let is_controlled = |object: &&Object| {
        let controller = object.value().ok().and_then(|value| fields::controller(&object.key, &value));
        controller.is_some_and(|owner| (&owner.group, &owner.kind, &owner.name) == (&key.group, &key.kind, &key.name))
    };
    own.find(is_controlled).map(|object| object.key.clone())
}

/// A new object that the API server refuses; one whose fields it only drops is noted.
pub(super) fn refused_as_new(
    stage: &Stage<'_>,
    pair: &Pair,
    admission: &Admission,
    out: &mut Classified,
) -> Option<Outcome> {
    let mut refused = admission.refusals.first().map(|refusal| {
        Answer::known(stage.rules, Effect::Rejected, refusal.rule)
            .saying(format!("{}: {}", refusal.path, refusal.message))
    });
    if !admission.dropped.is_empty() {
        let places: Vec<String> = admission.dropped.iter().map(ToString::to_string).collect();
        let places = places.join(", ");
        if stage.is_strict() {
            let answer = Answer::known(stage.rules, Effect::Rejected, RuleId::of("schema/unknown-field-refused"));
            let because = format!("{places}: {}", answer.because);
            refused.get_or_insert(answer.saying(because));
        } else {
            let message = format!(
                "{places}: {} has no such field in this version; the API server drops it without a word",
                pair.key.kind
            );
            out.findings.push(Finding::new("silent-no-op", pair.key.clone(), message).at(&admission.dropped[0]));
        }
    }
    refused.map(|answer| Outcome::whole(pair, &answer))
}
