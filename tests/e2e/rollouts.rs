//! Rollouts on the real controllers, watched Machine by Machine and compared with the simulator of their loops.
//! ROLLGATE_RECORD_ROLLOUTS=FOLDER writes what was seen, to be replayed without the bench: testdata/rollouts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use kube::api::WatchEvent;
use serde_json::{Value, json};

use crate::bench::{Bench, Space, bench, say};
use crate::observe::{CAPI, KUBEADM_CONTROL_PLANE, RKE2_CONTROL_PLANE};
use crate::servers;
use crate::trace::Record;

/// Nothing has moved for so long: a rollout is over or stands still. Control planes look again after 10 to 15 seconds.
const QUIET: Duration = Duration::from_secs(40);
/// So long a rollout is watched at most.
const PATIENCE: Duration = Duration::from_secs(420);
/// So long Machines may take to come up before it.
const START: Duration = Duration::from_secs(300);

/// One rollout: an owner, and what is written to it.
struct Case {
    name: &'static str,
    owner: Owner,
    /// Machines before the write.
    from: u64,
    /// Machines that are wanted after it.
    to: u64,
    /// Fields of the spec beside the number and the templates.
    spec: Value,
    /// The template that the write names.
    template: &'static str,
    /// Whether somebody deletes a Machine by hand once nothing moves.
    by_hand: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Kubeadm,
    Rke2,
    Workers,
}

impl Owner {
    const fn kind(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Kubeadm => (KUBEADM_CONTROL_PLANE, "kubeadmcontrolplanes", "KubeadmControlPlane"),
            Self::Rke2 => (RKE2_CONTROL_PLANE, "rke2controlplanes", "RKE2ControlPlane"),
            Self::Workers => (CAPI, "machinedeployments", "MachineDeployment"),
        }
    }
}

fn rolling(surge: &Value, unavailable: &Value) -> Value {
    json!({"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}})
}

fn ordered(order: &str) -> Value {
    let mut spec = rolling(&json!(0), &json!(1));
    spec["deletion"] = json!({"order": order});
    spec
}

fn workers(name: &'static str, from: u64, to: u64, spec: Value) -> Case {
    Case { name, owner: Owner::Workers, from, to, spec, template: "new", by_hand: false }
}

fn plane(name: &'static str, from: u64, to: u64, surge: u64) -> Case {
    let spec = json!({"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}}});
    Case { name, owner: Owner::Kubeadm, from, to, spec, template: "new", by_hand: false }
}

fn cases() -> Vec<Case> {
    let roll = |surge: u64, unavailable: u64| rolling(&json!(surge), &json!(unavailable));
    vec![
        workers("md-3-1-0", 3, 3, roll(1, 0)),
        workers("md-3-0-1", 3, 3, roll(0, 1)),
        workers("md-4-2-0", 4, 4, roll(2, 0)),
        workers("md-5-half-quarter", 5, 5, rolling(&json!("50%"), &json!("25%"))),
        workers("md-3-tenth-tenth", 3, 3, rolling(&json!("10%"), &json!("10%"))),
        workers("md-4-0-tenth", 4, 4, rolling(&json!(0), &json!("10%"))),
        workers("md-1-1-0", 1, 1, roll(1, 0)),
        workers("md-2-1-1", 2, 2, roll(1, 1)),
        workers("md-4-0-3", 4, 4, roll(0, 3)),
        workers("md-2-to-4", 2, 4, roll(1, 0)),
        workers("md-4-to-2", 4, 2, roll(1, 0)),
        workers("md-3-newest", 3, 3, ordered("Newest")),
        workers("md-3-oldest", 3, 3, ordered("Oldest")),
        Case { template: "never", ..workers("md-3-never", 3, 3, roll(1, 1)) },
        Case {
            by_hand: true,
            ..workers("md-2-on-delete", 2, 2, json!({"rollout": {"strategy": {"type": "OnDelete"}}}))
        },
        plane("kcp-1-1", 1, 1, 1),
        plane("kcp-3-1", 3, 3, 1),
        plane("kcp-3-0", 3, 3, 0),
        plane("kcp-1-to-3", 1, 3, 1),
        plane("kcp-3-to-1", 3, 1, 1),
        Case { template: "never", ..plane("kcp-1-never", 1, 1, 1) },
        rke2("rke2-1-no-type", 1, 1, &json!({"rollingUpdate": {"maxSurge": 1}})),
        rke2("rke2-1-1", 1, 1, &json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})),
        rke2("rke2-3-1", 3, 3, &json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})),
        rke2("rke2-3-0", 3, 3, &json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}})),
        rke2("rke2-3-to-1", 3, 1, &json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})),
    ]
}

fn rke2(name: &'static str, from: u64, to: u64, strategy: &Value) -> Case {
    let spec = json!({"rolloutStrategy": strategy});
    Case { name, owner: Owner::Rke2, from, to, spec, template: "new", by_hand: false }
}

