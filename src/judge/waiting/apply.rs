//! Puts what a write lets go where people look for it: at the change that lets it go, and into the weight of its owner.

use std::cmp::Ordering;
use std::sync::Arc;

use super::lifted::Lifted;
use crate::hashed::{HashMap, HashSet};
use crate::judge::outcome::Outcome;
use crate::judge::stage::Stage;
use crate::judge::subject::Subject;
use crate::judge::topology::class_of;
use crate::judge::verdict::Answer;
use crate::kinds::{Role, diff, superset};
use crate::model::Classified;
use crate::model::Rollout;
use crate::model::{Action, Change, Effect, Pair};
use crate::object::{Key, Path};
use crate::providers::{kind, typed};

/// Writes what starts into the outcomes of the pairs, which stand in their order.
pub(in crate::judge) fn apply(
    stage: &Stage<'_>,
    lifted: Vec<Lifted>,
    outcomes: &mut [Arc<Outcome>],
    out: &mut Classified,
) {
    for lifted in lifted {
        let answer = Answer::known(stage.rules, lifted.effect, lifted.rule).saying(said(&lifted));
        let answer = Answer { waits: lifted.waits, ..answer };
        let told: Vec<Told> =
            lifted.places.iter().map(|(key, path)| tell(stage, key, path.as_ref(), &answer, outcomes)).collect();
        match told.iter().max() {
            // What the API server refuses lets nothing go.
            Some(Told::Refused) => continue,
            Some(Told::Here) => {}
            Some(Told::Nowhere) | None if lifted.effect > Effect::None => {
                tell_somewhere(stage, &lifted.owner, &answer, outcomes);
            }
            Some(Told::Nowhere) | None => {}
        }
        out.add_weight(lifted.rollouts);
    }
    let mut owners: HashSet<&Key> = HashSet::with_capacity_and_hasher(out.rollouts.len(), Default::default());
    if out.rollouts.iter().all(|rollout| owners.insert(&rollout.owner)) {
        return;
    }
    let mut places: HashMap<Key, usize> = HashMap::default();
    for rollout in std::mem::take(&mut out.rollouts) {
        match places.get(&rollout.owner).and_then(|place| out.rollouts.get_mut(*place)) {
            Some(own) => add(own, rollout),
            None => {
                places.insert(rollout.owner.clone(), out.rollouts.len());
                out.rollouts.push(rollout);
            }
        }
    }
}

/// The sentence, with the owner in it.
fn said(lifted: &Lifted) -> String {
    format!("{}: {}", lifted.owner, lifted.because)
}

/// What became of an answer at one of its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    /// The write does not change it.
    Nowhere,
    /// The write would change it and is refused.
    Refused,
    /// It was told.
    Here,
}

/// Tells an answer at a place.
fn tell(stage: &Stage<'_>, key: &Key, path: Option<&Path>, answer: &Answer, outcomes: &mut [Arc<Outcome>]) -> Told {
    let Some(place) = stage.place(key) else { return Told::Nowhere };
    let (Some(pair), Some(outcome)) = (stage.pairs.get(place), outcomes.get_mut(place)) else { return Told::Nowhere };
    let is_refused = refuses(pair, outcome);
    let told = if is_refused { Told::Refused } else { Told::Here };
    match (pair.action, path) {
        (Action::Create, _) => {
            if !is_refused {
                raise(Arc::make_mut(outcome), answer);
            }
            told
        }
        (Action::Update, Some(path)) => {
            let touches = |change: &Change| {
                let moved = superset::path(kind(&pair.key), &pair.api_version, &change.path, &stage.versions);
                diff::touch(&moved, path)
            };
            let found: Vec<usize> = (0..pair.changes.len()).filter(|place| touches(&pair.changes[*place])).collect();
            if !is_refused {
                found.iter().for_each(|change| at_change(stage, pair, *change, answer, Arc::make_mut(outcome)));
            }
            if found.is_empty() { Told::Nowhere } else { told }
        }
        (Action::Update, None) if !pair.changes.is_empty() => {
            // The order of the changes is that of the cluster's answer, which means nothing.
            let first = (0..pair.changes.len()).min_by(|one, other| {
                let path = |place: &usize| pair.changes.get(*place).map(|change| &change.path);
                path(one).cmp(&path(other))
            });
            if let Some(first) = first.filter(|_| !is_refused) {
                at_change(stage, pair, first, answer, Arc::make_mut(outcome));
            }
            told
        }
        _ => Told::Nowhere,
    }
}

