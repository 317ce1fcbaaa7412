//! Each object of a run before and after the write, read once: in the superset form, and as it is written.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Named, Stage};
use crate::alike::Kept;
use crate::apiserver::admission::Sides;
use crate::compare::Pair;
use crate::host::{HOOK_RECREATES, is_left_out};
use crate::kinds::contract::{CONFIG_MAP, MACHINE, SECRET};
use crate::kinds::{Kind, references, superset};
use crate::object::{Key, Object, Presence, may_be_equal};
use crate::providers::{kind, machines};
use crate::tree::{Map, Value};

/// Objects in the superset form by key; `None` where there is none.
pub(super) type Forms = Kept<Key, Option<Arc<Value>>>;

impl<'a> Stage<'a> {
    /// The key by which an object is there: a render often leaves the namespace out on one side of a reference.
    fn there<'k>(&self, key: &'k Key) -> Cow<'k, Key> {
        let (live, rendered) = (self.scene.view, self.scene.rendered);
        if self.shared.places.contains_key(key) || live.get(key).object().is_some() || rendered.get(key).is_some() {
            return Cow::Borrowed(key);
        }
        let alike = |other: &&Key| {
            (&other.group, &other.kind) == (&key.group, &key.kind)
                && may_be_equal(other.namespace.as_ref(), key.namespace.as_ref())
        };
        let mut found = live.named(&key.name).chain(rendered.named(&key.name)).map(|object| &object.key).filter(alike);
        match (found.next(), found.next()) {
            (Some(one), None) => Cow::Owned(one.clone()),
            (Some(one), Some(other)) if one == other && found.all(|more| more == one) => Cow::Owned(one.clone()),
            _ => Cow::Borrowed(key),
        }
    }

    /// An object of the stream that the host writes; a hook that runs has a pair, and any other is not made.
    fn rendered(&self, key: &Key) -> Option<&'a Object> {
        let scene = self.scene;
        scene.rendered.get(key).filter(|object| !is_left_out(object, &scene.world.host))
    }

    /// The object after the write, in the superset form.
    #[must_use]
    pub(crate) fn after(&self, key: &Key) -> Option<Arc<Value>> {
        let [_, after] = &self.shared.forms;
        self.once(after, &self.there(key), |key| match self.pair(key) {
            Some(pair) => match (pair.held(), &pair.predicted) {
                (Some(live), Some(new)) => {
                    Some(Arc::new(self.supersets(kind(&pair.key), &pair.api_version, (live, new)).new))
                }
                (_, new) => self.form(pair, new.as_ref()),
            },
            // What nobody writes is what it was.
            None if self.scene.view.get(key).object().is_some() => self.before(key),
            None => machines::read(self.rendered(key)?, &self.versions).map(Arc::new),
        })
    }

    /// An object that nobody writes, where it is there.
    #[must_use]
    pub(crate) fn unwritten(&self, key: &Key, is_after: bool) -> Option<&'a Object> {
        let key = &*self.there(key);
        if self.pair(key).is_some() {
            return None;
        }
        self.scene.view.get(key).object().or_else(|| self.rendered(key).filter(|_| is_after))
    }

    /// The object before the write, in the superset form.
    #[must_use]
    pub(crate) fn before(&self, key: &Key) -> Option<Arc<Value>> {
        let [before, _] = &self.shared.forms;
        self.once(before, &self.there(key), |key| match self.pair(key) {
            Some(pair) => self.form(pair, pair.held()),
            None => {
                let object = self.scene.view.get(key).object()?;
                if object.is_kept() {
                    return machines::read(object, &self.versions).map(Arc::new);
                }
                // Machines are many, and asked for once.
                let value = match key.kind == MACHINE {
                    true => object.value().ok()?.into_owned(),
                    false => self.scene.once.live(object)?,
                };
                Some(Arc::new(superset::moved(kind(key), &object.api_version, value, &self.versions)))
            }
        })
    }

    /// An object after the write with what its topology hands to it, made once of the key alone.
    pub(crate) fn handed(&self, key: &Key, make: impl FnOnce() -> Option<Arc<Value>>) -> Option<Arc<Value>> {
        self.once(&self.shared.handed, key, |_| make())
    }

    /// What is read of an object, made once and kept, except of Machines.
    fn once(&self, forms: &Forms, key: &Key, make: impl FnOnce(&Key) -> Option<Arc<Value>>) -> Option<Arc<Value>> {
        if key.kind == MACHINE {
            return make(key);
        }
        forms.get(self.versions.case(), key, || make(key))
    }

    /// One side of a pair in the superset form.
    fn form(&self, pair: &Pair, side: Option<&Value>) -> Option<Arc<Value>> {
        side.map(|value| Arc::new(self.superset(kind(&pair.key), &pair.api_version, value)))
    }

    /// Both sides of a pair in the superset form, as one memory wherever they are equal.
    #[must_use]
    pub(crate) fn supersets(&self, kind: &'static Kind, api_version: &str, (old, new): (&Value, &Value)) -> Sides {
        let old = self.superset(kind, api_version, old);
        let new = self.moved(kind, api_version, new, |new| {
            new.share(&old);
        });
        Sides { old, new }
    }

    /// A side of a pair in the superset form, moved once: it is asked for wherever something looks at the object, for each set of
    /// versions.
    #[must_use]
    pub(crate) fn superset(&self, kind: &'static Kind, api_version: &str, side: &Value) -> Value {
        self.moved(kind, api_version, side, |_| ())
    }

    /// A side of a pair in the superset form, after `after` did something to it that changes nothing of what it says.
    fn moved(&self, kind: &'static Kind, api_version: &str, side: &Value, after: impl FnOnce(&mut Value)) -> Value {
        let make = || {
            let mut made = superset::value(kind, api_version, side, &self.versions);
            after(&mut made);
            made
        };
        let Some(memory) = side.as_object().map(Map::memory) else { return make() };
        // What was moved is kept beside what came of it, so that no other value gets its memory.
        let case = self.versions.case();
        self.shared.moved.get(case, &(memory, kind.name), || (side.clone(), make())).1
    }

    /// The Secrets and ConfigMaps that a part of an object names by kind, namespace where it says one, and name, found once for each part.
    #[must_use]
    pub(crate) fn named(&self, part: &Value) -> Named {
        let make = || {
            let mut found = Vec::new();
            references::named(part, &mut |named| {
                if matches!(named.kind, SECRET | CONFIG_MAP) {
                    let namespace = named.namespace.map(str::to_owned);
                    found.push((named.kind.to_owned(), namespace, named.name.to_owned()));
                }
            });
            Arc::new(found)
        };
        let Some(memory) = part.as_object().map(Map::memory) else { return make() };
        // What was looked through is kept, so that no other part gets its memory.
        self.shared.named.get(self.versions.case(), &memory, || (part.clone(), make())).1
    }

    /// The object after the write, as it is written.
    #[must_use]
    pub(crate) fn written_after(&self, key: &Key) -> Option<Cow<'a, Value>> {
        let key = &*self.there(key);
        match self.pair(key) {
            Some(pair) => pair.predicted.as_ref().map(Cow::Borrowed),
            None => self.scene.before(key).or_else(|| self.rendered(key)?.value().ok()),
        }
    }

    /// The object before the write, as it is written.
    #[must_use]
    pub(crate) fn written_before(&self, key: &Key) -> Option<Cow<'a, Value>> {
        let key = &*self.there(key);
        match self.pair(key) {
            Some(pair) => pair.held().map(Cow::Borrowed),
            None => self.scene.before(key),
        }
    }

    /// Whether the API server holds an object before the write; one that another name stands for does not count.
    #[must_use]
    pub(crate) fn is_live(&self, key: &Key) -> bool {
        self.scene.view.get(&self.there(key)).object().is_some()
    }

    /// Whether an object is there before the write, or after it, as far as anybody knows.
    #[must_use]
    pub(crate) fn is_there(&self, key: &Key, is_after: bool) -> bool {
        let key = &*self.there(key);
        match self.pair(key) {
            // What a hook takes away it makes again.
            Some(pair) if is_after => pair.predicted.is_some() || pair.rule == HOOK_RECREATES.as_str(),
            Some(pair) => pair.held().is_some(),
            None => {
                let is_live = self.scene.view.get(key).object().is_some();
                is_live || is_after && self.rendered(key).is_some()
            }
        }
    }

    /// Whether an object is known not to be there before the write: somebody asked for it, or its kind was listed.
    #[must_use]
    pub(crate) fn is_absent(&self, key: &Key) -> bool {
        matches!(self.scene.view.get(key), Presence::Absent) && !self.is_live(key)
    }
}
