//! Gates that look at the state of a cluster, in the life of one with the real controllers: what each says while something is wrong, and
//! that it says nothing when that is over.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::helm::{Helm, Release};
use crate::observe::{CAPI, Sight, wait_for};

/// Rollouts are wanted: what holds is the state of the cluster alone.
const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates: {rollout: warn}\n";
/// Long enough for a small cluster to come up on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);
/// The upgrade that is looked at in each state.
const UPGRADE: &str = "version=v1.34.1";

/// A cluster with its release.
struct Stage<'a> {
    space: &'a Space,
    release: Release<'a>,
}

impl Stage<'_> {
    /// The gates that answer to an upgrade now, with what they say; and the exit code.
    fn gates(&self, values: &[&str]) -> (Option<i32>, Vec<(String, String)>) {
        let (code, report) = self.release.look(values);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let reasons = report["reasons"].as_array().cloned().unwrap_or_default();
        (code, reasons.iter().map(|reason| (text(&reason["gate"]), text(&reason["message"]))).collect())
    }

    /// Looks until a gate answers with these words, which controllers may take a moment for; the upgrade is held then.
    #[track_caller]
    fn holds(&self, gate: &str, words: &str) {
        let mut last = Vec::new();
        for _ in 0..60 {
            let (code, gates) = self.gates(&[UPGRADE]);
            if gates.iter().any(|(name, says)| name == gate && says.contains(words)) {
                assert_eq!(code, Some(3), "{gates:#?}");
                return;
            }
            last = gates;
            std::thread::sleep(Duration::from_millis(500));
        }
        panic!("no {gate} that says {words:?}: {last:#?}");
    }

    /// Looks until nothing is held.
    #[track_caller]
    fn is_free(&self, values: &[&str]) {
        let mut last = Vec::new();
        for _ in 0..240 {
            let (code, gates) = self.gates(values);
            if code == Some(0) {
                return;
            }
            last = gates;
            std::thread::sleep(Duration::from_millis(500));
        }
        panic!("still held: {last:#?}");
    }

    fn path(&self, group_version: &str, resource: &str, name: &str) -> String {
        format!("/apis/{group_version}/namespaces/{}/{resource}/{name}", self.space.namespace)
    }

    fn merge(&self, resource: &str, name: &str, patch: &Value) {
        self.space.bench.api.merge(&self.path(CAPI, resource, name), patch);
    }

    /// Sets a condition of a Machine, in place of the one of its type.
    fn tell(&self, machine: &str, kind: &str, status: &str) {
        let path = self.path(CAPI, "machines", machine);
        let held = self.space.bench.api.get(&path).expect("the Machine is there");
        let mut conditions = held["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.retain(|condition| condition["type"] != kind);
        conditions.push(json!({"type": kind, "status": status, "reason": "Told", "message": "",
            "lastTransitionTime": "2020-01-01T00:00:00Z"}));
        self.space.bench.api.merge(&format!("{path}/status"), &json!({"status": {"conditions": conditions}}));
    }

    fn machine(&self, of_control_plane: bool) -> String {
        let label = "cluster.x-k8s.io/control-plane";
        let machines = self.space.list(CAPI, "machines");
        let is = |machine: &&Value| machine["metadata"]["labels"].get(label).is_some() == of_control_plane;
        let found = machines.iter().find(is).expect("there is one");
        found["metadata"]["name"].as_str().expect("it has a name").to_owned()
    }

    /// Waits until so many Machines run and nothing is left to happen.
    fn runs(&self, machines: usize) {
        let is = |sight: &Sight| sight.running() == (machines, machines) && sight.settled();
        wait_for(self.space, "all Machines running", PATIENCE, is);
    }

    fn strategy(&self, strategy: &Value) {
        for owner in ["demo-md", "demo-second"] {
            self.merge("machinedeployments", owner, &json!({"spec": {"rollout": {"strategy": strategy}}}));
        }
    }

    /// Two groups of workers that each let one Machine go first, one that nobody replaces, and a cluster that is paused.
    fn strategies_and_pauses(&self) {
        self.strategy(&json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}));
        self.holds("maxUnavailable", "2 Machines");
        self.strategy(&json!({"type": "OnDelete", "rollingUpdate": null}));
        let (_, gates) = self.gates(&["workers.template=b"]);
        assert!(gates.iter().any(|(gate, _)| gate == "paused"), "{gates:#?}");
        self.strategy(&json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}));
        self.merge("clusters", "demo", &json!({"spec": {"paused": true}}));
        let (_, gates) = self.gates(&[UPGRADE]);
        assert!(gates.iter().any(|(gate, _)| gate == "paused"), "{gates:#?}");
        self.merge("clusters", "demo", &json!({"spec": {"paused": null}}));
        self.is_free(&[UPGRADE]);
    }

    /// A Machine whose node is not healthy, health checks that may replace none, and one whose owner cannot.
    fn sickness(&self) {
        let machine = self.machine(true);
        let pause = |text: Value| json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": text}}});
        self.merge("machines", &machine, &pause(json!("")));
        self.tell(&machine, "NodeHealthy", "False");
        self.holds("health.machines", "NodeHealthy is False");
        self.merge("machines", &machine, &pause(Value::Null));
        self.is_free(&[UPGRADE]);

        let check = json!({
            "apiVersion": CAPI, "kind": "MachineHealthCheck", "metadata": {"name": "check"},
            "spec": {
                "clusterName": "demo", "selector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": "demo"}},
                "checks": {"unhealthyMachineConditions": [{"type": "Sick", "status": "True", "timeoutSeconds": 0}]},
                "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "0%"}},
            },
        });
        let path = format!("/apis/{CAPI}/namespaces/{}/machinehealthchecks", self.space.namespace);
        self.space.bench.api.create(&path, &check);
        self.tell(&machine, "Sick", "True");
        self.holds("health.remediation", "it replaces none until there are fewer");
        // The only Machine of a control plane is never replaced: it waits for somebody.
        let limit = json!({"spec": {"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "100%"}}}});
        self.merge("machinehealthchecks", "check", &limit);
        self.holds("health.remediation", "waits for its remediation");
        self.tell(&machine, "Sick", "False");
        self.is_free(&[UPGRADE]);
    }
}

#[test]
fn gates_say_what_is_wrong_with_a_cluster_while_it_is() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "gates");
    let policy = space.file("rollgate.yaml", POLICY);
    let values = ["controlPlane.replicas=1", "workers.replicas=1", "second.replicas=1"].map(str::to_owned);
    let release =
        Release { space: &space, helm: Helm::V3, name: "demo", chart: "kubeadm", values: values.into(), policy };
    let stage = Stage { space: &space, release };

    stage.release.install_ungated(&[]).succeeded();
    stage.holds("health.bootstrap", "demo-cp");
    stage.runs(3);

    // One Machine is a control plane too: the new one comes first.
    let (code, report) = stage.release.forecast(&[UPGRADE]);
    assert_eq!(code, Some(0), "{report:#}");
    let rollouts = report["rollouts"].as_array().cloned().unwrap_or_default();
    let plane = rollouts.iter().find(|rollout| rollout["owner"]["name"] == "demo-cp").expect("it rolls");
    assert_eq!((&plane["course"]["lowest"], &plane["course"]["peak"]), (&json!(1), &json!(2)), "{plane:#}");

    stage.strategies_and_pauses();
    stage.sickness();

    stage.release.upgrade_ungated(&["vip=10.0.3.9"]).succeeded();
    stage.holds("health.inProgress", "demo-cp");
    stage.is_free(&[UPGRADE, "vip=10.0.3.9"]);
}
