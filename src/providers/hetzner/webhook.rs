//! Mirror of what webhooks and schema of the Hetzner provider refuse beside what the pack says.
//! Read beside `api/v1beta1/hetznercluster_webhook.go`, `hetznercluster_types.go` and `hcloudmachine_validation.go` of
//! cluster-api-provider-hetzner 1.1; by reading.

use super::changes::IMAGE_ASKED;
use crate::kinds::Webhook;
use crate::kinds::fields::{annotation, list, text};
use crate::kinds::webhook::{Refusal, Write, refuse, refuse_by_schema};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("caph/rejected");

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

/// Fields of the load balancer that have one of few values.
const VALUES: &[(&str, &[&str])] = &[
    ("controlPlaneLoadBalancer.region", &["fsn1", "hel1", "nbg1", "ash", "hil", "sin"]),
    ("controlPlaneLoadBalancer.type", &["lb11", "lb21", "lb31"]),
    ("controlPlaneLoadBalancer.algorithm", &["round_robin", "least_connections"]),
];

/// The webhooks of the provider.
#[derive(Debug)]
pub struct Hetzner;

impl Webhook for Hetzner {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        match write.kind_name() {
            "HetznerCluster" => {
                values(write.past(), write.new, &spec, &mut out);
                if !out.is_empty() {
                    return out;
                }
                match write.past() {
                    Some(old) => regions_stay(old, write.new, &spec, &mut out),
                    None => cluster(write.new, &spec, &mut out),
                }
            }
            "HCloudMachineTemplate" if write.versions.has(&IMAGE_ASKED) => {
                image(write.new, &spec.key("template").key("spec"), &mut out);
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

/// What the schema knows no such value of. What was there already is let through.
fn values(old: Option<&Value>, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let known = old.map(regions).unwrap_or_default();
    for (place, region) in regions(new).into_iter().enumerate() {
        if zone(region).is_none() && !known.contains(&region) {
            let place = format!("controlPlaneRegions[{place}]");
            refuse_by_schema(out, RULE, spec, &place, format!("{region:?} is no region that it knows"));
        }
    }
    for (field, values) in VALUES {
        let pointer = format!("/spec/{}", field.replace('.', "/"));
        let said = text(new, &pointer).filter(|said| !values.contains(said));
        if let Some(said) = said.filter(|said| old.and_then(|old| text(old, &pointer)) != Some(*said)) {
            refuse_by_schema(out, RULE, spec, field, format!("{said:?} is none of {}", values.join(", ")));
        }
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

/// What the template of a server must say of its image (validateHCloudMachineSpec).
fn image(new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let says = |field: &str| text(new, &format!("/spec/template/spec/{field}")).is_some();
    match (says("imageName"), says("imageURL")) {
        (true, true) => refuse(out, RULE, at, "imageName", "imageName and imageURL exclude each other"),
        (false, false) => refuse(out, RULE, at, "imageName", "imageName or imageURL is needed"),
        _ => {}
    }
    match (says("imageURL"), says("imageURLCommand")) {
        (true, false) => refuse(out, RULE, at, "imageURLCommand", "imageURL needs a command"),
        (false, true) => refuse(out, RULE, at, "imageURLCommand", "a command needs imageURL"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

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
    fn the_schema_knows_regions_and_types() {
        let told = |region: &str, kind: &str| json!({"spec": {"controlPlaneRegions": [region], "controlPlaneLoadBalancer": {"type": kind}}});
        let asked = |old: Option<Value>, new: Value| refused(|spec, out| values(old.as_ref(), &new, spec, out));
        assert_eq!(asked(Some(told("fsn1", "lb11")), told("fsn2", "lb11")), ["spec.controlPlaneRegions[0]"]);
        assert_eq!(asked(None, told("fsn1", "lb41")), ["spec.controlPlaneLoadBalancer.type"]);
        assert_eq!(asked(Some(told("fsn1", "lb11")), told("sin", "lb31")), [""; 0]);
        assert_eq!(asked(Some(told("fsn2", "lb41")), told("fsn2", "lb41")), [""; 0], "it was there");
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
            refused(|spec, out| image(&new, spec, out))
        };
        assert_eq!(asked(json!({"imageName": "a", "imageURL": "b", "imageURLCommand": "c"})), ["spec.imageName"]);
        assert_eq!(asked(json!({})), ["spec.imageName"]);
        assert_eq!(asked(json!({"imageURL": "b"})), ["spec.imageURLCommand"]);
        assert_eq!(asked(json!({"imageName": "a", "imageURLCommand": "c"})), ["spec.imageURLCommand"]);
        assert_eq!(asked(json!({"imageName": "a"})), [""; 0]);
        assert_eq!(asked(json!({"imageURL": "b", "imageURLCommand": "c"})), [""; 0]);
    }
}
