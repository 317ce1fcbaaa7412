//! Mirror of what the AWS provider's webhooks refuse about EKS control planes and their templates.
//! Read beside `controlplane/eks/webhooks/awsmanagedcontrolplane{,template}_webhook.go` and
//! `controlplane/eks/api/v1beta2/validate.go` of cluster-api-provider-aws 2.13. Nothing of a template is fixed by itself.

use crate::kinds::fields::text;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::refuse;
use crate::object::Path;
use crate::providers::aws::webhook::{RULE, bastion, list, tags};

use crate::tree::{Map, Value};

/// What is refused about an object; the old side is `None` where it is new.
#[must_use]
pub(crate) fn refusals(kind: &str, old: Option<&Value>, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let is_template = kind.ends_with("Template");
    let (pointer, at) = if is_template {
        ("/spec/template/spec", Path::root().key("spec").key("template").key("spec"))
    } else {
        ("/spec", Path::root().key("spec"))
    };
    let nothing = Value::Object(Map::new());
    let spec = new.pointer(pointer).unwrap_or(&nothing);
    let old = old.map(|old| old.pointer(pointer).unwrap_or(&nothing));
    if !is_template {
        let name = text(spec, "/eksClusterName");
        let was = old.and_then(|old| text(old, "/eksClusterName"));
        // A new cluster with a long name is given a hash as its name in EKS, which is not computed here.
        let word = |key: &str| text(new, key).map_or(0, str::len);
        let is_hashed = old.is_none() && word("/metadata/name") + word("/metadata/namespace") + 1 >= 100;
        if (name.is_none() && !is_hashed) || (was.is_some() && was != name) {
            refuse(&mut out, RULE, &at, "eksClusterName", "a cluster keeps its name in EKS");
        }
        access(old, spec, &at, &mut out);
        access_entries(spec, &at, &mut out);
    }
    version(old, spec, &at, &mut out);
    bastion(spec, &at, &mut out);
    mappings(spec, &at, &mut out);
    secondary_range(spec, &at, &mut out);
    addons(spec, &at, &mut out);
    tags(spec, &at, &mut out);
    addresses(spec, &at, &mut out);
    match old {
        Some(old) => changed(old, spec, &at, &mut out),
        None => new_network(spec, &at, &mut out),
    }
    out
}

/// What cannot change.
fn changed(old: &Value, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let has = |side: &Value, pointer: &str| side.pointer(pointer).is_some_and(|value| !value.is_null());
    if text(old, "/region") != text(new, "/region") {
        refuse(out, RULE, at, "region", "the region cannot change");
    }
    for (key, message) in
        [("encryptionConfig", "encryption cannot be turned off"), ("identityRef", "the identity cannot be taken away")]
    {
        let pointer = format!("/{key}");
        if has(old, &pointer) && !has(new, &pointer) {
            refuse(out, RULE, at, key, message);
        }
    }
    let provider = |side: &Value| side.pointer("/encryptionConfig/provider").and_then(Value::as_str).map(str::to_owned);
    if let (Some(was), Some(is)) = (provider(old), provider(new))
        && was != is
    {
        refuse(out, RULE, at, "encryptionConfig.provider", "the key of the encryption cannot change");
    }
    if has(old, "/network/vpc/ipv6") != has(new, "/network/vpc/ipv6") {
        refuse(out, RULE, at, "network.vpc.ipv6", "the family of addresses cannot change");
    }
}

/// The way of access stays configured, and only goes towards the API of EKS.
fn access(old: Option<&Value>, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let admin = new.pointer("/accessConfig/bootstrapClusterCreatorAdminPermissions");
    let is_by_map = text(new, "/accessConfig/authenticationMode") == Some("config_map");
    if old.is_none() && is_by_map && admin == Some(&Value::Bool(false)) {
        let key = "accessConfig.bootstrapClusterCreatorAdminPermissions";
        refuse(out, RULE, at, key, "who makes a cluster that knows users by config_map is its administrator");
    }
    let Some(was) = old.and_then(|old| old.get("accessConfig")).filter(|access| access.is_object()) else { return };
    let Some(is) = new.get("accessConfig").filter(|access| access.is_object()) else {
        refuse(out, RULE, at, "accessConfig", "access stays configured");
        return;
    };
    let (was, is) = (text(was, "/authenticationMode"), text(is, "/authenticationMode"));
    let is_back = was == Some("api_and_config_map") && is == Some("config_map");
    if was != is && (is_back || was == Some("api")) {
        let message = "the way of access only goes from config_map to api";
        refuse(out, RULE, at, "accessConfig.authenticationMode", message);
    }
}

