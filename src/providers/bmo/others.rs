//! Mirror of what the operator's webhooks refuse about the kinds beside hosts. Read beside
//! `internal/webhooks/metal3.io/v1alpha1/{dataimage,hostfirmwarecomponents,bmceventsubscription,hostnetworkattachment}_validation.go`,
//! `bmceventsubscription_webhook.go` (ValidateUpdate) and `common_validation.go` (validateURL) of baremetal-operator 0.14; event
//! subscriptions have theirs since 0.10.

use super::changes::MORE_WEBHOOKS;
use super::claim;
use super::webhook::{is_source, is_used_to};
use crate::kinds::Webhook;
use crate::kinds::around::{Around, LookUp, Refuses};
use crate::kinds::fields::{list, text};
use crate::kinds::url::parse_request;
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::model::RuleId;
use crate::object::{Key, Path};
use crate::providers::metal3::HOST;
use crate::tree::Value;

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("bmo/other-rejected");

/// An image that is attached to a host as a drive.
pub(super) const DATA_IMAGE: &str = "DataImage";
/// Firmware that a host gets.
pub(super) const FIRMWARE: &str = "HostFirmwareComponents";
/// Where the management controller of a host sends what happens.
pub(super) const SUBSCRIPTION: &str = "BMCEventSubscription";
/// How the port of a switch is set that an interface is connected to.
pub(super) const ATTACHMENT: &str = "HostNetworkAttachment";
/// A host that somebody asks for.
pub(super) const CLAIM: &str = "HostClaim";

/// The webhooks of the kinds beside hosts; of some the schema alone is asked.
#[derive(Debug)]
pub(super) struct Others;

impl Webhook for Others {
    // The spec may be left out as a whole (`*_types.go`), and its schema is not asked then.
    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        let is_looked_at = write.versions.has(&MORE_WEBHOOKS);
        match write.kind_name() {
            DATA_IMAGE if is_looked_at => source(write, "/spec/url", &spec.key("url"), &mut out),
            FIRMWARE if is_looked_at => {
                for place in 0..list(write.new, "/spec/updates").count() {
                    let at = spec.key("updates").index(place).key("url");
                    source(write, &format!("/spec/updates/{place}/url"), &at, &mut out);
                }
            }
            CLAIM if is_looked_at => claim::refusals(write, &spec, &mut out),
            SUBSCRIPTION => match write.past() {
                None => subscribed(write, &spec, &mut out),
                Some(old) => resubscribed(old, write.new, &spec, &mut out),
            },
            ATTACHMENT if write.past().is_none_or(|old| is_other(old, write.new)) => {
                attached(write.new, &spec, &mut out);
            }
            _ => {}
        }
        out
    }

    fn looks_up(&self, write: &Write<'_>, around: &dyn Around) -> Vec<LookUp> {
        let is_other = write.past().is_some_and(|old| is_other(old, write.new));
        if write.kind_name() != ATTACHMENT || !is_other {
            return Vec::new();
        }
        vec![LookUp {
            found: around.look_up(HOST.0, HOST.1, &|key, host| refers(key, host, write.key)),
            refuses: Refuses::There,
            rule: RULE,
            path: Path::root().key("spec"),
            wanted: "a host with an interface that refers to it".to_owned(),
        }]
    }
}

/// Something is loaded from an address; one that was there under an unknown version is let through.
fn source(write: &Write<'_>, pointer: &str, at: &Path, out: &mut Vec<Refusal>) {
    let address = text(write.new, pointer).unwrap_or_default();
    if !is_source(address) && !is_used_to(write, pointer) {
        refuse(out, RULE, at, "", format!("{address:?} is no address of http, https, ftp, gopher or oci"));
    }
}

/// A new subscription says whose events go where.
fn subscribed(write: &Write<'_>, spec: &Path, out: &mut Vec<Refusal>) {
    let said = |pointer: &str| text(write.new, pointer).unwrap_or_default();
    if said("/spec/hostName").is_empty() {
        refuse(out, RULE, spec, "hostName", "a subscription names its host");
    }
    let namespace = write.key.namespace.as_deref().unwrap_or_default();
    if has_headers(write.new) && said("/spec/httpHeadersRef/namespace") != namespace {
        let message = "the Secret with the headers must say the namespace of the subscription";
        refuse(out, RULE, spec, "httpHeadersRef.namespace", message);
    }
    let destination = said("/spec/destination");
    if !parse_request(destination).is_some_and(|url| url.has_path) {
        refuse(
            out,
            RULE,
            spec,
            "destination",
            format!("{destination:?} is no address with a path, be it only a slash"),
        );
    }
}

/// Whether a subscription refers to headers.
fn has_headers(subscription: &Value) -> bool {
    subscription.pointer("/spec/httpHeadersRef").is_some_and(|reference| !reference.is_null())
}

/// A subscription stays as it is. One with headers takes no write at all: the webhook compares where they stand in memory.
fn resubscribed(old: &Value, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    for key in ["hostName", "destination", "context"] {
        let said = |side: &Value| text(side, &format!("/spec/{key}")).unwrap_or_default().to_owned();
        if said(old) != said(new) {
            refuse(out, RULE, spec, key, "a subscription cannot change; it has to be made again");
        }
    }
    if has_headers(old) || has_headers(new) {
        let message = "a subscription with headers takes no change, not even of its labels; it has to be made again";
        refuse(out, RULE, spec, "httpHeadersRef", message);
    }
}

/// Whether an attachment says something else; a list that is empty is none.
fn is_other(old: &Value, new: &Value) -> bool {
    let said = |side: &Value| {
        ["mode", "nativeVLAN", "mtu", "allowedVLANs"].map(|key| {
            let value = side.pointer(&format!("/spec/{key}")).cloned();
            value.filter(|value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()))
        })
    };
    said(old) != said(new)
}

/// The networks of an attachment (validateAttachment).
fn attached(attachment: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let all = || list(attachment, "/spec/allowedVLANs");
    if text(attachment, "/spec/mode") == Some("access") && all().next().is_some() {
        refuse(out, RULE, spec, "allowedVLANs", "with the mode access there is one network, nativeVLAN");
    }
    for (place, _) in all().enumerate().filter(|(_, entry)| !entry.as_str().is_some_and(is_networks)) {
        let at = spec.key("allowedVLANs").index(place);
        refuse(out, RULE, &at, "", "it must be a number from 1 to 4094, or a range that ends after it starts");
    }
}

/// Whether a text is a network or a range of them (parseVLANEntry).
fn is_networks(entry: &str) -> bool {
    let number = |text: &str| text.parse::<i64>().ok().filter(|number| (1..=4094).contains(number));
    match entry.split_once('-') {
        None => number(entry).is_some(),
        Some((start, end)) => number(start).zip(number(end)).is_some_and(|(start, end)| start < end),
    }
}

/// Whether an interface of a host refers to an attachment (findBMHReferences).
fn refers(key: &Key, host: &Value, attachment: &Key) -> bool {
    list(host, "/spec/networkInterfaces").any(|interface| {
        let said = |field: &str| text(interface, &format!("/hostNetworkAttachment/{field}")).unwrap_or_default();
        let namespace = Some(said("namespace")).filter(|namespace| !namespace.is_empty());
        said("name") == attachment.name && namespace.or(key.namespace.as_deref()) == attachment.namespace.as_deref()
    })
}

#[cfg(test)]
mod tests;
