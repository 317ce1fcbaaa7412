//! Sets the effect of every change of every pair, and weighs what happens to Machines.
//! Owners come first, because a renamed template does what its owner's moved reference does.

use std::collections::BTreeMap;

use crate::apiserver::admission::{self, Admission, Sides};
use crate::compare::{Action, Basis, Change, Pair};
use crate::judge::arrival::{created, deleted, refused_as_new, whole};
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::judge::subject;
use crate::judge::subject::Subject;
use crate::judge::verdict::Answer;
use crate::judge::waiting::Lifted;
use crate::judge::{Scene, dangling, half_applied, open, plain_owner, templates, topology, waiting, weigh};
use crate::kinds::contract::{CLUSTER_CLASS, INFRASTRUCTURE};
use crate::kinds::webhook::Refusal;
use crate::kinds::{Kind, Role, Typed, diff, gates, superset};
use crate::model::Cause;
use crate::model::Classified;
use crate::model::Effect;
use crate::model::Finding;
use crate::model::RuleId;
use crate::object::{Key, Path, Segment};
use crate::parallel;
use crate::providers::{kind, typed};
use crate::rules::Rules;
use crate::tree::Value;

/// What is to be written into one pair.
#[derive(Default)]
pub(crate) struct Outcome {
    /// One answer a change.
    pub(crate) answers: Vec<Answer>,
    /// What the write does as a whole, where no change says it.
    pub(crate) effect: Effect,
    /// What it does as a whole as soon as a pause or another block ends that keeps it back.
    pub(crate) waits: Option<Effect>,
    /// The rule that decided that.
    pub(crate) rule: String,
    /// One sentence about it.
    pub(crate) because: String,
    /// Which comparison was possible.
    pub(crate) basis: Option<Basis>,
}

/// Judges all pairs with the given rules. Where the providers' versions are not certain, all that are possible are judged, and
/// the worse answer counts.
pub fn classify(pairs: &mut [Pair], scene: &Scene<'_>, rules: &Rules) -> Classified {
    let mut runs = open::candidates(scene, pairs, rules).into_iter().map(|versions| {
        let older: Vec<(String, String)> =
            versions.older_tried().into_iter().map(|(name, version)| (name.to_owned(), version)).collect();
        let stage = Stage::new(*scene, pairs, rules, versions);
        let mut out = Classified { warnings: stage.versions.warnings.clone(), ..Classified::default() };
        (judge_all(&stage, &mut out), out, older)
    });
    let (mut outcomes, mut out, _) = runs.next().unwrap_or_default();
    let mut differ: BTreeMap<String, String> = BTreeMap::new();
    for (others, other, older) in runs {
        let worse = outcomes.iter_mut().zip(others).map(|(outcome, other)| outcome.take_worse(other));
        let is_worse = worse.fold(false, |any, worse| any | worse);
        // What a version that is only tried says beside an answer that is no worse is nobody's business.
        if is_worse || older.is_empty() {
            differ.extend(older);
            out.add(other);
        } else {
            out.add(Classified { rollouts: other.rollouts, ..Classified::default() });
        }
    }
    out.warnings.extend(differ.into_iter().map(|(name, version)| {
        format!(
            "the version of {name} is not known, and not all do the same: what is said is the worst of them, such as {version} (--provider {name}=VERSION tells which)"
        )
    }));
    for (pair, outcome) in pairs.iter_mut().zip(outcomes) {
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
        pair.settle();
    }
    out.findings.extend(half_applied::finding(pairs, scene.world));
    out
}

impl Outcome {
    /// Keeps the worse of two outcomes of the same pair; says whether anything became worse.
    fn take_worse(&mut self, other: Self) -> bool {
        let mut is_worse = false;
        for (answer, other) in self.answers.iter_mut().zip(other.answers) {
            if other.outweighs(answer) {
                is_worse = true;
                *answer = other;
            }
        }
        if (other.effect, other.waits) > (self.effect, self.waits) {
            is_worse = true;
            (self.effect, self.waits, self.rule, self.because) = (other.effect, other.waits, other.rule, other.because);
        }
        is_worse
    }
}

