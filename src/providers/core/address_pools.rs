//! Mirror of what the webhook of the in-cluster address manager refuses about a pool: ranges that are none, and one without an address
//! that is in use. Read beside `internal/webhooks/inclusterippool.go` (`validate`, ValidateUpdate) and `internal/poolutil/pool.go`
//! (`PoolSpecToIPSet`) of cluster-api-ipam-provider-in-cluster 1.1 and after.

use std::net::IpAddr;

use crate::kinds::Webhook;
use crate::kinds::addresses;
use crate::kinds::around::{Around, LookUp, Refuses};
use crate::kinds::contract::IPAM;
use crate::kinds::fields::{list, number, text};
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::model::RuleId;
use crate::object::{Key, Path};
use crate::tree::Value;

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("ipam/rejected");

/// The webhook of pools of addresses.
#[derive(Debug)]
pub(super) struct Pools;

impl Webhook for Pools {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        let mut family = None;
        for key in ["addresses", "excludedAddresses"] {
            for (place, written) in texts(write.new, key).enumerate() {
                let at = spec.key(key).index(place);
                match range(written) {
                    None => refuse(&mut out, RULE, &at, "", "it is no address, no range and no network"),
                    Some((first, _)) if *family.get_or_insert(first.is_ipv4()) != first.is_ipv4() => {
                        refuse(&mut out, RULE, &at, "", "IPv4 and IPv6 do not go into one pool");
                    }
                    Some(_) => {}
                }
            }
        }
        if let Some(gateway) = text(write.new, "/spec/gateway").filter(|gateway| !gateway.is_empty()) {
            let parsed = addresses::address(gateway).map(|gateway| gateway.ip);
            if parsed.is_none_or(|gateway| family.is_some_and(|is_four| is_four != gateway.is_ipv4())) {
                refuse(&mut out, RULE, &spec, "gateway", "it is no address of the family of the pool");
            }
        }
        if texts(write.new, "addresses").next().is_none() && write.new.pointer("/spec/subnet").is_none() {
            refuse(&mut out, RULE, &spec, "addresses", "a pool has addresses");
        }
        for (key, what) in [("prefix", "a prefix"), ("addressReuseGracePeriodSeconds", "a time")] {
            if write.new.pointer(&format!("/spec/{key}")).and_then(Value::as_i64).is_some_and(|told| told < 0) {
                refuse(&mut out, RULE, &spec, key, format!("{what} is not below 0"));
            }
        }
        if out.is_empty() {
            network(write.new, &spec, &mut out);
        }
        out
    }

    fn looks_up(&self, write: &Write<'_>, around: &dyn Around) -> Vec<LookUp> {
        let Some((old, new)) = write.past().zip(given_out(write.new)) else { return Vec::new() };
        // Of a pool that only grows nothing comes to lie outside; what did before is not seen.
        if around.is_render() && given_out(old).is_some_and(|old| without(old, &new).is_empty()) {
            return Vec::new();
        }
        let pool = write.key;
        let leaves = |address: &Value| {
            let parsed = text(address, "/spec/address").and_then(|address| address.parse::<IpAddr>().ok()).map(bits);
            parsed.is_some_and(|at| !new.iter().any(|(first, last)| (*first..=*last).contains(&at)))
        };
        // The webhook asks of all addresses in use, those too that were outside before.
        vec![LookUp {
            found: around.look_up(IPAM, "IPAddress", &|key, address| is_of(pool, key, address) && leaves(address)),
            refuses: Refuses::There,
            rule: RULE,
            path: Path::root().key("spec"),
            wanted: "an address in use that lies outside of the pool".to_owned(),
        }]
    }
}

/// Whether an address was given out by a pool (`ListAddressesInUse`).
pub(super) fn is_of(pool: &Key, key: &Key, address: &Value) -> bool {
    text(address, "/spec/poolRef/name") == Some(pool.name.as_str())
        && text(address, "/spec/poolRef/kind") == Some(pool.kind.as_str())
        && text(address, "/spec/poolRef/apiGroup").is_none_or(|group| group == IPAM)
        && (pool.namespace.is_none() || key.namespace == pool.namespace)
}

/// The texts of a list in the spec.
pub(super) fn texts<'v>(pool: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    list(pool, &format!("/spec/{key}")).filter_map(Value::as_str)
}

/// The first and the last address of what a person writes: an address, a range with a dash, or a network.
pub(super) fn range(written: &str) -> Option<(IpAddr, IpAddr)> {
    addresses::range(written).map(|range| (range.first.ip, range.last))
}

