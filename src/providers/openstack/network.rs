//! Mirror of what the schema of an OpenStackCluster refuses about its networks, under the names of both API versions.
//! Read beside the validation rules in `api/{v1beta1,v1beta2}/openstackcluster_types.go` of cluster-api-provider-openstack
//! 0.11 to 0.15.

use super::webhook::RULE;
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// What is refused about a cluster's networks; the old side is `None` where the cluster is new.
pub(super) fn refusals(old: Option<&Value>, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    without_network(spec, at, out);
    empty(old, spec, at, out);
}

/// What a cluster without an external network must not have.
fn without_network(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let says = |pointer: &str, told: bool| spec.pointer(pointer) == Some(&Value::Bool(told));
    let is_off = [says("/disableExternalNetwork", true), says("/enableExternalNetwork", false)];
    if !is_off.contains(&true) {
        return;
    }
    if spec.pointer("/bastion/floatingIP").is_some_and(|address| !address.is_null()) {
        refuse(out, RULE, at, "bastion.floatingIP", "without an external network there is no floating address");
    }
    let [by_old_name, by_new_name] = is_off;
    if by_old_name && !says("/disableAPIServerFloatingIP", true) {
        for key in ["disableAPIServerFloatingIP", "disableExternalNetwork"] {
            refuse(out, RULE, at, key, "without an external network disableAPIServerFloatingIP must be true");
        }
    }
    if by_new_name && !says("/apiServer/enableFloatingIP", false) {
        for key in ["apiServer.enableFloatingIP", "enableExternalNetwork"] {
            refuse(out, RULE, at, key, "without an external network apiServer.enableFloatingIP must be false");
        }
    }
}

/// A managed network or router that says nothing; the API server lets one be that was there and does not change.
fn empty(old: Option<&Value>, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let table: [(&str, &[&str]); 2] =
        [("managedNetwork", &["mtu", "enablePortSecurity"]), ("managedRouter", &["externalIPs"])];
    for (key, wanted) in table {
        let told = spec.get(key).filter(|told| told.is_object());
        let is_new = old.and_then(|old| old.get(key)) != told;
        let is_empty = |told: &Value| wanted.iter().all(|key| told.get(*key).is_none_or(Value::is_null));
        if is_new && told.is_some_and(is_empty) {
            refuse(out, RULE, at, key, format!("it must have {} where it is set", wanted.join(" or ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn told(old: Option<&Value>, spec: &Value) -> Vec<String> {
        let mut out = Vec::new();
        refusals(old, spec, &Path::root(), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn without_an_external_network_there_are_no_floating_addresses() {
        let bastion = json!({"spec": {"flavor": "m1"}, "floatingIP": "203.0.113.9"});
        let both = json!({"disableExternalNetwork": true, "disableAPIServerFloatingIP": true, "bastion": bastion});
        assert_eq!(told(None, &both), ["bastion.floatingIP"]);
        assert_eq!(told(None, &json!({"disableExternalNetwork": true})).len(), 2);
        let off = json!({"disableExternalNetwork": true, "disableAPIServerFloatingIP": true});
        assert_eq!(told(None, &off), [""; 0]);
        assert_eq!(told(None, &json!({"disableExternalNetwork": false, "bastion": bastion})), [""; 0]);
    }

    #[test]
    fn the_same_holds_under_the_new_names() {
        let bastion = json!({"spec": {"flavor": {"id": "m1"}}, "floatingIP": "203.0.113.9"});
        let off = json!({"enableFloatingIP": false});
        let both = json!({"enableExternalNetwork": false, "apiServer": off, "bastion": bastion});
        assert_eq!(told(None, &both), ["bastion.floatingIP"]);
        assert_eq!(told(None, &json!({"enableExternalNetwork": false, "apiServer": off})), [""; 0]);
        let places = ["apiServer.enableFloatingIP", "enableExternalNetwork"];
        assert_eq!(told(None, &json!({"enableExternalNetwork": false})), places);
        let on = json!({"enableFloatingIP": true});
        assert_eq!(told(None, &json!({"enableExternalNetwork": false, "apiServer": on})), places);
        assert_eq!(told(None, &json!({"enableExternalNetwork": true, "bastion": bastion})), [""; 0]);
    }

    #[test]
    fn a_managed_network_says_something() {
        assert_eq!(told(None, &json!({"managedNetwork": {}})), ["managedNetwork"]);
        assert_eq!(told(None, &json!({"managedNetwork": {"mtu": 1400}})), [""; 0]);
        assert_eq!(told(None, &json!({"managedRouter": {}})), ["managedRouter"]);
        assert_eq!(told(None, &json!({"managedRouter": {"externalIPs": [{"subnet": {"id": "a"}}]}})), [""; 0]);
        let empty = json!({"managedNetwork": {}});
        assert_eq!(told(Some(&empty), &empty), [""; 0], "it was there");
        assert_eq!(told(Some(&json!({"managedNetwork": {"mtu": 1400}})), &empty), ["managedNetwork"]);
    }
}
