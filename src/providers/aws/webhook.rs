//! Mirror of what the AWS provider's webhooks refuse about clusters, and what clusters, Machines and EKS have in common.
//! Read beside `webhooks/aws{cluster,clustertemplate}_webhook.go` and `api/v1beta2/{bastion,tags,s3bucket}.go` of
//! cluster-api-provider-aws 2.13; 2.11 differs in nothing that is said here.

use super::changes::{CLASSIC_HEALTH_CHECK, WRITES_ONLY_CHANGES};
use super::{IGNITION, defaults, eks, machine, pool, rosa};
use crate::kinds::fields::text;
use crate::kinds::labels;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::refuse;
use crate::kinds::webhook::{Need, Write, Written};
use crate::kinds::{Versions, Webhook};
use crate::model::RuleId;
use crate::object::Key;
use crate::object::Path;
use crate::object::go_seconds;
use crate::providers::core;

use crate::tree::{Map, Value};

/// Id of everything that is refused here.
pub(crate) const RULE: RuleId = RuleId::of("capa/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Aws;

impl Webhook for Aws {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        let kind = written.key.kind.as_str();
        if !defaults::HAVE_WEBHOOKS.contains(&kind) {
            return core::defaults::fill_in(written, object);
        }
        // Since controller-runtime 0.23 (2.12) the object is only written anew where a default changed it.
        let before = written.versions.has(&WRITES_ONLY_CHANGES).then(|| object.clone());
        defaults::fill_in(kind, object, written.versions);
        if before.is_none_or(|before| before != *object)
            && let Some(spec) = object.get_mut("spec")
        {
            written.shape.write_zeros(spec, defaults::BLOCKS);
        }
    }

    fn asks_for_spec(&self, name: &str) -> bool {
        !name.starts_with("AWS")
    }

    /// Of Machines and their templates only when they are new.
    fn needs(&self, key: &Key, object: &Value, is_new: bool, _versions: &Versions, need: &mut Need<'_>) {
        let place = match key.kind.as_str() {
            "AWSCluster" => "spec.s3Bucket",
            "AWSMachine" | "AWSMachinePool" if is_new => "spec.ignition",
            "AWSMachineTemplate" if is_new => "spec.template.spec.ignition",
            _ => return,
        };
        if object.pointer(&format!("/{}", place.replace('.', "/"))).is_some_and(Value::is_object) {
            need(IGNITION, place);
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let (past, new) = (write.past(), write.new);
        match write.kind_name() {
            "AWSCluster" => cluster(past, new, write.versions),
            kind @ ("AWSClusterControllerIdentity" | "AWSClusterRoleIdentity" | "AWSClusterStaticIdentity") => {
                account(kind, write.is_new, new)
            }
            "AWSClusterTemplate" if write.is_new => cluster_template(new),
            "AWSMachine" => machine::machine(past, new),
            "AWSMachineTemplate" if write.is_new => machine::template(new),
            kind @ ("AWSMachinePool" | "AWSManagedMachinePool" | "AWSFargateProfile") => {
                pool::refusals(kind, past, new)
            }
            "ROSAControlPlane" => rosa::refusals(if write.is_new { None } else { write.live }, new),
            kind @ ("AWSManagedControlPlane" | "AWSManagedControlPlaneTemplate") => eks::refusals(kind, past, new),
            _ => Vec::new(),
        }
    }
}

/// What is refused about a cluster; the old side is `None` where it is new.
#[must_use]
fn cluster(old: Option<&Value>, new: &Value, versions: &Versions) -> Vec<Refusal> {
    let mut out = Vec::new();
    let at = Path::root().key("spec");
    let nothing = Value::Object(Map::new());
    let spec = new.get("spec").unwrap_or(&nothing);
    if let Some(old) = old {
        changed((old, new), versions, &at, &mut out);
    } else {
        key_name(spec, &at, &mut out);
        network(spec, &at, &mut out);
        balancers(spec, &at, &mut out);
    }
    bastion(spec, &at, &mut out);
    tags(spec, &at, &mut out);
    bucket(spec, &at, &mut out);
    out
}

/// What is refused about a template of clusters that is new: nothing of one can change later.
#[must_use]
fn cluster_template(new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let at = Path::root().key("spec").key("template").key("spec");
    if let Some(spec) = new.pointer("/spec/template/spec") {
        bastion(spec, &at, &mut out);
        key_name(spec, &at, &mut out);
    }
    out
}

/// What is refused about an account: the provider's own has one name, a role is taken from somewhere, and which namespaces may use
/// it is a selector.
#[must_use]
fn account(kind: &str, is_new: bool, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let spec = Path::root().key("spec");
    if is_new && kind == "AWSClusterControllerIdentity" && text(new, "/metadata/name") != Some("default") {
        let message = "there is one account of the provider's own, and it is called default";
        refuse(&mut out, RULE, &Path::root().key("metadata"), "name", message);
    }
    let source = new.pointer("/spec/sourceIdentityRef");
    if is_new && kind == "AWSClusterRoleIdentity" && source.is_none_or(Value::is_null) {
        refuse(&mut out, RULE, &spec, "sourceIdentityRef", "a role is taken from another account");
    }
    let selector = new.pointer("/spec/allowedNamespaces/selector");
    if selector.is_some_and(|selector| labels::selects(selector, |_| None).is_none()) {
        let message = "it must be a selector: valid labels, In or NotIn with values, Exists or DoesNotExist without";
        refuse(&mut out, RULE, &spec.key("allowedNamespaces"), "selector", message);
    }
    out
}

/// What cannot change.
fn changed((old, new): (&Value, &Value), versions: &Versions, at: &Path, out: &mut Vec<Refusal>) {
    let word = |side: &Value, pointer: &str| text(side, pointer).map(str::to_owned);
    if word(old, "/spec/region") != word(new, "/spec/region") {
        refuse(out, RULE, at, "region", "the region cannot change");
    }
    for key in ["controlPlaneLoadBalancer", "secondaryControlPlaneLoadBalancer"] {
        let side = |side: &Value| side.pointer(&format!("/spec/{key}")).filter(|value| value.is_object()).cloned();
        balancer_changed((side(old).as_ref(), side(new).as_ref()), versions, &at.key(key), out);
    }
    let endpoint = |side: &Value| {
        let port = side.pointer("/spec/controlPlaneEndpoint/port").and_then(Value::as_i64).unwrap_or(0);
        (word(side, "/spec/controlPlaneEndpoint/host"), port)
    };
    if endpoint(old) != (None, 0) && endpoint(old) != endpoint(new) {
        refuse(out, RULE, at, "controlPlaneEndpoint", "the endpoint is set once");
    }
    let own = word(old, "/spec/network/vpc/id");
    if own.is_some() && own != word(new, "/spec/network/vpc/id") {
        refuse(out, RULE, at, "network.vpc.id", "the VPC is set once");
    }
    let has_identity = |side: &Value| side.pointer("/spec/identityRef").is_some_and(Value::is_object);
    if has_identity(old) && !has_identity(new) {
        refuse(out, RULE, at, "identityRef", "the identity cannot be taken away");
    }
    let is_external = |side: &Value| side.pointer("/metadata/annotations/cluster.x-k8s.io~1managed-by").is_some();
    if is_external(old) && !is_external(new) {
        let place = Path::root().key("metadata").key("annotations").key("cluster.x-k8s.io/managed-by");
        refuse(out, RULE, &place, "", "the mark of a cluster that is managed elsewhere stays");
    }
    let name = "aws.cluster.x-k8s.io/external-resource-tasks-gc";
    let tasks = new.pointer("/metadata/annotations").and_then(|all| all.get(name)).and_then(Value::as_str);
    let known = ["load-balancer", "target-group", "security-group"];
    if tasks.is_some_and(|tasks| !tasks.is_empty() && tasks.split(',').any(|task| !known.contains(&task))) {
        let place = Path::root().key("metadata").key("annotations").key(name);
        refuse(out, RULE, &place, "", format!("it may name {}", known.join(", ")));
    }
}

/// What cannot change of a load balancer.
fn balancer_changed(sides: (Option<&Value>, Option<&Value>), versions: &Versions, at: &Path, out: &mut Vec<Refusal>) {
    match sides {
        (None, None) => {}
        (Some(_), None) => refuse(out, RULE, at, "", "a load balancer of the API server cannot be taken away"),
        (None, Some(new)) => {
            if text(new, "/scheme").is_some_and(|scheme| scheme != "internet-facing") {
                refuse(out, RULE, at, "scheme", "the scheme cannot change, and without one it was internet-facing");
            }
        }
        (Some(old), Some(new)) => {
            let is_disabled = |side: &Value| text(side, "/loadBalancerType") == Some("disabled");
            if is_disabled(old) != is_disabled(new) {
                refuse(out, RULE, at, "loadBalancerType", "a load balancer is turned off for ever or never");
            }
            let is_classic = text(old, "/loadBalancerType") == Some("classic") && versions.has(&CLASSIC_HEALTH_CHECK);
            for key in ["scheme", "name", "healthCheckProtocol", "targetGroupIPType"] {
                if !(is_classic && key == "healthCheckProtocol") && old.get(key) != new.get(key) {
                    refuse(out, RULE, at, key, "it cannot change once the load balancer was made");
                }
            }
        }
    }
}

/// What a new load balancer must keep to.
fn balancers(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let is_object = |value: &&Value| value.is_object();
    let primary = spec.get("controlPlaneLoadBalancer").filter(is_object);
    if let Some(first) = primary {
        let at = at.key("controlPlaneLoadBalancer");
        if text(first, "/loadBalancerType") == Some("disabled") {
            let is_set = |value: &Value| match value {
                Value::Array(list) => !list.is_empty(),
                Value::Bool(state) => *state,
                other => !other.is_null(),
            };
            for key in [
                "name",
                "crossZoneLoadBalancing",
                "subnets",
                "healthCheckProtocol",
                "additionalSecurityGroups",
                "additionalListeners",
                "ingressRules",
                "preserveClientIP",
                "disableHostsRewrite",
                "targetGroupIPType",
            ] {
                if first.get(key).is_some_and(is_set) {
                    refuse(out, RULE, &at, key, "a load balancer that is turned off has no settings");
                }
            }
        }
        ingress(first, "ingressRules", &at, out);
        target_group(first, spec, &at, out);
    }
    let Some(second) = spec.get("secondaryControlPlaneLoadBalancer").filter(is_object) else { return };
    let at = at.key("secondaryControlPlaneLoadBalancer");
    if text(second, "/name").is_none() {
        refuse(out, RULE, &at, "name", "a second load balancer needs a name");
    }
    if second.get("scheme") == primary.and_then(|first| first.get("scheme")) {
        refuse(out, RULE, &at, "scheme", "two load balancers need two schemes");
    }
    if text(second, "/loadBalancerType") != Some("nlb") {
        refuse(out, RULE, &at, "loadBalancerType", "a second load balancer must be an nlb");
    }
    ingress(second, "ingressRules", &at, out);
    target_group(second, spec, &at, out);
}

/// The family of addresses of target groups must fit the load balancer and the VPC.
fn target_group(balancer: &Value, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let has_ipv6 = spec.pointer("/network/vpc/ipv6").is_some_and(Value::is_object);
    let listeners = balancer.get("additionalListeners").and_then(Value::as_array);
    let below = listeners
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(place, listener)| (format!("additionalListeners[{place}].targetGroupIPType"), listener));
    for (place, owner) in below.chain([("targetGroupIPType".to_owned(), balancer)]) {
        let Some(family) = text(owner, "/targetGroupIPType") else { continue };
        if text(balancer, "/loadBalancerType") == Some("classic") {
            refuse(out, RULE, at, &place, "a classic load balancer has no target groups");
        }
        if family == "ipv6" && !has_ipv6 {
            refuse(out, RULE, at, &place, "it needs a VPC with IPv6");
        }
    }
}

