//! Flux's helm-controller as a host: beside an API server that runs without it, so that it is the only one who writes.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::bench::Bench;
use crate::observe::condition;

const RELEASES: &str = "helm.toolkit.fluxcd.io/v2";
const SOURCES: &str = "source.toolkit.fluxcd.io/v1";
/// Longest time for one reconciliation.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running helm-controller with a server of charts.
struct Flux {
    /// Folder that is served.
    charts: PathBuf,
    /// Where it is served.
    url: String,
    /// Dies with this process.
    _controller: Child,
}

/// Starts helm-controller for a bench; a test binary has one bench of this kind.
fn start(bench: &Bench) -> &'static Flux {
    static FLUX: OnceLock<Flux> = OnceLock::new();
    FLUX.get_or_init(|| {
        let charts = bench.out.join("predict-charts");
        fs::create_dir_all(&charts).expect("the folder of charts can be made");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let served = charts.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| serve(stream, &served)));
        let log = fs::File::create(bench.out.join("logs/helm-controller.log")).expect("the log can be made");
        let controller = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(bench.bin.join("helm-controller"))
            .args([
                "--watch-all-namespaces",
                "--events-addr=",
                "--metrics-addr=127.0.0.1:0",
                "--health-addr=127.0.0.1:0",
            ])
            .env("KUBECONFIG", &bench.kubeconfig)
            .env("RUNTIME_NAMESPACE", "default")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("helm-controller runs");
        Flux { charts, url, _controller: controller }
    })
}

/// Answers one request for a file.
fn serve(mut stream: TcpStream, folder: &Path) {
    let mut lines = BufReader::new(stream.try_clone().expect("a second handle")).lines().map_while(Result::ok);
    let path = lines.next().and_then(|line| line.split(' ').nth(1).map(str::to_owned)).unwrap_or_default();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let answer = match fs::read(folder.join(path.trim_start_matches('/'))) {
        Ok(bytes) => [
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", bytes.len()).into_bytes(),
            b"Connection: close\r\n\r\n".to_vec(),
            bytes,
        ]
        .concat(),
        Err(_) => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
    };
    // Who went away asks again.
    drop(stream.write_all(&answer));
}

/// Packs a chart, and says so as source-controller would have done.
fn publish(bench: &Bench, flux: &Flux, namespace: &str, chart: &Path, version: &str) {
    let folder = flux.charts.join(namespace);
    fs::create_dir_all(&folder).expect("the folder can be made");
    let packed = Command::new(bench.bin.join("helm3"))
        .args(["package", "--destination"])
        .args([&folder, chart])
        .env("HOME", &bench.out)
        .output()
        .expect("Helm runs");
    assert!(packed.status.success(), "{packed:?}");
    let file = format!("{namespace}/predict-{version}.tgz");
    let bytes = fs::read(flux.charts.join(&file)).expect("the packed chart");
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("/apis/{SOURCES}/namespaces/{namespace}/ocirepositories");
    let one = format!("{path}/predict");
    let spec = json!({"interval": "1h", "url": "oci://bench.invalid/predict", "ref": {"tag": version}});
    let source = match bench.api.get(&one) {
        Some(_) => bench.api.merge(&one, &json!({"spec": spec})),
        None => {
            let object =
                json!({"apiVersion": SOURCES, "kind": "OCIRepository", "metadata": {"name": "predict"}, "spec": spec});
            bench.api.create(&path, &object)
        }
    };
    let (generation, now) = (&source["metadata"]["generation"], "2026-01-01T00:00:00Z");
    let status = json!({"observedGeneration": generation,
        "artifact": {"url": format!("{}/{file}", flux.url), "path": file, "digest": format!("sha256:{digest}"),
            "revision": format!("{version}@sha256:{digest}"), "lastUpdateTime": now},
        "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "published by the test",
            "observedGeneration": generation, "lastTransitionTime": now}]});
    bench.api.merge(&format!("{one}/status"), &json!({"status": status}));
}

/// Lets helm-controller install or upgrade a chart; what it said where that failed. Options are those of `spec.install`.
pub(crate) fn flux(bench: &Bench, verb: &str, namespace: &str, chart: &Path, options: &[&str]) -> Result<(), String> {
    let flux = start(bench);
    let version = if verb == "install" { "0.1.0" } else { "0.2.0" };
    publish(bench, flux, namespace, chart, version);
    let folder = format!("/apis/{RELEASES}/namespaces/{namespace}/helmreleases");
    if verb == "install" {
        let mut release = json!({"apiVersion": RELEASES, "kind": "HelmRelease", "metadata": {"name": "r"},
            "spec": {"interval": "1h", "timeout": "60s", "chartRef": {"kind": "OCIRepository", "name": "predict"},
                "install": {"disableWait": true}, "upgrade": {"disableWait": true}}});
        for option in options {
            let (name, value) = option.split_once('=').expect("an option with a value");
            release["spec"]["install"][name] = json!(value == "true");
        }
        bench.api.create(&folder, &release);
    }
    let began = Instant::now();
    loop {
        let release = bench.api.get(&format!("{folder}/r")).expect("the HelmRelease is there");
        let ready = condition(&release, "Ready").cloned().unwrap_or_default();
        let released = release.pointer("/status/history/0/chartVersion").and_then(Value::as_str);
        let done = released.is_some_and(|released| released.starts_with(version));
        match ready["status"].as_str() {
            Some("True") if done => return Ok(()),
            Some("False") if done => return Err(ready["message"].as_str().unwrap_or_default().to_owned()),
            _ => assert!(began.elapsed() < PATIENCE, "Flux does not {verb} the chart in {namespace}: {release:#}"),
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
