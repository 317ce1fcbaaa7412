//! Objects that carry others: what they hold is not in the stream, and where it goes is told by what they name.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::Program;
use super::emptied::{Cluster, args, capi, live, object};

const OURS: &str = include_str!("../../testdata/authorities/ours.pem");
const RENEWED: &str = include_str!("../../testdata/authorities/renewed.pem");
const THEIRS: &str = include_str!("../../testdata/authorities/theirs.pem");

fn stream(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("---\n# Source: a/b.yaml\n{object}\n")).collect()
}

/// One object of each kind that carries others, in an old and a new form, and what it is called.
fn carriers() -> Vec<(Value, Value, &'static str)> {
    let chart = |version: &str| json!({"interval": "1m", "chart": {"spec": {"chart": "c", "version": version}}});
    let path = |path: &str| json!({"path": path, "prune": true, "sourceRef": {"kind": "GitRepository", "name": "g"}});
    let source = |revision: &str| json!({"destination": {"server": "https://kubernetes.default.svc"}, "source": {"targetRevision": revision}});
    let payload = |version: &str| {
        let mut map = object("v1", "ConfigMap", Some("telco"), "x", Value::Null);
        map.as_object_mut().expect("a map").remove("spec");
        map["data"] =
            json!({"a.yaml": format!("apiVersion: cluster.x-k8s.io/v1\nkind: Cluster\nspec: {{v: {version}}}\n")});
        map
    };
    let one = |api: &str, kind: &str, spec: Value| object(api, kind, Some("telco"), "x", spec);
    let flux = "helm.toolkit.fluxcd.io/v2";
    let kustomize = "kustomize.toolkit.fluxcd.io/v1";
    vec![
        (one(flux, "HelmRelease", chart("1")), one(flux, "HelmRelease", chart("2")), "HelmRelease telco/x"),
        (
            one(kustomize, "Kustomization", path("a")),
            one(kustomize, "Kustomization", path("b")),
            "Kustomization telco/x",
        ),
        (
            one("argoproj.io/v1alpha1", "Application", source("a")),
            one("argoproj.io/v1alpha1", "Application", source("b")),
            "Application telco/x",
        ),
        (payload("1"), payload("2"), "ConfigMap telco/x"),
    ]
}

#[test]
fn what_carries_others_is_named_where_it_changes_goes_or_comes_beside_clusters() {
    for (old, new, called) in carriers() {
        for (host, applied) in [("helm3", false), ("helm4", true)] {
            let program = Program::new();
            let run = |last: &[Value], rendered: &[Value]| {
                let cluster = Cluster::with(last, applied);
                cluster.run(&program, &args(&["post-render"], &["--host", host]), &stream(rendered))
            };
            let [cluster, machines] = capi();
            let with = |more: &Value| [cluster.clone(), machines.clone(), more.clone()];
            let same = run(&with(&old), &with(&old));
            assert_eq!(same.code, Some(0), "{called} {host}: {}", same.stderr);
            for (what, last, rendered) in [
                ("changes", with(&old).to_vec(), with(&new).to_vec()),
                ("alone", vec![old.clone()], vec![new.clone()]),
                ("is new", capi().to_vec(), with(&new).to_vec()),
            ] {
                let ran = run(&last, &rendered);
                assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{called} {what} {host}: {}", ran.stderr);
                assert!(ran.stderr.contains(&format!("what {called} carries")), "{what} {host}: {}", ran.stderr);
            }
        }
    }
}

/// A kubeconfig with a private key in it.
fn kubeconfig(authority: &str) -> String {
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://10.9.9.9:6443", "certificate-authority-data": BASE64_STANDARD.encode(authority)}}],
        "users": [{"name": "u", "user": {"client-key-data": BASE64_STANDARD.encode("canary-of-a-key")}}]});
    BASE64_STANDARD.encode(config.to_string())
}

fn remote(version: &str) -> Value {
    let spec = json!({"interval": "1m", "kubeConfig": {"secretRef": {"name": "w-kubeconfig"}}, "values": {"version": version}});
    object("helm.toolkit.fluxcd.io/v2", "HelmRelease", Some("telco"), "r", spec)
}

/// A cluster of a remote release, with the Secret that says where it goes and the authority that the cluster has.
fn remote_cluster(secret: Option<Value>, authority: Option<&str>) -> Cluster {
    let mut cluster = Cluster::with(&[remote("1")], false);
    if let Some(authority) = authority {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": "telco"}, "data": {"ca.crt": authority}});
        cluster.0.insert("/api/v1/namespaces/telco/configmaps/kube-root-ca.crt".to_owned(), map);
    }
    if let Some(secret) = secret {
        cluster.0.insert("/api/v1/namespaces/telco/secrets/w-kubeconfig".to_owned(), secret);
    }
    cluster
}

fn secret(authority: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "w-kubeconfig", "namespace": "telco"}, "data": {"value": kubeconfig(authority)}})
}

