//! A stream that is held because fields of it replace or destroy Machines: where the policy says so, these fields are set back and the
//! rest is judged again from the start. It goes out only where nothing that is left rolls or holds.

use super::{Fault, Judgement, Question, judge_all};
use crate::compare::Pair;
use crate::gate::Rolling;
use crate::hashed::HashMap;
use crate::late::{self, Stays};
use crate::model::{About, Decision, Finding, Reason, SET_BACK};
use crate::object::{Key, StreamText};
use crate::report::{Report, plural};
use crate::tree::Value;
use crate::verdict;
use crate::world::World;

/// How it is said that all of a stream was held.
const NOTHING: &str = "nothing was set back (setBack: rolling)";

/// How often what is left is judged again, when setting back one field makes another one roll.
const ROUNDS: usize = 4;

/// What is live of the objects that differ, as nothing hides it yet. `None` where nothing may be set back.
pub(super) fn live(question: &Question, pairs: &[Pair]) -> Option<HashMap<Key, Value>> {
    let asked = question.goes_out && !question.policy.set_back.is_never();
    asked.then(|| pairs.iter().filter_map(|pair| Some((pair.key.clone(), pair.live.clone()?))).collect())
}

/// What rolls, with what is live of it.
pub(super) fn stays(rolling: Vec<Rolling>, mut live: HashMap<Key, Value>) -> Vec<Stays> {
    let stays = |one: Rolling| {
        let live = live.remove(&one.key);
        Stays { key: one.key, renamed_from: one.renamed_from, live, paths: one.paths }
    };
    rolling.into_iter().map(stays).collect()
}

/// Adds what another prediction, or another round, found to roll. Returns whether any of it is new.
pub(super) fn add(all: &mut Vec<Stays>, more: Vec<Stays>) -> bool {
    let mut grew = false;
    let mut places: HashMap<Key, usize> = HashMap::default();
    for (place, one) in all.iter().enumerate() {
        places.entry(one.key.clone()).or_insert(place);
    }
    for one in more {
        let Some(known) = places.get(&one.key).and_then(|place| all.get_mut(*place)) else {
            grew = true;
            places.insert(one.key.clone(), all.len());
            all.push(one);
            continue;
        };
        let fresh: Vec<_> = one.paths.into_iter().filter(|path| !known.paths.contains(path)).collect();
        grew |= !fresh.is_empty();
        known.paths.extend(fresh);
    }
    grew
}

/// Judges what is left of a held stream when what rolls in it is set back; the judgement of the whole stays where that is no use.
pub(super) fn weigh(
    question: &Question,
    world: &World,
    mut whole: Judgement,
    rolling: Vec<Stays>,
) -> Result<Judgement, Fault> {
    let asked = question.goes_out && !question.policy.set_back.is_never();
    if !asked || whole.report.decision != Decision::Hold {
        return Ok(whole);
    }
    if rolling.is_empty() {
        whole.report.warnings.push(format!("{NOTHING}: no field of the stream causes the hold"));
        return Ok(whole);
    }
    if world.answers.is_some() {
        whole.report.warnings.push(format!("{NOTHING}: the API server was asked about the whole stream"));
        return Ok(whole);
    }
    match left(question, world, rolling)? {
        Ok((mut rest, stays)) => {
            rest.report.findings.extend(stays.iter().flat_map(findings));
            let reasons = whole.report.reasons.iter().filter(|reason| is_of(reason, &stays));
            rest.report.reasons.extend(reasons.map(spared));
            crate::gate::rank(&mut rest.report.reasons);
            rest.whole = Some(Box::new(whole.report));
            Ok(rest)
        }
        Err(why) => {
            whole.report.warnings.push(format!("{NOTHING}: {why}"));
            Ok(whole)
        }
    }
}

/// What is left and what was set back, or why nothing can be.
type Left = Result<(Judgement, Vec<Stays>), String>;

fn left(question: &Question, world: &World, mut stays: Vec<Stays>) -> Result<Left, Fault> {
    for _ in 0..ROUNDS {
        let stream = match late::set_back(&question.stream, &stays, world) {
            Ok(stream) => StreamText::from(stream),
            Err(why) => return Ok(Err(why.to_string())),
        };
        let (rest, rolls) = judge_all(&Question { stream, break_glass: None, ..question.clone() }, world)?;
        // Neither a rollout that a gate lets through nor one that nobody asked about is a stream that rolls nothing.
        if verdict::exit(rest.report.decision) == crate::exit::Exit::Allow && rolls.is_empty() {
            return Ok(Ok((rest, stays)));
        }
        if !add(&mut stays, rolls) {
            let first = rest.report.reasons.first().map(|reason| reason.message.clone());
            return Ok(Err(format!("what is left is held all the same: {}", first.unwrap_or_default())));
        }
    }
    Ok(Err(format!("after {} something else still rolls", plural(ROUNDS as u64, "round"))))
}

/// One finding a field.
fn findings(stays: &Stays) -> Vec<Finding> {
    if let Some(old) = &stays.renamed_from {
        let message = format!("{} goes out as {old}, with the spec that {old} has", stays.key);
        return vec![Finding::new(SET_BACK, stays.key.clone(), message)];
    }
    let found = stays.paths.iter().map(|path| {
        let message = format!("{}: {path} was set back to what it was", stays.key);
        Finding::new(SET_BACK, stays.key.clone(), message).at(path.clone())
    });
    found.collect()
}

/// Whether the whole was held for something that was set back.
fn is_of(reason: &Reason, stays: &[Stays]) -> bool {
    let is_it = |one: &Stays| {
        reason.object.as_ref() == Some(&one.key)
            && reason.about.path.as_ref().is_none_or(|path| one.paths.iter().any(|own| own.to_string() == *path))
    };
    reason.decision == Decision::Hold && reason.about.effect.is_some() && stays.iter().any(is_it)
}

/// What would have happened, where it does not now.
fn spared(reason: &Reason) -> Reason {
    let message = format!("set back, so this does not happen now: {}", reason.message);
    let about = About { path: reason.about.path.clone(), rule: reason.about.rule.clone(), ..About::default() };
    let said = Reason::new(SET_BACK, Decision::Warn, message)
        .with_remedy(reason.remedy.clone())
        .with_next(reason.next.clone());
    Reason { object: reason.object.clone(), about, ..said }
}

/// Gives what was set back the next step of the whole stream: how to let all of it through.
pub(crate) fn point_at(report: &mut Report, whole: &Report) {
    let next =
        whole.reasons.iter().find(|reason| reason.decision == Decision::Hold).and_then(|reason| reason.next.clone());
    if let Some(first) = report.reasons.iter_mut().find(|reason| reason.gate == SET_BACK) {
        first.next = next;
    }
}
