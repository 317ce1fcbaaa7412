//! Mirror of what the webhook of the Azure provider refuses about a control plane that AKS manages, beside what cannot change.
//! Read beside `internal/webhooks/azuremanagedcontrolplane_{webhook,validation}.go` of cluster-api-provider-azure 1.26. What it
//! asks the Cluster for, the ranges of Services and Pods, is not asked here.

use super::machine::is_key;
use super::webhook::RULE;
use crate::kinds::fields::{list, text};
use crate::kinds::versions::parse;
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::{Path, go_seconds};
use crate::tree::Value;

/// What is refused about a control plane; the old side is `None` where it is new.
pub(super) fn refusals(old: Option<&Value>, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    if let Some(old) = old {
        changed(old, new, at, out);
    }
    let Some(spec) = new.get("spec") else { return };
    basics(spec, at, out);
    common(new, spec, at, out);
}

/// What is refused about a template of one, new or not (`azuremanagedcontrolplanetemplate_validation.go`
/// validateAzureManagedControlPlaneTemplate). What a later write cannot change is not told here: each change is held as unknown.
pub(super) fn template(new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(spec) = new.pointer("/spec/template/spec") else { return };
    common(new, spec, &at.key("template").key("spec"), out);
}

/// What is asked of both.
fn common(object: &Value, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let name = text(object, "/metadata/name").unwrap_or_default().to_ascii_lowercase();
    if name.contains("microsoft") || name.contains("windows") {
        let message = "AKS keeps the words microsoft and windows for itself";
        refuse(out, RULE, &Path::root().key("metadata"), "name", message);
    }
    if !is_version(text(spec, "/version").unwrap_or_default()) {
        refuse(out, RULE, at, "version", "it must be a version such as v1.31.0");
    }
    network(spec, at, out);
    balancer(spec, at, out);
    access(spec, at, out);
    security(spec, at, out);
    autoscaler(spec, at, out);
    extensions(spec, at, out);
}

/// Names and identities.
fn basics(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    if text(spec, "/networkPluginMode") == Some("overlay") && text(spec, "/networkPlugin") == Some("kubenet") {
        refuse(out, RULE, at, "networkPluginMode", "the plugin kubenet knows no overlay");
    }
    if text(spec, "/sshPublicKey").is_some_and(|key| !is_key(key)) {
        refuse(out, RULE, at, "sshPublicKey", "it is no public key in base64");
    }
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
    let is_prefix = |prefix: &str| {
        let bytes = prefix.as_bytes();
        (2..=54).contains(&bytes.len())
            && bytes.iter().all(|byte| is_letter(*byte) || *byte == b'-')
            && is_letter(bytes[0])
            && is_letter(bytes[bytes.len() - 1])
    };
    if spec.get("dnsPrefix").and_then(Value::as_str).is_some_and(|prefix| !is_prefix(prefix)) {
        refuse(out, RULE, at, "dnsPrefix", "it has 2 to 54 letters, digits and -, and no - at its ends");
    }
    let is_member = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !name.starts_with('-')
            && !name.ends_with('-')
    };
    if text(spec, "/fleetsMember/name").is_some_and(|name| !is_member(name)) {
        refuse(out, RULE, at, "fleetsMember.name", "it has small letters, digits and -, and no - at its ends");
    }
    if let Some(identity) = spec.get("identity").filter(|identity| identity.is_object()) {
        let of_user = text(identity, "/type") == Some("UserAssigned");
        if of_user != text(identity, "/userAssignedIdentityResourceID").is_some() {
            let key = "identity.userAssignedIdentityResourceID";
            refuse(out, RULE, at, key, "an identity of the type UserAssigned has it, and no other");
        }
    }
    let is_set = |key: &str| spec.get(key).is_some_and(|value| !value.is_null());
    if is_set("disableLocalAccounts") && !is_set("aadProfile") {
        refuse(out, RULE, at, "disableLocalAccounts", "only a cluster with aadProfile can do without");
    }
}

/// Whether a text is a version as AKS writes it.
fn is_version(told: &str) -> bool {
    let is_number = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
    };
    let mut parts = told.strip_prefix('v').unwrap_or_default().splitn(3, '.');
    let (major, minor, rest) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let tail = &rest[digits..];
    // Digits that follow a leading zero count to what comes behind the patch.
    let patch = if rest.starts_with('0') { "0" } else { &rest[..digits] };
    major.is_some_and(is_number)
        && minor.is_some_and(is_number)
        && is_number(patch)
        && tail.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
}

