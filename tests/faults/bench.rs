//! One API server with the CRDs for the whole test binary, a chart installed by Helm, and Machines as controllers make them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::starter::{self, Started};

/// A running API server, closed to the world.
pub(crate) struct Bench {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) bin: PathBuf,
    pub(crate) out: PathBuf,
    process: Child,
}

/// An API server that was started again; it ends with this.
pub(crate) struct Restarted(Child);

impl Drop for Restarted {
    fn drop(&mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it ends");
    }
}

/// The namespace that everything is in.
pub(crate) const NAMESPACE: &str = "telco";
/// Its programs beside the API server.
const NEEDED: &[&str] = &["helm3", "kubectl"];
/// The release.
pub(crate) const RELEASE: &str = "demo";

/// The bench; `None`, after one line, where it is not built.
pub(crate) fn bench() -> Option<&'static Bench> {
    static BENCH: OnceLock<Option<Bench>> = OnceLock::new();
    BENCH
        .get_or_init(|| match starter::find(NEEDED) {
            Ok(bin) => {
                let bench = start(bin, "faults");
                bench.fill();
                Some(bench)
            }
            Err(missing) => {
                assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}; in CI that is a failure");
                eprintln!("skipped: {missing} (make bench)");
                None
            }
        })
        .as_ref()
}

/// A bench of its own, for a test that breaks it; `None` where it is not built.
pub(crate) fn own(name: &str) -> Option<Bench> {
    let bench = start(starter::find(NEEDED).ok()?, name);
    bench.fill();
    Some(bench)
}

fn start(bin: PathBuf, name: &str) -> Bench {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let Started { kubeconfig, process } = starter::start(&bin, &out, &["--api-only"]);
    Bench { kubeconfig, bin, out, process }
}

impl Bench {
    /// The process of the API server itself.
    fn server(&self) -> String {
        let children = format!("/proc/{0}/task/{0}/children", self.process.id());
        let children = fs::read_to_string(children).expect("the starter runs");
        let name = |pid: &&str| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        children
            .split_whitespace()
            .find(|pid| name(pid).starts_with("kube-apiserver"))
            .expect("an API server")
            .to_owned()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.server()]).status().expect("kill runs");
        assert!(status.success());
    }

    /// Kills it and starts it again, as it was; returns when it is ready.
    pub(crate) fn restart(&self) -> Restarted {
        let place = format!("/proc/{}", self.server());
        let read = |name: &str| fs::read_to_string(format!("{place}/{name}")).expect("a living process");
        let (line, environment) = (read("cmdline"), read("environ"));
        let mut words = line.split_terminator('\0');
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).envs(environment.split_terminator('\0').filter_map(|pair| pair.split_once('=')));
        self.signal("-KILL");
        // Its port is free when it is gone, or nothing but an exit code (a zombie).
        while fs::read_to_string(format!("{place}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let log = self.out.join("restarted.log");
        let told = || fs::read_to_string(&log).unwrap_or_default();
        let end = Instant::now() + Duration::from_mins(5);
        while Instant::now() < end {
            let stderr = fs::File::create(&log).expect("a log");
            let child = command.stdout(Stdio::null()).stderr(stderr).spawn().expect("it starts again");
            let mut restarted = Restarted(child);
            // Where its port is somebody's own end of a connection meanwhile, it ends; that may be long after it started.
            while restarted.0.try_wait().expect("a child").is_none() {
                if self.program("kubectl", &["get", "--raw", "/readyz"]).status.success() {
                    return restarted;
                }
                assert!(Instant::now() < end, "the API server does not get ready again: {}", told());
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        panic!("the API server does not start again: {}", told());
    }

    /// Runs one of its programs and gives what it prints.
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> String {
        let output = self.program(program, args);
        assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn program(&self, program: &str, args: &[&str]) -> Output {
        let mut command = Command::new(self.bin.join(program));
        command.args(args).env("KUBECONFIG", &self.kubeconfig);
        command.output().unwrap_or_else(|error| panic!("{program} runs: {error}"))
    }

    /// Makes objects.
    pub(crate) fn create(&self, name: &str, objects: &[Value]) {
        let file = self.out.join(format!("{name}.json"));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        fs::write(&file, list.to_string()).expect("a file");
        self.run("kubectl", &["create", "--validate=false", "-f", file.to_str().expect("a path")]);
    }

    /// What the chart renders.
    pub(crate) fn rendered(&self) -> String {
        self.run("helm3", &["template", RELEASE, &chart(), "-n", NAMESPACE])
    }

    /// Installs the chart and makes what controllers would have made of it.
    fn fill(&self) {
        self.run("kubectl", &["create", "namespace", NAMESPACE]);
        self.run("helm3", &["install", RELEASE, &chart(), "-n", NAMESPACE]);
        let inventory = json!({"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
            "metadata": {"name": "cluster-api", "namespace": NAMESPACE},
            "providerName": "cluster-api", "type": "CoreProvider", "version": "v1.14.0"});
        let mut objects = vec![inventory];
        for number in 0..9 {
            let name = format!("demo-cp-{number}");
            let meta = json!({"name": name, "namespace": NAMESPACE,
                "labels": {"cluster.x-k8s.io/cluster-name": "demo", "cluster.x-k8s.io/control-plane": ""}});
            objects.push(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": meta,
                "spec": {"clusterName": "demo", "version": "v1.34.0",
                    "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": name}},
                    "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": name}}}));
            // The last one lost its label, so no list by label finds it.
            let meta = if number == 8 { json!({"name": name, "namespace": NAMESPACE}) } else { meta };
            objects.push(json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig",
                "metadata": meta, "spec": {"verbosity": 2}}));
            // Two infrastructure Machines fit under the number that is read by name; one is gone.
            if number < 2 {
                objects.push(json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachine",
                    "metadata": meta, "spec": {"backend": {"inMemory": {}}}}));
            }
        }
        self.create("machines", &objects);
    }
}

/// The folder of the chart.
fn chart() -> String {
    format!("{}/tests/e2e/charts/kubeadm", env!("CARGO_MANIFEST_DIR"))
}
