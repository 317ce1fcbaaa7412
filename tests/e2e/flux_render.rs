//! `rollgate flux render` against helm-controller: for releases that use everything which a HelmRelease can say about what is
//! rendered, the record that helm-controller stores holds what was printed before.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rollgate::facade::object::Stream;
use serde_json::{Value, json};

use crate::bench::{Bench, Space, bench};
use crate::flux::publish;
use crate::helm::rollgate;
use crate::observe::condition;
use crate::sources::{Charts, SOURCES, sources};

const RELEASES: &str = "helm.toolkit.fluxcd.io/v2";
/// Longest time for all of them.
const PATIENCE: Duration = Duration::from_secs(180);

/// A HelmRelease, by what of it is special.
fn releases(namespace: &str) -> Vec<(&'static str, Value)> {
    let from = |kind: &str, name: &str, more: &[(&str, Value)]| {
        let mut one = json!({"kind": kind, "name": name});
        more.iter().for_each(|(field, value)| one[*field] = value.clone());
        one
    };
    let at =
        |key: &str, path: &str| from("ConfigMap", "texts", &[("valuesKey", json!(key)), ("targetPath", json!(path))]);
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ignored}\nspec: {replicas: 7, paused: true}\n";
    let step = r#"[{"op": "add", "path": "/data/added", "value": "0777"}, {"op": "remove", "path": "/data/printed"}]"#;
    let patches = json!({"kustomize": {
        "patches": [
            {"patch": patch, "target": {"kind": "Deployment"}},
            {"patch": step, "target": {"version": "v1", "kind": "ConfigMap", "name": ".*-values"}}],
        "images": [{"name": "registry.example.com/app", "newName": "mirror.example.com/app", "newTag": "2.0"}]}});
    let after = json!({"kustomize": {"patches": [
        {"patch": r#"[{"op": "replace", "path": "/spec/replicas", "value": 9}]"#, "target": {"kind": "Deployment"}}]}});
    let both = json!({"labels": {"team": "true", "helm.toolkit.fluxcd.io/name": "lost"}, "annotations": {"note": "1"}});
    let hook = json!({"kustomize": {"patches": [
        {"patch": r#"[{"op": "add", "path": "/data/patched", "value": "yes"}]"#, "target": {"kind": "ConfigMap"}}]}});
    vec![
        (
            "inline",
            json!({"values": {"count": 2, "large": 12345678, "float": 1.5, "text": "0777", "none": null, "list": [1, {"a": "b"}]}}),
        ),
        (
            "order",
            json!({"values": {"map": {"changed": "inline"}}, "valuesFrom": [
            from("ConfigMap", "first", &[]), from("Secret", "second", &[("valuesKey", json!("more.yaml"))])]}),
        ),
        (
            "paths",
            json!({"values": {"map": {"kept": "inline"}, "top": "inline"}, "valuesFrom": [
            at("number", "large"), at("flag", "map.flag"), at("quoted", "map.quoted"), at("text", "top"), at("list", "list[3]"),
            at("number", r"map.a\.b"), from("ConfigMap", "first", &[])]}),
        ),
        (
            "literal",
            json!({"valuesFrom": [
            from("ConfigMap", "texts", &[("valuesKey", json!("file")), ("targetPath", json!("map.file")), ("literal", json!(true))])]}),
        ),
        (
            "optional",
            json!({"valuesFrom": [
            from("Secret", "gone", &[("optional", json!(true))]),
            from("ConfigMap", "first", &[("optional", json!(true)), ("valuesKey", json!("gone"))])]}),
        ),
        ("patches", json!({"postRenderers": [patches, after]})),
        ("metadata", json!({"commonMetadata": both})),
        (
            "target",
            json!({"targetNamespace": format!("{namespace}-2"), "install": {"createNamespace": true, "disableWait": true}}),
        ),
        ("storage", json!({"storageNamespace": "default", "releaseName": format!("{namespace}-other")})),
        ("a-name-that-is-longer-than-any-that-helm-takes-for-its-own", json!({})),
        ("nohooks", json!({"postRenderStrategy": "nohooks", "postRenderers": [hook]})),
        ("separate", json!({"postRenderStrategy": "separate", "postRenderers": [hook]})),
        ("dropped", json!({"values": ["no map"]})),
    ]
}

/// What a stream holds, by kind and name.
pub(crate) fn objects(text: &str) -> BTreeMap<String, Value> {
    let stream = Stream::load(&bytes::Bytes::copy_from_slice(text.as_bytes())).expect("a stream");
    let objects = stream.objects.objects().iter();
    objects.map(|object| (object.key.to_string(), object.value().expect("an object").into_owned().into())).collect()
}

/// What helm-controller stored of a revision: its manifest and its hooks.
pub(crate) fn recorded(bench: &Bench, namespace: &str, release: &str, revision: u64) -> BTreeMap<String, Value> {
    let path = format!("/api/v1/namespaces/{namespace}/secrets/sh.helm.release.v1.{release}.v{revision}");
    let secret = bench.api.get(&path).unwrap_or_else(|| panic!("no record {path}"));
    let text = BASE64_STANDARD.decode(secret["data"]["release"].as_str().expect("a record")).expect("base64");
    let packed = BASE64_STANDARD.decode(text).expect("base64 again");
    let mut json = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut json).expect("gzip");
    let record: Value = serde_json::from_str(&json).expect("JSON");
    let mut out = objects(record["manifest"].as_str().expect("a manifest"));
    for hook in record["hooks"].as_array().into_iter().flatten() {
        out.extend(objects(hook["manifest"].as_str().expect("a hook")));
    }
    out
}

fn render(bench: &Bench, folder: &Path, more: &[&str]) -> Output {
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/flux");
    Command::new(rollgate())
        .args(["flux", "render", "release.json", "--values-from", "sources.json", "--chart"])
        .arg(chart)
        .args(["--absent", "Secret/gone", "--helm"])
        .arg(bench.bin.join("helm4"))
        .arg("--kustomize")
        .arg(bench.bin.join("kustomize"))
        .args(more)
        .current_dir(folder)
        .env("HOME", folder)
        .output()
        .expect("rollgate runs")
}

/// Waits until a chart of this version is released.
pub(crate) fn wait(bench: &Bench, path: &str, revision: u64) -> Value {
    let began = Instant::now();
    loop {
        let release = bench.api.get(path).expect("the HelmRelease is there");
        let ready = condition(&release, "Ready").cloned().unwrap_or_default();
        let is_current = ready["observedGeneration"] == release["metadata"]["generation"];
        let latest = release.pointer("/status/history/0").cloned().unwrap_or_default();
        if ready["status"] == "True" && is_current && latest["version"].as_u64() >= Some(revision) {
            return latest;
        }
        assert!(began.elapsed() < PATIENCE, "not released: {release:#}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn what_is_rendered_is_what_helm_controller_stores() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "flux-render");
    let namespace = space.namespace.clone();
    publish(&space, "flux");
    let texts = json!({"number": "3000000", "flag": "TRUE", "quoted": "'12'", "text": "from the map", "list": "{x,1,true}",
        "file": "a: [1, {b}]\nc = 'x,y' \\ z\n"});
    let first = json!({"values.yaml": "map: {changed: first, first: 1}\nlist: [first]\n"});
    let second = json!({"more.yaml": "map: {changed: second, second: 5000000}\n"});
    space.config_map("texts", &json!({}), &texts);
    space.config_map("first", &json!({}), &first);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "second", "namespace": namespace}, "stringData": second});
    bench.api.create(&format!("/api/v1/namespaces/{namespace}/secrets"), &secret);
    let map = |name: &str, data: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data});
    let mut source = space.get(SOURCES, "ocirepositories", "flux").expect("the source");
    (source["apiVersion"], source["kind"]) = (json!(SOURCES), json!("OCIRepository"));
    let sources = [map("texts", &texts), map("first", &first), secret, source];
    let sources: Vec<String> = sources.iter().map(|one| format!("---\n{one}\n")).collect();
    space.file("sources.json", &sources.concat());

    let folder = format!("/apis/{RELEASES}/namespaces/{namespace}/helmreleases");
    let all = releases(&namespace);
    let mut given = BTreeMap::new();
    for (name, spec) in &all {
        let mut release = json!({"apiVersion": RELEASES, "kind": "HelmRelease", "metadata": {"name": name, "namespace": namespace},
            "spec": {"interval": "1h", "timeout": "60s", "chartRef": {"kind": "OCIRepository", "name": "flux"},
                "install": {"disableWait": true}, "upgrade": {"disableWait": true}}});
        for (field, value) in spec.as_object().expect("a spec") {
            release["spec"][field] = value.clone();
        }
        bench.api.create(&folder, &release);
        given.insert(*name, release);
    }
    for revision in [1, 2] {
        for (name, release) in &mut given {
            let path = format!("{folder}/{name}");
            if revision == 2 {
                // An upgrade, of what decides nothing else.
                release["spec"]["commonMetadata"]["annotations"]["again"] = json!("yes");
                bench.api.merge(&path, &json!({"spec": {"commonMetadata": release["spec"]["commonMetadata"]}}));
            }
            space.file("release.json", &release.to_string());
            let more: &[&str] = if revision == 1 { &["--first-install"] } else { &[] };
            let output = render(bench, &space.dir, more);
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            let rendered = objects(&String::from_utf8(output.stdout).expect("text"));
            assert_eq!(rendered.len(), 3, "{name}");
            let latest = wait(bench, &path, revision);
            let storage = release["spec"]["storageNamespace"].as_str().unwrap_or(&namespace);
            let helm = latest["name"].as_str().expect("the name of the release");
            let stored = recorded(bench, storage, helm, latest["version"].as_u64().expect("a revision"));
            assert_eq!(rendered, stored, "{name}, revision {revision}");
        }
    }
    assert!(given.len() >= 10, "the promise is ten");
}

/// `flux render` of `release.json` with the charts that the cluster serves.
fn from_cluster(space: &Space, release: &Value, more: &[&str]) -> Output {
    space.file("release.json", &release.to_string());
    let mut command = Command::new(rollgate());
    command.args(["flux", "render", "release.json", "--from-cluster", "--first-install", "--helm"]);
    command.arg(space.bench.bin.join("helm4")).arg("--kustomize").arg(space.bench.bin.join("kustomize"));
    command.args(more).current_dir(&space.dir).env("HOME", &space.dir).env("KUBECONFIG", &space.bench.kubeconfig);
    command.output().expect("rollgate runs")
}

#[track_caller]
fn is_undecided(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(4) && said.contains(words), "{said}");
    assert!(output.stdout.is_empty());
}

/// Charts from an OCI and from an HTTP repository: the artifact that source-controller serves is fetched, compared with its digest, and
/// rendered as helm-controller does it. Where it is not the chart that the files speak of, nothing is rendered.
#[test]
fn charts_that_the_cluster_serves_are_rendered_as_helm_controller_does() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "flux-served");
    let namespace = space.namespace.clone();
    let release = |name: &str, spec: Value| {
        let mut release = json!({"apiVersion": RELEASES, "kind": "HelmRelease", "metadata": {"name": name, "namespace": namespace}, "spec": spec});
        release["spec"]["interval"] = json!("1h");
        release["spec"]["install"] = json!({"disableWait": true});
        release
    };
    let folder = format!("/apis/{RELEASES}/namespaces/{namespace}/helmreleases");
    let stored = |release: &Value| {
        let latest = wait(bench, &format!("{folder}/{}", release["metadata"]["name"].as_str().expect("a name")), 1);
        recorded(bench, &namespace, latest["name"].as_str().expect("a release"), 1)
    };
    let rendered = |output: Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        objects(&String::from_utf8(output.stdout).expect("text"))
    };
    // HTTP: a version of a range, in the HelmChart that helm-controller makes.
    let charts = Charts::pack(&space, &[("1.0.0", "v1.34.0"), ("1.1.0", "v1.34.1")]);
    charts.index(2);
    let served = sources(&space);
    charts.repository();
    let chart = |version: &str| {
        json!({"chart": {"spec": {"chart": "kubeadm", "version": version, "sourceRef": {"kind": "HelmRepository", "name": "charts"}}},
            "values": {"vip": "10.0.3.7"}})
    };
    let http = release("http", chart("1.x"));
    is_undecided(&from_cluster(&space, &http, &[]), "is not in the cluster");
    bench.api.create(&folder, &http);
    let kept = stored(&http);
    assert!(format!("{kept:?}").contains("v1.34.1"), "the newest of the range");
    assert_eq!(rendered(from_cluster(&space, &http, &[])), kept);
    is_undecided(&from_cluster(&space, &release("http", chart("1.0.x")), &[]), "another spec.chart than this one");
    let elsewhere = json!({"apiVersion": SOURCES, "kind": "HelmRepository", "metadata": {"name": "charts", "namespace": namespace},
        "spec": {"interval": "1m", "url": "https://charts.example.org"}});
    let file = space.file("elsewhere.json", &elsewhere.to_string());
    let file = file.to_str().expect("a path");
    is_undecided(&from_cluster(&space, &http, &["--values-from", file]), "another spec.url");
    is_undecided(
        &from_cluster(&space, &http, &["--artifacts-at", "http://127.0.0.1:1"]),
        "the cluster does not serve it",
    );

    // OCI: the chart is the artifact, and its digest stands behind its version.
    drop(served);
    publish(&space, "flux");
    let oci = release("oci", json!({"chartRef": {"kind": "OCIRepository", "name": "flux"}, "values": {"count": 2}}));
    bench.api.create(&folder, &oci);
    assert_eq!(rendered(from_cluster(&space, &oci, &[])), stored(&oci));
    // What is served is not what its digest says.
    let source = format!("/apis/{SOURCES}/namespaces/{namespace}/ocirepositories/flux");
    let other = format!("sha256:{}", "0".repeat(64));
    bench.api.merge(&format!("{source}/status"), &json!({"status": {"artifact": {"digest": other}}}));
    is_undecided(&from_cluster(&space, &oci, &[]), "is not what its digest says");
}

fn git(folder: &Path, args: &[&str]) {
    let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let done = Command::new("git").args(set).args(args).current_dir(folder).env("HOME", folder).output();
    let output = done.expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn write(folder: &Path, file: &str, text: &str) {
    let file = folder.join(file);
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(file, text).expect("a file");
}

/// What `main` of a Flux repository holds: a folder that Flux applies, what its Kustomization renders, and a chart.
const REPOSITORY: [(&str, &str); 5] = [
    (
        "clusters/prod/source.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: flux-system}\n\
         spec: {interval: 1m, url: 'https://git.example.com/telco/fleet.git', ref: {branch: main}}\n---\n\
         apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: flux-system}\n\
         spec: {interval: 10m, prune: true, path: ./clusters/prod, sourceRef: {kind: GitRepository, name: fleet}}\n",
    ),
    (
        "clusters/prod/apps.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n\
         spec:\n  interval: 10m\n  prune: true\n  path: ./apps\n  targetNamespace: telco\n  sourceRef: {kind: GitRepository, name: fleet}\n  \
         postBuild: {substitute: {replicas: '3'}}\n",
    ),
    (
        "apps/edge.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: edge}\nspec:\n  interval: 10m\n  \
         chart: {spec: {chart: ./charts/edge, sourceRef: {kind: GitRepository, name: fleet, namespace: flux-system}}}\n  \
         valuesFrom: [{kind: ConfigMap, name: edge}]\n  values:\n    replicas: ${replicas}\n",
    ),
    (
        "apps/values.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge}\ndata:\n  values.yaml: |\n    version: v1.33.0\n",
    ),
    (
        "charts/edge/templates/md.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: '{{ .Release.Name }}-md'}\nspec:\n  \
         clusterName: edge\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {}}\n  template:\n    spec:\n      \
         clusterName: edge\n      version: {{ .Values.version }}\n      bootstrap: {dataSecretName: b}\n      \
         infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: {{ .Values.template }}}\n",
    ),
];

/// A change to that repository, judged.
fn previewed(
    bench: &Bench,
    name: &str,
    change: &[(&str, &str, &str)],
    also: &[(&str, &str)],
) -> (Option<i32>, Value, String) {
    let folder = bench.out.join("tests").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    git(&folder, &["init", "--quiet", "--initial-branch", "main"]);
    git(&folder, &["remote", "add", "origin", "git@git.example.com:telco/fleet.git"]);
    REPOSITORY.iter().chain(also).for_each(|(file, text)| write(&folder, file, text));
    write(&folder, "charts/edge/Chart.yaml", "apiVersion: v2\nname: edge\nversion: 0.1.0\n");
    write(&folder, "charts/edge/values.yaml", "template: a\nversion: v0.0.0\n");
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "--quiet", "--message", "base"]);
    git(&folder, &["checkout", "--quiet", "-b", "change"]);
    for (file, from, to) in change {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
        assert!(text.contains(from), "{file} has no {from}");
        write(&folder, file, &if from.is_empty() { (*to).to_owned() } else { text.replace(from, to) });
    }
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "--quiet", "--allow-empty", "--message", "change"]);
    let output = Command::new(rollgate())
        .args(["plan", "--base-ref", "main", "--flux", "clusters/prod", "--policy", "none", "-o", "json", "--helm"])
        .arg(bench.bin.join("helm4"))
        .arg("--kustomize")
        .arg(bench.bin.join("kustomize"))
        .current_dir(&folder)
        .env("HOME", &folder)
        .output()
        .expect("rollgate runs");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code(), report, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Namespace and name of the releases that were judged, each with its decision.