fn reference(group: &str, kind: &str, name: &str) -> Value {
    json!({"apiGroup": format!("{group}.cluster.x-k8s.io"), "kind": kind, "name": name})
}

/// A machine template whose Machines start after a while.
fn machine_template(name: &str, after: &str) -> Value {
    let time = json!({"provisioning": {"startupDuration": after}});
    let second = json!({"provisioning": {"startupDuration": "1s"}});
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate", "metadata": {"name": name},
        "spec": {"template": {"spec": {"backend": {"inMemory": {"vm": time, "node": second, "apiServer": second, "etcd": second}}}}},
    })
}

/// What a cluster consists of, its workers left out.
fn cluster(plane: Option<&Case>) -> Vec<(String, Value)> {
    let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
    let kind = plane.map_or("KubeadmControlPlane", |case| case.owner.kind().2);
    let is_rke2 = plane.is_some_and(|case| case.owner == Owner::Rke2);
    let mut owner = if is_rke2 {
        json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": "cp"},
            "spec": {
                "replicas": 1, "version": "v1.34.1+rke2r1", "registrationMethod": "control-plane-endpoint",
                "machineTemplate": {"infrastructureRef": {"apiVersion": infrastructure, "kind": "DevMachineTemplate", "name": "old"}},
                "serverConfig": {"cni": "calico"},
            },
        })
    } else {
        json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "cp"},
            "spec": {
                "replicas": 1, "version": "v1.34.0",
                "machineTemplate": {"spec": {"infrastructureRef": reference("infrastructure", "DevMachineTemplate", "old")}},
                "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"certSANs": ["127.0.0.1"]}}},
            },
        })
    };
    if let Some(case) = plane {
        owner["spec"]["replicas"] = json!(case.from);
        for (key, value) in case.spec.as_object().into_iter().flatten() {
            owner["spec"][key] = value.clone();
        }
    }
    let group = owner["apiVersion"].as_str().expect("a text").to_owned();
    vec![
        (
            format!("{infrastructure}/devclusters"),
            json!({"apiVersion": infrastructure, "kind": "DevCluster", "metadata": {"name": "demo"}, "spec": {"backend": {"inMemory": {}}}}),
        ),
        (format!("{infrastructure}/devmachinetemplates"), machine_template("old", "1s")),
        (format!("{infrastructure}/devmachinetemplates"), machine_template("new", "1s")),
        (format!("{infrastructure}/devmachinetemplates"), machine_template("never", "24h")),
        (
            "bootstrap.cluster.x-k8s.io/v1beta2/kubeadmconfigtemplates".to_owned(),
            json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate", "metadata": {"name": "workers"},
                "spec": {"template": {"spec": {"files": [{"path": "/etc/motd", "content": "worker\n"}]}}}}),
        ),
        (format!("{group}/{}s", kind.to_lowercase()), owner),
        (
            format!("{CAPI}/clusters"),
            json!({"apiVersion": CAPI, "kind": "Cluster", "metadata": {"name": "demo"}, "spec": {
                "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
                "controlPlaneRef": reference("controlplane", kind, "cp"),
                "infrastructureRef": reference("infrastructure", "DevCluster", "demo"),
            }}),
        ),
    ]
}

fn deployment(case: &Case) -> Value {
    let labels = json!({"pool": case.name, "cluster.x-k8s.io/cluster-name": "demo"});
    let mut owner = json!({
        "apiVersion": CAPI, "kind": "MachineDeployment", "metadata": {"name": case.name},
        "spec": {
            "clusterName": "demo", "replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "clusterName": "demo", "version": "v1.34.0",
                "bootstrap": {"configRef": reference("bootstrap", "KubeadmConfigTemplate", "workers")},
                "infrastructureRef": reference("infrastructure", "DevMachineTemplate", "old"),
            }},
        },
    });
    for (key, value) in case.spec.as_object().into_iter().flatten() {
        owner["spec"][key] = value.clone();
    }
    owner
}

/// What the API server told of Machines since the watch began, in its order, with the time.
type Told = Arc<Mutex<Vec<(Instant, String, Value)>>>;

