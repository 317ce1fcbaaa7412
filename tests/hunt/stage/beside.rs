//! What happens to a cluster beside its release: what somebody does by hand, and what makes its controllers look.

use std::time::Duration;

use serde_json::{Value, json};

use crate::lookout::watched;
use crate::objects::text;
use crate::observe::{CAPI, OWNERS};
use crate::steps::Act;

use super::Stage;

impl Stage<'_> {
    /// Does something beside the release; what cannot be done is not.
    pub(crate) fn meddle(&mut self, act: &Act) {
        if matches!(act, Act::Forget) {
            self.forget();
            return;
        }
        if let Act::TakenOver(writer) = act {
            self.writer = *writer;
            self.forgotten = writer.helm().is_some() && self.records().is_empty();
            return;
        }
        let api = &self.space.bench.api;
        let namespace = &self.space.namespace;
        let sight = self.sight();
        let mut machines: Vec<String> =
            sight.all("machines").map(|machine| text(&machine["metadata"]["name"])).collect();
        machines.sort();
        let machine = |number: usize| machines.get(number % machines.len().max(1));
        let path = |group_version: &str, resource: &str, name: &str| {
            format!("/apis/{group_version}/namespaces/{namespace}/{resource}/{name}")
        };
        let merge =
            |path: &str, patch: &Value| drop(api.send("PATCH", path, Some(("application/merge-patch+json", patch))));
        match act {
            Act::Sick(number, sick) => {
                let Some(name) = machine(*number) else { return };
                let path = path(CAPI, "machines", name);
                let Some(held) = api.get(&path) else { return };
                let mut conditions = held["status"]["conditions"].as_array().cloned().unwrap_or_default();
                conditions.retain(|condition| condition["type"] != "Sick");
                if *sick {
                    conditions.push(json!({"type": "Sick", "status": "True", "reason": "Told", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z"}));
                }
                merge(&format!("{path}/status"), &json!({"status": {"conditions": conditions}}));
            }
            Act::Patch(group_version, resource, name, patch) => merge(&path(group_version, resource, name), patch),
            Act::PatchMachine(number, patch) => {
                if let Some(name) = machine(*number) {
                    merge(&path(CAPI, "machines", name), patch);
                }
            }
            Act::Delete(group_version, resource, name) => {
                drop(api.send("DELETE", &path(group_version, resource, name), None));
            }
            Act::DeleteMachine(number) => {
                if let Some(name) = machine(*number) {
                    drop(api.send("DELETE", &path(CAPI, "machines", name), None));
                }
            }
            Act::PatchSet(number, patch) => {
                let mut sets: Vec<String> =
                    sight.all("machinesets").map(|set| text(&set["metadata"]["name"])).collect();
                sets.sort();
                if let Some(name) = sets.get(number % sets.len().max(1)) {
                    merge(&path(CAPI, "machinesets", name), patch);
                }
            }
            Act::Make(list, object) => {
                let (group, resource) = list.split_once(' ').expect("a group and a resource");
                let path = format!("{group}/namespaces/{namespace}/{resource}");
                drop(api.send("POST", &path, Some(("application/json", object))));
            }
            Act::Twin => self.twin(),
            Act::End => drop(api.send("DELETE", &format!("/api/v1/namespaces/{namespace}"), None)),
            Act::Forget | Act::TakenOver(_) => {}
            Act::Orphan(name) => {
                let owner = path(CAPI, "machinedeployments", name);
                merge(&owner, &json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}));
                std::thread::sleep(Duration::from_secs(2));
                for set in sight.all("machinesets").filter(|set| set["metadata"]["ownerReferences"][0]["name"] == *name)
                {
                    let set = path(CAPI, "machinesets", &text(&set["metadata"]["name"]));
                    merge(&set, &json!({"metadata": {"ownerReferences": null}}));
                }
                drop(api.send("DELETE", &owner, None));
                merge(&owner, &json!({"metadata": {"finalizers": null}}));
            }
        }
    }

    /// Takes the record of the release away, as somebody does who thinks that it only takes room.
    fn forget(&mut self) {
        if self.writer.helm().is_none() {
            return;
        }
        for record in self.records() {
            drop(self.space.bench.api.send("DELETE", &record, None));
        }
        self.forgotten = true;
    }

    /// Where the records of the release lie; one that could not be installed has one, too.
    pub(super) fn records(&self) -> Vec<String> {
        let secrets = format!("/api/v1/namespaces/{}/secrets", self.space.namespace);
        let records = self.space.bench.api.list(&format!("{secrets}?labelSelector=owner%3Dhelm%2Cname%3Ddemo"));
        records.iter().map(|record| format!("{secrets}/{}", text(&record["metadata"]["name"]))).collect()
    }

    /// Makes what the release refers to in another namespace, under the same names.
    fn twin(&self) {
        let api = &self.space.bench.api;
        let other = format!("{}-twin", self.space.namespace);
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}});
        drop(api.send("POST", "/api/v1/namespaces", Some(("application/json", &namespace))));
        for object in self.objects.values() {
            let kind = text(&object["kind"]);
            let is_shared =
                kind.ends_with("Template") || ["ClusterClass", "MachineHealthCheck"].contains(&kind.as_str());
            if is_shared {
                let mut copy = object.clone();
                copy["metadata"] = json!({"name": object["metadata"]["name"]});
                let resource = if kind == "ClusterClass" {
                    "clusterclasses".to_owned()
                } else {
                    format!("{}s", kind.to_lowercase())
                };
                let path = format!("/apis/{}/namespaces/{other}/{resource}", text(&object["apiVersion"]));
                drop(api.send("POST", &path, Some(("application/json", &copy))));
            }
        }
    }

    /// Makes the controllers look: the one of topologies does not watch the templates of a class, and those of owners come back
    /// to a template that was missing only after minutes.
    pub(super) fn poke(&self) {
        self.touch(OWNERS.into_iter().filter(|(_, resource)| *resource != "machinesets"));
    }

    /// Makes every controller look that would come back by itself: those of bootstrap configs and infra Machines hear of their Machine.
    pub(super) fn nudge(&self) {
        self.touch(watched());
    }

    /// Writes an annotation that means nothing to anybody.
    fn touch(&self, resources: impl Iterator<Item = (&'static str, &'static str)>) {
        // A number: a text could be hidden, and a hidden one that is hidden again looks different.
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let patch = json!({"metadata": {"annotations": {"hunt/looked": now.to_string()}}});
        let sight = self.sight();
        for (group_version, resource) in resources {
            for object in sight.all(resource) {
                let path = self.path(group_version, resource, &text(&object["metadata"]["name"]));
                drop(self.space.bench.api.send("PATCH", &path, Some(("application/merge-patch+json", &patch))));
            }
        }
    }
}

