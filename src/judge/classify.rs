//! Sets the effect of every change of every pair, and weighs what happens to Machines.
//! Owners come first, because a renamed template does what its owner's moved reference does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::alike::Kept;
use crate::apiserver::admission::{self, Admission, Sides};
use crate::apiserver::keep::{Past, keep};
use crate::compare::{Action, Pair};
use crate::host::HostKind;
use crate::judge::around::Surroundings;
use crate::judge::arrival::{created, doubted, refused_as_new};
use crate::judge::outcome::Outcome;
use crate::judge::stage::{Stage, refuses_unknown};
use crate::judge::subject::Subject;
use crate::judge::update::{Whole, is_refused, updated, used_by};
use crate::judge::verdict::Answer;
use crate::judge::waiting::Lifted;
use crate::judge::{Scene, beside, dangling, deletions, half_applied, open, templates, topology, waiting};
use crate::kinds::{Kind, Role, Typed, Versions, gates};
use crate::model::Classified;
use crate::model::Effect;
use crate::model::Finding;
use crate::model::RuleId;
use crate::object::{Key, Path, Segment};
use crate::parallel;
use crate::providers::typed;
use crate::rules::Rules;
use crate::tree::Value;
use crate::world::{LiveKind, WriteMethod};

/// Judges all pairs with the given rules. Where the providers' versions are not certain, all that are possible are judged, and
/// the worse answer counts. Of what is sent `again` although it does not change, the pairs that are refused join the others.
pub fn classify(pairs: &mut Vec<Pair>, again: Vec<Pair>, scene: &Scene<'_>, rules: &Rules) -> Classified {
    let possible = open::candidates(scene, pairs, rules);
    keep(pairs, &possible, refuses_unknown(scene), past(scene));
    let (mut outcomes, mut out, others) = runs(possible, pairs, &again, scene, rules);
    let mut differ: BTreeMap<String, String> = BTreeMap::new();
    let mut torn: BTreeSet<&Key> = BTreeSet::new();
    for Agreed { run, older, is_likely } in others {
        let (others, other) = &*run;
        let mut is_worse = false;
        for (place, (outcome, other)) in outcomes.iter_mut().zip(others).enumerate() {
            // What is refused by itself was let through by one version at least: only what all of them refuse is refused again.
            let sent_again = place.checked_sub(pairs.len()).and_then(|place| again.get(place));
            let alone = sent_again.map(|pair| &pair.key).filter(|key| open::is_alone(key));
            let stands = alone.is_some();
            torn.extend(alone.filter(|_| (outcome.effect == Effect::Rejected) != (other.effect == Effect::Rejected)));
            if stands && other.effect != Effect::Rejected {
                outcome.clone_from(other);
            } else if !stands && !Arc::ptr_eq(outcome, other) {
                is_worse |= Arc::make_mut(outcome).take_worse(other);
            }
        }
        if is_worse {
            differ.extend(older);
        }
        // What a version that is only tried says beside an answer that is no worse is nobody's business.
        if is_worse || is_likely {
            out.add(other);
        } else {
            out.add_rollouts(&other.rollouts);
        }
    }
    out.warnings.extend(differ.into_iter().map(|(name, version)| {
        format!(
            "the version of {name} is unknown and matters here: the worst one counts, such as {version}; pass --provider {name}=VERSION"
        )
    }));
    out.warnings.extend(open::torn(&torn));
    let changed = pairs.len();
    pairs.extend(again);
    for (pair, outcome) in pairs.iter_mut().zip(outcomes) {
        let outcome = Arc::unwrap_or_clone(outcome);
        for (change, answer) in pair.changes.iter_mut().zip(outcome.answers) {
            answer.write(change);
        }
        // An effect that is there already is a fact of the host, such as a refusal: it stays unless this is worse.
        if pair.effect <= outcome.effect {
            pair.effect = outcome.effect;
            pair.waits = outcome.waits;
            pair.rule = outcome.rule;
            pair.because = outcome.because;
        }
        pair.basis = outcome.basis;
        pair.sent = None;
        pair.settle();
    }
    let mut place = 0..;
    pairs.retain(|pair| place.next().is_some_and(|place| place < changed) || pair.effect == Effect::Rejected);
    out.findings.extend(half_applied::finding(pairs, scene.world));
    out
}

