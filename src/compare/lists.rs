//! How the items of a list are told apart: by a key where people and controllers call them by one, else by place.
//! The table names fields, not kinds: Cluster API uses a field name for one thing everywhere.

use crate::schema::{Merge, SchemaNode, SchemaShape};
use crate::tree::Value;

/// Field names whose list items have an identity, and the keys that make it, tried in order.
/// A key counts only where every item of both lists has it. A secret is never a key: identities are shown.
const KEYS: &[(&str, &[&str])] = &[
    ("files", &["path"]),
    ("users", &["name"]),
    ("extraArgs", &["name"]),
    ("kubeletExtraArgs", &["name"]),
    ("extraVolumes", &["name"]),
    ("extraEnvs", &["name"]),
    ("imagePullSecrets", &["name"]),
    ("env", &["name"]),
    ("envVars", &["name"]),
    ("variables", &["name"]),
    ("patches", &["name"]),
    ("machineDeployments", &["name", "class"]),
    ("machinePools", &["name", "class"]),
    ("overrides", &["name"]),
    ("failureDomains", &["name"]),
    ("readinessGates", &["conditionType"]),
    ("unhealthyConditions", &["type"]),
    ("unhealthyNodeConditions", &["type"]),
    ("unhealthyMachineConditions", &["type"]),
    ("taints", &["key", "effect"]),
    ("nodeTaints", &["key", "effect"]),
    ("ports", &["name", "nameSuffix"]),
    ("networks", &["name", "networkName"]),
    ("devices", &["name", "networkName"]),
    ("additionalBlockDevices", &["name"]),
    ("partitions", &["device"]),
    ("filesystems", &["device"]),
    ("mirrors", &["name"]),
    ("resources", &["kind", "name"]),
    ("ownerReferences", &["uid"]),
    ("conditions", &["type"]),
    ("addresses", &["type", "address"]),
    ("customizations", &["name"]),
    ("disks", &["name"]),
    ("ipAddressesFromPools", &["key"]),
    ("fromPools", &["key"]),
    ("subnets", &["name", "id"]),
    ("secrets", &["name"]),
    ("configMaps", &["name"]),
];

/// The identities of the items of two lists, where all have one and none stands twice.
///
/// A list of the table uses the keys that the table names; any other list of maps uses `name` where that works out, else
/// the keys by which the schema merges it.
pub(super) fn identities(
    field: &str,
    node: Option<&SchemaNode>,
    before: &[Value],
    after: &[Value],
) -> Option<(Vec<String>, Vec<String>)> {
    let named = KEYS.iter().find(|(name, _)| *name == field).map(|(_, keys)| *keys);
    let together = matches!(field, "taints" | "nodeTaints" | "resources" | "addresses");
    let keys = named.unwrap_or(&["name"]);
    if together {
        return both(keys, before, after);
    }
    let merged = match node.map(|node| &node.shape) {
        Some(SchemaShape::List { merge: Merge::Keys(keys), .. }) => keys.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let by_schema = || if merged.is_empty() { None } else { both(&merged, before, after) };
    keys.iter().find_map(|key| both(&[key], before, after)).or_else(by_schema)
}

/// The identities of both lists by these keys together; `None` where one is missing or stands twice.
fn both(keys: &[&str], before: &[Value], after: &[Value]) -> Option<(Vec<String>, Vec<String>)> {
    Some((distinct(keys, before)?, distinct(keys, after)?))
}

/// The identity of each item; `None` where one is missing or stands twice.
fn distinct(keys: &[&str], items: &[Value]) -> Option<Vec<String>> {
    let names: Vec<String> = items.iter().map(|item| identity(keys, item)).collect::<Option<_>>()?;
    let mut seen = std::collections::HashSet::with_capacity(names.len());
    names.iter().all(|name| seen.insert(name.as_str())).then_some(names)
}

/// The identity of one item.
fn identity(keys: &[&str], item: &Value) -> Option<String> {
    let parts: Vec<&str> = keys.iter().map(|key| item.get(key).and_then(Value::as_str)).collect::<Option<_>>()?;
    Some(parts.join("/"))
}
