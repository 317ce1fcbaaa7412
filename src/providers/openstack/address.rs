//! Mirror of what the webhook of an OpenStackCluster lets through of the address of its API server: a floating address that the
//! load balancer has already. Read beside `pkg/webhooks/openstackcluster_webhook.go` (ValidateUpdate) of
//! cluster-api-provider-openstack 0.11 to 0.15.

use crate::kinds::fields::{map_at, text};
use crate::tree::{Map, Value};

/// Takes over into the past the floating address that the load balancer has, under the names of either API version.
pub(super) fn let_through(old: &mut Value, new: &Value) {
    if has(old, "/status/apiServerLoadBalancer", new, "/spec/apiServerFloatingIP") {
        let taken = new.pointer("/spec/apiServerFloatingIP").cloned();
        if let Some(spec) = old.get_mut("spec").and_then(Value::as_object_mut) {
            set(spec, "apiServerFloatingIP", taken);
        }
    }
    if has(old, "/status/apiServerManagedLoadBalancer", new, "/spec/apiServer/floatingIP") {
        let taken = new.pointer("/spec/apiServer/floatingIP").cloned();
        let Some(spec) = old.get_mut("spec").and_then(Value::as_object_mut) else { return };
        // An API server that says nothing else is the same as none.
        if taken.is_some() && spec.get("apiServer").is_none_or(Value::is_null) {
            spec.insert("apiServer".to_owned(), Value::Object(Map::new()));
        }
        let Some(server) = map_at(spec, "apiServer") else { return };
        set(server, "floatingIP", taken);
        if server.is_empty() && new.pointer("/spec/apiServer").is_none() {
            spec.shift_remove("apiServer");
        }
    }
}

/// Whether the load balancer of the past has the address that is wanted.
fn has(old: &Value, balancer: &str, new: &Value, wanted: &str) -> bool {
    let balancer = old.pointer(balancer).filter(|balancer| balancer.is_object());
    balancer.is_some_and(|balancer| text(balancer, "/ip") == text(new, wanted))
}

/// Writes a field, or takes it away.
fn set(map: &mut Map, key: &str, value: Option<Value>) {
    match value {
        Some(value) => map.insert(key.to_owned(), value),
        None => map.shift_remove(key),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn the_address_that_the_load_balancer_has_may_be_written_down() {
        let past = |wanted: &str| {
            let mut old = json!({"spec": {}, "status": {"apiServerLoadBalancer": {"ip": "203.0.113.5"}}});
            let_through(&mut old, &json!({"spec": {"apiServerFloatingIP": wanted}}));
            old.pointer("/spec/apiServerFloatingIP").cloned()
        };
        assert_eq!(past("203.0.113.5"), Some(json!("203.0.113.5")));
        assert_eq!(past("203.0.113.6"), None);
    }

    #[test]
    fn the_same_holds_under_the_new_names() {
        let past = |spec: Value, wanted: Value| {
            let mut old = json!({"spec": spec, "status": {"apiServerManagedLoadBalancer": {"ip": "203.0.113.5"}}});
            let_through(&mut old, &json!({"spec": wanted}));
            old["spec"].clone()
        };
        let server = |address: &str| json!({"apiServer": {"floatingIP": address}});
        assert_eq!(past(json!({}), server("203.0.113.5")), server("203.0.113.5"));
        assert_eq!(past(json!({}), server("203.0.113.6")), json!({}));
        assert_eq!(past(server("203.0.113.6"), server("203.0.113.5")), server("203.0.113.5"));
        assert_eq!(past(server("203.0.113.5"), json!({})), server("203.0.113.5"), "the address cannot go");
        let port = json!({"apiServer": {"port": 6443}});
        assert_eq!(
            past(port, json!({"apiServer": {"port": 6444, "floatingIP": "203.0.113.5"}}))["apiServer"]["port"],
            6443
        );
        let mut old = json!({"spec": server("203.0.113.6"), "status": {"apiServerManagedLoadBalancer": {}}});
        let_through(&mut old, &json!({"spec": {}}));
        assert_eq!(old["spec"], json!({}), "a load balancer without an address lets it go");
    }
}
