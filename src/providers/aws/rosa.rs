//! Mirror of what the AWS provider's webhook refuses about a control plane of ROSA.
//! Read beside `controlplane/rosa/webhooks/rosacontrolplane_webhook.go` of cluster-api-provider-aws 2.13.

use crate::kinds::fields::text;
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::providers::aws::webhook::{RULE, is_range, list, tags};
use crate::tree::{Map, Value};

/// The roles that a control plane names itself, where no RosaRoleConfig does.
const ROLES: &[&str] = &[
    "oidcID",
    "installerRoleARN",
    "supportRoleARN",
    "workerRoleARN",
    "rolesRef/ingressARN",
    "rolesRef/imageRegistryARN",
    "rolesRef/storageARN",
    "rolesRef/networkARN",
    "rolesRef/kubeCloudControllerARN",
    "rolesRef/nodePoolManagementARN",
    "rolesRef/controlPlaneOperatorARN",
    "rolesRef/kmsProviderARN",
];

/// What is refused about a control plane. Live is the object as it is, with its status; `None` where it is new.
#[must_use]
pub(super) fn refusals(live: Option<&Value>, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let at = Path::root().key("spec");
    let nothing = Value::Object(Map::new());
    let spec = new.get("spec").unwrap_or(&nothing);
    if semver::Version::parse(text(spec, "/version").unwrap_or_default()).is_err() {
        refuse(&mut out, RULE, &at, "version", "it must be a version such as 4.19.0");
    }
    if text(spec, "/etcdEncryptionKMSARN").is_some_and(|arn| !is_key(arn)) {
        refuse(&mut out, RULE, &at, "etcdEncryptionKMSARN", "it must be the ARN of a key of KMS");
    }
    for key in ["machineCIDR", "podCIDR", "serviceCIDR"] {
        if text(spec, &format!("/network/{key}")).is_some_and(|range| !is_range(range)) {
            refuse(&mut out, RULE, &at, &format!("network.{key}"), "it must be a range such as 10.0.0.0/16");
        }
    }
    roles(spec, &at, &mut out);
    tags(spec, &at, &mut out);
    match live {
        Some(live) => channel(live, spec, &at, &mut out),
        None => made(spec, &at, &mut out),
    }
    out
}

/// Roles come from a RosaRoleConfig, or all of them are named.
fn roles(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let named = |role: &&&str| text(spec, &format!("/{role}")).is_some();
    if spec.get("rosaRoleConfigRef").is_some_and(Value::is_object) {
        if ROLES.iter().chain(&["trustPolicyExternalID"]).any(|role| named(&role)) {
            refuse(out, RULE, at, "rosaRoleConfigRef", "it excludes roles that are named one by one");
        }
        return;
    }
    if let Some(role) = ROLES.iter().find(|role| !named(role)) {
        refuse(out, RULE, at, &role.replace('/', "."), "it must be named where no rosaRoleConfigRef is");
    }
}

/// What a new control plane must keep to.
fn made(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    if text(spec, "/fips") == Some("Enabled") && text(spec, "/etcdEncryptionKMSARN").is_none() {
        refuse(out, RULE, at, "etcdEncryptionKMSARN", "FIPS needs a key for etcd");
    }
    let has_providers = list(spec, "/externalAuthProviders").next().is_some();
    if has_providers && spec.get("enableExternalAuthProviders") != Some(&Value::Bool(true)) {
        refuse(out, RULE, at, "externalAuthProviders", "it needs enableExternalAuthProviders: true");
    }
    let names = |key: &str| list(spec, &format!("/clusterRegistryConfig/registrySources/{key}")).next().is_some();
    if names("allowedRegistries") && names("blockedRegistries") {
        let key = "clusterRegistryConfig.registrySources";
        refuse(out, RULE, at, key, "registries are allowed or blocked, not both");
    }
    let by_reference = spec.get("rosaNetworkRef").is_some_and(Value::is_object);
    let is_set = |key: &str| spec.get(key).is_some_and(|value| !value.is_null());
    for key in ["subnets", "availabilityZones"] {
        if is_set(key) == by_reference {
            let message = "subnets and availabilityZones are named, or found by rosaNetworkRef";
            refuse(out, RULE, at, if by_reference { "rosaNetworkRef" } else { key }, message);
            return;
        }
    }
}

