//! Mirror of what the webhooks of the Hetzner provider fill in and refuse beside what the packs say.
//! Read beside `api/v1beta1/hetzner{cluster,baremetalhost}_webhook.go`, `hcloudmachine_webhook.go` and
//! `{hcloud,hetznerbaremetal}machine_validation.go` of cluster-api-provider-hetzner 1.1, which were run on updates.

use super::changes::IMAGE_ASKED;
use crate::kinds::Webhook;
use crate::kinds::fields::{annotation, list, text};
use crate::kinds::immutable::Immutable;
use crate::kinds::url;
use crate::kinds::webhook::{Refusal, Write, Written, refuse};
use crate::model::RuleId;
use crate::object::{Path, go_duration};
use crate::tree::{Value, json};

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("caph/rejected");

/// Annotation of a cluster that may be without an address and regions at first.
const WITHOUT_ADDRESS: &str = "capi.syself.com/allow-empty-control-plane-address";

/// The regions, and the network zone of each.
const ZONES: &[(&str, &str)] = &[
    ("fsn1", "eu-central"),
    ("nbg1", "eu-central"),
    ("hel1", "eu-central"),
    ("ash", "us-east"),
    ("hil", "us-west"),
    ("sin", "ap-southeast"),
];

/// What a cluster keeps of its network and of its load balancer.
const KEPT: [&str; 7] = [
    "hcloudNetwork.enabled",
    "hcloudNetwork.cidrBlock",
    "hcloudNetwork.subnetCidrBlock",
    "hcloudNetwork.networkZone",
    "controlPlaneLoadBalancer.enabled",
    "controlPlaneLoadBalancer.port",
    "controlPlaneLoadBalancer.region",
];

/// What a host keeps.
static HOST: Immutable = Immutable { always: &["serverID"], ..Immutable::NONE };

/// What a host that is a Machine keeps once it has it.
static HOST_MACHINE: Immutable = Immutable { once: &["providerID"], ..Immutable::NONE };

/// What only a check of the load balancer over HTTP has.
const OVER_HTTP: [&str; 4] = ["path", "domain", "response", "statusCodes"];

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Hetzner;

impl Webhook for Hetzner {
    /// A server has public addresses where nothing is said of them (hcloudMachineWebhook.Default).
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        let spec = object.get_mut("spec").and_then(Value::as_object_mut);
        let Some(spec) = spec.filter(|_| written.key.kind == "HCloudMachine") else { return };
        if spec.get("publicNetwork").is_none_or(Value::is_null) {
            spec.insert("publicNetwork".to_owned(), json!({"enableIPv4": true, "enableIPv6": true}));
        }
    }

    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        match (write.kind_name(), write.past()) {
            ("HetznerCluster", past) => {
                match past {
                    Some(old) => {
                        kept(old, write.new, &spec, &mut out);
                        regions_stay(old, write.new, &spec, &mut out);
                    }
                    None => cluster(write.new, &spec, &mut out),
                }
                credentials(write.new, &spec, &mut out);
                health_check(write.new, &spec, &mut out);
            }
            ("HCloudMachine", _) if write.versions.has(&IMAGE_ASKED) => image(write.new, &spec, &mut out),
            ("HCloudMachineTemplate", _) if write.versions.has(&IMAGE_ASKED) => {
                image(write.new, &spec.key("template").key("spec"), &mut out);
            }
            ("HetznerBareMetalHost", Some(old)) => HOST.refusals(RULE, (old, write.new), &spec, &mut out),
            ("HetznerBareMetalMachine", Some(old)) => {
                HOST_MACHINE.refusals(RULE, (old, write.new), &spec, &mut out);
            }
            ("HCloudRemediationTemplate" | "HetznerBareMetalRemediationTemplate", _) => {
                let timeout = write.new.pointer("/spec/template/spec/strategy/timeout").and_then(Value::as_str);
                if timeout.is_some_and(|timeout| go_duration(timeout).is_none()) {
                    let why = "it must be a duration such as 5m0s";
                    refuse(&mut out, RULE, &spec, "template.spec.strategy.timeout", why);
                }
            }
            _ => {}
        }
        out
    }
}

