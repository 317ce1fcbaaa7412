//! Mirror of what the webhook of the in-cluster address manager refuses about a pool that gives out networks of IPv6. Read beside
//! `internal/webhooks/inclusterprefixpool.go` (Default, `validate`, ValidateUpdate) and `internal/poolutil/prefix.go`
//! (`PrefixFromIPAddress`, `PrefixIsAllocatable`) of cluster-api-ipam-provider-in-cluster 1.1 and after.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::{IpNet, Ipv6Net};

use super::address_pools::{RULE, is_of, range, texts};
use crate::kinds::Webhook;
use crate::kinds::addresses::{address, network};
use crate::kinds::around::{Around, LookUp, Refuses};
use crate::kinds::contract::IPAM;
use crate::kinds::fields::text;
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::object::Path;
use crate::tree::Value;

/// The length of the networks that are given out where nobody says one.
const USUAL: i64 = 64;

/// The webhook of pools of networks.
#[derive(Debug)]
pub(super) struct PrefixPools;

impl Webhook for PrefixPools {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        let wanted = length(write.new);
        if texts(write.new, "prefixes").next().is_none() {
            refuse(&mut out, RULE, &spec, "prefixes", "a pool has networks");
        } else if !(1..=128).contains(&wanted) {
            refuse(&mut out, RULE, &spec, "allocationPrefixLength", "it must be a number from 1 to 128");
        } else {
            networks(write.new, wanted, &spec, &mut out);
        }
        if write.past().is_some_and(|old| length(old) != wanted) {
            refuse(&mut out, RULE, &spec, "allocationPrefixLength", "it cannot change");
        }
        out
    }

    fn looks_up(&self, write: &Write<'_>, around: &dyn Around) -> Vec<LookUp> {
        let Some(old) = write.past() else { return Vec::new() };
        let has_all = |one: &Value, other: &Value, key: &str| {
            let others: Vec<&str> = texts(other, key).collect();
            texts(one, key).all(|net| others.contains(&net))
        };
        // Of a pool that only grows nothing comes to lie outside; what did before is not seen.
        if around.is_render()
            && has_all(old, write.new, "prefixes")
            && has_all(write.new, old, "excludedPrefixes")
            && ["/spec/gateway", "/spec/prefix"].iter().all(|at| old.pointer(at) == write.new.pointer(at))
        {
            return Vec::new();
        }
        let found = around.look_up(IPAM, "IPAddress", &|key, address| {
            is_of(write.key, key, address) && !given_out(address).is_some_and(|net| gives_out(write.new, net))
        });
        vec![LookUp {
            found,
            refuses: Refuses::There,
            rule: RULE,
            path: Path::root().key("spec"),
            wanted: "a network in use that the pool does not give out".to_owned(),
        }]
    }
}

/// The length of the networks that are given out; 0 says nothing.
fn length(pool: &Value) -> i64 {
    let told = pool.pointer("/spec/allocationPrefixLength").and_then(Value::as_i64);
    told.filter(|told| *told != 0).unwrap_or(USUAL)
}

/// What a pool is made of, what is kept back, and the way out of it: all of IPv6.
fn networks(pool: &Value, wanted: i64, spec: &Path, out: &mut Vec<Refusal>) {
    for (place, written) in texts(pool, "prefixes").enumerate() {
        let at = spec.key("prefixes").index(place);
        match network(written) {
            Some(IpNet::V6(net)) if net != net.trunc() => {
                refuse(out, RULE, &at, "", format!("it must begin where its network does ({})", net.trunc()));
            }
            Some(IpNet::V6(net)) if i64::from(net.prefix_len()) > wanted => {
                refuse(out, RULE, &at, "", format!("it is smaller than the networks that are given out (/{wanted})"));
            }
            Some(IpNet::V6(_)) => {}
            _ => refuse(out, RULE, &at, "", "it is no network of IPv6"),
        }
    }
    let gateway = text(pool, "/spec/gateway").filter(|gateway| !gateway.is_empty());
    if gateway.is_some_and(|gateway| !address(gateway).is_some_and(|gateway| gateway.ip.is_ipv6())) {
        refuse(out, RULE, spec, "gateway", "it is no address of IPv6");
    }
    for (place, written) in texts(pool, "excludedPrefixes").enumerate() {
        if !range(written).is_some_and(|(first, _)| first.is_ipv6()) {
            let at = spec.key("excludedPrefixes").index(place);
            refuse(out, RULE, &at, "", "it is no address, no range and no network of IPv6");
        }
    }
}

/// The network that an address stands for; `None` where it stands for none.
fn given_out(address: &Value) -> Option<Ipv6Net> {
    let start: Ipv6Addr = text(address, "/spec/address")?.parse().ok()?;
    let length = u8::try_from(address.pointer("/spec/prefix")?.as_i64()?).ok()?;
    Ipv6Net::new(start, length).ok().map(|net| net.trunc())
}