/// What a new cluster's network must keep to.
fn network(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(network) = spec.get("network").filter(|network| network.is_object()) else { return };
    let at = at.key("network");
    let mut ranges = vec![
        ("vpc.cidrBlock".to_owned(), text(network, "/vpc/cidrBlock")),
        ("vpc.ipv6.cidrBlock".to_owned(), text(network, "/vpc/ipv6/cidrBlock")),
    ];
    for (place, subnet) in list(network, "/subnets") {
        ranges.push((format!("subnets[{place}].cidrBlock"), text(subnet, "/cidrBlock")));
        ranges.push((format!("subnets[{place}].ipv6CidrBlock"), text(subnet, "/ipv6CidrBlock")));
        let is_edge = matches!(text(subnet, "/zoneType"), Some("local-zone" | "wavelength-zone"));
        if is_edge && subnet.get("parentZoneName").is_none_or(Value::is_null) {
            refuse(out, RULE, &at, &format!("subnets[{place}].parentZoneName"), "a zone at the edge needs its parent");
        }
    }
    for (place, range) in list(network, "/nodePortIngressRuleCidrBlocks") {
        ranges.push((format!("nodePortIngressRuleCidrBlocks[{place}]"), Some(range.as_str().unwrap_or_default())));
    }
    for (place, block) in list(network, "/vpc/secondaryCidrBlocks") {
        let own = text(block, "/ipv4CidrBlock");
        ranges.push((format!("vpc.secondaryCidrBlocks[{place}].ipv4CidrBlock"), own));
        if own.is_some() && own == text(network, "/vpc/cidrBlock") {
            refuse(out, RULE, &at, "vpc.secondaryCidrBlocks", "the first range is not one of the others");
        }
    }
    for (place, range) in ranges {
        if range.is_some_and(|range| !is_range(range)) {
            refuse(out, RULE, &at, &place, "it must be a range such as 10.0.0.0/16");
        }
    }
    if let Some(pool) = network.pointer("/vpc/ipamPool").filter(|pool| pool.is_object()) {
        if text(network, "/vpc/cidrBlock").is_some() {
            refuse(out, RULE, &at, "vpc.cidrBlock", "a range and a pool of ranges exclude each other");
        }
        if text(pool, "/id").is_none() && text(pool, "/name").is_none() {
            refuse(out, RULE, &at, "vpc.ipamPool", "a pool needs its id or its name");
        }
    }
    elastic_pool(network.pointer("/vpc/elasticIpPool"), &at.key("vpc").key("elasticIpPool"), out);
    for key in ["additionalControlPlaneIngressRules", "additionalNodeIngressRules"] {
        ingress(network, key, &at, out);
    }
}

