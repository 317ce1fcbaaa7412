//! Mirror of what the webhooks of the bare metal provider fill in and refuse about remediations and the data of hosts.
//! Read beside `api/v1beta1/metal3{remediation,remediationtemplate,data,dataclaim}_webhook.go` of cluster-api-provider-metal3 1.10,
//! and `internal/webhooks/v1beta2/metal3datatemplate_webhook.go` (validate) of 1.13.

use super::DATA_TEMPLATE;
use super::changes::{DATA_NAME, POOL_ANNOTATION, TEMPLATES_HERE, V1BETA2};
use super::webhook::RULE;
use crate::kinds::Versions;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::{Path, go_seconds};
use crate::tree::{Value, json};

/// Seconds that a remediation waits at least between two tries.
const LEAST_SECONDS: i64 = 100;

/// Fills in a template of remediations; v1beta2 says its time in seconds.
pub(super) fn fill_in(kind: &str, api_version: &str, object: &mut Value) {
    let strategy = object.pointer_mut("/spec/template/spec/strategy").and_then(Value::as_object_mut);
    let Some(strategy) = strategy.filter(|_| kind == "Metal3RemediationTemplate") else { return };
    if strategy.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        strategy.insert("type".to_owned(), json!("Reboot"));
    }
    if api_version.ends_with("v1beta2") {
        if strategy.get("timeoutSeconds").and_then(Value::as_i64).unwrap_or(0) == 0 {
            strategy.insert("timeoutSeconds".to_owned(), json!(600));
        }
    } else if strategy.get("timeout").is_none_or(Value::is_null) {
        strategy.insert("timeout".to_owned(), json!("10m0s"));
    }
    if strategy.get("retryLimit").and_then(Value::as_i64).unwrap_or(0) < 1 {
        strategy.insert("retryLimit".to_owned(), json!(1));
    }
}

/// What is refused about an object of a kind under an `apiVersion`; the old side is `None` where it is new.
pub(super) fn refusals(
    word: (&str, &str),
    old: Option<&Value>,
    new: &Value,
    versions: &Versions,
    out: &mut Vec<Refusal>,
) {
    let spec = Path::root().key("spec");
    match (word.0, old) {
        // Since 1.13 one without a strategy is let through, but not as a template.
        ("Metal3Remediation", _) if versions.has(&V1BETA2) && new.pointer("/spec/strategy").is_none() => {}
        ("Metal3Remediation", _) => remediation(new.get("spec"), &spec, out),
        ("Metal3RemediationTemplate", _) => {
            remediation(new.pointer("/spec/template/spec"), &spec.key("template").key("spec"), out);
        }
        (DATA_TEMPLATE, None) => data_template(new, &spec, versions, out),
        ("Metal3Data", None) => data(new, word.1, &spec, versions, out),
        ("Metal3Data", Some(old)) => {
            let index = |side: &Value| side.pointer("/spec/index").and_then(Value::as_i64).unwrap_or(0);
            if index(old) != index(new) {
                refuse(out, RULE, &spec, "index", "it cannot change");
            }
            references(old, new, &["template", "claim"], &spec, out);
        }
        ("Metal3DataClaim", _) => claim(old, new, &spec, versions, out),
        _ => {}
    }
}

/// A claim names its template, stays with it, and takes none of another namespace.
fn claim(old: Option<&Value>, new: &Value, spec: &Path, versions: &Versions, out: &mut Vec<Refusal>) {
    match old {
        None if text(new, "/spec/template/name").is_none() => {
            refuse(out, RULE, spec, "template.name", "a claim names its template");
        }
        None => {}
        Some(old) => references(old, new, &["template"], spec, out),
    }
    let namespace = text(new, "/spec/template/namespace").filter(|namespace| !namespace.is_empty());
    if versions.has(&TEMPLATES_HERE) && namespace.is_some() && namespace != text(new, "/metadata/namespace") {
        refuse(out, RULE, spec, "template.namespace", "the template must be in the namespace of the claim");
    }
}

