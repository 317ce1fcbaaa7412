//! What the mirror of an owner answers about one of its fields: whether Machines are out of date for it, at once or by what it leaves over.

use super::owner::Assessment;
use super::subject::Subject;
use super::verdict::Answer;
use crate::kinds::diff;
use crate::model::{Effect, RuleId};
use crate::object::{Path, Segment};

impl Subject<'_> {
    /// The answer of the mirror, where the leaf has to do with it.
    pub(super) fn by_mirror(&self, assessment: &Assessment, path: &Path) -> Option<Answer> {
        let rules = self.stage.rules;
        let mirror = assessment.mirror;
        if let Some(template) = assessment.missing.as_ref().filter(|_| is_reference(path)) {
            return Some(Answer::known(rules, Effect::Unknown, RuleId::of("kcp/template-missing")).saying(format!(
                "{template} is not there: the controller stops with an error and reconciles nothing until it is, and then every Machine is replaced"
            )));
        }
        if let Some(doubt) = mirror.doubt(path, assessment.basis, &assessment.new) {
            return Some(Answer::known(rules, doubt.effect, doubt.rule));
        }
        if mirror.is_overruled(path, &assessment.old, &assessment.new) {
            return Some(Answer::known(rules, Effect::None, RuleId::of("schema/same-value")));
        }
        if let Some(cause) = assessment.causes().find(|cause| diff::touch(&cause.path, path)) {
            let answer = Answer::known(rules, Effect::Rollout, cause.rule);
            return Some(self.unless_waiting(assessment, answer));
        }
        if path.starts_with(mirror.clock())
            && let Some(answer) = self.by_clock(assessment)
        {
            return Some(answer);
        }
        if !mirror.compared().iter().any(|place| touches(path, place)) {
            return None;
        }
        let specs = assessment.of_specs(&self.stage.versions, self.stage.scene.world.now);
        let later = specs.iter().any(|cause| diff::touch(&cause.path, path));
        later.then(|| {
            let words = mirror.rules();
            let answer = Answer::known(rules, Effect::Latent, words.later);
            match words.later_says {
                Some(because) => answer.saying(because),
                None => answer,
            }
        })
    }

    /// The answer for a part of the configuration that no rule names and that makes no Machine out of date.
    pub(super) fn config_left_over(&self, assessment: &Assessment, path: &Path) -> Option<Answer> {
        let below = match path.segments() {
            [Segment::Key(spec), Segment::Key(key), ..] if spec == "spec" => key.as_str(),
            _ => return None,
        };
        let equal = assessment.mirror.rules().equal.filter(|_| assessment.mirror.is_config(below))?;
        Some(Answer::known(self.stage.rules, Effect::None, equal))
    }
}

/// Whether a path lies at or below a JSON pointer of plain keys, or above it.
fn touches(path: &Path, pointer: &str) -> bool {
    let mut both = path.segments().iter().zip(pointer.split('/').skip(1));
    both.all(|(segment, key)| matches!(segment, Segment::Key(own) if own == key))
}

/// Whether a path lies in the reference to the infrastructure template.
fn is_reference(path: &Path) -> bool {
    path.starts_with(&["spec", "machineTemplate", "spec", "infrastructureRef"])
}
