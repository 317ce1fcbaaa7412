//! What waits for a BareMetalHost that its operator leaves alone.
//! Read beside `internal/controller/metal3.io/baremetalhost_controller.go` (Reconcile, manageHostPower, hasRebootAnnotation),
//! `host_state_machine.go` (handleProvisioned, handleExternallyProvisioned) and `annotations.go` of baremetal-operator 0.14.

use super::said::asks_reboot;
use crate::kinds::fields::text;
use crate::model::Effect;
use crate::tree::Value;

/// Annotations by which the operator leaves a host alone.
pub(super) const PAUSES: [&str; 2] = ["baremetalhost.metal3.io/paused", "baremetalhost.metal3.io/detached"];

/// What the operator does to a host that a Machine may run on, as soon as it manages it again: another image, a reboot, or no power.
pub(super) fn waiting(host: &Value) -> Option<(Effect, &'static str)> {
    let Some(state) = text(host, "/status/provisioning/state") else {
        return Some((Effect::Unknown, "whether a Machine runs on it, and what waits for it, is not told"));
    };
    if !state.contains("provisioned") && state != "provisioning" {
        return None;
    }
    let is = |at: &str, wanted: bool| host.pointer(at).and_then(Value::as_bool) == Some(wanted);
    let is_external = state == "externally provisioned";
    if !is_external && is_cancelled(host) {
        let says = "it is wiped and set up again, because it has another image than it should";
        return Some((if state == "provisioned" { Effect::Delete } else { Effect::Unknown }, says));
    }
    if is_external && !is("/spec/externallyProvisioned", true) && !has_image(host) {
        return Some((Effect::Delete, "it is wiped, because it is no longer set up by others and has no image"));
    }
    let annotations = host.pointer("/metadata/annotations").and_then(Value::as_object);
    if state != "provisioning" && annotations.is_some_and(|all| all.keys().any(|name| asks_reboot(name))) {
        return Some((Effect::Unknown, "it is rebooted, with the Machine that runs on it"));
    }
    (is("/spec/online", false) && !is("/status/poweredOn", false))
        .then_some((Effect::Unknown, "it is turned off, with the Machine that runs on it"))
}

/// A text that is there and not empty.
fn said<'h>(host: &'h Value, place: &str) -> Option<&'h str> {
    text(host, place).filter(|said| !said.is_empty())
}

/// Whether a host says what is to be put on it.
fn has_image(host: &Value) -> bool {
    said(host, "/spec/image/url").is_some() || said(host, "/spec/customDeploy/method").is_some()
}

/// Whether a host is to have something else than what is put on it (`host_state_machine.go`, provisioningCancelled and
/// imageProvisioningCancelled).
fn is_cancelled(host: &Value) -> bool {
    let (method, url) = (said(host, "/spec/customDeploy/method"), said(host, "/spec/image/url"));
    let had_method = said(host, "/status/provisioning/customDeploy/method");
    let had_url = said(host, "/status/provisioning/image/url");
    let is_other = had_url.is_some() && url != had_url;
    match (method, had_method) {
        (Some(method), had) => had.is_some_and(|had| had != method) || is_other,
        (None, Some(_)) => true,
        (None, None) => url.is_none() || is_other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn effect(state: &str, spec: Value, had: Value, annotations: Value) -> Option<Effect> {
        let mut provisioning = had;
        provisioning["state"] = json!(state);
        let host = json!({"metadata": {"annotations": annotations}, "spec": spec, "status": {"provisioning": provisioning, "poweredOn": true}});
        waiting(&host).map(|(effect, _)| effect)
    }

    #[test]
    fn another_image_or_method_wipes_a_host() {
        let image = |url: &str| json!({"image": {"url": url}});
        let custom = |method: &str| json!({"customDeploy": {"method": method}});
        let held = |spec: Value, had: Value| effect("provisioned", spec, had, json!({}));
        assert_eq!(held(image("a"), image("a")), None);
        assert_eq!(held(image("b"), image("a")), Some(Effect::Delete));
        assert_eq!(held(json!({}), image("a")), Some(Effect::Delete));
        assert_eq!(held(custom("a"), custom("a")), None);
        assert_eq!(held(custom("b"), custom("a")), Some(Effect::Delete));
        assert_eq!(held(json!({}), custom("a")), Some(Effect::Delete));
        assert_eq!(effect("provisioning", image("b"), image("a"), json!({})), Some(Effect::Unknown));
        assert_eq!(effect("available", image("b"), json!({}), json!({})), None);
    }

    #[test]
    fn a_host_that_others_set_up_is_wiped_where_nobody_says_what_is_to_run_on_it() {
        let held = |spec: Value| effect("externally provisioned", spec, json!({}), json!({}));
        assert_eq!(held(json!({"externallyProvisioned": true})), None);
        assert_eq!(held(json!({"externallyProvisioned": false})), Some(Effect::Delete));
        assert_eq!(held(json!({"image": {"url": "a"}})), None);
    }

    #[test]
    fn a_reboot_that_was_asked_for_comes() {
        let held = |name: &str| {
            let same = json!({"image": {"url": "a"}});
            effect("provisioned", same.clone(), same, json!({name: ""}))
        };
        assert_eq!(held("reboot.metal3.io"), Some(Effect::Unknown));
        assert_eq!(held("reboot.metal3.io/drill"), Some(Effect::Unknown));
        assert_eq!(held("reboot.metal3.io.example"), None);
    }
}