/// An address as a number; addresses of two families are never in one pool.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The network of the prefix around the lowest address.
fn network_of(pool: &Value) -> Option<(ipnet::IpNet, bool)> {
    let first = texts(pool, "addresses").filter_map(range).map(|(first, _)| first).min()?;
    let prefix = u8::try_from(number(pool, "/spec/prefix").unwrap_or(0)).ok()?;
    Some((ipnet::IpNet::new(first, prefix).ok()?, first.is_ipv4()))
}

/// Every address lies in the network of the prefix.
fn network(pool: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    if texts(pool, "addresses").next().is_none() {
        return;
    }
    let Some((net, _)) = network_of(pool) else {
        return refuse(out, RULE, spec, "prefix", "it is no prefix of such addresses");
    };
    for (place, written) in texts(pool, "addresses").enumerate() {
        if range(written).is_some_and(|(first, last)| !net.contains(&first) || !net.contains(&last)) {
            let message = format!("it lies outside of {}, the network of the prefix", net.trunc());
            refuse(out, RULE, &spec.key("addresses").index(place), "", message);
        }
    }
}

/// The numbers of all addresses that a pool gives out; `None` where that cannot be told.
fn given_out(pool: &Value) -> Option<Vec<(u128, u128)>> {
    let numbers = |key: &str| -> Option<Vec<(u128, u128)>> {
        texts(pool, key).map(|written| range(written).map(|(first, last)| (bits(first), bits(last)))).collect()
    };
    let all = numbers("addresses").filter(|all| !all.is_empty())?;
    let mut kept_back = numbers("excludedAddresses")?;
    let (net, is_four) = network_of(pool)?;
    if pool.pointer("/spec/allocateReservedIPAddresses") != Some(&Value::Bool(true)) {
        let ends = if is_four { vec![net.network(), net.broadcast()] } else { vec![net.network()] };
        kept_back.extend(ends.into_iter().map(|address| (bits(address), bits(address))));
    }
    if let Some(gateway) = text(pool, "/spec/gateway").filter(|gateway| !gateway.is_empty()) {
        let gateway = bits(gateway.parse().ok()?);
        kept_back.push((gateway, gateway));
    }
    Some(without(all, &kept_back))
}