/// Plugins and policies of the network, and its ranges.
fn network(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let is_overlay = text(spec, "/networkPluginMode") == Some("overlay");
    let policy = text(spec, "/networkPolicy");
    let plane = text(spec, "/networkDataplane");
    if policy == Some("cilium") && plane.is_some_and(|plane| plane != "cilium") {
        refuse(out, RULE, at, "networkPolicy", "the policy cilium needs the data plane cilium");
    }
    if plane == Some("cilium") && (!is_overlay || policy != Some("cilium")) {
        refuse(out, RULE, at, "networkDataplane", "the data plane cilium needs an overlay and the policy cilium");
    }
    let Some(network) = spec.get("virtualNetwork").filter(|network| network.is_object()) else { return };
    let range = |pointer: &str| text(network, pointer).and_then(|range| range.parse::<ipnet::IpNet>().ok());
    let (whole, subnet) = (range("/cidrBlock"), range("/subnet/cidrBlock"));
    for (range, key) in [(whole, "virtualNetwork.cidrBlock"), (subnet, "virtualNetwork.subnet.cidrBlock")] {
        if range.is_none() {
            refuse(out, RULE, at, key, "it must be a range such as 10.0.0.0/8");
        }
    }
    if let (Some(whole), Some(subnet)) = (whole, subnet)
        && !whole.contains(&subnet.addr())
    {
        refuse(out, RULE, at, "virtualNetwork.cidrBlock", "it must hold the range of the subnet");
    }
}

/// The load balancer of what goes out.
fn balancer(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(profile) = spec.get("loadBalancerProfile").filter(|profile| profile.is_object()) else { return };
    let at = at.key("loadBalancerProfile");
    for (key, least, most) in
        [("managedOutboundIPs", 1, 100), ("allocatedOutboundPorts", 0, 64_000), ("idleTimeoutInMinutes", 4, 120)]
    {
        if profile.get(key).and_then(Value::as_i64).is_some_and(|value| !(least..=most).contains(&value)) {
            refuse(out, RULE, &at, key, format!("it lies between {least} and {most}"));
        }
    }
    let has = |key: &str| list(profile, &format!("/{key}")).next().is_some();
    let managed = profile.get("managedOutboundIPs").is_some_and(|value| !value.is_null());
    if [managed, has("outboundIPPrefixes"), has("outboundIPs")].iter().filter(|is| **is).count() > 1 {
        refuse(out, RULE, &at, "", "addresses are managed, or given, or taken from prefixes");
    }
}

/// Who reaches the API server, and under which name.
fn access(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(profile) = spec.get("apiServerAccessProfile").filter(|profile| profile.is_object()) else { return };
    let at = at.key("apiServerAccessProfile");
    for range in list(profile, "/authorizedIPRanges") {
        if !range.as_str().is_some_and(|range| range.contains('/') && range.parse::<ipnet::IpNet>().is_ok()) {
            refuse(out, RULE, &at, "authorizedIPRanges", "it must be ranges such as 192.0.2.0/24");
        }
    }
    let Some(zone) = profile.get("privateDNSZone").and_then(Value::as_str).map(str::to_ascii_lowercase) else { return };
    if zone == "system" || zone == "none" {
        return;
    }
    let Some((_, name)) = zone.split_once("privatednszones/") else {
        refuse(out, RULE, &at, "privateDNSZone", "it is System, None, or the id of a zone");
        return;
    };
    if profile.get("enablePrivateCluster") != Some(&Value::Bool(true)) {
        refuse(out, RULE, &at, "privateDNSZone", "only a private cluster has its own zone");
        return;
    }
    if !is_zone(name) {
        let message =
            "the name of the zone must be [SUBZONE.]private.LOCATION.azmk8s.io or privatelink instead of private";
        refuse(out, RULE, &at, "privateDNSZone", message);
    }
}

/// Whether a text is a zone that AKS can use.
fn is_zone(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let (subzone, rest) = if parts.len() == 5 { (Some(parts[0]), &parts[1..]) } else { (None, &parts[..]) };
    let is_word = |text: &str, more: &[u8]| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
    };
    subzone.is_none_or(|subzone| subzone.len() <= 32 && is_word(subzone, b"-"))
        && rest.len() == 4
        && matches!(rest[0], "private" | "privatelink")
        && is_word(rest[1], b"")
        && rest[2..] == ["azmk8s", "io"]
}

