//! Mirror of the webhooks that refuse another content under the name of a template, or another spec of a Machine.
//! Read beside `controlplane/kubeadm/webhooks/admission/kubeadmcontrolplanetemplate.go` (ValidateUpdate) and
//! `test/infrastructure/docker/internal/webhooks/{dev,docker}machinetemplate.go` of Cluster API 1.14; up to 1.13 the first
//! is `controlplane/kubeadm/internal/webhooks`. All of them compare Go values, so what Go cannot tell apart is the same.
//! What the infrastructure providers compare, and how, stands in `fixed_infra`.

use serde_json::{Map, Value, json};

use crate::judge::admission::Refusal;
use crate::judge::admission::fixed_infra;
use crate::kinds::diff;
use crate::kinds::diff::Style;
use crate::kinds::hub::go_seconds;
use crate::object::{Key, Path};
use crate::providers::kubeadm::config as kcp_config;
use crate::providers::kubeadm::config::old_defaults;
use crate::providers::kubeadm::config_old::OLD_STYLE;
use crate::rules::Versions;

/// What the types of v1beta2 keep apart where conversion from v1beta1 made the value: empty lists and maps are lost there.
const CONVERTED: Style = Style {
    keep_empty: &["taints", "extraEnvs", "controlPlane", "valueFrom"],
    drop_zero: kcp_config::STYLE.drop_zero,
    keep_blank: kcp_config::STYLE.keep_blank,
};

/// The same where the template was written as v1beta2.
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

/// What the types of a machine template of the test provider keep apart.
const DOCKER: Style = Style {
    keep_empty: &["docker", "inMemory", "vm", "node", "apiServer", "etcd"],
    drop_zero: &["readOnly"],
    keep_blank: &[],
};

/// The same where the template was written in the version that the webhook reads.
const DOCKER_WRITTEN: Style = Style {
    keep_empty: &["docker", "inMemory", "vm", "node", "apiServer", "etcd", "preLoadImages", "extraMounts"],
    ..DOCKER
};

/// The places at which the content of a template differs; `None` for a kind that is not mirrored here.
#[must_use]
pub(crate) fn differences(
    key: &Key,
    api_version: &str,
    old: &Value,
    new: &Value,
    versions: &Versions,
) -> Option<Vec<Path>> {
    if let Some(fixed) = fixed_infra::of(key) {
        return fixed.differences(old, new, versions);
    }
    let kind = key.kind.as_str();
    let is_old = api_version.ends_with("v1beta1");
    let content = |side: &Value| side.pointer("/spec/template/spec").cloned().unwrap_or_else(|| json!({}));
    let (mut before, mut after) = (content(old), content(new));
    match kind {
        "KubeadmControlPlaneTemplate" => {
            let keeps_strategy = after.pointer("/rollout/strategy").is_some() || !versions.capi(11);
            for side in [&mut before, &mut after] {
                kubeadm_control_plane(side, keeps_strategy, is_old, versions);
            }
        }
        "DockerMachineTemplate" | "DevMachineTemplate" => {
            for side in [&mut before, &mut after] {
                diff::prune(side, if is_old { DOCKER } else { DOCKER_WRITTEN });
                durations(side);
            }
        }
        _ => return None,
    }
    let at = Path::root().key("spec").key("template").key("spec");
    Some(diff::places(Some(&before), Some(&after), &at))
}

/// Whether the comparison of a kind is about a path: equal contents say that nothing happens there.
#[must_use]
pub(crate) fn covers(key: &Key, path: &Path) -> bool {
    let is_template = |path: &Path| {
        let spec = Path::root().key("spec");
        spec.key("template").key("spec").covers(path) || *path == spec || *path == spec.key("template")
    };
    fixed_infra::of(key).map_or_else(|| is_template(path), |fixed| fixed.covers(path))
}

/// The refusal of a place that differs.
#[must_use]
pub(crate) fn refusal(key: &Key, path: Path) -> Refusal {
    let rule = fixed_infra::of(key).map_or("template/content", |fixed| fixed.rule);
    let message = if rule == "template/content" {
        format!(
            "the webhook refuses another content under the same name ({path}); new content needs a template of another name and a moved reference"
        )
    } else {
        format!("the webhook refuses another value of {path} later")
    };
    Refusal { rule, path, message }
}

/// The content of a control plane template as its webhook compares it.
fn kubeadm_control_plane(content: &mut Value, keeps_strategy: bool, is_old: bool, versions: &Versions) {
    if let Some(config) = content.pointer_mut("/kubeadmConfigSpec").and_then(Value::as_object_mut) {
        if versions.capi(11) {
            old_defaults(config);
        } else {
            defaults_of_v1beta1(config);
        }
    }
    strategy(content, keeps_strategy, versions);
    let style = match (versions.capi(11), is_old) {
        (false, _) => Style { keep_empty: OLD_POINTERS, ..OLD_STYLE },
        // Conversion from v1beta1 loses more empty values than the types of v1beta2 do.
        (true, true) => CONVERTED,
        (true, false) => WRITTEN,
    };
    diff::prune(content, style);
}

/// The strategy with its defaults. Since 1.11 nothing fills it in any more, and its going is let through.
fn strategy(content: &mut Value, keeps: bool, versions: &Versions) {
    if !versions.capi(11) {
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
fn defaults_of_v1beta1(config: &mut Map<String, Value>) {
    let fill = |map: &mut Map<String, Value>, key: &str, text: &str| {
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

/// Spells durations alike: Go compares what they mean.
pub(crate) fn durations(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, child) in map.iter_mut() {
                match child
                    .as_str()
                    .filter(|_| key.ends_with("Timeout") || key.ends_with("Duration"))
                    .and_then(go_seconds)
                {
                    Some(seconds) => *child = json!(seconds),
                    None => durations(child),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(durations),
        _ => {}
    }
}

/// The map at a key, made where there is none.
fn child<'m>(map: &'m mut Map<String, Value>, key: &str) -> &'m mut Map<String, Value> {
    let value = map.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was made a map on the line above")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str) -> Key {
        Key::new("infrastructure.cluster.x-k8s.io/v1beta2", kind, None, "x")
    }

    fn places(api_version: &str, version: &str, old: Value, new: Value) -> Vec<String> {
        let wrap = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
        let versions = Versions::told("cluster-api", version);
        let found = differences(&key("KubeadmControlPlaneTemplate"), api_version, &wrap(old), &wrap(new), &versions);
        found.expect("a mirrored kind").iter().map(ToString::to_string).collect()
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

    #[test]
    fn durations_are_compared_by_what_they_mean() {
        let side = |text: &str| json!({"spec": {"template": {"spec": {"bootstrapTimeout": text}}}});
        let versions = Versions::told("docker", "v1.14.0");
        let found = |text: &str| {
            differences(&key("DockerMachineTemplate"), "g/v1beta2", &side("1m0s"), &side(text), &versions)
                .expect("mirrored")
                .len()
        };
        assert_eq!((found("60s"), found("61s")), (0, 1));
    }
}
