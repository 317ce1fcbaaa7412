//! Mirror of how Cluster API up to 1.11 compares a Machine's KubeadmConfig with its control plane.
//! Read beside `controlplane/kubeadm/internal/filters.go` (matchesKubeadmBootstrapConfig) of 1.5 to 1.11: the cluster
//! configuration is compared with an annotation of the Machine, init or join configuration with whichever the Machine has.

use super::CONFIG;
use crate::kinds::Versions;
use crate::kinds::contract::BOOTSTRAP;
use crate::kinds::diff;
use crate::kinds::diff::Style;
use crate::kinds::fields::annotation;
use crate::kinds::superset;
use crate::model::Cause;
use crate::model::Member;
use crate::object::Path;
use crate::providers::core::changes::{COMPONENT_TIMEOUT_FREE, DNS_FREE, V1BETA2};
use crate::providers::kind_of;
use crate::providers::kubeadm::config::{STYLE, cause, has_reference, old_defaults};
use crate::tree::{Map, Value, json};

/// Annotation of a Machine that keeps the cluster configuration it was made with.
pub(crate) const CLUSTER_CONFIGURATION: &str = "controlplane.cluster.x-k8s.io/kubeadm-cluster-configuration";

/// A timeout that v1beta1 has in the cluster configuration and v1beta2 in both forms; of those that read v1beta2 only the first
/// patches of 1.11 compare it.
const COMPONENT: &str = "controlPlaneComponentHealthCheckSeconds";

/// What the Go types of v1beta1 keep apart, which 1.5 to 1.10 compare.
pub(crate) const OLD_STYLE: Style = Style {
    keep_empty: &[
        "authProvider",
        "bootstrapToken",
        "containerLinuxConfig",
        "contentFrom",
        "diskSetup",
        "exec",
        "external",
        "file",
        "ignition",
        "kubeConfig",
        "local",
        "ntp",
        "passwdFrom",
        "patches",
        "taints",
        "valueFrom",
    ],
    drop_zero: &[
        "append",
        "bindPort",
        "insecureSkipTLSVerify",
        "percentage",
        "provideClusterInfo",
        "readOnly",
        "strict",
        "unsafeSkipCAVerification",
        "useExperimentalRetryJoin",
    ],
    keep_blank: &[
        "value",
        "gecos",
        "groups",
        "homeDir",
        "shell",
        "passwd",
        "primaryGroup",
        "sudo",
        "tableType",
        "replaceFS",
    ],
};

/// The reasons why the Machine's config is out of date.
#[must_use]
pub(crate) fn outdated(member: &Member, owner: &Value, versions: &Versions) -> Vec<Cause> {
    let style = if versions.has(&V1BETA2) { STYLE } else { OLD_STYLE };
    let mut causes = cluster_configuration(member, owner, versions, style);
    if causes.is_empty() {
        causes = init_or_join(member, owner, versions, style);
    }
    causes
}

/// Compares with the annotation; a Machine without it counts as matching (matchClusterConfiguration).
fn cluster_configuration(member: &Member, owner: &Value, versions: &Versions, style: Style) -> Vec<Cause> {
    let Some(stored) = annotation(&member.machine, CLUSTER_CONFIGURATION) else { return Vec::new() };
    let at = Path::root().key("clusterConfiguration");
    let Ok(have) = serde_json::from_str::<Value>(stored) else { return vec![cause(at)] };
    let mut have = if have.get("marshalVersion").and_then(Value::as_str) == Some("v1beta2") {
        have
    } else {
        let config = json!({"spec": {"clusterConfiguration": have}});
        let config =
            superset::value(kind_of(BOOTSTRAP, CONFIG), "bootstrap.cluster.x-k8s.io/v1beta1", &config, versions);
        config.pointer("/spec/clusterConfiguration").cloned().unwrap_or_default()
    };
    let mut want = owner.pointer("/spec/kubeadmConfigSpec/clusterConfiguration").cloned().unwrap_or_default();
    for side in [&mut have, &mut want] {
        if !side.is_object() {
            *side = json!({});
        }
        if let Some(map) = side.as_object_mut() {
            // CoreDNS is updated in place; the version of the annotation is no setting.
            if map.contains_key("dns") && versions.has(&DNS_FREE) {
                map.remove("dns");
            }
            map.remove("marshalVersion");
        }
        diff::prune(side, style);
    }
    diff::places(Some(&have), Some(&want), &at).into_iter().map(cause).collect()
}

