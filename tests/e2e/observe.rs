//! What the controllers did after a write, read from the API server: the judge of every forecast.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::Space;

/// Cluster API's current version.
pub(crate) const CAPI: &str = "cluster.x-k8s.io/v1beta2";
/// Version of the control plane providers' groups, by provider.
pub(crate) const KUBEADM_CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";
pub(crate) const RKE2_CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta1";

/// Where the objects lie that stand for nodes: group and version, resource.
const OF_MACHINES: [(&str, &str); 4] = [
    (CAPI, "machines"),
    ("bootstrap.cluster.x-k8s.io/v1beta2", "kubeadmconfigs"),
    ("bootstrap.cluster.x-k8s.io/v1beta1", "rke2configs"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "devmachines"),
];

/// Where the objects lie that own Machines.
pub(crate) const OWNERS: [(&str, &str); 6] = [
    (CAPI, "clusters"),
    (CAPI, "machinedeployments"),
    (CAPI, "machinesets"),
    (CAPI, "machinehealthchecks"),
    (KUBEADM_CONTROL_PLANE, "kubeadmcontrolplanes"),
    (RKE2_CONTROL_PLANE, "rke2controlplanes"),
];

/// All that a namespace holds of Machines and their owners, by resource and then by uid.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sight {
    objects: BTreeMap<(&'static str, String), Value>,
}

/// The difference between two sights.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    /// Names of Machines that were made.
    pub(crate) created: Vec<String>,
    /// Names of Machines that are gone or being deleted.
    pub(crate) deleted: Vec<String>,
    /// What changed on Machines, bootstrap configs and infra Machines that stayed: `machines/NAME: PATH`.
    pub(crate) in_place: Vec<String>,
    /// Names of Machines that stay and that their owner does not find any more: it has none, or selects other labels.
    pub(crate) lost: Vec<String>,
    /// Machines that their owner calls outdated.
    pub(crate) outdated: Vec<String>,
    /// Owners whose spec changed: `resource/NAME` with the generation before and after.
    pub(crate) generations: BTreeMap<String, (i64, i64)>,
}

impl Observation {
    /// Whether the owners replaced a Machine or will.
    pub(crate) fn rolls(&self) -> bool {
        !self.outdated.is_empty() || !self.created.is_empty() || !self.deleted.is_empty()
    }
}

impl Sight {
    /// Looks at a namespace.
    pub(crate) fn of(space: &Space) -> Self {
        let mut sight = Self::default();
        for (group_version, resource) in OF_MACHINES.into_iter().chain(OWNERS) {
            space.list(group_version, resource).into_iter().for_each(|object| sight.add(resource, object));
        }
        sight
    }

    /// Adds an object of a resource.
    pub(crate) fn add(&mut self, resource: &'static str, object: Value) {
        self.objects.insert((resource, text(&object["metadata"]["uid"])), object);
    }

    /// The objects of a resource.
    pub(crate) fn all(&self, resource: &'static str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |((of, _), _)| *of == resource).map(|(_, object)| object)
    }

    /// Uids of the control plane's Machines, sorted.
    pub(crate) fn control_plane(&self) -> Vec<String> {
        self.machines(true)
    }

    /// Uids of the workers' Machines, sorted.
    pub(crate) fn workers(&self) -> Vec<String> {
        self.machines(false)
    }

    fn machines(&self, control_plane: bool) -> Vec<String> {
        let is = |machine: &Value| !machine["metadata"]["labels"]["cluster.x-k8s.io/control-plane"].is_null();
        self.all("machines")
            .filter(|machine| is(machine) == control_plane)
            .map(|machine| text(&machine["metadata"]["uid"]))
            .collect()
    }

    /// Whether every controller has seen the last write to every owner.
    pub(crate) fn settled(&self) -> bool {
        OWNERS.iter().flat_map(|(_, resource)| self.all(resource)).all(|owner| {
            let seen = owner["status"]["observedGeneration"].as_i64();
            seen == owner["metadata"]["generation"].as_i64()
        })
    }

    /// How many Machines run, and how many of them are available: nothing in their life is left to happen.
    pub(crate) fn running(&self) -> (usize, usize) {
        let runs = |machine: &&Value| machine["status"]["phase"] == "Running" && going(machine).is_none();
        let available = |machine: &&Value| condition(machine, "Available").is_some_and(|it| it["status"] == "True");
        let running: Vec<_> = self.all("machines").filter(runs).collect();
        (running.len(), running.iter().copied().filter(available).count())
    }

    /// Machines that their owner calls outdated.
    fn outdated(&self) -> Vec<String> {
        let is =
            |machine: &&Value| condition(machine, "UpToDate").is_some_and(|condition| condition["status"] == "False");
        let mut outdated: Vec<_> = self.all("machines").filter(is).map(name).collect();
        // CAPRKE2 says it of the control plane, not of the Machine.
        for owner in self.all("rke2controlplanes") {
            if condition(owner, "MachinesSpecUpToDate").is_some_and(|condition| condition["status"] == "False") {
                outdated.push(name(owner));
            }
        }
        outdated
    }

    /// Whether a Machine has an owner that finds it: a MachineSet finds its Machines by their labels.
    fn has_owner(&self, machine: &Value) -> bool {
        let Some(owner) = owner(machine) else { return false };
        let set = self.all("machinesets").find(|set| name(set) == owner);
        let labels = set.and_then(|set| set["spec"]["selector"]["matchLabels"].as_object());
        labels.into_iter().flatten().all(|(label, value)| machine["metadata"]["labels"][label] == *value)
    }