fn watch(bench: &'static Bench) -> Told {
    let told = Told::default();
    let out = Arc::clone(&told);
    let list = bench.api.get(&format!("/apis/{CAPI}/machines")).expect("Machines can be listed");
    let version = list["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    let client = bench.api.client();
    std::thread::spawn(move || {
        let path = format!("/apis/{CAPI}/machines?watch=1&resourceVersion={version}&timeoutSeconds=3600");
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        bench.api.run(async {
            let stream = client.request_events::<Value>(request).await.expect("a watch");
            let mut stream = std::pin::pin!(stream);
            while let Ok(Some(event)) = stream.try_next().await {
                let (word, object) = match event {
                    WatchEvent::Added(object) => ("added", object),
                    WatchEvent::Modified(object) => ("modified", object),
                    WatchEvent::Deleted(object) => ("deleted", object),
                    WatchEvent::Bookmark(_) | WatchEvent::Error(_) => continue,
                };
                out.lock().expect("no thread panics with it").push((Instant::now(), word.to_owned(), object));
            }
        });
    });
    told
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn is_available(machine: &Value) -> bool {
    let has = |conditions: &Value, kind: &str| {
        let mut all = conditions.as_array().into_iter().flatten();
        all.any(|condition| condition["type"] == kind && condition["status"] == "True")
    };
    // CAPRKE2 says it in conditions of its own.
    let old = &machine["status"]["deprecated"]["v1beta1"]["conditions"];
    has(&machine["status"]["conditions"], "Available") || (has(old, "AgentHealthy") && has(old, "EtcdMemberHealthy"))
}

/// What happened to the Machines of one owner, as words: `make`, `ready`, `delete`, `gone`, each with a name.
#[derive(Default)]
struct Track {
    known: BTreeMap<String, (bool, bool)>,
    events: Vec<String>,
}

impl Track {
    fn see(&mut self, word: &str, machine: &Value) -> bool {
        let name = text(&machine["metadata"]["name"]);
        let before = self.events.len();
        if word == "deleted" {
            self.known.remove(&name);
            self.events.push(format!("gone {name}"));
            return true;
        }
        let now = (!machine["metadata"]["deletionTimestamp"].is_null(), is_available(machine));
        let was = self.known.insert(name.clone(), now);
        let (was_going, was_ready) = was.unwrap_or_default();
        if was.is_none() {
            self.events.push(format!("make {name}"));
        }
        if now.0 && !was_going {
            self.events.push(format!("delete {name}"));
        } else if !now.0 && now.1 != was_ready {
            self.events.push(format!("{} {name}", if now.1 { "ready" } else { "unready" }));
        }
        self.events.len() > before
    }
}

/// An owner with the place of its object.
struct Played<'c> {
    case: &'c Case,
    space: Space,
    path: String,
}

impl Played<'_> {
    fn owns(&self, machine: &Value) -> bool {
        let labels = &machine["metadata"]["labels"];
        text(&machine["metadata"]["namespace"]) == self.space.namespace
            && match self.case.owner {
                Owner::Workers => labels["pool"] == self.case.name,
                _ => !labels["cluster.x-k8s.io/control-plane"].is_null(),
            }
    }

    fn machines(&self) -> Vec<Value> {
        let mut own = self.space.list(CAPI, "machines");
        own.retain(|machine| self.owns(machine));
        own
    }

    /// Whether all of its Machines are there.
    fn is_up(&self, count: u64) -> bool {
        let own = self.machines();
        own.len() as u64 == count && own.iter().all(is_available)
    }

    fn write(&self) {
        let template = json!(self.case.template);
        let patch = match self.case.owner {
            Owner::Kubeadm => {
                json!({"spec": {"replicas": self.case.to, "machineTemplate": {"spec": {"infrastructureRef": {"name": template}}}}})
            }
            Owner::Rke2 => {
                json!({"spec": {"replicas": self.case.to, "machineTemplate": {"infrastructureRef": {"name": template}}}})
            }
            Owner::Workers => {
                json!({"spec": {"replicas": self.case.to, "template": {"spec": {"infrastructureRef": {"name": template}}}}})
            }
        };
        self.space.bench.api.merge(&self.path, &patch);
    }

    /// Everything of it from the write on, and how its Machines were before.
    fn record(&self, before: &[Value], told: &Told, since: usize) -> Value {
        let mut track = Track::default();
        for machine in before {
            track.see("added", machine);
        }
        track.events.clear();
        for (_, word, machine) in told.lock().expect("no thread panics with it").iter().skip(since) {
            if self.owns(machine) {
                track.see(word, machine);
            }
        }
        let owner = self.space.bench.api.get(&self.path).expect("the owner is there");
        let mut machines: Vec<Value> = before
            .iter()
            .map(|machine| json!({"name": machine["metadata"]["name"], "born": machine["metadata"]["creationTimestamp"], "ready": is_available(machine)}))
            .collect();
        machines.sort_by_key(|machine| text(&machine["name"]));
        let mut spec = json!({});
        for key in ["replicas", "rollout", "rolloutStrategy", "deletion"] {
            if !owner["spec"][key].is_null() {
                spec[key] = owner["spec"][key].clone();
            }
        }
        json!({
            "name": self.case.name,
            "owner": {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "spec": spec},
            "newMachinesNeverStart": self.case.template == "never",
            "deletedByHand": self.case.by_hand,
            "machines": machines,
            "events": track.events,
        })
    }
}

