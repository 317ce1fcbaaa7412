//! The look-ups of a webhook, as its provider says them: it reads other objects of the cluster while it admits one, and refuses where
//! what it wants is not there. `judge/around.rs` answers them.

use super::webhook::{Refusal, refuse};
use crate::model::RuleId;
use crate::object::{Key, Path};
use crate::tree::Value;

/// What is known of an object that a webhook looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookedUp {
    /// It is there when the write is admitted.
    There,
    /// This run writes it, after the write is admitted.
    Later,
    /// This run writes it or takes it away, and nobody knows which of the two writes comes first.
    Unclear,
    /// It is not there.
    Missing,
    /// Not all of its kind were read.
    Unread,
}

/// The cluster as a webhook sees it while it admits a write.
pub trait Around {
    /// Looks for an object of a kind; each is shown in the superset form.
    fn look_up(&self, group: &str, kind: &str, wanted: &dyn Fn(&Key, &Value) -> bool) -> LookedUp;

    /// Whether all that was read is an old render, which shows nothing that controllers make.
    fn is_render(&self) -> bool {
        false
    }
}

/// When a webhook refuses because of what it looks up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refuses {
    /// Where it is not there.
    Missing,
    /// Where it is.
    There,
}

/// One thing that a webhook looks up.
#[derive(Debug, Clone)]
pub struct LookUp {
    /// What it found.
    pub found: LookedUp,
    /// When it refuses.
    pub refuses: Refuses,
    /// Id of the cause, where it refuses.
    pub rule: RuleId,
    /// The place that makes it look, in the superset form.
    pub path: Path,
    /// What it looks for, as in `a MachinePool that names it`.
    pub wanted: String,
}

/// What the webhook refuses for sure, and what it may refuse because nobody knows what it finds.
#[must_use]
pub(crate) fn outcome(looked_up: Vec<LookUp>) -> (Vec<Refusal>, Vec<Refusal>) {
    let (mut refused, mut unsure) = (Vec::new(), Vec::new());
    for LookUp { found, refuses, rule, path, wanted } in looked_up {
        let mut refused = |tail| refuse(&mut refused, rule, &path, "", format!("it looks for {wanted}{tail}"));
        let mut doubt = |tail| {
            let message = format!("the webhook looks for {wanted}, and {tail}, so the write may be refused half-way");
            unsure.push(Refusal { rule, path: path.clone(), message });
        };
        match (found, refuses) {
            (LookedUp::There, Refuses::Missing) | (LookedUp::Missing, Refuses::There) => {}
            (LookedUp::There, Refuses::There) => refused(", and there is one"),
            (LookedUp::Later, Refuses::Missing) => refused(", which is written after it"),
            (LookedUp::Missing, Refuses::Missing) => refused(", and there is none"),
            (LookedUp::Later | LookedUp::Unclear, _) => {
                doubt("this run writes that too, in an unknown order (write that one first, in a run of its own)");
            }
            (LookedUp::Unread, _) => doubt("it was not read whether there is one"),
        }
    }
    (refused, unsure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_refuses_nothing_for_sure() {
        let found = [LookedUp::There, LookedUp::Later, LookedUp::Missing, LookedUp::Unclear, LookedUp::Unread];
        let look_up = |found| LookUp {
            found,
            refuses: Refuses::Missing,
            rule: RuleId::of("gate/off"),
            path: Path::root().key("spec"),
            wanted: "a MachinePool that names it".to_owned(),
        };
        let (refused, unsure) = outcome(found.map(look_up).to_vec());
        assert_eq!((refused.len(), unsure.len()), (2, 2));
        assert_eq!(
            refused[0].message,
            "the webhook refuses it: it looks for a MachinePool that names it, which is written after it"
        );
    }
}
