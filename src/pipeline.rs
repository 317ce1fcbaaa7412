//! The data flow, written once: a question and a World become a judgement.
//! Everything here is pure; reading comes before it and committing after it.

mod arrivals;
mod first_install;
#[cfg(feature = "serve")]
mod given;
mod question;
mod set_back;

use std::borrow::Cow;

use crate::apiserver;
use crate::apiserver::fields::canonical;
use crate::approval::Approval;
use crate::compare::Pair;
use crate::compare::redact::Redactor;
use crate::gate::approval::{self, Approved, ToApprove};
use crate::gate::budget::{self, Spending};
use crate::gate::{self, Checks, Expectations, Groups, Judged, Written, glass};
use crate::hashed::{HashMap, HashSet};
use crate::host::{self, Prediction};
use crate::impact::counted;
use crate::judge::{self, Scene};
use crate::late::{self, Stays};
use crate::model::{Classified, Decision, Effect, Reason, Upgrade};
use crate::object::{Files, Inventory, Key, Object, Origins, Path, Stream, StreamText, View};
use crate::parallel;
use crate::policy::{Doubt, Policy};
use crate::report::{self, DryRunReport, Parts, Report};
use crate::rules::{Rules, UserFault};
use crate::tree::Value;
use crate::world::{Unread, World};

#[cfg(feature = "serve")]
pub(crate) use self::given::judge_given;
pub(crate) use self::question::Beyond;
pub(crate) use self::question::{Apart, Judgement};
pub use self::question::{Fault, Question};
pub(crate) use self::set_back::point_at;

/// What is said where the API server's answer is what the verdict comes from.
const SERVER_IS_WORSE: &str =
    "the API server's dry run is worse than the prediction, so it counts (see the dry run below)";

/// Judges a question. Depends on nothing but its arguments and the clock in the World.
///
/// # Errors
/// When the stream cannot be read, or a rule of the user.
pub fn judge(question: &Question, world: &World) -> Result<Judgement, Fault> {
    let (whole, rolling) = judge_all(question, world)?;
    set_back::weigh(question, world, whole, rolling)
}

/// Judges the stream as it is, and says what in it replaces or destroys Machines, where that is asked for.
fn judge_all(question: &Question, world: &World) -> Result<(Judgement, Vec<Stays>), Fault> {
    let rules = rules(&question.policy).map_err(Fault::Rules)?;
    let Filled { text, mut resolution } = filled(question, world)?;
    let rendered = text.stream()?;
    first_install::weigh(question, world, &text, &rendered.objects, &mut resolution)?;
    // With an upgrade alone nobody writes anything.
    let mut prediction = Prediction::default();
    if question.upgrade.is_empty() {
        prediction = host::predict(&rendered.objects, world)?;
        host::refuse_nameless(&mut prediction, &rendered.nameless, world);
    }
    let grounds = Grounds { question, world, rules: &rules, rendered, resolution: &resolution };
    let Conclusion { mut report, approvals, glass, spending, rolling, images } = grounds.judge(prediction);
    report::escape::report(&mut report);
    let stream = text.bytes().clone();
    let judgement =
        Judgement { report, stream, pins: resolution.pins, approvals, glass, spending, images, whole: None };
    Ok((judgement, rolling))
}

/// What the host is about to send to the API server of the World, late values filled in, so that it can be asked about it.
///
/// # Errors
/// When the stream cannot be read.
pub(crate) fn writes(question: &Question, world: &World) -> Result<Vec<host::Write>, Fault> {
    let filled = filled(question, world)?;
    Ok(host::writes(&filled.text.stream()?.objects, world)?)
}

/// What stands outside of the cluster that was read, as far as this World shows that it matters.
///
/// # Errors
/// As [`judge`].
pub(crate) fn beyond(question: &Question, world: &World) -> Result<Beyond, Fault> {
    let Judgement { report, images, .. } = judge(question, world)?;
    let drained = report.rollouts.into_iter().filter(|rollout| gate::drains(rollout) && !rollout.cluster.is_empty());
    Ok(Beyond { clusters: drained.map(|rollout| (rollout.owner.namespace.clone(), rollout.cluster)).collect(), images })
}