/// What came out about one pair.
struct Found {
    outcome: Outcome,
    /// What was found beside it.
    beside: Classified,
    /// What a moved template reference of it does, where it owns Machines.
    moved: Option<Effect>,
    /// Where a new object needs a feature gate of which nobody said whether it is on.
    open: Vec<gates::Open>,
    /// What starts among its Machines that was held back before.
    lifted: Option<Lifted>,
}

/// One outcome a pair. Pairs are judged side by side, and what is found beside them is told in their order.
fn judge_all(stage: &Stage<'_>, out: &mut Classified) -> Vec<Outcome> {
    let is_renamed = |pair: &Pair| pair.renamed_from.is_some() && pair.action != Action::Delete;
    stage.look_for_gates();
    let found: Vec<Option<Found>> = parallel::map(stage.pairs, |pair| (!is_renamed(pair)).then(|| one(stage, pair)));
    let mut moved: BTreeMap<Key, Effect> = BTreeMap::new();
    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(found.len());
    let (mut open, mut lifted) = (Vec::new(), Vec::new());
    for (pair, found) in stage.pairs.iter().zip(found) {
        outcomes.push(found.map(|found| {
            out.extend(found.beside);
            lifted.extend(found.lifted);
            open.push((&pair.key, found.open));
            moved.extend(found.moved.map(|effect| (pair.key.clone(), effect)));
            found.outcome
        }));
    }
    out.findings.extend(dangling::findings(stage));
    out.warnings.extend(gates::warnings(&open));
    let pairs = stage.pairs.iter().zip(outcomes);
    let mut outcomes: Vec<Outcome> =
        pairs.map(|(pair, outcome)| outcome.unwrap_or_else(|| renamed(stage, pair, &moved, out))).collect();
    lifted.extend(waiting::elsewhere(stage));
    waiting::apply(stage, lifted, &mut outcomes, out);
    outcomes
}

/// Sends one side of a pair through the API server, with what the topology webhooks say too.
fn admitted(stage: &Stage<'_>, kind: &'static Kind, pair: &Pair) -> Option<(Sides, Admission)> {
    let (sides, mut admission) = admission::admit(pair, kind, &stage.versions, &|gate| stage.gate(gate))?;
    if matches!(kind.role, Role::Cluster | Role::Class) {
        admission.refusals.extend(match pair.action {
            Action::Update => topology::refusals(stage, &pair.key, &sides.old, &sides.new),
            Action::Create => topology::refusals_of_new(stage, &pair.key, &sides.new),
            _ => Vec::new(),
        });
    }
    Some((sides, admission))
}

/// Whether the write of an object is refused: by its admission, or as the host foresaw.
fn is_refused(pair: &Pair, admission: &Admission) -> bool {
    pair.effect == Effect::Rejected || (pair.action != Action::Unchanged && !admission.refusals.is_empty())
}

/// One side of a pair in the superset form.
pub(super) fn in_superset(stage: &Stage<'_>, kind: &Kind, pair: &Pair, side: Option<&Value>) -> Option<Value> {
    side.map(|value| superset::value(kind, &pair.api_version, value, &stage.versions))
}

