//! The variables that patches of a class read: those of the topology with the class's defaults, overrides of one group,
//! and the builtin ones.
//! Read beside `core/reconcilers/topology/cluster/patches/variables/{variables,value}.go` of Cluster API 1.14. Names that
//! only the controller knows stand for themselves, so that they are the same before and after.

use super::queue::{DEFER, HOLD};
use super::variables::OVERRIDES;
use crate::gotemplate::Values;
use crate::judge::topology::blueprint::Group;
use crate::kinds::contract::{CLUSTER_NAME, CONVERSION_DATA, TOPOLOGY_DEPLOYMENT, TOPOLOGY_OWNED, TOPOLOGY_POOL};
pub(crate) use crate::kinds::fields::list;
use crate::kinds::fields::text;
use crate::object::{Path, Segment};
use crate::tree::{Map, Value, json};

/// The variables of the whole cluster.
#[must_use]
pub(crate) fn of_cluster(cluster: &Value, class: &Value) -> Values {
    let mut out = Values::new();
    for definition in list(class, "/spec/variables") {
        let schema = definition.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
        if let (Some(name), Some(default)) = (text(definition, "/name"), schema.get("default")) {
            out.insert(name.to_owned(), default.clone());
        }
    }
    set(&mut out, list(cluster, "/spec/topology/variables"));
    fill_in(&mut out, class);
    out.insert("builtin".to_owned(), json!({"cluster": builtin_cluster(cluster)}));
    out
}

/// The values that patches of one group see: those of its Cluster, with the group's overrides and builtin values on top.
#[must_use]
pub(crate) fn of_group(cluster: &Value, class: &Value, values: &Values, group: &Group) -> Values {
    let mut out = values.clone();
    if let Some(topology) = group.topology.and_then(|pointer| cluster.pointer(&pointer.replace("{}", &group.place))) {
        if list(topology, OVERRIDES).next().is_some() {
            set(&mut out, list(topology, OVERRIDES));
            // Into these it fills too (`core/webhooks/admission/cluster.go` DefaultVariables).
            fill_in(&mut out, class);
        }
        let version = text(cluster, "/spec/topology/version");
        let own = |key: &str| format!("builtin:{}/{}/{key}", group.word, group.name);
        let mut builtin =
            json!({"version": version, "name": own("name"), "metadata": metadata(cluster, class, topology, group)});
        if let Some(map) = builtin.as_object_mut() {
            if let Some(replicas) = topology.get("replicas").filter(|replicas| !replicas.is_null()) {
                map.insert("replicas".to_owned(), replicas.clone());
            }
            if group.word == "controlPlane" {
                map.insert(
                    "machineTemplate".to_owned(),
                    json!({"infrastructureRef": {"name": own("infrastructureRef")}}),
                );
            } else {
                map.insert("class".to_owned(), json!(group.class));
                map.insert("topologyName".to_owned(), json!(group.name));
                map.insert("bootstrap".to_owned(), json!({"configRef": {"name": own("configRef")}}));
                map.insert("infrastructureRef".to_owned(), json!({"name": own("infrastructureRef")}));
            }
        }
        if let Some(map) = out.get_mut("builtin").and_then(Value::as_object_mut) {
            map.insert(group.word.to_owned(), builtin);
        }
    }
    out
}

/// The labels and annotations of the owner of a group, as patches read them: those of the class, those of the topology over them, and
/// those of the controller (`exp/topology/desiredstate/desired_state.go` computeControlPlane, computeMachineDeployment).
fn metadata(cluster: &Value, class: &Value, topology: &Value, group: &Group) -> Value {
    let of_class = match group.word {
        "controlPlane" => class.pointer("/spec/controlPlane"),
        word => list(class, &format!("/spec/workers/{word}s")).find(|own| text(own, "/class") == Some(&group.class)),
    };
    let said = |what: &str| -> Map {
        let mut out = Map::new();
        for holder in [of_class, Some(topology)].into_iter().flatten() {
            // v1beta1 has those of a class of workers in a template.
            let metadata = holder.get("metadata").or_else(|| holder.pointer("/template/metadata"));
            let said = metadata.and_then(|metadata| metadata.get(what)?.as_object());
            out.extend(said.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        }
        out
    };
    let (mut labels, mut annotations) = (said("labels"), said("annotations"));
    labels.insert(CLUSTER_NAME.to_owned(), text(cluster, "/metadata/name").unwrap_or_default().into());
    labels.insert(TOPOLOGY_OWNED.to_owned(), "".into());
    match group.word {
        "machineDeployment" => drop(labels.insert(TOPOLOGY_DEPLOYMENT.to_owned(), group.name.as_str().into())),
        "machinePool" => drop(labels.insert(TOPOLOGY_POOL.to_owned(), group.name.as_str().into())),
        _ => {}
    }
    for kept in [DEFER, HOLD] {
        annotations.shift_remove(kept);
    }
    json!({"labels": labels, "annotations": annotations})
}

/// The value at the path of a variable, such as `foo.bar[0].baz`.
pub(crate) fn look_up(values: &Values, path: &str) -> Result<Value, String> {
    let missing = || format!("the variable {path} does not exist");
    let parsed = Path::parse(path).map_err(|_| missing())?;
    let (Segment::Key(name), below) = parsed.segments().split_first().ok_or_else(missing)? else {
        return Err(missing());
    };
    let value = values.get(name).ok_or_else(missing)?;
    Path::from(below.to_vec()).get(value).cloned().ok_or_else(missing)
}

/// Puts named values in.
fn set<'v>(out: &mut Values, items: impl Iterator<Item = &'v Value>) {
    for item in items {
        if let Some(name) = text(item, "/name") {
            out.insert(name.to_owned(), item.get("value").cloned().unwrap_or_default());
        }
    }
}

