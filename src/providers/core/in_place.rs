//! Whether a runtime extension may update Machines where they are instead of having them replaced (Cluster API 1.12 on, the gate
//! InPlaceUpdates): it decides Machine by Machine, and nobody else can foretell it.

use std::collections::BTreeSet;

use crate::kinds::contract::{CLUSTER_NAME, MACHINE, MACHINE_DEPLOYMENT};
use crate::kinds::fields::{annotation, label, list, text};
use crate::object::{Key, Object, View};
use crate::providers::kubeadm;
use crate::tree::Value;

/// The feature gate behind which extensions are asked (Cluster API `feature/feature.go`, 1.12 on).
pub(crate) const GATE: &str = "InPlaceUpdates";
/// Group and kind by which extensions are registered.
pub(crate) const EXTENSIONS: (&str, &str) = ("runtime.cluster.x-k8s.io", "ExtensionConfig");
/// Hooks by which an extension is asked (Cluster API `api/runtime/hooks/v1alpha1/inplaceupdate_types.go`, 1.14).
const HOOKS: [&str; 2] = ["CanUpdateMachine", "CanUpdateMachineSet"];
/// Annotation of a Machine that is being updated in place (`api/core/v1beta2/machine_types.go`, UpdateInProgressAnnotation).
const IN_PROGRESS: &str = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";

/// Who may update Machines in place, as far as the live objects say.
#[derive(Debug, Default)]
pub(crate) struct Updaters {
    /// The name of an extension that is asked.
    extension: Option<String>,
    /// Namespace and name of the clusters of which a Machine is being updated.
    clusters: BTreeSet<(Option<String>, String)>,
}

impl Updaters {
    /// Looks through the live objects once, for all owners.
    #[must_use]
    pub(crate) fn among(live: &dyn View) -> Self {
        let asked = |object: &&Object| object.value().is_ok_and(|config| is_asked(&config));
        let cluster = |machine: &Object| {
            let value = machine.value().ok()?;
            annotation(&value, IN_PROGRESS)?;
            Some((machine.key.namespace.clone(), label(&value, CLUSTER_NAME)?.to_owned()))
        };
        let machines = live.of_kind(MACHINE).filter(|machine| machine.may_say(IN_PROGRESS));
        Self {
            extension: live.of_kind(EXTENSIONS.1).find(asked).map(|found| found.key.name.clone()),
            clusters: machines.filter_map(cluster).collect(),
        }
    }

    /// Who may update the Machines of an owner in place, as a sentence names it; `None` where nobody is known to.
    #[must_use]
    pub(crate) fn of(&self, owner: &Key, cluster: &str) -> Option<String> {
        if owner.kind != MACHINE_DEPLOYMENT && owner.kind != kubeadm::CONTROL_PLANE_KIND {
            return None;
        }
        if let Some(name) = &self.extension {
            return Some(format!("runtime extension {name}"));
        }
        let is_updated = self.clusters.contains(&(owner.namespace.clone(), cluster.to_owned()));
        is_updated.then(|| "a runtime extension (one updates a Machine now)".to_owned())
    }
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