/// Whether the write of an object is refused.
fn refuses(pair: &Pair, outcome: &Outcome) -> bool {
    let is_rejected = |effect: Effect| effect == Effect::Rejected;
    is_rejected(pair.effect)
        || is_rejected(outcome.effect)
        || (pair.action != Action::Delete && outcome.answers.iter().any(|answer| is_rejected(answer.effect)))
}

/// Tells an answer at one change, after the rules of the user were asked.
fn at_change(stage: &Stage<'_>, pair: &Pair, place: usize, answer: &Answer, outcome: &mut Outcome) {
    let (Some(change), Some(known)) = (pair.changes.get(place), outcome.answers.get_mut(place)) else { return };
    if known.weight() > answer.weight() || (known.weight() == answer.weight() && known.effect > Effect::None) {
        return;
    }
    let key = typed(&pair.key);
    let (old, new) = (stage.before(&key).unwrap_or_default(), stage.after(&key).unwrap_or_default());
    let subject = Subject::of(stage, (&key, pair), (&old, &new), &[]);
    let touches = known.touches;
    *known = subject.heard(change, Answer { touches, ..answer.clone() });
}

/// Raises the outcome of a whole object.
fn raise(outcome: &mut Outcome, answer: &Answer) {
    if answer.weight() > (outcome.effect, outcome.waits) {
        (outcome.effect, outcome.waits) = answer.weight();
        outcome.rule.clone_from(&answer.rule);
        outcome.because.clone_from(&answer.because);
        outcome
            .answers
            .iter_mut()
            .filter(|known| known.weight() < answer.weight())
            .for_each(|known| *known = answer.clone());
    }
}

/// Tells an answer that no change of the write explains: at its owner where that is written, else at its Cluster or the class of that,
/// else at what is nearest among all that is.
fn tell_somewhere(stage: &Stage<'_>, owner: &Key, answer: &Answer, outcomes: &mut [Arc<Outcome>]) {
    let is_written =
        |pair: &Pair| pair.action == Action::Create || (pair.action == Action::Update && !pair.changes.is_empty());
    let written = |key: &Key| stage.place(key).filter(|place| stage.pairs.get(*place).is_some_and(is_written));
    let value = |key: &Key| stage.after(key).or_else(|| stage.before(key));
    let cluster = value(owner).and_then(|value| stage.cluster_of(owner, &value));
    let class = || value(cluster.as_ref()?).and_then(|value| class_of(cluster.as_ref()?, &value));
    // How far from the owner an object is: of another cluster, of another namespace, below its Cluster.
    let distance = |pair: &Pair| {
        let own = pair.predicted.as_ref().and_then(|value| stage.cluster_of(&pair.key, value));
        let is_above = matches!(kind(&pair.key).role, Role::Cluster | Role::Class);
        (own.is_none() || own != cluster, pair.key.namespace != owner.namespace, !is_above)
    };
    let nearest = || {
        let all = stage.pairs.iter().enumerate().filter(|(_, pair)| is_written(pair));
        all.min_by_key(|(_, pair)| distance(pair)).map(|(place, _)| place)
    };
    let place = written(owner).or_else(|| written(cluster.as_ref()?)).or_else(|| written(&class()?)).or_else(nearest);
    if let Some(outcome) = place.and_then(|place| outcomes.get_mut(place)) {
        raise(Arc::make_mut(outcome), answer);
    }
}

/// Adds a weight: one an owner, the worst that happens to it; a Machine under two causes is one Machine.
fn add(own: &mut Arc<Rollout>, rollout: Arc<Rollout>) {
    match own.effect.cmp(&rollout.effect) {
        Ordering::Greater => {}
        Ordering::Less => *own = rollout,
        Ordering::Equal => join(Arc::make_mut(own), Arc::unwrap_or_clone(rollout)),
    }
}

/// Joins two weights of the same effect.
fn join(own: &mut Rollout, other: Rollout) {
    fn more(own: &mut Vec<String>, other: Vec<String>) {
        for text in other {
            if !own.contains(&text) {
                own.push(text);
            }
        }
    }
    more(&mut own.machine_names, other.machine_names);
    let named = own.machine_names.len() as u64;
    own.machines = match (own.machines, other.machines) {
        (Some(one), Some(other)) => Some(one.max(other).max(named)),
        (known, None) | (None, known) => known,
    };
    own.replicas = own.replicas.or(other.replicas);
    more(&mut own.steps, other.steps);
    more(&mut own.causes, other.causes);
}
