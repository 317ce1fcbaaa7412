//! What the webhooks of the kinds beside hosts refuse, and what they look for.

use super::*;
use crate::kinds::Versions;
use crate::kinds::around::{self, LookedUp};
use crate::providers::{on_write, recorded};
use crate::tree::json;

/// A cluster with these hosts.
struct Hosts(Vec<Value>);

impl Around for Hosts {
    fn look_up(&self, _group: &str, _kind: &str, wanted: &dyn Fn(&Key, &Value) -> bool) -> LookedUp {
        let key = |host: &Value| {
            let [namespace, name] = ["/metadata/namespace", "/metadata/name"].map(|at| text(host, at));
            Key::new("metal3.io/v1alpha1", HOST.1, namespace, name.unwrap_or_default())
        };
        if self.0.iter().any(|host| wanted(&key(host), host)) { LookedUp::There } else { LookedUp::Missing }
    }
}

/// The places that refuse a write under a version, beside these hosts.
fn refused_beside(version: &str, name: &str, sides: (Option<&Value>, &Value), hosts: &[Value]) -> Vec<String> {
    let (old, new) = sides;
    let [namespace, own] = ["/metadata/namespace", "/metadata/name"].map(|at| text(new, at));
    let key = Key::new("metal3.io/v1alpha1", name, namespace.or(Some("fleet")), own.unwrap_or("one"));
    let versions = match version {
        "" => Versions::told("metal3", "v1.13.0"),
        told => Versions::told("baremetal-operator", &format!("v{told}.0")),
    };
    let refusals = on_write(&key, "metal3.io/v1alpha1", (old, new), |write| {
        let write = Write { versions: &versions, ..*write };
        let out = Others.refusals(&write);
        // What is found is asked last.
        if out.is_empty() { around::outcome(Others.looks_up(&write, &Hosts(hosts.to_vec()))).0 } else { out }
    });
    refusals.into_iter().map(|refusal| refusal.path.to_string()).collect()
}

/// The places that refuse a spec under a version, with nothing around.
fn refused(version: &str, name: &str, old: Option<Value>, new: Value) -> Vec<String> {
    let whole = |spec: Value| json!({ "spec": spec });
    let (old, new) = (old.map(whole), whole(new));
    refused_beside(version, name, (old.as_ref(), &new), &[])
}

#[test]
fn something_is_loaded_from_an_address_that_is_known() {
    let image = |version: &str, address: &str| refused(version, DATA_IMAGE, None, json!({"url": address}));
    assert_eq!(image("0.14", "unix://localhost/x"), ["spec.url"]);
    assert_eq!(image("0.14", "https://images/x.iso"), [""; 0]);
    assert_eq!(image("0.13", "unix://localhost/x"), [""; 0], "there was no webhook yet");
    let firmware = |address: &str| {
        let updates =
            json!({"updates": [{"component": "bios", "url": "http://a/b"}, {"component": "bmc", "url": address}]});
        refused("0.14", FIRMWARE, None, updates)
    };
    assert_eq!(firmware("a/b"), ["spec.updates[1].url"]);
    assert_eq!(firmware("ftp://a/b"), [""; 0]);
    let old = json!({"url": "unix://localhost/x"});
    assert_eq!(refused("", DATA_IMAGE, Some(old.clone()), old.clone()), [""; 0], "it is there, so it was let through");
    assert_eq!(refused("0.14", DATA_IMAGE, Some(old.clone()), old), ["spec.url"]);
}

#[test]
fn a_subscription_says_where_events_go_and_stays() {
    let spec = |destination: &str| json!({"hostName": "host-0", "destination": destination});
    let new = |destination: &str| refused("0.10", SUBSCRIPTION, None, spec(destination));
    assert_eq!(new("http://localhost/"), [""; 0]);
    assert_eq!(new("http://localhost"), ["spec.destination"]);
    assert_eq!(new(""), ["spec.destination"]);
    let with = |namespace: &str| {
        let mut told = spec("http://localhost/");
        told["httpHeadersRef"] = json!({"name": "headers", "namespace": namespace});
        told
    };
    assert_eq!(refused("0.14", SUBSCRIPTION, None, with("fleet")), [""; 0]);
    assert_eq!(refused("0.14", SUBSCRIPTION, None, with("other")), ["spec.httpHeadersRef.namespace"]);
    let change = |old: Value, new: Value| refused("0.14", SUBSCRIPTION, Some(old), new);
    assert_eq!(change(spec("http://localhost/"), spec("http://localhost/")), [""; 0]);
    assert_eq!(change(spec("http://localhost/"), spec("http://localhost/a")), ["spec.destination"]);
    assert_eq!(change(with("fleet"), with("fleet")), ["spec.httpHeadersRef"]);
}

