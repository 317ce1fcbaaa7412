//! Charts that render nothing of Cluster API any more: Helm deletes all that the last manifest had.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::server::{self, Answers, missing};
use super::{Program, Ran, ran};

const CAPI: &str = "cluster.x-k8s.io";
const CONFIG_MAP: &str =
    "---\n# Source: demo/templates/c.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: left, namespace: telco}\n";
const DEPLOYMENT: &str = "---\n# Source: demo/templates/d.yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: left, namespace: telco}\nspec: {replicas: 1}\n";

/// Answers by path; what is not here is not there.
#[derive(Clone)]
pub(super) struct Cluster(pub(super) BTreeMap<String, Value>);

impl Answers for Cluster {
    fn answer(&mut self, _: &str, path: &str, _: &[u8]) -> (u16, Value) {
        let path = path.split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        // What is written down as nothing may not be read.
        match self.0.get(path) {
            None => missing(name),
            Some(Value::Null) => server::forbidden(path),
            Some(value) => (200, value.clone()),
        }
    }
}

pub(super) fn object(api_version: &str, kind: &str, namespace: Option<&str>, name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

pub(super) fn capi() -> [Value; 2] {
    let template = json!({"spec": {"clusterName": "c", "bootstrap": {"dataSecretName": "x"}, "infrastructureRef":
        {"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "XTemplate", "name": "t"}}});
    [
        object("cluster.x-k8s.io/v1", "Cluster", Some("telco"), "c", json!({})),
        object(
            "cluster.x-k8s.io/v1",
            "MachineDeployment",
            Some("telco"),
            "md",
            json!({"clusterName": "c", "replicas": 2, "template": template}),
        ),
    ]
}

impl Cluster {
    /// A cluster with a release of `last`, written by Helm 4 where it was applied.
    pub(super) fn with(last: &[Value], applied: bool) -> Self {
        let mut held = Self(BTreeMap::new());
        held.0.insert("/apis".to_owned(), server::groups(&[CAPI, "apps"]));
        let kinds = [
            ("Cluster", "clusters"),
            ("ClusterClass", "clusterclasses"),
            ("Machine", "machines"),
            ("MachineDeployment", "machinedeployments"),
            ("MachineHealthCheck", "machinehealthchecks"),
            ("MachinePool", "machinepools"),
            ("MachineSet", "machinesets"),
        ];
        held.kinds(CAPI, &kinds);
        held.kinds("apps", &[("Deployment", "deployments")]);
        held.kinds("apiextensions.k8s.io", &[("CustomResourceDefinition", "customresourcedefinitions")]);
        held.carriers();
        held.list("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "PartialObjectMetadata", &[]);
        for (kind, plural) in kinds {
            let of: Vec<Value> = capi().into_iter().filter(|object| object["kind"] == kind).map(live).collect();
            held.list(&format!("/apis/{CAPI}/v1/namespaces/telco/{plural}"), kind, &of);
            held.list(&format!("/apis/{CAPI}/v1/{plural}"), kind, &of);
        }
        held.release(last, applied, &[]);
        held
    }

    pub(super) fn kinds(&mut self, group: &str, kinds: &[(&str, &str)]) {
        self.kinds_of(group, "v1", kinds);
        if group == "apps" {
            self.list("/apis/apps/v1/deployments", "Deployment", &[]);
        }
    }

    fn kinds_of(&mut self, group: &str, version: &str, kinds: &[(&str, &str)]) {
        let resource = |(kind, name): &(&str, &str)| json!({"name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["get", "list"]});
        let resources: Vec<Value> = kinds.iter().map(resource).collect();
        let list =
            json!({"kind": "APIResourceList", "groupVersion": format!("{group}/{version}"), "resources": resources});
        self.0.insert(format!("/apis/{group}/{version}"), list);
    }

    /// The kinds of Flux and Argo CD that carry others.
    fn carriers(&mut self) {
        let names = [
            ("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases"),
            ("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "kustomizations"),
            ("argoproj.io", "v1alpha1", "Application", "applications"),
        ];
        let groups = self.0.get_mut("/apis").and_then(|list| list["groups"].as_array_mut()).expect("a list of groups");
        for (group, version, ..) in names {
            let versions = json!([{"groupVersion": format!("{group}/{version}"), "version": version}]);
            groups.push(json!({"name": group, "versions": versions}));
        }
        for (group, version, kind, plural) in names {
            self.kinds_of(group, version, &[(kind, plural)]);
        }
    }

    pub(super) fn list(&mut self, path: &str, kind: &str, items: &[Value]) {
        let list = json!({"kind": format!("{kind}List"), "apiVersion": format!("{CAPI}/v1"),
            "metadata": {"resourceVersion": "7"}, "items": items});
        self.0.insert(path.to_owned(), list);
    }

    fn release(&mut self, last: &[Value], applied: bool, hooks: &[Value]) {
        let manifest: String = last.iter().map(|object| format!("---\n{object}\n")).collect();
        let method = if applied { "ssa" } else { "" };
        let record = json!({"name": "demo", "namespace": "telco", "version": 1, "info": {"status": "deployed"},
            "manifest": manifest, "apply_method": method, "hooks": hooks});
        let packed = BASE64_STANDARD.encode(BASE64_STANDARD.encode(record.to_string()));
        let name = "sh.helm.release.v1.demo.v1";
        let path = "/api/v1/namespaces/telco/secrets";
        let labels = json!({"owner": "helm", "name": "demo", "status": "deployed", "version": "1"});
        let meta = json!({"name": name, "namespace": "telco", "labels": labels});
        self.list(path, "PartialObjectMetadata", &[json!({"metadata": meta})]);
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"release": packed}});
        self.0.insert(format!("{path}/{name}"), secret);
    }

    /// Runs the program beside this cluster.
    pub(super) fn run(&self, program: &Program, args: &[&str], stdin: &str) -> Ran {
        let kubeconfig = server::serve(&Arc::new(Mutex::new(self.clone())), "default");
        program.file("kubeconfig", &kubeconfig);
        let mut command = program.command();
        command.env("KUBECONFIG", program.home().join("kubeconfig")).args(args);
        ran(command, stdin.as_bytes())
    }
}

/// An object as the API server holds it after Helm wrote it.
pub(super) fn live(mut object: Value) -> Value {
    object["metadata"]["uid"] = json!(object["kind"]);
    object["metadata"]["annotations"] =
        json!({"meta.helm.sh/release-name": "demo", "meta.helm.sh/release-namespace": "telco"});
    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
    object
}

/// Options of a run as Helm's user would give them.
const TOLD: [&str; 6] = ["--policy", "none", "--release", "demo", "--namespace", "telco"];

pub(super) fn args<'a>(command: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    command.iter().chain(&TOLD).chain(more).copied().collect()
}

#[test]
fn what_a_chart_does_not_render_any_more_is_read_and_held() {
    for (host, applied) in [("helm3", false), ("helm4", true), ("helm4", false)] {
        let cluster = Cluster::with(&capi(), applied);
        for stream in [CONFIG_MAP.to_owned(), format!("{CONFIG_MAP}{DEPLOYMENT}")] {
            let program = Program::new();
            let plan = cluster.run(&program, &args(&["plan", "-"], &["--host", host, "-o", "json"]), &stream);
            assert_eq!(plan.code, Some(3), "{host}: {}{}", plan.stdout, plan.stderr);
            let report: Value = serde_json::from_str(&plan.stdout).expect("a report");
            let deleted: Vec<&str> = report["objects"]
                .as_array()
                .expect("objects")
                .iter()
                .filter(|object| object["action"] == "delete")
                .filter_map(|object| object["kind"].as_str())
                .collect();
            assert_eq!(deleted, ["Cluster", "MachineDeployment"], "{report}");
            let hook = cluster.run(&program, &args(&["post-render"], &["--host", host]), &stream);
            assert_eq!((hook.code, hook.stdout.as_str()), (Some(3), ""), "{host}: {}", hook.stderr);
            let saved =
                cluster.run(&program, &args(&["snapshot", "-"], &["--host", host, "-o", "world.json"]), &stream);
            assert_eq!(saved.code, Some(0), "{}", saved.stderr);
            let again = program.run(&["plan", "-", "--policy", "none", "--live", "world.json"], stream.as_bytes());
            assert_eq!(again.code, Some(3), "{}{}", again.stdout, again.stderr);
        }
    }
}

/// Runs cases beside each other: most of their time is a deadline that passes.
fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, case: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        let case = &case;
        let all: Vec<_> = cases.into_iter().map(|one| scope.spawn(move || case(one))).collect();
        // Each says its own failure.
        assert!(all.into_iter().all(|one| one.join().is_ok()), "a case failed");
    });
}

#[test]
fn an_api_server_that_says_too_much_is_doubt_and_ends_with_a_code() {
    let path = "/apis/cluster.x-k8s.io/v1/machinedeployments";
    let large = |size: usize| {
        let mut one = live(capi()[1].clone());
        one["metadata"]["annotations"]["a"] = json!("x".repeat(size));
        one
    };
    let page = |items: Value| {
        json!({"kind": "MachineDeploymentList", "apiVersion": "cluster.x-k8s.io/v1",
            "metadata": {"resourceVersion": "7", "continue": "more"}, "items": items})
    };
    let deep = (0..200_000).fold(String::new(), |text, _| text + "[");
    let cases = [
        ("one large object", page(json!([large(80 * 1024 * 1024)]))),
        ("pages of large objects without an end", page(json!([large(6 * 1024 * 1024)]))),
        ("pages of nothing without an end", page(json!([]))),
        ("a deep text", page(json!([{"spec": deep}]))),
    ];
    let ends = |what: &str, list: Value| {
        let mut cluster = Cluster::with(&capi(), false);
        for path in [path, "/apis/cluster.x-k8s.io/v1/namespaces/telco/machinedeployments"] {
            cluster.0.insert(path.to_owned(), list.clone());
        }
        let program = Program::new();
        program.file("kubeconfig", &server::serve(&Arc::new(Mutex::new(cluster)), "default"));
        program.file("stream.yaml", &format!("{}\n---\n{}\n", capi()[0], capi()[1]));
        let mut command = std::process::Command::new("sh");
        command.env_clear().env("HOME", program.home()).env("TZ", "UTC").current_dir(program.home());
        command.env("KUBECONFIG", program.home().join("kubeconfig")).env("P", env!("CARGO_BIN_EXE_rollgate"));
        command.args(["-c", "ulimit -v 262144; exec \"$P\" \"$@\"", "sh"]);
        command.args(args(&["plan", "stream.yaml"], &["--host", "helm3", "--deadline", "4s"]));
        let started = std::time::Instant::now();
        let ran = ran(command, b"");
        assert_eq!(ran.code, Some(4), "{what}: {}{}", ran.stdout, ran.stderr);
        assert!(started.elapsed().as_secs() < 90, "{what}: {:?}", started.elapsed());
    };
    at_once(cases, |(what, list)| ends(what, list));
}

#[test]
fn a_release_that_never_had_any_is_allowed() {
    let last = [object("v1", "ConfigMap", Some("telco"), "left", Value::Null)];
    let ran =
        Cluster::with(&last, false).run(&Program::new(), &args(&["post-render"], &["--host", "helm3"]), CONFIG_MAP);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), CONFIG_MAP), "{}", ran.stderr);
}

