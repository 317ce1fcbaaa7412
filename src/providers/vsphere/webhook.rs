//! Mirror of what the vSphere provider's webhooks refuse beside what the packs say.
//! Read beside `internal/webhooks/vsphere{machine,machinetemplate,failuredomain,vm}.go` and those in `vmware` of
//! cluster-api-provider-vsphere 1.14. What may not change of a whole content stands in `fixed`.

use super::changes::{CLUSTER_TEMPLATES, CONVERTED, NAMING, SUPERVISOR_MODES};
use super::{NETWORKS, SUPERVISOR, defaults, lost};
use crate::gotemplate::{self, Trouble};
use crate::kinds::fields::text;
use crate::kinds::labels;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::refuse;
use crate::kinds::webhook::{Need, Write, Written};
use crate::kinds::{Versions, Webhook};
use crate::model::RuleId;
use crate::object::Key;
use crate::object::Path;
use crate::object::go_duration;

use crate::tree::{Value, json};

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("capv/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct VSphere;

impl Webhook for VSphere {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        defaults::fill_in(written.key, written.api_version, written.shape, object);
        if written.versions.has(&CONVERTED) && !written.api_version.ends_with("v1beta2") {
            lost::lose(written.key, object);
        }
    }

    fn normalise(&self, key: &Key, old: &mut Value, new: &mut Value, versions: &Versions) {
        if key.group == SUPERVISOR && key.kind == "VSphereMachineTemplate" && versions.has(&SUPERVISOR_MODES) {
            [old, new].into_iter().for_each(defaults::mode);
        }
    }

    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }

    fn needs(&self, key: &Key, object: &Value, _is_new: bool, versions: &Versions, need: &mut Need<'_>) {
        if key.group == SUPERVISOR {
            networks(&key.kind, object, versions, need);
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let kind = write.kind_name();
        let mut out = match write.key.group.as_str() {
            SUPERVISOR => Vec::new(),
            _ => refusals(kind, write.is_new, write.new),
        };
        if kind == "VSphereMachineTemplate" && write.versions.has(&NAMING) {
            naming(write.new, &mut out);
        }
        out
    }
}

/// What the webhooks of the provider in supervisor mode (`internal/webhooks/vmware` of 1.14 to 1.17) ask their gate for.
fn networks(kind: &str, object: &Value, versions: &Versions, need: &mut Need<'_>) {
    let place = match kind {
        "VSphereCluster" => "spec.network.nsxVPC.createSubnetSet",
        "VSphereClusterTemplate" if versions.has(&CLUSTER_TEMPLATES) => {
            "spec.template.spec.network.nsxVPC.createSubnetSet"
        }
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
        "VSphereVM" => {
            machine(new.get("spec"), &spec, is_new, &mut out);
            let name = text(new, "/metadata/name").unwrap_or_default();
            if is_new && text(new, "/spec/os") == Some("Windows") && name.len() > 15 {
                let at = Path::root().key("metadata");
                refuse(&mut out, RULE, &at, "name", "a name for Windows has at most 15 letters");
            }
        }
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
            if told.is_some_and(|told| go_duration(told).is_none()) {
                refuse(&mut out, RULE, &at, "guestSoftPowerOffTimeout", "it must be a duration such as 5m0s");
            }
        }
        "VSphereFailureDomain" if is_new => failure_domain(new, &spec, &mut out),
        _ => {}
    }
    out
}

/// The names that a template gives to virtual machines: it is tried out with a Machine of its own, and a name that is too long
/// is cut (`pkg/util/template.go`). Both modes ask this each time, under the names of either API version.
fn naming(new: &Value, out: &mut Vec<Refusal>) {
    const LONGEST: usize = 63;
    for key in ["namingStrategy", "naming"] {
        let pointer = format!("/spec/template/spec/{key}/template");
        let Some(template) = text(new, &pointer) else { continue };
        let values = [("machine".to_owned(), json!({"name": "machine"}))].into();
        let fault = match gotemplate::name(template, &values, &["trimSuffix", "trunc"]) {
            Ok(name) => {
                let cut = name.get(..LONGEST).unwrap_or(&name);
                (!labels::is_subdomain(cut)).then(|| format!("{cut:?} is no name of an object"))
            }
            Err(Trouble::Fails(why)) => Some(format!("the template fails: {why}")),
            Err(Trouble::NotComputed(_)) => None,
        };
        if let Some(fault) = fault {
            let at = Path::root().key("spec").key("template").key("spec").key(key);
            refuse(out, RULE, &at, "template", fault);
        }
    }
}

