//! What an old render does not show of an object: that Cluster API makes another one its owner. Argo CD never prunes what has an owner
//! (gitops-engine `pkg/cache/cluster.go`, `GetManagedLiveObjs`, of argo-cd v3.5.1).

use super::HostKind;
use super::predict::Run;
use crate::kinds::references::references;
use crate::kinds::{Kind, Role};
use crate::object::{Inventory, Key, Object};
use crate::providers::kind;

/// Whether a live object has an owner by the time that Argo CD could prune it, though this side is a render.
pub(super) fn gets_an_owner(run: &Run<'_>, live: &Object) -> bool {
    let is_render_of_argo = run.way.is_none() && run.world.host.kind == Some(HostKind::Argocd);
    is_render_of_argo && is_owned(&run.world.live, &live.key)
}

/// Whether the controllers of Cluster API set an owner: the Cluster of workers and health checks, and the one that names an object of
/// others (`core/reconcilers/{machinedeployment,machinepool,machinehealthcheck,machineset,machine}`, `cluster_controller_phases.go`
/// reconcileExternal and `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/helpers.go` reconcileExternalReference of Cluster API 1.14).
fn is_owned(old: &Inventory, key: &Key) -> bool {
    match kind(key).role {
        Role::Deployment | Role::Set | Role::Pool | Role::HealthCheck | Role::Machine => true,
        Role::ControlPlane | Role::InfraCluster | Role::InfraPool | Role::Template => is_named(old, key),
        _ => false,
    }
}

/// Whether a Cluster, a class or an owner of Machines of the same render names an object.
fn is_named(old: &Inventory, key: &Key) -> bool {
    let names_others = |kind: &Kind| kind.role.owns_machines() || matches!(kind.role, Role::Cluster | Role::Class);
    let mut owners = old.objects().iter().filter(|object| names_others(kind(&object.key)));
    owners.any(|owner| {
        let Ok(value) = owner.value() else { return false };
        references(&value).iter().any(|reference| {
            let namespace = reference.namespace.as_ref().or(owner.key.namespace.as_ref());
            reference.kind == key.kind && reference.name == key.name && namespace == key.namespace.as_ref()
        })
    })
}