/// How a host is remediated.
fn remediation(spec: Option<&Value>, at: &Path, out: &mut Vec<Refusal>) {
    let strategy = spec.and_then(|spec| spec.get("strategy")).filter(|strategy| strategy.is_object());
    let Some(strategy) = strategy else {
        refuse(out, RULE, at, "strategy", "the webhook fails where there is none");
        return;
    };
    let at = at.key("strategy");
    if text(strategy, "/type") != Some("Reboot") {
        refuse(out, RULE, &at, "type", "it must be Reboot");
    }
    let timeout = strategy.get("timeout").and_then(Value::as_str);
    if timeout.is_some_and(|told| go_seconds(told).is_none_or(|seconds| seconds < LEAST_SECONDS)) {
        refuse(out, RULE, &at, "timeout", "it must be a duration of at least 100s");
    }
    let seconds = strategy.get("timeoutSeconds").and_then(Value::as_i64);
    if seconds.is_some_and(|seconds| seconds != 0 && seconds < LEAST_SECONDS) {
        refuse(out, RULE, &at, "timeoutSeconds", "it must be at least 100");
    }
    if strategy.get("retryLimit").and_then(Value::as_i64).unwrap_or(0) < 1 {
        refuse(out, RULE, &at, "retryLimit", "it is at least 1");
    }
}

/// The data of a host is called as its template, and counted. One of v1beta2 is called as it likes where it does not say both.
fn data(new: &Value, api_version: &str, at: &Path, versions: &Versions, out: &mut Vec<Refusal>) {
    let index = new.pointer("/spec/index").and_then(Value::as_i64).unwrap_or(0);
    if index < 0 {
        refuse(out, RULE, at, "index", "it is not below 0");
    }
    let says_both = ["/spec/template/name", "/spec/index"].iter().all(|said| new.pointer(said).is_some());
    if api_version.ends_with("v1beta2") && !says_both {
        return;
    }
    let reference = text(new, "/spec/templateReference").filter(|_| !versions.has(&DATA_NAME));
    let template = reference.or_else(|| text(new, "/spec/template/name")).unwrap_or_default();
    if text(new, "/metadata/name") != Some(&format!("{template}-{index}")) {
        let message = "it must be the name of the template, - and the index";
        refuse(out, RULE, &Path::root().key("metadata"), "name", message);
    }
}

/// Where a new template takes addresses and names from; one that is there is not asked again.
fn data_template(new: &Value, spec: &Path, versions: &Versions, out: &mut Vec<Refusal>) {
    let word = |item: &Value, pointer: &str| text(item, pointer).is_some_and(|word| !word.is_empty());
    for family in ["ipv4", "ipv6"] {
        for (place, network) in list(new, &format!("/spec/networkData/networks/{family}")).enumerate() {
            let is_noted = versions.has(&POOL_ANNOTATION) && word(network, "/fromPoolAnnotation/object");
            if !is_noted && !word(network, "/fromPoolRef/name") && !word(network, "/ipAddressFromIPPool") {
                let at = spec.key("networkData").key("networks").key(family).index(place);
                refuse(out, RULE, &at, "", "a network needs a pool of addresses (fromPoolRef)");
            }
        }
    }
    if !versions.has(&V1BETA2) {
        return;
    }
    for (place, interface) in list(new, "/spec/metaData/fromHostInterfaces").enumerate() {
        let is_boot = interface.get("fromBootMAC").and_then(Value::as_bool) == Some(true);
        if is_boot == word(interface, "/interface") {
            let at = spec.key("metaData").key("fromHostInterfaces").index(place);
            refuse(
                out,
                RULE,
                &at,
                "",
                "it names its interface, or takes the one that the host boots from (fromBootMAC)",
            );
        }
    }
}