/// The outcome of a pair that is no renamed template.
fn one(stage: &Stage<'_>, pair: &Pair) -> Found {
    let mut beside = Classified::default();
    let mut open = Vec::new();
    let key = &typed(&pair.key);
    let (mut outcome, mut is_owner) = (Outcome::default(), key.known.role == Role::Pool);
    let mut lifted = None;
    match (pair.action, admitted(stage, key.known, pair)) {
        (Action::Delete, _) => outcome = deleted(stage, (key, pair), &mut beside),
        (Action::Create, admitted) => {
            let admission = admitted.map(|(_, admission)| admission);
            outcome = created(stage, (key, pair), admission.as_ref(), &mut beside);
            open.extend(admission.into_iter().flat_map(|admission| admission.open));
        }
        (Action::Update | Action::Unchanged, Some((sides, admission))) => {
            let subject = match key.known.mirror {
                Some(mirror) => Whole::Owner(Box::new(Assessment::of(stage, key, mirror, sides))),
                None => Whole::Plain(sides),
            };
            outcome = updated(stage, (key, pair), &subject, &admission, &mut beside);
            if let Whole::Owner(assessment) = &subject {
                is_owner = true;
                let is_refused = is_refused(pair, &admission);
                weigh::owner(stage, key, assessment, is_refused, &mut beside);
                lifted = waiting::by_owner(&pair.key, assessment).filter(|_| !is_refused);
            }
        }
        (Action::Update | Action::Unchanged, None) => {}
    }
    let moved = is_owner.then(|| moved_reference(pair, &outcome.answers));
    Found { outcome, beside, moved, open, lifted }
}

/// Both sides of an object, judged as an owner of Machines where it is one.
enum Whole {
    Owner(Box<Assessment>),
    Plain(Sides),
}

impl Whole {
    /// The object before and after the write.
    fn sides(&self) -> (&Value, &Value) {
        match self {
            Self::Owner(assessment) => (&assessment.old, &assessment.new),
            Self::Plain(sides) => (&sides.old, &sides.new),
        }
    }

    fn assessment(&self) -> Option<&Assessment> {
        match self {
            Self::Owner(assessment) => Some(assessment),
            Self::Plain(_) => None,
        }
    }
}

/// An object is changed.
fn updated(
    stage: &Stage<'_>,
    (key, pair): (&Typed<'_>, &Pair),
    whole: &Whole,
    admission: &Admission,
    out: &mut Classified,
) -> Outcome {
    let assessment = whole.assessment();
    let (old, new) = whole.sides();
    let refusals: &[Refusal] = if pair.action == Action::Update { &admission.refusals } else { &[] };
    let used_by = used_by(stage, key);
    let subject = Subject {
        assessment,
        refusals,
        open: if pair.action == Action::Update { &admission.open } else { &[] },
        dropped: &admission.dropped,
        same: admission.same,
        as_go: admission.as_go,
        ..Subject::of(stage, (key, pair), (old, new), &used_by)
    };
    let mut answers = subject::changes(&subject, pair);
    if let Some(refusal) = refusals.first() {
        // What is refused as a whole does nothing, whatever the field would do.
        for answer in answers.iter_mut().filter(|answer| answer.effect > Effect::Rejected) {
            *answer = Answer::known(stage.rules, Effect::Rejected, refusal.rule)
                .saying(format!("the write is refused as a whole; {}: {}", refusal.path, refusal.message));
        }
    }
    for (change, answer) in pair.changes.iter().zip(&answers) {
        if let Some(id) = &answer.finding {
            let message = format!("{}: {}", change.path, answer.because);
            out.findings.push(Finding::new(id.as_str(), pair.key.clone(), message).at(&change.path));
        }
    }
    let of_topology =
        matches!(key.known.role, Role::Cluster | Role::Class) || used_by.iter().any(|name| name == CLUSTER_CLASS);
    if of_topology && refusals.is_empty() && answers.iter().any(|answer| answer.effect >= Effect::Scale) {
        out.rollouts.extend(topology::rollouts(stage, &pair.key, old, new));
    }
    if key.known.is_plain_owner() && !is_refused(pair, admission) {
        out.rollouts.extend(plain_owner::rollout(stage, key, (old, new), (&pair.changes, &answers)));
    }
    if !is_refused(pair, admission) && answers.iter().any(|answer| answer.effect == Effect::Scale) {
        out.rollouts.extend(plain_owner::bounded(stage, key, (old, new)));
    }

    let mut outcome = Outcome { answers, basis: assessment.map(|assessment| assessment.basis), ..Outcome::default() };
    // Machines may come to differ by what the write does beside its changes, such as the order in which lists are stored.
    if let Some(cause) =
        assessment.filter(|_| !is_refused(pair, admission)).and_then(|assessment| unexplained(stage, (key, pair), assessment))
        && outcome.answers.iter().all(|answer| answer.effect < Effect::Rollout)
    {
        let answer = Answer::known(stage.rules, Effect::Rollout, cause.rule);
        outcome.effect = Effect::Rollout;
        outcome.rule.clone_from(&answer.rule);
        outcome.because = format!(
            "{} is written in another form than the Machines were made of, such as another order of a list; {}",
            cause.path, answer.because
        );
    }
    // A refusal that no change carries still refuses the write.
    if let Some(refusal) = refusals.first()
        && !outcome.answers.iter().any(|answer| answer.effect == Effect::Rejected)
    {
        outcome.effect = Effect::Rejected;
        outcome.rule = refusal.rule.into();
        outcome.because = format!("{}: {}", refusal.path, refusal.message);
    }
    outcome
}

/// Why Machines that were read are replaced by the write, where nothing holds them back and no change says so.
fn unexplained<'a>(stage: &Stage<'_>, (key, pair): (&Typed<'_>, &Pair), assessment: &'a Assessment) -> Option<&'a Cause> {
    if assessment.basis != Basis::Machines || assessment.waits() {
        return None;
    }
    let moved = |change: &Change| superset::path(key.known, &pair.api_version, &change.path, &stage.versions);
    let changed: Vec<Path> = pair.changes.iter().map(moved).collect();
    let is_told = |cause: &&Cause| changed.iter().any(|path| diff::touch(path, &cause.path));
    assessment.newly().flat_map(|unit| &unit.after).find(|cause| !is_told(cause))
}

