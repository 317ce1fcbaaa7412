//! A look into a workload cluster, with real API servers at both ends (one plays both): what its Nodes, Leases, budgets and MetalLB
//! say decides; what cannot be read, or may not be used, is named and never an allow.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::bench::{Bench, NAMESPACE, RELEASE, own};
use crate::login::kubeconfig;
use crate::rights::{rules, user};

/// Both gates hold, and nothing else is asked of the Machines, which no controller has made here.
const GATES: &str = "gates: {rollout: allow, maxUnavailable: null, health: {vip: hold, pdb: hold, machines: allow, etcd: allow, \
                     inProgress: allow, bootstrap: allow, remediation: allow}}\n";

/// The policy, with what it says of workload clusters.
fn policy(bench: &Bench, name: &str, workload: &str) -> PathBuf {
    let path = bench.out.join(format!("{name}.yaml"));
    let text = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{workload}{GATES}");
    std::fs::write(&path, text).expect("a file");
    path
}

/// Runs a command of the program on a stream.
fn run(args: &[&str], policy: &Path, kubeconfig: &Path, stream: &str) -> (Option<i32>, String, String) {
    use std::io::Write as _;
    let mut child = Command::new(env!("CARGO_BIN_EXE_rollgate"))
        .args(args)
        .args(["-", "--policy", policy.to_str().expect("a path"), "--host", "helm3", "--deadline", "30s"])
        .args(["--namespace", NAMESPACE, "--release", RELEASE])
        .env("KUBECONFIG", kubeconfig)
        .env("ROLLGATE_KEY", "the key of this test, which is no secret")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(stream.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// What the two gates say: gate, decision and message, one line each.
fn told(report: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(report).unwrap_or_else(|error| panic!("{error}: {report}"));
    let reasons = report["reasons"].as_array().expect("reasons").iter();
    let own = reasons.filter(|one| matches!(one["gate"].as_str(), Some("health.vip" | "health.pdb")));
    let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
    own.map(|one| {
        let step = one.get("remedy").map_or_else(|| text(one, "next"), |_| text(one, "remedy"));
        format!("{} {}: {}; {step}", text(one, "gate"), text(one, "decision"), text(one, "message"))
    })
    .collect()
}

/// The Secret with the kubeconfig of the cluster.
fn secret(config: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("{RELEASE}-kubeconfig"), "namespace": NAMESPACE},
        "type": "cluster.x-k8s.io/secret", "data": {"value": BASE64_STANDARD.encode(config)}})
}

fn kubectl(bench: &Bench, args: &[&str]) {
    bench.run("kubectl", args);
}

/// Writes the Secret, whatever was there.
fn set(bench: &Bench, config: &str) {
    kubectl(bench, &["delete", "secret", &format!("{RELEASE}-kubeconfig"), "-n", NAMESPACE, "--ignore-not-found"]);
    bench.create("secret", &[secret(config)]);
}

/// Sets a status.
fn status(bench: &Bench, kind: &str, name: &str, namespace: &str, status: &Value) {
    let patch = json!({"status": status}).to_string();
    kubectl(bench, &["patch", kind, name, "-n", namespace, "--subresource=status", "--type=merge", "-p", &patch]);
}

fn now(before: i64) -> String {
    let time = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(before);
    format!("{time:.6}")
}

fn lease(holder: &str, before: i64) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "plndr-cp-lock", "namespace": "kube-system"},
        "spec": {"holderIdentity": holder, "renewTime": now(before), "leaseDurationSeconds": 3600}})
}

