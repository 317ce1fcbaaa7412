//! The gate of HelmReleases with the real helm-controller: nothing is written that was not judged, and what is allowed goes through.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::flux::publish;
use crate::helm::rollgate;
use crate::observe::{CAPI, condition};
use crate::serve::{Server, installed_with, kubectl};

const RELEASES: &str = "helm.toolkit.fluxcd.io/v2";
const POLICY: &str =
    "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\napprovals: {from: [configmap/rollgate-approvals]}\n";
const PATIENCE: Duration = Duration::from_secs(150);
const LATE: &str = "reconcile.fluxcd.io/watch";

/// A gate that runs with the rights that its manifests give it.
struct Gated<'a> {
    space: &'a Space,
    /// One gate at a time: each would look at all namespaces, and there is one Lease.
    _alone: MutexGuard<'static, ()>,
    policy: std::path::PathBuf,
    kubeconfig: std::path::PathBuf,
}

impl<'a> Gated<'a> {
    fn new(space: &'a Space) -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = space.file("rollgate.yaml", POLICY);
        let (_, kubeconfig) = installed_with(space, &["--gate-releases"]);
        Self { space, _alone: alone, policy, kubeconfig }
    }

    fn start(&self) -> Server {
        let bin = &self.space.bench.bin;
        let (helm, kustomize) = (bin.join("helm4"), bin.join("kustomize"));
        let text = |path: &Path| path.to_str().expect("text").to_owned();
        let (helm, kustomize) = (text(&helm), text(&kustomize));
        let more =
            ["--gate-releases", "--lease-namespace", "rollgate-system", "--helm", &helm, "--kustomize", &kustomize];
        Server::start_under(self.policy.to_str().expect("text"), &self.kubeconfig, &more)
    }

    fn path(&self, name: &str) -> String {
        format!("/apis/{RELEASES}/namespaces/{}/helmreleases/{name}", self.space.namespace)
    }

    fn release(&self, name: &str, spec: &Value) {
        let body = json!({"apiVersion": RELEASES, "kind": "HelmRelease",
            "metadata": {"name": name, "annotations": {"rollgate.dev/gate": "enabled"}}, "spec": spec});
        self.space
            .bench
            .api
            .create(&format!("/apis/{RELEASES}/namespaces/{}/helmreleases", self.space.namespace), &body);
    }

