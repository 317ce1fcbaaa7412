//! Mirror of what the webhook of an OpenStackCluster lets through of its network: one that was found by a filter may be named by its
//! id, which moves nothing. Read beside `pkg/webhooks/openstackcluster_webhook.go` (ValidateUpdate,
//! allowSubnetFilterToIDTransition) of cluster-api-provider-openstack 0.11.7, 0.12.4 and 0.13 to 0.15.

use super::changes::PINNED;
use super::webhook::RULE;
use crate::kinds::Versions;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// Takes over into the past the ids of the network and of the subnets that the cluster has already. What else changes of a
/// filter stays a change: the subnets are looked for by it.
pub(super) fn let_through(old: &mut Value, new: &Value, versions: &Versions) {
    if !versions.has(&PINNED) {
        return;
    }
    let id = text(new, "/spec/network/id").filter(|id| Some(*id) == text(old, "/status/network/id"));
    let network = id.and_then(|_| new.pointer("/spec/network")).filter(|_| old.pointer("/spec/network").is_some());
    let sides = list(old, "/spec/subnets").zip(list(new, "/spec/subnets"));
    let pinned = sides.map(|(before, after)| if both_filter(before, after) { before } else { after }.clone());
    let is_there = new.pointer("/spec/subnets").is_some() && has_subnets(old, new);
    let subnets = is_there.then(|| Value::Array(pinned.collect()));
    let taken = [("network", network.cloned()), ("subnets", subnets)];
    let Some(spec) = old.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for (key, value) in taken {
        value.into_iter().for_each(|value| drop(spec.insert(key.to_owned(), value)));
    }
}

/// Filters of subnets that change where the webhook lets none through.
pub(super) fn refusals(old: &Value, new: &Value, versions: &Versions, at: &Path, out: &mut Vec<Refusal>) {
    if versions.has(&PINNED) && has_subnets(old, new) {
        return;
    }
    let sides = list(old, "/spec/subnets").zip(list(new, "/spec/subnets")).enumerate();
    for (place, _) in sides.filter(|(_, (before, after))| both_filter(before, after) && before != after) {
        let below = format!("subnets[{place}].filter");
        refuse(
            out,
            RULE,
            at,
            &below,
            "the subnets of a cluster are fixed until they were found, and their names later too",
        );
    }
}

/// Whether a subnet is looked for by a filter on both sides.
fn both_filter(before: &Value, after: &Value) -> bool {
    [before, after].iter().all(|side| side.get("filter").is_some_and(Value::is_object))
}

/// Whether the webhook does not compare the subnets: each has the name or the id that it had, or the id of the one that its
/// name found.
fn has_subnets(old: &Value, new: &Value) -> bool {
    let networks = [old, new].map(|side| side.pointer("/spec/network").is_some());
    let is_one = |name: Option<&str>, id: &str| {
        let mut found = list(old, "/status/network/subnets");
        found.any(|subnet| (text(subnet, "/name"), text(subnet, "/id")) == (name, Some(id)))
    };
    let is_same = |before: &Value, after: &Value| {
        let filters = [before, after].map(|side| side.get("filter").filter(|filter| filter.is_object()));
        let names = [before, after].map(|side| text(side, "/filter/name"));
        match (filters, [text(before, "/id"), text(after, "/id")]) {
            ([Some(_), None], [_, Some(id)]) => is_one(names[0], id),
            ([_, Some(_)], [Some(_), _]) => false,
            ([Some(_), Some(_)], _) => names[0] == names[1],
            (_, [Some(before), Some(after)]) => before == after,
            _ => true,
        }
    };
    let (before, after) = (list(old, "/spec/subnets"), list(new, "/spec/subnets"));
    networks == [true, true]
        && list(old, "/status/network/subnets").next().is_some()
        && list(old, "/spec/subnets").count() == list(new, "/spec/subnets").count()
        && before.zip(after).all(|(before, after)| is_same(before, after))
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
        assert_eq!((past("v0.11.7", "n", "s"), past("v0.11.6", "n", "s")), ([true, true], [false, false]));
        assert_eq!(past("v0.13.0", "other", "s"), [false, true]);
        assert_eq!(past("v0.13.0", "n", "other"), [true, false]);
    }

    #[test]
    fn a_filter_may_say_something_else_once_its_subnet_was_found() {
        let told = |version: &str, filter: Value, has_status: bool| {
            let side = |filter: Value| json!({"network": {"id": "n"}, "subnets": [{"filter": filter}]});
            let mut old = json!({"spec": side(json!({"name": "sub", "description": "a"}))});
            if has_status {
                old["status"] = json!({"network": {"id": "n", "subnets": [{"id": "s", "name": "sub"}]}});
            }
            let new = json!({"spec": side(filter)});
            let versions = Versions::told("openstack", version);
            let_through(&mut old, &new, &versions);
            let mut out = Vec::new();
            refusals(&old, &new, &versions, &Path::root(), &mut out);
            (out.len(), old["spec"]["subnets"] == new["spec"]["subnets"])
        };
        let other = || json!({"name": "sub", "description": "b"});
        assert_eq!(told("v0.15.0", other(), true), (0, false), "it stays a change");
        assert_eq!(told("v0.15.0", json!({"name": "other", "description": "a"}), true), (1, false));
        assert_eq!(told("v0.15.0", other(), false), (1, false));
        assert_eq!(told("v0.12.3", other(), true), (1, false));
        assert_eq!(told("v0.12.3", json!({"name": "sub", "description": "a"}), false), (0, true));
    }
}
