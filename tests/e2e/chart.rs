//! The chart of the webhook: what it renders is what `rollgate serve manifests` prints, and real Helms and Flux install it, upgrade it
//! and take it away without leaving anything that blocks. The server runs beside the API server, as no kubelet starts it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Space, api_only, bench};
use crate::flux::publish;
use crate::gate_releases::{RELEASES, alone, mark};
use crate::helm::{Helm, Run, rollgate};
use crate::observe::{CAPI, condition};
use crate::serve::{Server, administrator, as_account, kubectl, person};

const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/rollgate")
}

/// Every object of a stream.
fn objects(stream: &str) -> Vec<Value> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), stream).expect("written");
    let read = Command::new(rollgate()).args(["debug", "yaml"]).arg(file.path()).output().expect("rollgate runs");
    Run::of(read).succeeded().stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Takes out what only a chart says: labels of Helm, and whose Pods are meant where a chart is there twice.
fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("app.kubernetes.io/instance");
            fields.remove("imagePullPolicy");
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// What is to be compared: no namespace, which Helm makes by itself, and no hook, which only takes something away.
fn comparable(stream: &str) -> BTreeMap<String, Value> {
    let all = objects(stream).into_iter().filter(|object| object["kind"] != "Namespace");
    all.filter(|object| object["metadata"]["annotations"].get("helm.sh/hook").is_none())
        .map(|mut object| {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("labels");
            }
            plain(&mut object);
            (format!("{} {}", object["kind"], object["metadata"]["name"]), object)
        })
        .collect()
}

fn template(space: &Space, helm: Helm, values: &[&str]) -> String {
    let mut command = Command::new(space.bench.bin.join(helm.name()));
    command.args(["template", "rollgate"]).arg(chart()).args(["-n", "rollgate-system", "--kube-version", "1.34"]);
    Run::of(command.args(values).output().expect("Helm runs")).succeeded().stdout
}

/// Rights, rules, who is skipped, the server and its network are written once, and the chart and the program say the same of them.
#[test]
fn the_chart_renders_what_the_program_prints() {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, "chart-equal");
    let authority = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/serve/authority.pem");
    let (authority, from_file) =
        (authority.to_str().expect("a path"), format!("certificates.authority={}", authority.display()));
    let notify = "http://notification-controller.flux-system.svc.cluster.local./";
    let notified = format!("flux.notify={notify}");
    let cases: [(&[&str], &[&str]); 6] = [
        (&["--image", "ghcr.io/rollgate/rollgate:v0.1.0"], &[]),
        (
            &["--image", "ghcr.io/rollgate/rollgate:v0.1.0", "--gate-releases", "--notify", notify],
            &["--set", "flux.gateReleases=true", "--set", &notified],
        ),
        (
            &["--image", "ghcr.io/rollgate/rollgate:v0.1.0", "--publish-values", "--policy", "configmap/fleet/site"],
            &["--set", "flux.publishValues=true,policy.from=configmap/fleet/site"],
        ),
        (
            &[
                "--image",
                "ghcr.io/rollgate/rollgate:v0.1.0",
                "--publish-values",
                "--gate-releases",
                "--policy",
                "configmap/fleet/site",
                "--certificates",
                "cert-manager",
            ],
            &[
                "--set",
                "flux.publishValues=true,flux.gateReleases=true,policy.from=configmap/fleet/site,certificates.from=cert-manager",
            ],
        ),
        (
            &[
                "--image",
                "r.example.org/r@sha256:0123456789012345678901234567890123456789012345678901234567890123",
                "--mode",
                "enforce",
                "--failure-policy",
                "fail",
                "--policy",
                "configmap/fleet/site",
                "--skip",
                "anna",
                "--skip",
                "system:serviceaccount:a:b",
                "--timeout",
                "7",
                "--replicas",
                "3",
                "--data-label",
                "example.org/c",
                "--certificates",
                "cert-manager",
            ],
            &[
                "--set",
                "image.repository=r.example.org/r",
                "--set",
                "image.digest=sha256:0123456789012345678901234567890123456789012345678901234567890123",
                "--set",
                "mode=enforce,webhook.failurePolicy=Fail,policy.from=configmap/fleet/site,webhook.timeoutSeconds=7",
                "--set",
                "webhook.skip={anna,system:serviceaccount:a:b},replicas=3,webhook.dataLabel=example.org/c",
                "--set",
                "certificates.from=cert-manager",
            ],
        ),
        (
            &["--image", "ghcr.io/rollgate/rollgate:v0.1.0", "--ca-bundle", authority],
            &["--set", "certificates.from=secret", "--set-file", &from_file],
        ),
    ];
    for (args, values) in cases {
        let printed = Command::new(rollgate()).args(["serve", "manifests"]).args(args).output().expect("rollgate runs");
        let printed = comparable(&Run::of(printed).succeeded().stdout);
        for helm in [Helm::V3, Helm::V4] {
            let rendered = comparable(&template(&space, helm, values));
            assert_eq!(rendered.keys().collect::<Vec<_>>(), printed.keys().collect::<Vec<_>>(), "{helm:?} {args:?}");
            for (name, object) in &printed {
                assert_eq!(&rendered[name], object, "{helm:?} {args:?} {name}");
            }
        }
    }
}

