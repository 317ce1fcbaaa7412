//! What is said about a run beside its pairs: doubts, warnings, and findings about how the host writes.

use std::collections::BTreeSet;

use super::argo::Application;
use super::predict::Run;
use super::removals::deleted;
use super::write::{AfterWrite, Unsure};
use super::{HostKind, kinds, stream};
use crate::apiserver::merge;
use crate::compare::changes;
use crate::model::Finding;
use crate::model::{RuleId, first_and_more};
use crate::object::{Inventory, Key, LoadError, Object, is_deleting};
use crate::providers::versions::came_later;
use crate::tree::Value;
use crate::world::{BaseKind, Unread, WriteMethod};

impl Run<'_> {
    /// Says where an object is adopted and stays different from what its chart renders.
    pub(super) fn note_adoption(&mut self, outcome: &AfterWrite, key: &Key, rendered: &Value) {
        let AfterWrite::Holds { predicted, adopted: true, .. } = outcome else { return };
        if !changes(predicted, &merge::overlay(predicted, rendered)).is_empty() {
            let message = format!(
                "{key} is adopted by the release and nothing is written to it, although it differs from what the chart \
                 renders"
            );
            self.out.findings.push(Finding::new("adopted-unchanged", key.clone(), message));
        }
    }

    /// Says what was found out about the run as a whole.
    pub(super) fn say(&mut self) {
        self.repeated();
        self.of_later_versions();
        if self.reshaped > 0 {
            let (who, were) = match self.reshaped {
                1 => ("1 live object has another API version than its render".to_owned(), "was"),
                many => (format!("{many} live objects have another API version than their render"), "were"),
            };
            self.out.warnings.push(format!("{who} and {were} converted before the comparison"));
        }
        if !self.homeless.is_empty() {
            self.out.doubts.push(Unread {
                what: "the namespace of objects that do not say one".to_owned(),
                why: format!(
                    "{} {} none, and that of the release is unknown",
                    first_and_more(&self.homeless),
                    if self.homeless.len() == 1 { "has" } else { "have" }
                ),
                remedy: "pass --namespace".to_owned(),
                keys: std::mem::take(&mut self.homeless),
            });
        }
        if !self.sorted.unclear.is_empty() {
            let keys: Vec<Key> = self.sorted.unclear.iter().map(|key| (*key).clone()).collect();
            self.out.doubts.push(Unread {
                what: match keys.as_slice() {
                    [only] => format!("whether {only} is a hook"),
                    all => format!("whether {} are hooks", first_and_more(all)),
                },
                why: "they stand in a List, which only Helm 4 takes apart before it looks for hooks, and only for a \
                      post-renderer"
                    .to_owned(),
                remedy: "put each hook into a document of its own, or pass --host".to_owned(),
                keys,
            });
        }
        if self.world.host.hides_hooks() && !self.world.host.no_hooks && !self.world.base.hooks.is_empty() {
            self.out.warnings.push(
                "Helm 3 shows no hook to a post-renderer: those of the last revision count, and one that is new and named \
                 like a live object deletes it unseen"
                    .to_owned(),
            );
        }
        // What was asked for and not answered is doubt already.
        let is_told = |key: &Key| {
            let of = |other: &Key| (&other.kind, &other.name) == (&key.kind, &key.name);
            self.world.unread.iter().any(|unread| unread.keys.is_empty() || unread.keys.iter().any(of))
        };
        self.unasked.retain(|key| !is_told(key));
        if !self.unasked.is_empty() {
            self.unasked.sort_unstable();
            self.unasked.dedup();
            let what = match self.unasked.as_slice() {
                [only] => format!("whether {only} is there"),
                all => format!("whether {} are there", first_and_more(all)),
            };
            self.out.doubts.push(Unread {
                what,
                why: format!("{} was read for other objects, and these were not asked for", self.world.source.name),
                remedy: "read the cluster for this stream: --live cluster, or a new rollgate snapshot of it".to_owned(),
                keys: std::mem::take(&mut self.unasked),
            });
        }
        let is_blind = !self.blind.is_empty();
        if is_blind {
            self.out.doubts.push(Unread {
                what: "removed fields and objects".to_owned(),
                why: "neither the last manifest nor managed fields are known, so what the host removes cannot be seen"
                    .to_owned(),
                remedy: "pass --release and --namespace, or --base FILE".to_owned(),
                keys: std::mem::take(&mut self.blind),
            });
        }
        if self.way == Some(WriteMethod::Replace) && !self.out.pairs.is_empty() {
            self.out.warnings.push(
                "the host replaces whole objects: labels and annotations that are not rendered are lost, finalizers and owner \
                 references until their controllers set them again"
                    .to_owned(),
            );
        }
        if self.world.host.kind == Some(HostKind::Argocd) && self.way.is_some() && Application::of(self.world).is_none()
        {
            self.out.warnings.push(
                "the Application of Argo CD is unknown, and so are its syncOptions and ignoreDifferences; put it beside the \
                 live objects, or pass --method"
                    .to_owned(),
            );
        }
        if self.way.is_some() && self.world.base.kind == BaseKind::Unknown && !is_blind {
            self.out
                .warnings
                .push("the last manifest is unknown, so deletions are not predicted; pass --release and --namespace, or --base FILE".to_owned());
        }
    }

    /// Adds the doubt about an object that Argo CD skipped and writes from now on: of two renders nobody knows what is live.
    pub(super) fn doubt_left(&mut self, key: &Key) {
        self.out.doubts.push(Unread {
            what: format!("what {key} becomes"),
            why: "Argo CD left it alone (argocd.argoproj.io/hook: Skip) and writes it from now on, so all that its manifest said \
                  meanwhile comes at once, which two renders do not show"
                .to_owned(),
            remedy: "compare its manifest with the cluster (--live cluster)".to_owned(),
            keys: vec![key.clone()],
        });
    }

    /// How Argo CD writes an object, and what it sends; any other host does as it does with all objects. `None` where that
    /// cannot be told.
    pub(super) fn by_argo(
        &mut self,
        object: &Object,
        live: &Value,
        rendered: Value,
    ) -> Option<(Option<WriteMethod>, Value)> {
        let Some(argo) = &self.argo else { return Some((self.way, rendered)) };
        let Some(way) = self.way else {
            // Between two renders only one thing is known of how it writes: what changes and is deleted and made anew for it.
            let is_changed = *live != rendered;
            let is_made_anew =
                is_changed && argo.way(&rendered, Some(live), WriteMethod::Replace) == WriteMethod::Recreate;
            let way = is_made_anew.then_some(WriteMethod::Recreate);
            // And what it leaves alone, where this is the Application that writes.
            return match argo.is_named && is_changed {
                true => self.respected(object, live, rendered).map(|sent| (way, sent)),
                false => Some((way, rendered)),
            };
        };
        let way = argo.way(&rendered, Some(live), way);
        self.respected(object, live, rendered).map(|sent| (Some(way), sent))
    }

    /// What Argo CD sends of an object with what it leaves alone; `None` where that cannot be told.
    fn respected(&mut self, object: &Object, live: &Value, rendered: Value) -> Option<Value> {
        let Some(argo) = &self.argo else { return Some(rendered) };
        match argo.respected(&object.key, live, rendered) {
            Ok(sent) => Some(sent),
            Err(expression) => {
                self.out.doubts.push(Unread {
                    what: format!("what Argo CD leaves alone in {}", object.key),
                    why: format!("ignoreDifferences has a jq program that is not run here: {expression}"),
                    remedy: "name the places by jsonPointers, or by jq paths".to_owned(),
                    keys: vec![object.key.clone()],
                });
                None
            }
        }
    }

    /// Doubts what could be otherwise than predicted.
    pub(super) fn note_unsure(&mut self, key: &Key, unsure: Unsure) {
        match unsure {
            Unsure::Removals if kinds::owns_machines(key) => self.blind.push(key.clone()),
            Unsure::Nothing | Unsure::Removals => {}
            Unsure::Contested(path) => self.out.doubts.push(Unread {
                what: format!("whether the API server takes the apply of {key}"),
                why: format!(
                    "{path} holds neither what was applied last nor what is applied now, so another field manager may own it, which is \
                     refused as a conflict; the live object does not say who does"
                ),
                remedy: "dump with kubectl get --show-managed-fields, or use a snapshot".to_owned(),
                keys: vec![key.clone()],
            }),
            Unsure::Emptied(path) => self.out.doubts.push(Unread {
                what: format!("whether the API server takes the apply of {key}"),
                why: format!(
                    "{path} goes, and another manager owns a part of it in another version, where it may stay as null, which is refused"
                ),
                remedy: format!("keep a part of {path}, or ask the API server by --dry-run-server"),
                keys: vec![key.clone()],
            }),
        }
    }

    /// Doubts every changed object that Argo CD deletes and makes anew where the server refuses the write.
    pub(super) fn note_forced(&mut self, object: &Object, pairs_before: usize) -> Result<(), LoadError> {
        let Some(argo) = self.argo.as_ref().filter(|_| self.out.pairs.len() > pairs_before) else { return Ok(()) };
        if argo.recreates_refused(object.value()?.as_ref()) {
            self.out.doubts.push(Unread {
                what: format!("what happens to {} where the API server refuses the write", object.key),
                why: "Argo CD was told Force=true, so it then deletes the object and makes it again".to_owned(),
                remedy: "leave Force=true out".to_owned(),
                keys: vec![object.key.clone()],
            });
        }
        Ok(())
    }

    /// Adds the pair of an object that is deleted and made anew.
    pub(super) fn recreate(&mut self, live: &Object, value: Value) {
        if is_deleting(&value) {
            self.doubt_end(live, "it is made again");
            return;
        }
        let mut pair = deleted(live, value);
        pair.rule = RuleId::of("host/recreates").into();
        pair.because = "the host deletes the live object and makes it again".to_owned();
        let message = format!("{} is deleted and made again, whether it changes or not", live.key);
        self.out.findings.push(Finding::new("recreated", live.key.clone(), message));
        self.out.pairs.push(pair);
    }

    /// Says which keys stand in the stream more than once. The host writes each of them, one after the other, so that the
    /// controllers see what stands in between.
    fn repeated(&mut self) {
        // Two renders are easily given as two files of one stream.
        let remedy = match self.world.host.kind {
            None => "render it once; an older render to compare with is given by --live",
            Some(_) => "render it once",
        };
        for key in std::mem::take(&mut self.sorted.doubles) {
            let all = every(self.rendered, key);
            let same = all.windows(2).all(|two| stream::same_content(two[0], two[1]));
            if same || self.was_repeated_before(key, &all) {
                self.out.warnings.push(format!("{key}, more than once in the stream: the last one wins"));
                continue;
            }
            self.out.doubts.push(Unread {
                what: format!("{key}, more than once in the stream"),
                why: "the host writes one after the other, and controllers act on each of them".to_owned(),
                remedy: remedy.to_owned(),
                keys: vec![key.clone()],
            });
        }
    }

    /// Says which kinds are rendered in a version of the API that came after the version of the provider that somebody told: either that is not
    /// the one that runs, or the API server has no such kind.
    fn of_later_versions(&mut self) {
        let told = self.world.told_versions();
        if told.is_empty() {
            return;
        }
        let kinds: BTreeSet<(&str, &str, &str)> = self
            .rendered
            .objects()
            .iter()
            .map(|object| (object.key.group.as_str(), object.key.kind.as_str(), object.api_version.as_str()))
            .collect();
        if let Some(why) = kinds.into_iter().find_map(|of| came_later(&told, of)) {
            self.out.warnings.push(format!("{why}; where that version runs, the API server refuses it"));
        }
    }

    /// Whether the last manifest repeats a key with the very same content, so that a patch between the two is empty but for
    /// what the first and the last of them differ in already.
    fn was_repeated_before(&self, key: &Key, all: &[&Object]) -> bool {
        let last = match self.way {
            None => &self.world.live,
            Some(WriteMethod::MergePatch) => &self.world.base.objects,
            Some(_) => return false,
        };
        let before = every(last, key);
        before.len() == all.len() && before.iter().zip(all).all(|(before, now)| stream::same_content(before, now))
    }
}

/// Every object with a key, in the order of the stream.
fn every<'o>(objects: &'o Inventory, key: &Key) -> Vec<&'o Object> {
    objects.named(&key.name).filter(|object| object.key == *key).collect()
}
