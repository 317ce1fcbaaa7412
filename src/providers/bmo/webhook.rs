//! Mirror of what the webhook of Metal3's hosts refuses. All of it is asked anew at each write, so that a host which breaks one
//! of these takes no other change either. Read beside `internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go`
//! (validateHost, validateChanges) and `apis/metal3.io/v1alpha1/baremetalhost_types.go` (GetChecksum, InspectionDisabled) of
//! baremetal-operator 0.10 to 0.14. What a change of the management controller's address asks for stands in the pack.

use super::bmc::Access;
use super::changes::{
    BOOT_ADDRESSES, CHECKSUM, CLOSER_LOOK, EXTERNAL_BACK, EXTERNAL_FIXED, EXTERNAL_ONCE, INSPECTION_MODE, OCI_ANY_CASE,
    OCI_IMAGES, WITHOUT_FIRMWARE,
};
use super::said;
use crate::kinds::fields::{list, text};
use crate::kinds::url::parse_request;
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::kinds::{Versions, Webhook};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("bmo/rejected");

/// The webhook of hosts.
#[derive(Debug)]
pub(super) struct Hosts;

impl Webhook for Hosts {
    // The spec may be left out as a whole (`baremetalhost_types.go`), and its schema is not asked then.
    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let (new, versions) = (write.new, write.versions);
        let spec = Path::root().key("spec");
        if is_uuid(&write.key.name) {
            refuse(&mut out, RULE, &Path::root().key("metadata"), "name", "a host is not called by a UUID");
        }
        let address = text(new, "/spec/bmc/address").filter(|address| !address.is_empty());
        match address.map(|address| Access::of(address, versions)) {
            Some(Ok(access)) => reached(&access, write, &spec, &mut out),
            Some(Err(why)) => refuse(&mut out, RULE, &spec, "bmc.address", why),
            None => {}
        }
        let is_fast = text(new, "/spec/inspectionMode") == Some("fast");
        if is_fast && versions.has(&INSPECTION_MODE) && !versions.has(&CLOSER_LOOK) {
            refuse(&mut out, RULE, &spec, "inspectionMode", "it must be disabled or agent");
        }
        if has(new, "/spec/firmware") && versions.has(&WITHOUT_FIRMWARE) {
            refuse(&mut out, RULE, &spec, "firmware", "firmware is set in HostFirmwareSettings, not in the host");
        }
        elsewhere(write, &spec, &mut out);
        volumes(new, versions, &spec, &mut out);
        device(new, &spec, &mut out);
        image(write, &spec, &mut out);
        said::refusals(new, is_inspected(new, versions), versions, &mut out);
        interfaces(new, versions, &spec, &mut out);
        if is(new, "/spec/disablePowerOff") && !is(new, "/spec/online") {
            for key in ["online", "disablePowerOff"] {
                let message = "a host that must not be turned off (disablePowerOff) cannot be offline";
                refuse(&mut out, RULE, &spec, key, message);
            }
        }
        if let Some(old) = write.past() {
            changed(old, write, &spec, &mut out);
        }
        out
    }
}

/// Whether something stands at a place, even if it is empty.
fn has(host: &Value, pointer: &str) -> bool {
    host.pointer(pointer).is_some_and(|value| !value.is_null())
}

/// Whether a switch is on.
fn is(host: &Value, pointer: &str) -> bool {
    host.pointer(pointer).and_then(Value::as_bool) == Some(true)
}

/// Whether a host is inspected before it is used.
fn is_inspected(host: &Value, versions: &Versions) -> bool {
    let by_field = versions.has(&INSPECTION_MODE) && text(host, "/spec/inspectionMode") == Some("disabled");
    !by_field && said::inspect(host) != Some("disabled")
}