/// A value that nobody knows, or that would end up in an expression, is refused before anything is rendered.
#[test]
fn values_that_the_chart_does_not_know_are_refused() {
    let Some(bench) = api_only() else { return };
    let values = [
        "mode=both",
        "webhook.skip={a'] || true}",
        "webhook.failurepolicy=Fail",
        "certificates.from=secret",
        "replicas=0",
        "flux.publishValues=true",
        "flux.notify=http://notification-controller",
        "flux.publishIn={A}",
        "flux.gate=true",
    ];
    for value in values {
        for helm in [Helm::V3, Helm::V4] {
            let mut command = Command::new(bench.bin.join(helm.name()));
            command.args(["template", "rollgate"]).arg(chart()).args(["--kube-version", "1.34", "--set", value]);
            Run::of(command.output().expect("Helm runs")).refused("schema");
        }
    }
}

/// Workers of nobody: no controller acts on them here.
fn workers(space: &Space) {
    let labels = json!({"cluster.x-k8s.io/cluster-name": "demo"});
    let set = json!({"apiVersion": CAPI, "kind": "MachineDeployment", "metadata": {"name": "demo-md", "namespace": space.namespace, "labels": labels},
        "spec": {"clusterName": "demo", "replicas": 2, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"clusterName": "demo", "bootstrap": {"dataSecretName": "a"}, "infrastructureRef":
                {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "a"}}}}});
    space.bench.api.create(&format!("/apis/{CAPI}/namespaces/{}/machinedeployments", space.namespace), &set);
}

const TO_NOTHING: [&str; 6] =
    ["patch", "machinedeployment", "demo-md", "--type=merge", "-p", "{\"spec\":{\"replicas\":0}}"];

/// Waits until a person who takes the workers away hears this; `None`: until nothing keeps them from it.
fn hears(space: &Space, words: Option<&str>) -> Run {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let run = person(space, &[&TO_NOTHING[..], &["--dry-run=server"]].concat());
        let is = match words {
            Some(words) => run.code != Some(0) && run.stderr.contains(words),
            None => run.code == Some(0),
        };
        if is {
            return run;
        }
        assert!(Instant::now() < end, "never {words:?}: {run:#?}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// The values of an installation whose server runs beside the cluster and looks at one namespace.
fn values(space: &Space, server: &Server, mode: &str) -> Value {
    json!({"mode": mode, "policy": {"text": "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n"},
        "flux": {"gateReleases": true, "publishValues": true, "publishIn": [space.namespace]}, "webhook": {
        "url": format!("{}/validate", server.url), "failurePolicy": "Fail", "skip": [administrator(space)],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space.namespace}}}})
}

/// A server with the rights that the chart gives, before the chart is there: it waits for what it needs.
fn server(space: &Space, release: &str) -> Server {
    let secret = format!("{}/{release}-tls", space.namespace);
    let args =
        ["--mode", "enforce", "--tls-secret", &secret, "--tls-configuration", release, "--tls-name", "127.0.0.1"];
    Server::launch(&as_account(space, &space.namespace, release), &args)
}