fn judged(report: &Value) -> Vec<String> {
    let items = report["items"].as_array().cloned().unwrap_or_else(|| vec![report.clone()]);
    let of = |item: &Value, field: &str| item["host"][field].as_str().unwrap_or("-").to_owned();
    items
        .iter()
        .map(|item| {
            format!("{}/{} {}", of(item, "namespace"), of(item, "release"), item["decision"].as_str().unwrap_or("?"))
        })
        .collect()
}

/// A change to the repository: its name, what is replaced in which file, the exit code, the answers, and a word of the report.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str, &'a str)], i32, &'a [&'a str], &'a str);

#[test]
fn a_change_to_a_flux_repository_is_previewed_release_by_release() {
    let Some(bench) = bench() else { return };
    let cases: [Case<'_>; 12] = [
        ("nothing", &[("apps/edge.yaml", "interval: 10m", "interval: 5m")], 0, &["-/- allow"], ""),
        ("version", &[("apps/values.yaml", "v1.33.0", "v1.34.0")], 3, &["-/- allow", "telco/edge hold"], "v1.34.0"),
        ("variable", &[("clusters/prod/apps.yaml", "'3'", "'4'")], 0, &["-/- allow", "telco/edge allow"], "replicas"),
        (
            "chart",
            &[("charts/edge/values.yaml", "template: a", "template: b")],
            3,
            &["-/- allow", "telco/edge hold"],
            "infrastructureRef",
        ),
        (
            "moved",
            &[("apps/edge.yaml", "  interval: 10m\n", "  interval: 10m\n  releaseName: other\n")],
            4,
            &["-/- undecided"],
            "Flux uninstalls release telco/edge",
        ),
        (
            "missing",
            &[("apps/edge.yaml", "name: edge}]", "name: other}]")],
            4,
            &["-/- undecided"],
            "ConfigMap other of namespace telco is in no file",
        ),
        (
            "registry",
            &[("apps/edge.yaml", "kind: GitRepository, name: fleet", "kind: HelmRepository, name: charts")],
            4,
            &["-/- undecided"],
            "HelmRelease telco/edge",
        ),
        (
            "function",
            &[("apps/edge.yaml", "${replicas}", "${replicas^^}")],
            4,
            &["-/- undecided"],
            "uses a function that is not computed here",
        ),
        ("elsewhere", &[("README.md", "", "Hello.\n")], 0, &["-/- allow"], ""),
        (
            "drift",
            &[("apps/edge.yaml", "  interval: 10m\n", "  interval: 10m\n  driftDetection: {mode: enabled}\n")],
            4,
            &["-/- undecided"],
            "correcting drift",
        ),
        (
            "suspended",
            &[("clusters/prod/apps.yaml", "  prune: true\n", "  prune: true\n  suspend: true\n")],
            4,
            &["-/- undecided"],
            "Kustomization flux-system/apps",
        ),
        (
            "removed",
            &[("apps/edge.yaml", "kind: HelmRelease", "kind: Other")],
            4,
            &["-/- undecided"],
            "HelmRelease telco/edge",
        ),
    ];
    for (name, change, code, releases, said) in cases {
        let (exit, report, stderr) = previewed(bench, &format!("flux-plan-{name}"), change, &[]);
        assert_eq!(
            (exit, judged(&report)),
            (Some(code), releases.iter().map(|one| (*one).to_owned()).collect()),
            "{name}: {stderr}{report:#}"
        );
        assert!(report.to_string().contains(said), "{name} does not say {said}: {report:#}");
    }
}