/// Compares init or join configuration and the rest of the config (matchInitOrJoinConfiguration).
fn init_or_join(member: &Member, owner: &Value, versions: &Versions, style: Style) -> Vec<Cause> {
    let (true, Some(config)) = (has_reference(member), &member.config) else { return Vec::new() };
    let mut have = config.get("spec").cloned().unwrap_or_else(|| json!({}));
    let mut want = owner.pointer("/spec/kubeadmConfigSpec").cloned().unwrap_or_else(|| json!({}));
    let (Some(current), Some(desired)) = (have.as_object_mut(), want.as_object_mut()) else { return Vec::new() };
    let defined = |form: Option<&Value>| match form {
        // 1.11 asks whether the block says anything, older versions whether it is there; a pointer says that it is none.
        Some(form) if form.get("controlPlane").is_some_and(Value::is_object) => true,
        Some(form) if versions.has(&V1BETA2) => {
            let mut form = form.clone();
            diff::prune(&mut form, style);
            form.as_object().is_some_and(|map| !map.is_empty())
        }
        form => form.is_some_and(Value::is_object),
    };
    // Most say nothing of it, and are the same for all versions then.
    let says = |side: &Map| {
        ["initConfiguration", "joinConfiguration"]
            .iter()
            .any(|form| side.get(form).and_then(|form| form.get("timeouts")?.get(COMPONENT)).is_some())
    };
    let is_said = says(current) || says(desired);
    let is_compared = is_said && versions.has(&V1BETA2) && !versions.has(&COMPONENT_TIMEOUT_FREE);
    if versions.has(&V1BETA2) && !is_compared {
        // Conversion puts this one into both forms, and is not to make a joined Machine of the first one.
        for form in ["initConfiguration", "joinConfiguration"] {
            let timeouts = current.get_mut(form).and_then(|form| form.get_mut("timeouts")?.as_object_mut());
            timeouts.and_then(|timeouts| timeouts.remove(COMPONENT));
        }
    }
    let joined = defined(current.get("joinConfiguration"));
    if versions.has(&V1BETA2) {
        desired.remove(if joined { "initConfiguration" } else { "joinConfiguration" });
    } else {
        for form in ["initConfiguration", "joinConfiguration"] {
            if !defined(current.get(form)) {
                desired.remove(form);
            }
        }
    }
    if !defined(desired.get("joinConfiguration")) {
        current.remove("joinConfiguration");
    }
    // Up to 1.10 these are pointers: the first Machine has an init configuration, and one that says nothing is not none.
    let is_there = |form: Option<&Value>| form.is_some_and(Value::is_object);
    let init = "initConfiguration";
    let lacks_init = !versions.has(&V1BETA2) && is_there(current.get(init)) && !is_there(desired.get(init));
    let bare_join = |join: Option<&Value>| join.is_some_and(|join| join.get("controlPlane").is_none_or(Value::is_null));
    let drop_control_plane = bare_join(desired.get("joinConfiguration"));
    for side in [current, desired] {
        side.remove("clusterConfiguration");
        old_defaults(side);
        for form in ["initConfiguration", "joinConfiguration"] {
            let Some(form) = side.get_mut(form).and_then(Value::as_object_mut) else { continue };
            for key in ["apiVersion", "kind", "discovery"] {
                form.remove(key);
            }
            if drop_control_plane {
                form.remove("controlPlane");
            }
            if let Some(timeouts) = form.get_mut("timeouts").and_then(Value::as_object_mut).filter(|_| !is_compared) {
                timeouts.remove(COMPONENT);
            }
        }
    }
    let (Some(have), Some(want)) = (have.as_object(), want.as_object()) else { return Vec::new() };
    let mut places = diff::places_pruned(have, want, style);
    let at = Path::root().key(init);
    if lacks_init && !places.iter().any(|place| at.covers(place)) {
        places.push(at);
    }
    places.into_iter().map(cause).collect()
}

/// The config of a Machine that this owner made, and what its Machine remembers.
#[must_use]
pub(crate) fn made_from(owner: &Value, join: bool, machine: &mut Value) -> Value {
    let mut spec = owner.pointer("/spec/kubeadmConfigSpec").cloned().unwrap_or_else(|| json!({}));
    let mut cluster = spec.get("clusterConfiguration").cloned().unwrap_or_else(|| json!({}));
    if let Some(map) = cluster.as_object_mut() {
        map.insert("marshalVersion".to_owned(), json!("v1beta2"));
    }
    if let Some(metadata) = machine.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".to_owned(), json!({CLUSTER_CONFIGURATION: cluster.to_string()}));
    }
    if let Some(map) = spec.as_object_mut() {
        if join {
            map.remove("initConfiguration");
            if let Some(form) = map.entry("joinConfiguration").or_insert_with(|| json!({})).as_object_mut() {
                form.entry("controlPlane").or_insert_with(|| json!({"localAPIEndpoint": {}}));
            }
        } else {
            map.remove("joinConfiguration");
        }
    }
    json!({"spec": spec})
}