/// What the old sides are, and how much of an old render is sent again.
fn past(scene: &Scene<'_>) -> Past {
    let host = &scene.world.host;
    if scene.world.source.kind != LiveKind::OldRender {
        return Past::Taken;
    }
    match (host.kind, scene.way.or(host.method)) {
        (_, Some(WriteMethod::Replace | WriteMethod::Recreate)) => Past::Replaced,
        _ if host.replace => Past::Replaced,
        (Some(HostKind::Helm3), None) | (_, Some(WriteMethod::MergePatch)) => Past::Merged,
        _ => Past::Sent,
    }
}

/// What some sets of versions say that all come out alike.
struct Agreed {
    run: Arc<Run>,
    /// The versions that the first of them only tries, by provider.
    older: Vec<(String, String)>,
    /// Whether one of them tries none.
    is_likely: bool,
}

/// What the first set of versions says, and each of the others that says something else.
fn runs(
    possible: Vec<Versions>,
    pairs: &[Pair],
    again: &[Pair],
    scene: &Scene<'_>,
    rules: &Rules,
) -> (Vec<Arc<Outcome>>, Classified, impl Iterator<Item = Agreed>) {
    let mut known: Option<(Stage<'_>, Judged)> = None;
    let mut agreed: Vec<Agreed> = Vec::new();
    for versions in possible {
        let older: Vec<(String, String)> =
            versions.older_tried().into_iter().map(|(name, version)| (name.to_owned(), version)).collect();
        let beside = known.take().and_then(|(first, judged)| Some((first.with(&versions)?, judged)));
        let (stage, judged) = beside.unwrap_or_else(|| (Stage::new(*scene, pairs, rules, versions), Judged::default()));
        let run = judged.runs.get(stage.versions.case(), &(), || Arc::new(judge_all(&stage, &judged, again)));
        match agreed.iter_mut().find(|other| Arc::ptr_eq(&other.run, &run)) {
            Some(alike) => alike.is_likely |= older.is_empty(),
            None => agreed.push(Agreed { run, is_likely: older.is_empty(), older }),
        }
        known = Some((stage, judged));
    }
    if let Some((stage, judged)) = known {
        stage.discard();
        // Here the runs are held alone from now on.
        drop(judged.runs);
        parallel::discard(judged.pairs, pairs.len());
    }
    let mut agreed = agreed.into_iter();
    let (outcomes, out) = agreed.next().map(|first| Arc::unwrap_or_clone(first.run)).unwrap_or_default();
    (outcomes, out, agreed)
}

/// What one set of versions says: an outcome a pair, and what was found beside them.
type Run = (Vec<Arc<Outcome>>, Classified);

/// What was judged already, each for all sets of versions by which it comes out alike.
#[derive(Default)]
struct Judged {
    /// Each pair by its place, but for renamed templates.
    pairs: Kept<usize, Arc<Found>>,
    /// What is sent although it does not change, by its place.
    again: Kept<usize, Arc<Outcome>>,
    /// What the write lets go elsewhere.
    elsewhere: Kept<(), Arc<Vec<Lifted>>>,
    /// References to what is not there.
    dangling: Kept<(), Arc<Vec<Finding>>>,
    /// Everything.
    runs: Kept<(), Arc<Run>>,
}

/// What came out about one pair.
struct Found {
    outcome: Arc<Outcome>,
    /// What was found beside it.
    beside: Classified,
    /// Whether it owns Machines, so that a template reference of it may move.
    is_owner: bool,
    /// Where a new object needs a feature gate of which nobody said whether it is on.
    open: Vec<gates::Open>,
    /// What starts among its Machines that was held back before.
    lifted: Option<Lifted>,
}

/// One outcome a pair. Pairs are judged side by side, and what is found beside them is told in their order.
fn judge_all(stage: &Stage<'_>, judged: &Judged, again: &[Pair]) -> Run {
    let case = stage.versions.case();
    let mut out = Classified { warnings: stage.versions.warnings.clone(), ..Classified::default() };
    let is_renamed = |pair: &Pair| pair.renamed_from.is_some() && pair.action != Action::Delete;
    stage.look_for_gates();
    let places: Vec<(usize, &Pair)> = stage.pairs.iter().enumerate().collect();
    let found: Vec<Option<Arc<Found>>> = parallel::map(&places, |(place, pair)| {
        let judge = || judged.pairs.get(case, place, || Arc::new(one(stage, &typed(&pair.key), pair)));
        (!is_renamed(pair)).then(judge)
    });
    // Only a template that is renamed asks what its owners do.
    let asks_owners = stage.pairs.iter().any(is_renamed);
    let mut moved: BTreeMap<Key, Effect> = BTreeMap::new();
    let (mut open, mut lifted) = (Vec::new(), Vec::new());
    for (pair, found) in stage.pairs.iter().zip(&found) {
        let Some(found) = found else { continue };
        out.extend(found.beside.clone());
        lifted.extend(found.lifted.clone());
        open.push((&pair.key, found.open.as_slice()));
        let reference = (asks_owners && found.is_owner).then(|| moved_reference(pair, &found.outcome.answers));
        moved.extend(reference.map(|effect| (pair.key.clone(), effect)));
    }
    out.findings.extend(judged.dangling.get(case, &(), || Arc::new(dangling::findings(stage))).iter().cloned());
    out.warnings.extend(gates::warnings(&open));
    let pairs = stage.pairs.iter().zip(&found);
    let mut outcomes: Vec<Arc<Outcome>> = pairs
        .map(|(pair, found)| match found {
            Some(found) => Arc::clone(&found.outcome),
            None => Arc::new(renamed(stage, pair, &moved, &mut out)),
        })
        .collect();
    lifted.extend(judged.elsewhere.get(case, &(), || Arc::new(waiting::elsewhere(stage))).iter().cloned());
    waiting::apply(stage, lifted, &mut outcomes, &mut out);
    out.beside = beside::rolling(stage, &out.rollouts);
    let again: Vec<(usize, &Pair)> = again.iter().enumerate().collect();
    outcomes.extend(parallel::map(&again, |(place, pair)| {
        judged.again.get(case, place, || Arc::new(refused_again(stage, &typed(&pair.key), pair)))
    }));
    (outcomes, out)
}

/// What the webhooks say to an object that is sent as it stands. The schema lets through what it let through before.
fn refused_again(stage: &Stage<'_>, key: &Typed<'_>, pair: &Pair) -> Outcome {
    let Some((_, admission)) = admitted(stage, key.known, pair) else { return Outcome::default() };
    let Some(refusal) = admission.refusals.first() else { return Outcome::default() };
    let because = format!(
        "it does not change, but the host sends it again, and it is refused; {}: {}",
        refusal.path, refusal.message
    );
    Outcome { effect: Effect::Rejected, rule: refusal.rule.into(), because, ..Outcome::default() }
}

/// Sends one side of a pair through the API server, with what the topology webhooks say too.
fn admitted(stage: &Stage<'_>, kind: &'static Kind, pair: &Pair) -> Option<(Sides, Admission)> {
    let (sides, mut admission) = admission::admit(
        pair,
        kind,
        &stage.versions,
        &|old, new| stage.supersets(kind, &pair.api_version, (old, new)),
        &|gate| stage.gate(gate),
        &Surroundings { stage, key: &pair.key },
        past(&stage.scene),
    )?;
    if matches!(kind.role, Role::Cluster | Role::Class) {
        admission.refusals.extend(match pair.action {
            Action::Update | Action::Unchanged => topology::refusals(stage, &pair.key, &sides.old, &sides.new),
            Action::Create => topology::refusals_of_new(stage, &pair.key, &sides.new),
            _ => Vec::new(),
        });
        if pair.action == Action::Create && kind.role == Role::Cluster {
            admission.unsure.extend(topology::doubts_of_new(stage, &pair.key, &sides.new));
        }
    }
    Some((sides, admission))
}

/// The outcome of a pair that is no renamed template.
fn one(stage: &Stage<'_>, key: &Typed<'_>, pair: &Pair) -> Found {
    let mut beside = Classified::default();
    let mut open = Vec::new();
    let (mut outcome, mut is_owner) = (Outcome::default(), key.known.role == Role::Pool);
    let mut lifted = None;
    match (pair.action, admitted(stage, key.known, pair)) {
        (Action::Delete, Some((sides, _))) => outcome = deletions::deleted(stage, (key, pair), &sides.old, &mut beside),
        (Action::Create, Some((sides, admission))) => {
            outcome = created(stage, (key, pair), &sides.new, &admission, &mut beside);
            open = admission.open;
        }
        (Action::Update | Action::Unchanged, Some((sides, admission))) => {
            let whole = Whole::of(stage, key, sides);
            outcome = updated(stage, (key, pair), &whole, &admission, &mut beside);
            is_owner |= whole.assessment().is_some();
            lifted = whole
                .assessment()
                .filter(|_| !is_refused(pair, &admission))
                .and_then(|own| waiting::by_owner(key, own));
        }
        (_, None) => {}
    }
    Found { outcome: Arc::new(outcome), beside, is_owner, open, lifted }
}

/// Whether a change at a place can move the reference to a template: it lies in one, or holds one.
fn may_move_reference(path: &Path) -> bool {
    const REFERENCES: [&str; 2] = ["infrastructureRef", "configRef"];
    let in_one =
        path.segments().iter().any(|step| matches!(step, Segment::Key(key) if REFERENCES.contains(&key.as_str())));
    // References stand at least this deep in an owner: spec, template, spec, infrastructureRef.
    in_one || path.segments().len() < 4
}

/// What a moved template reference of an owner does to its Machines.
fn moved_reference(pair: &Pair, answers: &[Answer]) -> Effect {
    let found = pair.changes.iter().zip(answers).filter(|(change, _)| may_move_reference(&change.path));
    found.map(|(_, answer)| answer.effect).filter(|effect| *effect <= Effect::Rollout).max().unwrap_or_default()
}

/// A template that takes the place of another one.
fn renamed(stage: &Stage<'_>, pair: &Pair, moved: &BTreeMap<Key, Effect>, out: &mut Classified) -> Outcome {
    let key = &typed(&pair.key);
    if pair.action == Action::Create
        && let Some((_, admission)) = admitted(stage, key.known, pair)
    {
        if let Some(outcome) = refused_as_new(stage, pair, &admission, out) {
            return outcome;
        }
        if let Some(outcome) = doubted(stage, pair, &admission) {
            return outcome;
        }
        // It takes the place of one that did without: this is no first install, of which a note is enough.
        if let Some(open) = admission.open.first() {
            let answer = Answer::known(stage.rules, Effect::Unknown, RuleId::of("gate/open"));
            return Outcome::whole(pair, &answer.saying(format!("{}: {}", open.path, open.because())));
        }
    }
    let from = pair.renamed_from.clone().unwrap_or_default();
    let side = |value: &Option<Value>| {
        let moved = |value| stage.superset(key.known, &pair.api_version, value);
        value.as_ref().map(moved).unwrap_or_default()
    };
    let (old, new, used_by) = (side(&pair.live), side(&pair.predicted), used_by(stage, key));
    let subject = Subject::of(stage, (key, pair), (&old, &new), &used_by);
    let answer = |change| subject.heard(change, templates::renamed(stage, pair, &from, moved, change));
    let answers: Vec<Answer> = pair.changes.iter().map(answer).collect();
    let referrers = stage.referrers(&pair.key);
    let effect = referrers.iter().filter_map(|reference| moved.get(&reference.from)).copied().max().unwrap_or_default();
    out.findings.extend(templates::same_content(pair, &from, effect));
    let because = format!("it replaces {from}; by itself it does nothing, only a reference that moves to it does");
    Outcome { answers, rule: RuleId::of("template/renamed").into(), because, ..Outcome::default() }
}