/// The network zone of a region.
fn zone(region: &str) -> Option<&'static str> {
    ZONES.iter().find(|(name, _)| *name == region).map(|(_, zone)| *zone)
}

/// The regions of the control plane.
fn regions(side: &Value) -> Vec<&str> {
    list(side, "/spec/controlPlaneRegions").map(|region| region.as_str().unwrap_or_default()).collect()
}

/// Whether a field is on.
fn is_on(side: &Value, pointer: &str) -> bool {
    side.pointer(pointer).and_then(Value::as_bool) == Some(true)
}

/// A field as Go's plain values have it: nothing said is as much as zero.
fn plain<'v>(side: &'v Value, field: &str) -> Option<&'v Value> {
    let said = side.pointer(&format!("/spec/{}", field.replace('.', "/")));
    said.filter(|value| !(value.is_null() || **value == false || **value == 0 || **value == ""))
}

/// What stays of the network and of the load balancer, and the proxy protocol, which stays on (ValidateUpdate).
fn kept(old: &Value, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    for field in KEPT.into_iter().filter(|field| plain(old, field) != plain(new, field)) {
        refuse(out, RULE, spec, field, format!("{field} cannot change"));
    }
    let is_proxied = |side: &Value| is_on(side, "/spec/controlPlaneLoadBalancer/enableProxyProtocol");
    if is_proxied(old) && !is_proxied(new) {
        let why = "the proxy protocol stays on";
        refuse(out, RULE, spec, "controlPlaneLoadBalancer.enableProxyProtocol", why);
    }
}

/// A cluster names a token of the cloud, or user and password of the robot (validateHetznerSecretKey).
fn credentials(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let names = |key: &str| plain(new, &format!("hetznerSecretRef.key.{key}")).is_some();
    if !(names("hcloudToken") || names("hetznerRobotUser") && names("hetznerRobotPassword")) {
        refuse(
            out,
            RULE,
            spec,
            "hetznerSecretRef.key",
            "a token of the cloud, or user and password of the robot, are needed",
        );
    }
}

/// A check over TCP asks for no page (validateLoadBalancerHealthCheck).
fn health_check(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let Some(check) = new.pointer("/spec/controlPlaneLoadBalancer/healthCheck").filter(|check| check.is_object())
    else {
        return;
    };
    if matches!(text(check, "/protocol"), Some("http" | "https")) {
        return;
    }
    let is_said = |field: &&str| {
        check.get(*field).is_some_and(|value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()))
    };
    for field in OVER_HTTP.into_iter().filter(is_said) {
        let place = format!("controlPlaneLoadBalancer.healthCheck.{field}");
        refuse(out, RULE, spec, &place, format!("a check over TCP has no {field}"));
    }
}

/// With a network the regions stay in the zone of the first one that was there (ValidateUpdate).
fn regions_stay(old: &Value, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    if !is_on(old, "/spec/hcloudNetwork/enabled") {
        return;
    }
    let after = regions(new);
    let Some(first) = regions(old).first().or(after.first()).copied() else { return };
    for (place, region) in after.iter().enumerate().filter(|(_, region)| zone(region) != zone(first)) {
        let why = format!("with a network the regions stay in one zone, and {region} is not in that of {first}");
        refuse(out, RULE, spec, &format!("controlPlaneRegions[{place}]"), why);
    }
}

