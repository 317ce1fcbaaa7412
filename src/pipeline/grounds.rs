//! Judges one prediction: its pairs are classified, hidden, put before the gates, and told in a report.

use super::arrivals;
use super::conclusion::Conclusion;
use super::{Question, set_back};
use crate::apiserver::fields::canonical;
use crate::compare::Pair;
use crate::compare::redact::Redactor;
use crate::gate::approval::{self, Approved, ToApprove};
use crate::gate::{self, Checks, Expectations, Groups, Judged, Written, budget, glass};
use crate::hashed::{HashMap, HashSet};
use crate::host::{self, Prediction};
use crate::judge::{self, Scene};
use crate::late;
use crate::model::{Classified, Reason, Upgrade};
use crate::object::{Files, Inventory, Key, Object, Origins, Path, Stream, View};
use crate::parallel;
use crate::policy::Doubt;
use crate::report::{self, DryRunReport, Parts};
use crate::rules::Rules;
use crate::tree::Value;
use crate::world::{Unread, World};

/// Everything that a prediction is judged with.
pub(super) struct Grounds<'a> {
    pub(super) question: &'a Question,
    pub(super) world: &'a World,
    pub(super) rules: &'a Rules,
    pub(super) rendered: &'a Stream,
    pub(super) resolution: &'a late::Resolution<'a>,
}

