//! The answers per effect: what the policy says to a rollout, a deletion, a latent change and so on.
//! One reason an object and effect; it names the field that weighs most.

use std::collections::HashMap;

use super::{Judged, decision};
use crate::compare::{Change, Pair};
use crate::model::Reason;
use crate::model::{Decision, Effect, Touches};
use crate::object::Key;
use crate::policy::{Gates, Later};
use crate::report::sentence;

/// A deletion that a pause holds back.
const HELD_DELETION: &str = "delete/held-back";
/// What is due once something else is over.
const WAITING: &str = "waiting/";

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
            if effect == Effect::Latent && waiting(pair).next().is_some() {
                continue;
            }
            let answer = answer(gates, effect);
            if answer != Decision::Allow {
                found.push((effect, reason(&rollouts, pair, effect, answer)));
            }
        }
        found.extend(held_back(pair, gates).map(|reason| (Effect::Latent, reason)));
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
    Some(Reason {
        gate: "late".to_owned(),
        decision: Decision::Undecided,
        message: format!(
            "{}: {} waits for the late value {name}, which is not known here; whether Machines are replaced depends on it",
            pair.key,
            sentence::place(change)
        ),
        next: Some("give the value by a file pin or a source, or run with --live cluster".to_owned()),
    })
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
    let next = weighty
        .first()
        .map(|change| change.rule.as_str())
        .or(Some(pair.rule.as_str()))
        .filter(|rule| !rule.is_empty())
        .map(|rule| format!("rollgate explain {rule}"));
    Reason {
        gate: effect.word().to_owned(),
        decision,
        message: sentence::of_object(pair, effect, &weighty, machines),
        next,
    }
}

/// The changes that are due as soon as a pause or another block ends; the object's own where it is kept back as a whole.
fn waiting(pair: &Pair) -> impl Iterator<Item = (&str, &str, String)> {
    let changes = pair.changes.iter().filter(|change| change.effect == Effect::Latent && change.waits);
    let changes = changes.map(|change| (change.rule.as_str(), change.because.as_str(), sentence::of_change(change)));
    let is_kept = pair.effect == Effect::Latent && (pair.rule == HELD_DELETION || pair.rule.starts_with(WAITING));
    let whole = is_kept.then(|| (pair.rule.as_str(), pair.because.as_str(), String::new()));
    changes.chain(whole)
}

/// What replaces or deletes Machines once a pause or another block ends: nobody is asked again when it does.
fn held_back(pair: &Pair, gates: &Gates) -> Option<Reason> {
    let answer = match gates.paused {
        Later::Rollout => decision(gates.rollout),
        Later::Allow => Decision::Allow,
        Later::Warn => Decision::Warn,
        Later::Hold => Decision::Hold,
    };
    let (rule, because, what) = waiting(pair).next().filter(|_| answer != Decision::Allow)?;
    let what = if what.is_empty() { what } else { format!("{what}: ") };
    Some(Reason {
        gate: "paused".to_owned(),
        decision: answer,
        message: format!("{}: {what}{}", pair.key, because.trim_end_matches('.')),
        next: Some(format!("rollgate explain {rule}")).filter(|_| !rule.is_empty()),
    })
}

/// A reason for changes that move infrastructure at once.
fn infrastructure(pair: &Pair, gates: &Gates) -> Option<Reason> {
    let answer = decision(gates.infrastructure);
    let touching: Vec<&Change> =
        pair.changes.iter().filter(|change| change.touches == Some(Touches::Infrastructure)).collect();
    let first = touching.first().filter(|_| answer != Decision::Allow)?;
    Some(Reason {
        gate: "infrastructure".to_owned(),
        decision: answer,
        message: format!("{}: {} moves infrastructure at once", pair.key, sentence::of_change(first)),
        next: Some(format!("rollgate explain {}", first.rule)).filter(|_| !first.rule.is_empty()),
    })
}