/// A pool of public addresses has its fallback, and a name that AWS gives.
pub(crate) fn elastic_pool(pool: Option<&Value>, at: &Path, out: &mut Vec<Refusal>) {
    let Some(pool) = pool.filter(|pool| pool.is_object()) else { return };
    let has = |key: &str| pool.get(key).is_some_and(|value| !value.is_null());
    if has("publicIpv4Pool") != has("publicIpv4PoolFallbackOrder") {
        for key in ["publicIpv4Pool", "publicIpv4PoolFallbackOrder"] {
            refuse(out, RULE, at, key, "a pool and what to do when it is empty come together");
        }
    }
    let name = pool.get("publicIpv4Pool").and_then(Value::as_str);
    if name.is_some_and(|name| !name.starts_with("ipv4pool-ec2-")) {
        refuse(out, RULE, at, "publicIpv4Pool", "its name must begin with ipv4pool-ec2-");
    }
}

/// A rule of a security group has one kind of source.
fn ingress(owner: &Value, key: &str, at: &Path, out: &mut Vec<Refusal>) {
    for (place, rule) in list(owner, &format!("/{key}")) {
        let has = |key: &str| rule.get(key).is_some_and(|value| !value.is_null());
        let ranges = has("cidrBlocks") || has("ipv6CidrBlocks");
        let groups = has("sourceSecurityGroupIds") || has("sourceSecurityGroupRoles");
        let of_gateways = rule.get("natGatewaysIPsSource") == Some(&Value::Bool(true));
        if [of_gateways, ranges, groups].into_iter().filter(|kind| *kind).count() > 1 {
            refuse(out, RULE, at, &format!("{key}[{place}]"), "a rule has one kind of source");
        }
    }
}