/// Ranges without what other ranges hold.
fn without(mut ranges: Vec<(u128, u128)>, others: &[(u128, u128)]) -> Vec<(u128, u128)> {
    for &(from, to) in others {
        let cut = |(first, last): (u128, u128)| {
            let before = (first < from).then(|| (first, last.min(from.saturating_sub(1))));
            let after = (last > to).then(|| (first.max(to.saturating_add(1)), last));
            [before, after].into_iter().flatten()
        };
        ranges = ranges.into_iter().flat_map(cut).collect();
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::around::LookedUp;
    use crate::providers::on_write;
    use crate::tree::json;

    /// A cluster with one address in use.
    struct One(&'static str);

    impl Around for One {
        fn look_up(&self, _group: &str, _kind: &str, wanted: &dyn Fn(&Key, &Value) -> bool) -> LookedUp {
            let key = Key::new("ipam.cluster.x-k8s.io/v1beta1", "IPAddress", Some("fleet"), "a");
            let address = json!({"spec": {"address": self.0, "poolRef": {"kind": "InClusterIPPool", "name": "pool"}}});
            if wanted(&key, &address) { LookedUp::There } else { LookedUp::Missing }
        }
    }

    fn asked<T>(old: Option<&Value>, new: &Value, ask: impl Fn(&Write<'_>) -> T) -> T {
        let key = Key::new("ipam.cluster.x-k8s.io/v1alpha2", "InClusterIPPool", Some("fleet"), "pool");
        on_write(&key, "ipam.cluster.x-k8s.io/v1alpha2", (old, new), ask)
    }

    fn refused(spec: Value) -> Vec<String> {
        let refusals = asked(None, &json!({"spec": spec}), |write| Pools.refusals(write));
        refusals.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    /// What is looked up about a change, with this address in use.
    fn looked(old: Value, new: Value, in_use: &'static str) -> Vec<LookedUp> {
        let (old, new) = (json!({"spec": old}), json!({"spec": new}));
        let found = asked(Some(&old), &new, |write| Pools.looks_up(write, &One(in_use)));
        found.into_iter().map(|look_up| look_up.found).collect()
    }

    #[test]
    fn addresses_lie_in_one_network() {
        assert_eq!(refused(json!({"addresses": ["10.0.0.10-10.0.0.20", "10.0.0.64/28"], "prefix": 24})), [""; 0]);
        assert_eq!(refused(json!({"addresses": ["10.0.0.10", "10.0.1.10"], "prefix": 24})), ["spec.addresses[1]"]);
        assert_eq!(refused(json!({"addresses": ["10.0.0.10-10.0.0.40"], "prefix": 28})), ["spec.addresses[0]"]);
        assert_eq!(refused(json!({"addresses": ["10.0.0.10"], "prefix": 33})), ["spec.prefix"]);
        assert_eq!(refused(json!({"addresses": [], "prefix": 24})), ["spec.addresses"]);
        assert_eq!(refused(json!({"subnet": "10.0.0.0/24"})), [""; 0]);
    }

    #[test]
    fn a_pool_has_one_family() {
        assert_eq!(refused(json!({"addresses": ["10.0.0.10", "fd00::1"], "prefix": 24})), ["spec.addresses[1]"]);
        assert_eq!(refused(json!({"addresses": ["10.0.0.10"], "prefix": 24, "gateway": "fd00::1"})), ["spec.gateway"]);
        assert_eq!(refused(json!({"addresses": ["10.0.0.9-10.0.0.1"], "prefix": 24})), ["spec.addresses[0]"]);
        assert_eq!(refused(json!({"addresses": ["fd00::/64"], "prefix": 64, "gateway": "fd00::1"})), [""; 0]);
    }

    #[test]
    fn what_is_left_out_is_found() {
        let pool = |range: &str| json!({"addresses": [range], "prefix": 24});
        assert_eq!(looked(pool("10.0.0.10-10.0.0.50"), pool("10.0.0.10-10.0.0.90"), "10.0.0.20"), [LookedUp::Missing]);
        assert_eq!(looked(pool("10.0.0.10-10.0.0.50"), pool("10.0.0.0/24"), "10.0.0.20"), [LookedUp::Missing]);
        let fewer = |in_use| looked(pool("10.0.0.10-10.0.0.50"), pool("10.0.0.10-10.0.0.30"), in_use);
        assert_eq!(fewer("10.0.0.40"), [LookedUp::There]);
        assert_eq!(fewer("10.0.0.20"), [LookedUp::Missing]);
        let mut with_gateway = pool("10.0.0.10-10.0.0.50");
        with_gateway["gateway"] = json!("10.0.0.10");
        assert_eq!(looked(pool("10.0.0.10-10.0.0.50"), with_gateway.clone(), "10.0.0.10"), [LookedUp::There]);
        with_gateway["gateway"] = json!("10.0.0.1");
        assert_eq!(looked(pool("10.0.0.10-10.0.0.50"), with_gateway, "10.0.0.10"), [LookedUp::Missing]);
        let mut excluded = pool("10.0.0.10-10.0.0.50");
        excluded["excludedAddresses"] = json!(["10.0.0.20-10.0.0.30"]);
        assert_eq!(looked(pool("10.0.0.10-10.0.0.50"), excluded.clone(), "10.0.0.25"), [LookedUp::There]);
        assert_eq!(looked(excluded, pool("10.0.0.10-10.0.0.50"), "10.0.0.15"), [LookedUp::Missing]);
    }

    #[test]
    fn an_address_that_was_outside_before_is_found_too() {
        let pool = |range: &str| json!({"addresses": [range], "prefix": 24});
        let more = |in_use| looked(pool("10.0.0.10-10.0.0.50"), pool("10.0.0.10-10.0.0.90"), in_use);
        assert_eq!(more("10.0.0.95"), [LookedUp::There]);
        assert_eq!(more("10.0.0.80"), [LookedUp::Missing]);
        assert_eq!(looked(pool("10.0.0.10"), pool("10.0.0.10"), "10.0.0.11"), [LookedUp::There]);
        assert_eq!(looked(pool("broken"), pool("10.0.0.10"), "10.0.0.11"), [LookedUp::There]);
    }

    #[test]
    fn numbers_are_not_below_zero() {
        assert_eq!(refused(json!({"addresses": ["10.0.0.10"], "prefix": -1})), ["spec.prefix"]);
        let later = |seconds: i64| {
            refused(json!({"addresses": ["10.0.0.10"], "prefix": 24, "addressReuseGracePeriodSeconds": seconds}))
        };
        assert_eq!((later(-1), later(0)), (vec!["spec.addressReuseGracePeriodSeconds".to_owned()], Vec::new()));
    }

    #[test]
    fn ranges_are_cut() {
        assert_eq!(without(vec![(1, 9)], &[(3, 5)]), [(1, 2), (6, 9)]);
        assert_eq!(without(vec![(1, 9)], &[(0, 9)]), []);
        assert_eq!(without(vec![(1, 9), (20, 30)], &[(9, 20)]), [(1, 8), (21, 30)]);
        assert_eq!(without(vec![(0, u128::MAX)], &[(0, 0), (u128::MAX, u128::MAX)]), [(1, u128::MAX - 1)]);
        assert_eq!(without(vec![(10, 12)], &[(0, 3)]), [(10, 12)]);
    }
}
