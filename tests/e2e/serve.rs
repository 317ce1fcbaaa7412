//! The webhook on a real API server, with the real controllers beside it: what people write is judged, whatever they write it with.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::helm::{Helm, Release, Run, rollgate};
use crate::observe::{CAPI, Sight, wait_for};

/// Who writes and is looked at. The controllers of the bench write as its administrator.
const PERSON: [&str; 4] = ["--as", "anna", "--as-group", "system:masters"];
const PATIENCE: Duration = Duration::from_secs(240);

fn certificate(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/serve").join(file)
}

/// A server that runs; it ends with this.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts one, and waits until it knows the cluster.
    pub(crate) fn start(kubeconfig: &Path, more: &[&str]) -> Self {
        Self::start_under("none", kubeconfig, more)
    }

    /// Starts one under a policy, and waits until it knows the cluster.
    pub(crate) fn start_under(policy: &str, kubeconfig: &Path, more: &[&str]) -> Self {
        let file = |name: &str| certificate(name).to_str().expect("a path").to_owned();
        let (certificate, key) = (file("first.pem"), file("first.key"));
        let tls = ["--tls-cert", &certificate, "--tls-key", &key];
        let server = Self::launch_under(policy, kubeconfig, &[&tls, more].concat());
        server.is_ready();
        server
    }

    /// Starts one, and waits until it listens.
    pub(crate) fn launch(kubeconfig: &Path, more: &[&str]) -> Self {
        Self::launch_under("none", kubeconfig, more)
    }

    pub(crate) fn launch_under(policy: &str, kubeconfig: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(rollgate())
            .args(["serve", "--policy", policy, "--listen", "127.0.0.1:0"])
            .args(more)
            .env("KUBECONFIG", kubeconfig)
            .stderr(Stdio::piped())
            .spawn()
            .expect("rollgate runs");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("text");
        let serving: Value = serde_json::from_str(&first).unwrap_or_else(|_| panic!("it does not start: {first}"));
        let url = format!("https://{}", serving["address"].as_str().expect("an address"));
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().expect("no panic").push(line);
            }
        });
        Self { child, url, log }
    }

    /// Waits until it says that it is ready; whose certificate it shows is looked at by the API server alone.
    pub(crate) fn is_ready(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let said =
                Command::new("curl").args(["-sSk"]).arg(format!("{}/readyz", self.url)).output().expect("curl runs");
            if said.stdout == b"ok" {
                return;
            }
            assert!(Instant::now() < end, "it is not ready: {said:?}, {}", self.log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("no panic").join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The configuration of the webhook while a test runs; it is removed with this, so that nothing blocks others.
pub(crate) struct Hook<'a> {
    space: &'a Space,
    path: String,
}

impl<'a> Hook<'a> {
    /// What `serve manifests` prints, for one namespace and by URL, since no Service leads anywhere here.
    pub(crate) fn install(space: &'a Space, stream: &str, url: &str) -> Self {
        let file = space.file("all.yaml", stream);
        let read = Command::new(rollgate()).args(["debug", "yaml"]).arg(&file).output().expect("rollgate runs");
        let lines = Run::of(read).succeeded().stdout;
        let mut hooks: Value = serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
        let bundle = BASE64_STANDARD.encode(fs::read(certificate("authority.pem")).expect("a file"));
        let name = format!("rollgate-{}", space.namespace);
        hooks["metadata"]["name"] = json!(name);
        for hook in hooks["webhooks"].as_array_mut().expect("webhooks") {
            hook["clientConfig"] = json!({"url": format!("{url}/validate"), "caBundle": bundle});
            hook["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": space.namespace}});
        }
        let kind = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        space.bench.api.create(kind, &hooks);
        let hook = Self { space, path: format!("{kind}/{name}") };
        hook.is_asked();
        hook
    }

    /// Waits until the API server asks it, which takes it a moment.
    fn is_asked(&self) {
        let end = Instant::now() + Duration::from_secs(30);
        while kubectl(
            self.space,
            &["delete", "cluster", "demo", "--dry-run=server", "--as", "anna", "--as-group", "system:masters"],
        )
        .code
            == Some(0)
        {
            assert!(Instant::now() < end, "the webhook is never asked");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Leads it elsewhere.
    pub(crate) fn moves(&self, url: &str) {
        let hooks = self.space.bench.api.get(&self.path).expect("it is there");
        let mut hooks = hooks["webhooks"].clone();
        for hook in hooks.as_array_mut().expect("webhooks") {
            hook["clientConfig"]["url"] = json!(format!("{url}/validate"));
        }
        self.space.bench.api.merge(&self.path, &json!({"webhooks": hooks}));
        std::thread::sleep(Duration::from_secs(2));
    }
}

impl Drop for Hook<'_> {
    fn drop(&mut self) {
        drop(self.space.bench.api.send("DELETE", &self.path, None));
    }
}

