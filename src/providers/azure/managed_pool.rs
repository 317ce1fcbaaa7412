//! Mirror of what the webhooks of the Azure provider refuse about new pools of a cluster that AKS manages, and about templates of them.
//! Read beside `internal/webhooks/azuremanagedmachinepool{_webhook,_validation,template_webhook}.go` of cluster-api-provider-azure 1.26.

use super::fixed::MANAGED_POOL_TEMPLATE;
use super::webhook::RULE;
use crate::kinds::fields::{list, text};
use crate::kinds::versions::parse;
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::{Value, json};

/// Whether nodes of a pool come to differ by the version of their MachinePool: AKS keeps the version that it has where none is said, and of
/// two the higher one counts (`azure/services/agentpools/spec.go` getManagedMachinePoolVersion of 1.21).
pub(super) fn reads_version(_: &Value, _: Option<&Value>, (old, new): (&Value, &Value)) -> bool {
    let version = |pool| text(pool, "/spec/template/spec/version");
    let Some(is) = version(new) else { return false };
    version(old).and_then(parse).zip(parse(is)).is_none_or(|(was, is)| is > was)
}

/// Labels that AKS keeps for itself begin so.
const SYSTEM_LABELS: &str = "kubernetes.azure.com";

/// Labels of nodes are asked about each time.
pub(super) fn labels(new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let labels = new.pointer("/spec/nodeLabels").and_then(Value::as_object);
    for key in labels.into_iter().flat_map(|labels| labels.keys()).filter(|key| key.starts_with(SYSTEM_LABELS)) {
        refuse(
            out,
            RULE,
            &at.key("nodeLabels").key(key.as_str()),
            "",
            "AKS keeps labels of kubernetes.azure.com for itself",
        );
    }
}

/// What is refused about a template of pools; the old side is `None` where it is new. Who may leave the mode System is not asked here:
/// that depends on the other pools of the cluster.
pub(super) fn template(old: Option<&Value>, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    const SPEC: &str = "/spec/template/spec";
    let mut spec = new.pointer(SPEC).cloned().unwrap_or_else(|| json!({}));
    if let Some(spec) = spec.as_object_mut().filter(|_| old.is_none()) {
        // Only a pool itself is asked for its subnet.
        spec.shift_remove("subnetName");
    }
    let pool = json!({"metadata": new.get("metadata"), "spec": spec});
    labels(&pool, at, out);
    let Some(old) = old else { return made(&pool, at, out) };
    MANAGED_POOL_TEMPLATE.refusals(RULE, (old, new), at, out);
    zones((old, new), SPEC, at, out);
}

/// Zones stay, in any order.
pub(super) fn zones((old, new): (&Value, &Value), spec: &str, at: &Path, out: &mut Vec<Refusal>) {
    let zones = |side: &Value| {
        let zones = list(side, &format!("{spec}/availabilityZones")).filter_map(Value::as_str);
        let mut zones: Vec<String> = zones.map(str::to_owned).collect();
        zones.sort();
        zones
    };
    if zones(old) != zones(new) {
        refuse(out, RULE, at, "availabilityZones", "availabilityZones cannot change");
    }
}

/// What a new pool must keep to.
pub(super) fn made(new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(spec) = new.get("spec") else { return };
    if spec.get("maxPods").and_then(Value::as_i64).is_some_and(|most| !(10..=250).contains(&most)) {
        refuse(out, RULE, at, "maxPods", "it lies between 10 and 250");
    }
    let system = text(spec, "/osType");
    if text(spec, "/mode") == Some("System") && system.is_some_and(|system| system != "Linux") {
        refuse(out, RULE, at, "osType", "a pool of the mode System runs Linux");
    }
    let name = text(spec, "/name").or_else(|| text(new, "/metadata/name")).unwrap_or_default();
    let most = match system {
        Some("Windows") => 6,
        None | Some("Linux") => 12,
        _ => usize::MAX,
    };
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if !name.is_empty() && (name.len() > most || !is_name) {
        refuse(
            out,
            RULE,
            at,
            "name",
            "it has small letters and digits, a letter first, and at most 12 of them, 6 on Windows",
        );
    }
    if let Some(prefix) = spec.get("nodePublicIPPrefixID").and_then(Value::as_str) {
        if !is_prefix(prefix) {
            refuse(out, RULE, at, "nodePublicIPPrefixID", "it must be the id of a prefix of public addresses");
        }
        if spec.get("enableNodePublicIP") != Some(&Value::Bool(true)) {
            refuse(out, RULE, at, "enableNodePublicIP", "a prefix of public addresses needs it");
        }
    }
    if spec.get("subnetName").and_then(Value::as_str).is_some_and(|name| !is_subnet(name)) {
        refuse(out, RULE, at, "subnetName", "it is no name of a subnet");
    }
    kubelet(spec, at, out);
    system_settings(spec, at, out);
}