/// Major and minor of a version as EKS counts it.
fn minor(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.trim().trim_start_matches('v').split(['.', '-', '+']);
    let number = |part: &str| part.parse::<u64>().ok();
    Some((number(parts.next()?)?, number(parts.next()?)?))
}

/// The version goes up only, and must be one.
fn version(old: Option<&Value>, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(told) = spec.get("version").and_then(Value::as_str) else { return };
    let Some(own) = minor(told) else {
        refuse(out, RULE, at, "version", "it must be a version such as v1.31");
        return;
    };
    let was = old.and_then(|old| old.get("version")).and_then(Value::as_str).and_then(minor);
    if was.is_some_and(|was| own.0 < was.0 || own.1 < was.1) {
        refuse(out, RULE, at, "version", "the version of a control plane cannot go down");
    }
    let has_ipv6 = spec.pointer("/network/vpc/ipv6").is_some_and(Value::is_object);
    if has_ipv6 && own < (1, 21) {
        refuse(out, RULE, at, "version", "IPv6 needs Kubernetes 1.21");
    }
    let mut addons = list(spec, "/addons").peekable();
    if (has_ipv6 || addons.peek().is_some()) && own < (1, 18) {
        refuse(out, RULE, at, "addons", "add-ons need Kubernetes 1.18");
    }
}

/// Add-ons must not be what is turned off, and IPv6 needs some.
fn addons(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let named = |wanted: &str| list(spec, "/addons").any(|(_, addon)| text(addon, "/name") == Some(wanted));
    for (key, addon) in [("vpcCni", "vpc-cni"), ("kubeProxy", "kube-proxy")] {
        if spec.pointer(&format!("/{key}/disable")) == Some(&Value::Bool(true)) && named(addon) {
            for below in [format!("{key}.disable"), "addons".to_owned()] {
                refuse(out, RULE, at, &below, format!("the add-on {addon} cannot be there and be turned off"));
            }
        }
    }
    let has_ipv6 = spec.pointer("/network/vpc/ipv6").is_some_and(Value::is_object);
    if !has_ipv6 || spec.get("version").is_none_or(Value::is_null) {
        return;
    }
    if list(spec, "/addons").next().is_none() {
        refuse(out, RULE, at, "addons", "IPv6 needs add-ons that are named");
    }
    for (place, addon) in list(spec, "/addons").filter(|(_, addon)| text(addon, "/name") == Some("vpc-cni")) {
        let mut parts = text(addon, "/version").unwrap_or_default().trim_start_matches('v').split(['.', '-', '+']);
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
        if [number(), number(), number()] < [Some(1), Some(10), Some(2)] {
            refuse(out, RULE, at, &format!("addons[{place}].version"), "IPv6 needs vpc-cni 1.10.2");
        }
    }
}

/// Roles and users that are mapped to names in the cluster.
fn mappings(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for (key, name, word) in [("mapRoles", "rolearn", "role/"), ("mapUsers", "userarn", "user/")] {
        for (place, mapping) in list(spec, &format!("/iamAuthenticatorConfig/{key}")) {
            let arn = mapping.get(name).and_then(Value::as_str).unwrap_or_default();
            let resource = arn.strip_prefix("arn:").and_then(|rest| rest.splitn(5, ':').nth(4));
            let has_groups = mapping.get("groups").and_then(Value::as_array).is_some_and(|groups| !groups.is_empty());
            let has_name = text(mapping, "/username").is_some_and(|name| !name.trim().is_empty());
            if !(resource.is_some_and(|resource| resource.contains(word)) && has_groups && has_name) {
                let below = format!("iamAuthenticatorConfig.{key}[{place}]");
                refuse(out, RULE, at, &below, "a mapping needs an ARN of its kind, a name and groups");
            }
        }
    }
}

