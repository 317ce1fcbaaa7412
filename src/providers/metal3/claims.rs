//! Mirror of what the webhooks of Metal3's address manager refuse about claims of addresses and the addresses themselves.
//! Read beside `internal/webhooks/v1alpha1/ip{claim,address}_webhook.go` of ip-address-manager 1.14.

use super::addresses::{self, RULE};
use crate::kinds::Webhook;
use crate::kinds::fields::{annotation, text};
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::object::Path;
use crate::tree::Value;

/// The annotation by which somebody asks for an address.
const ASKED: &str = "ipAddress";

/// The webhook of claims.
#[derive(Debug)]
pub(super) struct Claims;

impl Webhook for Claims {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        match write.past() {
            Some(old) => stays(old, write.new, &["pool"], &mut out),
            None => named(write.new, &["pool"], &mut out),
        }
        asked(write.new, &mut out);
        out
    }
}

/// The webhook of addresses.
#[derive(Debug)]
pub(super) struct Given;

impl Webhook for Given {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        let said = |side: &Value| text(side, "/spec/address").unwrap_or_default().to_owned();
        match write.past() {
            Some(old) => {
                if said(old) != said(write.new) {
                    refuse(&mut out, RULE, &spec, "address", "it cannot change");
                }
                stays(old, write.new, &["pool", "claim"], &mut out);
            }
            None => {
                named(write.new, &["pool", "claim"], &mut out);
                if addresses::address(&said(write.new)).is_none() {
                    refuse(&mut out, RULE, &spec, "address", "it is no address");
                }
                asked(write.new, &mut out);
            }
        }
        out
    }
}

/// What is referred to has a name.
fn named(new: &Value, references: &[&str], out: &mut Vec<Refusal>) {
    let spec = Path::root().key("spec");
    for reference in references {
        if text(new, &format!("/spec/{reference}/name")).is_none_or(str::is_empty) {
            refuse(out, RULE, &spec.key(*reference), "name", "it is not said");
        }
    }
}

/// What is referred to stays.
fn stays(old: &Value, new: &Value, references: &[&str], out: &mut Vec<Refusal>) {
    let spec = Path::root().key("spec");
    for reference in references {
        let word =
            |side: &Value, key: &str| text(side, &format!("/spec/{reference}/{key}")).unwrap_or_default().to_owned();
        if ["name", "namespace", "kind"].iter().any(|key| word(old, key) != word(new, key)) {
            refuse(out, RULE, &spec, reference, "it cannot change");
        }
    }
}

/// The address that somebody asks for is one.
fn asked(new: &Value, out: &mut Vec<Refusal>) {
    let asked = annotation(new, ASKED).filter(|asked| !asked.is_empty());
    if asked.is_some_and(|asked| addresses::address(asked).is_none()) {
        let at = Path::root().key("metadata").key("annotations");
        refuse(out, RULE, &at, ASKED, "it is no address");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Key;
    use crate::providers::on_write;
    use crate::tree::json;

    fn refused(kind: &str, old: Option<&Value>, new: &Value) -> Vec<String> {
        let key = Key::new("ipam.metal3.io/v1alpha1", kind, Some("fleet"), "one");
        let refusals = on_write(&key, "ipam.metal3.io/v1alpha1", (old, new), |write| match kind {
            "IPClaim" => Claims.refusals(write),
            _ => Given.refusals(write),
        });
        refusals.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_claim_stays_with_its_pool() {
        let claim = |pool: &str, asked: &str| json!({"metadata": {"annotations": {"ipAddress": asked}}, "spec": {"pool": {"name": pool}}});
        let (one, other) = (claim("a", ""), claim("b", ""));
        assert_eq!(refused("IPClaim", None, &claim("a", "192.0.2.7")), [""; 0]);
        assert_eq!(refused("IPClaim", None, &claim("a", "x")), ["metadata.annotations.ipAddress"]);
        assert_eq!(refused("IPClaim", None, &claim("", "")), ["spec.pool.name"]);
        assert_eq!(refused("IPClaim", Some(&one), &one), [""; 0]);
        assert_eq!(refused("IPClaim", Some(&one), &other), ["spec.pool"]);
        assert_eq!(refused("IPClaim", Some(&one), &claim("a", "x")), ["metadata.annotations.ipAddress"]);
    }

    #[test]
    fn an_address_stays_what_it_is() {
        let given = |address: &str, claim: &str| json!({"spec": {"address": address, "pool": {"name": "a"}, "claim": {"name": claim}}});
        let one = given("192.0.2.7", "c");
        assert_eq!(refused("IPAddress", None, &one), [""; 0]);
        assert_eq!(refused("IPAddress", None, &given("x", "")), ["spec.claim.name", "spec.address"]);
        assert_eq!(refused("IPAddress", Some(&one), &one), [""; 0]);
        assert_eq!(refused("IPAddress", Some(&one), &given("192.0.2.8", "d")), ["spec.address", "spec.claim"]);
    }
}
