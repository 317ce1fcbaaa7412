//! The answers per effect: what the policy says to a rollout, a deletion, a latent change and so on.
//! One reason an object and effect; it names the field that weighs most.

use std::borrow::Cow;
use std::sync::Arc;

use super::expect::Expected;
use super::{Judged, decision, scale_in, window};
use crate::compare::{Change, Pair};
use crate::hashed::HashMap;
use crate::impact::counted;
use crate::kinds::contract::{CLUSTER, CONTROL_PLANE, CORE};
use crate::model::{Decision, Effect, Touches};
use crate::model::{Reason, Rollout};
use crate::object::{Key, Path};
use crate::policy::{GateAnswer, Gates, Later};
use crate::report::sentence;
use crate::tree::Value;

/// How many Machines an owner's rollout takes, by its effect.
type Machines<'a> = HashMap<(&'a Key, Effect), Option<u64>>;

/// The reasons of every object, worst effect first.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let gates = &in_force(judged);
    let mut rollouts: Machines<'_> = HashMap::default();
    for rollout in &judged.classified.rollouts {
        rollouts.entry((&rollout.owner, rollout.effect)).or_insert(rollout.machines);
    }
    let expected = judged.expected();
    let mut found: Vec<(Effect, Reason)> = Vec::new();
    for pair in judged.pairs {
        found.extend(symbol(pair, gates).map(|reason| (Effect::Unknown, reason)));
        for effect in effects_of(pair, expected) {
            let answer = answer(gates, effect);
            if answer != Decision::Allow {
                found.push((effect, reason(judged, &rollouts, pair, (effect, answer))));
            }
        }
        found.extend(held_back(pair, gates).map(|reason| (Effect::Latent, reason)));
        found.extend(infrastructure(pair, gates).map(|reason| (Effect::InPlace, reason)));
    }
    found.extend(expected.remarks.iter().map(|remark| (Effect::None, remark.clone())));
    found.sort_by_key(|(effect, _)| std::cmp::Reverse(*effect));
    found.into_iter().map(|(_, reason)| reason).collect()
}

/// A reason where Machines go and no change says so. There should be none: what one part of the judgement found, another one has missed.
pub(super) fn unsaid(judged: &Judged<'_>) -> Vec<Reason> {
    let Some(rollout) = unanswered(&judged.classified.rollouts, said(judged.pairs)) else { return Vec::new() };
    let word = rollout.effect.word();
    let causes = rollout.causes.join(", ");
    let owner = &rollout.owner;
    let message = match overruled(judged, owner) {
        Some(rule) => format!(
            "{owner}: the rule {rule} says that nothing is replaced, but the controller compares that field and Machines go ({causes}): take \
             the override out of the rule"
        ),
        None => format!("{owner}: Machines go ({causes}), and no change was told to do so: please report it"),
    };
    let reason = Reason::new(word, answer(&in_force(judged), rollout.effect), message).of(&rollout.owner);
    let is_asked = reason.decision != Decision::Allow;
    is_asked.then(|| reason.with_next(format!("rollgate explain {word}"))).into_iter().collect()
}

/// A rule of the policy that speaks of an owner: its override takes back what was found about a field, and not what that field does.
fn overruled<'j>(judged: &Judged<'j>, owner: &Key) -> Option<&'j str> {
    let rules = judged.policy.rules.iter().filter(|rule| rule.0.get("override") == Some(&Value::Bool(true)));
    let ids: Vec<&str> = rules.filter_map(|rule| rule.0.get("id")?.as_str()).collect();
    let of_owner = judged.pairs.iter().filter(|pair| pair.key == *owner).flat_map(|pair| &pair.changes);
    of_owner.map(|change| change.rule.as_str()).find(|rule| ids.contains(rule))
}

/// The weightiest effect of all changes, now or later.
fn said(pairs: &[Pair]) -> Option<Effect> {
    let of_changes = |pair: &Pair| pair.changes.iter().map(|change| change.waits.max(Some(change.effect))).max();
    pairs.iter().map(|pair| of_changes(pair).flatten().max(pair.waits).max(Some(pair.effect))).max().flatten()
}

/// An owner whose Machines are replaced or deleted, where no change has so weighty an effect.
fn unanswered(rollouts: &[Arc<Rollout>], said: Option<Effect>) -> Option<&Arc<Rollout>> {
    let weightiest = rollouts.iter().max_by_key(|rollout| rollout.effect)?;
    Some(weightiest).filter(|rollout| rollout.effect >= Effect::Rollout && Some(rollout.effect) > said)
}

