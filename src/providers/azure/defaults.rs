//! What the webhooks of the Azure provider fill in, as far as nothing is made up by chance.
//! Read beside `internal/api/v1beta1/azuremachine_default.go`, `azuremanagedcontrolplane_default.go` and
//! `internal/exp/api/v1beta1/azuremachinepool_default.go` of cluster-api-provider-azure 1.26. Clusters stand in `cluster`.

use std::collections::BTreeSet;

use crate::contract::CLUSTER_NAME;
use crate::kinds::Shape;
use crate::kinds::as_go::{blank, give, list_of};
use crate::kinds::fields::{child, text};
use crate::providers::kubeadm::mirror::with_v;
use crate::tree::{Map, Value, json};

/// Fills in a control plane that AKS manages (Default of AzureManagedControlPlaneWebhook). A key that is made by chance is not.
pub(super) fn managed(object: &mut Value, name: &str) {
    with_v(object.pointer_mut("/spec/version"));
    let cluster = object.pointer("/metadata/labels").and_then(|labels| labels.get(CLUSTER_NAME)).cloned();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    price(spec);
    if let Some(cluster) = cluster {
        give(spec, "resourceGroupName", || cluster.clone());
        if let Some(member) = spec.get_mut("fleetsMember").and_then(Value::as_object_mut) {
            give(member, "name", || cluster);
        }
    }
    let told = |spec: &Map, key: &str| spec.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (group, location) = (told(spec, "resourceGroupName"), told(spec, "location"));
    give(spec, "nodeResourceGroupName", || json!(format!("MC_{group}_{name}_{location}")));
    let is_overlay = told(spec, "networkPluginMode") == "overlay";
    let network = child(spec, "virtualNetwork");
    give(network, "name", || json!(name));
    give(network, "cidrBlock", || json!(if is_overlay { "10.224.0.0/12" } else { "10.0.0.0/8" }));
    give(network, "resourceGroup", || json!(group));
    let subnet = child(network, "subnet");
    give(subnet, "name", || json!(name));
    give(subnet, "cidrBlock", || json!(if is_overlay { "10.224.0.0/16" } else { "10.240.0.0/16" }));
    child(spec, "oidcIssuerProfile");
    // A pointer in Go: an empty one is one.
    blank(spec, "dnsPrefix", json!(name));
    for extension in list_of(spec, "extensions") {
        if let Some(plan) = extension.get_mut("plan").filter(|plan| plan.is_object()) {
            let own = format!("{name}-{}", text(plan, "/product").unwrap_or_default());
            plan.as_object_mut().into_iter().for_each(|plan| give(plan, "name", || json!(own)));
        }
    }
}

/// What AKS asks for a control plane; `Paid` is the old word.
fn price(spec: &mut Map) {
    blank(spec, "sku", json!({"tier": "Free"}));
    if let Some(tier) = spec.get_mut("sku").and_then(|sku| sku.get_mut("tier")).filter(|tier| **tier == "Paid") {
        *tier = json!("Standard");
    }
}

/// Fills in the template of a control plane that AKS manages (`azuremanagedcontrolplanetemplate_default.go`).
pub(super) fn managed_template(spec: &mut Map, name: &str) {
    blank(spec, "networkPlugin", json!("azure"));
    blank(spec, "loadBalancerSKU", json!("Standard"));
    blank(spec, "enablePreviewFeatures", json!(false));
    with_v(spec.get_mut("version"));
    price(spec);
    let network = child(spec, "virtualNetwork");
    give(network, "cidrBlock", || json!("10.0.0.0/8"));
    let subnet = child(network, "subnet");
    give(subnet, "name", || json!(name));
    give(subnet, "cidrBlock", || json!("10.240.0.0/16"));
}

/// Pointers in Go that must be there: one that is not there stays away, and the schema refuses it.
const POINTERS: [&str; 2] = ["extensionType", "identityRef"];

/// Writes what Go's types cannot leave out and the schema asks for, such as an empty text.
pub(super) fn zeros(shape: Shape, object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else { return };
    let before = spec.clone();
    shape.write_zeros(spec, &[]);
    without(spec, Some(&before));
}

/// Takes pointers away again that were not there before.
fn without(value: &mut Value, before: Option<&Value>) {
    match value {
        Value::Object(map) => {
            let was = |key: &str| before.and_then(|before| before.get(key));
            map.retain(|key, _| !POINTERS.contains(&key.as_str()) || was(key.as_str()).is_some());
            for (key, child) in map.iter_mut() {
                without(child, was(key.as_str()));
            }
        }
        Value::Array(list) => {
            for (place, child) in list.iter_mut().enumerate() {
                without(child, before.and_then(Value::as_array).and_then(|before| before.get(place)));
            }
        }
        _ => {}
    }
}

/// Fills in a pool of virtual machines (SetDefaults), but for what is made by chance or read from the cluster.
pub(super) fn pool(spec: &mut Map) {
    // A block that says nothing at all is let through as Go writes it; what is missing beside others is refused by the schema.
    if !spec.contains_key("template") {
        blank(spec, "location", json!(""));
    }
    let template = child(spec, "template");
    if template.is_empty() {
        blank(template, "vmSize", json!(""));
    }
    let boot = child(template, "diagnostics");
    if !boot.get("boot").is_some_and(Value::is_object) {
        boot.insert("boot".to_owned(), json!({"storageAccountType": "Managed"}));
    }
    interfaces(template);
    let disk = child(template, "osDisk");
    give(disk, "osType", || json!("Linux"));
    give(disk, "cachingType", || json!("None"));
}

