//! The gate of HelmReleases with the real helm-controller: nothing is written that was not judged, and what is allowed goes through.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::flux::publish;
use crate::helm::rollgate;
use crate::observe::{CAPI, condition};
use crate::serve::{Server, installed_with, kubectl};
use crate::sources::{Charts, SOURCES, sources};

pub(crate) const RELEASES: &str = "helm.toolkit.fluxcd.io/v2";
const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\napprovals: {from: [configmap/rollgate-approvals]}\nflux: {gate: [tier=prod]}\n";
const PATIENCE: Duration = Duration::from_secs(300);
const LATE: &str = "reconcile.fluxcd.io/watch";

/// One gate at a time: each would look at all namespaces, there is one Lease, and the API server keeps others from what one has decided.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A gate that runs with the rights that its manifests give it.
pub(crate) struct Gated<'a> {
    space: &'a Space,
    _alone: MutexGuard<'static, ()>,
    policy: std::path::PathBuf,
    kubeconfig: std::path::PathBuf,
}

impl<'a> Gated<'a> {
    pub(crate) fn new(space: &'a Space) -> Self {
        let alone = alone();
        let policy = space.file("rollgate.yaml", POLICY);
        let (_, kubeconfig) = installed_with(space, &["--gate-releases"]);
        Self { space, _alone: alone, policy, kubeconfig }
    }

    pub(crate) fn start(&self) -> Server {
        self.start_with(&[])
    }

    fn start_with(&self, more: &[&str]) -> Server {
        let bin = &self.space.bench.bin;
        let (helm, kustomize) = (bin.join("helm4"), bin.join("kustomize"));
        let text = |path: &Path| path.to_str().expect("text").to_owned();
        let (helm, kustomize) = (text(&helm), text(&kustomize));
        let own =
            ["--gate-releases", "--lease-namespace", "rollgate-system", "--helm", &helm, "--kustomize", &kustomize];
        Server::start_under(self.policy.to_str().expect("text"), &self.kubeconfig, &[own.as_slice(), more].concat())
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
    pub(crate) fn stands(&self, server: &Server, name: &str, phase: &str) -> Value {
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

    pub(crate) fn events(&self, name: &str) -> Vec<String> {
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
    pub(crate) fn does_what_is_next(&self, held: &Value) {
        let why = mark(held, "why");
        let command = why.split_once("; next: ").expect("a next command").1.replace("TEXT", "CHG0042");
        let bin = self.space.dir.join("rollgate");
        if !bin.is_symlink() {
            std::os::unix::fs::symlink(rollgate(), &bin).expect("a link");
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{path}", self.space.dir.display(), self.space.bench.bin.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(&self.space.dir).env("PATH", path);
        let ran = shell.env("KUBECONFIG", &self.space.bench.kubeconfig).output().expect("a shell");
        assert!(ran.status.success(), "{command}\n{ran:?}");
    }
}

pub(crate) fn mark(release: &Value, name: &str) -> String {
    let all = &release["metadata"]["annotations"];
    all[format!("gate.rollgate.dev/{name}")].as_str().unwrap_or_default().to_owned()
}

fn suspended(release: &Value) -> bool {
    release["spec"]["suspend"] == true
}

/// Takes what notification-controller is told, for as long as the test runs.
fn notified() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let heard = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                let lower = line.to_ascii_lowercase();
                length =
                    lower.strip_prefix("content-length:").and_then(|rest| rest.trim().parse().ok()).unwrap_or(length);
                line.clear();
            }
            let mut body = vec![0; length];
            drop(stream.read_exact(&mut body));
            kept.lock().expect("no panic").push_str(&String::from_utf8_lossy(&body));
            drop(
                stream.get_mut().write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
            );
        }
    });
    (url, heard)
}

#[test]
fn a_helm_release_is_resumed_only_for_what_was_allowed() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "gate-releases");
    publish(&space, "kubeadm");
    let gated = Gated::new(&space);
    let (notify, heard) = notified();
    let server = gated.start_with(&["--notify", &notify]);
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

    let notified = || {
        let heard = heard.lock().expect("no panic");
        heard.contains("\"reason\":\"Held\"") && heard.contains("\"kind\":\"HelmRelease\"")
    };
    while !notified() {
        assert!(said.elapsed() < PATIENCE, "{heard:?}");
        std::thread::sleep(Duration::from_millis(200));
    }

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

