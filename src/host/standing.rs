//! What is refused because of what stands there: objects of somebody else, and namespaces that are being deleted.

use super::HostKind;
use super::hook;
use super::kinds;
use super::locate::Located;
use super::method::{field_manager, forces, migrates, ways};
use super::predict::Run;
use crate::apiserver::apply::{Applied, Applier, apply, is_mine};
use crate::apiserver::fields::owners;
use crate::apiserver::{Reach, Refusal};
use crate::compare::{Action, Pair};
use crate::model::RuleId;
use crate::object::{Key, Object, Path};
use crate::schema;
use crate::tree::Value;
use crate::world::{BaseKind, Marks, World, WriteMethod};

/// Whether the host may apply on the server's side, and stops where somebody else owns a field.
pub(crate) fn may_apply(world: &World) -> bool {
    ways(world).contains(&WriteMethod::ServerSideApply) && !forces(world)
}

/// The applier that a host is to an object that it takes over, or that it has written before: what Helm patched counts as applied where
/// it adopts an object, and where its last write was a patch.
fn applier(world: &World, is_old: bool) -> Applier<'static> {
    let kind = world.host.kind;
    let patched = world.release.as_ref().is_some_and(|release| release.method == WriteMethod::MergePatch);
    let adopts_updates = patched || !is_old && kind != Some(HostKind::Kubectl);
    Applier { manager: field_manager(kind), adopts_updates, migrates: migrates(kind), force: false }
}

/// The first other manager of an object that the host would apply; metadata is enough to tell. The status is nobody's business, the
/// number of Pods that an autoscaler sets (`scale`) is.
pub(crate) fn other_manager(world: &World, live: &Value, is_old: bool) -> Option<String> {
    let others = owners(live).into_iter().filter(|entry| entry.subresource != "status");
    others.filter(|entry| may_apply(world) && !is_mine(entry, applier(world, is_old))).map(|entry| entry.manager).next()
}

/// Who else owns, with another value, what the host would apply to such an object: the API server then refuses the apply, half-way.
pub(crate) fn contested(world: &World, live: &Value, rendered: &Value, is_old: bool) -> Option<String> {
    let word = |name: &str| rendered.get(name).and_then(Value::as_str).unwrap_or_default();
    match apply(live, rendered, schema::builtin(word("apiVersion"), word("kind")), applier(world, is_old)) {
        Applied::Conflict { manager, paths } => Some(format!("{manager:?} owns {}", paths.join(", "))),
        Applied::Merged(_) | Applied::Nulled(_) => None,
    }
}

impl Run<'_> {
    /// Why Helm does not take over an object that its last manifest lacks (helm `pkg/action/validate.go`, `checkOwnership`);
    /// Flux and the others take it over.
    pub(super) fn not_ours(&self, marks: &Marks) -> Option<String> {
        let host = &self.world.host;
        if !matches!(host.kind, Some(HostKind::Helm3 | HostKind::Helm4))
            || !matches!(self.world.base.kind, BaseKind::Release | BaseKind::FirstInstall)
            || host.take_ownership
        {
            return None;
        }
        let whose = marks.not_of(host.release.as_deref(), self.locator.home())?;
        Some(format!(
            "the object is there already and {whose}, so Helm stops before it writes anything; --take-ownership would adopt it"
        ))
    }

    /// The same of an object that nothing compares.
    pub(super) fn of_ownership(&self, object: &Object) -> Option<(RuleId, String)> {
        if kinds::is_compared(&object.key) || self.base_of(&object.key).is_some() {
            return None;
        }
        // What is made as a hook is looked for in another way.
        if !matches!(hook::role(object, &self.world.host), Ok(hook::Role::Written | hook::Role::Unclear)) {
            return None;
        }
        let marks = match self.locator.in_live(&self.world.live, &object.key) {
            Located::Found(live) => Marks::of(&*live.value().ok()?),
            _ => self.world.standing.marks(&self.locator.full(&object.key))?.clone(),
        };
        Some((RuleId::of("host/ownership"), self.not_ours(&marks)?))
    }

    /// What is refused of a new object because its namespace is being deleted (Kubernetes,
    /// `plugin/pkg/admission/namespace/lifecycle`: `Admit` refuses creates, and nothing else).
    pub(super) fn of_ending(&self, object: &Object, pair: Option<&Pair>) -> Option<Refusal> {
        self.way?;
        let key = self.locator.full(&object.key);
        let namespace = key.namespace.as_deref().or(self.locator.home()).filter(|_| !kinds::is_cluster_wide(&key))?;
        if !self.is_ending(namespace) {
            return None;
        }
        let is_new = match pair {
            Some(pair) => pair.action == Action::Create,
            None => {
                !kinds::is_compared(&key)
                    && self.locator.anywhere(&self.world.live, &object.key).is_none()
                    && self.base_of(&object.key).is_none()
                    && self.world.standing.marks(&key).is_none()
            }
        };
        let because = format!("the namespace {namespace} is being deleted, and nothing new is made in it");
        let path = Path::root().key("metadata").key("namespace");
        is_new.then_some(Refusal { path, because, reach: Reach::Object })
    }

    /// Why a host writes nothing at all: the record of the release is new, too, and is made before anything else (helm
    /// `pkg/action/upgrade.go`, `performUpgrade`, and `install.go`).
    pub(super) fn of_record(&self) -> Option<(RuleId, String)> {
        self.way?;
        if matches!(self.world.host.kind, Some(HostKind::Kubectl | HostKind::Argocd)) {
            return None;
        }
        let home = self.locator.home().filter(|home| self.is_ending(home))?;
        let because = format!(
            "the namespace {home} is being deleted, so that the API server refuses the record of the release; Helm stops before it \
             writes anything"
        );
        Some((RuleId::of("host/namespace-ends"), because))
    }

    /// Whether a namespace is being deleted.
    fn is_ending(&self, name: &str) -> bool {
        if self.world.standing.ending.contains(name) {
            return true;
        }
        let live = self.world.live.get(&Key::new("v1", "Namespace", None, name));
        live.and_then(|live| live.value().ok()).is_some_and(|value| {
            let phase = value.get("status").and_then(|status| status.get("phase")?.as_str());
            phase == Some("Terminating") || value.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
        })
    }
}
