//! What of a change waits: Machines that are made, deleted or replaced only when a pause or another block ends, or when a time has come.

use jiff::Timestamp;

use super::owner::Assessment;
use super::plain_owner::pools_of;
use super::replicas;
use super::selector;
use super::subject::Subject;
use super::verdict::Answer;
use super::waiting::pause;
use super::waiting::side::Side;
use crate::kinds::Role;
use crate::kinds::contract::REPLICAS_MANAGED_BY;
use crate::kinds::fields::{is_autoscaled, number, target, wanted};
use crate::model::{Act, Effect, Hold, RuleId, hold_of, plural_is};
use crate::object::{Key, Path};
use crate::providers::kind;
use crate::tree::Value;

impl Subject<'_> {
    /// The answer about the number of Machines.
    pub(super) fn by_replicas(&self, path: &Path) -> Option<Answer> {
        let owner = self.key.known.owner?;
        let taken_over = replicas::taken_over(self.stage, self.key, self.old, self.new);
        let is_mark = path.is(&["metadata", "annotations", REPLICAS_MANAGED_BY]);
        let old = taken_over.as_ref().filter(|_| is_mark).unwrap_or(self.old);
        let counts = path.is(&["spec", "replicas"]);
        if counts && let Some(answer) = selector::runs_away(self.stage, self.key, self.new) {
            return Some(answer);
        }
        if counts && replicas::goes_elsewhere(self.stage, self.key, self.new) {
            return Some(self.number_of_elsewhere(owner.replicas));
        }
        if let Some(who) = self.chooses_the_number(counts, is_mark).filter(|_| self.stage.is_of_renders()) {
            let because = format!(
                "{who} chose the number until now, and an old render does not say how many Machines there are, so some of them may be \
                 deleted; compare with the cluster (--live cluster)"
            );
            return Some(Answer::known(self.stage.rules, Effect::Unknown, owner.replicas).saying(because));
        }
        if !(counts || is_mark && taken_over.is_some()) {
            return None;
        }
        let answer = replicas::answer(self.stage.rules, owner.replicas, self.key.known.keeps, (old, self.new));
        if answer.effect == Effect::None {
            return Some(answer);
        }
        let says = wanted(self.new, Some(old));
        let falls = says < wanted(old, None);
        if let Some(because) = replicas::rounded(self.stage, self.key, self.new, says).filter(|_| falls) {
            return Some(Answer { effect: Effect::Unknown, ..answer.saying(because) });
        }
        let Some(hold) = self.hold(if falls { Act::Fewer } else { Act::Make }) else { return Some(answer) };
        let because = hold.tells(&answer.because);
        Some(answer.held(because))
    }

    /// Who chose the number of Machines until this write, where nobody does after it.
    fn chooses_the_number(&self, counts: bool, is_mark: bool) -> Option<&'static str> {
        let says = |side: &Value| number(side, "/spec/replicas").is_some();
        if counts && is_autoscaled(self.old) && !says(self.old) && says(self.new) {
            return Some("an autoscaler");
        }
        let is_handed_back = is_mark && replicas::is_managed(self.old) && !replicas::is_managed(self.new);
        is_handed_back.then_some("something outside of Cluster API")
    }

    /// What the controllers of an owner leave alone for now: those of providers look at the same pauses (`util/annotations`, IsPaused).
    pub(super) fn unless_paused(&self, answer: Answer) -> Answer {
        let act = match answer.effect {
            Effect::Rollout => Act::Replace,
            Effect::Scale => Act::Fewer,
            _ => return answer,
        };
        let Some(hold) = self.hold(act) else { return answer };
        let because = hold.tells(&answer.because);
        answer.held(because)
    }

    /// A rollout of what lies behind a pool, where its provider replaces nothing while something else manages how many there are.
    pub(super) fn unless_managed(&self, answer: Answer) -> Answer {
        if answer.effect != Effect::Rollout || self.key.known.rests_when_managed.is_none() {
            return answer;
        }
        // The infrastructure may be written before its pool, so a mark that comes or goes with this write is none.
        let is_managed = |pool: &Key| {
            let sides = [self.stage.before(pool), self.stage.after(pool)];
            sides.into_iter().all(|side| side.is_some_and(|pool| replicas::is_managed(&pool)))
        };
        let pools = pools_of(self.stage, self.key);
        let Some(pool) = pools.first().filter(|_| pools.iter().all(is_managed)) else { return answer };
        let because = format!(
            "{pool} has {REPLICAS_MANAGED_BY}, with which its provider replaces nothing; only what is made later has it, until the annotation goes"
        );
        Answer { effect: Effect::Latent, ..answer.saying(because) }
    }

    /// The answer about a pool that is no longer managed from outside, where its provider replaced nothing as long as it was.
    pub(super) fn by_handing_back(&self, path: &Path) -> Option<Answer> {
        let is_mark = path.is(&["metadata", "annotations", REPLICAS_MANAGED_BY]);
        if !is_mark
            || self.key.known.role != Role::Pool
            || !replicas::is_managed(self.old)
            || replicas::is_managed(self.new)
        {
            return None;
        }
        let reference = self.new.pointer("/spec/template/spec/infrastructureRef")?;
        let infrastructure = target(reference, self.key.namespace.as_deref())?;
        let is_up_to_date = kind(&infrastructure).rests_when_managed?;
        let mut hosts = self.stage.scene.view.owned_by(&infrastructure).peekable();
        // One that cannot be read may be out of date.
        if hosts.peek().is_some() && hosts.all(|host| host.value().is_ok_and(|host| is_up_to_date(&host))) {
            return None;
        }
        let because = format!(
            "while this annotation stood, the provider of {infrastructure} replaced nothing; what is out of date by now is replaced from now on"
        );
        Some(Answer::known(self.stage.rules, Effect::Unknown, RuleId::of("waiting/unpaused")).saying(because))
    }

    /// What keeps the controllers of the object from an act after the write.
    fn hold(&self, act: Act) -> Option<Hold> {
        if let Some(assessment) = self.assessment {
            return assessment.held(act).cloned();
        }
        let cluster = self.stage.cluster_of(self.key, self.new);
        let holds = pause::of_object(Side::after(self.stage), self.key, self.new, cluster.as_ref());
        hold_of(&holds, act).cloned()
    }

    /// The answer about the number of a pool that somebody else chooses.
    fn number_of_elsewhere(&self, rule: RuleId) -> Answer {
        let falls = wanted(self.new, Some(self.old)) < wanted(self.old, None);
        match replicas::written_along(self.stage, self.key, self.new).filter(|_| falls) {
            Some(infrastructure) => {
                let because = format!(
                    "{infrastructure} changes with this write, and its controller may write this number with that change before it \
                     takes over the one that is chosen elsewhere, so Machines may be deleted; change one after the other"
                );
                Answer::known(self.stage.rules, Effect::Unknown, rule).saying(because)
            }
            None => Answer::known(self.stage.rules, Effect::None, RuleId::of("mp/replicas-elsewhere")),
        }
    }

    /// The answer about the end of a cloud's own scaling: from now on the number that the pool says counts.
    pub(super) fn by_switching_off(&self, path: &Path) -> Option<Answer> {
        let scales = self.key.known.scales_itself.filter(|_| path.starts_with(&["spec", "scaling"]))?;
        if !scales(self.old, None) || scales(self.new, None) {
            return None;
        }
        let is_of_renders = self.stage.is_of_renders();
        let unknown =
            |because| Answer::known(self.stage.rules, Effect::Unknown, RuleId::of("mp/replicas")).saying(because);
        let pools = pools_of(self.stage, self.key);
        if pools.is_empty() {
            let because =
                "the cloud chose the number until now, and the MachinePool that does from now on was not read";
            return Some(unknown(because.to_owned()));
        }
        pools.iter().find_map(|pool| {
            let (old, new) = (self.stage.before(pool)?, self.stage.after(pool)?);
            let runs =
                number(&old, "/status/replicas").or_else(|| number(&old, "/spec/replicas").filter(|_| !is_of_renders));
            let (says, now) = (wanted(&new, Some(&old)), runs.map(|runs| format!(", where {runs} run now")));
            if runs.is_some_and(|runs| runs <= says) {
                return None;
            }
            let now = now.unwrap_or_else(|| {
                ", and an old render does not say how many run; compare with the cluster (--live cluster)".to_owned()
            });
            let because =
                format!("the cloud chose the number until now, and from now on {pool} does, which says {says}{now}");
            Some(unknown(because))
        })
    }

    /// The answer about a time to roll after that makes no Machine out of date now: called off, over and every Machine is
    /// younger, or still to come, which nobody is asked about when it does.
    pub(super) fn by_clock(&self, assessment: &Assessment) -> Option<Answer> {
        let rule = assessment.mirror.rules().after?;
        let known = |because: &str| Some(Answer::known(self.stage.rules, Effect::None, rule).saying(because));
        let place = assessment.mirror.clock();
        match place.iter().try_fold(&assessment.new, |value, key| value.get(*key)).and_then(Value::as_str) {
            None => known("without a time nothing is replaced because of its age"),
            Some(time) if time.parse::<Timestamp>().is_ok_and(|time| time <= self.stage.scene.world.now) => {
                known("the time has passed, and everything is younger, so nothing is replaced")
            }
            Some(_) if assessment.units.iter().all(|unit| unit.count == 0) => None,
            Some(_) => {
                let because = "the time is still to come; every older Machine is replaced once it has passed";
                Some(Answer::known(self.stage.rules, Effect::Rollout, rule).held(because))
            }
        }
    }

    /// A rollout that waits is latent.
    pub(super) fn unless_waiting(&self, assessment: &Assessment, answer: Answer) -> Answer {
        let Some(hold) = assessment.held(Act::Replace) else { return answer };
        let count: u64 = assessment.newly().chain(assessment.pending()).map(|unit| unit.count).sum();
        let then = format!("{} replaced", plural_is(count, "Machine"));
        let because = hold.tells_of(&answer.because, &then);
        answer.held(because)
    }
}