    /// Waits until the gate says of a release that it stands so, and gives the release.
    fn stands(&self, server: &Server, name: &str, phase: &str) -> Value {
        let began = Instant::now();
        loop {
            let release = self.space.bench.api.get(&self.path(name)).expect("the HelmRelease is there");
            if mark(&release, "phase") == phase {
                return release;
            }
            assert!(began.elapsed() < PATIENCE, "{name} is not {phase}: {release:#}\n{}", server.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn events(&self, name: &str) -> Vec<String> {
        let all = self.space.bench.api.list(&format!("/api/v1/namespaces/{}/events", self.space.namespace));
        let ours =
            all.iter().filter(|one| one["involvedObject"]["name"] == name && one["source"]["component"] == "rollgate");
        ours.map(|one| one["reason"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn control_plane(&self) -> String {
        let owners = self.space.list("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes");
        owners.first().map(|owner| owner["spec"].to_string()).unwrap_or_default()
    }

    /// What the gate says to do, done as it stands there.
    fn does_what_is_next(&self, held: &Value) {
        let why = mark(held, "why");
        let command = why.split_once("; next: ").expect("a next command").1.replace("TEXT", "CHG0042");
        let bin = self.space.file("rollgate", "");
        std::fs::remove_file(&bin).expect("it was made");
        std::os::unix::fs::symlink(rollgate(), &bin).expect("a link");
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{path}", self.space.dir.display(), self.space.bench.bin.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(&self.space.dir).env("PATH", path);
        let ran = shell.env("KUBECONFIG", &self.space.bench.kubeconfig).output().expect("a shell");
        assert!(ran.status.success(), "{command}\n{ran:?}");
    }
}

fn mark(release: &Value, name: &str) -> String {
    let all = &release["metadata"]["annotations"];
    all[format!("gate.rollgate.dev/{name}")].as_str().unwrap_or_default().to_owned()
}

fn suspended(release: &Value) -> bool {
    release["spec"]["suspend"] == true
}

#[test]
fn a_helm_release_is_resumed_only_for_what_was_allowed() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "gate-releases");
    publish(&space, "kubeadm");
    let gated = Gated::new(&space);
    let server = gated.start();
    gated.release(
        "demo",
        &json!({"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "kubeadm"},
            "values": {"controlPlane": {"replicas": 1}, "workers": {"replicas": 0}},
            "valuesFrom": [{"kind": "ConfigMap", "name": "late", "valuesKey": "vip", "targetPath": "vip"}]}),
    );
    // A first install waits for its values, and then goes through by itself.
    let waiting = gated.stands(&server, "demo", "waiting");
    assert!(suspended(&waiting) && space.list(CAPI, "clusters").is_empty(), "{waiting:#}");
    space.config_map("late", &json!({LATE: "Enabled"}), &json!({"vip": "10.0.3.7"}));
    let done = gated.stands(&server, "demo", "done");
    assert!(suspended(&done) && gated.control_plane().contains("10.0.3.7"), "{done:#}\n{}", server.log());
    assert_eq!(condition(&done, "Ready").expect("a condition")["status"], "True");

    // A moved address is held, where people look.
    space.config_map("late", &json!({LATE: "Enabled"}), &json!({"vip": "10.0.9.9"}));
    let held = gated.stands(&server, "demo", "held");
    assert!(suspended(&held) && mark(&held, "why").contains("KubeadmControlPlane"), "{held:#}");
    let said = Instant::now();
    while !gated.events("demo").contains(&"Held".to_owned()) {
        assert!(said.elapsed() < PATIENCE, "{:?}", gated.events("demo"));
        std::thread::sleep(Duration::from_millis(200));
    }
    let shown = space.bench.api.get(&gated.path("demo")).expect("it is there");
    let ready = condition(&shown, "Ready").cloned().unwrap_or_default();
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("HeldByRollgate")), "{ready}");

    // A restart forgets nothing, and nothing is written meanwhile.
    drop(server);
    std::thread::sleep(Duration::from_secs(3));
    assert!(gated.control_plane().contains("10.0.3.7"));
    let server = gated.start();
    std::thread::sleep(Duration::from_secs(20));
    let still = gated.stands(&server, "demo", "held");
    assert!(suspended(&still) && gated.control_plane().contains("10.0.3.7"), "{still:#}\n{}", server.log());

    // Approved, exactly that goes through.
    gated.does_what_is_next(&still);
    let done = gated.stands(&server, "demo", "done");
    assert!(suspended(&done) && gated.control_plane().contains("10.0.9.9"), "{done:#}\n{}", server.log());

    // Its removal is judged, since Flux forgets what is suspended without uninstalling it.
    kubectl(&space, &["delete", "helmrelease", "demo", "--wait=false"]).succeeded();
    let kept = gated.stands(&server, "demo", "held");
    assert!(kept["metadata"]["deletionTimestamp"].is_string() && !space.list(CAPI, "clusters").is_empty(), "{kept:#}");
    kubectl(&space, &["annotate", "helmrelease", "demo", "rollgate.dev/gate-"]).succeeded();
    let began = Instant::now();
    while space.bench.api.get(&gated.path("demo")).is_some() {
        assert!(began.elapsed() < PATIENCE, "it does not go\n{}", server.log());
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(!space.list(CAPI, "clusters").is_empty(), "nothing was uninstalled");
}

/// helm-controller is kept from beginning by something that it depends on, so there is time to change what was judged.
#[test]
fn values_that_change_while_a_release_is_resumed_suspend_it_at_once() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "gate-changed");
    publish(&space, "flux");
    let gated = Gated::new(&space);
    let server = gated.start();
    space.config_map("more", &json!({LATE: "Enabled"}), &json!({"values.yaml": "top: first\n"}));
    gated.release(
        "later",
        &json!({"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "flux"}, "dependsOn": [{"name": "never"}],
            "valuesFrom": [{"kind": "ConfigMap", "name": "more"}]}),
    );
    let resumed = gated.stands(&server, "later", "resumed");
    assert!(!suspended(&resumed));
    space.config_map("more", &json!({LATE: "Enabled"}), &json!({"values.yaml": "top: second\n"}));
    let began = Instant::now();
    while !gated.events("later").contains(&"ChangedWhileResumed".to_owned()) {
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}\n{}", gated.events("later"), server.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    // A person who suspends it now is obeyed.
    let again = gated.stands(&server, "later", "resumed");
    assert_ne!(mark(&again, "values"), mark(&resumed, "values"));
    kubectl(&space, &["patch", "helmrelease", "later", "--type=merge", "-p", r#"{"spec":{"suspend":true}}"#])
        .succeeded();
    gated.stands(&server, "later", "suspended-by-hand");
    std::thread::sleep(Duration::from_secs(5));
    assert!(suspended(&gated.stands(&server, "later", "suspended-by-hand")));
}
