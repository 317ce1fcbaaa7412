//! What waits for a BareMetalHost that its operator leaves alone.
//! Read beside `internal/controller/metal3.io/baremetalhost_controller.go` (Reconcile) and `annotations.go` of
//! baremetal-operator 0.14.

use crate::kinds::fields::text;
use crate::model::Effect;
use crate::tree::Value;

/// Annotations by which the operator leaves a host alone.
pub(super) const PAUSES: [&str; 2] = ["baremetalhost.metal3.io/paused", "baremetalhost.metal3.io/detached"];

/// What the operator does to a host that a Machine may run on, as soon as it manages it again: another image, or no power.
pub(super) fn waiting(host: &Value) -> Option<(Effect, &'static str)> {
    let Some(state) = text(host, "/status/provisioning/state") else {
        return Some((Effect::Unknown, "whether a Machine runs on it, and what waits for it, is not told"));
    };
    if !state.contains("provisioned") && state != "provisioning" {
        return None;
    }
    let has = text(host, "/status/provisioning/image/url").filter(|_| state == "provisioned");
    if has.is_some() && has != text(host, "/spec/image/url") {
        return Some((Effect::Delete, "it is wiped and set up anew, because it has another image than it should"));
    }
    let is = |at: &str, wanted: bool| host.pointer(at).and_then(Value::as_bool) == Some(wanted);
    (is("/spec/online", false) && !is("/status/poweredOn", false))
        .then_some((Effect::Unknown, "it is turned off, with the Machine that runs on it"))
}