/// The answers now: where the policy only says when rollouts may start, an open window lets them through.
fn in_force<'a>(judged: &Judged<'a>) -> Cow<'a, Gates> {
    let gates = &judged.policy.gates;
    if gates.rollout.is_some() || !window::is_any_open(judged) {
        return Cow::Borrowed(gates);
    }
    Cow::Owned(Gates { rollout: Some(GateAnswer::Warn), ..gates.clone() })
}

/// The distinct effects of an object and of its changes, worst first, `none` and what is expected left out.
fn effects_of(pair: &Pair, expected: &Expected) -> Vec<Effect> {
    let known = pair.changes.iter().filter(|change| change.symbol.is_none() && change.waits.is_none());
    let known = known.filter(|change| !expected.has(pair, change));
    let known = known.map(|change| change.effect);
    let is_whole = pair.waits.is_none() && pair.changes.iter().all(|change| change.effect < pair.effect);
    let whole = is_whole.then_some(pair.effect);
    let mut effects: Vec<Effect> = known.chain(whole).filter(|effect| *effect != Effect::None).collect();
    effects.sort_unstable_by(|a, b| b.cmp(a));
    effects.dedup();
    effects
}

/// A late value that is not known offline and reaches a field that would replace Machines, or do what the policy holds: nobody can say.
fn symbol(pair: &Pair, gates: &Gates) -> Option<Reason> {
    let matters = |change: &&Change| change.effect >= Effect::Rollout || answer(gates, change.effect) == Decision::Hold;
    let change = pair.changes.iter().find(|change| change.symbol.is_some() && matters(change))?;
    let name = change.symbol.as_deref().unwrap_or_default();
    let message = format!(
        "{}: {} waits for the late value {name}, which is not known here; whether Machines are replaced depends on it",
        pair.key,
        sentence::place(change)
    );
    let next = "give the value by a file pin or a source, or run with --live cluster".to_owned();
    let reason = Reason::new("late", Decision::Undecided, message).with_remedy(next);
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
        Effect::Rollout => gates.on_rollout(),
        Effect::Rejected => gates.rejected,
        Effect::Delete => gates.delete,
        Effect::Unknown => gates.on_rollout().max(gates.delete),
    };
    decision(answer)
}

fn reason(judged: &Judged<'_>, rollouts: &Machines<'_>, pair: &Pair, (effect, decision): (Effect, Decision)) -> Reason {
    let expected = judged.expected();
    let weighty: Vec<&Change> = pair
        .changes
        .iter()
        .filter(|change| change.effect == effect && change.symbol.is_none() && change.waits.is_none())
        .filter(|change| !expected.has(pair, change))
        .collect();
    let own = rollouts.get(&(&pair.key, effect)).copied().flatten();
    let machines = own.or_else(|| of_topology(judged, pair, effect, &weighty));
    let message = sentence::of_object(pair, effect, &weighty, machines);
    let because = weighty.first().map_or(pair.because.as_str(), |change| change.because.as_str());
    let reason =
        explained(about(Reason::new(effect.word(), decision, message), pair, effect, weighty.first().copied()));
    match reason.remedy.is_some() && effect == Effect::Unknown && wants_more(because) {
        true => reason.with_remedy(READ_MORE.to_owned()),
        false => reason,
    }
}

/// How many Machines the only change of a topology replaces, over all of its owners.
fn of_topology(judged: &Judged<'_>, pair: &Pair, effect: Effect, weighty: &[&Change]) -> Option<u64> {
    let [change] = weighty else { return None };
    if effect != Effect::Rollout || pair.key.group != CORE || pair.key.kind != CLUSTER {
        return None;
    }
    let path = change.path.to_string();
    let is_its = |rollout: &&Rollout| {
        let is_of = rollout.cluster == pair.key.name && rollout.owner.namespace == pair.key.namespace;
        is_of && rollout.effect == effect && rollout.causes.contains(&path)
    };
    let machines = counted(&judged.classified.rollouts).filter(is_its).map(|rollout| rollout.machines);
    machines.sum::<Option<u64>>().filter(|sum| *sum > 0)
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

/// A reason with the command that explains its rule, and what a person does about a hold.
fn explained(mut reason: Reason) -> Reason {
    reason.next = reason.about.rule.as_ref().map(|rule| format!("rollgate explain {rule}"));
    reason.remedy = remedy(&reason).map(str::to_owned);
    reason
}

/// What a person does where something was not read.
const READ_MORE: &str =
    "let it be read: compare with the cluster (--live cluster) or a snapshot, or add what is missing to --live";

/// Whether what is said of a change is that something was not read.
fn wants_more(because: &str) -> bool {
    const UNREAD: [&str; 5] = ["--live", " was not read", " were not read", " not be read", " none was read"];
    UNREAD.iter().any(|words| because.contains(words)) && !because.contains("--feature-gate")
}

/// What a person does where the change is held; a warning asks for nothing.
fn remedy(reason: &Reason) -> Option<&'static str> {
    let wanted = match reason.gate.as_str() {
        "rollout" | "delete" | "paused" => "take the change back, or approve it if it is wanted (docs/approvals.md)",
        "rejected" => "correct the object before anything is written",
        "unknown" => "take the change back, approve it, or write a rule for it (docs/own-rules.md)",
        _ => return None,
    };
    Some(wanted).filter(|_| reason.decision == Decision::Hold)
}