/// A channel is one of those that there are, once they are known.
fn channel(live: &Value, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(channel) = text(spec, "/channel") else { return };
    let mut known = list(live, "/status/availableChannels").peekable();
    if known.peek().is_some() && !known.any(|(_, known)| known == channel) {
        refuse(out, RULE, at, "channel", "it is none of status.availableChannels");
    }
}

/// Whether a text is the ARN of a key.
fn is_key(arn: &str) -> bool {
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let mut parts = arn.splitn(6, ':');
    let mut next = || parts.next().unwrap_or_default();
    let (start, partition, service, region, account, resource) = (next(), next(), next(), next(), next(), next());
    let Some(key) = resource.strip_prefix("key/") else { return false };
    let parts: Vec<&str> = key.split('-').collect();
    let is_plain = parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| is_hex(part))
        && parts[2].starts_with(['1', '2', '3', '4', '5'])
        && parts[3].starts_with(['8', '9', 'a', 'b']);
    let is_everywhere = key.strip_prefix("mrk-").is_some_and(|key| key.len() == 32 && is_hex(key));
    start == "arn"
        && partition.strip_prefix("aws").is_some_and(is_word)
        && service == "kms"
        && !region.is_empty()
        && is_word(region)
        && account.len() == 12
        && account.bytes().all(|byte| byte.is_ascii_digit())
        && (is_plain || is_everywhere)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(live: Option<Value>, with: Value) -> Vec<String> {
        let mut spec =
            json!({"version": "4.19.0", "rosaRoleConfigRef": {"name": "a"}, "rosaNetworkRef": {"name": "a"}});
        for (key, value) in with.as_object().expect("a map") {
            spec[key.as_str()] = value.clone();
        }
        let found = refusals(live.as_ref(), &json!({"spec": spec}));
        found.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_control_plane_has_its_roles_and_its_network() {
        assert_eq!(refused(None, json!({})), [""; 0]);
        assert_eq!(refused(None, json!({"oidcID": "a"})), ["spec.rosaRoleConfigRef"]);
        assert_eq!(refused(None, json!({"rosaRoleConfigRef": null})), ["spec.oidcID"]);
        assert_eq!(refused(None, json!({"subnets": ["a"]})), ["spec.rosaNetworkRef"]);
        assert_eq!(refused(None, json!({"rosaNetworkRef": null, "subnets": ["a"]})), ["spec.availabilityZones"]);
        assert_eq!(refused(Some(json!({})), json!({"subnets": ["a"]})), [""; 0], "only a new one is asked");
        assert_eq!(refused(None, json!({"version": "4.19"})), ["spec.version"]);
        assert_eq!(refused(None, json!({"network": {"podCIDR": "10.0.0.0"}})), ["spec.network.podCIDR"]);
    }

    #[test]
    fn a_key_is_an_arn_of_kms() {
        for key in ["9fdfaf2f-efb7-4db7-a5c3-0d047c52f094", "mrk-0123456789abcdef0123456789abcdef"] {
            assert!(is_key(&format!("arn:aws:kms:eu-west-1:111111111111:key/{key}")), "{key}");
            assert!(!is_key(&format!("arn:aws:notkms:eu-west-1:111111111111:key/{key}")), "{key}");
        }
        assert!(!is_key("arn:aws:kms:eu-west-1:111111111111:key/9fdfaf2f"));
        assert_eq!(refused(None, json!({"fips": "Enabled"})), ["spec.etcdEncryptionKMSARN"]);
    }

    #[test]
    fn a_channel_is_one_that_there_is() {
        let live = |channels: Value| Some(json!({"status": {"availableChannels": channels}}));
        let channel = json!({"channel": "stable-4.19"});
        assert_eq!(refused(live(json!([])), channel.clone()), [""; 0]);
        assert_eq!(refused(live(json!(["stable-4.19"])), channel.clone()), [""; 0]);
        assert_eq!(refused(live(json!(["fast-4.19"])), channel), ["spec.channel"]);
    }
}
