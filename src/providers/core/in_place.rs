//! Whether a runtime extension may update Machines where they are instead of having them replaced (Cluster API 1.12 on, the gate
//! InPlaceUpdates): it decides Machine by Machine, and nobody else can foretell it.

use crate::kinds::contract::MACHINE_DEPLOYMENT;
use crate::kinds::fields::{annotation, is_in, list, text};
use crate::object::{Key, View};
use crate::providers::kubeadm;
use crate::tree::Value;

/// The kind that registers extensions.
const EXTENSION_CONFIG: &str = "ExtensionConfig";
/// Hooks by which an extension is asked (Cluster API `api/runtime/hooks/v1alpha1/inplaceupdate_types.go`, 1.14).
const HOOKS: [&str; 2] = ["CanUpdateMachine", "CanUpdateMachineSet"];
/// Annotation of a Machine that is being updated in place (`api/core/v1beta2/machine_types.go`, UpdateInProgressAnnotation).
const IN_PROGRESS: &str = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";

/// Who may update the Machines of an owner in place, as a sentence names it; `None` where nobody is known to. Extensions are known as
/// far as they are among the live objects.
#[must_use]
pub fn extension(live: &dyn View, owner: &Key, cluster: &str) -> Option<String> {
    if owner.kind != MACHINE_DEPLOYMENT && owner.kind != kubeadm::CONTROL_PLANE_KIND {
        return None;
    }
    let mut configs = live.of_kind(EXTENSION_CONFIG);
    let found = configs.find(|object| object.value().is_ok_and(|config| is_asked(&config)));
    if let Some(found) = found {
        return Some(format!("runtime extension {}", found.key.name));
    }
    let mut machines = live.machines_of_cluster(cluster).filter(|object| is_in(object, owner.namespace.as_deref()));
    let is_updated =
        machines.any(|object| object.value().is_ok_and(|machine| annotation(&machine, IN_PROGRESS).is_some()));
    is_updated.then(|| "a runtime extension (one updates a Machine now)".to_owned())
}

/// Whether an extension answers a hook of in-place updates.
fn is_asked(config: &Value) -> bool {
    list(config, "/status/handlers")
        .any(|handler| text(handler, "/requestHook/hook").is_some_and(|hook| HOOKS.contains(&hook)))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::tree::json;

    #[test]
    fn an_extension_is_known_by_its_hooks() {
        let config = |hook: &str| json!({"status": {"handlers": [{"name": "a", "requestHook": {"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": hook}}]}});
        assert!(is_asked(&config("CanUpdateMachine")) && is_asked(&config("CanUpdateMachineSet")));
        assert!(!is_asked(&config("BeforeClusterUpgrade")) && !is_asked(&json!({})));
    }
}