#[test]
fn a_catalogue_that_is_not_whole_proves_nothing_absent() {
    let groups = |names: &[&str]| ("/apis", server::groups(names));
    let none = json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []});
    let bare = json!({"kind": "APIResourceList", "groupVersion": "cluster.x-k8s.io/v1", "resources": []});
    let mut versionless = server::groups(&[CAPI, "apps"]);
    versionless["groups"][1]["versions"] = json!([]);
    let cases = [("/apis", none), groups(&["apps"]), ("/apis", versionless), ("/apis/cluster.x-k8s.io/v1", bare)];
    at_once(cases, |(path, answer)| {
        let mut cluster = Cluster::with(&capi(), false);
        cluster.0.insert(path.to_owned(), answer);
        let (stream, program) = (format!("{CONFIG_MAP}{DEPLOYMENT}"), Program::new());
        let more = ["--host", "helm3", "--deadline", "1s"];
        let ran = cluster.run(&program, &args(&["post-render"], &more), &stream);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{path}: {}", ran.stderr);
        let ran = cluster.run(&program, &args(&["plan", "-"], &more), CONFIG_MAP);
        assert_eq!(ran.code, Some(4), "{path}: {}", ran.stdout);
        let saving = [&more[..], &["-o", "world.json"]].concat();
        let ran = cluster.run(&program, &args(&["snapshot", "-"], &saving), &stream);
        assert_eq!(ran.code, Some(4), "{path}: {}", ran.stderr);
        let ran = program.run(&["plan", "-", "--policy", "none", "--live", "world.json"], stream.as_bytes());
        assert_eq!(ran.code, Some(4), "{path}: {}", ran.stdout);
    });
}

