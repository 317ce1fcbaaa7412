//! An object that is changed: the effect of each change, of the write as a whole, and what that weighs.

use super::arrival::unsure;
use super::changed;
use super::outcome::Outcome;
use super::owner::Assessment;
use super::replicas::makes_machines;
use super::stage::Stage;
use super::subject::{self, Subject};
use super::taken_along;
use super::verdict::Answer;
use super::weigh;
use crate::apiserver::admission::{Admission, Sides};
use crate::kinds::contract::{ADDONS, BOOTSTRAP, CONTROL_PLANE, IPAM, MACHINE_POOL, installs, is_infrastructure};
use crate::kinds::webhook::Refusal;
use crate::kinds::{Role, Typed, diff};
use crate::model::{Action, Cause, Classified, Effect, Finding, Pair, RuleId};
use crate::object::{Key, Path};
use crate::providers::kind;
use crate::tree::Value;

/// Both sides of an object, judged as an owner of Machines where it is one.
pub(super) enum Whole {
    Owner(Box<Assessment>),
    Plain(Sides),
}

impl Whole {
    /// Both sides as they are judged.
    pub(super) fn of(stage: &Stage<'_>, key: &Typed<'_>, sides: Sides) -> Self {
        match key.known.mirror {
            Some(mirror) => Self::Owner(Box::new(Assessment::of(stage, key, mirror, sides))),
            None => Self::Plain(sides),
        }
    }

    /// The object before and after the write.
    pub(super) fn sides(&self) -> (&Value, &Value) {
        match self {
            Self::Owner(assessment) => (&assessment.old, &assessment.new),
            Self::Plain(sides) => (&sides.old, &sides.new),
        }
    }

    pub(super) fn assessment(&self) -> Option<&Assessment> {
        match self {
            Self::Owner(assessment) => Some(assessment),
            Self::Plain(_) => None,
        }
    }
}

/// Whether the write of an object is refused: by its admission, or as the host foresaw.
pub(super) fn is_refused(pair: &Pair, admission: &Admission) -> bool {
    pair.effect == Effect::Rejected || (pair.action != Action::Unchanged && !admission.refusals.is_empty())
}

/// Judges an object that is there before and after the write: its mirror, each field of it, then what all of it comes to.
pub(super) fn updated(
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
        is_gone: false,
        same: admission.same,
        as_go: admission.as_go,
        ..Subject::of(stage, (key, pair), (old, new), &used_by)
    };
    let mut answers = changed::changes(&subject, pair);
    let is_refused_by_fields =
        || !refusals.is_empty() || answers.iter().any(|answer| answer.effect == Effect::Rejected);
    if let Some(answer) = unconverted(stage, key, pair).filter(|_| is_refused_by_fields()) {
        return Outcome::whole(pair, &answer);
    }
    let by_host = (pair.effect == Effect::Rejected).then(|| (pair.rule.clone(), pair.because.clone()));
    let by_webhook = || {
        let refusal = refusals.first()?;
        Some((refusal.rule.into(), format!("{}: {}", refusal.path, refusal.message)))
    };
    if let Some((rule, why)) = by_host.or_else(by_webhook) {
        // What is refused as a whole does nothing, whatever the field would do.
        for answer in answers.iter_mut().filter(|answer| answer.effect > Effect::Rejected) {
            *answer = Answer::named(stage.rules, Effect::Rejected, &rule)
                .saying(format!("the write is refused as a whole; {why}"));
        }
    }
    for (change, answer) in pair.changes.iter().zip(&answers) {
        if let Some(id) = &answer.finding {
            let message = format!("{}: {}", change.path, answer.because);
            out.findings.push(Finding::new(id.as_str(), pair.key.clone(), message).at(&change.path));
        }
    }
    // A field that is dropped makes no change; whoever wrote it hears of it.
    for path in
        admission.dropped.iter().filter(|path| !pair.changes.iter().any(|change| diff::touch(&change.path, path)))
    {
        let because = Answer::known(stage.rules, Effect::None, RuleId::of("schema/unknown-field")).because;
        out.findings.push(Finding::new("silent-no-op", pair.key.clone(), format!("{path}: {because}")).at(path));
    }
    let is_refused = is_refused(pair, admission);
    let mut outcome = Outcome { answers, basis: assessment.map(|assessment| assessment.basis), ..Outcome::default() };
    // Machines may come to differ by what the write does beside its changes, such as the order in which lists are stored, or a field that
    // is filled in from another one.
    if let Some(cause) =
        assessment.filter(|_| !is_refused).and_then(|assessment| unexplained(&subject, pair, assessment))
        && outcome.answers.iter().all(|answer| answer.effect < Effect::Rollout)
    {
        let answer = Answer::known(stage.rules, Effect::Rollout, cause.rule);
        outcome.effect = Effect::Rollout;
        outcome.rule.clone_from(&answer.rule);
        outcome.because = format!(
            "the write stores {} in another form than the Machines were made of (another order, or filled in from another field); {}",
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
    let doubt = admission.unsure.first().filter(|_| refusals.is_empty() && pair.action == Action::Update);
    let doubts = doubt.map(|doubt| unsure(stage, doubt)).into_iter().chain(taken_along::lost(stage, key, pair));
    let doubts = doubts.chain(unread_field(stage, pair, admission));
    for answer in doubts {
        outcome.take_worse(&Outcome {
            effect: answer.effect,
            rule: answer.rule,
            because: answer.because,
            ..Outcome::default()
        });
    }
    let write = weigh::Write { pair, whole, answers: &outcome.answers, used_by: &used_by, is_refused };
    weigh::weigh(stage, key, &write, out);
    outcome
}

/// The answer about a field that no release of the provider has, between two renders: where both have it, a fork may know it; where one has
/// it, some hosts have the write refused.
fn unread_field(stage: &Stage<'_>, pair: &Pair, admission: &Admission) -> Option<Answer> {
    let old = pair.sent().0.filter(|_| stage.is_of_renders())?;
    if let Some(path) = admission.dropped.iter().find(|path| path.get(old).is_some()) {
        let answer = Answer::known(stage.rules, Effect::Unknown, RuleId::of("schema/unknown-field-unseen"));
        let because = format!("{path}: {}", answer.because);
        return Some(answer.saying(because));
    }
    let path = admission.dropped.first().filter(|_| stage.is_of_nobody())?;
    Some(subject::refused_by_some(stage, path))
}

/// The answer where the old side is of another version than the new one, and nothing is known of how the provider converts it: what then
/// seems to be refused may be the same under another name.
fn unconverted(stage: &Stage<'_>, key: &Typed<'_>, pair: &Pair) -> Option<Answer> {
    let old = pair.sent().0?.get("apiVersion")?.as_str()?;
    if key.known.superset.is_some() || old == pair.api_version || pair.action != Action::Update {
        return None;
    }
    let because = format!(
        "the old side is written in {old} and the new one in {}; rollgate cannot convert {}, so what differs may be the same under another name; \
         compare with the cluster (--live cluster)",
        pair.api_version, key.kind
    );
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("schema/unconverted")).saying(because))
}

