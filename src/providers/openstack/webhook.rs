//! Mirror of what the OpenStack provider's webhooks and schema refuse beside what the packs say: they compare Go's own
//! values, in which the order of a set counts and an empty list is not none.
//! Read beside `pkg/webhooks/openstack{cluster,clustertemplate,machine,machinetemplate,server}_webhook.go` and the validation rules
//! in `api/v1beta1/{types,openstackmachine_types,openstackcluster_types}.go`, `api/v1beta2` and `api/v1alpha1/openstackserver_types.go`
//! of cluster-api-provider-openstack 0.11 to 0.15.

use super::changes::{GROUP_RULES, MACHINES_FREED, NAME_SERVERS};
use super::{address, network, peers, pinned};
use crate::kinds::Versions;
use crate::kinds::Webhook;
use crate::kinds::fields::text;
use crate::kinds::webhook::Write;
use crate::kinds::webhook::{Refusal, refuse};
use crate::model::RuleId;
use crate::object::Key;
use crate::object::{Path, Segment};

use crate::tree::{Text, Value};

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("capo/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct OpenStack;

impl Webhook for OpenStack {
    fn normalise(&self, key: &Key, old: &mut Value, new: &mut Value, versions: &Versions) {
        normalise(&key.kind, old);
        normalise(&key.kind, new);
        if key.kind == "OpenStackCluster" {
            address::let_through(old, new);
            pinned::let_through(old, new, versions);
        }
    }

    fn is_normalised(&self, _name: &str) -> bool {
        true
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        refusals(write.kind_name(), write.past(), write.new, write.versions)
    }
}

/// Leaves out of an object what Go's types cannot tell from none: texts and flags that are no pointers there, and of a
/// Machine, which is compared as JSON, empty lists too.
fn normalise(kind: &str, object: &mut Value) {
    let machine = match kind {
        "OpenStackMachine" => object.get_mut("spec"),
        "OpenStackMachineTemplate" => object.pointer_mut("/spec/template/spec"),
        _ => None,
    };
    if let Some(machine) = machine.and_then(Value::as_object_mut) {
        machine.retain(|key, value| {
            !matches!(key.as_str(), "sshKeyName" | "trunk") || !(*value == "" || *value == Value::Bool(false))
        });
    }
    if let Some(spec) = object.get_mut("spec") {
        hold_below(spec, "spec", "", kind == "OpenStackMachine");
    }
}

/// Leaves out what lies below a place with this name, which lies in one with that name.
fn hold_below(value: &mut Value, name: &str, parent: &str, drops_lists: bool) {
    match value {
        Value::Object(map) => {
            // Those of images and server groups are pointers.
            let is_filter = name == "filter" && !matches!(parent, "image" | "serverGroup");
            map.retain(|key, child| {
                let is_plain = match key.as_str() {
                    "type" => matches!(name, "rootVolume" | "volume"),
                    "fixedIP" => name == "externalRouterIPs",
                    "tags" | "tagsAny" | "notTags" | "notTagsAny" => false,
                    _ => is_filter,
                };
                let is_zero = *child == "" || *child == 0;
                !((is_plain && is_zero) || (drops_lists && child.as_array().is_some_and(Vec::is_empty)))
            });
            for (key, child) in map.iter_mut() {
                hold_below(child, key, name, drops_lists);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|child| hold_below(child, name, parent, drops_lists)),
        _ => {}
    }
}

/// What is refused about an object; the old side is `None` where it is new.
#[must_use]
fn refusals(kind: &str, old: Option<&Value>, new: &Value, versions: &Versions) -> Vec<Refusal> {
    let mut out = Vec::new();
    let (pointer, at) = if kind.ends_with("Template") {
        ("/spec/template/spec", Path::root().key("spec").key("template").key("spec"))
    } else {
        ("/spec", Path::root().key("spec"))
    };
    let Some(spec) = new.pointer(pointer) else { return out };
    if let (Some(old), "OpenStackCluster") = (old, kind) {
        pinned::refusals(old, new, versions, &at, &mut out);
    }
    let old = old.and_then(|old| old.pointer(pointer));
    match kind {
        "OpenStackCluster" | "OpenStackClusterTemplate" => {
            bastion(old.and_then(|old| old.get("bastion")), spec.get("bastion"), &at.key("bastion"), &mut out);
            network::refusals(old, spec, &at, &mut out);
            if kind == "OpenStackCluster" {
                peers::refusals(spec, old.is_none(), versions, &at, &mut out);
            }
        }
        "OpenStackMachine" | "OpenStackMachineTemplate" | "OpenStackServer" => {
            machine(old, spec, &at, &mut out);
            if old.is_none() {
                new_machine(kind, spec, &at, &mut out);
            }
        }
        _ => return out,
    }
    if let Some(old) = old {
        let mut places = Vec::new();
        // A Machine is compared as JSON, which has no empty lists.
        let empty_counts = matches!(kind, "OpenStackCluster" | "OpenStackServer");
        differences(Some(old), Some(spec), &at, empty_counts, &mut places);
        for place in places.into_iter().filter(|place| !is_free(kind, place, versions)) {
            let message = "another order, or an empty list instead of none, is another content for the webhook";
            refuse(&mut out, RULE, &place, "", message);
        }
    }
    out
}

/// Whether a place is one that the webhook leaves out.
fn is_free(kind: &str, place: &Path, versions: &Versions) -> bool {
    let keys: Vec<&str> = place
        .segments()
        .iter()
        .filter_map(|segment| if let Segment::Key(key) = segment { Some(key.as_str()) } else { None })
        .skip(if kind.ends_with("Template") { 3 } else { 1 })
        .collect();
    match (kind, keys.as_slice()) {
        ("OpenStackMachine" | "OpenStackMachineTemplate", ["ports", "allowedAddressPairs", ..]) => {
            versions.has(&MACHINES_FREED)
        }
        ("OpenStackCluster", keys) => is_free_of_cluster(keys, versions),
        _ => false,
    }
}

/// Whether the webhook lets a field of a cluster change, by the keys below its spec.
fn is_free_of_cluster(keys: &[&str], versions: &Versions) -> bool {
    match keys {
        ["identityRef" | "bastion" | "controlPlaneAvailabilityZones" | "controlPlaneOmitAvailabilityZone", ..] => true,
        ["managedSecurityGroups", "controlPlaneNodesSecurityGroupRules" | "workerNodesSecurityGroupRules", ..] => {
            versions.has(&GROUP_RULES)
        }
        ["managedSecurityGroups", rules, ..] => rules.ends_with("Rules") || *rules == "allowAllInClusterTraffic",
        ["apiServerLoadBalancer", "allowedCIDRs", ..] => true,
        ["apiServer", "managedLoadBalancer", "allowedCIDRs", ..] => true,
        ["managedSubnets", "dnsNameservers", ..] => versions.has(&NAME_SERVERS),
        // What may change there is said in `pinned`.
        ["subnets", "filter", ..] => true,
        _ => false,
    }
}

/// The places at which Go's values differ and ours do not: other orders, and empty lists where they count.
fn differences(old: Option<&Value>, new: Option<&Value>, at: &Path, empty_counts: bool, out: &mut Vec<Path>) {
    let is_empty_list = |side: Option<&Value>| side.and_then(Value::as_array).is_some_and(Vec::is_empty);
    match (old, new) {
        (Some(Value::Array(left)), Some(Value::Array(right))) if left.len() == right.len() => {
            let is_other_order = left != right && left.iter().all(|item| count(left, item) == count(right, item));
            if is_other_order {
                out.push(at.clone());
                return;
            }
            for (place, (left, right)) in left.iter().zip(right).enumerate() {
                differences(Some(left), Some(right), &at.index(place), empty_counts, out);
            }
        }
        (Some(Value::Object(_)) | None, Some(Value::Object(_))) | (Some(Value::Object(_)), None) => {
            let maps = [old, new].into_iter().flatten().filter_map(Value::as_object);
            let mut keys: Vec<&Text> = maps.flat_map(crate::tree::Map::keys).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let side = |side: Option<&'_ Value>| side.and_then(|side| side.get(key)).cloned();
                let (left, right) = (side(old), side(new));
                differences(left.as_ref(), right.as_ref(), &at.key(key.as_str()), empty_counts, out);
            }
        }
        (None | Some(Value::Null), _) if empty_counts && is_empty_list(new) => out.push(at.clone()),
        (_, None | Some(Value::Null)) if empty_counts && is_empty_list(old) => out.push(at.clone()),
        _ => {}
    }
}

/// How often an item stands in a list.
fn count(list: &[Value], item: &Value) -> usize {
    list.iter().filter(|other| *other == item).count()
}

/// A bastion that is not turned off needs a Machine's spec.
fn bastion(old: Option<&Value>, new: Option<&Value>, at: &Path, out: &mut Vec<Refusal>) {
    let Some(bastion) = new.filter(|bastion| bastion.is_object()) else { return };
    match bastion.get("spec").filter(|spec| spec.is_object()) {
        Some(spec) => machine(old.and_then(|old| old.get("spec")), spec, &at.key("spec"), out),
        None if bastion.get("enabled") != Some(&Value::Bool(false)) => {
            refuse(out, RULE, at, "spec", "a bastion that is not turned off needs a spec");
        }
        None => {}
    }
}

/// What every Machine's spec must have.
fn machine(old: Option<&Value>, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let has = |value: &Value, key: &str| value.get(key).is_some_and(|value| !value.is_null());
    if !has(spec, "flavor") && !has(spec, "flavorID") {
        for key in ["flavor", "flavorID"] {
            refuse(out, RULE, at, key, "one of flavor and flavorID must be set");
        }
    }
    if let (Some(old), Some(new)) = (old.and_then(|old| old.get("identityRef")), spec.get("identityRef"))
        && old.is_object()
        && new.is_object()
        && old.get("region") != new.get("region")
    {
        refuse(out, RULE, at, "identityRef.region", "the region cannot change");
    }
    let volumes = list(spec, "additionalBlockDevices").map(|(place, device)| {
        (format!("additionalBlockDevices[{place}].storage.volume"), device.pointer("/storage/volume"))
    });
    for (below, volume) in volumes.chain([("rootVolume".to_owned(), spec.get("rootVolume"))]) {
        let Some(zone) = volume.and_then(|volume| volume.get("availabilityZone")).filter(|zone| zone.is_object())
        else {
            continue;
        };
        let by_name = text(zone, "/from").is_none_or(|from| from == "Name");
        if by_name != has(zone, "name") {
            let message = "a zone from a name needs the name, and one from the Machine must not have it";
            for key in ["name", "from"] {
                refuse(out, RULE, at, &format!("{below}.availabilityZone.{key}"), message);
            }
        }
    }
    for (place, hint) in list(spec, "schedulerHintAdditionalProperties") {
        let value = hint.get("value").unwrap_or(&Value::Null);
        let wanted = match text(value, "/type") {
            Some("Bool") => "bool",
            Some("Number") => "number",
            Some("String") => "string",
            _ => continue,
        };
        for key in ["bool", "number", "string"].into_iter().filter(|key| has(value, key) != (*key == wanted)) {
            let below = format!("schedulerHintAdditionalProperties[{place}].value.{key}");
            refuse(out, RULE, at, &below, "exactly the value that its type names must be set");
        }
    }
}

/// What only a new Machine or template is asked for.
fn new_machine(kind: &str, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let has = |key: &str| spec.get(key).is_some_and(|value| !value.is_null());
    if kind == "OpenStackMachineTemplate" {
        if has("providerID") {
            refuse(out, RULE, at, "providerID", "a template has no provider id");
        }
        return;
    }
    for (place, device) in list(spec, "additionalBlockDevices").filter(|_| has("rootVolume")) {
        if text(device, "/name") == Some("root") {
            let below = format!("additionalBlockDevices[{place}].name");
            refuse(out, RULE, at, &below, "beside a rootVolume no other device is named root");
        }
    }
    for (place, port) in list(spec, "ports").filter(|(_, port)| is_open(port)) {
        if list(port, "securityGroups").next().is_some() {
            let below = format!("ports[{place}].securityGroups");
            refuse(out, RULE, at, &below, "a port whose port security is turned off has no security groups");
        }
    }
}

/// Whether the port security of a port is turned off, under the names of both API versions.
fn is_open(port: &Value) -> bool {
    port.get("disablePortSecurity") == Some(&Value::Bool(true))
        || port.get("enablePortSecurity") == Some(&Value::Bool(false))
}

/// Items of a list with their places.
fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    value.get(key).and_then(Value::as_array).into_iter().flatten().enumerate()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(kind: &str, old: Option<Value>, new: Value) -> Vec<String> {
        let versions = Versions::told("openstack", "v0.11.3");
        let found = refusals(kind, old.as_ref(), &new, &versions);
        found.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn another_order_is_another_content() {
        let cluster =
            |tags: Value, zones: Value| json!({"spec": {"tags": tags, "controlPlaneAvailabilityZones": zones}});
        let old = cluster(json!(["a", "b"]), json!(["x", "y"]));
        let told = |new| refused("OpenStackCluster", Some(old.clone()), new);
        assert_eq!(told(cluster(json!(["b", "a"]), json!(["x", "y"]))), ["spec.tags"]);
        assert_eq!(told(cluster(json!(["a", "b"]), json!(["y", "x"]))), [""; 0], "zones are left out");
        assert_eq!(told(cluster(json!(["a", "c"]), json!(["x"]))), [""; 0], "that is a change of its own");
    }

    #[test]
    fn an_empty_list_is_not_none_for_a_cluster() {
        let old = json!({"spec": {"network": {"id": "n"}}});
        let new = json!({"spec": {"network": {"id": "n"}, "tags": [], "router": {"filter": {"tags": []}}}});
        let found = refused("OpenStackCluster", Some(old.clone()), new);
        assert_eq!(found, ["spec.router.filter.tags", "spec.tags"]);
        let same = json!({"spec": {"network": {"id": "n"}, "bastion": {"enabled": false, "floatingIP": ""}}});
        assert_eq!(refused("OpenStackCluster", Some(old), same), [""; 0]);
        let machine = |tags: Value| json!({"spec": {"flavor": "m1", "tags": tags}});
        assert_eq!(refused("OpenStackMachine", Some(machine(json!(null))), machine(json!([]))), [""; 0]);
    }

    #[test]
    fn a_machine_has_a_flavor_and_zones_that_fit() {
        let machine = |zone: Value| json!({"spec": {"flavor": "m1", "rootVolume": {"availabilityZone": zone}}});
        assert_eq!(refused("OpenStackMachine", None, machine(json!({"name": "a"}))), [""; 0]);
        assert_eq!(refused("OpenStackMachine", None, machine(json!({"from": "Machine"}))), [""; 0]);
        assert_eq!(refused("OpenStackMachine", None, machine(json!({"from": "Machine", "name": "a"}))).len(), 2);
        assert_eq!(refused("OpenStackCluster", None, json!({"spec": {"bastion": {}}})), ["spec.bastion.spec"]);
        assert_eq!(refused("OpenStackCluster", None, json!({"spec": {"bastion": {"enabled": false}}})), [""; 0]);
    }

    #[test]
    fn a_new_machine_has_one_root_and_a_new_template_no_id() {
        let machine = |device: &str| json!({"spec": {"flavor": "m1", "rootVolume": {"sizeGiB": 10}, "additionalBlockDevices": [{"name": device}]}});
        let place = "spec.additionalBlockDevices[0].name";
        assert_eq!(refused("OpenStackMachine", None, machine("root")), [place]);
        assert_eq!(refused("OpenStackMachine", None, machine("etcd")), [""; 0]);
        assert_eq!(
            refused("OpenStackMachine", Some(machine("root")), machine("root")),
            [""; 0],
            "only a new one is asked"
        );
        let alone = json!({"spec": {"flavor": "m1", "additionalBlockDevices": [{"name": "root"}]}});
        assert_eq!(refused("OpenStackMachine", None, alone), [""; 0]);
        let template = |id: Value| json!({"spec": {"template": {"spec": {"flavor": "m1", "providerID": id}}}});
        let place = "spec.template.spec.providerID";
        assert_eq!(refused("OpenStackMachineTemplate", None, template(json!("openstack:///a"))), [place]);
        assert_eq!(refused("OpenStackMachineTemplate", None, template(json!(null))), [""; 0]);
        assert_eq!(refused("OpenStackMachine", None, json!({"spec": {"flavor": "m1", "providerID": "a"}})), [""; 0]);
    }

    #[test]
    fn a_new_machine_has_no_security_groups_at_a_port_without_port_security() {
        let machine = |port: Value| json!({"spec": {"flavor": "m1", "ports": [{"description": "a"}, port]}});
        let place = "spec.ports[1].securityGroups";
        let groups = || json!([{"filter": {"name": "g"}}]);
        for kind in ["OpenStackMachine", "OpenStackServer"] {
            let told = |port: Value| refused(kind, None, machine(port));
            assert_eq!(told(json!({"disablePortSecurity": true, "securityGroups": groups()})), [place], "{kind}");
            assert_eq!(told(json!({"enablePortSecurity": false, "securityGroups": groups()})), [place], "{kind}");
            assert_eq!(told(json!({"disablePortSecurity": false, "securityGroups": groups()})), [""; 0], "{kind}");
            assert_eq!(told(json!({"securityGroups": groups()})), [""; 0], "{kind}");
            assert_eq!(told(json!({"disablePortSecurity": true, "securityGroups": []})), [""; 0], "{kind}");
            let old = machine(json!({"disablePortSecurity": true, "securityGroups": groups()}));
            assert_eq!(refused(kind, Some(old.clone()), old), [""; 0], "only a new one is asked");
        }
        let spec = json!({"flavor": "m1", "ports": [{"disablePortSecurity": true, "securityGroups": groups()}]});
        let template = json!({"spec": {"template": {"spec": spec}}});
        assert_eq!(refused("OpenStackMachineTemplate", None, template), [""; 0], "a template is not asked");
    }

    #[test]
    fn pairs_of_addresses_may_change_their_order_since_0_15() {
        let told = |version: &str, kind: &str, key: &str| {
            let side = |items: Value| {
                let spec = json!({"flavor": "m1", "ports": [{key: items}]});
                if kind.ends_with("Template") {
                    json!({"spec": {"template": {"spec": spec}}})
                } else {
                    json!({"spec": spec})
                }
            };
            let (old, new) = (side(json!(["a", "b"])), side(json!(["b", "a"])));
            refusals(kind, Some(&old), &new, &Versions::told("openstack", version)).len()
        };
        for kind in ["OpenStackMachine", "OpenStackMachineTemplate"] {
            let pairs = ["v0.14.7", "v0.15.0"].map(|version| told(version, kind, "allowedAddressPairs"));
            assert_eq!((pairs, told("v0.15.0", kind, "tags")), ([1, 0], 1), "{kind}");
        }
    }

    #[test]
    fn zeros_of_plain_values_are_left_out() {
        let held = |kind: &str, spec: Value| {
            let mut object = json!({"spec": spec});
            normalise(kind, &mut object);
            object["spec"].clone()
        };
        let zeros = json!({"trunk": false, "sshKeyName": "", "configDrive": false, "tags": [],
            "ports": [{"trunk": false, "network": {"filter": {"name": ""}}}], "image": {"filter": {"name": ""}}});
        let left = json!({"configDrive": false, "ports": [{"trunk": false, "network": {"filter": {}}}],
            "image": {"filter": {"name": ""}}});
        assert_eq!(held("OpenStackMachine", zeros.clone()), left);
        let template = held("OpenStackMachineTemplate", json!({"template": {"spec": zeros}}));
        assert_eq!(template.pointer("/template/spec/tags"), Some(&json!([])), "a template is compared as Go's values");
        assert_eq!(template.pointer("/template/spec/trunk"), None);
        let cluster = json!({"tags": [], "identityRef": {"region": ""}});
        assert_eq!(held("OpenStackCluster", cluster.clone()), cluster, "the schema compares the region");
    }
}