/// Whether a text is the id of a prefix, small and large letters being the same.
fn is_prefix(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    let parts: Vec<&str> = id.strip_prefix('/').unwrap_or(&id).split('/').collect();
    parts.len() == 8
        && parts.iter().all(|part| !part.is_empty())
        && parts[0] == "subscriptions"
        && is_subscription(parts[1])
        && parts[2] == "resourcegroups"
        && parts[4..7] == ["providers", "microsoft.network", "publicipprefixes"]
}

/// Whether a text is an id such as Azure gives to subscriptions.
fn is_subscription(id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether a text is a name of a subnet.
fn is_subnet(name: &str) -> bool {
    let bytes = name.as_bytes();
    (2..=80).contains(&bytes.len())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
        && bytes[0].is_ascii_alphanumeric()
        && bytes[bytes.len() - 1].is_ascii_alphanumeric()
}

/// What the kubelet is told.
fn kubelet(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(config) = spec.get("kubeletConfig").filter(|config| config.is_object()) else { return };
    let at = at.key("kubeletConfig");
    if config.get("cpuCfsQuotaPeriod").and_then(Value::as_str).is_some_and(|period| !period.ends_with("ms")) {
        refuse(out, RULE, &at, "cpuCfsQuotaPeriod", "it must be milliseconds such as 100ms");
    }
    let number = |key: &str| config.get(key).and_then(Value::as_i64);
    if let (Some(low), Some(high)) = (number("imageGcLowThreshold"), number("imageGcHighThreshold"))
        && low > high
    {
        refuse(out, RULE, &at, "imageGcLowThreshold", "it is not above imageGcHighThreshold");
    }
    let is_allowed = |name: &str| {
        let longer = |start: &str| name.strip_prefix(start).is_some_and(|rest| !rest.is_empty());
        name == "kernel.sem" || ["kernel.shm", "kernel.msg", "fs.mqueue.", "net."].into_iter().any(longer)
    };
    for (place, name) in list(config, "/allowedUnsafeSysctls").enumerate() {
        if !is_allowed(name.as_str().unwrap_or_default()) {
            refuse(out, RULE, &at, &format!("allowedUnsafeSysctls[{place}]"), "AKS does not allow it");
        }
    }
}

/// What Linux is told.
fn system_settings(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(config) = spec.get("linuxOSConfig").filter(|config| config.is_object()) else { return };
    let at = at.key("linuxOSConfig");
    let swaps = config.get("swapFileSizeMB").is_some_and(|value| !value.is_null());
    if swaps && spec.pointer("/kubeletConfig/failSwapOn") != Some(&Value::Bool(false)) {
        refuse(out, RULE, &at, "swapFileSizeMB", "it needs kubeletConfig.failSwapOn: false");
    }
    let Some(range) = config.pointer("/sysctls/netIpv4IPLocalPortRange").and_then(Value::as_str) else { return };
    let port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let ports = range.split_once(' ').and_then(|(first, last)| Some((port(first)?, port(last)?)));
    let fits = ports.is_some_and(|(first, last)| {
        (1024..=60_999).contains(&first) && (32_768..=65_000).contains(&last) && first <= last
    });
    if !fits {
        let message = "it must be two ports such as 32768 60999, of 1024 to 60999 and of 32768 to 65000";
        refuse(out, RULE, &at, "sysctls.netIpv4IPLocalPortRange", message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(spec: Value) -> Vec<String> {
        let mut out = Vec::new();
        let new = json!({"metadata": {"name": "pool0"}, "spec": spec});
        made(&new, &Path::root().key("spec"), &mut out);
        labels(&new, &Path::root().key("spec"), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_pool_has_a_short_name() {
        for good in ["pool0", "abcdefghijkl"] {
            assert_eq!(refused(json!({"name": good})), [""; 0], "{good}");
        }
        for bad in ["abcdefghijklm", "0pool", "pool-0", "Pool"] {
            assert_eq!(refused(json!({"name": bad})), ["spec.name"], "{bad}");
        }
        assert_eq!(refused(json!({"name": "abcdefg", "osType": "Windows"})), ["spec.name"]);
        assert_eq!(refused(json!({"mode": "System", "osType": "Windows"})), ["spec.osType"]);
        assert_eq!(refused(json!({"nodeLabels": {"kubernetes.azure.com/a": "b", "a": "b"}})).len(), 1);
    }

    #[test]
    fn a_template_keeps_what_a_pool_is_made_of() {
        let told = |old: Option<Value>, new: Value| {
            let object = |spec: Value| json!({"metadata": {"name": "pool0"}, "spec": {"template": {"spec": spec}}});
            let mut out = Vec::new();
            let at = Path::root().key("spec").key("template").key("spec");
            template(old.map(object).as_ref(), &object(new), &at, &mut out);
            out.into_iter().map(|refusal| refusal.path.to_string()).collect::<Vec<_>>()
        };
        let zones = |list: &[&str]| json!({"availabilityZones": list, "nodeLabels": {"a": "b"}});
        assert_eq!(told(Some(zones(&["1", "2"])), zones(&["2", "1"])), [""; 0]);
        assert_eq!(told(Some(zones(&["1"])), zones(&[])), ["spec.template.spec.availabilityZones"]);
        assert_eq!(told(Some(json!({"sku": "a"})), json!({"sku": "b"})), ["spec.template.spec.sku"]);
        assert_eq!(told(Some(json!({})), json!({"subnetName": "b"})), [""; 0]);
        assert_eq!(told(Some(json!({"subnetName": "a"})), json!({"subnetName": "b"})).len(), 1);
        assert_eq!(told(None, json!({"name": "Pool", "subnetName": "-"})), ["spec.template.spec.name"]);
        assert_eq!(told(None, json!({"nodeLabels": {"kubernetes.azure.com/a": "b"}})).len(), 1);
    }

    #[test]
    fn settings_are_ones_that_aks_has() {
        assert_eq!((refused(json!({"maxPods": 10})).len(), refused(json!({"maxPods": 9})).len()), (0, 1));
        let id = "/subscriptions/11111111-1111-4111-8111-111111111111/resourceGroups/b/providers/Microsoft.Network/publicIPPrefixes/c";
        assert_eq!(refused(json!({"nodePublicIPPrefixID": id, "enableNodePublicIP": true})), [""; 0]);
        assert_eq!(refused(json!({"nodePublicIPPrefixID": "not one"})).len(), 2);
        let kubelet = |config: Value| refused(json!({"kubeletConfig": config})).len();
        assert_eq!(kubelet(json!({"cpuCfsQuotaPeriod": "100ms", "allowedUnsafeSysctls": ["net.a", "kernel.sem"]})), 0);
        assert_eq!(kubelet(json!({"cpuCfsQuotaPeriod": "100", "allowedUnsafeSysctls": ["fs.a", "net."]})), 3);
        assert_eq!(kubelet(json!({"imageGcLowThreshold": 90, "imageGcHighThreshold": 80})), 1);
        let range =
            |range: &str| refused(json!({"linuxOSConfig": {"sysctls": {"netIpv4IPLocalPortRange": range}}})).len();
        assert_eq!((range("32768 60999"), range("1020 60999"), range("40000 33000"), range("wrong")), (0, 1, 1, 1));
        assert_eq!(refused(json!({"linuxOSConfig": {"swapFileSizeMB": 10}})).len(), 1);
        let swapping = json!({"linuxOSConfig": {"swapFileSizeMB": 10}, "kubeletConfig": {"failSwapOn": false}});
        assert_eq!(refused(swapping), [""; 0]);
    }

    #[test]
    fn a_version_reaches_nodes_only_where_it_is_higher() {
        let pool = |version: Option<&str>| json!({"spec": {"template": {"spec": {"version": version}}}});
        let reads = |old, new| reads_version(&Value::Null, None, (&pool(old), &pool(new)));
        assert!(!reads(Some("v1.32.1"), Some("v1.31.9")) && !reads(Some("v1.32.1"), None));
        assert!(!reads(Some("v1.32.1"), Some("1.32.1")));
        assert!(reads(Some("v1.32.1"), Some("v1.32.2")) && reads(None, Some("v1.32.1")));
        assert!(reads(Some("v1.32.1"), Some("latest")), "what is no version is not compared");
    }
}