/// What a new failure domain must keep to; nothing of one can change later.
fn failure_domain(new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let spec = new.get("spec").unwrap_or(&Value::Null);
    let topology = spec.get("topology").unwrap_or(&Value::Null);
    let has = |key: &str| topology.get(key).is_some_and(|value| !value.is_null());
    let kind = |part: &str| text(spec, &format!("/{part}/type"));
    let of_cluster = kind("region") == Some("ComputeCluster") || kind("zone") == Some("ComputeCluster");
    if !has("computeCluster") && (has("hosts") || of_cluster) {
        refuse(
            out,
            RULE,
            at,
            "topology.computeCluster",
            "hosts, and regions and zones of this type, need their cluster",
        );
    }
    if kind("region") == Some("HostGroup") {
        refuse(out, RULE, at, "region.type", "a group of hosts is no region");
    }
    if kind("zone") == Some("HostGroup") && !has("hosts") {
        refuse(out, RULE, at, "topology.hosts", "a zone of this type needs its hosts");
    }
    let items = |key: &str| topology.get(key).and_then(Value::as_array).into_iter().flatten();
    if items("networks").next().is_some() && items("networkConfigurations").next().is_some() {
        refuse(out, RULE, at, "topology.networks", "it excludes networkConfigurations");
    }
    for (place, network) in items("networkConfigurations").enumerate() {
        if text(network, "/networkName").is_none() {
            let below = format!("topology.networkConfigurations[{place}].networkName");
            refuse(out, RULE, at, &below, "a network needs its name");
        }
    }
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
    if timeout.is_some_and(|timeout| go_duration(timeout).is_none()) {
        refuse(out, RULE, at, "guestSoftPowerOffTimeout", "it must be a duration such as 5m0s");
    }
    let seconds = spec.get("guestSoftPowerOffTimeoutSeconds").filter(|told| !told.is_null() && **told != 0);
    let timeout = text(spec, "/guestSoftPowerOffTimeout");
    let told = [timeout.map(|_| "guestSoftPowerOffTimeout"), seconds.map(|_| "guestSoftPowerOffTimeoutSeconds")];
    for told in told.into_iter().flatten().filter(|_| text(spec, "/powerOffMode") != Some("trySoft")) {
        for key in [told, "powerOffMode"] {
            refuse(out, RULE, at, key, "a time to power off softly needs the mode trySoft");
        }
    }
    if timeout.and_then(go_duration).is_some_and(|length| length <= 0) {
        refuse(out, RULE, at, "guestSoftPowerOffTimeout", "the time must be above 0");
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
    fn a_template_names_its_machines() {
        let told = |template: &str| {
            let of = |key: &str| {
                let mut out = Vec::new();
                naming(&json!({"spec": {"template": {"spec": {key: {"template": template}}}}}), &mut out);
                out.len()
            };
            assert_eq!(of("naming"), of("namingStrategy"), "{template}");
            assert_eq!(of("other"), 0);
            of("naming")
        };
        for good in ["{{ .machine.name }}", "{{ .machine.name | trimSuffix \"e\" }}", "{{ .machine.name }}-x"] {
            assert_eq!(told(good), 0, "{good}");
        }
        for bad in ["{{ .machine.name }}-", "{{ .machine.nam }}", "{{ .machine.name", "{{ .machine.name | upper }}"] {
            assert_eq!(told(bad), 1, "{bad}");
        }
    }

    #[test]
    fn a_new_failure_domain_is_whole() {
        let told = |topology: Value, zone: &str| {
            let spec = json!({"region": {"type": "Datacenter"}, "zone": {"type": zone}, "topology": topology});
            refusals("VSphereFailureDomain", true, &json!({"spec": spec})).len()
        };
        assert_eq!(told(json!({"computeCluster": "a", "hosts": {}}), "HostGroup"), 0);
        assert_eq!(told(json!({"hosts": {}}), "HostGroup"), 1);
        assert_eq!(told(json!({"computeCluster": "a"}), "HostGroup"), 1);
        assert_eq!(told(json!({}), "ComputeCluster"), 1);
        let networks = json!({"networks": ["a"], "networkConfigurations": [{"networkName": "a"}]});
        assert_eq!((told(networks, "Datacenter"), told(json!({"networks": ["a"]}), "Datacenter")), (1, 0));
    }

    #[test]
    fn a_soft_end_needs_its_mode() {
        assert_eq!(refused(false, json!({"guestSoftPowerOffTimeout": "5m0s", "powerOffMode": "trySoft"})), [""; 0]);
        assert_eq!(refused(false, json!({"guestSoftPowerOffTimeout": "5m0s", "powerOffMode": "hard"})).len(), 2);
        let short = json!({"guestSoftPowerOffTimeout": "1.5µs", "powerOffMode": "trySoft"});
        assert_eq!(refused(false, short), [""; 0]);
        let zero = json!({"guestSoftPowerOffTimeout": "0s", "powerOffMode": "trySoft"});
        assert_eq!(refused(false, zero), ["spec.guestSoftPowerOffTimeout"]);
    }

    #[test]
    fn a_soft_end_in_seconds_needs_its_mode_too() {
        let spec = |mode: &str| json!({"guestSoftPowerOffTimeoutSeconds": 300, "powerOffMode": mode});
        assert_eq!(refused(false, spec("trySoft")), [""; 0]);
        assert_eq!(refused(false, spec("hard")), ["spec.guestSoftPowerOffTimeoutSeconds", "spec.powerOffMode"]);
        assert_eq!(refused(true, json!({"guestSoftPowerOffTimeoutSeconds": 300})).len(), 2);
        assert_eq!(refused(false, json!({"powerOffMode": "hard"})), [""; 0]);
        let template = |mode: &str| json!({"spec": {"template": {"spec": spec(mode)}}});
        let told = |mode: &str| refusals("VSphereMachineTemplate", true, &template(mode)).len();
        assert_eq!((told("trySoft"), told("soft")), (0, 2));
    }

    #[test]
    fn a_template_of_a_cluster_needs_the_gate_since_1_17() {
        let needs = |version: &str, network: Value| {
            let mut found = Vec::new();
            let template = json!({"spec": {"template": {"spec": {"network": network}}}});
            let versions = Versions::told("vsphere", version);
            networks("VSphereClusterTemplate", &template, &versions, &mut |gate, place| {
                found.push(format!("{gate} {place}"));
            });
            found
        };
        let told = || json!({"nsxVPC": {"createSubnetSet": false}});
        let wanted = format!("{NETWORKS} spec.template.spec.network.nsxVPC.createSubnetSet");
        assert_eq!(needs("v1.17.0", told()), [wanted]);
        assert_eq!(needs("v1.16.1", told()), [""; 0]);
        assert_eq!(needs("v1.17.0", json!({"nsxVPC": {}})), [""; 0]);
    }

    #[test]
    fn a_template_in_supervisor_mode_powers_off_hard_since_1_17() {
        let sides = |version: &str, group: &str, mode: &str| {
            let key = Key::of(group, "VSphereMachineTemplate", None, "x");
            let template = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
            let (mut old, mut new) = (template(json!({})), template(json!({"powerOffMode": mode})));
            VSphere.normalise(&key, &mut old, &mut new, &Versions::told("vsphere", version));
            old == new
        };
        assert!(sides("v1.17.0", SUPERVISOR, "hard"));
        assert!(!sides("v1.17.0", SUPERVISOR, "soft"));
        assert!(!sides("v1.16.1", SUPERVISOR, "hard"));
        assert!(!sides("v1.17.0", "infrastructure.cluster.x-k8s.io", "hard"));
    }

    #[test]
    fn addresses_have_the_length_of_their_network() {
        let device = |address: &str| json!({"network": {"devices": [{"ipAddrs": [address]}]}});
        assert_eq!(refused(false, device("10.6.0.5/24")), [""; 0]);
        assert_eq!(refused(false, device("10.6.0.5")), ["spec.network.devices[0].ipAddrs[0]"]);
    }
}
