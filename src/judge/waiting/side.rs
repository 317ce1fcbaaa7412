//! One side of a write: the whole cluster as it is, or as it is when everything is written.
//! Both sides are asked the same questions, and what is answered otherwise is what the write does.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::judge::stage::Stage;
use crate::judge::topology;
use crate::model::Action;
use crate::object::{Key, Object};
use crate::tree::Value;

/// The cluster before the write, or after it.
#[derive(Clone, Copy)]
pub(in crate::judge) struct Side<'s> {
    /// The run.
    pub(in crate::judge) stage: &'s Stage<'s>,
    is_after: bool,
}

impl<'s> Side<'s> {
    /// The cluster as it is.
    #[must_use]
    pub(in crate::judge) const fn before(stage: &'s Stage<'s>) -> Self {
        Self { stage, is_after: false }
    }

    /// The cluster when everything is written.
    #[must_use]
    pub(in crate::judge) const fn after(stage: &'s Stage<'s>) -> Self {
        Self { stage, is_after: true }
    }

    /// Both sides, the older one first.
    #[must_use]
    pub(in crate::judge) const fn both(stage: &'s Stage<'s>) -> [Self; 2] {
        [Self::before(stage), Self::after(stage)]
    }

    /// Whether it is the cluster after the write.
    #[must_use]
    pub(in crate::judge) const fn is_after(self) -> bool {
        self.is_after
    }

    /// An object in the superset form; an owner of Machines that is not written itself with what its topology hands to it.
    #[must_use]
    pub(in crate::judge) fn get(self, key: &Key) -> Option<Arc<Value>> {
        if !self.is_after {
            return self.stage.before(key);
        }
        if self.stage.pair(key).is_some() {
            return self.stage.after(key);
        }
        self.stage.handed(key, || Some(topology::hand_down(self, key, self.stage.after(key)?)))
    }

    /// Whether an object may say something; false only where nobody writes it and its text rules that out, so that no tree has to be made.
    /// Not for owners of Machines, to which their topology hands more than they say.
    #[must_use]
    pub(in crate::judge) fn may(self, key: &Key, says: impl Fn(&Object) -> bool) -> bool {
        self.stage.unwritten(key, self.is_after).is_none_or(says)
    }

    /// A Cluster in the superset form; one that this write deletes is as it is now until its Machines are gone.
    #[must_use]
    pub(in crate::judge) fn cluster(self, key: &Key) -> Option<Arc<Value>> {
        self.get(key).or_else(|| self.stage.before(key))
    }

    /// Every object of a kind in a namespace, in the superset form.
    #[must_use]
    pub(in crate::judge) fn all(self, group: &str, kind: &str, namespace: Option<&str>) -> Vec<(Key, Arc<Value>)> {
        let is_here = |key: &Key| {
            key.group == group
                && key.kind == kind
                && (namespace.is_none() || key.namespace.is_none() || key.namespace.as_deref() == namespace)
        };
        let live = self.stage.scene.view.of_kind(kind).map(|object| &object.key);
        let written = self.stage.pairs_of_kind(kind).map(|pair| &pair.key);
        let keys: BTreeSet<&Key> = live.chain(written).filter(|key| is_here(key)).collect();
        keys.into_iter().filter_map(|key| self.get(key).map(|value| (key.clone(), value))).collect()
    }

    /// Whether an object is known not to be there: this write makes it, this write deletes it, or somebody looked for it.
    #[must_use]
    pub(in crate::judge) fn is_missing(self, key: &Key) -> bool {
        if self.stage.is_there(key, self.is_after) {
            return false;
        }
        match self.stage.pair(key) {
            Some(pair) => {
                if self.is_after {
                    pair.action == Action::Delete
                } else {
                    pair.action == Action::Create
                }
            }
            None => self.stage.is_absent(key),
        }
    }
}