/// The second range of addresses is one that AWS keeps for pods.
fn secondary_range(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(told) = spec.get("secondaryCidrBlock").and_then(Value::as_str) else { return };
    let range = told.parse::<ipnet::Ipv4Net>().ok().map(|range| range.trunc());
    let fits = range.is_some_and(|range| {
        let inside = ["100.64.0.0/10", "198.19.0.0/16"]
            .iter()
            .any(|whole| whole.parse::<ipnet::Ipv4Net>().is_ok_and(|whole| whole.contains(&range)));
        inside && (16..=28).contains(&range.prefix_len())
    });
    if !fits {
        let message = "it must be a range of /16 to /28 in 100.64.0.0/10 or 198.19.0.0/16";
        refuse(out, RULE, at, "secondaryCidrBlock", message);
    }
}

/// Who may enter by the API of EKS.
fn access_entries(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let mut entries = list(spec, "/accessEntries").peekable();
    if entries.peek().is_none() {
        return;
    }
    if !matches!(text(spec, "/accessConfig/authenticationMode"), Some("api" | "api_and_config_map")) {
        for key in ["accessEntries", "accessConfig.authenticationMode"] {
            refuse(out, RULE, at, key, "entries need the mode api or api_and_config_map");
        }
    }
    for (place, entry) in entries {
        let is_node = matches!(text(entry, "/type"), Some("ec2_linux" | "ec2_windows"));
        for key in ["kubernetesGroups", "accessPolicies"] {
            if is_node && list(entry, &format!("/{key}")).next().is_some() {
                refuse(out, RULE, at, &format!("accessEntries[{place}].{key}"), "an entry of nodes has none");
            }
        }
        for (item, policy) in list(entry, "/accessPolicies") {
            let of_namespaces = text(policy, "/accessScope/type") == Some("namespace");
            if of_namespaces && list(policy, "/accessScope/namespaces").next().is_none() {
                let below = format!("accessEntries[{place}].accessPolicies[{item}].accessScope.namespaces");
                refuse(out, RULE, at, &below, "this scope needs namespaces");
            }
        }
    }
}

/// What the VPC and its subnets must be.
fn addresses(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let name = text(spec, "/eksClusterName").unwrap_or_default();
    let tag = format!("sigs.k8s.io/cluster-api-provider-aws/cluster/{name}");
    let vpc = spec.pointer("/network/vpc").unwrap_or(&Value::Null);
    let is_owned = vpc.get("tags").and_then(|tags| tags.get(&tag)).is_some_and(|value| value == "owned");
    let is_private = |subnet: &Value| {
        let is_edge = matches!(text(subnet, "/zoneType"), Some("local-zone" | "wavelength-zone"));
        !is_edge && subnet.get("isPublic") != Some(&Value::Bool(true))
    };
    if spec.get("restrictPrivateSubnets") == Some(&Value::Bool(true))
        && text(vpc, "/id").is_some()
        && !is_owned
        && !list(spec, "/network/subnets").any(|(_, subnet)| is_private(subnet))
    {
        for key in ["restrictPrivateSubnets", "network.subnets"] {
            refuse(out, RULE, at, key, "there must be a private subnet to restrict it to");
        }
    }
    let has_ipv6 = vpc.get("ipv6").is_some_and(Value::is_object);
    let kind = vpc.get("privateDnsHostnameTypeOnLaunch").and_then(Value::as_str);
    if has_ipv6 && kind.is_some_and(|kind| kind != "resource-name") {
        refuse(out, RULE, at, "network.vpc.privateDnsHostnameTypeOnLaunch", "IPv6 needs resource-name");
    }
}