#[test]
fn a_namespace_that_goes_takes_what_is_in_it_whoever_wrote_that() {
    let last = [
        object("v1", "ConfigMap", Some("telco"), "left", Value::Null),
        object("v1", "Namespace", None, "telco", Value::Null),
    ];
    let cluster = Cluster::with(&last, false);
    let ran = cluster.run(&Program::new(), &args(&["plan", "-"], &["--host", "helm3"]), CONFIG_MAP);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("Namespace telco"), "{}", ran.stdout);
    let kept = format!("---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: telco}}\n{CONFIG_MAP}");
    let ran = cluster.run(&Program::new(), &args(&["plan", "-"], &["--host", "helm3"]), &kept);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_snapshot_says_nothing_of_what_it_was_not_asked_for() {
    let last = [object("v1", "ConfigMap", Some("telco"), "left", Value::Null)];
    let cluster = Cluster::with(&last, false);
    let program = Program::new();
    let more = ["--host", "helm3", "-o", "world.json"];
    assert_eq!(cluster.run(&program, &args(&["snapshot", "-"], &more), CONFIG_MAP).code, Some(0));
    // The Cluster is there, and the snapshot was taken for a stream without it.
    let stream: String = capi().iter().map(|object| format!("---\n{object}\n")).collect();
    let ran = program.run(&["plan", "-", "--policy", "none", "--live", "world.json"], stream.as_bytes());
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("Cluster telco/c and 1 more"), "{}", ran.stdout);
}