pub(crate) fn kubectl(space: &Space, args: &[&str]) -> Run {
    let mut command = Command::new(space.bench.bin.join("kubectl"));
    // What is applied says itself where it belongs.
    if args.first() != Some(&"apply") {
        command.args(["-n", &space.namespace]);
    }
    let output = command.args(args).env("KUBECONFIG", &space.bench.kubeconfig).output();
    Run::of(output.expect("kubectl runs"))
}

/// What installs the webhook, all of it but the configuration applied, and a kubeconfig with the rights that come with it.
fn installed(space: &Space, failure_policy: &str) -> (String, PathBuf) {
    installed_with(space, &["--failure-policy", failure_policy])
}

/// What installs the webhook with these options of `serve manifests`, and a kubeconfig with the rights that come with it.
pub(crate) fn installed_with(space: &Space, more: &[&str]) -> (String, PathBuf) {
    // Tests that make the same namespace at once would see each other's.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let user = administrator(space);
    let printed = Command::new(rollgate())
        .args(["serve", "manifests", "--image", "r.example.org/rollgate:v1"])
        .args(more)
        .args(["--skip", &user, "--ca-bundle"])
        .arg(certificate("authority.pem"))
        .output()
        .expect("rollgate runs");
    let stream = Run::of(printed).succeeded().stdout;
    let rest = stream.rsplit_once("\n---").expect("several objects").0;
    let file = space.file("manifests.yaml", rest);
    kubectl(space, &["apply", "-f", file.to_str().expect("a path")]).succeeded();
    (stream, as_account(space, "rollgate-system", "rollgate"))
}

/// Who the controllers of the bench are.
pub(crate) fn administrator(space: &Space) -> String {
    let whoami = kubectl(space, &["auth", "whoami", "-o", "json"]).succeeded().stdout;
    let whoami: Value = serde_json::from_str(&whoami).expect("JSON");
    whoami["status"]["userInfo"]["username"].as_str().expect("a name").to_owned()
}

/// A kubeconfig with the rights of a service account, whether or not it exists.
pub(crate) fn as_account(space: &Space, namespace: &str, name: &str) -> PathBuf {
    let config = kubectl(space, &["config", "view", "--raw", "-o", "json"]).succeeded().stdout;
    let mut config: Value = serde_json::from_str(&config).expect("JSON");
    config["users"][0]["user"]["as"] = json!(format!("system:serviceaccount:{namespace}:{name}"));
    config["users"][0]["user"]["as-groups"] = json!(["system:authenticated"]);
    space.file("serve.kubeconfig", &config.to_string())
}

/// What a person writes.
pub(crate) fn person(space: &Space, args: &[&str]) -> Run {
    kubectl(space, &[args, &PERSON].concat())
}

const EDIT: [&str; 6] =
    ["patch", "kubeadmcontrolplane", "demo-cp", "--type=merge", "-p", "{\"spec\":{\"version\":\"v1.34.1\"}}"];

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

fn replicas(space: &Space) -> Value {
    space.get(CAPI, "machinedeployments", "demo-md").expect("it is there")["spec"]["replicas"].clone()
}

/// What holds is refused to whoever writes it, however it is written; what does not is let through.
fn enforces(space: &Space, release: &Release<'_>) {
    // A dry run hears the same, as soon as the cluster stands still: how fit it is may change between the two.
    let hears = |more: &[&str]| person(space, &with(&EDIT, more)).refused("denied the request: rollgate hold").stderr;
    let (mut refused, mut dry) = (hears(&[]), hears(&["--dry-run=server"]));
    for _ in 0..10 {
        if refused == dry {
            break;
        }
        (refused, dry) = (hears(&[]), hears(&["--dry-run=server"]));
    }
    assert_eq!(dry, refused);
    assert!(refused.contains("spec.version") && refused.contains("next: "), "{refused}");
    person(space, &["scale", "machinedeployment", "demo-md", "--replicas=0"]).refused("rollgate hold");
    person(space, &["delete", "cluster", "demo", "--wait=false"]).refused("rollgate hold");
    person(space, &["label", "machinedeployment", "demo-md", "team=edge"]).succeeded();
    person(space, &["delete", "secret", "demo-ca"]).refused("rollgate");
    half_applied(space);
    // Helm, and whoever rolls it back.
    let run = release.run_with(
        "upgrade",
        &["vip=10.0.3.7", "version=v1.34.1"],
        &["--kube-as-user", "anna", "--kube-as-group", "system:masters"],
    );
    let run = run.refused("rollgate hold");
    assert!(!run.stderr.to_ascii_lowercase().contains("immutable"), "{}", run.stderr);
}