/// What a management controller cannot do (validateBMCAccess).
fn reached(access: &Access, write: &Write<'_>, spec: &Path, out: &mut Vec<Refusal>) {
    let (new, versions) = (write.new, write.versions);
    let kind = &access.kind;
    if list(new, "/spec/raid/hardwareRAIDVolumes").next().is_some() && !access.has_raid() {
        refuse(out, RULE, spec, "raid.hardwareRAIDVolumes", format!("{kind} makes no volumes in hardware"));
    }
    if has(new, "/spec/firmware") && !access.has_firmware() && !versions.has(&WITHOUT_FIRMWARE) {
        refuse(out, RULE, spec, "firmware", format!("{kind} does not set firmware"));
    }
    let boot = |side: &Value| text(side, "/spec/bootMACAddress").filter(|boot| !boot.is_empty()).map(str::to_owned);
    let is_left = versions.has(&INSPECTION_MODE) && !is_inspected(new, versions);
    // Who has a host without one, and told no version, runs one that lets it through.
    let is_used_to = !versions.is_known(CLOSER_LOOK.provider)
        && write
            .past()
            .is_some_and(|old| boot(old).is_none() && text(old, "/spec/bmc/address") == text(new, "/spec/bmc/address"));
    let is_needed = is_left || (access.needs_boot_address(versions) && (!is_used_to || kind == "libvirt"));
    match boot(new) {
        None if is_needed => {
            refuse(out, RULE, spec, "bootMACAddress", "it needs the address of the interface that it boots from");
        }
        Some(boot) if !is_interface(&boot) => {
            refuse(out, RULE, spec, "bootMACAddress", "it is no address of an interface");
        }
        _ => {}
    }
    if text(new, "/spec/bootMode") == Some("UEFISecureBoot") && !access.has_secure_boot() {
        refuse(out, RULE, spec, "bootMode", format!("{kind} does not turn on secure boot"));
    }
    if versions.has(&CLOSER_LOOK) && text(new, "/spec/inspectionMode") == Some("fast") && !access.inspects() {
        refuse(out, RULE, spec, "inspectionMode", format!("{kind} does not inspect a host from outside"));
    }
}

/// Secrets lie in the namespace of the host.
fn elsewhere(write: &Write<'_>, spec: &Path, out: &mut Vec<Refusal>) {
    for key in ["userData", "networkData", "metaData"] {
        let namespace = text(write.new, &format!("/spec/{key}/namespace")).filter(|namespace| !namespace.is_empty());
        if namespace.is_some_and(|namespace| Some(namespace) != write.key.namespace.as_deref()) {
            refuse(out, RULE, spec, &format!("{key}.namespace"), "the Secret must be in the namespace of the host");
        }
    }
}

/// Volumes of several disks (validateRAID).
fn volumes(new: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    let at = spec.key("raid");
    let all = |key: &str| list(new, &format!("/spec/raid/{key}"));
    if all("hardwareRAIDVolumes").next().is_some() && all("softwareRAIDVolumes").next().is_some() {
        for key in ["hardwareRAIDVolumes", "softwareRAIDVolumes"] {
            refuse(out, RULE, &at, key, "volumes are made in hardware or in software, not in both");
        }
    }
    for (place, volume) in all("hardwareRAIDVolumes").enumerate() {
        let disks = list(volume, "/physicalDisks").count();
        let at = at.key("hardwareRAIDVolumes").index(place);
        if disks > 0 && text(volume, "/controller").is_none_or(str::is_empty) {
            refuse(out, RULE, &at, "controller", "disks are named together with their controller");
        }
        let wanted = volume.get("numberOfPhysicalDisks").and_then(Value::as_u64);
        if disks > 0 && wanted.is_some_and(|wanted| wanted != disks as u64) {
            refuse(out, RULE, &at, "numberOfPhysicalDisks", "it is not the number of the disks that are named");
        }
    }
    if !versions.has(&CLOSER_LOOK) {
        return;
    }
    let roots = || all("softwareRAIDVolumes").enumerate().filter(|(_, volume)| is(volume, "/rootVolume"));
    let count = roots().count();
    let at = at.key("softwareRAIDVolumes");
    if count > 1 || (count == 1 && has(new, "/spec/rootDeviceHints")) {
        refuse(out, RULE, &at, "", "one volume at most is the root, and then rootDeviceHints say nothing");
    }
    for (place, _) in roots().filter(|(_, volume)| text(volume, "/level") != Some("1")) {
        refuse(out, RULE, &at.index(place), "level", "the root is on a volume of level 1");
    }
}

/// The device that the image goes on, by its path (validateRootDeviceHints).
fn device(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let Some(name) = text(new, "/spec/rootDeviceHints/deviceName").filter(|name| !name.is_empty()) else { return };
    let below = name.strip_prefix("/dev/").map(|below| below.strip_prefix("disk/by-path/").unwrap_or(below));
    if below.is_none_or(|below| below.contains('/')) {
        let message = format!("{name:?} is no path in /dev/ or /dev/disk/by-path/");
        refuse(out, RULE, spec, "rootDeviceHints.deviceName", message);
    }
}

/// Whether a text is an address from which something can be loaded (`common_validation.go` validateURL, 0.14).
pub(super) fn is_source(address: &str) -> bool {
    let is_way = |scheme: &str| ["http", "https", "ftp", "gopher", "oci"].contains(&scheme);
    parse_request(address).is_some_and(|url| is_way(&url.scheme))
}