/// What is rendered, late values filled in as far as they are known.
///
/// # Errors
/// When the stream cannot be read.
pub(crate) fn rendered(question: &Question, world: &World) -> Result<Inventory, Fault> {
    Ok(filled(question, world)?.text.stream()?.objects.clone())
}

/// A stream with its late values filled in.
struct Filled<'a> {
    /// Its text.
    text: StreamText,
    /// What became of the late values.
    resolution: late::Resolution<'a>,
}

/// Fills in the late values.
fn filled<'a>(question: &'a Question, world: &'a World) -> Result<Filled<'a>, Fault> {
    let before = question.stream.stream()?;
    for object in before.objects.objects() {
        // What can be shown as it stands is judged, and refused by name.
        if let Some(why) = apiserver::bad_name(&object.key).filter(|_| !apiserver::is_plain_name(&object.key)) {
            return Err(Fault::Name { line: object.line, object: object.key.to_string(), why });
        }
    }
    let mut resolution = late::resolve(&question.stream, &before.objects, &question.policy, world, question.reach);
    let kept = late::keep(&resolution.bytes, &question.policy, world);
    resolution.take_over(kept, &question.policy);
    let text = match std::mem::replace(&mut resolution.bytes, Cow::Borrowed(&[])) {
        Cow::Borrowed(_) => question.stream.clone(),
        Cow::Owned(bytes) => {
            let text = StreamText::from(bytes);
            let after = text.stream()?;
            if after.documents != before.documents || after.objects.len() != before.objects.len() {
                return Err(Fault::Lost { before: before.documents, after: after.documents });
            }
            text
        }
    };
    Ok(Filled { text, resolution })
}

/// A render of before with the late values that are pinned filled in, as it was written by then; `None` where it holds none of them.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn as_pinned(question: &Question, world: &World, before: &StreamText) -> Result<Option<Vec<u8>>, Fault> {
    let mut policy = question.policy.clone();
    policy.late_values.retain(|value| world.pins.iter().any(|pin| pin.name == value.name && !pin.secret));
    if policy.late_values.is_empty() {
        return Ok(None);
    }
    let resolution = late::resolve(before, &before.stream()?.objects, &policy, world, question.reach);
    Ok(match resolution.bytes {
        Cow::Borrowed(_) => None,
        Cow::Owned(bytes) => Some(bytes),
    })
}

/// The rules in force: those that are built in, and those of the policy.
///
/// # Errors
/// Everything that is wrong with the rules of the policy.
pub(crate) fn rules(policy: &Policy) -> Result<Cow<'static, Rules>, Vec<UserFault>> {
    if policy.rules.is_empty() {
        return Ok(Cow::Borrowed(Rules::built_in()));
    }
    let values: Vec<Value> = policy.rules.iter().map(|rule| rule.0.clone()).collect();
    Rules::with_user(&values).map(Cow::Owned)
}

/// What is said of a prediction, and what it comes from.
struct Conclusion {
    report: Report,
    /// Approvals that it is allowed by.
    approvals: Vec<(String, Approval)>,
    /// The entry about a broken glass that it is allowed by.
    glass: Option<(String, Approval)>,
    /// The Machines that go by it.
    spending: Option<Spending>,
    /// What in it replaces or destroys Machines; empty where nothing may be set back.
    rolling: Vec<Stays>,
    /// Addresses of the images of new Machines.
    images: Vec<String>,
}

/// Everything that a prediction is judged with.
struct Grounds<'a> {
    question: &'a Question,
    world: &'a World,
    rules: &'a Rules,
    rendered: &'a Stream,
    resolution: &'a late::Resolution<'a>,
}

