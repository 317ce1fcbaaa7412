//! What the webhooks of the Azure provider refuse of virtual machines: of new machine templates, and of pools at each write.
//! Read beside `internal/webhooks/{azuremachine,azureimage}_validation.go` and `azuremachinetemplate_webhook.go` of
//! cluster-api-provider-azure 1.26.

use std::collections::BTreeSet;

use base64::Engine as _;

use super::webhook::RULE;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// A storage that only disks for data can have, and that is never cached.
const ULTRA: &str = "UltraSSD_LRS";

/// What is refused of a new machine template (`ValidateCreate`), whose content cannot change later.
pub(super) fn new_template(object: &Value, out: &mut Vec<Refusal>) {
    let Some(spec) = object.pointer("/spec/template/spec") else { return };
    let at = Path::root().key("spec").key("template").key("spec");
    image(spec, &at, out);
    disk(spec, &at, out);
    data_disks(spec, &at, out);
    confidential(spec, &at, out);
    identity(spec, &at, out);
    interfaces(spec, &at, out);
    diagnostics(spec, &at, out);
    if text(spec, "/sshPublicKey").is_some_and(|key| !is_key(key)) {
        refuse(out, RULE, &at, "sshPublicKey", "it is no public key in base64");
    }
    if text(spec, "/capacityReservationGroupID").is_some_and(|id| !is_resource(id)) {
        refuse(out, RULE, &at, "capacityReservationGroupID", "it is no id of a resource");
    }
    if spec.get("disableExtensionOperations") == Some(&Value::Bool(true))
        && list(spec, "/vmExtensions").next().is_some()
    {
        refuse(out, RULE, &at, "vmExtensions", "there are none where disableExtensionOperations is true");
    }
}

/// An image is one of four sorts, and whole (ValidateImage).
pub(super) fn image(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    /// The sorts, each with what it cannot do without.
    const SORTS: [(&str, &[&str]); 4] = [
        ("id", &[]),
        ("marketplace", &["publisher", "offer", "sku", "version"]),
        ("sharedGallery", &["subscriptionID", "resourceGroup", "gallery", "name", "version"]),
        ("computeGallery", &[]),
    ];
    let Some(image) = spec.get("image").filter(|image| image.is_object()) else { return };
    let told = SORTS.iter().filter_map(|(sort, needs)| Some((*sort, *needs, image.get(*sort)?)));
    let told: Vec<_> = told.filter(|(_, _, value)| !value.is_null()).collect();
    if told.len() != 1 {
        refuse(out, RULE, at, "image", "an image is one of id, marketplace, sharedGallery and computeGallery");
    }
    let is_empty = |value: Option<&Value>| value.is_none_or(|value| value.is_null() || *value == "");
    for (sort, needs, value) in told {
        if sort == "id" && is_empty(Some(value)) {
            refuse(out, RULE, at, "image.id", "the id of an image cannot be empty");
        }
        for key in needs.iter().filter(|key| is_empty(value.get(**key))) {
            refuse(out, RULE, at, &format!("image.{sort}.{key}"), format!("{key} cannot be empty"));
        }
        if sort == "computeGallery" && value.get("subscriptionID").is_some() != value.get("resourceGroup").is_some() {
            refuse(out, RULE, at, "image.computeGallery", "subscriptionID and resourceGroup go together");
        }
    }
}