/// The ranges that may reach a bastion host.
pub(crate) fn bastion(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let allowed: Vec<(usize, &Value)> = list(spec, "/bastion/allowedCIDRBlocks").collect();
    if spec.pointer("/bastion/disableIngressRules") == Some(&Value::Bool(true)) && !allowed.is_empty() {
        for key in ["bastion.allowedCIDRBlocks", "bastion.disableIngressRules"] {
            refuse(out, RULE, at, key, "ranges cannot be named where the rules of the bastion host are turned off");
        }
        return;
    }
    for (place, range) in allowed {
        if !range.as_str().is_some_and(is_range) {
            let below = format!("bastion.allowedCIDRBlocks[{place}]");
            refuse(out, RULE, at, &below, "it must be a range such as 192.0.2.0/24");
        }
    }
}

/// What AWS takes as tags.
pub(crate) fn tags(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(tags) = spec.get("additionalTags").and_then(Value::as_object) else { return };
    let fits = |text: &str| {
        text.chars().all(|letter| {
            letter.is_ascii_alphanumeric()
                || matches!(letter, '\t' | '\n' | '\x0c' | '\r' | ' ')
                || "_.:=+-@/".contains(letter)
        })
    };
    for (key, value) in tags {
        let value = value.as_str().unwrap_or_default();
        let place = at.key("additionalTags").key(key.as_str());
        if key.is_empty() || key.len() > 128 || value.len() > 256 {
            refuse(out, RULE, &place, "", "a tag has 1 to 128 letters, and its value at most 256");
        }
        if key.starts_with("aws:") {
            refuse(out, RULE, &place, "", "tags that begin with aws: are AWS's own");
        }
        if !fits(key) || !fits(value) {
            refuse(out, RULE, &place, "", "a tag has letters, digits, spaces and _ . : / = + - @");
        }
    }
    if tags.len() > 50 {
        refuse(out, RULE, at, "additionalTags", "there can be 50 tags");
    }
}

