//! Mirror of what the vSphere provider's webhooks refuse beside what the packs say.
//! Read beside `internal/webhooks/vsphere{machine,machinetemplate}.go` of cluster-api-provider-vsphere 1.14. What may not
//! change of a whole content stands in `fixed`.

use super::{NETWORKS, SUPERVISOR, defaults};
use crate::kinds::fields::text;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::refuse;
use crate::kinds::webhook::{Need, Write, Written};
use crate::kinds::{Versions, Webhook};
use crate::model::RuleId;
use crate::object::Key;
use crate::object::Path;
use crate::object::go_seconds;

use crate::tree::Value;

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("capv/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub struct VSphere;

impl Webhook for VSphere {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        defaults::fill_in(written.key, written.api_version, written.shape, object);
    }

    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }

    fn needs(&self, key: &Key, object: &Value, _is_new: bool, _versions: &Versions, need: &mut Need<'_>) {
        if key.group == SUPERVISOR {
            networks(&key.kind, object, need);
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        if write.key.group == SUPERVISOR { Vec::new() } else { refusals(write.kind_name(), write.is_new, write.new) }
    }
}

/// What the webhooks of the provider in supervisor mode (`internal/webhooks/vmware` of 1.14) ask their gate for.
fn networks(kind: &str, object: &Value, need: &mut Need<'_>) {
    let place = match kind {
        "VSphereCluster" => "spec.network.nsxVPC.createSubnetSet",
        "VSphereMachine" => "spec.network.interfaces",
        "VSphereMachineTemplate" => "spec.template.spec.network.interfaces",
        _ => return,
    };
    if object.pointer(&format!("/{}", place.replace('.', "/"))).is_some_and(|value| !value.is_null()) {
        need(NETWORKS, place);
    }
}

/// What is refused about an object; a template is only looked at when it is new, because nothing of it may change later.
#[must_use]
fn refusals(kind: &str, is_new: bool, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let spec = Path::root().key("spec");
    match kind {
        "VSphereMachine" => machine(new.get("spec"), &spec, is_new, &mut out),
        "VSphereMachineTemplate" if is_new => {
            let at = spec.key("template").key("spec");
            let machine_spec = new.pointer("/spec/template/spec");
            machine(machine_spec, &at, true, &mut out);
            template(machine_spec, &at, &mut out);
        }
        "VSphereMachineTemplate" => {
            // Nothing of it may change, but a duration that cannot be read is refused before that is asked.
            let at = spec.key("template").key("spec");
            let told = new.pointer("/spec/template/spec/guestSoftPowerOffTimeout").and_then(Value::as_str);
            if told.is_some_and(|told| go_seconds(told).is_none()) {
                refuse(&mut out, RULE, &at, "guestSoftPowerOffTimeout", "it must be a duration such as 5m0s");
            }
        }
        _ => {}
    }
    out
}

/// What a template has no place for.
fn template(spec: Option<&Value>, at: &Path, out: &mut Vec<Refusal>) {
    let Some(spec) = spec else { return };
    if spec.get("providerID").is_some_and(|id| !id.is_null()) {
        refuse(out, RULE, at, "providerID", "a template has no provider id");
    }
    let devices = spec.pointer("/network/devices").and_then(Value::as_array);
    for (place, device) in devices.into_iter().flatten().enumerate() {
        if device.get("ipAddrs").and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
            refuse(out, RULE, at, &format!("network.devices[{place}].ipAddrs"), "a template has no addresses");
        }
    }
    let is_version = |text: &str| {
        let digits = text.strip_prefix("vmx-").unwrap_or_default();
        matches!(digits.len(), 1 | 2) && !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if text(spec, "/hardwareVersion").is_some_and(|version| !is_version(version)) {
        refuse(out, RULE, at, "hardwareVersion", "it must be a version such as vmx-17");
    }
}