/// The disk of the system has a size that Azure takes and a sort of storage, and is encrypted by a set of keys only where the guest's
/// state is encrypted too (ValidateOSDisk).
pub(super) fn disk(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(disk) = spec.get("osDisk").filter(|disk| disk.is_object()) else { return };
    if disk.get("diskSizeGB").and_then(Value::as_i64).is_some_and(|size| !(1..=2048).contains(&size)) {
        refuse(out, RULE, at, "osDisk.diskSizeGB", "the size lies between 1 and 2048");
    }
    let option = text(disk, "/diffDiskSettings/option");
    if disk.pointer("/diffDiskSettings/placement").is_some_and(|placement| !placement.is_null())
        && option != Some("Local")
    {
        refuse(out, RULE, at, "osDisk.diffDiskSettings", "a placement needs the option Local");
    }
    let Some(managed) = disk.get("managedDisk").filter(|managed| managed.is_object()) else { return };
    storage(managed, at, "osDisk.managedDisk", out);
    if text(managed, "/storageAccountType") == Some(ULTRA) {
        refuse(out, RULE, at, "osDisk.managedDisk.storageAccountType", "UltraSSD_LRS is for disks of data");
    }
    if disk.get("diffDiskSettings").is_some_and(Value::is_object)
        && managed.get("diskEncryptionSet").is_some_and(Value::is_object)
    {
        refuse(out, RULE, at, "osDisk.managedDisk.diskEncryptionSet", "a local disk has no diskEncryptionSet");
    }
    let profile = managed.get("securityProfile").unwrap_or(&Value::Null);
    if profile.get("diskEncryptionSet").is_some_and(Value::is_object)
        && text(profile, "/securityEncryptionType") != Some("DiskWithVMGuestState")
    {
        let place = "osDisk.managedDisk.securityProfile";
        refuse(out, RULE, at, place, "diskEncryptionSet needs the securityEncryptionType DiskWithVMGuestState");
    }
}

/// The sort of storage of a disk that Azure manages (validateStorageAccountType).
fn storage(managed: &Value, at: &Path, below: &str, out: &mut Vec<Refusal>) {
    /// `armcompute.PossibleDiskStorageAccountTypesValues`.
    const SORTS: &[&str] =
        &["PremiumV2_LRS", "Premium_LRS", "Premium_ZRS", "StandardSSD_LRS", "StandardSSD_ZRS", "Standard_LRS", ULTRA];
    if text(managed, "/storageAccountType").is_none_or(|sort| !SORTS.contains(&sort)) {
        refuse(out, RULE, at, &format!("{below}.storageAccountType"), "Azure has no such sort of storage");
    }
}

/// Disks for data, with the numbers that the webhook gave them (ValidateDataDisks).
fn data_disks(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for (place, disk) in list(spec, "/dataDisks").enumerate() {
        let below = |key: &str| format!("dataDisks[{place}].{key}");
        let size = disk.get("diskSizeGB").and_then(Value::as_i64).unwrap_or(0);
        if !(4..=32767).contains(&size) {
            refuse(out, RULE, at, &below("diskSizeGB"), "the size lies between 4 and 32767");
        }
        let name = text(disk, "/nameSuffix").unwrap_or_default();
        if name.is_empty() || !names.insert(name) {
            refuse(out, RULE, at, &below("nameSuffix"), "each disk has a nameSuffix of its own");
        }
        let number = disk.get("lun").and_then(Value::as_i64);
        if number.is_some_and(|number| !(0..=63).contains(&number) || !numbers.insert(number)) {
            refuse(out, RULE, at, &below("lun"), "each disk has a number of its own, from 0 to 63");
        }
        let Some(managed) = disk.get("managedDisk").filter(|managed| managed.is_object()) else { continue };
        storage(managed, at, &below("managedDisk"), out);
        let caching = text(disk, "/cachingType");
        if text(managed, "/storageAccountType") == Some(ULTRA) && caching.is_some_and(|caching| caching != "None") {
            refuse(out, RULE, at, &below("cachingType"), "a disk of UltraSSD_LRS is not cached");
        }
    }
}

/// A machine whose memory is encrypted (ValidateConfidentialCompute).
fn confidential(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(sort) = text(spec, "/osDisk/managedDisk/securityProfile/securityEncryptionType") else { return };
    let Some(profile) = spec.get("securityProfile").filter(|profile| profile.is_object()) else { return };
    let is_on = |pointer: &str| profile.pointer(pointer) == Some(&Value::Bool(true));
    if text(profile, "/securityType") != Some("ConfidentialVM") {
        refuse(out, RULE, at, "securityProfile.securityType", "securityEncryptionType needs ConfidentialVM");
    }
    if !is_on("/uefiSettings/vTpmEnabled") {
        refuse(out, RULE, at, "securityProfile.uefiSettings", "securityEncryptionType needs vTpmEnabled");
    }
    if sort == "DiskWithVMGuestState" {
        if is_on("/encryptionAtHost") {
            refuse(out, RULE, at, "securityProfile.encryptionAtHost", "DiskWithVMGuestState has no encryptionAtHost");
        }
        if profile.get("uefiSettings").is_some_and(Value::is_object) && !is_on("/uefiSettings/secureBootEnabled") {
            refuse(out, RULE, at, "securityProfile.uefiSettings", "DiskWithVMGuestState needs secureBootEnabled");
        }
    }
}