/// Kinds and families of what refers to an object; `nobody` where nothing does.
fn used_by(stage: &Stage<'_>, key: &Typed<'_>) -> Vec<String> {
    let wanted = matches!(key.known.role, Role::Template | Role::Data | Role::Config);
    if !wanted {
        return Vec::new();
    }
    let mut out: Vec<String> = Vec::new();
    for reference in stage.referrers(key) {
        let from = &reference.from;
        let family = match kind(from) {
            kind if kind.bootstraps => Some("bootstrap"),
            _ if from.group == INFRASTRUCTURE => Some("infrastructure"),
            _ => None,
        };
        out.push(from.kind.clone());
        out.extend(family.map(str::to_owned));
    }
    if out.is_empty() {
        out.push("nobody".to_owned());
    }
    out
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
        // It takes the place of one that did without: this is no first install, of which a note is enough.
        if let Some(open) = admission.open.first() {
            let answer = Answer::known(stage.rules, Effect::Unknown, RuleId::of("gate/open"));
            return whole(pair, &answer.saying(format!("{}: {}", open.path, open.because())));
        }
    }
    let from = pair.renamed_from.clone().unwrap_or_default();
    let side = |value: &Option<Value>| in_superset(stage, key.known, pair, value.as_ref()).unwrap_or_default();
    let (old, new, used_by) = (side(&pair.live), side(&pair.predicted), used_by(stage, key));
    let subject = Subject::of(stage, (key, pair), (&old, &new), &used_by);
    let answer = |change| subject.heard(change, templates::renamed(stage, pair, &from, moved, change));
    let answers: Vec<Answer> = pair.changes.iter().map(answer).collect();
    let referrers = stage.referrers(&pair.key);
    let effect = referrers.iter().filter_map(|reference| moved.get(&reference.from)).copied().max().unwrap_or_default();
    out.findings.extend(templates::same_content(pair, &from, effect));
    let because = format!("it takes the place of {from}; alone it does nothing, the reference that moves to it does");
    Outcome { answers, rule: RuleId::of("template/renamed").into(), because, ..Outcome::default() }
}
