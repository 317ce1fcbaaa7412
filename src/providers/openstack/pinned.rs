//! Mirror of what the webhook of an OpenStackCluster lets through of its network: one that was found by a filter may be named by its
//! id, which moves nothing. Read beside `pkg/webhooks/openstackcluster_webhook.go` (ValidateUpdate,
//! allowSubnetFilterToIDTransition) of cluster-api-provider-openstack 0.12.4 and 0.13 to 0.15.

use semver::Version;

use super::changes::PINNED;
use crate::kinds::Versions;
use crate::kinds::fields::{list, text};
use crate::tree::Value;

/// The first patch that lets it through.
const FIRST: Version = Version::new(0, 12, 4);

/// Takes over into the past the ids of the network and of the subnets that the cluster has already.
pub(super) fn let_through(old: &mut Value, new: &Value, versions: &Versions) {
    if !versions.has(&PINNED) || !versions.ask(PINNED.provider, |version| *version >= FIRST) {
        return;
    }
    let id = text(new, "/spec/network/id").filter(|id| Some(*id) == text(old, "/status/network/id"));
    let network = id.and_then(|_| new.pointer("/spec/network")).filter(|_| old.pointer("/spec/network").is_some());
    let subnets = new.pointer("/spec/subnets").filter(|_| has_subnets(old, new));
    let taken = [("network", network.cloned()), ("subnets", subnets.cloned())];
    let Some(spec) = old.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for (key, value) in taken {
        value.into_iter().for_each(|value| drop(spec.insert(key.to_owned(), value)));
    }
}

/// Whether each subnet is the same as before, or named by the id of the one that its name found.
fn has_subnets(old: &Value, new: &Value) -> bool {
    let networks = [old, new].map(|side| side.pointer("/spec/network").is_some());
    let (before, after) = (list(old, "/spec/subnets"), list(new, "/spec/subnets"));
    let is_one = |name: &str, id: &str| {
        let mut found = list(old, "/status/network/subnets");
        found.any(|subnet| (text(subnet, "/name"), text(subnet, "/id")) == (Some(name), Some(id)))
    };
    let is_pinned = |before: &Value, after: &Value| {
        let ends = text(before, "/filter/name").zip(text(after, "/id")).filter(|_| after.get("filter").is_none());
        before == after || ends.is_some_and(|(name, id)| is_one(name, id))
    };
    networks == [true, true]
        && list(old, "/spec/subnets").count() == list(new, "/spec/subnets").count()
        && before.zip(after).all(|(before, after)| is_pinned(before, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_network_may_be_named_by_the_id_that_it_has() {
        let past = |version: &str, network: &str, subnet: &str| {
            let mut old = json!({
                "spec": {"network": {"filter": {"name": "net"}}, "subnets": [{"filter": {"name": "sub"}}]},
                "status": {"network": {"id": "n", "subnets": [{"id": "s", "name": "sub"}]}},
            });
            let new = json!({"spec": {"network": {"id": network}, "subnets": [{"id": subnet}]}});
            let_through(&mut old, &new, &Versions::told("openstack", version));
            ["network", "subnets"].map(|key| old["spec"].get(key) == new["spec"].get(key))
        };
        assert_eq!(past("v0.13.0", "n", "s"), [true, true]);
        assert_eq!(past("v0.12.4", "n", "s"), [true, true]);
        assert_eq!(past("v0.12.3", "n", "s"), [false, false]);
        assert_eq!(past("v0.13.0", "other", "s"), [false, true]);
        assert_eq!(past("v0.13.0", "n", "other"), [true, false]);
    }
}
