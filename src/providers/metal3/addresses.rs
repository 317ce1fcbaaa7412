//! Mirror of what the webhook of Metal3's address manager refuses about a pool of addresses. Which are in use the status of the pool
//! says. Read beside `internal/webhooks/v1alpha1/ippool_webhook.go` of ip-address-manager 1.14 and later (`checkPoolBounds`,
//! `isAddressInBounds`, `validatePoolRanges`); older ones ask a new pool for nothing.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::kinds::Webhook;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::{Map, Value};

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("m3ipam/rejected");

/// The webhook of pools of addresses.
#[derive(Debug)]
pub(super) struct Addresses;

impl Webhook for Addresses {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        servers(write.new.get("spec"), &spec, &mut out);
        for (place, pool) in list(write.new, "/spec/pools").enumerate() {
            let at = spec.key("pools").index(place);
            let known = out.len();
            servers(Some(pool), &at, &mut out);
            range(pool, &at, &mut out);
            if out.len() == known && text(write.new, "/spec/allocationStrategy") == Some("random") && !is_counted(pool)
            {
                refuse(
                    &mut out,
                    RULE,
                    &at,
                    "",
                    "addresses are drawn at random from a range with an end, and not too large",
                );
            }
        }
        reserved(write.new, &spec, &mut out);
        // `Allocations` of `api/v1alpha1/ippool_types.go` is called `indexes` in JSON.
        let allocations = |side: &Value| side.pointer("/status/indexes").and_then(Value::as_object).cloned();
        let in_use = write.live.or(write.past()).filter(|_| !write.is_new).and_then(allocations).unwrap_or_default();
        for address in texts(&in_use).map(|(_, address)| address).filter(|address| !holds(write.new, address)) {
            refuse(&mut out, RULE, &spec, "pools", format!("{address} is in use and lies in no range any more"));
        }
        out
    }
}

/// The gateway and the servers for names, of the pool or of one range.
fn servers(holder: Option<&Value>, at: &Path, out: &mut Vec<Refusal>) {
    let Some(holder) = holder else { return };
    let is_none = |told: &str| !told.is_empty() && address(told).is_none();
    if text(holder, "/gateway").is_some_and(is_none) {
        refuse(out, RULE, at, "gateway", "it is no address");
    }
    for (place, server) in list(holder, "/dnsServers").enumerate() {
        if server.as_str().is_some_and(is_none) {
            refuse(out, RULE, &at.key("dnsServers").index(place), "", "it is no address");
        }
    }
}

/// One range of a pool.
fn range(pool: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let ends = ["start", "end"].map(|key| (key, text(pool, &format!("/{key}"))));
    let subnet = text(pool, "/subnet");
    if ends.iter().all(|(_, address)| address.is_none()) && subnet.is_none() {
        refuse(out, RULE, at, "", "a range needs a start, an end or a subnet");
    }
    if subnet.is_some_and(|told| self::subnet(told).is_none()) {
        refuse(out, RULE, at, "subnet", "it is no range such as 192.0.2.0/24");
    }
    let [start, end] = ends.map(|(key, told)| {
        let parsed = told.and_then(address);
        if told.is_some() && parsed.is_none() {
            refuse(out, RULE, at, key, "it is no address");
        }
        parsed
    });
    if start.zip(end).is_some_and(|(start, end)| start > end) {
        refuse(out, RULE, at, "", "it ends before it starts");
    }
}

/// Whether the addresses of a range can be counted (`api/v1alpha1/utils.go` GetPoolSize).
fn is_counted(pool: &Value) -> bool {
    let end = |key: &str| text(pool, &format!("/{key}")).and_then(address);
    let subnet = text(pool, "/subnet").and_then(subnet);
    let (start, end, is_from_subnet) = match (end("start"), end("end"), subnet) {
        (Some(start), Some(end), _) => (start, end, false),
        (Some(start), None, Some(subnet)) => (start, subnet.broadcast(), false),
        (None, _, Some(subnet)) => (subnet.network(), subnet.broadcast(), true),
        _ => return false,
    };
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_ipv6_mapped()),
        IpAddr::V6(address) => u128::from(address),
    };
    // The address of the subnet itself is not given out.
    let last = i128::from(i64::MAX).unsigned_abs() - u128::from(!is_from_subnet);
    number(end).checked_sub(number(start)).is_some_and(|difference| difference <= last)
}