/// What a new cluster must have (ValidateCreate). That the zone is asked for without a network is the webhook's own way.
fn cluster(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let may_be_without = annotation(new, WITHOUT_ADDRESS) == Some("true");
    let regions = regions(new);
    if regions.is_empty() && !may_be_without {
        refuse(out, RULE, spec, "controlPlaneRegions", "a control plane needs a region");
    }
    let is_apart = regions.iter().any(|region| zone(region) != regions.first().and_then(|first| zone(first)));
    if is_apart && !is_on(new, "/spec/hcloudNetwork/enabled") {
        refuse(out, RULE, spec, "controlPlaneRegions", "the regions are not in one network zone");
    }
    // The schema says that a load balancer which is written is on.
    let balancer = new.pointer("/spec/controlPlaneLoadBalancer").filter(|balancer| balancer.is_object());
    let is_balanced = balancer.is_some_and(|balancer| balancer.get("enabled").is_none_or(|on| *on != false));
    if is_balanced && text(new, "/spec/controlPlaneLoadBalancer/region").is_none() {
        refuse(out, RULE, spec, "controlPlaneLoadBalancer.region", "a load balancer needs a region");
    }
    let has_endpoint = text(new, "/spec/controlPlaneEndpoint/host").is_some()
        && new.pointer("/spec/controlPlaneEndpoint/port").and_then(Value::as_i64).is_some_and(|port| port != 0);
    if !is_balanced && !has_endpoint && !may_be_without {
        refuse(out, RULE, spec, "controlPlaneEndpoint", "without a load balancer an endpoint is needed");
    }
}

/// What a server or its template must say of its image (validateHCloudMachineSpec).
fn image(new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let said = |field: &str| at.get(new).and_then(|spec| text(spec, &format!("/{field}")));
    match (said("imageName").is_some(), said("imageURL").is_some()) {
        (true, true) => refuse(out, RULE, at, "imageName", "imageName and imageURL exclude each other"),
        (false, false) => refuse(out, RULE, at, "imageName", "imageName or imageURL is needed"),
        _ => {}
    }
    if said("imageURL").is_some_and(|address| url::parse_request(address).is_none()) {
        refuse(out, RULE, at, "imageURL", "it is no address");
    }
    match (said("imageURL").is_some(), said("imageURLCommand")) {
        (true, None) => refuse(out, RULE, at, "imageURLCommand", "imageURL needs a command"),
        (false, Some(_)) => refuse(out, RULE, at, "imageURLCommand", "a command needs imageURL"),
        _ => {}
    }
    if said("imageURLCommand").is_some_and(|command| !is_command(command)) {
        refuse(out, RULE, at, "imageURLCommand", "a command is a file name in small letters, without dots in a row");
    }
}

