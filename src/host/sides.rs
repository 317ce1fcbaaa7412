//! The sides of one write as they are read: what is live, what the host wrote last, and whether it is the host's at all.

use super::method;
use super::predict::Run;
use super::write::sent;
use crate::apiserver::apply::Applier;
use crate::object::{Inventory, Key, LoadError, Object};
use crate::tree::{Map, Value};
use crate::world::{Unread, WriteMethod};

impl<'a> Run<'a> {
    /// All that was written last: without a host the old render.
    pub(super) fn last_written(&self) -> &'a Inventory {
        if self.way.is_none() { &self.world.live } else { &self.world.base.objects }
    }

    /// What the host wrote last time under this key. Of an object that stands twice in the last manifest Helm 3 compares with the first one
    /// (Helm `pkg/kube/resource.go`, `ResourceList.Get`, v3.22.0), though the second one was written last.
    pub(super) fn base_of(&self, key: &Key) -> Option<&'a Object> {
        let last = self.locator.anywhere(&self.world.base.objects, key)?;
        let all = self.world.base.objects.named(&key.name);
        // A file may hold hooks, which are no part of what was written last.
        let written = |base: &&Object| self.was_written(base);
        match self.way {
            Some(WriteMethod::MergePatch) => all.filter(|base| base.key == last.key).find(written),
            _ => Some(last).filter(written),
        }
    }

    /// The live tree; where it cannot be read that is doubt.
    pub(super) fn live_value(&mut self, live: &Object) -> Option<Value> {
        let value = live.value().map(|value| sent(value.into_owned(), &live.key, self.world.host.kind));
        self.or_doubt(value, &live.key, "the live object", "give a readable --live")
    }

    /// The tree of the last manifest, `Some(None)` where there is none; where it cannot be read that is doubt.
    pub(super) fn last_value(&mut self, base: Option<&Object>, key: &Key) -> Option<Option<Value>> {
        let value =
            base.map(|base| base.value().map(|value| sent(value.into_owned(), key, self.world.host.kind))).transpose();
        self.or_doubt(value, key, "the last manifest", "give a readable --base")
    }

    /// What revisions wrote of an object behind the last one that came to its end. One that cannot be read wrote nothing that is known.
    pub(super) fn sent_since(&self, key: &Key, live: &Key) -> Vec<Value> {
        let written =
            self.world.base.unfinished.objects().iter().filter(|object| object.key == *key || object.key == *live);
        let values = written.filter_map(|object| object.value().ok());
        values.map(|value| sent(value.into_owned(), live, self.world.host.kind)).collect()
    }

    /// Notes a label or annotation without a value that only one side has, where nobody said who writes: it pauses a Cluster or does not.
    pub(super) fn note_valueless(&mut self, key: &Key, live: &Value, rendered: &Value) {
        if self.world.host.kind.is_some() {
            return;
        }
        for what in ["labels", "annotations"] {
            let map = |side: &Value| side.get("metadata")?.get(what)?.as_object().cloned();
            let (old, new) = (map(live).unwrap_or_default(), map(rendered).unwrap_or_default());
            let is_null = |map: &Map, name: &str| map.get(name).is_some_and(Value::is_null);
            let mut names = old.keys().chain(new.keys());
            if let Some(name) = names.find(|name| is_null(&old, name) != is_null(&new, name)) {
                self.out.doubts.push(Unread {
                    what: format!("metadata.{what}[{name:?}] of {key}"),
                    why: "it has no value: Helm and Flux write \"\", kubectl and Argo CD leave it out".to_owned(),
                    remedy: "pass --host".to_owned(),
                    keys: vec![key.clone()],
                });
            }
        }
    }

    /// What was read, or doubt.
    fn or_doubt<T>(&mut self, read: Result<T, LoadError>, key: &Key, what: &str, remedy: &str) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                self.out.doubts.push(Unread {
                    what: format!("{what} {key}"),
                    why: error.to_string(),
                    remedy: remedy.to_owned(),
                    keys: vec![key.clone()],
                });
                None
            }
        }
    }

    /// With which name and power the host applies to an object; `None` for a new one.
    pub(super) fn applier(&self, live: Option<&Value>) -> Applier<'static> {
        let manager = live.and_then(|live| method::manager_of(self.world, live)).unwrap_or(self.manager);
        Applier {
            manager,
            adopts_updates: method::adopts_updates(self.world),
            takes: method::takes(self.world.host.kind, manager),
            force: method::forces(self.world),
        }
    }
}