    /// What happened between this sight and a later one.
    pub(crate) fn until(&self, later: &Self) -> Observation {
        let mut seen = Observation { outdated: later.outdated(), ..Observation::default() };
        for (key @ (resource, _), after) in &later.objects {
            let Some(before) = self.objects.get(key) else {
                if *resource == "machines" {
                    seen.created.push(name(after));
                }
                continue;
            };
            if OWNERS.iter().any(|(_, owner)| owner == resource) {
                let generation = |object: &Value| object["metadata"]["generation"].as_i64().unwrap_or_default();
                if generation(before) != generation(after) {
                    seen.generations
                        .insert(format!("{resource}/{}", name(after)), (generation(before), generation(after)));
                }
            } else if *resource == "machines" && going(after).is_some() {
                seen.deleted.push(name(after));
            } else {
                if *resource == "machines" && self.has_owner(before) && !later.has_owner(after) {
                    seen.lost.push(name(after));
                }
                let mut paths = Vec::new();
                differences(&lasting(before), &lasting(after), String::new(), &mut paths);
                seen.in_place.extend(paths.into_iter().map(|path| format!("{resource}/{}: {path}", name(after))));
            }
        }
        let gone = self.objects.iter().filter(|(key, _)| key.0 == "machines" && !later.objects.contains_key(key));
        seen.deleted.extend(gone.map(|(_, machine)| name(machine)));
        seen
    }
}

/// How long a decision is watched: new Machines are made a moment before the old ones are called outdated.
const UNFOLDS: Duration = Duration::from_secs(2);

/// How much longer nothing may move before a write that some owner has not seen counts as seen.
const UNSEEN: Duration = Duration::from_secs(30);

/// Writes, waits until the controllers have decided, and says what they did. They have decided when they replace
/// something, or when all of them have seen the write and nothing has moved for `quiet`. What is paused never says that
/// it has seen the write; half a minute more without a move then counts.
pub(crate) fn observe<T>(space: &Space, quiet: Duration, write: impl FnOnce() -> T) -> (T, Observation) {
    let before = Sight::of(space);
    let written = write();
    let deadline = Instant::now() + Duration::from_secs(90) + quiet;
    let mut last = Sight::of(space);
    let mut still_since = Instant::now();
    let mut rolls_since = None;
    let mut outdated = BTreeSet::new();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = Sight::of(space);
        if now != last {
            still_since = Instant::now();
        }
        let mut seen = before.until(&now);
        outdated.extend(seen.outdated.iter().cloned());
        if seen.rolls() {
            rolls_since.get_or_insert_with(Instant::now);
        }
        let unfolded = rolls_since.is_some_and(|since: Instant| since.elapsed() >= UNFOLDS);
        let still = still_since.elapsed();
        if now.settled() && (unfolded || still >= quiet) || still >= quiet + UNSEEN {
            seen.outdated = outdated.into_iter().collect();
            return (written, seen);
        }
        assert!(Instant::now() < deadline, "the controllers do not come to rest: {seen:#?}");
        last = now;
    }
}

/// Looks again and again until the question is answered with yes.
#[track_caller]
pub(crate) fn wait_for(space: &Space, what: &str, patience: Duration, is: impl Fn(&Sight) -> bool) -> Sight {
    let began = Instant::now();
    loop {
        let sight = Sight::of(space);
        if is(&sight) {
            return sight;
        }
        if began.elapsed() > patience {
            let machines: Vec<_> = sight
                .all("machines")
                .map(|machine| format!("{} {}", name(machine), machine["status"]["phase"]))
                .collect();
            panic!("{} after {patience:?}: not yet {what}; Machines: {machines:?}", space.namespace);
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// A condition of an object, wherever its API version keeps it.
pub(crate) fn condition<'a>(object: &'a Value, of_type: &str) -> Option<&'a Value> {
    let places = ["/status/conditions", "/status/v1beta2/conditions"];
    places
        .iter()
        .filter_map(|place| object.pointer(place)?.as_array())
        .flatten()
        .find(|condition| condition["type"] == of_type)
}

/// Name of the MachineSet or control plane that owns a Machine.
fn owner(machine: &Value) -> Option<&str> {
    let owners = machine["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)?["name"].as_str()
}

pub(crate) fn going(object: &Value) -> Option<&str> {
    object["metadata"]["deletionTimestamp"].as_str()
}

/// The parts that nobody but a propagating controller changes: not status, and not what the life of a Machine writes.
fn lasting(object: &Value) -> Value {
    let mut spec = object["spec"].clone();
    for own in ["providerID", "failureDomain"] {
        if let Some(spec) = spec.as_object_mut() {
            spec.remove(own);
        }
    }
    let metadata = &object["metadata"];
    let mut annotations = metadata["annotations"].clone();
    if let Some(annotations) = annotations.as_object_mut() {
        // Written once by the control plane's controller, some time after the Machine runs.
        annotations.retain(|name, _| !name.starts_with("pre-terminate.delete.hook.machine.cluster.x-k8s.io/"));
    }
    serde_json::json!({"labels": metadata["labels"], "annotations": annotations, "spec": spec})
}

fn differences(before: &Value, after: &Value, path: String, out: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differences(&of(before), &of(after), inner, out);
            }
        }
        _ if before != after => out.push(path),
        _ => {}
    }
}

fn name(object: &Value) -> String {
    text(&object["metadata"]["name"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
