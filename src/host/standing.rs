//! What is refused because of what stands there: objects of somebody else, and namespaces that are being deleted.

use super::HostKind;
use super::hook;
use super::kinds;
use super::locate::Located;
use super::method::{adopts_updates, field_manager, forces, takes, ways};
use super::predict::Run;
use crate::apiserver::apply::{Applied, Applier, apply, is_mine};
use crate::apiserver::fields::owners;
use crate::apiserver::{Reach, Refusal};
use crate::compare::{Action, Pair};
use crate::model::RuleId;
use crate::object::{GroupKind, Key, Object, Path};
use crate::schema;
use crate::tree::Value;
use crate::world::{BaseKind, Marks, World, WriteMethod};

/// Whether the host may apply on the server's side, and stops where somebody else owns a field.
pub(crate) fn may_apply(world: &World) -> bool {
    ways(world).contains(&WriteMethod::ServerSideApply) && !forces(world)
}

/// The applier that a host is to an object.
fn applier(world: &World) -> Applier<'static> {
    let kind = world.host.kind;
    // Of a release that nobody knows it may be the first install.
    let may_be_first = world.base.kind != BaseKind::Release && kind != Some(HostKind::Kubectl);
    let adopts_updates = adopts_updates(world) || may_be_first;
    Applier { manager: field_manager(kind), adopts_updates, takes: takes(kind, field_manager(kind)), force: false }
}

/// The first other manager of an object that the host would apply; metadata is enough to tell. The status is nobody's business, the
/// number of Pods that an autoscaler sets (`scale`) is.
pub(crate) fn other_manager(world: &World, live: &Value) -> Option<String> {
    let others = owners(live).into_iter().filter(|entry| entry.subresource != "status");
    others.filter(|entry| may_apply(world) && !is_mine(entry, applier(world))).map(|entry| entry.manager).next()
}

/// Who else owns, with another value, what the host would apply to such an object: the API server then refuses the apply, half-way.
pub(crate) fn contested(world: &World, live: &Value, rendered: &Value) -> Option<String> {
    let word = |name: &str| rendered.get(name).and_then(Value::as_str).unwrap_or_default();
    match apply(live, rendered, schema::builtin(word("apiVersion"), word("kind")), applier(world)) {
        Applied::Conflict { manager, paths } => Some(format!("{manager:?} owns {}", paths.join(", "))),
        Applied::Merged(_) | Applied::Nulled { .. } => None,
    }
}

impl Run<'_> {
    /// Why Helm does not take over an object that its last manifest lacks, or has in another version (helm
    /// `pkg/action/validate.go`, `checkOwnership`); Flux and the others take it over.
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

    /// Whether the last manifest has an object in this very version. Any other one is new to Helm, which looks whose it is (helm
    /// `pkg/action/upgrade.go`, `objectKey`, v3.22 and v4.3).
    pub(super) fn is_kept(&self, object: &Object) -> bool {
        self.base_of(&object.key).is_some_and(|last| last.api_version == object.api_version)
    }

    /// Why Helm does not patch an object that is there and that the last manifest lacks when it rolls back: up to 3.19 it stops; later it
    /// takes the live object for the last one, and its patch then takes away the resourceVersion, without which the API server refuses a
    /// custom resource (helm `pkg/kube/client.go`, `update`, `createPatch`, v3.19, v3.22 and v4.3). An upgrade adds such objects to the last
    /// manifest first.
    pub(super) fn not_in_the_last(&self, object: &Object, way: WriteMethod) -> Option<String> {
        let is_refused = self.world.host.rolls_back
            && way == WriteMethod::MergePatch
            && self.world.base.kind != BaseKind::Unknown
            && self.base_of(&object.key).is_none();
        is_refused.then(|| {
            "it is there and the last manifest lacks it, so that Helm has nothing to compare the old revision with; the write is refused \
             and the rollback stops half-way; upgrade with the old chart and values instead"
                .to_owned()
        })
    }

    /// Whether an object is a part of the release: whose a hook is, nobody asks before it is made or applied (helm `pkg/action/hooks.go`,
    /// `execHook`, v4.3).
    pub(super) fn is_part(&self, object: &Object) -> bool {
        matches!(hook::role(object, &self.world.host), Ok(hook::Role::Written | hook::Role::Unclear))
    }

    /// Why Helm stops at an object that nothing compares: it is there already, and somebody else's; `None` where it does not.
    pub(super) fn of_ownership(&self, object: &Object) -> Option<(RuleId, String)> {
        if kinds::is_compared(&object.key) || self.is_kept(object) {
            return None;
        }
        if !self.is_part(object) {
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

    /// Why a host writes nothing at all: it reads its last manifest first, and the record of the release is new, too, and is made before
    /// anything else (helm `pkg/action/upgrade.go`, `performUpgrade`, `rollback.go`, `performRollback`, and `install.go`).
    pub(super) fn of_record(&self) -> Option<(RuleId, String)> {
        self.way?;
        if matches!(self.world.host.kind, Some(HostKind::Kubectl | HostKind::Argocd)) {
            return None;
        }
        self.of_last_manifest().or_else(|| {
            let home = self.locator.home().filter(|home| self.is_ending(home))?;
            let because = format!(
                "the namespace {home} is being deleted, so that the API server refuses the record of the release; Helm stops before it \
                 writes anything"
            );
            Some((RuleId::of("host/namespace-ends"), because))
        })
    }

    /// An object of the last manifest that the API server has no more, or not in that version: Helm cannot build it. A whole kind that is
    /// compared and not listed is doubt instead, told where its objects are looked for: its provider may be on its way back.
    fn of_last_manifest(&self) -> Option<(RuleId, String)> {
        let world = self.world;
        if !matches!(world.base.kind, BaseKind::Release | BaseKind::File) {
            return None;
        }
        let is_gone = |object: &&Object| {
            let kind = GroupKind::new(&object.key.group, &object.key.kind);
            world.coverage.lacks_version(&kind, &object.api_version)
                || world.coverage.lacks(&kind) && !kinds::is_compared(&object.key)
        };
        let gone = world.base.objects.objects().iter().filter(is_gone).find(|object| self.was_written(object))?;
        let because = format!(
            "the last manifest of the release holds {} as {}, which the API server does not serve; Helm cannot read it any more and stops \
             before it writes anything; helm mapkubeapis rewrites the manifest",
            gone.key, gone.api_version
        );
        Some((RuleId::of("host/last-unserved"), because))
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
