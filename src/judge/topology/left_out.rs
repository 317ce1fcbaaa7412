//! What the topology controller wrote into an object earlier and its class no longer says: its next server-side apply takes it away.
//! Read beside `core/reconcilers/topology/cluster/structuredmerge/serversidepathhelper.go` (`NewServerSidePatchHelper`) of Cluster API
//! 1.14.

use crate::apiserver::fields::{FieldSet, Step, canonical, owners};
use crate::apiserver::versions::Versions;
use crate::kinds::contract::TOPOLOGY_MANAGER;
use crate::object::Path;
use crate::tree::{Map, Value};

/// The places of `spec` that the topology controller owns in an object, as the version of the object names them; `None` where it owns
/// none. Who applies is one manager in whatever version it did so last (apimachinery `pkg/util/managedfields/internal/managedfields.go`,
/// `BuildManagerIdentifier`, v0.34).
pub(super) fn owned(object: &Value) -> Option<FieldSet> {
    let is_own = |manager: &str, operation: &str| (manager, operation) == (TOPOLOGY_MANAGER, "Apply");
    let entry = owners(object).into_iter().find(|entry| is_own(&entry.manager, &entry.operation))?;
    let entry = Versions { live: object, rendered: object, last: None }.entry(entry);
    entry.fields.below.get(&Step::Field("spec".to_owned())).cloned()
}

/// Takes from a value what is `owned` in it and what `said` no longer has; gives the places that went.
pub(super) fn take(have: &mut Value, owned: &FieldSet, said: &Value) -> Vec<Path> {
    let mut gone = Vec::new();
    take_below(have, owned, said, &Path::root(), &mut gone);
    gone
}

fn take_below(have: &mut Value, owned: &FieldSet, said: &Value, path: &Path, gone: &mut Vec<Path>) {
    for (step, below) in &owned.below {
        match (step, &mut *have) {
            (Step::Field(key), Value::Object(map)) => {
                let path = path.key(key);
                match (map.get_mut(key), said.get(key)) {
                    (Some(have), Some(said)) => take_below(have, below, said, &path, gone),
                    (Some(_), None) => {
                        map.shift_remove(key);
                        gone.push(path);
                    }
                    (None, _) => {}
                }
            }
            (step, Value::Array(items)) => {
                let Some(at) = place(items, step) else { continue };
                let said = said.as_array().and_then(|said| said.get(place(said, step)?));
                match said {
                    Some(said) => take_below(&mut items[at], below, said, &path.index(at), gone),
                    None => {
                        items.remove(at);
                        gone.push(path.index(at));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Where the item stands that a step of a list leads to.
fn place(items: &[Value], step: &Step) -> Option<usize> {
    match step {
        Step::Item(keys) => {
            let keys: Map = serde_json::from_str::<Value>(keys).ok()?.as_object()?.clone();
            items.iter().position(|item| keys.iter().all(|(key, value)| item.get(key) == Some(value)))
        }
        Step::Member(member) => items.iter().position(|item| canonical(item) == *member),
        Step::Place(place) => Some(*place).filter(|place| *place < items.len()),
        Step::Field(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn what_was_written_and_is_no_longer_said_goes() {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "somebody", "operation": "Apply", "apiVersion": "g/v1", "fieldsV1": {"f:spec": {"f:other": {}}}},
            {"manager": "capi-topology", "operation": "Apply", "apiVersion": "g/v1", "fieldsV1": {"f:spec": {
                "f:files": {}, "f:config": {"f:a": {}, "f:b": {}}, "f:args": {"k:{\"name\":\"v\"}": {".": {}, "f:name": {}, "f:value": {}},
                "k:{\"name\":\"w\"}": {".": {}, "f:name": {}}}, "f:set": {"v:\"x\"": {}, "v:\"y\"": {}}}}},
        ]}});
        let owned = owned(&object).expect("it is owned");
        let mut have = json!({"files": [1], "other": 1, "config": {"a": 1, "b": 2, "filled": 3},
            "args": [{"name": "v", "value": "1"}, {"name": "w"}], "set": ["x", "y", "z"]});
        let said = json!({"config": {"b": 5}, "args": [{"name": "w"}], "set": ["y"]});
        let gone: Vec<String> = take(&mut have, &owned, &said).iter().map(ToString::to_string).collect();
        assert_eq!(gone, ["args[0]", "config.a", "files", "set[0]"]);
        assert_eq!(
            have,
            json!({"other": 1, "config": {"b": 2, "filled": 3}, "args": [{"name": "w"}], "set": ["y", "z"]})
        );
        // What is still said in full takes nothing away.
        assert_eq!(take(&mut have.clone(), &owned, &have), []);
    }

    #[test]
    fn who_applied_in_another_version_is_the_same() {
        let object = |manager: &str, operation: &str| {
            json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
                "metadata": {"managedFields": [{"manager": manager, "operation": operation,
                    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "fieldsV1": {"f:spec": {
                        "f:rolloutStrategy": {"f:type": {}}, "f:kubeadmConfigSpec": {"f:postKubeadmCommands": {}}}}}]},
                "spec": {"rollout": {"strategy": {"type": "RollingUpdate"}},
                    "kubeadmConfigSpec": {"postKubeadmCommands": ["a"], "preKubeadmCommands": ["b"]}}})
        };
        let own = object("capi-topology", "Apply");
        let mut have = own["spec"].clone();
        let gone = take(&mut have, &owned(&own).expect("it is owned"), &json!({"kubeadmConfigSpec": {}}));
        let gone: Vec<String> = gone.iter().map(ToString::to_string).collect();
        assert_eq!(gone, ["kubeadmConfigSpec.postKubeadmCommands", "rollout"]);
        assert_eq!(owned(&object("capi-topology", "Update")), None);
        assert_eq!(owned(&object("somebody", "Apply")), None);
    }
}
