//! What a write lets go among the Machines of one owner: work that was held back before it, and is not any more.

use crate::impact;
use crate::judge::owner::Assessment;
use crate::kinds::fields;
use crate::model::Rollout;
use crate::model::Unit;
use crate::model::{Act, Hold, Places, hold_of};
use crate::model::{Basis, Effect};
use crate::model::{RuleId, plural_is};
use crate::object::{Key, is_deleting};
use crate::tree::Value;

/// Work on the Machines of one owner that starts with this write.
#[derive(Debug, Clone)]
pub(in crate::judge) struct Lifted {
    /// Whose Machines.
    pub(in crate::judge) owner: Key,
    /// What happens to them.
    pub(in crate::judge) effect: Effect,
    /// What happens to them as soon as something else ends that holds it back.
    pub(in crate::judge) waits: Option<Effect>,
    /// The rule that it is told under.
    pub(in crate::judge) rule: RuleId,
    /// One sentence.
    pub(in crate::judge) because: String,
    /// Objects and fields whose change let it go.
    pub(in crate::judge) places: Places,
    /// The weight, an entry an owner; none where nothing is replaced or deleted.
    pub(in crate::judge) rollouts: Vec<Rollout>,
}

/// What starts among the Machines of an owner; `None` where nothing was held back that is not held back now.
#[must_use]
pub(in crate::judge) fn by_owner(key: &Key, assessment: &Assessment) -> Option<Lifted> {
    let acts = [Act::Delete, Act::Replace, Act::Fewer, Act::Make];
    let lifted = |act: Act| -> Option<&Hold> {
        hold_of(&assessment.held, act).is_none().then(|| hold_of(&assessment.was_held, act)).flatten()
    };
    let first = acts.into_iter().find_map(lifted)?;
    let work = Work::of(assessment);
    let all: Vec<(&Hold, Effect, String)> = acts
        .into_iter()
        .filter_map(|act| {
            let (hold, (effect, words)) = (lifted(act)?, work.by(act)?);
            Some((hold, effect, words))
        })
        .collect();
    let (hold, effect) = all
        .iter()
        .max_by_key(|(_, effect, _)| *effect)
        .map_or((first, Effect::None), |(hold, effect, _)| (*hold, *effect));
    let words: Vec<&str> = all.iter().map(|(_, _, words)| words.as_str()).collect();
    let words = if words.is_empty() {
        "; nothing was waiting for that".to_owned()
    } else {
        format!(", so {}", words.join("; "))
    };
    let places = assessment
        .was_held
        .iter()
        .filter(|was| !assessment.held.iter().any(|held| held.why == was.why && held.places == was.places))
        .flat_map(|was| was.places.clone())
        .collect();
    Some(Lifted {
        owner: key.clone(),
        effect,
        waits: None,
        rule: hold.why.rule(),
        because: format!("{}{words}", hold.ended()),
        places,
        rollouts: work.weight(key, assessment, all.iter().map(|(_, effect, _)| *effect)).into_iter().collect(),
    })
}

/// What an owner's controller has to do on its Machines, as it was before the write.
struct Work<'a> {
    /// Whether its Machines could be read.
    is_known: bool,
    is_deleting: bool,
    pending: Vec<&'a Unit>,
    /// Machines that are there, and that are wanted.
    count: u64,
    wanted: u64,
}

impl<'a> Work<'a> {
    fn of(assessment: &'a Assessment) -> Self {
        Self {
            is_known: assessment.basis == Basis::Machines || assessment.is_bare,
            is_deleting: is_deleting(&assessment.old),
            pending: assessment.pending().collect(),
            count: if assessment.is_bare { 0 } else { assessment.count() },
            // What the write wants more counts too: nothing that it wants is too many.
            wanted: fields::wanted(&assessment.old, None).max(fields::wanted(&assessment.new, None)),
        }
    }

    fn pending(&self) -> u64 {
        self.pending.iter().map(|unit| unit.count).sum()
    }

