//! The incident that rollgate exists for, played with both Helms: an address that comes late, and one that moves.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::helm::{Helm, Release};
use crate::observe::{RKE2_CONTROL_PLANE, Sight, condition, observe, wait_for};

/// Long enough for three Machines to be replaced on a busy machine.
const ROLLOUT: Duration = Duration::from_secs(240);
/// Long enough for a small cluster to come up on a busy machine.
const INSTALL: Duration = Duration::from_secs(240);
/// Nothing that the controllers would do comes later than this after a write.
const QUIET: Duration = Duration::from_secs(4);

/// How long the controllers may take to decide what must come.
const DECISION: Duration = Duration::from_secs(120);

/// The address that the infrastructure allocates.
const ADDRESS: &str = "10.0.3.7";
const PLACEHOLDER: &str = "55.55.55.55";

/// Late value, pinned once; a rollout is held.
const POLICY: &str = "\
apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
  - name: cluster_virtual_ip
    placeholders: [\"55.55.55.55\"]
    type: ip
    from:
      - object: {apiVersion: v1, kind: ConfigMap, name: capo-cluster-resources, path: \"$.data.allocated_ip\"}
    pin: once
    wait: 1s
gates: {rollout: hold}
";

/// Where an address is pinned: beside the release, or in Git.
#[derive(Clone, Copy)]
enum Pins {
    ConfigMap,
    File,
}

impl Pins {
    fn policy(self) -> String {
        let pins = match self {
            Self::ConfigMap => "pins: {store: configmap/rollgate-pins}\n",
            Self::File => "pins: {file: rollgate.pins.yaml}\n",
        };
        format!("{POLICY}{pins}")
    }

    fn read(self, space: &Space) -> String {
        match self {
            Self::ConfigMap => {
                let path = format!("/api/v1/namespaces/{}/configmaps/rollgate-pins", space.namespace);
                space.bench.api.get(&path).map_or_else(String::new, |pins| pins["data"].to_string())
            }
            Self::File => std::fs::read_to_string(space.dir.join("rollgate.pins.yaml")).unwrap_or_default(),
        }
    }
}

fn release<'a>(space: &'a Space, helm: Helm, chart: &'a str, pins: Pins, values: &[&str]) -> Release<'a> {
    let policy = space.file("rollgate.yaml", &pins.policy());
    let values = values.iter().map(|&value| value.to_owned()).collect();
    Release { space, helm, name: "demo", chart, values, policy }
}

/// Everything in the namespace, as names with resource versions.
fn everything(space: &Space) -> Vec<String> {
    let lists = space.bench.api.namespaced_lists(&space.namespace);
    let of_list = |list: String| {
        let items = space.bench.api.list(&list);
        items
            .into_iter()
            .map(move |item| format!("{list}/{} {}", item["metadata"]["name"], item["metadata"]["resourceVersion"]))
    };
    lists.into_iter().flat_map(of_list).collect()
}

fn allocate(space: &Space, address: &str) {
    space.config_map("capo-cluster-resources", &json!({}), &json!({"allocated_ip": address}));
}

/// Scenarios 1, 2, 5 and 3 in the life of one cluster, because making one takes a minute.
fn play(helm: Helm, pins: Pins) {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, &format!("story-{}", helm.name()));
    let release = release(&space, helm, "kubeadm", pins, &["workers.replicas=1"]);
    address_comes_late(&space, &release, pins);
    address_moves(&space, &release);
    in_place(&space, &release);
    address_moves_ungated(&space, &release);
}

fn address_comes_late(space: &Space, release: &Release<'_>, pins: Pins) {
    let before = everything(space);
    release.install(&[]).refused("cluster_virtual_ip");
    assert_eq!(everything(space), before, "a held install must leave nothing behind");

    allocate(space, ADDRESS);
    release.install(&[]).succeeded();
    wait_for(space, "four Machines running", INSTALL, |sight| sight.running() == (4, 4) && sight.settled());
    let configs = space.list("bootstrap.cluster.x-k8s.io/v1beta2", "kubeadmconfigs");
    let with = |text: &str| configs.iter().filter(|config| config["spec"].to_string().contains(text)).count();
    assert_eq!(
        (with(ADDRESS), with(PLACEHOLDER)),
        (3, 0),
        "the control plane's Machines must start with the true address"
    );
    assert!(pins.read(space).contains(ADDRESS), "the address must be pinned: {}", pins.read(space));
}

fn address_moves(space: &Space, release: &Release<'_>) {
    let before = Sight::of(space);
    allocate(space, "10.0.3.8");
    release.upgrade(&[]).refused("cluster_virtual_ip");
    let (_, report) = release.forecast(&["vip=10.0.3.9"]);
    assert_eq!((&report["decision"], &report["effect"]), (&json!("hold"), &json!("rollout")), "{report:#}");
    assert_eq!(report["rollouts"][0]["machines"], 3, "{report:#}");
    release.upgrade(&["vip=10.0.3.9"]).refused("demo-cp");
    std::thread::sleep(Duration::from_secs(30));
    let after = Sight::of(space);
    let seen = before.until(&after);
    assert!(
        !seen.rolls() && seen.in_place.is_empty() && seen.generations.is_empty(),
        "a held upgrade must change nothing: {seen:#?}"
    );
    allocate(space, ADDRESS);
}

fn in_place(space: &Space, release: &Release<'_>) {
    let before = Sight::of(space);
    let values = ["controlPlane.drainTimeout=60", "controlPlane.labels.tier=gold"];
    let (_, report) = release.forecast(&values);
    assert_eq!((&report["decision"], &report["effect"]), (&json!("allow"), &json!("in-place")), "{report:#}");
    let (run, seen) = observe(space, QUIET, || release.upgrade(&values));
    run.succeeded();
    assert!(!seen.rolls(), "labels and timeouts reach Machines in place: {seen:#?}");
    let after = Sight::of(space);
    assert_eq!((before.control_plane(), before.workers()), (after.control_plane(), after.workers()));
    let machines: Vec<&Value> =
        after.all("machines").filter(|machine| machine["metadata"]["labels"]["tier"] == "gold").collect();
    assert_eq!(machines.len(), 3, "the label must reach the control plane's Machines: {seen:#?}");
    assert!(machines.iter().all(|machine| machine["spec"]["deletion"]["nodeDrainTimeoutSeconds"] == 60), "{seen:#?}");
}

/// Proves that the bench can see what the gate prevents.
fn address_moves_ungated(space: &Space, release: &Release<'_>) {
    let before = Sight::of(space);
    let kept = ["controlPlane.drainTimeout=60", "controlPlane.labels.tier=gold", "vip=10.0.3.9"];
    release.upgrade_ungated(&kept).succeeded();
    // A controller that has lost its connection to the cluster sees the write and decides a reconciliation later.
    wait_for(space, "a decision to replace Machines", DECISION, |sight| before.until(sight).rolls());
    let after = wait_for(space, "a new control plane", ROLLOUT, |sight| {
        let now = sight.control_plane();
        now.len() == 3 && sight.running() == (4, 4) && now.iter().all(|uid| !before.control_plane().contains(uid))
    });
    assert_eq!(before.workers(), after.workers(), "the workers have no such file");
}

#[test]
fn late_address_with_helm3() {
    play(Helm::V3, Pins::ConfigMap);
}

#[test]
fn late_address_with_helm4() {
    play(Helm::V4, Pins::File);
}

/// Scenario 4: the incident itself, three formats deep in an RKE2 control plane.
fn play_rke2(helm: Helm) {
    let Some(bench) = bench() else { return };
    // CAPRKE2 leaves the condition out while it has never been false.
    let outdated = |sight: &Sight| {
        let is_false =
            |owner: &Value| condition(owner, "MachinesSpecUpToDate").is_some_and(|it| it["status"] == "False");
        sight.settled() && sight.all("rke2controlplanes").any(is_false)
    };
    let up_to_date = |sight: &Sight| {
        let is = |owner: &Value| owner["status"]["updatedReplicas"] == 1;
        sight.settled() && sight.running().0 == 1 && !outdated(sight) && sight.all("rke2controlplanes").all(is)
    };
    let gated = Space::new(bench, &format!("rke2-gated-{}", helm.name()));
    let ungated = Space::new(bench, &format!("rke2-ungated-{}", helm.name()));
    let with = release(&gated, helm, "rke2", Pins::ConfigMap, &[]);
    let without = release(&ungated, helm, "rke2", Pins::ConfigMap, &[]);
    // Without us the placeholder goes out, and the address follows.
    without.install_ungated(&[]).succeeded();
    allocate(&gated, ADDRESS);
    with.install(&[]).succeeded();
    for space in [&gated, &ungated] {
        wait_for(space, "one Machine that is up to date", INSTALL, up_to_date);
    }
    let address = format!("vip={ADDRESS}");
    without.upgrade_ungated(&[&address]).succeeded();
    wait_for(&ungated, "an outdated control plane", Duration::from_secs(60), outdated);
    let (run, seen) = observe(&gated, QUIET, || with.upgrade(&[&address]));
    run.succeeded();
    assert!(!seen.rolls(), "the address was there from the first install: {seen:#?}");
    let owner = gated.get(RKE2_CONTROL_PLANE, "rke2controlplanes", "demo-cp").expect("the control plane is there");
    assert!(owner["spec"].to_string().contains(ADDRESS), "{owner}");
}

#[test]
fn late_address_in_rke2_with_helm3() {
    play_rke2(Helm::V3);
}

#[test]
fn late_address_in_rke2_with_helm4() {
    play_rke2(Helm::V4);
}
