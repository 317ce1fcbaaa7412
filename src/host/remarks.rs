//! What is said about a run beside its pairs: doubts, warnings, and findings about how the host writes.

use serde_json::Value;

use super::predict::Run;
use super::write::Outcome;
use super::{merge, stream};
use crate::compare::changes;
use crate::object::{Key, Object};
use crate::report::Finding;
use crate::world::{BaseKind, Unread, WriteMethod};

impl Run<'_> {
    /// Says where an object is adopted and stays different from what its chart renders.
    pub(super) fn note_adoption(&mut self, outcome: &Outcome, key: &Key, rendered: &Value) {
        let Outcome::Holds { predicted, adopted: true, .. } = outcome else { return };
        if !changes(predicted, &merge::overlay(predicted, rendered)).is_empty() {
            self.out.findings.push(Finding {
                id: "adopted-unchanged".to_owned(),
                object: key.clone(),
                message: format!(
                    "{key} is adopted by the release and nothing is written to it, although it differs from what the \
                     chart renders"
                ),
            });
        }
    }

    /// Says what was found out about the run as a whole.
    pub(super) fn say(&mut self) {
        self.repeated();
        if self.reshaped > 0 {
            self.out.warnings.push(format!(
                "{} live objects are in another API version than the rendered ones and were compared after conversion",
                self.reshaped
            ));
        }
        if !self.homeless.is_empty() {
            self.out.doubts.push(Unread {
                what: "the namespace of objects that do not say one".to_owned(),
                why: format!(
                    "{} and {} more have none, and that of the release is not known",
                    self.homeless[0],
                    self.homeless.len() - 1
                ),
                remedy: "say --namespace".to_owned(),
                keys: std::mem::take(&mut self.homeless),
            });
        }
        if !self.blind.is_empty() {
            self.out.doubts.push(Unread {
                what: "removed fields and objects".to_owned(),
                why: "neither the last manifest nor managed fields are known, so what the host removes cannot be seen"
                    .to_owned(),
                remedy: "say --release and --namespace, or give --base FILE".to_owned(),
                keys: std::mem::take(&mut self.blind),
            });
        }
        if self.way.is_some() && self.world.base.kind == BaseKind::Unknown {
            self.out
                .warnings
                .push("the last manifest is not known: objects that the host deletes cannot be seen".to_owned());
        }
    }

    /// Says which keys stand in the stream more than once. The host writes each of them, one after the other, so that the
    /// controllers see what stands in between.
    fn repeated(&mut self) {
        let keys: Vec<Key> = self.sorted.doubles.iter().map(|key| (*key).clone()).collect();
        for key in keys {
            let all: Vec<&Object> = self.rendered.objects().iter().filter(|object| object.key == key).collect();
            let same = all.windows(2).all(|two| stream::same_text(two[0], two[1]));
            if same || self.was_repeated_before(&key, &all) {
                self.out.warnings.push(format!("{key} stands in the stream more than once; the last one wins"));
                continue;
            }
            self.out.doubts.push(Unread {
                what: format!("{key}, which stands in the stream more than once"),
                why: "the host writes one after the other, and controllers act on each of them".to_owned(),
                remedy: "render it once".to_owned(),
                keys: vec![key],
            });
        }
    }

    /// Whether the last manifest repeats a key with the very same texts, so that a patch between the two is empty but for
    /// what the first and the last of them differ in already.
    fn was_repeated_before(&self, key: &Key, all: &[&Object]) -> bool {
        let last = match self.way {
            None => &self.world.live,
            Some(WriteMethod::MergePatch) => &self.world.base.objects,
            Some(_) => return false,
        };
        let before: Vec<&Object> = last.objects().iter().filter(|object| object.key == *key).collect();
        before.len() == all.len() && before.iter().zip(all).all(|(before, now)| stream::same_text(before, now))
    }
}