    /// What is to be done of an act, in words; `None` where nothing is.
    fn by(&self, act: Act) -> Option<(Effect, String)> {
        match act {
            Act::Delete => self.is_deleting.then(|| {
                (Effect::Delete, format!("its deletion goes on: {} deleted with it", plural_is(self.count, "Machine")))
            }),
            _ if self.is_deleting => None,
            // Nothing takes the place of what goes.
            Act::Replace if self.wanted == 0 => None,
            Act::Replace if !self.is_known => Some((
                Effect::Rollout,
                "outdated Machines are replaced, and which ones is unknown, as the Machines could not be read"
                    .to_owned(),
            )),
            Act::Replace => (self.pending() > 0).then(|| {
                let count = self.pending().min(self.wanted);
                (Effect::Rollout, format!("{} replaced", plural_is(count, "outdated Machine")))
            }),
            Act::Fewer => (self.is_known && self.count > self.wanted).then(|| {
                let count = self.count - self.wanted;
                let effect = if self.wanted == 0 { Effect::Delete } else { Effect::Scale };
                (effect, format!("{} deleted", plural_is(count, "surplus Machine")))
            }),
            Act::Make => (self.is_known && self.count < self.wanted).then(|| {
                let count = self.wanted - self.count;
                (Effect::Scale, format!("{} made", plural_is(count, "missing Machine")))
            }),
            Act::Remedy => None,
        }
    }

    /// The weight of all that starts: that of the worst, with the Machines that go beside it.
    fn weight(&self, key: &Key, assessment: &Assessment, effects: impl Iterator<Item = Effect>) -> Option<Rollout> {
        let mut all: Vec<Rollout> = effects.filter_map(|effect| self.rollout(key, assessment, effect)).collect();
        all.sort_by_key(|rollout| std::cmp::Reverse(rollout.effect));
        let mut all = all.into_iter();
        let mut worst = all.next()?;
        for other in all.filter(|_| worst.effect != Effect::Delete) {
            // Machines out of date are the first to go where some are too many.
            worst.machines = worst.machines.zip(other.machines).map(|(one, other)| one.max(other)).or(worst.machines);
            worst.steps.extend(other.steps);
        }
        Some(worst)
    }

    /// The weight of what starts.
    fn rollout(&self, key: &Key, assessment: &Assessment, effect: Effect) -> Option<Rollout> {
        let of = |units: &[&Unit]| -> Vec<String> { units.iter().flat_map(|unit| unit.names.clone()).collect() };
        let all: Vec<&Unit> = assessment.units.iter().collect();
        let (machines, names, step) = match effect {
            Effect::Rollout if self.is_known => return impact::of(key, &assessment.weighed()),
            Effect::Rollout => (None, Vec::new(), "replaces the Machines that waited for it".to_owned()),
            Effect::Delete => (Some(self.count), of(&all), impact::deletes_all(self.count)),
            Effect::Scale if self.count > self.wanted => {
                let count = self.count - self.wanted;
                (Some(count), Vec::new(), format!("deletes {count} of {} Machines", self.count))
            }
            _ => return None,
        };
        Some(Rollout {
            owner: key.clone(),
            cluster: assessment.cluster.as_ref().map(|cluster| cluster.name.clone()).unwrap_or_default(),
            effect,
            replicas: Some(if effect == Effect::Delete { 0 } else { self.wanted }),
            present: None,
            machines,
            machine_names: names,
            max_surge: None,
            max_unavailable: None,
            course: None,
            steps: vec![step],
            causes: causes(&self.pending, &assessment.old),
        })
    }
}

/// Why the Machines wait, as paths.
fn causes(pending: &[&Unit], old: &Value) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for cause in pending.iter().flat_map(|unit| &unit.after) {
        let path = cause.path.to_string();
        if !out.contains(&path) {
            out.push(path);
        }
    }
    if out.is_empty() {
        out.push(if is_deleting(old) { "metadata.deletionTimestamp" } else { "spec.replicas" }.to_owned());
    }
    out
}