#[test]
fn an_attachment_that_a_host_refers_to_stays() {
    let spec = |mode: &str, networks: Value| json!({"mode": mode, "nativeVLAN": 1, "allowedVLANs": networks});
    let new = |mode: &str, networks: Value| refused("0.14", ATTACHMENT, None, spec(mode, networks));
    assert_eq!(new("trunk", json!(["5", "10-20"])), [""; 0]);
    assert_eq!(new("trunk", json!(["0", "20-10", "4095", "7-7"])).len(), 4);
    assert_eq!(new("access", json!(["5"])), ["spec.allowedVLANs"]);
    assert_eq!(new("access", json!([])), [""; 0]);
    let whole = |spec: Value| json!({ "spec": spec });
    let (old, other) = (whole(spec("trunk", json!(["5"]))), whole(spec("trunk", json!(["6"]))));
    let host = |namespace: &str, of: &str| {
        json!({"metadata": {"name": "host-0", "namespace": namespace},
            "spec": {"networkInterfaces": [{"name": "eth0", "hostNetworkAttachment": {"name": "one", "namespace": of}}]}})
    };
    let change = |new: &Value, host: Value| refused_beside("0.14", ATTACHMENT, (Some(&old), new), &[host]);
    assert_eq!(change(&other, host("fleet", "")), ["spec"]);
    assert_eq!(change(&other, host("elsewhere", "fleet")), ["spec"]);
    assert_eq!(change(&other, host("elsewhere", "")), [""; 0]);
    assert_eq!(change(&old, host("fleet", "")), [""; 0], "nothing of it changes");
    let bad = whole(spec("access", json!(["5"])));
    assert_eq!(refused_beside("0.14", ATTACHMENT, (Some(&bad), &bad), &[]), [""; 0], "what stays is not asked");
}

#[test]
fn a_claim_chooses_hosts_by_words_that_are_known() {
    let chosen = |selector: Value| refused("0.14", CLAIM, None, json!({"poweredOn": true, "hostSelector": selector}));
    let by = |operator: &str, values: Value| {
        chosen(json!({"matchExpressions": [{"key": "rack", "operator": operator, "values": values}]}))
    };
    for (operator, values) in [("=", json!(["a"])), ("in", json!(["a", "b"])), ("exists", json!([])), ("!", json!([]))]
    {
        assert_eq!(by(operator, values), [""; 0], "{operator}");
    }
    for (operator, values) in [("=", json!([])), ("in", json!([])), ("exists", json!(["a"])), ("notin", json!(["a b"]))]
    {
        assert_eq!(by(operator, values), ["spec.hostSelector.matchExpressions[0].values"], "{operator}");
    }
    assert_eq!(by("In", json!(["a"])), ["spec.hostSelector.matchExpressions[0].operator"]);
    assert_eq!(chosen(json!({"matchLabels": {"rack": "a"}})), [""; 0]);
    assert_eq!(chosen(json!({"matchLabels": {"rack": "a b"}})), ["spec.hostSelector.matchLabels.rack"]);
    let image = |image: Value| refused("0.14", CLAIM, None, json!({"poweredOn": true, "image": image}));
    assert_eq!(image(json!({"url": "http://a/b"})), ["spec.image.checksum"]);
    assert_eq!(image(json!({"url": "http://a/b", "checksum": "c"})), [""; 0]);
    assert_eq!(refused("0.13", CLAIM, None, json!({"image": {"url": "file:///a"}})), [""; 0]);
}

/// What the webhooks said of the kinds beside hosts. Before 0.14 only subscriptions have one.
#[test]
fn recorded_answers_are_those_of_the_webhooks() {
    let versions = ["0.10", "0.11", "0.12", "0.13", "0.14"];
    let (asked, others) = recorded::beside("hosts-others.jsonl", &versions, |version, line, old, new| {
        let name = text(line, "/kind").unwrap_or_default();
        // Attachments came with 0.14.
        if name == ATTACHMENT && version != "0.14" {
            return None;
        }
        let hosts: Vec<Value> = list(line, "/others").cloned().collect();
        Some(refused_beside(version, name, (old, new), &hosts))
    });
    assert!(asked > 1_000, "{asked}");
    assert!(others.is_empty(), "{} of {asked} are answered otherwise:\n{}", others.len(), others.join("\n"));
}