/// Addresses that are kept for claims by their name.
fn reserved(pool: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let Some(Value::Object(reserved)) = pool.pointer("/spec/preAllocations") else { return };
    let mut seen = BTreeSet::new();
    for (claim, told) in texts(reserved) {
        let at = spec.key("preAllocations").key(claim);
        match address(told) {
            Some(parsed) if !seen.insert(parsed) => refuse(out, RULE, &at, "", "another claim has it already"),
            _ if !holds(pool, told) => refuse(out, RULE, &at, "", "it lies in no range of the pool"),
            _ => {}
        }
    }
}

/// An address as Go reads it (`net.ParseIP`): one of IPv4 may be written as one of IPv6.
pub(super) fn address(told: &str) -> Option<IpAddr> {
    told.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// A range as Go reads it (`net.ParseCIDR`): its length may begin with zeros.
fn subnet(told: &str) -> Option<IpNet> {
    let (start, length) = told.split_once('/')?;
    let length = length.bytes().all(|digit| digit.is_ascii_digit()).then(|| length.parse().ok())??;
    IpNet::new(start.parse().ok()?, length).ok()
}

/// The texts of a map.
fn texts(map: &Map) -> impl Iterator<Item = (&str, &str)> {
    map.iter().filter_map(|(key, value)| Some((key.as_ref(), value.as_str()?)))
}

/// Whether an address lies in one of the ranges of a pool.
fn holds(pool: &Value, told: &str) -> bool {
    let Some(address) = address(told) else { return false };
    list(pool, "/spec/pools").any(|pool| {
        let at = |key: &str| text(pool, &format!("/{key}"));
        let is_said = ["start", "end", "subnet"].iter().any(|key| at(key).is_some());
        let end =
            |key: &str, fits: &dyn Fn(IpAddr) -> bool| at(key).is_none_or(|end| self::address(end).is_some_and(fits));
        let is_in = |told: &str| subnet(told).is_some_and(|subnet| subnet.contains(&address));
        is_said
            && end("start", &|start| start <= address)
            && end("end", &|end| address <= end)
            && at("subnet").is_none_or(is_in)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Key;
    use crate::providers::{on_write, recorded};
    use crate::tree::json;

    /// The places that refuse a write.
    fn refused(old: Option<Value>, new: Value) -> Vec<String> {
        let key = Key::new("ipam.metal3.io/v1alpha1", "IPPool", Some("fleet"), "pool");
        let sides = (old.as_ref(), &new);
        let refusals = on_write(&key, "ipam.metal3.io/v1alpha1", sides, |write| Addresses.refusals(write));
        refusals.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    fn pool(start: &str, end: &str) -> Value {
        json!({"spec": {"pools": [{"start": start, "end": end}]}})
    }

    #[test]
    fn an_address_in_use_stays_in_the_pool() {
        let mut old = pool("192.0.2.10", "192.0.2.50");
        old["status"] = json!({"indexes": {"claim": "192.0.2.40"}});
        assert_eq!(refused(Some(old.clone()), pool("192.0.2.10", "192.0.2.30")), ["spec.pools"]);
        assert_eq!(refused(Some(old.clone()), pool("192.0.2.40", "192.0.2.90")), [""; 0]);
        assert_eq!(refused(None, pool("192.0.2.10", "192.0.2.30")), [""; 0]);
        let subnet = |range: &str| json!({"spec": {"pools": [{"subnet": range}]}});
        assert_eq!(refused(Some(old.clone()), subnet("192.0.2.0/24")), [""; 0]);
        assert_eq!(refused(Some(old), subnet("192.0.2.0/28")), ["spec.pools"]);
    }

    #[test]
    fn a_reserved_address_lies_in_the_pool_and_is_kept_once() {
        let with = |reserved: Value| {
            let mut pool = pool("192.0.2.10", "192.0.2.50");
            pool["spec"]["preAllocations"] = reserved;
            pool
        };
        assert_eq!(refused(None, with(json!({"a": "192.0.2.10", "b": "192.0.2.50"}))), [""; 0]);
        assert_eq!(refused(None, with(json!({"a": "192.0.2.51"}))), ["spec.preAllocations.a"]);
        assert_eq!(refused(None, with(json!({"a": "192.0.2.11", "b": "192.0.2.11"}))), ["spec.preAllocations.b"]);
    }

    #[test]
    fn addresses_drawn_at_random_are_counted() {
        let with = |strategy: &str, pool: Value| {
            refused(None, json!({"spec": {"allocationStrategy": strategy, "pools": [pool]}}))
        };
        let large = json!({"subnet": "2001:db8::/64"});
        assert_eq!(with("random", large.clone()), ["spec.pools[0]"]);
        assert_eq!(with("sequential", large), [""; 0]);
        for fine in [
            json!({"subnet": "192.0.2.0/24"}),
            json!({"start": "192.0.2.9", "end": "192.0.2.20"}),
            json!({"start": "192.0.2.9", "subnet": "192.0.2.0/24"}),
            json!({"subnet": "2001:db8::/65"}),
        ] {
            assert_eq!(with("random", fine), [""; 0]);
        }
        for refused in [
            json!({"start": "192.0.2.9"}),
            json!({"end": "192.0.2.9"}),
            json!({"start": "192.0.3.1", "subnet": "192.0.2.0/24"}),
        ] {
            assert_eq!(with("random", refused), ["spec.pools[0]"]);
        }
    }

    #[test]
    fn ranges_and_servers_are_addresses() {
        let with = |pool: Value| json!({"spec": {"pools": [pool]}});
        assert_eq!(refused(None, with(json!({}))), ["spec.pools[0]"]);
        assert_eq!(refused(None, with(json!({"start": "192.0.2.9", "end": "192.0.2.8"}))), ["spec.pools[0]"]);
        assert_eq!(refused(None, with(json!({"subnet": "192.0.2.0"}))), ["spec.pools[0].subnet"]);
        assert_eq!(refused(None, with(json!({"start": "x"}))), ["spec.pools[0].start"]);
        let server = json!({"subnet": "192.0.2.0/24", "dnsServers": ["192.0.2.1", "ns"]});
        assert_eq!(refused(None, with(server)), ["spec.pools[0].dnsServers[1]"]);
        assert_eq!(refused(None, json!({"spec": {"gateway": "gw", "pools": []}})), ["spec.gateway"]);
    }

    /// What the webhooks of 1.14 said; another strategy and another prefix of names are the pack's to judge.
    #[test]
    fn recorded_answers_are_those_of_the_webhooks() {
        let fixed = |pool: &Value| {
            ["namePrefix", "allocationStrategy"].map(|key| pool.pointer(&format!("/spec/{key}")).cloned())
        };
        let (asked, others) = recorded::others("addresses.jsonl", &["1.14"], |_, kind, old, new| {
            let [namespace, name] = ["/metadata/namespace", "/metadata/name"].map(|at| text(new, at));
            let key = Key::new("ipam.metal3.io/v1alpha1", kind, namespace, name.unwrap_or_default());
            let webhook = crate::providers::kind(&key).webhook?;
            let is_same = old.is_none_or(|old| fixed(old) == fixed(new));
            let refusals = on_write(&key, "ipam.metal3.io/v1alpha1", (old, new), |write| webhook.refusals(write));
            is_same.then(|| refusals.into_iter().map(|refusal| refusal.path.to_string()).collect())
        });
        assert!(asked > 900, "{asked}");
        assert!(others.is_empty(), "{} of {asked} are answered otherwise:\n{}", others.len(), others.join("\n"));
    }
}
