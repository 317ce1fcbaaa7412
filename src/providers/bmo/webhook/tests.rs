//! What the webhook of hosts refuses, version by version.

use super::*;
use crate::object::Key;
use crate::providers::{on_write, recorded};
use crate::tree::json;

/// The places that refuse a write under a version; without one nobody told it.
fn refused(version: &str, old: Option<&Value>, new: &Value) -> Vec<String> {
    let mut new = new.clone();
    new["metadata"] = json!({"name": "host-0", "namespace": "fleet"});
    refused_as(version, old, &new)
}

/// The places that refuse a write under a version, of a host with a name and a namespace of its own.
fn refused_as(version: &str, old: Option<&Value>, new: &Value) -> Vec<String> {
    let [namespace, name] = ["/metadata/namespace", "/metadata/name"].map(|at| text(new, at));
    let key = Key::new("metal3.io/v1alpha1", "BareMetalHost", namespace, name.unwrap_or_default());
    let versions = match version {
        "" => Versions::told("metal3", "v1.13.0"),
        told => Versions::told("baremetal-operator", told),
    };
    let refusals = on_write(&key, "metal3.io/v1alpha1", (old, new), |write| {
        Hosts.refusals(&Write { versions: &versions, ..*write })
    });
    refusals.into_iter().map(|refusal| refusal.path.to_string()).collect()
}

/// A host behind Redfish with some more.
fn host(more: Value) -> Value {
    let mut spec = json!({"online": true, "bootMACAddress": "00:11:22:aa:bb:cc",
        "bmc": {"address": "redfish://10.0.9.0/redfish/v1/Systems/1", "credentialsName": "a"}});
    for (key, value) in more.as_object().expect("a map") {
        spec[key] = value.clone();
    }
    json!({ "spec": spec })
}

/// What is refused about a new host, by its version.
fn new(version: &str, more: Value) -> Vec<String> {
    refused(version, None, &host(more))
}

#[test]
fn an_image_needs_a_checksum_since_it_is_asked_for() {
    let bare = json!({"image": {"url": "http://images/a.qcow2"}});
    assert_eq!(new("v0.10.2", bare.clone()), [""; 0]);
    assert_eq!(new("v0.11.0", bare), ["spec.image.checksum"]);
    assert_eq!(new("v0.11.0", json!({"image": {"url": "http://images/a.iso", "format": "live-iso"}})), [""; 0]);
    let registry = json!({"image": {"url": "oci://images/a"}});
    assert_eq!(new("v0.11.0", registry.clone()), ["spec.image.checksum"]);
    assert_eq!(new("v0.12.0", registry.clone()), [""; 0]);
    let mut later = registry.clone();
    later["image"]["ociAuthSecretName"] = json!("pull");
    let (registry, later) = (host(registry), host(later));
    assert_eq!(refused("v0.11.0", Some(&registry), &later), ["spec.image.checksum"]);
    let (had, has) =
        (host(json!({"image": {"url": "file:///a"}})), host(json!({"image": {"url": "file:///a", "checksum": "b"}})));
    assert_eq!(refused("", Some(&had), &has), [""; 0], "it is there, so it was let through");
    assert_eq!(refused("v0.14.0", Some(&had), &has), ["spec.image.url"]);
    assert_eq!(new("v0.13.0", json!({"image": {"url": "file:///a", "checksum": "b"}})), [""; 0]);
    assert_eq!(new("v0.14.0", json!({"image": {"url": "file:///a", "checksum": "b"}})), ["spec.image.url"]);
    assert_eq!(new("v0.14.0", json!({"image": {"url": "oci://a", "checksum": "b"}})), ["spec.image.checksum"]);
}

#[test]
fn a_host_keeps_its_power_or_may_be_turned_off() {
    assert_eq!(new("v0.13.0", json!({"online": false})), [""; 0]);
    let both = json!({"online": false, "disablePowerOff": true});
    assert_eq!(new("v0.13.0", both), ["spec.online", "spec.disablePowerOff"]);
}

#[test]
fn firmware_is_for_old_controllers_and_then_for_none() {
    let firmware = json!({"firmware": {}});
    assert_eq!(new("v0.13.0", firmware.clone()), ["spec.firmware"]);
    assert_eq!(new("v0.14.0", firmware), ["spec.firmware"]);
    let old = |address: &str| json!({"firmware": {}, "bmc": {"address": address}});
    assert_eq!(new("v0.11.0", old("ilo5://10.0.9.0")), [""; 0]);
    assert_eq!(new("v0.12.0", old("ilo5://10.0.9.0")), ["spec.bmc.address"]);
}