/// What happens to Machines once a pause or another block ends: nobody is asked again when it does. The worst is named.
fn held_back(pair: &Pair, gates: &Gates) -> Option<Reason> {
    let changes = pair.changes.iter().filter_map(|change| Some((change.waits?, Some(change))));
    let answered = changes.chain(pair.waits.map(|effect| (effect, None))).map(|(effect, change)| {
        (later(gates, effect, change.map_or(0, fewer), is_of_control_plane(pair, change)), change)
    });
    let worst = answered.reduce(|worst, next| if next.0 > worst.0 { next } else { worst });
    let (decision, change) = worst.filter(|(answer, ..)| *answer != Decision::Allow)?;
    let because = change.map_or(&pair.because, |change| &change.because).trim_end_matches('.');
    let object = pair.key.to_string();
    let message = match change {
        Some(change) => format!("{object}: {}: {because}", sentence::of_change(change)),
        None if because.starts_with(&object) => because.to_owned(),
        None => format!("{object}: {because}"),
    };
    Some(explained(about(Reason::new("paused", decision, message), pair, Effect::Latent, change)))
}

/// How many Machines fewer a change asks for, where it is one of a number.
fn fewer(change: &Change) -> u64 {
    let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_u64).unwrap_or(0);
    number(&change.before).saturating_sub(number(&change.after))
}

/// Whether a change is one of a control plane, or of what a topology makes one of.
fn is_of_control_plane(pair: &Pair, change: Option<&Change>) -> bool {
    let topology = Path::root().key("spec").key("topology").key("controlPlane");
    let of_topology = |change: &Change| topology.covers(&change.path);
    pair.key.group == CONTROL_PLANE || change.is_some_and(of_topology)
}

/// What the policy answers to an effect that lands later, which takes so many Machines of an owner without replacing them.
fn later(gates: &Gates, effect: Effect, fewer: u64, of_control_plane: bool) -> Decision {
    match gates.paused {
        Later::Rollout if effect == Effect::Scale => {
            let scale_in = scale_in::asks(gates, of_control_plane, fewer).then(|| decision(gates.scale_in));
            answer(gates, effect).max(scale_in.unwrap_or_default())
        }
        Later::Rollout => answer(gates, effect),
        Later::Allow => Decision::Allow,
        Later::Warn => Decision::Warn,
        Later::Hold => Decision::Hold,
    }
}

/// A reason for changes that move infrastructure at once.
fn infrastructure(pair: &Pair, gates: &Gates) -> Option<Reason> {
    let answer = decision(gates.infrastructure);
    let touching: Vec<&Change> =
        pair.changes.iter().filter(|change| change.touches == Some(Touches::Infrastructure)).collect();
    let first = touching.first().filter(|_| answer != Decision::Allow)?;
    let when = match first.effect {
        // What a rule says lands later may be infrastructure that is there, too.
        Effect::Latent => "at once or when it is made anew",
        _ => "at once",
    };
    let message = format!("{}: {} changes infrastructure {when}", pair.key, sentence::of_change(first));
    Some(explained(about(Reason::new("infrastructure", answer, message), pair, first.effect, Some(first))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_go_are_answered_for_by_a_change_that_weighs_as_much() {
        let owner = Key::of("cluster.x-k8s.io", "MachineDeployment", Some("n".to_owned()), "md");
        let of = |effect: Effect| vec![Arc::new(Rollout::plain(&owner, "c", effect, Vec::new(), 2))];
        for (goes, said, is_unanswered) in [
            (Effect::Rollout, None, true),
            (Effect::Rollout, Some(Effect::Scale), true),
            (Effect::Delete, Some(Effect::Rollout), true),
            (Effect::Rollout, Some(Effect::Rollout), false),
            (Effect::Rollout, Some(Effect::Unknown), false),
            (Effect::Scale, None, false),
        ] {
            assert_eq!(unanswered(&of(goes), said).is_some(), is_unanswered, "{goes:?} beside {said:?}");
        }
        assert!(unanswered(&[], None).is_none());
    }
}