impl Grounds<'_> {
    /// Judges a prediction; where there are several because the host is not known or the API server was asked, the worst
    /// one counts.
    fn judge(&self, mut prediction: Prediction) -> Conclusion {
        let others = std::mem::take(&mut prediction.others);
        let Conclusion { report: mut worst, mut approvals, mut glass, mut spending, mut rolling, mut images } =
            self.judge_one(prediction);
        let mut answers = self.world.answers.as_ref().map(|_| DryRunReport::default());
        for other in others {
            let by_server = !other.answered.is_empty();
            let mut other = self.judge_one(other);
            images.append(&mut other.images);
            let Conclusion {
                report: mut second, approvals: more, glass: also, spending: spent, rolling: rolls, ..
            } = other;
            set_back::add(&mut rolling, rolls);
            glass = glass.or(also);
            let is_worse = severity(&second) > severity(&worst);
            // What goes by the worst of them is noted.
            spending = if is_worse { spent.or(spending) } else { spending.or(spent) };
            // Whatever is judged must be allowed, each by what was approved of it.
            approvals.extend(more.into_iter().filter(|one| !approvals.contains(one)).collect::<Vec<_>>());
            if let Some(more) = second.server_dry_run.take() {
                answers.get_or_insert_default().extend(more);
            }
            if is_worse {
                second.warnings.append(&mut worst.warnings);
                if by_server {
                    second.warnings.push(SERVER_IS_WORSE.to_owned());
                }
                report::said_once(&mut second.warnings);
                std::mem::swap(&mut worst, &mut second);
            }
            let known: Vec<Option<String>> = worst.approvals.iter().map(|one| one.id.clone()).collect();
            let counts = second.approvals.into_iter().filter(|one| !one.lifts.is_empty() && !known.contains(&one.id));
            worst.approvals.extend(counts);
            glass::join(&mut worst, second.break_glass);
        }
        worst.server_dry_run = answers;
        glass::tell(&mut worst);
        Conclusion { report: worst, approvals, glass, spending, rolling, images }
    }

    /// What hides secrets: it has seen every Secret of the stream, of the last manifest and of the cluster, whether anything
    /// refers to it or not.
    fn redactor(&self) -> Redactor {
        let &Self { question, world, rendered, resolution, .. } = self;
        let all = || {
            // An old render is its own base.
            let base = Some(&world.base.objects).filter(|base| !base.is_same(&world.live));
            let sides = [Some(&rendered.objects), Some(&world.live), base];
            sides.into_iter().flatten().flat_map(|side| side.objects().iter())
        };
        let late = resolution.reports.iter().filter_map(|report| report.value.as_deref());
        let placeholders = question.policy.late_values.iter().flat_map(|value| &value.placeholders).map(String::as_str);
        let names =
            all().flat_map(|object| [Some(object.key.name.as_str()), object.key.namespace.as_deref()]).flatten();
        let mut redactor = Redactor::new(&question.key)
            .with_patterns(question.policy.redact.iter().map(String::as_str))
            .with_shown(question.policy.show.iter().map(String::as_str))
            .with_names(names.chain(late).chain(placeholders));
        resolution.secrets.iter().for_each(|secret| redactor.remember(secret));
        let mut secrets: Vec<&Object> = all().filter(|object| object.key.is_secret()).collect();
        let mut seen: HashSet<(&Key, &[u8])> = HashSet::default();
        // Most Secrets stand on several sides with one text.
        secrets.retain(|object| object.text().is_none_or(|text| seen.insert((&object.key, text))));
        redactor.learn_all(&secrets);
        redactor
    }

    fn judge_one(&self, mut prediction: Prediction) -> Conclusion {
        let &Self { question, world, rules, rendered, resolution } = self;
        let mut pairs: Vec<Pair> = std::mem::take(&mut prediction.pairs);
        let answered = std::mem::take(&mut prediction.answered);
        let view = world.view();
        let once = judge::Once::default();
        let scene = Scene { world, view: &view, rendered: &rendered.objects, once: &once, way: prediction.way };
        let mut upgrade = None;
        let mut classified: Classified = if question.upgrade.is_empty() {
            judge::classify(&mut pairs, std::mem::take(&mut prediction.again), &scene, rules)
        } else {
            let foreseen = judge::upgrade::foresee(&scene, rules, &question.upgrade);
            prediction.compared = foreseen.asked;
            prediction.doubts.extend(foreseen.unread);
            prediction.controllers = foreseen.unseen;
            upgrade = Some(foreseen.upgrade);
            pairs = foreseen.pairs;
            foreseen.classified
        };
        locate(&mut pairs, &rendered.objects, &question.files);
        let live = set_back::live(question, &pairs);
        // From here on nothing secret is left in what can be said, nor in what the digest is taken over.
        let mut redactor = self.redactor();
        redactor.pairs(&mut pairs);
        let (groups, written) = (Groups::default(), Written::default());
        let digest = self.digest((&pairs, &written), &classified, &view, &redactor, upgrade.as_ref());
        let answers = (!answered.is_empty()).then(|| DryRunReport::of(answered, &mut redactor));
        mark_symbols(&mut pairs, &resolution.symbolic);
        let (mut doubts, mut warnings) = (prediction.doubts, prediction.warnings);
        let (unseen, apart) = (&question.policy.unseen, &question.apart);
        let is_judged = |one: &Unread| !one.keys.is_empty() && one.keys.iter().all(|key| apart.judged.contains(key));
        let mut carried: Vec<Unread> = prediction.carried.into_iter().filter(|one| !is_judged(one)).collect();
        carried.extend(apart.unread.iter().cloned());
        let unowned = world.standing.unread.clone();
        for (answer, found) in
            [(unseen.inside, carried), (unseen.controllers, prediction.controllers), (unseen.ownership, unowned)]
        {
            match answer {
                Doubt::Undecided => doubts.extend(found),
                // Of an upgrade that nobody knows somebody hears in any case.
                Doubt::Allow if upgrade.is_none() => {}
                Doubt::Warn | Doubt::Allow => {
                    warnings.extend(found.iter().map(|one| format!("{}: {}", one.what, one.why)));
                }
            }
        }
        let judged = Judged {
            groups: &groups,
            written: &written,
            checks: &Checks::default(),
            expected: &Expectations::default(),
            pairs: &pairs,
            classified: &classified,
            world,
            view: &view,
            rendered: &rendered.objects,
            doubts: &doubts,
            policy: &question.policy,
            digest: &digest.hash,
        };
        let images = gate::addresses(&judged);
        let rolling = live.map(|live| set_back::stays(gate::rolling(&judged), live)).unwrap_or_default();
        let mut held = gate::ask(&judged);
        let together = gate::together(&judged);
        let clusters = approval::clusters(&judged);
        let shown = |text: &str| report::escape::line(&redactor.text(text)).into_owned();
        let asked = ToApprove { digest: &digest.hash, key: digest.key.as_deref(), clusters: &clusters, shown: &shown };
        let Approved { reports: approvals, used } = approval::lift(&judged, &mut held, &asked);
        let mut reasons = resolution.reasons.clone();
        let home = world.host.namespace.as_deref();
        let source = &question.policy_report.source;
        reasons.extend(approval::written(&question.policy, source, &rendered.objects, home));
        reasons.extend(budget::written(&question.policy, &rendered.objects, home));
        reasons.extend(held);
        let spending = budget::spending(&judged);
        let (break_glass, glass) = match &question.break_glass {
            Some(wish) => glass::lift(&judged, &mut reasons, &asked, wish),
            None => (None, None),
        };
        gate::rank(&mut reasons);
        reasons.iter_mut().for_each(Reason::lead_on);
        if prediction.compared == 0 && pairs.is_empty() {
            let nothing = match &upgrade {
                None => "no Cluster API object in this stream: nothing was compared",
                Some(_) => "no owner of Machines was read, so the upgrade was compared with nothing",
            };
            classified.warnings.push(nothing.to_owned());
        }
        warnings.extend(resolution.warnings.iter().cloned());
        let mut findings = prediction.findings;
        findings.extend(resolution.findings.iter().cloned());
        let mut report = report::build(Parts {
            pairs: &pairs,
            digest,
            clusters,
            approvals,
            break_glass,
            classified,
            together,
            findings,
            warnings,
            reasons,
            late_values: resolution.reports.clone(),
            policy: question.policy_report.clone(),
            is_upgrade: upgrade.is_some(),
            world,
            compared: prediction.compared,
            passed: prediction.passed,
            nameless: rendered.nameless.len(),
        });
        (report.server_dry_run, report.upgrade) = (answers, upgrade);
        report::complete(&mut report, &rendered.objects, &question.files);
        report.each_text(|text| *text = redactor.text(text));
        report::ignore(&mut report, &question.policy.ignore);
        let count = pairs.len();
        parallel::discard(pairs, count);
        Conclusion { report, approvals: used, glass, spending, rolling, images }
    }

    /// What affects Machines, as a hash.
    fn digest(
        &self,
        (pairs, written): (&[Pair], &Written),
        classified: &Classified,
        view: &dyn View,
        redactor: &Redactor,
        upgrade: Option<&Upgrade>,
    ) -> report::Digest {
        let Question { key, key_lasts, .. } = self.question;
        let id = key.id();
        let name = if *key_lasts { id.as_str() } else { "this-run" };
        let pending = |owner: &Key| {
            let pair = written.of(pairs, owner).next().and_then(|pair| pair.predicted.as_ref());
            let live = || view.get(owner).object().and_then(|object| object.value().ok());
            let mut spec = match pair {
                Some(predicted) => predicted.get("spec")?.clone(),
                None => live()?.get("spec")?.clone(),
            };
            // How many Machines there are is not why they are replaced, and moves by itself.
            spec.as_object_mut().map(|spec| spec.remove("replicas"));
            Some(redactor.value(owner, &Path::root().key("spec"), None, &spec))
        };
        let is_own = |mark: &str| redactor.has_made(mark);
        let marks = report::Marks { key, name, recorded: &self.world.marks, is_own: &is_own };
        // What was approved of one version is not approved of another.
        let steps = upgrade.iter().flat_map(|upgrade| &upgrade.providers);
        let mut beside: Vec<(&str, String)> = steps.map(|step| ("upgrade", step.to_string())).collect();
        let owners = classified.rollouts.iter().map(|rollout| &rollout.owner);
        let new = arrivals::led_to(pairs, owners, view);
        beside.extend(new.into_iter().map(|(key, holds)| {
            ("new", format!("{key} {}", canonical(&redactor.value(key, &Path::root(), None, &holds))))
        }));
        report::digest(pairs, &classified.rollouts, &beside, &pending, marks)
    }
}