#[test]
fn a_kubeconfig_that_may_lead_back_into_this_cluster_is_doubt_and_one_that_does_not_is_a_note() {
    for (what, held, authority, code, said) in [
        ("another cluster", Some(secret(THEIRS)), Some(OURS), 0, "which land in other clusters"),
        ("this cluster by another address", Some(secret(OURS)), Some(OURS), 4, "leads back into this cluster"),
        ("this cluster after a renewal", Some(secret(OURS)), Some(RENEWED), 4, "leads back into this cluster"),
        ("a Secret that is not there", None, Some(OURS), 4, "is not there"),
        ("a Secret that may not be read", Some(Value::Null), Some(OURS), 4, "is forbidden"),
        ("no word of this cluster", Some(secret(THEIRS)), None, 4, "which certificate authority this cluster has"),
    ] {
        let (cluster, program) = (remote_cluster(held, authority), Program::new());
        for command in [&["post-render"][..], &["plan", "-"]] {
            let ran = cluster.run(&program, &args(command, &["--host", "helm3"]), &stream(&[remote("2")]));
            let text = format!("{}{}", ran.stdout, ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(ran.code, Some(code), "{what}: {text}");
            assert!(text.contains(said), "{what}: {text}");
            // One that does not change is nobody's doubt, whatever could be read.
            let same = cluster.run(&program, &args(command, &["--host", "helm3"]), &stream(&[remote("1")]));
            assert_eq!(same.code, Some(0), "{what}: {}{}", same.stdout, same.stderr);
        }
    }
}

#[test]
fn a_kubeconfig_that_the_stream_brings_counts_as_the_one_that_is_there() {
    let cluster = remote_cluster(Some(live(secret(THEIRS))), Some(OURS));
    let brought = stream(&[remote("2"), secret(OURS)]);
    let ran = cluster.run(&Program::new(), &args(&["post-render"], &["--host", "helm3"]), &brought);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
    assert!(super::sentence(&ran.stderr, "leads back").contains("leads back into this cluster"), "{}", ran.stderr);
}

#[test]
fn a_kubeconfig_of_a_cluster_that_is_not_there_yet_is_that_of_another_one() {
    let mut cluster = remote_cluster(None, Some(OURS));
    let [mut w, _] = capi();
    w["metadata"]["name"] = json!("w");
    let ran =
        cluster.run(&Program::new(), &args(&["plan", "-"], &["--host", "helm3"]), &stream(&[w.clone(), remote("2")]));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    for path in ["/apis/cluster.x-k8s.io/v1/namespaces/telco/clusters", "/apis/cluster.x-k8s.io/v1/clusters"] {
        cluster.list(path, "Cluster", &[live(w.clone())]);
    }
    let ran = cluster.run(&Program::new(), &args(&["plan", "-"], &["--host", "helm3"]), &stream(&[w, remote("2")]));
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn of_a_kubeconfig_nothing_is_kept() {
    let (cluster, program) = (remote_cluster(Some(secret(THEIRS)), Some(OURS)), Program::new());
    let more = ["--host", "helm3", "-o", "world.json"];
    let ran = cluster.run(&program, &args(&["snapshot", "-"], &more), &stream(&[remote("2")]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let world = std::fs::read_to_string(program.home().join("world.json")).expect("a snapshot");
    for secret in ["canary-of-a-key", &BASE64_STANDARD.encode("canary-of-a-key"), &kubeconfig(THEIRS)[..40]] {
        assert!(!world.contains(secret), "{secret}");
    }
    // What it said stays: the snapshot is judged as the cluster was.
    let again =
        program.run(&["plan", "-", "--policy", "none", "--live", "world.json"], stream(&[remote("2")]).as_bytes());
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    assert!(again.stdout.contains("other clusters"), "{}", again.stdout);
}

#[test]
fn a_new_one_is_doubt_where_there_is_a_cluster_that_it_could_take_over() {
    let path = json!({"path": "a", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "g"}});
    let new = object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", Some("telco"), "x", path);
    let plain = object("v1", "ConfigMap", Some("telco"), "plain", Value::Null);
    let somebodys = object("cluster.x-k8s.io/v1", "Cluster", Some("elsewhere"), "z", json!({}));
    let run = |clusters: Option<&[Value]>, policy: &str| {
        let mut cluster = Cluster::with(std::slice::from_ref(&plain), false);
        let groups = ["cluster.x-k8s.io", "apps", "kustomize.toolkit.fluxcd.io"];
        cluster.0.insert("/apis".to_owned(), super::server::groups(&groups));
        cluster.kinds("kustomize.toolkit.fluxcd.io", &[("Kustomization", "kustomizations")]);
        for path in ["/apis/cluster.x-k8s.io/v1/namespaces/telco/clusters", "/apis/cluster.x-k8s.io/v1/clusters"] {
            match clusters {
                Some(all) if !path.contains("namespaces") => cluster.list(path, "Cluster", all),
                Some(_) => cluster.list(path, "Cluster", &[]),
                None => drop(cluster.0.insert(path.to_owned(), Value::Null)),
            }
        }
        let program = Program::new();
        program.file("rollgate.yaml", policy);
        let told = [
            "post-render",
            "--host",
            "helm3",
            "--policy",
            "rollgate.yaml",
            "--release",
            "demo",
            "--namespace",
            "telco",
        ];
        cluster.run(&program, &told, &stream(&[plain.clone(), new.clone()]))
    };
    let policy = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n";
    let ran = run(Some(std::slice::from_ref(&somebodys)), policy);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
    assert!(
        super::sentence(&ran.stderr, "carries").contains("it is new and may take over what is there"),
        "{}",
        ran.stderr
    );
    let none = run(Some(&[]), policy);
    assert_eq!(none.code, Some(0), "{}", none.stderr);
    assert!(super::sentence(&none.stderr, "would bring").contains("Kustomization telco/x"), "{}", none.stderr);
    let forbidden = run(None, policy);
    assert_eq!(forbidden.code, Some(4), "{}", forbidden.stderr);
    assert!(super::sentence(&forbidden.stderr, "list of Cluster").contains("forbidden"), "{}", forbidden.stderr);
    let told = run(Some(&[somebodys]), &format!("{policy}unseen: {{inside: warn}}\n"));
    assert_eq!(told.code, Some(0), "{}", told.stderr);
}