/// Nodes of three Machines, all ready, with one that load balancers leave alone; and what MetalLB brings.
fn fill(bench: &Bench) {
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let mut objects: Vec<Value> = (0..3)
        .map(|number| {
            let mut labels = json!({"node-role.kubernetes.io/control-plane": ""});
            if number > 0 {
                labels["node.kubernetes.io/exclude-from-external-load-balancers"] = json!("");
            }
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("node-{number}"), "labels": labels},
                "status": {"conditions": ready}})
        })
        .collect();
    objects.extend([
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "metallb-system"}}),
    ]);
    bench.create("nodes", &objects);
    let meta = json!({"name": "front", "namespace": "web", "labels": {"app": "front"}});
    bench.create(
        "budgets",
        &[
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "web"}}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": "node-1",
                "automountServiceAccountToken": false, "containers": [{"name": "a", "image": "a"}]}}),
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "front", "namespace": "web"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "front"}}}}),
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "vip", "namespace": "metallb-system"},
                "spec": {"type": "LoadBalancer", "ports": [{"port": 6443}]}}),
        ],
    );
    status(bench, "pod", "front", "web", &json!({"phase": "Running", "conditions": ready}));
    let counted = json!({"observedGeneration": 1, "disruptionsAllowed": 0, "expectedPods": 1, "currentHealthy": 1, "desiredHealthy": 1});
    status(bench, "pdb", "front", "web", &counted);
    status(bench, "service", "vip", "metallb-system", &json!({"loadBalancer": {"ingress": [{"ip": "10.0.0.9"}]}}));
    for number in 0..3 {
        let (name, node) = (format!("demo-cp-{number}"), format!("node-{number}"));
        status(bench, "machine", &name, NAMESPACE, &json!({"nodeRef": {"name": node}}));
    }
    let endpoint = json!({"spec": {"controlPlaneEndpoint": {"host": "10.0.0.9", "port": 6443}}}).to_string();
    kubectl(bench, &["patch", "cluster", "demo", "-n", NAMESPACE, "--type=merge", "-p", &endpoint]);
}

/// MetalLB's kind, and one that says which Node announces the address.
fn announce(bench: &Bench, node: &str) {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    bench.create(
        "metallb",
        &[json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "servicel2statuses.metallb.io"},
            "spec": {"group": "metallb.io", "scope": "Namespaced",
                "names": {"kind": "ServiceL2Status", "plural": "servicel2statuses", "singular": "servicel2status"},
                "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": any}}]}})],
    );
    kubectl(bench, &["wait", "--for=condition=Established", "crd/servicel2statuses.metallb.io", "--timeout=60s"]);
    bench.create(
        "announced",
        &[json!({"apiVersion": "metallb.io/v1beta1", "kind": "ServiceL2Status", "metadata": {"name": "l2-a", "namespace": "metallb-system"},
            "status": {"node": node, "serviceName": "vip", "serviceNamespace": "metallb-system"}})],
    );
}

/// Says of a read that it could not see: both gates undecided, for this reason.
fn blind(bench: &Bench, policy: &Path, stream: &str, why: &str) {
    let (code, out, err) = run(&["plan", "-o", "json"], policy, &bench.kubeconfig, stream);
    let said = told(&out);
    assert_eq!(code, Some(4), "{why}: {said:#?} {err}");
    let names_it = |line: &String| line.contains(" undecided: ") && line.contains(why);
    assert!(said.len() == 2 && said.iter().all(names_it), "{why}: {said:#?}");
    assert!(!out.contains("canary") && !err.contains("canary"), "{why}: {out} {err}");
}

#[test]
fn a_workload_cluster_is_asked_and_what_it_does_not_say_is_never_an_allow() {
    let Some(bench) = own("workload") else { return };
    let bench = &bench;
    fill(bench);
    let stream = bench.rendered().replace("v1.34.0", "v1.34.1");
    let reads = policy(bench, "reads", "workload: {read: true, timeout: 5s}\n");
    let plan = |policy: &Path| run(&["plan", "-o", "json"], policy, &bench.kubeconfig, &stream);
    blind(bench, &reads, &stream, "there is no Secret telco/demo-kubeconfig");

    // The administrator's own kubeconfig, whose keys stand in it, plays that of the workload cluster.
    let config = kubeconfig(bench);
    set(bench, &config.to_string());
    bench.create("lease", &[lease("node-0", 1)]);
    let (code, out, err) = plan(&reads);
    let said = told(&out);
    assert_eq!(code, Some(3), "{said:#?} {err}");
    let one = |start: &str, words: &[&str]| {
        let found = said.iter().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start}: {said:#?}"));
        assert!(words.iter().all(|word| found.contains(word)), "{words:?}: {found}");
    };
    one(
        "health.vip warn",
        &["Node node-0 (Machine demo-cp-0)", "Lease kube-system/plndr-cp-lock", "node-1, node-2 can take it over"],
    );
    one("health.pdb hold", &["PodDisruptionBudget web/front", "demo-cp-1", "does not end"]);

    // A snapshot of it says the same and holds no key; a policy that does not look gets nothing of it.
    let file = bench.out.join("workload-world.json");
    let path = file.to_str().expect("a path");
    assert_eq!(run(&["snapshot", "-o", path], &reads, &bench.kubeconfig, &stream).0, Some(0));
    let saved = std::fs::read_to_string(&file).expect("a snapshot");
    let key = config["users"][0]["user"]["client-key-data"].as_str().expect("a key");
    assert!(saved.contains("plndr-cp-lock") && !saved.contains(&key[..40]) && !saved.contains("demo-kubeconfig"));
    let again = run(&["plan", "-o", "json", "--live", path], &reads, Path::new("/nowhere"), &stream);
    assert_eq!(told(&again.1), said, "{}", again.2);
    let silent = bench.out.join("silent.yaml");
    std::fs::write(&silent, "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n").expect("a file");
    assert!(told(&plan(&silent).1).is_empty());
    let explained = run(&["plan", "--explain-reads"], &silent, &bench.kubeconfig, &stream).1;
    assert!(!explained.contains("workload cluster"), "{explained}");

    // MetalLB is asked before kube-vip, by the address; the other Nodes are kept from load balancers.
    announce(bench, "node-0");
    let said = told(&plan(&reads).1);
    assert!(
        said.iter().any(|line| line.starts_with("health.vip hold") && line.contains("node-1 is excluded")),
        "{said:#?}"
    );

    unusable(bench, &reads, &stream, &config);
    lone_right(bench, &reads, &stream, &config);
}