/// References that stay.
fn references(old: &Value, new: &Value, names: &[&str], at: &Path, out: &mut Vec<Refusal>) {
    for name in names {
        let word = |side: &Value, key: &str| text(side, &format!("/spec/{name}/{key}")).map(str::to_owned);
        if ["name", "namespace", "kind"].into_iter().any(|key| word(old, key) != word(new, key)) {
            refuse(out, RULE, at, name, "it cannot change");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, old: Option<Value>, new: Value) -> Vec<String> {
        told_by(kind, old, new, "v1.13.0")
    }

    fn told_by(kind: &str, old: Option<Value>, new: Value, version: &str) -> Vec<String> {
        let mut new = new;
        fill_in(kind, "v1beta1", &mut new);
        let mut out = Vec::new();
        refusals((kind, "v1beta1"), old.as_ref(), &new, &Versions::told("metal3", version), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_remediation_reboots_in_time() {
        let one = |strategy: Value| told("Metal3Remediation", None, json!({"spec": {"strategy": strategy}}));
        assert_eq!(one(json!({"type": "Reboot", "retryLimit": 1, "timeout": "100s"})), [""; 0]);
        assert_eq!(one(json!({"type": "Reboot", "retryLimit": 1, "timeout": "99s"})), ["spec.strategy.timeout"]);
        assert_eq!(one(json!({"timeout": "100s"})).len(), 2);
        assert_eq!(told("Metal3Remediation", None, json!({"spec": {}})), [""; 0]);
        assert_eq!(told_by("Metal3Remediation", None, json!({"spec": {}}), "v1.12.0"), ["spec.strategy"]);
        let template = |strategy: Value| {
            told("Metal3RemediationTemplate", None, json!({"spec": {"template": {"spec": {"strategy": strategy}}}}))
                .len()
        };
        assert_eq!(
            (template(json!({})), template(json!({"type": "Other"})), template(json!({"timeout": "1s"}))),
            (0, 1, 1)
        );
    }

    #[test]
    fn a_new_template_says_where_addresses_come_from() {
        let network = |more: Value| {
            let mut one = json!({"id": "a", "link": "eth0"});
            more.as_object().expect("a map").iter().for_each(|(key, value)| one[key] = value.clone());
            json!({"spec": {"networkData": {"networks": {"ipv4": [one]}}}})
        };
        let new = |template: Value| told(DATA_TEMPLATE, None, template);
        assert_eq!(new(network(json!({}))), ["spec.networkData.networks.ipv4[0]"]);
        for pool in [
            json!({"ipAddressFromIPPool": "a"}),
            json!({"fromPoolRef": {"name": "a"}}),
            json!({"fromPoolAnnotation": {"object": "machine", "annotation": "a"}}),
        ] {
            assert_eq!(new(network(pool)), [""; 0]);
        }
        let bare = network(json!({}));
        assert_eq!(told(DATA_TEMPLATE, Some(bare.clone()), bare), [""; 0], "one that is there is not asked");
        let interface = |one: Value| new(json!({"spec": {"metaData": {"fromHostInterfaces": [one]}}})).len();
        assert_eq!(interface(json!({"key": "a", "interface": "eth0"})), 0);
        assert_eq!(interface(json!({"key": "a", "fromBootMAC": true})), 0);
        assert_eq!(interface(json!({"key": "a", "interface": "eth0", "fromBootMAC": true})), 1);
        assert_eq!(interface(json!({"key": "a"})), 1);
    }

    #[test]
    fn data_keep_their_place() {
        let data = |name: &str, index: i64| json!({"metadata": {"name": name}, "spec": {"index": index, "template": {"name": "t"}}});
        assert_eq!(told("Metal3Data", None, data("t-1", 1)), [""; 0]);
        assert_eq!(told("Metal3Data", None, data("t-2", 1)), ["metadata.name"]);
        assert_eq!(told("Metal3Data", Some(data("t-1", 1)), data("t-1", 2)), ["spec.index"]);
        let claim = |name: &str| json!({"spec": {"template": {"name": name}}});
        assert_eq!(told("Metal3DataClaim", None, claim("")), ["spec.template.name"]);
        assert_eq!(told("Metal3DataClaim", Some(claim("a")), claim("a")), [""; 0]);
        assert_eq!(told("Metal3DataClaim", Some(claim("a")), claim("b")), ["spec.template"]);
    }

    #[test]
    fn data_are_called_as_the_template_of_their_version() {
        let data = json!({"metadata": {"name": "old-1"},
            "spec": {"index": 1, "templateReference": "old", "template": {"name": "new"}}});
        assert_eq!(told_by("Metal3Data", None, data.clone(), "v1.10.1"), [""; 0]);
        assert_eq!(told_by("Metal3Data", None, data, "v1.11.0"), ["metadata.name"]);
    }

    #[test]
    fn a_claim_stays_in_its_namespace() {
        let claim = |namespace: &str| json!({"metadata": {"namespace": "fleet"}, "spec": {"template": {"name": "a", "namespace": namespace}}});
        for fine in ["", "fleet"] {
            assert_eq!(told("Metal3DataClaim", None, claim(fine)), [""; 0]);
        }
        let other = claim("other");
        assert_eq!(told("Metal3DataClaim", None, other.clone()), ["spec.template.namespace"]);
        assert_eq!(told("Metal3DataClaim", Some(other.clone()), other.clone()), ["spec.template.namespace"]);
        assert_eq!(told_by("Metal3DataClaim", None, other, "v1.11.0"), [""; 0]);
    }
}
