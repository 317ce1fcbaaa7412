//! What goes away: objects that the last manifest has and the stream lacks, and those that a hook of the same name
//! takes the place of. What could go away unseen is doubt.

use serde_json::Value;

use super::locate::Located;
use super::predict::{Run, blank, trimmed};
use super::{kinds, stream};
use crate::compare::{Action, Pair};
use crate::host::HostKind;
use crate::object::{Key, LoadError, Object};
use crate::world::{BaseKind, LiveKind};

impl Run<'_> {
    /// Adds what the last manifest has and the stream lacks.
    pub(super) fn removals(&mut self) -> Result<(), LoadError> {
        let old = if self.way.is_none() { &self.world.live } else { &self.world.base.objects };
        if self.world.source.kind == LiveKind::None {
            return Ok(());
        }
        if self.way.is_some() && self.world.base.kind == BaseKind::Unknown {
            if self.world.host.kind != Some(HostKind::Kubectl) {
                self.unseen_removals();
            }
            return Ok(());
        }
        for gone in old.objects() {
            if !kinds::is_compared(&gone.key) || self.is_rendered(&gone.key) {
                continue;
            }
            if self.way.is_none() && kinds::is_made_by_controllers(&gone.key) {
                continue;
            }
            self.remove(gone)?;
        }
        Ok(())
    }

    /// Notes live objects that the release made and the stream lacks, where the last manifest is not known: Helm will
    /// delete those that it has in its record.
    fn unseen_removals(&mut self) {
        let release = self.world.host.release.as_deref();
        let gone: Vec<Key> = self
            .world
            .live
            .objects()
            .iter()
            .filter(|object| kinds::owns_machines(&object.key) && kinds::is_compared(&object.key))
            .filter(|object| !self.is_rendered(&object.key))
            .filter(|object| {
                let value = object.value().ok();
                let owner = value.as_ref().and_then(|value| stream::annotation(value, "meta.helm.sh/release-name"));
                owner.is_some_and(|owner| release.is_none_or(|release| release == owner))
            })
            .map(|object| object.key.clone())
            .collect();
        self.blind.extend(gone);
    }

    /// Whether the stream has an object under this key.
    pub(super) fn is_rendered(&self, key: &Key) -> bool {
        self.locator.anywhere(self.rendered, key).is_some()
    }

    /// Adds the pair of a deleted object, unless Helm leaves it in place.
    pub(super) fn remove(&mut self, gone: &Object) -> Result<(), LoadError> {
        let Located::Found(live) = self.locator.in_live(&self.world.live, &gone.key) else { return Ok(()) };
        if self.world.host.kind == Some(HostKind::Kubectl) {
            self.out.warnings.push(format!("{} is not rendered any more; kubectl apply leaves it in place", live.key));
            return Ok(());
        }
        let flag = |check: Result<bool, LoadError>| check.unwrap_or(false);
        if flag(stream::is_hook(gone)) || flag(stream::is_kept(live)) {
            return Ok(());
        }
        let Some(value) = self.live_value(live) else { return Ok(()) };
        self.out.pairs.push(deleted(live, value));
        Ok(())
    }

    /// Adds live objects that Helm deletes because a hook of that name is made anew.
    pub(super) fn hooks(&mut self) -> Result<(), LoadError> {
        for hook in std::mem::take(&mut self.sorted.hooks) {
            let Located::Found(live) = self.locator.in_live(&self.world.live, &hook.key) else { continue };
            if !stream::recreates(hook.value()?.as_ref()) || self.way.is_none() {
                continue;
            }
            let Some(value) = self.live_value(live) else { continue };
            let mut pair = deleted(live, value);
            "host/hook-recreates".clone_into(&mut pair.rule);
            pair.because = "Helm deletes the live object before it makes the hook of the same name anew".to_owned();
            self.out.pairs.push(pair);
        }
        Ok(())
    }
}

/// The pair of an object that goes away.
fn deleted(live: &Object, value: Value) -> Pair {
    let mut pair = blank(live.key.clone(), live.api_version.clone(), Action::Delete, 0);
    pair.live = Some(trimmed(value));
    pair
}