/// Gives a field that says nothing this text.
pub(super) fn called(spec: &mut Map, key: &str, text: &str) {
    if spec.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
        spec.insert(key.to_owned(), json!(text));
    }
}

/// Fills in disks and network interfaces of a machine template.
pub(super) fn machine(spec: &mut Map) {
    disks(spec);
    interfaces(spec);
}

/// Disks without a number get the lowest one that is free among as many as there are disks (SetDefaultAzureMachineSpecDataDisks).
fn disks(spec: &mut Map) {
    let Some(disks) = spec.get_mut("dataDisks").and_then(Value::as_array_mut) else { return };
    let mut taken: BTreeSet<u64> = disks.iter().filter_map(|disk| disk.get("lun").and_then(Value::as_u64)).collect();
    let count = disks.len() as u64;
    for disk in disks.iter_mut().filter_map(Value::as_object_mut) {
        if disk.get("lun").is_none_or(Value::is_null)
            && let Some(free) = (0..count).find(|number| !taken.contains(number))
        {
            taken.insert(free);
            disk.insert("lun".to_owned(), json!(free));
        }
        if disk.get("cachingType").and_then(Value::as_str).is_none_or(str::is_empty) {
            let kind = disk.get("managedDisk").and_then(|managed| managed.get("storageAccountType"));
            let caching = if kind == Some(&json!("UltraSSD_LRS")) { "None" } else { "ReadWrite" };
            disk.insert("cachingType".to_owned(), json!(caching));
        }
    }
}

/// The old fields of the only interface move into the list of them (SetDefaultAzureMachineSpecNetworkInterfaces).
fn interfaces(spec: &mut Map) {
    let has = |spec: &Map, key: &str| spec.get(key).is_some_and(|value| !value.is_null() && *value != "");
    let has_old = has(spec, "subnetName") || has(spec, "acceleratedNetworking");
    let is_empty = spec.get("networkInterfaces").and_then(Value::as_array).is_none_or(|list| list.is_empty());
    if has_old && !is_empty {
        return;
    }
    if is_empty {
        let mut only = json!({});
        for key in ["subnetName", "acceleratedNetworking"] {
            if let (Some(value), Some(only)) = (spec.shift_remove(key), only.as_object_mut()) {
                only.insert(key.to_owned(), value);
            }
        }
        spec.insert("networkInterfaces".to_owned(), json!([only]));
    }
    let list = spec.get_mut("networkInterfaces").and_then(Value::as_array_mut);
    for interface in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        if interface.get("privateIPConfigs").and_then(Value::as_i64).unwrap_or(0) == 0 {
            interface.insert("privateIPConfigs".to_owned(), json!(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Versions;

    fn filled(spec: Value) -> Value {
        let mut spec = spec;
        machine(spec.as_object_mut().expect("a map"));
        spec
    }

    #[test]
    fn disks_get_numbers_and_interfaces_their_list() {
        let told = filled(json!({"dataDisks": [{"lun": 0}, {}], "subnetName": "a"}));
        assert_eq!(
            told,
            json!({"dataDisks": [{"lun": 0, "cachingType": "ReadWrite"}, {"lun": 1, "cachingType": "ReadWrite"}],
                "networkInterfaces": [{"subnetName": "a", "privateIPConfigs": 1}]})
        );
        assert_eq!(filled(json!({})), json!({"networkInterfaces": [{"privateIPConfigs": 1}]}));
        let ultra = filled(json!({"dataDisks": [{"managedDisk": {"storageAccountType": "UltraSSD_LRS"}}]}));
        assert_eq!(ultra["dataDisks"][0]["cachingType"], json!("None"));
    }

    #[test]
    fn a_template_that_aks_manages_gets_its_network() {
        let mut spec = json!({"version": "1.32.0", "networkPlugin": "kubenet", "sku": {"tier": "Paid"}});
        managed_template(spec.as_object_mut().expect("a map"), "a");
        assert_eq!(
            spec,
            json!({"version": "v1.32.0", "networkPlugin": "kubenet", "sku": {"tier": "Standard"},
                "loadBalancerSKU": "Standard", "enablePreviewFeatures": false,
                "virtualNetwork": {"cidrBlock": "10.0.0.0/8", "subnet": {"name": "a", "cidrBlock": "10.240.0.0/16"}}})
        );
    }

    #[test]
    fn go_writes_what_it_cannot_leave_out_but_no_pointers() {
        let of = |kind: &str| {
            Shape::of(kind, "infrastructure.cluster.x-k8s.io/v1beta1", &Versions::told("azure", "v1.26.0"))
        };
        let zeroed = |kind: &str, spec: Value| {
            let mut object = json!({"spec": {"template": {"spec": spec}}});
            zeros(of(kind).expect("a shape"), &mut object);
            object.pointer("/spec/template/spec").cloned().unwrap_or_default()
        };
        assert_eq!(zeroed("AzureMachineTemplate", json!({"osDisk": {}}))["vmSize"], "");
        let managed = zeroed("AzureManagedControlPlaneTemplate", json!({}));
        assert_eq!((managed.get("location"), managed.get("identityRef")), (Some(&json!("")), None));
        let told = json!({"identityRef": {"name": "a"}});
        assert_eq!(zeroed("AzureManagedControlPlaneTemplate", told)["identityRef"], json!({"name": "a"}));
    }
}
