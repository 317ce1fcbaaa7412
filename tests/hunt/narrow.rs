//! Users who may not read one kind of object: nothing that is held for who reads all may be allowed for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::api::Api;
use crate::bench::Bench;
use crate::objects::text;

/// What else rollgate reads beside the kinds of Cluster API and of its providers.
const BESIDE: [(&str, &str); 5] = [
    ("", "configmaps"),
    ("", "namespaces"),
    ("", "secrets"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apps", "deployments"),
];

/// One who may not read a kind.
#[derive(Clone)]
pub(crate) struct User {
    /// Group and resource that are kept from it.
    pub(crate) kept: (String, String),
    pub(crate) kubeconfig: PathBuf,
}

/// All of them, each made when it is drawn first.
pub(crate) struct Narrow {
    bench: &'static Bench,
    /// What the API server serves, by group.
    served: BTreeMap<String, BTreeSet<String>>,
    kept: Vec<(String, String)>,
    made: Mutex<BTreeMap<usize, User>>,
}

impl Narrow {
    pub(crate) fn of(bench: &'static Bench) -> Self {
        let served = served(&bench.api);
        let is_kept = |group: &str, name: &str| {
            group.ends_with("cluster.x-k8s.io") && !name.contains('/') || BESIDE.contains(&(group, name))
        };
        let pairs =
            served.iter().flat_map(|(group, names)| names.iter().map(move |name| (group.clone(), name.clone())));
        let kept = pairs.filter(|(group, name)| is_kept(group, name)).collect();
        Self { bench, served, kept, made: Mutex::default() }
    }

    /// The user that a number draws.
    pub(crate) fn user(&self, number: usize) -> User {
        let place = number % self.kept.len();
        let mut made = self.made.lock().expect("no thread panics with it");
        made.entry(place).or_insert_with(|| self.make(place)).clone()
    }

    fn make(&self, place: usize) -> User {
        let kept = self.kept[place].clone();
        let rules: Vec<Value> = self
            .served
            .iter()
            .map(|(group, names)| {
                let names: Vec<&String> = names.iter().filter(|name| (group, *name) != (&kept.0, &kept.1)).collect();
                json!({"apiGroups": [group], "resources": names, "verbs": ["*"]})
            })
            .collect();
        User { kubeconfig: self.bench.user(&format!("narrow-{place}"), &json!(rules)), kept }
    }
}

/// The resources that an API server serves, with what lies below them, by group.
fn served(api: &Api) -> BTreeMap<String, BTreeSet<String>> {
    let groups = api.get("/apis").expect("the API server names its groups");
    let versions = groups["groups"].as_array().into_iter().flatten().flat_map(|group| {
        let versions = group["versions"].as_array().into_iter().flatten();
        versions.map(|version| (text(&group["name"]), format!("/apis/{}", text(&version["groupVersion"]))))
    });
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (group, path) in versions.chain([(String::new(), "/api/v1".to_owned())]) {
        let list = api.get(&path).unwrap_or_default();
        let names = list["resources"].as_array().into_iter().flatten().map(|resource| text(&resource["name"]));
        out.entry(group).or_default().extend(names);
    }
    out
}