/// Makes the clusters and their owners, with all Machines up.
fn up<'c>(bench: &'static Bench, cases: &'c [Case]) -> Vec<Played<'c>> {
    let install = |space: &Space, objects: Vec<(String, Value)>| {
        for (place, mut object) in objects {
            // The in-memory provider writes into this map, and does not make it.
            object["metadata"]["annotations"] = json!({"note": "a rollout that is watched"});
            let (group, resource) = place.rsplit_once('/').expect("a group and a resource");
            bench.api.create(&format!("/apis/{group}/namespaces/{}/{resource}", space.namespace), &object);
        }
    };
    let mut played = Vec::new();
    let mut all_workers = Space::new(bench, "rollouts-workers");
    install(&all_workers, cluster(None));
    for case in cases {
        let (group, resource, _) = case.owner.kind();
        let space = if case.owner == Owner::Workers {
            std::mem::replace(
                &mut all_workers,
                Space { bench, namespace: "rollouts-workers".to_owned(), dir: bench.out.join("tests") },
            )
        } else {
            let space = Space::new(bench, &format!("rollouts-{}", case.name));
            install(&space, cluster(Some(case)));
            if case.owner == Owner::Rke2 {
                servers::serve(bench, space.namespace.clone(), || false);
            }
            space
        };
        let name = if case.owner == Owner::Workers { case.name } else { "cp" };
        if case.owner == Owner::Workers {
            bench.api.create(&format!("/apis/{group}/namespaces/{}/{resource}", space.namespace), &deployment(case));
        }
        let path = format!("/apis/{group}/namespaces/{}/{resource}/{name}", space.namespace);
        played.push(Played { case, space, path });
    }
    // Workers are made one by one, so that no two are born in the same second: the order of their deletion then says something.
    let most = cases.iter().map(|case| case.from).max().unwrap_or(1);
    for count in 2..=most {
        std::thread::sleep(Duration::from_secs(3));
        for owner in played.iter().filter(|one| one.case.owner == Owner::Workers && one.case.from >= count) {
            bench.api.merge(&owner.path, &json!({"spec": {"replicas": count}}));
        }
    }
    let began = Instant::now();
    while let Some(late) = played.iter().find(|one| !one.is_up(one.case.from)) {
        assert!(began.elapsed() < START, "{} does not come up", late.case.name);
        std::thread::sleep(Duration::from_secs(1));
    }
    played
}

/// Waits until nothing moves among the owners.
fn rest(played: &[&Played<'_>], told: &Told, since: usize) {
    let began = Instant::now();
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let mut tracks: BTreeMap<&str, Track> = BTreeMap::new();
        let mut last = began;
        for (time, word, machine) in told.lock().expect("no thread panics with it").iter().skip(since) {
            let Some(owner) = played.iter().find(|one| one.owns(machine)) else { continue };
            if tracks.entry(owner.case.name).or_default().see(word, machine) {
                last = (*time).max(last);
            }
        }
        if last.elapsed() > QUIET || began.elapsed() > PATIENCE {
            return;
        }
    }
}

#[test]
fn rollouts_go_as_they_are_simulated_forecasts() {
    let Some(bench) = bench() else { return };
    let only = std::env::var("ROLLGATE_E2E_CASE").unwrap_or_default();
    let mut cases = cases();
    cases.retain(|case| case.name.contains(&only));
    let played = up(bench, &cases);
    let told = watch(bench);
    std::thread::sleep(Duration::from_secs(1));
    let before: Vec<Vec<Value>> = played.iter().map(Played::machines).collect();
    let since = told.lock().expect("no thread panics with it").len();
    played.iter().for_each(Played::write);
    rest(&played.iter().collect::<Vec<_>>(), &told, since);
    let by_hand: Vec<&Played<'_>> = played.iter().filter(|one| one.case.by_hand).collect();
    if !by_hand.is_empty() {
        for one in &by_hand {
            let name = text(&one.machines()[0]["metadata"]["name"]);
            let path = format!("/apis/{CAPI}/namespaces/{}/machines/{name}", one.space.namespace);
            drop(bench.api.send("DELETE", &path, None).expect("a Machine can be deleted"));
        }
        rest(&by_hand, &told, since);
    }
    let mut wrong = Vec::new();
    for (one, before) in played.iter().zip(&before) {
        let record = one.record(before, &told, since);
        if let Ok(folder) = std::env::var("ROLLGATE_RECORD_ROLLOUTS") {
            let text = serde_json::to_string_pretty(&record).expect("JSON can be written");
            fs::write(Path::new(&folder).join(format!("{}.json", one.case.name)), text + "\n").expect("a file");
        }
        let differs = Record(&record.clone().into()).differs();
        say(&format!("{} {}: {}", if differs.is_some() { "!" } else { " " }, one.case.name, record["events"]));
        wrong.extend(differs);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
