//! What the webhook of hosts refuses of the annotations through which people speak to the operator.
//! Read beside `internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go` (validateAnnotations, validateInspectionMode)
//! of baremetal-operator 0.10 to 0.14.

use super::changes::INSPECTION_MODE;
use super::decoded;
use super::webhook::RULE;
use crate::kinds::Versions;
use crate::kinds::fields::{annotation, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::{Map, Value};

/// How a host is inspected.
const INSPECT: &str = "inspect.metal3.io";
/// What is in a host, for one that is not inspected.
const HARDWARE: &str = "inspect.metal3.io/hardwaredetails";
/// The status of a host that is taken over.
const STATUS: &str = "baremetalhost.metal3.io/status";
/// The beginning of those that reboot it; with a `/` and a name behind it the host stays off until that goes.
const REBOOT: &str = "reboot.metal3.io";

/// Whether an annotation of this name asks for a reboot.
pub(super) fn asks_reboot(name: &str) -> bool {
    name.strip_prefix(REBOOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Words that a status may have for how it goes.
const STATES: [&str; 6] = ["", "OK", "discovered", "error", "delayed", "detached"];
/// Words that a status may have for what went wrong.
const ERRORS: [&str; 7] = [
    "",
    "provisioned registration error",
    "registration error",
    "inspection error",
    "preparation error",
    "provisioning error",
    "power management error",
];

/// What an annotation says about the inspection.
pub(super) fn inspect(host: &Value) -> Option<&str> {
    annotation(host, INSPECT)
}

/// What is refused about the annotations of a host, and where they contradict its fields.
pub(super) fn refusals(new: &Value, is_inspected: bool, versions: &Versions, out: &mut Vec<Refusal>) {
    let at = Path::root().key("metadata").key("annotations");
    let nothing = Map::new();
    let all = new.pointer("/metadata/annotations").and_then(Value::as_object).unwrap_or(&nothing);
    for (name, value) in all.iter().filter_map(|(name, value)| Some((name.as_ref(), value.as_str()?))) {
        if let Some(why) = fault(name, value, is_inspected) {
            refuse(out, RULE, &at.key(name), "", why);
        }
    }
    if !versions.has(&INSPECTION_MODE) {
        return;
    }
    let said = inspect(new).filter(|word| !word.is_empty());
    let mode = text(new, "/spec/inspectionMode").filter(|mode| !mode.is_empty());
    if let Some((said, mode)) = said.zip(mode)
        && (said == "disabled") != (mode == "disabled")
    {
        let message = "inspectionMode and the annotation inspect.metal3.io contradict each other";
        refuse(out, RULE, &at.key(INSPECT), "", message);
        refuse(out, RULE, &Path::root().key("spec"), "inspectionMode", message);
    }
}

/// What is refused about the annotations that ask for a reboot, which a claim of a host may have too.
pub(super) fn reboots(new: &Value, out: &mut Vec<Refusal>) {
    let at = Path::root().key("metadata").key("annotations");
    let all = new.pointer("/metadata/annotations").and_then(Value::as_object);
    for (name, value) in all.into_iter().flatten().filter(|(name, _)| asks_reboot(name)) {
        if let Some(why) = value.as_str().and_then(|value| fault(name, value, false)) {
            refuse(out, RULE, &at.key(name.as_str()), "", why);
        }
    }
}

/// What is wrong with an annotation.
fn fault(name: &str, value: &str, is_inspected: bool) -> Option<&'static str> {
    if value.is_empty() {
        return None;
    }
    let word =
        |read: &Value, key: &str| decoded::field(read, key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if name == INSPECT {
        return (value != "disabled").then_some("it must be disabled or empty");
    }
    if name == HARDWARE {
        let is_fine = !is_inspected && decoded::hardware(value).is_some();
        return (!is_fine).then_some("it must be hardware details as JSON, and the host must not be inspected");
    }
    if name == STATUS {
        let is_fine = |read: Value| {
            STATES.contains(&word(&read, "operationalStatus").as_str())
                && ERRORS.contains(&word(&read, "errorType").as_str())
        };
        return (!decoded::status(value).is_some_and(is_fine)).then_some("it must be the status of a host as JSON");
    }
    let is_fine = |read: Value| ["", "hard", "soft"].contains(&word(&read, "mode").as_str());
    (asks_reboot(name) && !decoded::reboot(value).is_some_and(is_fine))
        .then_some("it must be empty, or JSON with the mode hard or soft")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_say_what_the_operator_reads() {
        let is_fine = |name: &str, value: &str| fault(name, value, false).is_none();
        assert!(is_fine(REBOOT, "") && is_fine("reboot.metal3.io/a", r#"{"mode": "hard"}"#));
        assert!(!is_fine(REBOOT, "now") && !is_fine("reboot.metal3.io/a", r#"{"mode": "cold"}"#));
        assert!(
            !is_fine(REBOOT, r#"{"Mode": "cold"}"#)
                && !is_fine(REBOOT, r#"{"mode": 1}"#)
                && !is_fine(REBOOT, r#"{"force": "x"}"#)
        );
        assert!(is_fine(REBOOT, r#"{"why": "no strict decoder"}"#) && !is_fine(REBOOT, "{} {}"));
        assert!(is_fine("reboot.metal3.iox", "now"));
        assert!(is_fine(INSPECT, "disabled") && !is_fine(INSPECT, "true"));
        assert!(
            is_fine(HARDWARE, "{}") && !is_fine(HARDWARE, r#"{"vendor": {}}"#) && fault(HARDWARE, "{}", true).is_some()
        );
        assert!(is_fine(STATUS, r#"{"operationalStatus": "OK"}"#) && !is_fine(STATUS, r#"{"errorType": "x"}"#));
    }
}