/// Identities that somebody made for the machine (ValidateUserAssignedIdentity).
pub(super) fn users(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let identity = text(spec, "/identity").unwrap_or_default();
    let many = list(spec, "/userAssignedIdentities").count();
    if (identity == "UserAssigned") != (many > 0) {
        refuse(out, RULE, at, "userAssignedIdentities", "they and the identity UserAssigned go together");
    }
    for (place, told) in list(spec, "/userAssignedIdentities").enumerate() {
        if identity == "UserAssigned" && text(told, "/providerID").is_some_and(|id| !is_resource(id)) {
            refuse(out, RULE, at, &format!("userAssignedIdentities[{place}].providerID"), "it is no id of a resource");
        }
    }
}

/// Whom the machine acts as (ValidateSystemAssignedIdentityRole too).
fn identity(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    users(spec, at, out);
    let identity = text(spec, "/identity").unwrap_or_default();
    if text(spec, "/roleAssignmentName").is_some() {
        refuse(out, RULE, at, "roleAssignmentName", "a template gives no name to the role of a machine");
    }
    let Some(role) = spec.get("systemAssignedIdentityRole").filter(|role| role.is_object()) else { return };
    if identity != "SystemAssigned" {
        refuse(out, RULE, at, "systemAssignedIdentityRole", "a role needs the identity SystemAssigned");
        return;
    }
    for key in ["definitionID", "scope"].into_iter().filter(|key| text(role, &format!("/{key}")).is_none()) {
        refuse(out, RULE, at, &format!("systemAssignedIdentityRole.{key}"), format!("{key} cannot be empty"));
    }
    if text(role, "/name").is_some() {
        refuse(out, RULE, at, "systemAssignedIdentityRole.name", "a template gives no name to the role of a machine");
    }
}

/// Interfaces, or the old fields of the only one (ValidateNetwork).
fn interfaces(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    if list(spec, "/networkInterfaces").next().is_some() {
        for key in ["subnetName", "acceleratedNetworking"] {
            if spec.get(key).is_some_and(|value| !value.is_null() && *value != "") {
                refuse(out, RULE, at, key, format!("networkInterfaces and {key} exclude each other"));
            }
        }
    }
    for (place, interface) in list(spec, "/networkInterfaces").enumerate() {
        if interface.get("privateIPConfigs").and_then(Value::as_i64).is_some_and(|count| count < 0) {
            refuse(
                out,
                RULE,
                at,
                &format!("networkInterfaces[{place}].privateIPConfigs"),
                "an interface has at least 1",
            );
        }
    }
}

/// Where the machine writes what it says while it starts (ValidateDiagnostics).
pub(super) fn diagnostics(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let address = text(spec, "/diagnostics/boot/userManaged/storageAccountURI");
    let place = "diagnostics.boot.userManaged";
    match text(spec, "/diagnostics/boot/storageAccountType") {
        Some("UserManaged") if address.is_none() => {
            refuse(out, RULE, at, place, "UserManaged needs a storageAccountURI");
        }
        Some("Managed" | "Disabled") if address.is_some() => {
            refuse(out, RULE, at, place, "only UserManaged has a storageAccountURI");
        }
        _ => {}
    }
}

/// Whether a text is the id of a resource of Azure, as far as its beginning tells (`arm.ParseResourceID`).
fn is_resource(id: &str) -> bool {
    id.trim_start_matches("azure://").starts_with('/')
}