/// A change of a repository beside further files: its name, what is replaced in which file, these files, and the exit code.
type Asking<'a> = (&'a str, (&'a str, &'a str, &'a str), &'a [(&'a str, &'a str)], i32);

#[test]
fn a_chart_that_asks_the_cluster_is_undecided_where_what_it_is_rendered_with_changes() {
    let Some(bench) = bench() else { return };
    let file = "charts/edge/templates/asks.yaml";
    let asks = "{{- if lookup \"v1\" \"ConfigMap\" \"telco\" \"a\" }}\nkind: ConfigMap\n{{- end }}\n";
    let asking = [(file, asks)];
    let values = ("apps/values.yaml", "version: v1.33.0", "version: v1.33.0\n    other: 1");
    let machines = "charts/edge/templates/md.yaml";
    let hidden = asks.replace("kind:", "apiVersion: cluster.x-k8s.io/v1beta2\nkind:");
    let (nothing, without) = ([(machines, ""), (file, hidden.as_str())], [(machines, ""), (file, asks)]);
    let never =
        [(file, "{{- if eq .Values.version \"v0\" }}{{ lookup \"v1\" \"ConfigMap\" \"telco\" \"a\" }}{{ end }}\n")];
    let serves = [(
        file,
        "{{- if .Capabilities.APIVersions.Has \"cluster.x-k8s.io/v1beta2\" }}\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\n{{- end }}\n",
    )];
    let cases: [Asking<'_>; 10] = [
        ("what-is-served", values, &serves, 4),
        ("names-no-group", values, &without, 0),
        ("never-asks", values, &never, 0),
        ("arrives", (file, "", asks), &[], 4),
        ("goes", (file, "if lookup", "if eq"), &asking, 4),
        ("values", values, &asking, 4),
        ("nothing-here", values, &nothing, 4),
        ("only-named", (file, "", "{{- /* lookup */}}\n"), &[], 0),
        ("same", ("apps/edge.yaml", "interval: 10m", "interval: 5m"), &asking, 0),
        ("values-of-another", values, &[], 0),
    ];
    for (name, change, also, code) in cases {
        let (exit, report, stderr) = previewed(bench, &format!("flux-asks-{name}"), &[change], also);
        assert_eq!(exit, Some(code), "{name}: {stderr}{report:#}");
        let is_named = report.to_string().contains("templates/asks.yaml asks ");
        assert_eq!(is_named, code == 4, "{name}: {report:#}");
    }
}