fn bundles(space: &Space, release: &str) -> Vec<Value> {
    let hooks = space.bench.api.get(&format!("{HOOKS}/{release}")).expect("the configuration");
    let hooks = hooks["webhooks"].as_array().expect("webhooks").clone();
    hooks.iter().map(|hook| hook["clientConfig"]["caBundle"].clone()).collect()
}

/// Nothing is left that asks or that can be asked.
fn nothing_is_left(space: &Space, release: &str) {
    assert_eq!(space.bench.api.get(&format!("{HOOKS}/{release}")), None);
    let rights = "rbac.authorization.k8s.io/v1";
    for role in ["serve", "bundle", "gate", "values"] {
        assert_eq!(space.bench.api.get(&format!("/apis/{rights}/clusterroles/{release}-{role}")), None);
    }
    for kind in ["validatingadmissionpolicies", "validatingadmissionpolicybindings"] {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}/{release}-gate");
        assert_eq!(space.bench.api.get(&path), None);
    }
    for kind in ["roles", "rolebindings"] {
        assert_eq!(space.list(rights, kind), Vec::<Value>::new());
    }
    assert_eq!(space.bench.api.get(&format!("/api/v1/namespaces/{}/secrets/{release}-tls", space.namespace)), None);
}

fn installed_upgraded_and_removed(helm: Helm) {
    let Some(bench) = api_only() else { return };
    let _alone = alone();
    let release = format!("gate-{}", helm.name());
    let space = Space::new(bench, &release);
    workers(&space);
    let server = server(&space, &release);
    let run = |args: &[&str], values: Option<Value>| {
        let mut command = Command::new(bench.bin.join(helm.name()));
        command.args(args).args(["-n", &space.namespace]).env("KUBECONFIG", &bench.kubeconfig).env("HOME", &space.dir);
        if let Some(values) = values {
            command.arg("-f").arg(space.file("values.json", &values.to_string()));
        }
        Run::of(command.output().expect("Helm runs"))
    };
    let path = chart();
    let path = path.to_str().expect("a path");
    run(&["install", &release, path], Some(values(&space, &server, "observe"))).succeeded();
    server.is_ready();
    hears(&space, Some("denied the request: rollgate"));
    let before = bundles(&space, &release);
    let gate = || bench.api.get(&format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{release}-gate"));
    assert!(gate().is_some());
    // An upgrade leaves the certificate and what was told of it alone. Without the gate none of its rights stays.
    let mut other = values(&space, &server, "enforce");
    other["flux"]["gateReleases"] = json!(false);
    other["webhook"]["timeoutSeconds"] = json!(7);
    other["replicas"] = json!(3);
    run(&["upgrade", &release, path], Some(other.clone())).succeeded();
    assert!(gate().is_none());
    assert_eq!(bundles(&space, &release), before);
    hears(&space, Some("denied the request: rollgate"));
    // Who pipes the chart into kubectl does not end up with a webhook that asks nobody.
    let file = space.file(
        "piped.yaml",
        &run(&["template", &release, path, "--kube-version", "1.34"], Some(other)).succeeded().stdout,
    );
    let piped = kubectl(&space, &["apply", "-f", file.to_str().expect("a path")]);
    assert!(piped.code == Some(0) || piped.stderr.contains("metadata.uid"), "{piped:#?}");
    assert_eq!(bundles(&space, &release).len(), 2);
    // Nobody answers any more, and everything that people write is refused: the uninstall goes through, and then nothing is.
    drop(server);
    hears(&space, Some("failed calling webhook"));
    let removed = run(&["uninstall", &release, "--debug"], None).succeeded();
    nothing_is_left(&space, &release);
    hears(&space, None);
    let said = format!("{}{}", removed.stdout, removed.stderr);
    let first =
        |kind: &str| said.lines().position(|line| line.to_ascii_lowercase().contains("delet") && line.contains(kind));
    let (asks, serves) = (first("ValidatingWebhookConfiguration"), first("Deployment"));
    assert!(asks.is_some() && asks < serves, "the configuration goes first: {said}");
}

#[test]
fn helm_3_installs_upgrades_and_removes_the_chart() {
    installed_upgraded_and_removed(Helm::V3);
}

#[test]
fn helm_4_installs_upgrades_and_removes_the_chart() {
    installed_upgraded_and_removed(Helm::V4);
}

/// Flux does the same with the same chart.
#[test]
fn flux_installs_upgrades_and_removes_the_chart() {
    let Some(bench) = bench() else { return };
    let _alone = alone();
    let (release, flux) = ("gate-flux", "helm.toolkit.fluxcd.io/v2");
    let space = Space::new(bench, release);
    let published = Command::new(bench.bin.join("bench"))
        .args(["publish", "--namespace", &space.namespace, "--name", "rollgate", "--out"])
        .args([&bench.out, &chart()])
        .output();
    Run::of(published.expect("the starter runs")).succeeded();
    let server = server(&space, release);
    // Nothing waits for Pods that nobody starts.
    let wanted = json!({"apiVersion": flux, "kind": "HelmRelease", "metadata": {"name": release}, "spec": {
        "interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "rollgate"}, "values": values(&space, &server, "observe"),
        "install": {"disableWait": true}, "upgrade": {"disableWait": true}, "uninstall": {"disableWait": true}}});
    let path = format!("/apis/{flux}/namespaces/{}/helmreleases", space.namespace);
    bench.api.create(&path, &wanted);
    let own = format!("{path}/{release}");
    let until = |what: &str, is: &dyn Fn(Option<Value>) -> bool| {
        let end = Instant::now() + Duration::from_secs(120);
        while !is(bench.api.get(&own)) {
            assert!(Instant::now() < end, "never {what}: {:?}", bench.api.get(&own));
            std::thread::sleep(Duration::from_millis(500));
        }
    };
    let is_ready = |generation: u64| {
        move |release: Option<Value>| {
            let release = release.expect("the HelmRelease");
            release["status"]["observedGeneration"] == json!(generation)
                && condition(&release, "Ready").is_some_and(|ready| ready["status"] == "True")
        }
    };
    until("installed", &is_ready(1));
    server.is_ready();
    // Under load the server is ready some time before it has seen the webhook configuration of the chart.
    let end = Instant::now() + Duration::from_secs(30);
    let before = loop {
        let before = bundles(&space, release);
        if before.iter().all(Value::is_string) {
            break before;
        }
        assert!(Instant::now() < end, "{before:?}");
        std::thread::sleep(Duration::from_millis(200));
    };
    bench.api.merge(&own, &json!({"spec": {"values": {"webhook": {"timeoutSeconds": 7}}}}));
    until("upgraded", &is_ready(2));
    let hooks = bench.api.get(&format!("{HOOKS}/{release}")).expect("the configuration");
    assert_eq!(hooks["webhooks"][0]["timeoutSeconds"], 7);
    assert_eq!(bundles(&space, release), before);
    drop(server);
    bench.api.send("DELETE", &own, None).expect("it is there");
    until("removed", &|release| release.is_none());
    nothing_is_left(&space, release);
}

/// What the story below stands on: an address that somebody allocates later, published where it is known, and a gate for the release that takes it.
const FLUX_POLICY: &str = "apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
- {name: vip, placeholders: [\"55.55.55.55\"], type: ip, from: [{object: {apiVersion: v1, kind: ConfigMap, name: allocated, path: $.data.vip}}]}
pins: {store: configmap/rollgate-pins}
flux: {values: [{namespace: gate-story, name: late, template: template}]}
";

/// The gate and the publisher run with the rights that the chart gives its account, and with no others.
#[test]
fn the_gate_and_the_publisher_have_what_they_need_from_the_chart() {
    let Some(bench) = bench() else { return };
    let _alone = alone();
    let release = "gate-story";
    let space = Space::new(bench, release);
    publish(&space, "kubeadm");
    // What another test has installed would keep this gate from its own releases.
    kubectl(&space, &["delete", "validatingadmissionpolicybinding", "rollgate-gate", "--ignore-not-found"]).succeeded();
    let helm = |args: &[&str]| {
        let mut command = Command::new(bench.bin.join(Helm::V4.name()));
        command.args(args).args(["-n", &space.namespace]).env("KUBECONFIG", &bench.kubeconfig).env("HOME", &space.dir);
        Run::of(command.output().expect("Helm runs"))
    };
    let values = json!({"policy": {"text": FLUX_POLICY}, "webhook": {"namespaceSelector": {"matchLabels": {"no": "namespace"}}},
        "flux": {"gateReleases": true, "publishValues": true, "publishIn": [space.namespace]}});
    let (chart, values) = (chart(), space.file("values.json", &values.to_string()));
    helm(&["install", release, chart.to_str().expect("a path"), "-f", values.to_str().expect("a path")]).succeeded();
    // The arguments of the Deployment, at a port of this machine and with the programs that the image holds.
    let deployment = space.get("apps/v1", "deployments", release).expect("it is installed");
    let args = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().expect("arguments").clone();
    let args: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
    let policy = args.iter().find_map(|arg| arg.strip_prefix("--policy=")).expect("a policy");
    let program = |name: &str| bench.bin.join(name).to_str().expect("a path").to_owned();
    let (helm4, kustomize) = (program("helm4"), program("kustomize"));
    let kept = |arg: &&str| *arg != "serve" && !arg.starts_with("--policy=") && !arg.starts_with("--listen=");
    let more: Vec<&str> =
        args.iter().copied().filter(kept).chain(["--helm", &helm4, "--kustomize", &kustomize]).collect();
    let server = Server::launch_under(policy, &as_account(&space, &space.namespace, release), &more);
    server.is_ready();

    let all = format!("/apis/{RELEASES}/namespaces/{}/helmreleases", space.namespace);
    let stands = |phase: &str| {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            let release = bench.api.get(&format!("{all}/demo")).expect("the HelmRelease is there");
            if mark(&release, "phase") == phase {
                return release;
            }
            assert!(Instant::now() < end, "it is not {phase}: {release:#}\n{}", server.log());
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    space.config_map("template", &json!({}), &json!({"values.yaml": "vip: {{ late(\"vip\") }}\n"}));
    let wanted = json!({"apiVersion": RELEASES, "kind": "HelmRelease", "metadata": {"name": "demo", "annotations": {"rollgate.dev/gate": "enabled"}},
        "spec": {"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "kubeadm"}, "valuesFrom": [{"kind": "ConfigMap", "name": "late"}],
            "values": {"controlPlane": {"replicas": 1}, "workers": {"replicas": 0}}}});
    bench.api.create(&all, &wanted);
    stands("waiting");
    assert!(space.list(CAPI, "clusters").is_empty(), "{}", server.log());
    // Published, judged, resumed, installed, suspended again.
    space.config_map("allocated", &json!({}), &json!({"vip": "10.0.3.7"}));
    let done = stands("done");
    assert_eq!(done["spec"]["suspend"], true, "{done:#}");
    let owners = space.list("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes");
    assert!(owners[0]["spec"].to_string().contains("10.0.3.7"), "{owners:#?}");
    // Another version is held, and nobody else lets it go.
    bench.api.merge(&format!("{all}/demo"), &json!({"spec": {"values": {"version": "v1.34.1"}}}));
    stands("held");
    kubectl(&space, &["patch", "helmrelease", "demo", "--type=merge", "-p", r#"{"spec":{"suspend":false}}"#])
        .refused("rollgate gates this HelmRelease");
    let log = server.log();
    assert!(!log.to_ascii_lowercase().contains("forbidden"), "a right is missing: {log}");
    // Let go, then taken away.
    kubectl(&space, &["annotate", "helmrelease", "demo", "rollgate.dev/gate-"]).succeeded();
    let end = Instant::now() + Duration::from_secs(60);
    let is_kept = || {
        let release = bench.api.get(&format!("{all}/demo")).expect("it stays");
        release["metadata"]["finalizers"].to_string().contains("rollgate")
    };
    while is_kept() {
        assert!(Instant::now() < end, "it is not let go\n{}", server.log());
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(server);
    helm(&["uninstall", release]).succeeded();
    nothing_is_left(&space, release);
}
