//! Mirror of what the vSphere provider's webhooks refuse beside what the packs say.
//! Read beside `internal/webhooks/vsphere{machine,machinetemplate}.go` of cluster-api-provider-vsphere 1.14.

use serde_json::Value;

use super::admission::refuse;
use super::hub::go_seconds;
use super::kcp_admission::Refusal;
use super::machines::text;
use crate::object::Path;

/// Id of everything that is refused here.
const RULE: &str = "capv/rejected";

/// What is refused about an object; a template is only looked at when it is new, because nothing of it may change later.
#[must_use]
pub(super) fn refusals(kind: &str, is_new: bool, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let spec = Path::root().key("spec");
    match kind {
        "VSphereMachine" => machine(new.get("spec"), &spec, is_new, &mut out),
        "VSphereMachineTemplate" if is_new => {
            let at = spec.key("template").key("spec");
            let machine_spec = new.pointer("/spec/template/spec");
            machine(machine_spec, &at, true, &mut out);
            if machine_spec.is_some_and(|spec| text(spec, "/providerID").is_some()) {
                refuse(&mut out, RULE, &at, "providerID", "a template has no provider id");
            }
        }
        _ => {}
    }
    out
}

/// What the schema of a cluster in supervisor mode refuses (`apis/supervisor/v1beta1/vspherecluster_types.go`, its markers).
#[must_use]
pub(super) fn supervisor(kind: &str, old: Option<&Value>, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    if kind != "VSphereCluster" {
        return out;
    }
    let at = Path::root().key("spec");
    let is_whole = |endpoint: &Value| endpoint.get("host").is_some() && endpoint.get("port").is_some();
    if new.pointer("/spec/controlPlaneEndpoint").is_some_and(|endpoint| !is_whole(endpoint)) {
        refuse(&mut out, RULE, &at, "controlPlaneEndpoint", "an endpoint needs its host and its port");
    }
    let network = |side: &Value| side.pointer("/spec/network").is_some();
    if new.pointer("/spec/network").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
        refuse(&mut out, RULE, &at, "network", "a network needs at least one field");
    } else if old.is_some_and(|old| network(old) != network(new)) {
        refuse(&mut out, RULE, &at, "network", "it cannot be added or removed later");
    }
    out
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
    use serde_json::json;

    use super::*;

    fn refused(is_new: bool, spec: Value) -> Vec<String> {
        let found = refusals("VSphereMachine", is_new, &json!({"spec": spec}));
        found.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_cluster_in_supervisor_mode_has_a_whole_endpoint_and_keeps_its_network() {
        let refused = |old: serde_json::Value, new: serde_json::Value| {
            let found = supervisor("VSphereCluster", Some(&json!({"spec": old})), &json!({"spec": new}));
            found.into_iter().map(|refusal| refusal.path.to_string()).collect::<Vec<_>>()
        };
        let network = json!({"network": {"nsxVPC": {"createSubnetSet": true}}});
        assert_eq!(refused(json!({}), json!({"controlPlaneEndpoint": {}})), ["spec.controlPlaneEndpoint"]);
        assert!(refused(json!({}), json!({"controlPlaneEndpoint": {"host": "a", "port": 6443}})).is_empty());
        assert_eq!(refused(json!({}), json!({"network": {}})), ["spec.network"]);
        assert_eq!(refused(network.clone(), json!({})), ["spec.network"]);
        assert!(refused(network.clone(), network).is_empty());
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
