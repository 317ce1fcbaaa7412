//! Answers the look-ups of webhooks (`kinds/around.rs`): what is in the cluster by the time a write of this run is admitted, in the order
//! in which the host writes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::stage::Stage;
use crate::kinds::around::{Around, LookedUp};
use crate::object::{GroupKind, Key, may_be_equal};
use crate::providers::kind_of;
use crate::tree::Value;
use crate::world::{Extent, HostKind, LiveKind};

/// The cluster around one write.
pub(super) struct Surroundings<'s, 'a> {
    /// The run.
    pub(super) stage: &'s Stage<'a>,
    /// What is written.
    pub(super) key: &'s Key,
}

impl Around for Surroundings<'_, '_> {
    fn look_up(&self, group: &str, kind: &str, wanted: &dyn Fn(&Key, &Value) -> bool) -> LookedUp {
        let stage = self.stage;
        let live = stage.scene.view.of_kind(kind).map(|object| &object.key);
        let keys: BTreeSet<&Key> =
            stage.pairs_of_kind(kind).map(|pair| &pair.key).chain(live).filter(|key| key.group == group).collect();
        let is_it = |key: &Key, value: Option<Arc<Value>>| value.is_some_and(|value| wanted(key, &value));
        let (mut comes, mut goes) = (None, false);
        for key in keys {
            match (is_it(key, stage.before(key)), is_it(key, stage.after(key))) {
                (true, true) => return LookedUp::There,
                (true, false) => goes = true,
                (false, true) => comes = Some(key),
                (false, false) => {}
            }
        }
        let extent = stage.scene.world.coverage.extent(&GroupKind::new(group, kind));
        let is_shown = match stage.scene.world.source.kind {
            LiveKind::None => false,
            // What controllers make no render shows.
            LiveKind::OldRender => !kind_of(group, kind).role.is_made_by_controllers(),
            _ => true,
        };
        let is_read = is_shown && matches!(extent, Some(Extent::Everywhere | Extent::NotServed));
        match comes.map(|key| self.is_written_first(key)) {
            Some(Some(true)) => LookedUp::There,
            _ if goes => LookedUp::Unclear,
            Some(Some(false)) if is_read => LookedUp::Later,
            Some(_) => LookedUp::Unclear,
            None if is_read => LookedUp::Missing,
            None => LookedUp::Unread,
        }
    }

    fn is_render(&self) -> bool {
        self.stage.is_of_renders()
    }
}

impl Surroundings<'_, '_> {
    /// Whether another object is written before this one. Helm writes the kinds that it does not know by their names, after all that it knows
    /// (`pkg/release/util/kind_sorter.go` `lessByKind`, 3.19 and 4.0); kubectl writes in the order of the file.
    fn is_written_first(&self, other: &Key) -> Option<bool> {
        match self.stage.scene.world.host.kind? {
            HostKind::Helm3 | HostKind::Helm4 => (other.kind != self.key.kind).then(|| other.kind < self.key.kind),
            HostKind::Kubectl => {
                let is_it = |key: &Key, wanted: &Key| {
                    (&key.group, &key.kind, &key.name) == (&wanted.group, &wanted.kind, &wanted.name)
                        && may_be_equal(key.namespace.as_ref(), wanted.namespace.as_ref())
                };
                let all = self.stage.scene.rendered.objects();
                let place = |wanted: &Key| all.iter().position(|object| is_it(&object.key, wanted));
                place(other).zip(place(self.key)).map(|(other, own)| other < own)
            }
            HostKind::Flux | HostKind::Argocd => None,
        }
    }
}