/// Who takes away what the gate has set: Git that says nothing of `suspend`, Git that says the opposite, `flux resume`, an edit of what was
/// decided, and whoever copies all of it into another namespace.
#[test]
fn nobody_else_resumes_what_is_held() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "gate-others");
    publish(&space, "kubeadm");
    let gated = Gated::new(&space);
    let server = gated.start();
    space.config_map("late", &json!({LATE: "Enabled"}), &json!({"vip": "10.0.3.7"}));
    let spec = json!({"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "kubeadm"},
        "values": {"controlPlane": {"replicas": 1}, "workers": {"replicas": 0}},
        "valuesFrom": [{"kind": "ConfigMap", "name": "late", "valuesKey": "vip", "targetPath": "vip"}]});
    // As kustomize-controller applies it, and by the label that the policy names.
    let applied = |suspend: Option<bool>| {
        let mut object = json!({"apiVersion": RELEASES, "kind": "HelmRelease", "spec": spec,
            "metadata": {"name": "demo", "namespace": space.namespace, "labels": {"tier": "prod"}}});
        if let Some(suspend) = suspend {
            object["spec"]["suspend"] = json!(suspend);
        }
        let file = space.file("release.json", &object.to_string());
        let file = file.to_str().expect("a path");
        kubectl(
            &space,
            &["apply", "--server-side", "--force-conflicts", "--field-manager=kustomize-controller", "-f", file],
        )
    };
    applied(None).succeeded();
    gated.stands(&server, "demo", "done");
    space.config_map("late", &json!({LATE: "Enabled"}), &json!({"vip": "10.0.9.9"}));
    gated.stands(&server, "demo", "held");

    let still = |what: &str| {
        std::thread::sleep(Duration::from_secs(3));
        let release = gated.stands(&server, "demo", "held");
        assert!(
            suspended(&release) && gated.control_plane().contains("10.0.3.7"),
            "{what}: {release:#}\n{}",
            server.log()
        );
    };
    applied(None).succeeded();
    still("Git that says nothing of it takes nothing away");
    let words = "rollgate gates this HelmRelease";
    for (what, run) in [
        ("Git", applied(Some(false))),
        (
            "flux resume",
            kubectl(&space, &["patch", "helmrelease", "demo", "--type=merge", "-p", r#"{"spec":{"suspend":false}}"#]),
        ),
        (
            "an edit",
            kubectl(
                &space,
                &["patch", "helmrelease", "demo", "--type=json", "-p", r#"[{"op":"remove","path":"/spec/suspend"}]"#],
            ),
        ),
    ] {
        let run = run.refused(words);
        assert!(run.stderr.contains("orbidden") && !run.stderr.contains("immutable"), "{what}: {run:?}");
    }
    kubectl(&space, &["annotate", "--overwrite", "helmrelease", "demo", "gate.rollgate.dev/phase=suspended-by-hand"])
        .refused("written by rollgate alone");
    kubectl(&space, &["annotate", "helmrelease", "demo", "gate.rollgate.dev/values-"])
        .refused("written by rollgate alone");
    // What Flux is asked for by annotation it does once it may.
    let asks = ["reconcile.fluxcd.io/requestedAt=1", "reconcile.fluxcd.io/forceAt=1", "reconcile.fluxcd.io/resetAt=1"];
    kubectl(&space, &[["annotate", "--overwrite", "helmrelease", "demo"].as_slice(), &asks].concat()).succeeded();
    still("flux reconcile --force --reset");

    // A copy with everything that stands on it, in a new release that was never judged: nothing of it is believed.
    let mut copy = space.bench.api.get(&gated.path("demo")).expect("it is there");
    copy["metadata"] =
        json!({"name": "copy", "labels": {"tier": "prod"}, "annotations": copy["metadata"]["annotations"]});
    copy["metadata"]["annotations"]["gate.rollgate.dev/phase"] = json!("resumed");
    copy["metadata"]["annotations"]["gate.rollgate.dev/generation"] = json!("1");
    copy["spec"]["suspend"] = json!(true);
    drop(copy.as_object_mut().expect("a map").remove("status"));
    let all = format!("/apis/{RELEASES}/namespaces/{}/helmreleases", space.namespace);
    space.bench.api.create(&all, &copy);
    let stands = gated.stands(&server, "copy", "suspended-by-hand");
    assert!(suspended(&stands), "{stands:#}");
}

/// Where a replica dies between two writes the other goes on, and both at once resume nothing that was not allowed.
#[test]
fn another_replica_goes_on_where_one_dies() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "gate-replicas");
    publish(&space, "kubeadm");
    let gated = Gated::new(&space);
    let mut servers = vec![gated.start(), gated.start()];
    let spec = json!({"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "kubeadm"},
        "values": {"controlPlane": {"replicas": 1}, "workers": {"replicas": 0}},
        "valuesFrom": [{"kind": "ConfigMap", "name": "late", "valuesKey": "vip", "targetPath": "vip"}]});
    let address = |vip: &str| space.config_map("late", &json!({LATE: "Enabled"}), &json!({"vip": vip}));
    address("10.0.3.7");
    gated.release("demo", &spec);
    // Killed wherever it stands, again and again, for as long as it takes to be installed.
    let began = Instant::now();
    while !gated.control_plane().contains("10.0.3.7") {
        assert!(began.elapsed() < PATIENCE, "{}", servers.iter().map(Server::log).collect::<String>());
        std::thread::sleep(Duration::from_millis(700));
        drop(servers.remove(0));
        servers.push(gated.start());
        // The Lease of the one that was killed has to run out.
        let held = Instant::now();
        while held.elapsed() < Duration::from_secs(20)
            && !servers.iter().any(|one| one.log().contains("gates releases now"))
        {
            std::thread::sleep(Duration::from_millis(200));
        }
        std::thread::sleep(Duration::from_millis(900));
    }
    gated.stands(&servers[0], "demo", "done");
    address("10.0.9.9");
    gated.stands(&servers[0], "demo", "held");
    for _ in 0..2 {
        drop(servers.remove(0));
        servers.push(gated.start());
        std::thread::sleep(Duration::from_secs(4));
        let release = gated.stands(&servers[0], "demo", "held");
        assert!(suspended(&release) && gated.control_plane().contains("10.0.3.7"), "{release:#}");
    }
}

