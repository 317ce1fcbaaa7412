//! What the webhooks of the Azure provider fill in, as far as nothing is made up by chance.
//! Read beside `internal/api/v1beta1/azuremachine_default.go` of cluster-api-provider-azure 1.26.

use std::collections::BTreeSet;

use crate::tree::{Map, Value, json};

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
        if interface.get("privateIPConfigs").and_then(Value::as_u64).unwrap_or(0) == 0 {
            interface.insert("privateIPConfigs".to_owned(), json!(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
