//! Mirror of the webhook that refuses another content under the name of a control plane template.
//! Read beside `controlplane/kubeadm/webhooks/admission/kubeadmcontrolplanetemplate.go` (ValidateUpdate) of Cluster API 1.14; up
//! to 1.13 it is in `controlplane/kubeadm/internal/webhooks`. It compares Go values, so what Go cannot tell apart is the same.

use super::config::{STYLE, old_defaults};
use super::config_old::OLD_STYLE;
use crate::kinds::Versions;
use crate::kinds::diff::{self, Style};
use crate::kinds::fields::child;
use crate::object::{ApiVersion, Path};
use crate::providers::core::changes::V1BETA2;
use crate::tree::{Map, Value, json};

/// What the types of v1beta2 keep apart where conversion from v1beta1 made the value: empty lists and maps are lost there.
const CONVERTED: Style = Style {
    keep_empty: &["taints", "extraEnvs", "controlPlane", "valueFrom"],
    drop_zero: STYLE.drop_zero,
    keep_blank: STYLE.keep_blank,
};

/// What the types keep apart where the template was written as v1beta2: more empty lists and maps stay.
const WRITTEN: Style = Style {
    keep_empty: &["taints", "extraEnvs", "controlPlane", "valueFrom", "featureGates", "partitions", "filesystems"],
    ..CONVERTED
};

/// Pointers of v1beta1 around and in the kubeadm configuration, beside those that Machines are compared by.
const OLD_POINTERS: &[&str] = &[
    "bootstrapToken",
    "before",
    "clusterConfiguration",
    "controlPlane",
    "deletion",
    "diskSetup",
    "external",
    "file",
    "ignition",
    "initConfiguration",
    "joinConfiguration",
    "local",
    "machineNaming",
    "machineTemplate",
    "ntp",
    "patches",
    "remediation",
    "taints",
    "contentFrom",
    "passwdFrom",
    "valueFrom",
    "kubeConfig",
    "exec",
    "authProvider",
];

/// The places at which the content of a control plane template differs.
#[must_use]
pub(crate) fn differences(api_version: &str, old: &Value, new: &Value, versions: &Versions) -> Vec<Path> {
    let is_old = ApiVersion::is_before_v1beta2(api_version);
    let content = |side: &Value| side.pointer("/spec/template/spec").cloned().unwrap_or_else(|| json!({}));
    let (mut before, mut after) = (content(old), content(new));
    let keeps_strategy = after.pointer("/rollout/strategy").is_some() || !versions.has(&V1BETA2);
    for side in [&mut before, &mut after] {
        kubeadm_control_plane(side, keeps_strategy, is_old, versions);
    }
    let at = Path::root().key("spec").key("template").key("spec");
    diff::places(Some(&before), Some(&after), &at)
}

/// The content of a control plane template as its webhook compares it.
fn kubeadm_control_plane(content: &mut Value, keeps_strategy: bool, is_old: bool, versions: &Versions) {
    // Go's types always hold it, so that its defaults are filled in where it is not written too.
    if let Some(content) = content.as_object_mut() {
        let config = child(content, "kubeadmConfigSpec");
        if versions.has(&V1BETA2) {
            old_defaults(config);
        } else {
            defaults_of_v1beta1(config);
        }
    }
    strategy(content, keeps_strategy, versions);
    let style = match (versions.has(&V1BETA2), is_old) {
        (false, _) => Style { keep_empty: OLD_POINTERS, ..OLD_STYLE },
        // Conversion from v1beta1 loses more empty values than the types of v1beta2 do.
        (true, true) => CONVERTED,
        (true, false) => WRITTEN,
    };
    diff::prune(content, style);
}

/// The strategy with its defaults. Since 1.11 nothing fills it in any more, and its going is let through.
fn strategy(content: &mut Value, keeps: bool, versions: &Versions) {
    if !versions.has(&V1BETA2) {
        let strategy = content.as_object_mut().map(|map| child(child(map, "rollout"), "strategy"));
        if let Some(strategy) = strategy {
            if strategy.get("type").is_none_or(|kind| kind == "") {
                strategy.insert("type".to_owned(), json!("RollingUpdate"));
            }
            child(strategy, "rollingUpdate").entry("maxSurge").or_insert(json!(1));
        }
        return;
    }
    if let Some(strategy) = content.pointer_mut("/rollout/strategy").and_then(Value::as_object_mut) {
        strategy.insert("type".to_owned(), json!("RollingUpdate"));
    }
    if let Some(rollout) = content.pointer_mut("/rollout").and_then(Value::as_object_mut).filter(|_| !keeps) {
        rollout.remove("strategy");
    }
}

/// What the webhook of up to 1.10 fills in: nothing in a block that is not there.
fn defaults_of_v1beta1(config: &mut Map) {
    let fill = |map: &mut Map, key: &str, text: &str| {
        if map.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
            map.insert(key.to_owned(), json!(text));
        }
    };
    fill(config, "format", "cloud-config");
    for form in ["initConfiguration", "joinConfiguration"] {
        if let Some(form) = config.get_mut(form).and_then(Value::as_object_mut) {
            fill(child(form, "nodeRegistration"), "imagePullPolicy", "IfNotPresent");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(api_version: &str, version: &str, old: Value, new: Value) -> Vec<String> {
        let wrap = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
        let versions = Versions::told("cluster-api", version);
        let found = differences(api_version, &wrap(old), &wrap(new), &versions);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_empty_list_behind_a_pointer_is_another_content() {
        let old = json!({"kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {}}}});
        let new = json!({"kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraEnvs": []}}}});
        assert_eq!(places("g/v1beta2", "v1.14.2", old.clone(), new.clone()).len(), 1);
        assert_eq!(places("g/v1beta1", "v1.10.10", old, new), [""; 0], "a plain list of v1beta1 is lost in Go");
    }

    #[test]
    fn defaults_of_v1beta1_are_the_same_content() {
        let old = json!({"kubeadmConfigSpec": {"format": "cloud-config", "initConfiguration": {}},
            "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
        let new = json!({"kubeadmConfigSpec": {"initConfiguration": {"nodeRegistration": {"imagePullPolicy": ""}}}});
        assert_eq!(places("g/v1beta1", "v1.9.6", old.clone(), new), [""; 0]);
        assert_eq!(places("g/v1beta1", "v1.9.6", old, json!({"kubeadmConfigSpec": {}})).len(), 1, "a block that goes");
    }
}
