//! Starts the bench once for the whole test binary and gives each test a namespace of its own.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::api::Api;
use crate::starter::{self, Started};

/// A running management cluster.
pub(crate) struct Bench {
    /// Kubeconfig of an administrator.
    pub(crate) kubeconfig: PathBuf,
    /// Folder of the bench's programs.
    pub(crate) bin: PathBuf,
    /// Folder of this run: logs, users, and one folder for each test.
    pub(crate) out: PathBuf,
    pub(crate) api: Api,
    /// Its stdin stays open as long as this process lives.
    _starter: Child,
}

impl Bench {
    /// A user with these rights in the whole cluster, as a kubeconfig; the name must be unique.
    pub(crate) fn user(&self, name: &str, rules: &Value) -> PathBuf {
        let (root, group) = ("/apis/rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io");
        let object = |kind: &str, more: &Value| {
            let mut object = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name}});
            object.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
            object
        };
        self.api.create(&format!("{root}/clusterroles"), &object("ClusterRole", &json!({"rules": rules})));
        let binding = json!({"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": name}]});
        self.api.create(&format!("{root}/clusterrolebindings"), &object("ClusterRoleBinding", &binding));
        let mut starter = Command::new(self.bin.join("bench"));
        let output = starter.args(["user", "--out"]).arg(&self.out).arg(name).output().expect("the starter runs");
        assert!(output.status.success(), "{output:?}");
        PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
    }
}

/// The bench of this test binary. `None`, after one line on stderr, where it is not built.
///
/// # Panics
///
/// Where it is not built although `CI` is `true`, or does not start.
pub(crate) fn bench() -> Option<&'static Bench> {
    static BENCH: OnceLock<Option<Bench>> = OnceLock::new();
    BENCH
        .get_or_init(|| match find_bin() {
            Ok(bin) => Some(start(bin, "bench", &[])),
            Err(missing) if std::env::var("CI").as_deref() == Ok("true") => {
                panic!("{missing}; in CI that is a failure")
            }
            Err(missing) => {
                say(&format!("skipped: every end-to-end test, because {missing} (build it with `make bench`)"));
                None
            }
        })
        .as_ref()
}

/// An API server with the CRDs and nothing that defaults, validates or converts, so that the tests and the hosts that they play
/// are the only ones who write. `None` where the bench is not built.
pub(crate) fn api_only() -> Option<&'static Bench> {
    static BENCH: OnceLock<Option<Bench>> = OnceLock::new();
    BENCH.get_or_init(|| find_bin().ok().map(|bin| start(bin, "api", &["--api-only"]))).as_ref()
}

fn find_bin() -> Result<PathBuf, String> {
    starter::find(&[
        "core",
        "bootstrap",
        "controlplane",
        "capd",
        "rke2-bootstrap",
        "rke2-controlplane",
        "helm-controller",
        "helm3",
        "helm4",
    ])
}

/// Starts a bench in a folder of its own.
pub(crate) fn start(bin: PathBuf, name: &str, options: &[&str]) -> Bench {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    remove_older_runs(&out);
    let Started { kubeconfig, process } = starter::start(&bin, &out, options);
    let api = Api::connect(&kubeconfig);
    Bench { kubeconfig, bin, out, api, _starter: process }
}

/// Removes what earlier runs left, except those that still run.
fn remove_older_runs(out: &Path) {
    let Some(folder) = out.parent() else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let Some(pid) = ["bench-", "api-", "hunt-", "pivot-"].iter().find_map(|mine| name.strip_prefix(mine)) else {
            continue;
        };
        if !Path::new("/proc").join(pid).exists() {
            // What cannot be removed now is removed by the next run.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// Tells it at once, whether or not the test binary captures what tests print.
pub(crate) fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// A namespace and a folder for one test.
pub(crate) struct Space {
    pub(crate) bench: &'static Bench,
    pub(crate) namespace: String,
    pub(crate) dir: PathBuf,
}

impl Space {
    /// Makes the namespace; the name must be unique among the tests.
    pub(crate) fn new(bench: &'static Bench, name: &str) -> Self {
        let dir = bench.out.join("tests").join(name);
        fs::create_dir_all(&dir).expect("the folder of the test can be made");
        bench.api.create(
            "/api/v1/namespaces",
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        );
        Self { bench, namespace: name.to_owned(), dir }
    }

    /// Writes a file into the folder of the test.
    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.dir.join(name);
        fs::write(&path, content).expect("the file can be written");
        path
    }

    /// Makes or changes a ConfigMap of the namespace.
    pub(crate) fn config_map(&self, name: &str, labels: &Value, data: &Value) {
        let path = format!("/api/v1/namespaces/{}/configmaps", self.namespace);
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": data});
        if self.bench.api.get(&format!("{path}/{name}")).is_some() {
            self.bench.api.merge(&format!("{path}/{name}"), &object);
        } else {
            self.bench.api.create(&path, &object);
        }
    }

    /// Objects of one resource, such as `cluster.x-k8s.io/v1beta2`, `machines`.
    pub(crate) fn list(&self, group_version: &str, resource: &str) -> Vec<Value> {
        self.bench.api.list(&format!("/apis/{group_version}/namespaces/{}/{resource}", self.namespace))
    }

    /// One object.
    pub(crate) fn get(&self, group_version: &str, resource: &str, name: &str) -> Option<Value> {
        self.bench.api.get(&format!("/apis/{group_version}/namespaces/{}/{resource}/{name}", self.namespace))
    }
}