/// Where the objects of a cluster lie, from the one that all others wait for to those that nothing waits for.
const OF_A_CLUSTER: [(&str, &str); 5] = [
    ("infrastructure.cluster.x-k8s.io/v1beta2", "devclusters"),
    ("bootstrap.cluster.x-k8s.io/v1beta2", "kubeadmconfigs"),
    ("bootstrap.cluster.x-k8s.io/v1beta1", "rke2configs"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "devmachines"),
    ("cluster.x-k8s.io/v1beta2", "clusterclasses"),
];

impl Drop for Stage<'_> {
    /// Takes the cluster away at once, so that the controllers have nothing to do with it any more.
    fn drop(&mut self) {
        let api = &self.space.bench.api;
        let names = |group_version: &str, resource: &str| -> Vec<String> {
            let path = format!("/apis/{group_version}/namespaces/{}/{resource}", self.space.namespace);
            let items = api.send("GET", &path, None).ok().map(|mut list| list["items"].take());
            items.iter().filter_map(Value::as_array).flatten().map(|it| text(&it["metadata"]["name"])).collect()
        };
        let (infra, others) = OF_A_CLUSTER.split_first().expect("it is not empty");
        for name in names(infra.0, infra.1) {
            drop(api.send("DELETE", &self.path(infra.0, infra.1, &name), None));
        }
        // Its controller stops the workload cluster while the Cluster is still there.
        std::thread::sleep(Duration::from_secs(2));
        let last = json!({"metadata": {"finalizers": null}});
        for (group_version, resource) in OWNERS.into_iter().chain(watched().take(1)).chain(others.iter().copied()) {
            for name in names(group_version, resource) {
                let path = self.path(group_version, resource, &name);
                drop(api.send("DELETE", &path, None));
                drop(api.send("PATCH", &path, Some(("application/merge-patch+json", &last))));
            }
        }
    }
}