/// Whether a pool may give out a network.
fn gives_out(pool: &Value, net: Ipv6Net) -> bool {
    let ends = [net.network(), net.broadcast()].map(IpAddr::V6);
    let holds = |written: &str| matches!(network(written), Some(IpNet::V6(all)) if all.contains(&net));
    let touches = |written: &str| range(written).is_none_or(|(first, last)| first <= ends[1] && ends[0] <= last);
    i64::from(net.prefix_len()) == length(pool)
        && texts(pool, "prefixes").any(holds)
        && !texts(pool, "excludedPrefixes").any(touches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::around::LookedUp;
    use crate::object::Key;
    use crate::providers::{on_write, recorded};
    use crate::tree::json;

    /// A cluster with these addresses.
    struct Given(Vec<Value>);

    impl Around for Given {
        fn look_up(&self, _group: &str, _kind: &str, wanted: &dyn Fn(&Key, &Value) -> bool) -> LookedUp {
            let key = |address: &Value| {
                let [namespace, name] = ["/metadata/namespace", "/metadata/name"].map(|at| text(address, at));
                Key::new("ipam.cluster.x-k8s.io/v1beta2", "IPAddress", namespace, name.unwrap_or_default())
            };
            if self.0.iter().any(|address| wanted(&key(address), address)) {
                LookedUp::There
            } else {
                LookedUp::Missing
            }
        }
    }

    /// The places that refuse a write of a pool of this kind, beside these addresses.
    fn refused_beside(kind: &str, (old, new): (Option<&Value>, &Value), given: &[Value]) -> Vec<String> {
        let namespace = (!kind.starts_with("Global")).then_some("fleet");
        let key = Key::new("ipam.cluster.x-k8s.io/v1alpha2", kind, namespace, "pool");
        let around = Given(given.to_vec());
        let found = on_write(&key, "ipam.cluster.x-k8s.io/v1alpha2", (old, new), |write| {
            let webhook = crate::providers::kind(&key).webhook.expect("a webhook");
            let found = webhook.refusals(write);
            // What is found is asked last.
            if found.is_empty() { crate::kinds::around::outcome(webhook.looks_up(write, &around)).0 } else { found }
        });
        found.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    fn refused(old: Option<Value>, new: Value) -> Vec<String> {
        let whole = |spec: Value| json!({ "spec": spec });
        let (old, new) = (old.map(whole), whole(new));
        refused_beside("InClusterPrefixPool", (old.as_ref(), &new), &[])
    }

    #[test]
    fn a_pool_of_networks_is_of_ipv6() {
        let of = |written: &str| refused(None, json!({"prefixes": ["2001:db8::/48", written]}));
        assert_eq!((of("2001:db8:1::/64"), of("2001:db8:1::/65")), (Vec::new(), vec!["spec.prefixes[1]".to_owned()]));
        for bad in ["192.0.2.0/24", "2001:db8::1/48", "2001:db8::", "x"] {
            assert_eq!(of(bad), ["spec.prefixes[1]"], "{bad}");
        }
        assert_eq!(refused(None, json!({"prefixes": []})), ["spec.prefixes"]);
        let with = |more: (&str, Value)| {
            let mut all = json!({"prefixes": ["2001:db8::/48"]});
            all[more.0] = more.1;
            refused(None, all)
        };
        assert_eq!(with(("gateway", json!("192.0.2.1"))), ["spec.gateway"]);
        assert_eq!(with(("gateway", json!("2001:db8::1"))), [""; 0]);
        assert_eq!(with(("excludedPrefixes", json!(["192.0.2.1"]))), ["spec.excludedPrefixes[0]"]);
        assert_eq!(with(("excludedPrefixes", json!(["2001:db8::1-2001:db8::9"]))), [""; 0]);
        assert_eq!(with(("allocationPrefixLength", json!(47))), ["spec.prefixes[0]"]);
    }

    #[test]
    fn a_network_in_use_stays_in_the_pool() {
        let pool = |prefixes: Value| json!({"spec": {"prefixes": prefixes}});
        let old = pool(json!(["2001:db8::/48", "2001:db8:1::/48"]));
        let given = json!({"metadata": {"namespace": "fleet"}, "spec": {"address": "2001:db8:1::", "prefix": 64,
            "poolRef": {"kind": "InClusterPrefixPool", "name": "pool"}}});
        let ask = |new: &Value| refused_beside("InClusterPrefixPool", (Some(&old), new), std::slice::from_ref(&given));
        assert_eq!(ask(&pool(json!(["2001:db8::/48"]))), ["spec"]);
        assert_eq!(ask(&pool(json!(["2001:db8:1::/48"]))), [""; 0]);
        let mut kept_back = old.clone();
        kept_back["spec"]["excludedPrefixes"] = json!(["2001:db8:1::5"]);
        assert_eq!(ask(&kept_back), ["spec"]);
        kept_back["spec"]["excludedPrefixes"] = json!(["2001:db8:1:1::5"]);
        assert_eq!(ask(&kept_back), [""; 0]);
        assert_eq!(
            refused(
                Some(json!({"prefixes": ["2001:db8::/48"]})),
                json!({"prefixes": ["2001:db8::/48"], "allocationPrefixLength": 56})
            ),
            ["spec.allocationPrefixLength"]
        );
    }

    /// What the webhooks said of pools of addresses and of networks, with what was given out beside them.
    #[test]
    fn recorded_answers_are_those_of_the_webhooks() {
        let (asked, others) = recorded::beside("in-cluster.jsonl", &["1.1"], |_, line, old, new| {
            let given: Vec<Value> = crate::kinds::fields::list(line, "/others").cloned().collect();
            Some(refused_beside(text(line, "/kind").unwrap_or_default(), (old, new), &given))
        });
        assert!(asked > 500, "{asked}");
        assert!(others.is_empty(), "{} of {asked} are answered otherwise:\n{}", others.len(), others.join("\n"));
    }
}
