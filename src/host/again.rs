//! Objects that the host sends although they do not change: the API server asks its webhooks all the same, and one that looks at other
//! objects, or is of a newer version, may refuse by now what was let through before.

use super::last_applied::is_as_applied_last;
use super::pairs::{blank, trimmed};
use super::predict::Run;
use super::write::Last;
use super::{HostKind, stored};
use crate::compare::Action;
use crate::object::{Key, Object};
use crate::providers::kind;
use crate::tree::Value;
use crate::world::{Marks, WriteMethod};

impl Run<'_> {
    /// Whether an object may be refused although it does not change: webhooks look at all of an object on every update, so that a provider
    /// that became stricter since it was written refuses it, and those of a Cluster look at the class of its topology, too (cluster-api
    /// `core/webhooks/admission/cluster.go`, `DefaultAndValidateVariables`, `validateTopology`, of 1.14; `internal/webhooks/cluster.go`
    /// up to 1.13). The schema lets through what was there before.
    pub(super) fn may_be_refused_again(&self, object: &Object) -> bool {
        self.way.is_some() && kind(&object.key).webhook.is_some()
    }

    /// Notes an object that stays as it is, where the host sends it all the same.
    pub(super) fn write_again(&mut self, object: &Object, way: WriteMethod, key: Key, live: Value, rendered: &Value) {
        if !self.is_unchanged_sent(object, Some(way), &key, &live, rendered) {
            return;
        }
        let mut pair = blank(key, object.api_version.clone(), Action::Unchanged, object.line);
        let live = trimmed(live);
        pair.predicted = Some(live.clone());
        pair.live = Some(live);
        self.out.again.push(pair);
    }

    /// Whether the host sends an object of which nothing changes, as far as what it sends says.
    pub(super) fn is_unchanged_sent(
        &mut self,
        object: &Object,
        way: Option<WriteMethod>,
        key: &Key,
        live: &Value,
        rendered: &Value,
    ) -> bool {
        let Some(way) = way else { return true };
        let last = self.last_value(self.base_of(&object.key), key).flatten();
        self.is_sent_by_way(way, live, rendered, self.last(last.as_ref()))
    }

    /// Whether a way of writing sends a custom resource that does not change.
    fn is_sent_by_way(&self, way: WriteMethod, live: &Value, rendered: &Value, last: Last<'_>) -> bool {
        match way {
            WriteMethod::Recreate => false,
            // An apply on the server's side and a replacement are sent whatever is there.
            WriteMethod::ServerSideApply | WriteMethod::Replace => true,
            // Helm puts its marks into what it renders and not into the last manifest, so that the patch between the two is never
            // empty, unless the chart renders them itself. What it adopts it compares with itself (helm `pkg/action/upgrade.go`,
            // `performUpgrade`; `pkg/kube/client.go`, `createPatch`, `updateResource`).
            WriteMethod::MergePatch => match last {
                Last::Nothing => false,
                Last::Known(last) => !self.is_marked(last) || !self.is_marked(rendered),
                Last::Taken | Last::Unknown => true,
            },
            // `kubectl apply` sends no patch that says nothing (kubectl `pkg/cmd/apply/patcher.go`, `patchSimple`). Argo CD applies
            // with labels of its own, which are not rendered.
            WriteMethod::LastApplied => {
                let is_argo = self.world.host.kind == Some(HostKind::Argocd);
                if is_argo { !stored::is_left_alone(live, rendered) } else { !is_as_applied_last(live, rendered) }
            }
        }
    }

    /// Whether a manifest has the marks of Helm itself, all three as Helm writes them.
    fn is_marked(&self, manifest: &Value) -> bool {
        let release = self.world.host.release.as_deref();
        release.is_some() && Marks::of(manifest).not_of(release, self.locator.home()).is_none()
    }
}