/// Whether a text is a line of an `authorized_keys` file in base64 (ValidateSSHKey): one word of it is a key that names its own sort.
pub(super) fn is_key(text: &str) -> bool {
    let standard = base64::engine::general_purpose::STANDARD;
    let Some(line) = standard.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else { return false };
    line.split_whitespace().filter_map(|word| standard.decode(word).ok()).any(|key| {
        let length = key.first_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize);
        length.and_then(|length| key.get(4..4 + length)).is_some_and(|sort| !sort.is_empty() && sort.is_ascii())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(spec: Value) -> Vec<String> {
        let mut out = Vec::new();
        new_template(&json!({"spec": {"template": {"spec": spec}}}), &mut out);
        let below = |refusal: Refusal| refusal.path.to_string().trim_start_matches("spec.template.spec.").to_owned();
        out.into_iter().map(below).collect()
    }

    #[test]
    fn an_image_is_of_one_sort() {
        assert_eq!(refused(json!({"image": {}})), ["image"]);
        assert_eq!(refused(json!({"image": {"id": ""}})), ["image.id"]);
        assert_eq!(refused(json!({"image": {"id": "/a"}})), [""; 0]);
        let plan = json!({"publisher": "p", "offer": "o", "sku": "s", "version": "1"});
        assert_eq!(refused(json!({"image": {"marketplace": plan}})), [""; 0]);
        assert_eq!(refused(json!({"image": {"id": "/a", "marketplace": plan}})), ["image"]);
        assert_eq!(refused(json!({"image": {"computeGallery": {"resourceGroup": "g"}}})), ["image.computeGallery"]);
    }

    #[test]
    fn disks_are_ones_that_azure_has() {
        let disk = |size: i64, sort: &str| json!({"osDisk": {"diskSizeGB": size, "managedDisk": {"storageAccountType": sort}}});
        assert_eq!(refused(disk(2048, "Premium_LRS")), [""; 0]);
        assert_eq!(refused(disk(2049, "")), ["osDisk.diskSizeGB", "osDisk.managedDisk.storageAccountType"]);
        let data = |name: &str, lun: i64| json!({"nameSuffix": name, "diskSizeGB": 4, "lun": lun});
        assert_eq!(refused(json!({"dataDisks": [data("a", 0), data("b", 1)]})), [""; 0]);
        let twice = refused(json!({"dataDisks": [data("a", 0), data("a", 0)]}));
        assert_eq!(twice, ["dataDisks[1].nameSuffix", "dataDisks[1].lun"]);
    }

    #[test]
    fn an_identity_comes_with_what_it_needs() {
        assert_eq!(refused(json!({"identity": "UserAssigned"})), ["userAssignedIdentities"]);
        let told =
            json!({"identity": "UserAssigned", "userAssignedIdentities": [{"providerID": "azure:///subscriptions/a"}]});
        assert_eq!(refused(told), [""; 0]);
        assert_eq!(refused(json!({"systemAssignedIdentityRole": {}})), ["systemAssignedIdentityRole"]);
        let role = json!({"definitionID": "d", "scope": "s"});
        assert_eq!(refused(json!({"identity": "SystemAssigned", "systemAssignedIdentityRole": role})), [""; 0]);
    }

    #[test]
    fn an_interface_has_an_address() {
        let interface = |count: i64| refused(json!({"networkInterfaces": [{"privateIPConfigs": count}]}));
        assert_eq!(interface(1), [""; 0]);
        assert_eq!(interface(-1), ["networkInterfaces[0].privateIPConfigs"]);
    }

    #[test]
    fn a_key_is_one() {
        let standard = base64::engine::general_purpose::STANDARD;
        let key = standard.encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x04abcd");
        assert_eq!(refused(json!({"sshPublicKey": standard.encode(format!("ssh-ed25519 {key} me"))})), [""; 0]);
        assert_eq!(refused(json!({"sshPublicKey": standard.encode("ssh-ed25519")})), ["sshPublicKey"]);
        assert_eq!(refused(json!({"sshPublicKey": "ssh-ed25519 AAAA"})), ["sshPublicKey"]);
    }
}