/// Keys and identities of workloads.
fn security(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let profile = spec.get("securityProfile").unwrap_or(&Value::Null);
    let at = at.key("securityProfile");
    if let Some(keys) = profile.get("azureKeyVaultKms").filter(|keys| keys.is_object()) {
        let is_private = text(keys, "/keyVaultNetworkAccess") == Some("Private");
        let has_id = text(keys, "/keyVaultResourceID").is_some();
        if text(spec, "/identity/type") != Some("UserAssigned") {
            refuse(out, RULE, &at, "azureKeyVaultKms", "keys in a vault need an identity of the type UserAssigned");
        } else if is_private != has_id {
            let key = "azureKeyVaultKms.keyVaultResourceID";
            refuse(out, RULE, &at, key, "a vault that is reached by Private access is named, and no other");
        }
    }
    let has_issuer = spec.pointer("/oidcIssuerProfile/enabled") == Some(&Value::Bool(true));
    if profile.get("workloadIdentity").is_some_and(Value::is_object) && !has_issuer {
        refuse(out, RULE, &at, "workloadIdentity", "it needs oidcIssuerProfile.enabled");
    }
}

/// What the autoscaler is told.
fn autoscaler(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(profile) = spec.get("autoscalerProfile").filter(|profile| profile.is_object()) else { return };
    let at = at.key("autoscalerProfile");
    let told = |key: &str| profile.get(key).and_then(Value::as_str);
    let number = |text: &str| text.parse::<i64>().ok();
    let is_count = |text: &str, unit: char| {
        let digits = text.strip_suffix(unit).unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut ask = |key: &str, fits: &dyn Fn(&str) -> bool, message: &str| {
        if told(key).is_some_and(|text| !fits(text)) {
            refuse(out, RULE, &at, key, message);
        }
    };
    for key in ["maxEmptyBulkDelete", "maxGracefulTerminationSec", "okTotalUnreadyCount"] {
        ask(key, &|text| number(text).is_some_and(|count| count >= 0), "it must be a number that is not below 0");
    }
    let is_share = |text: &str| number(text).is_some_and(|share| (0..=100).contains(&share));
    ask("maxTotalUnreadyPercentage", &is_share, "it lies between 0 and 100");
    for key in [
        "maxNodeProvisionTime",
        "scaleDownDelayAfterAdd",
        "scaleDownDelayAfterFailure",
        "scaleDownUnneededTime",
        "scaleDownUnreadyTime",
    ] {
        ask(key, &|text| text.is_empty() || is_count(text, 'm'), "it must be minutes such as 15m");
    }
    for key in ["scanInterval", "scaleDownDelayAfterDelete"] {
        ask(key, &|text| text.is_empty() || is_count(text, 's'), "it must be seconds such as 10s");
    }
    ask(
        "newPodScaleUpDelay",
        &|text| text.is_empty() || go_seconds(text).is_some(),
        "it must be a duration such as 10m",
    );
    let is_part = |text: &str| text.parse::<f32>().is_ok_and(|part| (0.0..=1.0).contains(&part));
    ask("scaleDownUtilizationThreshold", &is_part, "it lies between 0 and 1");
}

/// Extensions of AKS.
fn extensions(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for (place, extension) in list(spec, "/extensions").enumerate() {
        let at = at.key("extensions").index(place);
        let is_fixed = extension.get("autoUpgradeMinorVersion") == Some(&Value::Bool(false));
        if extension.get("version").is_some_and(|value| !value.is_null()) && !is_fixed {
            refuse(out, RULE, &at, "version", "it needs autoUpgradeMinorVersion: false");
        }
        let Some(scope) = extension.get("scope").filter(|scope| scope.is_object()) else { continue };
        let (wanted, other) = match text(scope, "/scopeType") {
            Some("Cluster") => ("releaseNamespace", "targetNamespace"),
            Some("Namespace") => ("targetNamespace", "releaseNamespace"),
            _ => continue,
        };
        if text(scope, &format!("/{wanted}")).is_none() {
            refuse(out, RULE, &at, &format!("scope.{wanted}"), "a scope of this type needs it");
        }
        if text(scope, &format!("/{other}")).is_some() {
            refuse(out, RULE, &at, &format!("scope.{other}"), "a scope of this type has none");
        }
    }
}

/// What cannot change beside what is compared field by field.
fn changed(old: &Value, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let has = |side: &Value, key: &str| {
        side.pointer(&format!("/spec/{}", key.replace('.', "/"))).is_some_and(|value| !value.is_null())
    };
    let said = |side: &Value, key: &str| text(side, &format!("/spec/{}", key.replace('.', "/"))).map(str::to_owned);
    for key in [
        "autoUpgradeProfile.upgradeChannel",
        "aadProfile",
        "securityProfile.azureKeyVaultKms",
        "securityProfile.workloadIdentity",
        "securityProfile.imageCleaner",
        "securityProfile.defender",
    ] {
        if has(old, key) && !has(new, key) {
            refuse(out, RULE, at, key, "it stays once it is there; it can be turned off");
        }
    }
    let is_true = |side: &Value, pointer: &str| side.pointer(pointer) == Some(&Value::Bool(true));
    if has(old, "aadProfile") && has(new, "aadProfile") {
        if is_true(old, "/spec/aadProfile/managed") && !is_true(new, "/spec/aadProfile/managed") {
            refuse(out, RULE, at, "aadProfile.managed", "it cannot be turned off");
        }
        if list(new, "/spec/aadProfile/adminGroupObjectIDs").next().is_none() {
            refuse(out, RULE, at, "aadProfile.adminGroupObjectIDs", "somebody must be administrator");
        }
    }
    let local = |side: &Value| side.pointer("/spec/disableLocalAccounts").and_then(Value::as_bool);
    if local(old).is_some() && local(old) != local(new) {
        refuse(out, RULE, at, "disableLocalAccounts", "it cannot change once it is set");
    }
    if said(old, "networkPluginMode").as_deref() != Some("overlay")
        && said(new, "networkPluginMode").as_deref() == Some("overlay")
        && has(old, "networkPolicy")
    {
        refuse(out, RULE, at, "networkPluginMode", "a network with a policy cannot become an overlay");
    }
    let issuer = "/spec/oidcIssuerProfile/enabled";
    if is_true(old, issuer) && new.pointer(issuer) == Some(&Value::Bool(false)) {
        refuse(out, RULE, at, "oidcIssuerProfile.enabled", "it cannot be turned off");
    }
    let member = said(old, "fleetsMember.name");
    if member.is_some() && has(new, "fleetsMember") && member != said(new, "fleetsMember.name") {
        refuse(out, RULE, at, "fleetsMember.name", "it cannot change");
    }
    let named =
        |side: &Value, name: Option<&str>| list(side, "/spec/addonProfiles").any(|one| text(one, "/name") == name);
    if list(old, "/spec/addonProfiles").any(|addon| !named(new, text(addon, "/name"))) {
        refuse(out, RULE, at, "addonProfiles", "an add-on stays once it is there; it can be turned off");
    }
    kept_extensions(old, new, at, out);
    version(old, new, at, out);
}

/// An extension keeps what it was made with. Scopes are compared as pointers, which never are the same.
fn kept_extensions(old: &Value, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for (place, extension) in list(new, "/spec/extensions").enumerate() {
        let name = text(extension, "/name");
        let Some(before) = list(old, "/spec/extensions").filter(|before| text(before, "/name") == name).last() else {
            continue;
        };
        let at = at.key("extensions").index(place);
        let value = |side: &Value, key: &str| side.get(key).filter(|value| !value.is_null()).cloned();
        for key in ["extensionType", "plan", "releaseTrain", "version"] {
            let (was, is) = (value(before, key), value(extension, key));
            if was.is_some() && is.is_some() && was != is {
                refuse(out, RULE, &at, key, "an extension keeps it");
            }
        }
        if value(before, "scope").is_some() || value(extension, "scope").is_some() {
            refuse(out, RULE, &at, "scope", "the webhook refuses each later write of an extension with a scope");
        }
        if text(before, "/identity") != text(extension, "/identity") {
            refuse(out, RULE, &at, "identity", "an extension keeps it");
        }
    }
}

/// A version does not go down, neither below the old one nor, where it changes, below the one that AKS upgraded to by itself.
fn version(old: &Value, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let told = |side: &Value, pointer: &str| text(side, pointer).and_then(parse);
    let Some(wanted) = told(new, "/spec/version") else { return };
    let is_below = |pointer: &str| told(old, pointer).is_some_and(|before| wanted < before);
    let changes = text(old, "/spec/version") != text(new, "/spec/version");
    if is_below("/spec/version") || (changes && is_below("/status/autoUpgradeVersion")) {
        refuse(out, RULE, at, "version", "the version cannot go down");
    }
}

#[cfg(test)]
mod tests;
