//! The feature gates of all providers: which an object needs, and which are on where nobody says otherwise.

use super::{PROVIDERS, kind};
use crate::kinds::Kind;
use crate::kinds::gates::{Gate, Need};
use crate::kinds::versions::Versions;
use crate::object::{Key, Object, Path};
use crate::tree::Value;

/// All feature gates that something known here depends on.
pub fn all() -> impl Iterator<Item = &'static Gate> {
    PROVIDERS.iter().flat_map(|provider| provider.gates)
}

/// Whether a gate is on where nobody says otherwise.
#[must_use]
pub fn is_usually_on(gate: &str, versions: &Versions) -> bool {
    let known = all().find(|known| known.name == gate);
    known.and_then(|known| known.usually_on).is_some_and(|since| versions.has(since))
}

/// The places of an object, in the superset form, that need a gate; `is_new` where the object is not there yet.
#[must_use]
pub(crate) fn needs(key: &Key, object: &Value, is_new: bool, versions: &Versions) -> Vec<Need> {
    needed(kind(key), key, object, is_new, versions)
}

/// The places of an object that need a gate, where its kind is at hand.
#[must_use]
pub(crate) fn needed(kind: &Kind, key: &Key, object: &Value, is_new: bool, versions: &Versions) -> Vec<Need> {
    let mut out = Vec::new();
    if let Some(webhook) = kind.webhook {
        webhook.needs(key, object, is_new, versions, &mut |gate, place| {
            let path = Path::parse(place).expect("webhooks write places as paths");
            out.push(Need { gate, path });
        });
    }
    out
}

/// Whether an object may need a gate, so that one that is there can show that it is on.
#[must_use]
pub(crate) fn may_need(gate: &str, object: &Object) -> bool {
    kind(&object.key).gates.iter().any(|(own, word)| *own == gate && object.may_say(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::aws::IGNITION as AWS_IGNITION;
    use crate::providers::core::{POOLS, RESOURCE_SETS, RUNTIME_SDK, TAINTS, TOPOLOGY};
    use crate::providers::kubeadm::IGNITION;
    use crate::providers::vsphere::NETWORKS;
    use crate::tree::json;

    fn gates(group: &str, kind: &str, object: &Value, version: &str) -> Vec<String> {
        let group = format!("{group}cluster.x-k8s.io");
        let key = Key::of(group, kind, None, "x");
        let found = needs(&key, object, true, &Versions::told("cluster-api", version));
        found.into_iter().map(|need| format!("{} {}", need.gate, need.path)).collect()
    }

    #[test]
    fn ignition_is_found_where_each_kind_has_it() {
        let config = json!({"format": "ignition"});
        let table = [
            ("bootstrap.", "KubeadmConfig", json!({"spec": config}), "spec.format"),
            (
                "bootstrap.",
                "KubeadmConfigTemplate",
                json!({"spec": {"template": {"spec": config}}}),
                "spec.template.spec.format",
            ),
            (
                "controlplane.",
                "KubeadmControlPlane",
                json!({"spec": {"kubeadmConfigSpec": config}}),
                "spec.kubeadmConfigSpec.format",
            ),
        ];
        for (group, kind, object, place) in table {
            assert_eq!(gates(group, kind, &object, "v1.14.2"), [format!("{IGNITION} {place}")], "{kind}");
        }
        let near = json!({"spec": {"format": "cloud-config", "ignition": {}}});
        assert!(gates("bootstrap.", "KubeadmConfig", &near, "v1.14.2").is_empty());
        assert_eq!(gates("bootstrap.", "KubeadmConfig", &near, "v1.10.10"), [format!("{IGNITION} spec.ignition")]);
        assert!(gates("x.", "KubeadmConfig", &json!({"spec": config}), "v1.14.2").is_empty());
    }

    #[test]
    fn only_versions_that_ask_need_the_gate() {
        let machine = json!({"spec": {"template": {"spec": {"taints": [{"key": "a"}]}}}});
        assert_eq!(
            gates("", "MachineDeployment", &machine, "v1.12.3"),
            [format!("{TAINTS} spec.template.spec.taints")]
        );
        assert!(gates("", "MachineDeployment", &machine, "v1.11.5").is_empty());
        let set = json!({"spec": {}});
        assert_eq!(gates("addons.", "ClusterResourceSet", &set, "v1.9.6"), [format!("{RESOURCE_SETS} spec")]);
        assert!(gates("addons.", "ClusterResourceSet", &set, "v1.10.10").is_empty());
    }

    #[test]
    fn a_class_needs_two_gates_where_an_extension_patches() {
        let class = json!({"spec": {"patches": [{"definitions": []}, {"external": {"generateExtension": "x"}}]}});
        let wanted = [format!("{TOPOLOGY} spec"), format!("{RUNTIME_SDK} spec.patches[1].external")];
        assert_eq!(gates("", "ClusterClass", &class, "v1.14.2"), wanted);
        assert_eq!(gates("", "Cluster", &json!({"spec": {"topology": {}}}), "v1.14.2"), [""; 0]);
    }

    #[test]
    fn gates_of_other_providers_are_their_own() {
        let template = json!({"spec": {"template": {"spec": {"ignition": {"version": "3.4"}}}}});
        let wanted = format!("{AWS_IGNITION} spec.template.spec.ignition");
        assert_eq!(gates("infrastructure.", "AWSMachineTemplate", &template, "v1.14.2"), [wanted]);
        let key = Key::of("infrastructure.cluster.x-k8s.io", "AWSMachineTemplate", None, "x");
        assert!(needs(&key, &template, false, &Versions::told("cluster-api", "v1.14.2")).is_empty());
        assert!(gates("infrastructure.", "AWSCluster", &json!({"spec": {"region": "x"}}), "v1.14.2").is_empty());
        let machine = json!({"spec": {"network": {"interfaces": {"primary": {}}}}});
        let wanted = format!("{NETWORKS} spec.network.interfaces");
        assert_eq!(gates("vmware.infrastructure.", "VSphereMachine", &machine, "v1.14.2"), [wanted]);
        assert!(gates("infrastructure.", "VSphereMachine", &machine, "v1.14.2").is_empty());
    }

    #[test]
    fn a_gate_that_is_usually_on_is_open_only_before() {
        let told = |version| Versions::told("cluster-api", version);
        assert!(is_usually_on(POOLS, &told("v1.7.9")) && !is_usually_on(POOLS, &told("v1.6.8")));
        assert!(is_usually_on(RESOURCE_SETS, &told("v1.6.8")));
        assert!(!is_usually_on(IGNITION, &told("v1.14.2")));
    }
}
