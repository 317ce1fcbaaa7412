//! source-controller itself, and a repository of charts for it.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::Space;
use crate::flux::publish_from;

/// The group of its kinds.
pub(crate) const SOURCES: &str = "source.toolkit.fluxcd.io/v1";

/// source-controller as it is, in one namespace: it serves its artifacts until this goes.
pub(crate) struct Sources(std::process::Child);

impl Drop for Sources {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(crate) fn sources(space: &Space) -> Sources {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a port").port();
    let storage = space.dir.join("artifacts");
    std::fs::create_dir_all(&storage).expect("a folder");
    let log = std::fs::File::create(space.dir.join("source-controller.log")).expect("a file");
    let address = format!("127.0.0.1:{port}");
    let mut command = Command::new(space.bench.bin.join("source-controller"));
    command.args([
        "--watch-all-namespaces=false",
        "--events-addr=",
        "--metrics-addr=127.0.0.1:0",
        "--health-addr=127.0.0.1:0",
    ]);
    command.args(["--storage-addr", &address, "--storage-adv-addr", &address]).arg("--storage-path").arg(&storage);
    command.env("KUBECONFIG", &space.bench.kubeconfig).env("RUNTIME_NAMESPACE", &space.namespace);
    command.stderr(log.try_clone().expect("the file")).stdout(log);
    Sources(command.spawn().expect("source-controller is built with the bench"))
}

/// A repository of versions of one chart, packed and served by the bench over HTTP.
pub(crate) struct Charts<'a> {
    space: &'a Space,
    entries: Vec<Value>,
    folder: std::path::PathBuf,
    url: String,
}

impl<'a> Charts<'a> {
    /// Versions of the chart, each with the version of Kubernetes that it brings. None is in the index yet.
    pub(crate) fn pack(space: &'a Space, versions: &[(&str, &str)]) -> Self {
        let folder = space.bench.out.join("charts").join(&space.namespace);
        std::fs::create_dir_all(&folder).expect("a folder");
        let entries: Vec<Value> =
            versions.iter().map(|(version, release)| Self::one(space, version, release)).collect();
        let path = format!("/apis/{SOURCES}/namespaces/{}/ocirepositories/kubeadm", space.namespace);
        space.bench.api.send("DELETE", &path, None).expect("it goes");
        let url = entries[0]["urls"][0].as_str().expect("a URL").rsplit_once('/').expect("a path").0;
        let url = format!("{url}/{}", space.namespace);
        Self { space, entries, folder, url }
    }

    fn one(space: &Space, version: &str, release: &str) -> Value {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/kubeadm");
        let chart = space.dir.join(version);
        std::fs::create_dir_all(chart.join("templates")).expect("a folder");
        for file in std::fs::read_dir(from.join("templates")).expect("templates").flatten() {
            std::fs::copy(file.path(), chart.join("templates").join(file.file_name())).expect("a copy");
        }
        let values = std::fs::read_to_string(from.join("values.yaml")).expect("values").replace("v1.34.0", release);
        std::fs::write(chart.join("values.yaml"), values).expect("a file");
        std::fs::write(chart.join("Chart.yaml"), format!("apiVersion: v2\nname: kubeadm\nversion: {version}\n"))
            .expect("a file");
        publish_from(space, "kubeadm", &chart);
        let source = space.get(SOURCES, "ocirepositories", "kubeadm").expect("it is published");
        let word = |field: &str| source["status"]["artifact"][field].as_str().expect("text").to_owned();
        json!({"name": "kubeadm", "version": version, "apiVersion": "v2", "urls": [word("url")], "digest": word("digest").trim_start_matches("sha256:")})
    }

    /// Puts the first so many into the index.
    pub(crate) fn index(&self, first: usize) {
        let text = json!({"apiVersion": "v1", "entries": {"kubeadm": self.entries[..first]}}).to_string();
        std::fs::write(self.folder.join("index.yaml"), text).expect("a file");
    }

    /// Tells Flux of it.
    pub(crate) fn repository(&self) {
        let repository = json!({"apiVersion": SOURCES, "kind": "HelmRepository", "metadata": {"name": "charts"},
            "spec": {"interval": "3s", "url": self.url}});
        let path = format!("/apis/{SOURCES}/namespaces/{}/helmrepositories", self.space.namespace);
        self.space.bench.api.create(&path, &repository);
    }
}
