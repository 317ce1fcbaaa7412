//! What the webhooks of the vSphere provider fill in, and how they write an object anew.

use super::SUPERVISOR;
use crate::kinds::Shape;
use crate::kinds::diff::{self, Style};
use crate::kinds::fields::map_at;
use crate::object::Key;
use crate::tree::{Map, Value, json};

/// What the webhooks of the vSphere provider fill in, which write the object anew from Go's types
/// (`internal/webhooks/vsphere{machine,deploymentzone,failuredomain}.go` and `vmware/vspheremachine.go` of 1.14).
pub(super) fn fill_in(key: &Key, api_version: &str, shape: Shape, object: &mut Value) {
    let is_second = key.group == SUPERVISOR;
    let is_written = match key.kind.as_str() {
        "VSphereMachine" => true,
        "VSphereDeploymentZone" | "VSphereFailureDomain" => !is_second,
        _ => false,
    };
    if !is_written {
        return;
    }
    let Some(spec) = object.as_object_mut().and_then(|map| map_at(map, "spec")) else { return };
    match (key.kind.as_str(), is_second) {
        ("VSphereMachine", false) if spec.get("datacenter").is_none_or(|told| told == "") => {
            spec.insert("datacenter".to_owned(), json!("*"));
        }
        ("VSphereDeploymentZone", _) => {
            spec.entry("controlPlane").or_insert(json!(true));
        }
        ("VSphereFailureDomain", _) => {
            for key in ["region", "zone"] {
                if let Some(part) = map_at(spec, key) {
                    part.entry("autoConfigure").or_insert(json!(false));
                }
            }
        }
        _ => {}
    }
    // The types of v1beta2 leave out what v1beta1 writes.
    if let Some(spec) = object.get_mut("spec").filter(|_| !api_version.ends_with("v1beta2")) {
        if let Some(map) = spec.as_object_mut().filter(|_| is_second) {
            networks(map);
        }
        shape.round_trip(spec, VSPHERE_POINTERS);
    }
}

/// How a template in supervisor mode powers off where it does not say so, as its webhook compares it
/// (`internal/webhooks/vmware/vspheremachinetemplate.go` of 1.17).
pub(super) fn mode(template: &mut Value) {
    let spec = template.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut);
    if let Some(spec) = spec.filter(|spec| spec.get("powerOffMode").is_none_or(|told| told.is_null() || *told == "")) {
        spec.insert("powerOffMode".to_owned(), json!("hard"));
    }
}

/// Of the networks in supervisor mode Go leaves out whatever is zero; an empty list is not, and is left out where it is written.
fn networks(spec: &mut Map) {
    let Some(network) = spec.get_mut("network") else { return };
    diff::prune(network, Style { keep_empty: &["secondary", "routes"], drop_zero: &["mtu"], keep_blank: &[] });
    if *network == json!({}) {
        spec.remove("network");
        return;
    }
    let Some(interfaces) = network.get_mut("interfaces").and_then(Value::as_object_mut) else { return };
    let is_list = |value: &Value| *value == json!([]);
    interfaces.retain(|_, value| !is_list(value));
    if let Some(primary) = interfaces.get_mut("primary").and_then(Value::as_object_mut) {
        primary.retain(|_, value| !is_list(value));
    }
}

/// Texts of the vSphere types that are pointers in Go, or durations.
const VSPHERE_POINTERS: &[&str] = &[
    "apiGroup",
    "computeCluster",
    "failureDomain",
    "guestSoftPowerOffTimeout",
    "hostname",
    "providerID",
    "template",
    "useDomains",
    "useRoutes",
];