/// Why Machines, read or told by the old spec, are replaced by the write, where nothing holds them back and no change says so.
fn unexplained<'a>(subject: &Subject<'_>, pair: &Pair, assessment: &'a Assessment) -> Option<&'a Cause> {
    if assessment.waits() {
        return None;
    }
    let changed: Vec<Path> = pair.changes.iter().map(|change| subject.moved(&change.path)).collect();
    let is_told = |cause: &&Cause| changed.iter().any(|path| diff::touch(path, &cause.path));
    assessment.newly().flat_map(|unit| &unit.after).find(|cause| !is_told(cause))
}

/// What becomes of that which an object of others reads: the data that new Machines boot with, or infrastructure. The config of a
/// Machine read it when that was made.
fn family(stage: &Stage<'_>, from: &Key) -> Option<&'static str> {
    let makes_machines = || stage.written_after(from).is_some_and(|owner| makes_machines(kind(from), &owner));
    match (kind(from).role, from.group.as_str()) {
        (Role::Template, BOOTSTRAP | CONTROL_PLANE) => Some("bootstrap"),
        (Role::ControlPlane, _) if makes_machines() => Some("bootstrap"),
        // Workers may name a Secret in place of a config, and variables of a topology what templates are made of.
        (Role::Deployment | Role::Set | Role::Cluster | Role::Class, _) => Some("bootstrap"),
        (Role::ControlPlane, _) | (_, IPAM) => Some("infrastructure"),
        (_, group) if is_infrastructure(group) => Some("infrastructure"),
        (_, ADDONS) => Some("add-on"),
        (_, group) if installs(group) => Some("operator"),
        _ => None,
    }
}

/// Kinds and families of what refers to an object; `nobody` where nothing does.
pub(super) fn used_by(stage: &Stage<'_>, key: &Typed<'_>) -> Vec<String> {
    let wanted = matches!(key.known.role, Role::Template | Role::Data | Role::Config);
    if !wanted {
        return Vec::new();
    }
    let mut out: Vec<String> = Vec::new();
    for reference in stage.referrers(key) {
        let from = &reference.from;
        out.push(from.kind.clone());
        out.extend(family(stage, from).map(str::to_owned));
    }
    if key.known.role == Role::Data && stage.feeds_pool(key) {
        out.push(MACHINE_POOL.to_owned());
    }
    // By its name alone, in a field that does not tell what it means.
    if out.is_empty() && key.known.role == Role::Data {
        let family = stage.mentioned_by(key).and_then(|from| family(stage, from));
        out.extend(family.map(str::to_owned));
    }
    if out.is_empty() {
        out.push("nobody".to_owned());
    }
    out
}