/// Fills in what the class says of the inside of the variables that are set.
fn fill_in(values: &mut Values, class: &Value) {
    for definition in list(class, "/spec/variables") {
        if let Some(value) = text(definition, "/name").and_then(|name| values.get_mut(name)) {
            defaults(definition.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null), value);
        }
    }
}

/// Fills in the defaults of a schema inside a value that is there, as the webhook of the Cluster does.
pub(super) fn defaults(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, below) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if let (false, Some(default)) = (map.contains_key(key), below.get("default")) {
                    map.insert(key.clone(), default.clone());
                }
                if let Some(child) = map.get_mut(key) {
                    defaults(below, child);
                }
            }
            if let Some(below) = schema.get("additionalProperties").filter(|below| below.is_object()) {
                map.values_mut().for_each(|child| defaults(below, child));
            }
        }
        Value::Array(items) => {
            let below = schema.get("items").unwrap_or(&Value::Null);
            items.iter_mut().for_each(|item| defaults(below, item));
        }
        _ => {}
    }
}

/// What patches may ask about the cluster itself.
fn builtin_cluster(cluster: &Value) -> Value {
    let at = |pointer: &str| cluster.pointer(pointer).cloned().unwrap_or_default();
    let class = at("/spec/topology/classRef/name");
    let namespace = match at("/spec/topology/classRef/namespace") {
        Value::Null => at("/metadata/namespace"),
        namespace => namespace,
    };
    let mut annotations = at("/metadata/annotations");
    if let Some(map) = annotations.as_object_mut() {
        map.remove("kubectl.kubernetes.io/last-applied-configuration");
        map.remove(CONVERSION_DATA);
    }
    json!({
        "name": at("/metadata/name"),
        "namespace": at("/metadata/namespace"),
        "uid": at("/metadata/uid"),
        "metadata": {"labels": at("/metadata/labels"), "annotations": annotations},
        "topology": {
            "version": at("/spec/topology/version"),
            "class": class,
            "classNamespace": namespace,
            "classRef": {"name": class, "namespace": namespace},
        },
        "network": {
            "serviceDomain": at("/spec/clusterNetwork/serviceDomain"),
            "services": at("/spec/clusterNetwork/services/cidrBlocks"),
            "pods": at("/spec/clusterNetwork/pods/cidrBlocks"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_defaults_overrides_and_paths() {
        let class = json!({"spec": {"variables": [
            {"name": "image", "schema": {"openAPIV3Schema": {"type": "string", "default": "a"}}},
            {"name": "net", "schema": {"openAPIV3Schema": {"properties": {"mtu": {"default": 1500}}}}}]}});
        let cluster = json!({"metadata": {"name": "demo"}, "spec": {"topology": {
            "version": "v1.30.0", "variables": [{"name": "net", "value": {"dns": ["x", "y"]}}]}}});
        let values = of_cluster(&cluster, &class);
        assert_eq!(look_up(&values, "image"), Ok(json!("a")));
        assert_eq!(look_up(&values, "net.dns[1]"), Ok(json!("y")));
        assert_eq!(look_up(&values, "net.mtu"), Ok(json!(1500)));
        assert_eq!(look_up(&values, "builtin.cluster.topology.version"), Ok(json!("v1.30.0")));
        assert!(look_up(&values, "net.dns[2]").is_err());
        assert!(look_up(&values, "other").is_err());
    }
}