impl Grounds<'_> {
    /// Judges a prediction; where there are several because the host is not known or the API server was asked, the worst
    /// one counts.
    pub(super) fn judge(&self, mut prediction: Prediction) -> Conclusion {
        let others = std::mem::take(&mut prediction.others);
        let mut out = self.judge_one(prediction);
        out.report.server_dry_run = self.world.answers.as_ref().map(|_| DryRunReport::default());
        for other in others {
            let by_server = !other.answered.is_empty();
            out.join(self.judge_one(other), by_server);
        }
        glass::tell(&mut out.report);
        out
    }

    /// Judges one of them.
    fn judge_one(&self, mut prediction: Prediction) -> Conclusion {
        let &Self { question, world, rendered, resolution, .. } = self;
        let view = world.view();
        let once = judge::Once::default();
        let scene = Scene { world, view: &view, rendered: &rendered.objects, once: &once, way: prediction.way };
        let (mut pairs, mut classified, upgrade) = self.classified(&mut prediction, &scene);
        locate(&mut pairs, &rendered.objects, &question.files);
        let live = set_back::live(question, &pairs);
        // From here on nothing secret is left in what can be said, nor in what the digest is taken over.
        let mut redactor = self.redactor();
        redactor.pairs(&mut pairs);
        let (groups, written) = (Groups::default(), Written::default());
        let digest = self.digest((&pairs, &written), &classified, &view, &redactor, upgrade.as_ref());
        let answered = std::mem::take(&mut prediction.answered);
        let answers = (!answered.is_empty()).then(|| DryRunReport::of(answered, &mut redactor));
        mark_symbols(&mut pairs, &resolution.symbolic);
        let (doubts, mut warnings) = self.doubts(&mut prediction, upgrade.is_some());
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
        let together = gate::together(&judged);
        let spending = budget::spending(&judged);
        let clusters = approval::clusters(&judged);
        let shown = |text: &str| report::escape::line(&redactor.text(text)).into_owned();
        let asked = ToApprove { digest: &digest.hash, key: digest.key.as_deref(), clusters: &clusters, shown: &shown };
        let (mut reasons, Approved { reports: approvals, used }) = self.reasons(&judged, &asked);
        let (break_glass, glass) = match &question.break_glass {
            Some(wish) => glass::lift(&judged, &mut reasons, &asked, wish),
            None => (None, None),
        };
        gate::rank(&mut reasons);
        reasons.iter_mut().for_each(Reason::lead_on);
        if prediction.compared == 0 && pairs.is_empty() {
            classified.warnings.push(nothing_compared(upgrade.is_some()).to_owned());
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

    /// The pairs with what each change does; of an upgrade of providers, where nothing is written, the owners that it reaches.
    fn classified(&self, prediction: &mut Prediction, scene: &Scene<'_>) -> (Vec<Pair>, Classified, Option<Upgrade>) {
        let Question { upgrade: wanted, .. } = self.question;
        if wanted.is_empty() {
            let mut pairs = std::mem::take(&mut prediction.pairs);
            let again = std::mem::take(&mut prediction.again);
            let forced = host::Forced::of(self.world, &self.rendered.objects, &self.question.apart.forced, &pairs);
            let as_sent = forced.as_ref().map(|_| (pairs.clone(), again.clone()));
            let classified = judge::classify(&mut pairs, again, scene, self.rules);
            // What is refused then goes and comes anew, which is judged in its place.
            if let Some((as_sent, again)) = as_sent
                && let Some(forced) = forced
                && let Some((mut anew, findings)) = forced.after(&as_sent, &pairs)
            {
                let mut classified = judge::classify(&mut anew, again, scene, self.rules);
                forced.settle(&mut anew, &mut classified);
                prediction.findings.extend(findings);
                return (anew, classified, None);
            }
            return (pairs, classified, None);
        }
        let foreseen = judge::upgrade::foresee(scene, self.rules, wanted);
        prediction.compared = foreseen.asked;
        prediction.doubts.extend(foreseen.unread);
        prediction.controllers = foreseen.unseen;
        (foreseen.pairs, foreseen.classified, Some(foreseen.upgrade))
    }

    /// What could not be read or predicted: what leaves the write undecided, and what the policy only wants to hear of.
    fn doubts(&self, prediction: &mut Prediction, is_upgrade: bool) -> (Vec<Unread>, Vec<String>) {
        let (mut doubts, mut warnings) =
            (std::mem::take(&mut prediction.doubts), std::mem::take(&mut prediction.warnings));
        let (unseen, apart) = (&self.question.policy.unseen, &self.question.apart);
        let is_judged = |one: &Unread| !one.keys.is_empty() && one.keys.iter().all(|key| apart.judged.contains(key));
        let mut carried = std::mem::take(&mut prediction.carried);
        carried.retain(|one| !is_judged(one));
        carried.extend(apart.unread.iter().cloned());
        let controllers = std::mem::take(&mut prediction.controllers);
        let unowned = self.world.standing.unread.clone();
        for (answer, found) in
            [(unseen.inside, carried), (unseen.controllers, controllers), (unseen.ownership, unowned)]
        {
            match answer {
                Doubt::Undecided => doubts.extend(found),
                // Of an upgrade that nobody knows somebody hears in any case.
                Doubt::Allow if !is_upgrade => {}
                Doubt::Warn | Doubt::Allow => {
                    warnings.extend(found.iter().map(|one| format!("{}: {}", one.what, one.why)));
                }
            }
        }
        (doubts, warnings)
    }

    /// The answers of the late values and of the gates, with what people have approved of these.
    fn reasons(&self, judged: &Judged<'_>, asked: &ToApprove<'_>) -> (Vec<Reason>, Approved) {
        let &Self { question, world, rendered, resolution, .. } = self;
        let mut held = gate::ask(judged);
        let approved = approval::lift(judged, &mut held, asked);
        let mut reasons = resolution.reasons.clone();
        let (home, source) = (world.host.namespace.as_deref(), &question.policy_report.source);
        reasons.extend(approval::written(&question.policy, source, &rendered.objects, home));
        reasons.extend(budget::written(&question.policy, &rendered.objects, home));
        reasons.extend(held);
        (reasons, approved)
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

/// What is said where nothing was compared at all.
const fn nothing_compared(is_upgrade: bool) -> &'static str {
    if is_upgrade {
        "no owner of Machines was read, so the upgrade was compared with nothing"
    } else {
        "no Cluster API object in this stream: nothing was compared"
    }
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