/// Whether a command has a name that it may have (utils.ValidateImageURLCommandName).
fn is_command(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._-".contains(letter);
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(fits) && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(ask: impl Fn(&Path, &mut Vec<Refusal>)) -> Vec<String> {
        let mut out = Vec::new();
        ask(&Path::root().key("spec"), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn with_a_network_the_regions_stay_in_their_zone() {
        let told = |regions: &[&str], enabled: bool| json!({"spec": {"controlPlaneRegions": regions, "hcloudNetwork": {"enabled": enabled}}});
        let asked = |old: &[&str], new: &[&str], enabled: bool| {
            refused(|spec, out| regions_stay(&told(old, enabled), &told(new, enabled), spec, out))
        };
        assert_eq!(asked(&["fsn1"], &["ash"], true), ["spec.controlPlaneRegions[0]"]);
        assert_eq!(asked(&["fsn1"], &["nbg1", "hil"], true), ["spec.controlPlaneRegions[1]"]);
        assert_eq!(asked(&[], &["ash", "fsn1"], true), ["spec.controlPlaneRegions[1]"]);
        assert_eq!(asked(&["fsn1"], &["nbg1", "hel1"], true), [""; 0]);
        assert_eq!(asked(&["fsn1"], &["ash"], false), [""; 0], "without a network nobody asks");
    }

    #[test]
    fn a_cluster_keeps_its_network_and_the_proxy_protocol() {
        let told = |spec: Value| json!({ "spec": spec });
        let asked = |old: Value, new: Value| {
            let (old, new) = (told(old), told(new));
            refused(|spec, out| kept(&old, &new, spec, out))
        };
        let balanced = |on: bool| json!({"controlPlaneLoadBalancer": {"enableProxyProtocol": on}});
        assert_eq!(asked(balanced(true), balanced(false)), ["spec.controlPlaneLoadBalancer.enableProxyProtocol"]);
        assert_eq!(asked(balanced(false), balanced(true)), [""; 0]);
        let network = json!({"hcloudNetwork": {"enabled": false, "cidrBlock": ""}});
        assert_eq!(asked(network.clone(), json!({})), [""; 0], "zeros are as none");
        assert_eq!(asked(network, json!({"hcloudNetwork": {"enabled": true}})), ["spec.hcloudNetwork.enabled"]);
    }

    #[test]
    fn a_cluster_names_credentials() {
        let asked = |key: Value| {
            let new = json!({"spec": {"hetznerSecretRef": {"key": key}}});
            refused(|spec, out| credentials(&new, spec, out)).len()
        };
        assert_eq!(asked(json!({"hcloudToken": "", "hetznerRobotUser": "a"})), 1);
        assert_eq!(asked(json!({"hcloudToken": "a"})), 0);
        assert_eq!(asked(json!({"hetznerRobotUser": "a", "hetznerRobotPassword": "b"})), 0);
    }

    #[test]
    fn a_check_over_tcp_asks_for_no_page() {
        let asked = |check: Value| {
            let new = json!({"spec": {"controlPlaneLoadBalancer": {"healthCheck": check}}});
            refused(|spec, out| health_check(&new, spec, out))
        };
        let place = "spec.controlPlaneLoadBalancer.healthCheck.path";
        assert_eq!(asked(json!({"protocol": "tcp", "path": "/", "statusCodes": []})), [place]);
        assert_eq!(asked(json!({"path": ""})), [place]);
        assert_eq!(asked(json!({"protocol": "https", "path": "/"})), [""; 0]);
    }

    #[test]
    fn a_new_cluster_has_a_region_and_an_address() {
        let told = |regions: &[&str], enabled: bool, host: &str| {
            json!({"spec": {"controlPlaneRegions": regions, "controlPlaneEndpoint": {"host": host, "port": 6443},
                "controlPlaneLoadBalancer": {"enabled": enabled, "region": "fsn1"}}})
        };
        let asked = |new: Value| refused(|spec, out| cluster(&new, spec, out));
        assert_eq!(asked(told(&[], true, "")), ["spec.controlPlaneRegions"]);
        assert_eq!(asked(told(&["fsn1"], false, "")), ["spec.controlPlaneEndpoint"]);
        assert_eq!(asked(told(&["fsn1", "ash"], true, "")), ["spec.controlPlaneRegions"]);
        assert_eq!(asked(told(&["fsn1"], true, "")), [""; 0]);
        assert_eq!(asked(told(&["fsn1", "hel1"], false, "10.0.0.5")), [""; 0]);
        let mut without = told(&[], false, "");
        without["metadata"] = json!({"annotations": {WITHOUT_ADDRESS: "true"}});
        assert_eq!(asked(without), [""; 0]);
    }

    #[test]
    fn a_server_has_one_image_and_a_url_its_command() {
        let asked = |spec: Value| {
            let new = json!({"spec": {"template": {"spec": spec}}});
            refused(|spec, out| image(&new, &spec.key("template").key("spec"), out))
                .into_iter()
                .map(|path| path.replace("template.spec.", ""))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            asked(json!({"imageName": "a", "imageURL": "https://b", "imageURLCommand": "c"})),
            ["spec.imageName"]
        );
        assert_eq!(asked(json!({})), ["spec.imageName"]);
        assert_eq!(asked(json!({"imageURL": "https://b"})), ["spec.imageURLCommand"]);
        assert_eq!(asked(json!({"imageName": "a", "imageURLCommand": "c"})), ["spec.imageURLCommand"]);
        assert_eq!(asked(json!({"imageName": "a"})), [""; 0]);
        assert_eq!(asked(json!({"imageURL": "https://b", "imageURLCommand": "c"})), [""; 0]);
    }
}