/// A repository of charts holds another version, which the range of a HelmRelease takes: nothing of the HelmRelease changes, and it is
/// judged before Flux writes it.
#[test]
fn a_new_version_of_a_chart_is_judged_before_it_is_written() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "gate-charts");
    let charts = Charts::pack(&space, &[("1.0.0", "v1.34.0"), ("1.1.0", "v1.34.1")]);
    charts.index(1);
    let _sources = sources(&space);
    charts.repository();
    let gated = Gated::new(&space);
    let server = gated.start();
    gated.release(
        "demo",
        &json!({"interval": "1h", "values": {"vip": "10.0.3.7", "controlPlane": {"replicas": 1}, "workers": {"replicas": 0}},
            "chart": {"spec": {"chart": "kubeadm", "version": "1.x", "interval": "3s",
                "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}}),
    );
    let done = gated.stands(&server, "demo", "done");
    assert!(gated.control_plane().contains("v1.34.0"), "{done:#}");
    let chart = space.get(SOURCES, "helmcharts", "gate-charts-demo").expect("its HelmChart");
    assert_eq!(
        (&chart["metadata"]["generation"], &done["status"]["helmChart"]),
        (&json!(1), &json!("gate-charts/gate-charts-demo"))
    );
    charts.index(2);
    let held = gated.stands(&server, "demo", "held");
    assert_eq!(held["metadata"]["generation"], done["metadata"]["generation"], "nothing of it has changed");
    assert!(
        mark(&held, "artifact") != mark(&done, "artifact") && gated.control_plane().contains("v1.34.0"),
        "{held:#}"
    );
    gated.does_what_is_next(&held);
    let done = gated.stands(&server, "demo", "done");
    assert!(suspended(&done) && gated.control_plane().contains("v1.34.1"), "{done:#}\n{}", server.log());
}
