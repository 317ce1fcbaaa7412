//! Mirror of what the webhooks of the `CloudStack` provider refuse beside what they compare as a whole.
//! Read beside `api/v1beta3/cloudstack{cluster,machine}_webhook.go` of cluster-api-provider-cloudstack 0.6.

use crate::kinds::Webhook;
use crate::kinds::as_go::{blank, list_of};
use crate::kinds::fields::{child, list, text};
use crate::kinds::labels::is_subdomain;
use crate::kinds::webhook::{Refusal, Write, Written, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::{Map, Value, json};

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("capc/rejected");

/// What must stay of a failure domain as long as it is there (`FailureDomainsEqual`).
const KEPT: &[&str] = &[
    "/acsEndpoint/name",
    "/acsEndpoint/namespace",
    "/account",
    "/domain",
    "/zone/name",
    "/zone/id",
    "/zone/network/name",
    "/zone/network/id",
    "/zone/network/type",
];

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct CloudStack;

impl Webhook for CloudStack {
    /// Its mutating webhooks fill in nothing, but hand back what Go has: names that say nothing, and blocks with nothing in them.
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        let content = match written.key.kind.as_str() {
            "CloudStackMachineTemplate" => object.pointer_mut("/spec/template/spec"),
            _ => object.get_mut("spec"),
        };
        let Some(spec) = content.and_then(Value::as_object_mut) else { return };
        match written.key.kind.as_str() {
            "CloudStackCluster" => cluster_as_go(spec),
            "CloudStackMachine" | "CloudStackMachineTemplate" => machine_as_go(spec),
            _ => {}
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        match (write.kind_name(), write.past()) {
            ("CloudStackCluster", Some(old)) => cluster(old, write.new, &spec, &mut out),
            // Older versions have other fields, of which the conversion makes failure domains.
            ("CloudStackCluster", None) if write.api_version.ends_with("/v1beta3") => {
                new_cluster(write.new, &spec, &mut out);
            }
            ("CloudStackMachine", past) => {
                if past.is_none() {
                    needs(write.new, "/spec", &spec, &mut out);
                }
                details(past, write.new, "/spec/details", &spec, &mut out);
                let size = write.new.pointer("/spec/diskOffering/customSizeInGB").and_then(Value::as_i64);
                if size.is_some_and(|size| size < 0) {
                    refuse(&mut out, RULE, &spec, "diskOffering.customSizeInGB", "a size cannot be negative");
                }
            }
            ("CloudStackMachineTemplate", None) => template(write.new, &spec.key("template").key("spec"), &mut out),
            ("CloudStackMachineTemplate", past) => {
                let at = spec.key("template").key("spec");
                details(past, write.new, "/spec/template/spec/details", &at, &mut out);
            }
            _ => {}
        }
        out
    }
}

fn cluster_as_go(spec: &mut Map) {
    let endpoint = child(spec, "controlPlaneEndpoint");
    blank(endpoint, "host", json!(""));
    blank(endpoint, "port", json!(0));
    for domain in list_of(spec, "failureDomains") {
        blank(domain, "name", json!(""));
        child(domain, "acsEndpoint");
        blank(child(child(domain, "zone"), "network"), "name", json!(""));
    }
}

fn machine_as_go(spec: &mut Map) {
    blank(spec, "sshKey", json!(""));
    child(spec, "offering");
    child(spec, "template");
    let disk = child(spec, "diskOffering");
    blank(disk, "customSizeInGB", json!(0));
    for key in ["mountPath", "device", "filesystem", "label"] {
        blank(disk, key, json!(""));
    }
    for network in list_of(spec, "networks") {
        blank(network, "name", json!(""));
    }
}

/// Every entry of the details counts, also one that says nothing.
fn details(old: Option<&Value>, new: &Value, pointer: &str, at: &Path, out: &mut Vec<Refusal>) {
    let told =
        |side: &Value| side.pointer(pointer).and_then(Value::as_object).filter(|details| !details.is_empty()).cloned();
    if old.is_some_and(|old| told(old) != told(new)) {
        refuse(out, RULE, at, "details", "the details cannot change");
    }
}

/// What a cluster cannot change: failure domains that stay, all of them at once, and an endpoint that is known.
fn cluster(old: &Value, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let told = |domain: &Value, pointer: &str| text(domain, pointer).unwrap_or_default().to_owned();
    let mut one_stays = false;
    for before in list(old, "/spec/failureDomains") {
        let name = told(before, "/name");
        // A name that stands there twice means the last one.
        let places = list(new, "/spec/failureDomains").enumerate();
        let Some((place, after)) = places.filter(|(_, after)| told(after, "/name") == name).last() else { continue };
        one_stays = true;
        for pointer in KEPT.iter().filter(|pointer| told(before, pointer) != told(after, pointer)) {
            let below = format!("failureDomains[{place}]{}", pointer.replace('/', "."));
            refuse(out, RULE, spec, &below, "a failure domain cannot change while it is there");
        }
    }
    if !one_stays {
        refuse(out, RULE, spec, "failureDomains", "one failure domain must stay as it is");
    }
    let host = |side: &Value| told(side, "/spec/controlPlaneEndpoint/host");
    if host(old).is_empty() {
        return;
    }
    let port = |side: &Value| side.pointer("/spec/controlPlaneEndpoint/port").and_then(Value::as_i64).unwrap_or(0);
    if host(old) != host(new) {
        refuse(out, RULE, spec, "controlPlaneEndpoint.host", "the endpoint cannot change once it is known");
    }
    if port(old) != port(new) {
        refuse(out, RULE, spec, "controlPlaneEndpoint.port", "the endpoint cannot change once it is known");
    }
}

/// What a new template must have.
fn template(new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let told = |pointer: &str| text(new, &format!("/spec/template/spec{pointer}")).unwrap_or_default();
    let affinity = told("/affinity").to_lowercase();
    if !matches!(affinity.as_str(), "" | "no" | "pro" | "anti") {
        refuse(out, RULE, at, "affinity", "it is no, pro or anti");
    }
    if !matches!(affinity.as_str(), "" | "no") && list(new, "/spec/template/spec/affinityGroupIDs").next().is_some() {
        refuse(out, RULE, at, "affinityGroupIDs", "groups of one's own exclude an affinity");
    }
    needs(new, "/spec/template/spec", at, out);
}

/// What a new machine is made with.
fn needs(new: &Value, pointer: &str, at: &Path, out: &mut Vec<Refusal>) {
    for block in ["offering", "template"] {
        if ["id", "name"].iter().all(|field| text(new, &format!("{pointer}/{block}/{field}")).is_none()) {
            refuse(out, RULE, at, block, "it needs an id or a name");
        }
    }
}

/// What a new cluster must have: failure domains with a name, a network and an endpoint (ValidateCreate).
fn new_cluster(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let mut is_empty = true;
    for (place, domain) in list(new, "/spec/failureDomains").enumerate() {
        is_empty = false;
        let mut lacks = |field: &str, why: &str| {
            refuse(out, RULE, spec, &format!("failureDomains[{place}].{field}"), why);
        };
        if !is_subdomain(text(domain, "/name").unwrap_or_default()) {
            lacks("name", "it must be a name in small letters, digits, - and .");
        }
        if ["name", "id"].iter().all(|field| text(domain, &format!("/zone/network/{field}")).is_none()) {
            lacks("zone.network", "it needs an id or a name");
        }
        if ["name", "namespace"].iter().any(|field| text(domain, &format!("/acsEndpoint/{field}")).is_none()) {
            lacks("acsEndpoint", "it needs a name and a namespace");
        }
    }
    if is_empty {
        refuse(out, RULE, spec, "failureDomains", "a cluster needs a failure domain");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(old: Value, new: Value) -> Vec<String> {
        let mut out = Vec::new();
        cluster(&json!({"spec": old}), &json!({"spec": new}), &Path::root().key("spec"), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn one_failure_domain_stays_and_those_that_stay_do_not_change() {
        let domain = |name: &str, zone: &str| json!({"name": name, "zone": {"name": zone}});
        let told = |domains: Value| json!({"failureDomains": domains});
        let two = told(json!([domain("a", "x"), domain("b", "y")]));
        assert_eq!(refused(two.clone(), told(json!([domain("a", "x")]))), [""; 0]);
        assert_eq!(refused(two.clone(), told(json!([domain("c", "x")]))), ["spec.failureDomains"]);
        assert_eq!(refused(two, told(json!([domain("a", "z")]))), ["spec.failureDomains[0].zone.name"]);
    }

    #[test]
    fn a_new_cluster_has_failure_domains() {
        let refused = |domains: Value| {
            let mut out = Vec::new();
            new_cluster(&json!({"spec": {"failureDomains": domains}}), &Path::root().key("spec"), &mut out);
            out.into_iter().map(|refusal| refusal.path.to_string()).collect::<Vec<_>>()
        };
        let domain = |name: &str, network: Value| {
            let endpoint = json!({"name": "s", "namespace": "d"});
            json!({"name": name, "zone": {"name": "z", "network": network}, "acsEndpoint": endpoint})
        };
        assert_eq!(refused(json!([])), ["spec.failureDomains"]);
        assert_eq!(refused(json!([domain("FD_1", json!({"id": "n"}))])), ["spec.failureDomains[0].name"]);
        assert_eq!(refused(json!([domain("a", json!({}))])), ["spec.failureDomains[0].zone.network"]);
        assert_eq!(refused(json!([domain("a.b", json!({"name": "n"}))])), [""; 0]);
    }

    #[test]
    fn a_new_machine_has_an_offering_and_a_template() {
        let refused = |spec: Value| {
            let mut out = Vec::new();
            needs(&json!({ "spec": spec }), "/spec", &Path::root().key("spec"), &mut out);
            out.into_iter().map(|refusal| refusal.path.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(refused(json!({"offering": {}, "template": {"name": "t"}})), ["spec.offering"]);
        assert_eq!(refused(json!({"offering": {"id": "o"}, "template": {"name": "t"}})), [""; 0]);
    }

    #[test]
    fn an_endpoint_comes_once() {
        let told = |host: &str, port: i64| json!({"failureDomains": [{"name": "a"}], "controlPlaneEndpoint": {"host": host, "port": port}});
        assert_eq!(refused(told("", 6443), told("10.0.0.5", 6444)), [""; 0]);
        assert_eq!(
            refused(told("10.0.0.5", 6443), told("10.0.0.6", 6444)),
            ["spec.controlPlaneEndpoint.host", "spec.controlPlaneEndpoint.port"]
        );
    }
}