/// What makes one report worse than another: its decision, then its effect, then how many Machines it takes.
fn severity(report: &Report) -> (Decision, Effect, u64) {
    let machines = counted(&report.rollouts).filter_map(|rollout| rollout.machines).sum();
    (report.decision, report.effect, machines)
}

/// Finds out where each object and each of its changes stand in what was rendered.
fn locate(pairs: &mut [Pair], rendered: &Inventory, files: &Files) {
    // A document that is a `List` stands for all of its items.
    let by_line: HashMap<usize, &Object> = rendered.objects().iter().map(|object| (object.line, object)).collect();
    parallel::each(pairs, |pair| {
        let Some(object) = by_line.get(&pair.line).filter(|_| pair.line > 0) else { return };
        let mut places = Origins::of(object, files);
        pair.at = Some(places.start());
        for change in &mut pair.changes {
            change.at = Some(places.find(&change.path, pair.predicted.as_ref()));
        }
    });
}

/// Marks the changes whose new side still stands for a late value that is not known.
fn mark_symbols(pairs: &mut [Pair], symbolic: &[late::Symbolic]) {
    if symbolic.is_empty() {
        return;
    }
    for change in pairs.iter_mut().flat_map(|pair| &mut pair.changes) {
        let texts = change.before.as_ref().and_then(Value::as_str).zip(change.after.as_ref().and_then(Value::as_str));
        let symbol = symbolic.iter().find(|symbol| match texts {
            // Where it stands on both sides it is no change, and what else differs is one whatever it becomes.
            Some((before, after)) if symbol.reaches(before) => symbol.equates(before, after),
            Some((before, after)) => symbol.reaches(after) || symbol.equates(before, after),
            None => change.after.as_ref().is_some_and(|after| symbol.reaches_into(after)),
        });
        change.symbol = symbol.map(|symbol| symbol.name.clone());
    }
}