/// A template that comes a moment before its owner moves to it: the template is let through, the owner is not, although no watch may have
/// told of the template yet.
fn half_applied(space: &Space) {
    let (group, resource) = ("infrastructure.cluster.x-k8s.io/v1beta2", "devmachinetemplates");
    let owner = space.get(CAPI, "machinedeployments", "demo-md").expect("it is there");
    let reference = owner["spec"]["template"]["spec"]["infrastructureRef"].clone();
    let name = reference["name"].as_str().expect("a name");
    let mut template = space.get(group, resource, name).expect("it is there");
    for number in 0..5 {
        let fresh = format!("demo-fresh-{number}");
        template["metadata"] = json!({"name": fresh, "namespace": space.namespace});
        let mut moved = reference.clone();
        moved["name"] = json!(fresh);
        let owner = json!({"apiVersion": CAPI, "kind": "MachineDeployment",
            "metadata": {"name": "demo-md", "namespace": space.namespace},
            "spec": {"clusterName": "demo", "selector": owner["spec"]["selector"], "template": {"spec": {"clusterName": "demo",
                "bootstrap": owner["spec"]["template"]["spec"]["bootstrap"], "infrastructureRef": moved}}}});
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [template, owner]});
        let file = space.file("set.json", &list.to_string());
        let apply = ["apply", "--server-side", "--force-conflicts", "-f", file.to_str().expect("a path")];
        let run = person(space, &apply).refused("rollgate hold");
        assert!(run.stdout.contains(&fresh), "the template is made: {run:#?}");
    }
}

#[test]
fn what_people_write_is_judged_and_controllers_go_on() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "webhook");
    let policy = space.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    let values = vec!["controlPlane.replicas=1".to_owned(), "workers.replicas=1".to_owned()];
    let release = Release { space: &space, helm: Helm::V3, name: "demo", chart: "kubeadm", values, policy };
    release.install_ungated(&["vip=10.0.3.7"]).succeeded();
    let runs = |machines| {
        let is = move |sight: &Sight| sight.running() == (machines, machines) && sight.settled();
        wait_for(&space, "all Machines running", PATIENCE, is);
    };
    runs(2);
    let before = Sight::of(&space);
    let (stream, kubeconfig) = installed(&space, "fail");
    let server = Server::start(&kubeconfig, &["--mode", "enforce"]);
    let hook = Hook::install(&space, &stream, &server.url);
    enforces(&space, &release);
    std::thread::sleep(Duration::from_secs(3));
    let after = Sight::of(&space);
    assert!(!before.until(&after).rolls(), "nothing that was refused is done");
    // What a judged write leads to is the controllers' work, and nobody holds it.
    person(&space, &["scale", "machinedeployment", "demo-md", "--replicas=2"]).succeeded();
    runs(3);
    assert_eq!(replicas(&space), 2);
    let log = server.log();
    assert!(log.contains("\"decision\":\"hold\"") && !log.contains("v1.34.1"), "{log}");

    // Who observes lets through what would be held, and says so.
    let observer = Server::start(&kubeconfig, &["--mode", "observe"]);
    hook.moves(&observer.url);
    let seen = person(&space, &with(&EDIT, &["--dry-run=server"])).succeeded();
    assert!(seen.stderr.contains("Warning: rollgate would hold this"), "{}", seen.stderr);

    // While nobody answers, this failurePolicy refuses people's writes and leaves the controllers alone.
    drop((server, observer));
    person(&space, &["label", "machinedeployment", "demo-md", "team=core", "--overwrite"])
        .refused("failed calling webhook");
    kubectl(&space, &["scale", "machinedeployment", "demo-md", "--replicas=1"]).succeeded();
    runs(2);
    // Removed, it blocks nothing.
    drop(hook);
    let end = Instant::now() + Duration::from_secs(30);
    while person(&space, &["label", "machinedeployment", "demo-md", "team=core", "--overwrite"]).code != Some(0) {
        assert!(Instant::now() < end, "something still blocks");
        std::thread::sleep(Duration::from_millis(500));
    }
}
