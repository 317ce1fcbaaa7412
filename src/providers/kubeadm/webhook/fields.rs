//! What the webhook of a control plane says of single fields: how many Machines, which version, which etcd, how long
//! certificates are valid (`controlplane/kubeadm/internal/webhooks/kubeadm_control_plane.go` of Cluster API 1.14).

use super::refuse;
use crate::kinds::Versions;
use crate::kinds::fields::{number, text};
use crate::kinds::versions::parse as parse_version;
use crate::kinds::webhook::Refusal;
use crate::providers::core;
use crate::providers::core::changes::{MACHINE_NAMING, V1BETA2};
use crate::tree::Value;

/// The number of Machines.
pub(super) fn replicas(new: &Value, out: &mut Vec<Refusal>) {
    let wanted = new.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
    let external = new.pointer("/spec/kubeadmConfigSpec/clusterConfiguration/etcd/external").is_some_and(defined);
    if wanted <= 0 {
        refuse(out, "spec.replicas", "the webhook refuses it: a control plane cannot have 0 replicas");
    } else if !external && wanted % 2 == 0 {
        refuse(
            out,
            "spec.replicas",
            format!("the webhook refuses it: {wanted} replicas are an even number, and etcd is stacked"),
        );
    }
}

/// Whether a block says anything.
fn defined(block: &Value) -> bool {
    block.as_object().is_some_and(|map| !map.is_empty())
}

/// The Kubernetes version: at most one minor version up, any way down.
pub(super) fn version(old: &Value, new: &Value, out: &mut Vec<Refusal>) {
    let told = text(new, "/spec/version").unwrap_or_default();
    let Some(to) = semver::Version::parse(told.strip_prefix('v').unwrap_or(told)).ok() else {
        refuse(out, "spec.version", format!("the webhook refuses it: {told:?} is not a semantic version"));
        return;
    };
    let Some(from) = text(old, "/spec/version").and_then(parse_version) else { return };
    if (to.major, to.minor) >= (from.major, from.minor + 2) {
        refuse(
            out,
            "spec.version",
            format!("the webhook refuses it: from v{from} at most one minor version up is allowed, not {told}"),
        );
    }
}

/// `maxSurge` must be 0 or 1, and 0 needs three Machines.
pub(super) fn surge(new: &Value, out: &mut Vec<Refusal>) {
    if text(new, "/spec/rollout/strategy/type").is_some_and(|kind| kind != "RollingUpdate") {
        refuse(out, "spec.rollout.strategy.type", "the webhook refuses it: only RollingUpdate is known");
    }
    let place = "spec.rollout.strategy.rollingUpdate.maxSurge";
    let Some(told) = new.pointer("/spec/rollout/strategy/rollingUpdate/maxSurge").filter(|value| !value.is_null())
    else {
        return;
    };
    // Go reads a text as a number and takes 0 where that fails, so "50%" is 0 and "1" is 1.
    let surge = told.as_i64().unwrap_or_else(|| told.as_str().and_then(|text| text.parse().ok()).unwrap_or(0));
    if surge == 0 && number(new, "/spec/replicas").is_some_and(|count| count < 3) {
        refuse(out, place, "the webhook refuses it: maxSurge 0 needs at least 3 replicas");
    }
    if !(0..=1).contains(&surge) {
        refuse(out, place, format!("the webhook refuses it: maxSurge must be 0 or 1, not {surge}"));
    }
}

/// Stacked and external etcd cannot take each other's place.
pub(super) fn etcd(old: &Value, new: &Value, versions: &Versions, out: &mut Vec<Refusal>) {
    let external =
        |side: &Value| side.pointer("/spec/kubeadmConfigSpec/clusterConfiguration/etcd/external").is_some_and(defined);
    let local = new.pointer("/spec/kubeadmConfigSpec/clusterConfiguration/etcd/local").is_some_and(defined);
    let tag = text(new, "/spec/kubeadmConfigSpec/clusterConfiguration/etcd/local/imageTag").unwrap_or_default();
    if !tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        let place = "spec.kubeadmConfigSpec.clusterConfiguration.etcd.local.imageTag";
        refuse(out, place, format!("the webhook refuses it: {tag:?} is not a tag of an image"));
    }
    if !versions.has(&V1BETA2) {
        let set = |side: &Value, kind: &str| {
            let pointer = format!("/spec/kubeadmConfigSpec/clusterConfiguration/etcd/{kind}");
            side.pointer(&pointer).is_some_and(Value::is_object)
        };
        let moved = (set(old, "external") && set(new, "local")) || (set(old, "local") && set(new, "external"));
        if moved {
            let place = "spec.kubeadmConfigSpec.clusterConfiguration.etcd";
            refuse(out, place, "the webhook refuses it: etcd cannot change between local and external");
        }
        return;
    }
    if external(old) != external(new) {
        let place = "spec.kubeadmConfigSpec.clusterConfiguration.etcd";
        refuse(out, place, "the webhook refuses it: etcd cannot change between local and external");
    } else if local && external(new) {
        let place = "spec.kubeadmConfigSpec.clusterConfiguration.etcd.local";
        refuse(out, place, "the webhook refuses it: etcd cannot be both local and external");
    }
}

/// Days of certificates that contradict each other.
pub(super) fn certificates(new: &Value, versions: &Versions, out: &mut Vec<Refusal>) {
    if !versions.has(&V1BETA2) {
        return;
    }
    let days = |pointer: &str| number(new, pointer).filter(|days| *days > 0);
    let config = "/spec/kubeadmConfigSpec/clusterConfiguration";
    let Some(validity) = days(&format!("{config}/certificateValidityPeriodDays")) else { return };
    let authority = days(&format!("{config}/caCertificateValidityPeriodDays")).unwrap_or(3650);
    if validity > authority {
        let place = "spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays";
        refuse(
            out,
            place,
            format!(
                "the webhook refuses it: certificates cannot be valid longer than those of the CA ({authority} days)"
            ),
        );
    }
    if let Some(before) = days("/spec/rollout/before/certificatesExpiryDays").filter(|before| *before >= validity) {
        let place = "spec.rollout.before.certificatesExpiryDays";
        refuse(
            out,
            place,
            format!(
                "the webhook refuses it: {before} days are not less than the {validity} days that certificates are valid"
            ),
        );
    }
}

/// Names of Machines must stay apart.
pub(super) fn naming(new: &Value, versions: &Versions, out: &mut Vec<Refusal>) {
    let Some(template) = text(new, "/spec/machineNaming/template").filter(|_| versions.has(&MACHINE_NAMING)) else {
        return;
    };
    if !template.contains("{{ .random }}") {
        refuse(out, "spec.machineNaming.template", "the webhook refuses it: {{ .random }} is missing in the template");
    } else if let Some(fault) = core::naming::fault(template, Some(("kubeadmControlPlane", "name"))) {
        refuse(out, "spec.machineNaming.template", format!("the webhook refuses it: {fault}"));
    }
}
