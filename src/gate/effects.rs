//! The answers per effect: what the policy says to a rollout, a deletion, a latent change and so on.
//! One reason an object and effect; it names the field that weighs most.

use std::collections::HashMap;

use super::{Judged, decision};
use crate::compare::{Change, Pair};
use crate::model::Reason;
use crate::model::{Decision, Effect, Touches};
use crate::object::Key;
use crate::policy::Gates;
use crate::report::sentence;

/// How many Machines an owner's rollout takes, by its effect.
type Machines<'a> = HashMap<(&'a Key, Effect), Option<u64>>;

/// The reasons of every object, worst effect first.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let gates = &judged.policy.gates;
    let mut rollouts: Machines<'_> = HashMap::new();
    for rollout in &judged.classified.rollouts {
        rollouts.entry((&rollout.owner, rollout.effect)).or_insert(rollout.machines);
    }
    let mut found: Vec<(Effect, Reason)> = Vec::new();
    for pair in judged.pairs {
        found.extend(symbol(pair).map(|reason| (Effect::Unknown, reason)));
        for effect in effects_of(pair) {
            let answer = answer(gates, effect);
            if answer != Decision::Allow {
                found.push((effect, reason(&rollouts, pair, effect, answer)));
            }
        }
        found.extend(infrastructure(pair, gates).map(|reason| (Effect::InPlace, reason)));
    }
    found.sort_by_key(|(effect, _)| std::cmp::Reverse(*effect));
    found.into_iter().map(|(_, reason)| reason).collect()
}

/// The distinct effects of an object and of its changes, worst first, `none` left out.
fn effects_of(pair: &Pair) -> Vec<Effect> {
    let known = pair.changes.iter().filter(|change| change.symbol.is_none()).map(|change| change.effect);
    let whole = pair.changes.iter().all(|change| change.effect < pair.effect).then_some(pair.effect);
    let mut effects: Vec<Effect> = known.chain(whole).filter(|effect| *effect != Effect::None).collect();
    effects.sort_unstable_by(|a, b| b.cmp(a));
    effects.dedup();
    effects
}

/// A late value that is not known offline and reaches a field that would replace Machines: nobody can say.
fn symbol(pair: &Pair) -> Option<Reason> {
    let change = pair.changes.iter().find(|change| change.symbol.is_some() && change.effect >= Effect::Rollout)?;
    let name = change.symbol.as_deref().unwrap_or_default();
    let message = format!(
        "{}: {} waits for the late value {name}, which is not known here; whether Machines are replaced depends on it",
        pair.key,
        sentence::place(change)
    );
    let next = "give the value by a file pin or a source, or run with --live cluster".to_owned();
    let reason = Reason::new("late", Decision::Undecided, message).with_next(next);
    Some(about(reason, pair, change.effect, Some(change)))
}

/// What the policy answers to an effect; the unknown meets the stricter of the rollout and delete gates,
/// and never less than a warning.
fn answer(gates: &Gates, effect: Effect) -> Decision {
    let answer = match effect {
        Effect::None => return Decision::Allow,
        Effect::InPlace => gates.in_place,
        Effect::Scale => gates.scale,
        Effect::Latent => gates.latent,
        Effect::Rollout => gates.rollout,
        Effect::Rejected => gates.rejected,
        Effect::Delete => gates.delete,
        Effect::Unknown => gates.rollout.max(gates.delete),
    };
    decision(answer)
}

fn reason(rollouts: &Machines<'_>, pair: &Pair, effect: Effect, decision: Decision) -> Reason {
    let weighty: Vec<&Change> =
        pair.changes.iter().filter(|change| change.effect == effect && change.symbol.is_none()).collect();
    let machines = rollouts.get(&(&pair.key, effect)).copied().flatten();
    let message = sentence::of_object(pair, effect, &weighty, machines);
    explained(about(Reason::new(effect.word(), decision, message), pair, effect, weighty.first().copied()))
}

/// A reason with what it is about: an object, and the change of it that weighs most, where one does.
fn about(reason: Reason, pair: &Pair, effect: Effect, change: Option<&Change>) -> Reason {
    let mut reason = reason.of(&pair.key);
    reason.about.effect = Some(effect);
    reason.about.path = change.map(|change| change.path.to_string());
    let rule = change.map_or(&pair.rule, |change| &change.rule);
    reason.about.rule = Some(rule.clone()).filter(|rule| !rule.is_empty());
    reason
}

/// The same with the command that explains its rule.
fn explained(mut reason: Reason) -> Reason {
    reason.next = reason.about.rule.as_ref().map(|rule| format!("rollgate explain {rule}"));
    reason
}

/// A reason for changes that move infrastructure at once.
fn infrastructure(pair: &Pair, gates: &Gates) -> Option<Reason> {
    let answer = decision(gates.infrastructure);
    let touching: Vec<&Change> =
        pair.changes.iter().filter(|change| change.touches == Some(Touches::Infrastructure)).collect();
    let first = touching.first().filter(|_| answer != Decision::Allow)?;
    let message = format!("{}: {} moves infrastructure at once", pair.key, sentence::of_change(first));
    Some(explained(about(Reason::new("infrastructure", answer, message), pair, first.effect, Some(first))))
}