/// What every Machine's spec must keep to.
fn machine(spec: Option<&Value>, at: &Path, is_new: bool, out: &mut Vec<Refusal>) {
    let Some(spec) = spec else { return };
    let timeout = spec.get("guestSoftPowerOffTimeout").and_then(Value::as_str);
    if timeout.is_some_and(|timeout| go_seconds(timeout).is_none()) {
        refuse(out, RULE, at, "guestSoftPowerOffTimeout", "it must be a duration such as 5m0s");
    }
    if let Some(timeout) = text(spec, "/guestSoftPowerOffTimeout") {
        if text(spec, "/powerOffMode") != Some("trySoft") {
            for key in ["guestSoftPowerOffTimeout", "powerOffMode"] {
                refuse(out, RULE, at, key, "a time to power off softly needs the mode trySoft");
            }
        }
        if go_seconds(timeout).is_some_and(|seconds| seconds <= 0) {
            refuse(out, RULE, at, "guestSoftPowerOffTimeout", "the time must be above 0");
        }
    }
    if is_new && text(spec, "/network/preferredAPIServerCidr").is_some() {
        refuse(out, RULE, at, "network.preferredAPIServerCidr", "it can no longer be set");
    }
    let devices = spec.get("pciDevices").filter(|_| is_new).and_then(Value::as_array);
    for (place, device) in devices.into_iter().flatten().enumerate() {
        let has = |key: &str| device.get(key).is_some_and(|value| !value.is_null());
        let by_ids = has("deviceId") && has("vendorId");
        let by_profile = text(device, "/vGPUProfile").is_some();
        let is_half = has("deviceId") != has("vendorId");
        if by_ids == by_profile || is_half {
            let message = "a device is named by deviceId and vendorId, or by vGPUProfile";
            refuse(out, RULE, at, &format!("pciDevices[{place}]"), message);
        }
    }
    let devices = spec.pointer("/network/devices").and_then(Value::as_array);
    for (place, device) in devices.into_iter().flatten().enumerate() {
        let addresses = device.get("ipAddrs").and_then(Value::as_array);
        for (item, address) in addresses.into_iter().flatten().enumerate() {
            let is_network =
                address.as_str().is_some_and(|text| text.contains('/') && text.parse::<ipnet::IpNet>().is_ok());
            if !is_network {
                let below = format!("network.devices[{place}].ipAddrs[{item}]");
                refuse(out, RULE, at, &below, "an address needs the length of its network, such as 10.0.0.5/24");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(is_new: bool, spec: Value) -> Vec<String> {
        let found = refusals("VSphereMachine", is_new, &json!({"spec": spec}));
        found.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_new_template_has_no_addresses_and_whole_devices() {
        let told = |spec: Value| {
            let found = refusals("VSphereMachineTemplate", true, &json!({"spec": {"template": {"spec": spec}}}));
            found.into_iter().map(|refusal| refusal.path.to_string()).collect::<Vec<_>>()
        };
        let addresses = json!({"network": {"devices": [{"ipAddrs": ["10.6.0.5/24"]}]}});
        assert_eq!(told(addresses), ["spec.template.spec.network.devices[0].ipAddrs"]);
        assert_eq!(told(json!({"hardwareVersion": "vmx-17", "pciDevices": [{"vGPUProfile": "a"}]})), [""; 0]);
        assert_eq!(told(json!({"hardwareVersion": "17", "pciDevices": [{"deviceId": 1}]})).len(), 2);
    }

    #[test]
    fn a_soft_end_needs_its_mode() {
        assert_eq!(refused(false, json!({"guestSoftPowerOffTimeout": "5m0s", "powerOffMode": "trySoft"})), [""; 0]);
        assert_eq!(refused(false, json!({"guestSoftPowerOffTimeout": "5m0s", "powerOffMode": "hard"})).len(), 2);
        let zero = json!({"guestSoftPowerOffTimeout": "0s", "powerOffMode": "trySoft"});
        assert_eq!(refused(false, zero), ["spec.guestSoftPowerOffTimeout"]);
    }

    #[test]
    fn addresses_have_the_length_of_their_network() {
        let device = |address: &str| json!({"network": {"devices": [{"ipAddrs": [address]}]}});
        assert_eq!(refused(false, device("10.6.0.5/24")), [""; 0]);
        assert_eq!(refused(false, device("10.6.0.5")), ["spec.network.devices[0].ipAddrs[0]"]);
    }
}