/// The bucket that holds user data for Ignition.
fn bucket(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(bucket) = spec.get("s3Bucket").filter(|bucket| bucket.is_object()) else { return };
    let at = at.key("s3Bucket");
    match text(bucket, "/name") {
        None => refuse(out, RULE, &at, "name", "a bucket needs a name"),
        Some(name) if name.parse::<std::net::IpAddr>().is_ok() => {
            refuse(out, RULE, &at, "name", "an address is no name of a bucket");
        }
        Some(_) => {}
    }
    let duration = bucket.get("presignedURLDuration").and_then(Value::as_str);
    if duration.is_some_and(|told| go_seconds(told).is_none()) {
        refuse(out, RULE, &at, "presignedURLDuration", "it must be a duration such as 10m0s");
    }
    if duration.is_none() {
        if text(bucket, "/controlPlaneIAMInstanceProfile").is_none() {
            refuse(out, RULE, &at, "controlPlaneIAMInstanceProfile", "it needs the profile of control planes");
        }
        let mut profiles = list(bucket, "/nodesIAMInstanceProfiles").peekable();
        if profiles.peek().is_none() || profiles.any(|(_, profile)| profile == "") {
            refuse(out, RULE, &at, "nodesIAMInstanceProfiles", "it needs the profiles of nodes");
        }
    }
    for (place, role) in list(bucket, "/additionalIAMRoles") {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_+=,.@-".contains(letter);
        if text(role, "/name").is_none_or(|name| !name.chars().all(is_name)) {
            refuse(out, RULE, &at, &format!("additionalIAMRoles[{place}].name"), "it must be the name of a role");
        }
        if text(role, "/prefix").is_none_or(|prefix| prefix.starts_with('/')) {
            let below = format!("additionalIAMRoles[{place}].prefix");
            refuse(out, RULE, &at, &below, "it needs a prefix that does not begin with /");
        }
    }
}

/// The name of an SSH key is printable and has no space at its ends.
pub(crate) fn key_name(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(name) = text(spec, "/sshKeyName") else { return };
    let printable = name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if !printable || name.starts_with(' ') || name.ends_with(' ') {
        refuse(out, RULE, at, "sshKeyName", "it must be printable ASCII without a space at its ends");
    }
}

/// Whether Go's `net.ParseCIDR` reads a text.
pub(crate) fn is_range(text: &str) -> bool {
    text.contains('/') && text.parse::<ipnet::IpNet>().is_ok()
}

/// Items of a list with their places.
pub(crate) fn list<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten().enumerate()
}

#[cfg(test)]
mod tests;