#[test]
fn a_boot_address_is_needed_where_nothing_finds_it() {
    let of = |address: &str| json!({"bootMACAddress": null, "bmc": {"address": address}});
    let needed = |version: &str, address: &str| new(version, of(address)).len();
    assert_eq!((needed("v0.13.0", "redfish://10.0.9.0"), needed("v0.14.0", "redfish://10.0.9.0")), (1, 0));
    let media = "redfish-virtualmedia://10.0.9.0";
    assert_eq!((needed("v0.11.0", media), needed("v0.12.0", media)), (1, 0));
    assert_eq!((needed("v0.14.0", "libvirt://10.0.9.0"), needed("v0.11.0", "ipmi://10.0.9.0")), (1, 0));
    let mut disabled = of(media);
    disabled["inspectionMode"] = json!("disabled");
    assert_eq!(new("v0.13.0", disabled), ["spec.bootMACAddress"]);
    let old = host(of("redfish://10.0.9.0"));
    assert_eq!(refused("", Some(&old), &old), [""; 0], "it is there, so it was let through");
    assert_eq!(refused("v0.13.0", Some(&old), &old), ["spec.bootMACAddress"]);
    assert_eq!(new("v0.13.0", json!({"inspectionMode": "fast"})), ["spec.inspectionMode"]);
    assert_eq!(new("v0.14.0", json!({"inspectionMode": "fast"})), [""; 0]);
    assert_eq!(new("v0.13.0", json!({"bootMACAddress": "00:11"})), ["spec.bootMACAddress"]);
}

#[test]
fn a_controller_does_what_it_can() {
    let ipmi = |more: Value| {
        let mut all = json!({"bmc": {"address": "ipmi://10.0.9.0"}});
        more.as_object().expect("a map").iter().for_each(|(key, value)| all[key] = value.clone());
        new("v0.13.0", all)
    };
    assert_eq!(ipmi(json!({"bootMode": "UEFISecureBoot"})), ["spec.bootMode"]);
    assert_eq!(ipmi(json!({"bootMode": "UEFI"})), [""; 0]);
    let raid = json!({"raid": {"hardwareRAIDVolumes": [{"level": "1"}]}});
    assert_eq!((ipmi(raid.clone()).len(), new("v0.13.0", raid).len()), (1, 0));
}

#[test]
fn volumes_are_of_one_kind() {
    let both = json!({"raid": {"hardwareRAIDVolumes": [{"level": "1"}], "softwareRAIDVolumes": [{"level": "1"}]}});
    assert_eq!(new("v0.13.0", both).len(), 2);
    let disks = json!({"raid": {"hardwareRAIDVolumes": [{"level": "1", "physicalDisks": ["a", "b"], "numberOfPhysicalDisks": 3}]}});
    assert_eq!(new("v0.13.0", disks).len(), 2);
    let root = |level: &str| json!({"raid": {"softwareRAIDVolumes": [{"level": level, "rootVolume": true}]}});
    assert_eq!((new("v0.14.0", root("1")).len(), new("v0.14.0", root("0")).len()), (0, 1));
}

#[test]
fn devices_and_secrets_are_named_as_they_must() {
    let device = |name: &str| new("v0.13.0", json!({"rootDeviceHints": {"deviceName": name}})).len();
    assert_eq!(
        (device("/dev/sda"), device("/dev/disk/by-path/pci-0"), device("sda"), device("/dev/a/b")),
        (0, 0, 1, 1)
    );
    let secret = |namespace: &str| new("v0.13.0", json!({"userData": {"name": "a", "namespace": namespace}})).len();
    assert_eq!((secret("fleet"), secret(""), secret("other")), (0, 0, 1));
}

#[test]
fn who_sets_up_a_host_stays_as_the_version_says() {
    let external = |is: bool| json!({"externallyProvisioned": is});
    let change = |version: &str, from: bool, state: &str| {
        let mut old = host(external(from));
        old["status"] = json!({"provisioning": {"state": state}});
        refused(version, Some(&old), &host(external(!from))).len()
    };
    assert_eq!((change("v0.10.0", false, "provisioned"), change("v0.11.0", false, "available")), (0, 1));
    assert_eq!((change("v0.13.0", false, "available"), change("v0.13.0", false, "provisioned")), (0, 1));
    assert_eq!((change("v0.13.0", true, "x"), change("v0.14.0", true, "x")), (1, 0));
}

#[test]
fn a_boot_address_keeps_all_but_its_case() {
    let old = host(json!({}));
    let with = |address: &str| host(json!({ "bootMACAddress": address }));
    assert_eq!(refused("v0.12.0", Some(&old), &with("00:11:22:AA:BB:CC")), [""; 0]);
    assert_eq!(refused("v0.11.0", Some(&old), &with("00:11:22:AA:BB:CC")), ["spec.bootMACAddress"]);
    assert_eq!(refused("v0.12.0", Some(&old), &with("00:11:22:aa:bb:cd")), ["spec.bootMACAddress"]);
}

#[test]
fn a_host_is_not_called_by_a_uuid() {
    assert!(is_uuid("123e4567-e89b-12d3-a456-426614174000") && is_uuid("123e4567e89b12d3a456426614174000"));
    assert!(!is_uuid("host-0") && !is_uuid("rack-1-node-2"));
}

/// What the webhooks themselves said of pairs of hosts: those of their own tests, and such as come near each thing that they look at.
/// Another address of the management controller is the pack's to judge.
#[test]
fn recorded_answers_are_those_of_the_webhooks() {
    let address = |host: &Value| text(host, "/spec/bmc/address").unwrap_or_default().to_owned();
    let versions = ["0.10", "0.11", "0.12", "0.13", "0.14"];
    let (asked, others) = recorded::others("hosts.jsonl", &versions, |version, _, old, new| {
        let is_same = old.is_none_or(|old| address(old) == address(new));
        is_same.then(|| refused_as(version, old, new))
    });
    assert!(asked > 9_000, "{asked}");
    assert!(others.is_empty(), "{} of {asked} are answered otherwise:\n{}", others.len(), others.join("\n"));
}