/// Kubeconfigs that are not used, or lead nowhere.
fn unusable(bench: &Bench, reads: &Path, stream: &str, good: &Value) {
    let with = |pointer: &str, value: Value| {
        let mut config = good.clone();
        *config.pointer_mut(pointer).expect("a place") = value;
        config
    };
    let (owner, server) = ("/users/0/user", "/clusters/0/cluster/server");
    let touched = bench.out.join("touched");
    let exec = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [touched], "interactiveMode": "Never"}});
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = mute.local_addr().expect("an address").port();
    for (config, why) in [
        (with(owner, exec), "runs a program (exec)"),
        (with(owner, json!({"tokenFile": "/etc/canary"})), "names a file (tokenFile)"),
        (with(owner, json!({"token": "canary"})), "does not accept the credentials (401)"),
        (with(server, json!("http://127.0.0.1:1")), "without https"),
        (with(server, json!("https://127.0.0.1:1")), "no connection"),
        (with(server, json!(format!("https://127.0.0.1:{port}"))), "no answer in time"),
        (json!("canary"), "is not YAML that kubectl reads"),
    ] {
        set(bench, &config.to_string());
        let start = Instant::now();
        blind(bench, reads, stream, why);
        assert!(start.elapsed() < Duration::from_secs(25), "{why}: {:?}", start.elapsed());
    }
    assert!(!touched.exists(), "a program of a workload kubeconfig was run");
}

/// The role for the Secrets is needed and enough; without it the rule is named.
fn lone_right(bench: &Bench, reads: &Path, stream: &str, good: &Value) {
    set(bench, &good.to_string());
    let is_secret = |rule: &Value| rule["resources"][0] == "secrets";
    let without: Vec<Value> = rules("rollgate-read").into_iter().filter(|rule| !is_secret(rule)).collect();
    let base = bench.out.join("base.yaml");
    std::fs::write(&base, bench.rendered()).expect("a file");
    let args = ["plan", "-o", "json", "--base", base.to_str().expect("a path")];
    let versions = rules("rollgate-versions");
    let said = |name: &str, rules: &[Value]| {
        let kubeconfig = user(bench, name, rules, &versions);
        told(&run(&args, reads, &kubeconfig, stream).1)
    };
    let blind = said("blind-to-workload", &without);
    let rule = "add to the role: - {apiGroups: [\"\"], resources: [\"secrets\"], verbs: [\"get\"]}";
    assert!(
        blind.len() == 2 && blind.iter().all(|line| line.contains(" undecided: ") && line.contains(rule)),
        "{blind:#?}"
    );
    let seeing = said("sees-workload", &[without, rules("rollgate-workload")].concat());
    // The workers' Machines are no Nodes there, which no right mends.
    let doubts: Vec<&String> = seeing.iter().filter(|line| line.contains(" undecided: ")).collect();
    let is_of_nodes = |line: &&String| line.contains("demo-md") && line.contains("is known to be a Node");
    assert!(seeing.len() == 3 && doubts.len() == 1 && doubts.iter().all(is_of_nodes), "{seeing:#?}");
}