/// A cluster with the ConfigMap that is left, as Helm wrote it.
fn with_left() -> Cluster {
    let mut cluster = Cluster::with(&capi(), false);
    let left = live(object("v1", "ConfigMap", Some("telco"), "left", Value::Null));
    cluster.0.insert("/api/v1/namespaces/telco/configmaps/left".to_owned(), left);
    cluster
}

#[test]
fn a_release_that_nobody_names_is_the_one_that_a_live_object_names() {
    for command in [&["plan", "-"][..], &["post-render"]] {
        let args = [command, &["--policy", "none", "--host", "helm3"]].concat();
        let ran = with_left().run(&Program::new(), &args, CONFIG_MAP);
        assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn a_release_that_nothing_names_is_doubt_unless_the_policy_says_otherwise() {
    let cluster = Cluster::with(&capi(), false);
    let program = Program::new();
    let ran = cluster.run(&program, &["post-render", "--policy", "none"], CONFIG_MAP);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("unseen: {release: allow}"), "{}", ran.stderr);
    for (word, said) in [("allow", false), ("warn", true)] {
        let policy = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nunseen: {{release: {word}}}\n");
        program.file("rollgate.yaml", &policy);
        let ran = cluster.run(&program, &["post-render", "--policy", "rollgate.yaml"], CONFIG_MAP);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), CONFIG_MAP), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("which release is written"), said, "{}", ran.stderr);
    }
    // kubectl deletes nothing.
    let ran = cluster.run(&program, &["plan", "-", "--policy", "none", "--host", "kubectl"], CONFIG_MAP);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_release_of_flux_that_changes_is_named() {
    let release = |version: &str| {
        format!(
            "---\n# Source: a/b.yaml\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: r, namespace: telco}}\n\
             spec: {{interval: 1m, values: {{version: {version}}}}}\n"
        )
    };
    let value: Value = json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": "r", "namespace": "telco"}, "spec": {"interval": "1m", "values": {"version": "a"}}});
    let cluster = Cluster::with(&[value], false);
    let program = Program::new();
    let (same, changed) = (release("a"), release("b"));
    let ran = cluster.run(&program, &args(&["post-render"], &[]), &same);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), same.as_str()), "{}", ran.stderr);
    for command in [&["post-render"][..], &["plan", "-"]] {
        let ran = cluster.run(&program, &args(command, &[]), &changed);
        assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("what HelmRelease telco/r carries"), "{}", ran.stderr);
    }
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nunseen: {inside: warn}\n");
    let told = ["post-render", "--policy", "rollgate.yaml", "--release", "demo", "--namespace", "telco"];
    let ran = cluster.run(&program, &told, &changed);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("what HelmRelease telco/r carries"), "{}", ran.stderr);
}

#[test]
fn items_make_a_list_of_anything() {
    let program = Program::new();
    let cluster = Cluster::with(&capi(), false);
    let whole: String = capi().iter().map(|object| format!("---\n# Source: a/b.yaml\n{object}\n")).collect();
    let ran = cluster.run(&program, &args(&["post-render"], &["--host", "helm3"]), &whole);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), whole.as_str()), "{}", ran.stderr);
    // `items` makes the Cluster an empty list, and Helm deletes what was written last.
    for items in ["\"items\":null,", "\"items\":[],", "\"it\\u0065ms\":[],"] {
        let stream = whole.replacen('{', &format!("{{{items}"), 1);
        let ran = cluster.run(&program, &args(&["post-render"], &["--host", "helm3"]), &stream);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{items}: {}", ran.stderr);
    }
}

#[test]
fn a_hook_of_the_record_deletes_what_helm_3_does_not_show() {
    let [cluster, mut md] = capi();
    md["metadata"]["annotations"] = json!({"helm.sh/hook": "pre-upgrade"});
    let mut held = Cluster::with(std::slice::from_ref(&cluster), false);
    held.release(std::slice::from_ref(&cluster), false, &[json!({"name": "md", "manifest": md.to_string()})]);
    let (program, stream) = (Program::new(), format!("---\n# Source: a/b.yaml\n{cluster}\n"));
    let ran = held.run(&program, &args(&["post-render"], &["--host", "helm3"]), &stream);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("MachineDeployment telco/md"), "{}", ran.stderr);
    // Without its hooks Helm leaves it alone; a plan sees the hooks that are printed.
    let plan = held.run(&program, &args(&["plan", "-"], &["--host", "helm3"]), &stream);
    assert_eq!(plan.code, Some(0), "{}{}", plan.stdout, plan.stderr);
}
