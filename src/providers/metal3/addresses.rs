//! Mirror of what the webhook of Metal3's address manager refuses about a pool of addresses. Which are in use the status of the pool
//! says. Read beside `internal/webhooks/v1alpha1/ippool_webhook.go` of ip-address-manager 1.14 and later (`checkPoolBounds`,
//! `isAddressInBounds`, `validatePoolRanges`); older ones ask a new pool for nothing and let it go to another cluster.

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
        let name = |side: &Value| text(side, "/spec/clusterName").map(str::to_owned);
        if let Some(old) = write.past().and_then(name)
            && name(write.new).as_deref() != Some(old.as_str())
        {
            refuse(&mut out, RULE, &spec, "clusterName", format!("the pool stays with {old}"));
        }
        servers(write.new.get("spec"), &spec, &mut out);
        for (place, pool) in list(write.new, "/spec/pools").enumerate() {
            let at = spec.key("pools").index(place);
            servers(Some(pool), &at, &mut out);
            range(pool, &at, &mut out);
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
    let is_none = |address: &str| !address.is_empty() && address.parse::<IpAddr>().is_err();
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
    if subnet.is_some_and(|subnet| subnet.parse::<IpNet>().is_err()) {
        refuse(out, RULE, at, "subnet", "it is no range such as 192.0.2.0/24");
    }
    let [start, end] = ends.map(|(key, address)| {
        let parsed = address.map(str::parse::<IpAddr>);
        if matches!(parsed, Some(Err(_))) {
            refuse(out, RULE, at, key, "it is no address");
        }
        parsed.and_then(Result::ok)
    });
    if start.zip(end).is_some_and(|(start, end)| start > end) {
        refuse(out, RULE, at, "", "it ends before it starts");
    }
}

/// Addresses that are kept for claims by their name.
fn reserved(pool: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let Some(Value::Object(reserved)) = pool.pointer("/spec/preAllocations") else { return };
    let mut seen = BTreeSet::new();
    for (claim, address) in texts(reserved) {
        let at = spec.key("preAllocations").key(claim);
        match address.parse::<IpAddr>() {
            Ok(parsed) if !seen.insert(parsed) => refuse(out, RULE, &at, "", "another claim has it already"),
            _ if !holds(pool, address) => refuse(out, RULE, &at, "", "it lies in no range of the pool"),
            _ => {}
        }
    }
}

/// The texts of a map.
fn texts(map: &Map) -> impl Iterator<Item = (&str, &str)> {
    map.iter().filter_map(|(key, value)| Some((key.as_ref(), value.as_str()?)))
}

/// Whether an address lies in one of the ranges of a pool.
fn holds(pool: &Value, address: &str) -> bool {
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    list(pool, "/spec/pools").any(|pool| {
        let at = |key: &str| text(pool, &format!("/{key}"));
        let is_said = ["start", "end", "subnet"].iter().any(|key| at(key).is_some());
        let end = |key: &str, fits: &dyn Fn(IpAddr) -> bool| at(key).is_none_or(|end| end.parse().is_ok_and(fits));
        let is_in = |subnet: &str| subnet.parse::<IpNet>().is_ok_and(|subnet| subnet.contains(&address));
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
    use crate::providers::on_write;
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
    fn a_pool_stays_with_its_cluster() {
        let of = |cluster: &str| json!({"spec": {"clusterName": cluster, "pools": []}});
        assert_eq!(refused(Some(of("a")), of("b")), ["spec.clusterName"]);
        assert_eq!(refused(Some(of("a")), json!({"spec": {"pools": []}})), ["spec.clusterName"]);
        assert_eq!(refused(Some(json!({"spec": {"pools": []}})), of("b")), [""; 0]);
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
}