/// What a new control plane's ranges must keep to.
fn new_network(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let own = spec.get("secondaryCidrBlock").and_then(Value::as_str);
    let first = text(spec, "/network/vpc/cidrBlock");
    let blocks: Vec<&str> =
        list(spec, "/network/vpc/secondaryCidrBlocks").filter_map(|(_, block)| text(block, "/ipv4CidrBlock")).collect();
    let is_missing = own.is_some_and(|own| !blocks.is_empty() && !blocks.contains(&own));
    if is_missing || first.is_some_and(|first| blocks.contains(&first)) {
        let message = "it holds secondaryCidrBlock where both are there, and never the first range";
        refuse(out, RULE, at, "network.vpc.secondaryCidrBlocks", message);
    }
    if own.is_some() && own == first {
        refuse(out, RULE, at, "secondaryCidrBlock", "it is not the first range");
    }
    let Some(ipv6) = spec.pointer("/network/vpc/ipv6").filter(|ipv6| ipv6.is_object()) else { return };
    let at = at.key("network").key("vpc").key("ipv6");
    let (range, pool) = (text(ipv6, "/cidrBlock").is_some(), text(ipv6, "/poolId").is_some());
    let managed = ipv6.get("ipamPool").filter(|pool| pool.is_object());
    if (range && !pool) || (pool && managed.is_some()) || (range && managed.is_some()) {
        refuse(out, RULE, &at, "", "a range has the id of its pool, and neither stands beside ipamPool");
    }
    if managed.is_some_and(|pool| text(pool, "/id").is_none() && text(pool, "/name").is_none()) {
        refuse(out, RULE, &at, "ipamPool", "a pool needs its id or its name");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(old: Value, new: Value) -> Vec<String> {
        let object = |mut spec: Value| {
            spec["eksClusterName"] = json!("demo");
            json!({"spec": spec})
        };
        let found = refusals("AWSManagedControlPlane", Some(&object(old)), &object(new));
        found.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_long_name_becomes_a_hash_in_eks() {
        let made = |name: &str| {
            let object = json!({"metadata": {"name": name, "namespace": "default"}, "spec": {}});
            refusals("AWSManagedControlPlane", None, &object).len()
        };
        assert_eq!((made(&"a".repeat(92)), made(&"a".repeat(91))), (0, 1), "shorter ones are filled in before");
    }

    #[test]
    fn a_version_goes_up() {
        let version = |text: &str| json!({"version": text});
        assert_eq!(refused(version("v1.31.0"), version("v1.32")), [""; 0]);
        assert_eq!(refused(version("v1.31.4"), version("v1.31.0")), [""; 0], "EKS knows no patches");
        assert_eq!(refused(version("v1.31"), version("v1.30")), ["spec.version"]);
        assert_eq!(refused(version("v1.31"), version("next")), ["spec.version"]);
    }

    #[test]
    fn what_is_turned_on_stays() {
        let encrypted = json!({"encryptionConfig": {"provider": "a"}});
        assert_eq!(refused(encrypted.clone(), json!({})), ["spec.encryptionConfig"]);
        let other = json!({"encryptionConfig": {"provider": "b"}});
        assert_eq!(refused(encrypted, other), ["spec.encryptionConfig.provider"]);
        let mode = |mode: &str| json!({"accessConfig": {"authenticationMode": mode}});
        assert_eq!(refused(mode("config_map"), mode("api")), [""; 0]);
        assert_eq!(refused(mode("api"), mode("config_map")), ["spec.accessConfig.authenticationMode"]);
        let made = |mode: &str| {
            let access = json!({"authenticationMode": mode, "bootstrapClusterCreatorAdminPermissions": false});
            let spec = json!({"spec": {"eksClusterName": "demo", "accessConfig": access}});
            refusals("AWSManagedControlPlane", None, &spec).len()
        };
        assert_eq!((made("api"), made("config_map")), (0, 1));
    }

    #[test]
    fn a_mapping_is_whole() {
        let mapping = |arn: &str| json!({"iamAuthenticatorConfig": {"mapRoles": [{"rolearn": arn, "username": "a", "groups": ["b"]}]}});
        assert_eq!(refused(json!({}), mapping("arn:aws:iam::123456789012:role/a")), [""; 0]);
        assert_eq!(refused(json!({}), mapping("arn:aws:iam::123456789012:user/a")).len(), 1);
        let range = |text: &str| json!({"secondaryCidrBlock": text});
        assert_eq!(refused(json!({}), range("100.64.0.0/16")), [""; 0]);
        assert_eq!(refused(json!({}), range("10.0.0.0/16")), ["spec.secondaryCidrBlock"]);
    }
}