/// Who has an object with this content already, and told no version, runs one that lets it through, or none of these webhooks.
pub(super) fn is_used_to(write: &Write<'_>, pointer: &str) -> bool {
    !write.versions.is_known(CLOSER_LOOK.provider)
        && write.past().is_some_and(|old| old.pointer(pointer) == write.new.pointer(pointer))
}

/// An image has an address, and a checksum unless it is a live ISO or comes from a registry (validateImage, GetChecksum).
pub(super) fn image(write: &Write<'_>, spec: &Path, out: &mut Vec<Refusal>) {
    let (new, versions) = (write.new, write.versions);
    let Some(image) = new.pointer("/spec/image").filter(|image| image.is_object()) else { return };
    let at = spec.key("image");
    let address = text(image, "/url").unwrap_or_default();
    let is_used_to = is_used_to(write, "/spec/image/url");
    let is_read = if versions.has(&CLOSER_LOOK) { is_source(address) } else { parse_request(address).is_some() };
    if !is_used_to && !is_read {
        refuse(out, RULE, &at, "url", format!("{address:?} is not the address of an image"));
    }
    let checksum = text(image, "/checksum").is_some_and(|checksum| !checksum.is_empty());
    let is_registry = match versions.has(&OCI_ANY_CASE) {
        true => address.to_ascii_lowercase().starts_with("oci://"),
        false => address.starts_with("oci://"),
    };
    if is_registry && (versions.has(&OCI_IMAGES) || is_used_to) && (versions.has(&CLOSER_LOOK) || !checksum) {
        if checksum {
            refuse(out, RULE, &at, "checksum", "an image from a registry has no checksum");
        }
        return;
    }
    if !versions.has(&CHECKSUM) || text(image, "/format") == Some("live-iso") {
        return;
    }
    if !checksum {
        refuse(out, RULE, &at, "checksum", "the image needs a checksum");
    }
    if !matches!(text(image, "/checksumType").unwrap_or_default(), "" | "auto" | "md5" | "sha256" | "sha512") {
        refuse(out, RULE, &at, "checksumType", "it must be md5, sha256, sha512 or auto");
    }
}

/// Interfaces are named by their name or their address, each once (validateNetworkInterfaces).
fn interfaces(new: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    if !versions.has(&CLOSER_LOOK) {
        return;
    }
    let mut seen = Vec::new();
    for (place, one) in list(new, "/spec/networkInterfaces").enumerate() {
        let said = ["/name", "/macAddress"].map(|key| text(one, key).filter(|word| !word.is_empty()));
        let [name, address] = said;
        let own = name.or(address).filter(|_| name.is_none() || address.is_none()).map(str::to_ascii_lowercase);
        if own.as_ref().is_none_or(|own| seen.contains(own)) {
            let at = spec.key("networkInterfaces").index(place);
            refuse(out, RULE, &at, "", "an interface is named once, by its name or by its address");
        }
        seen.extend(own);
    }
}

/// What cannot change (validateChanges).
fn changed(old: &Value, write: &Write<'_>, spec: &Path, out: &mut Vec<Refusal>) {
    let (new, versions) = (write.new, write.versions);
    let boot = |side: &Value| text(side, "/spec/bootMACAddress").unwrap_or_default().to_owned();
    let (was, is_now) = (boot(old), boot(new));
    let is_same = if versions.has(&BOOT_ADDRESSES) { was.eq_ignore_ascii_case(&is_now) } else { was == is_now };
    if !was.is_empty() && !is_same {
        let message = "the address of the interface that it boots from cannot change once it is set";
        refuse(out, RULE, spec, "bootMACAddress", message);
    }
    let external = |side: &Value| is(side, "/spec/externallyProvisioned");
    let state = text(write.live.unwrap_or(old), "/status/provisioning/state");
    let message = match (external(old), external(new)) {
        (false, true) if versions.has(&EXTERNAL_ONCE) => {
            (state != Some("available")).then_some("only a host that is available can be given to somebody else")
        }
        (true, false) if versions.has(&EXTERNAL_BACK) => None,
        (was, is_now) => (was != is_now && versions.has(&EXTERNAL_FIXED)).then_some("it cannot change"),
    };
    if let Some(message) = message {
        refuse(out, RULE, spec, "externallyProvisioned", message);
    }
}

/// Whether a text is an address of an interface.
fn is_interface(text: &str) -> bool {
    let is_byte = |part: &str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
    matches!(text.split(':').count(), 6 | 8 | 20) && text.split(':').all(is_byte)
}

/// Whether a name is a UUID, with its dashes or without.
fn is_uuid(name: &str) -> bool {
    let lengths: Vec<usize> = name.split('-').map(str::len).collect();
    matches!(lengths.as_slice(), [8, 4, 4, 4, 12] | [32])
        && name.bytes().all(|digit| digit == b'-' || digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
