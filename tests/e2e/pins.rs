//! The life of a pin on a real API server, with both Helms: an empty value, a lost store, a lost source, another placeholder, an
//! operator who moves the address, another management cluster, two pipelines and a hundred writers at once. No controllers are needed
//! for it.

use std::path::Path;
use std::process::Command;

use rollgate::facade::pin::{BookError, Pin, cluster};
use rollgate::facade::policy::Pins;
use serde_json::json;

use crate::bench::{Bench, Space, api_only};
use crate::helm::{Helm, Release, Run, rollgate};

const ADDRESS: &str = "10.0.3.7";

fn policy(store: &str) -> String {
    format!(
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- name: cluster_virtual_ip\n  placeholders: [\"55.55.55.55\"]\n  type: ip\n  \
         from: [{{heat: {{output: allocated_ip}}}}]\n  wait: 1s\npins: {{store: {store}}}\n"
    )
}

fn allocate(space: &Space, address: &str) {
    space.config_map("capo-cluster-resources", &json!({}), &json!({"allocated_ip": address}));
}

fn remove(space: &Space, resource: &str, name: &str) {
    let path = format!("/api/v1/namespaces/{}/{resource}/{name}", space.namespace);
    space.bench.api.send("DELETE", &path, None).expect("it can be removed");
}

/// `rollgate pin ...` as a person runs it.
fn pin(space: &Space, policy: &Path, args: &[&str]) -> Run {
    let output = Command::new(rollgate())
        .arg("pin")
        .args(args)
        .arg("--policy")
        .arg(policy)
        .args(["--namespace", &space.namespace])
        .env("KUBECONFIG", &space.bench.kubeconfig)
        .output();
    Run::of(output.expect("the program runs"))
}

fn play(helm: Helm, resource: &str, store: &str) {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, &format!("pins-{}", helm.name()));
    let file = space.file("rollgate.yaml", &policy(store));
    let release =
        Release { space: &space, helm, name: "demo", chart: "kubeadm", values: Vec::new(), policy: file.clone() };
    let listed = || pin(&space, &file, &["list"]).succeeded().stdout;

    allocate(&space, "");
    release.install(&[]).refused("is empty");
    allocate(&space, ADDRESS);
    release.install(&[]).succeeded();
    assert!(listed().contains(ADDRESS), "{}", listed());
    let path = format!("/api/v1/namespaces/{}/{resource}/rollgate-pins", space.namespace);
    let kept = bench.api.get(&path).expect("the store is there");
    assert_eq!(kept["metadata"]["labels"]["clusterctl.cluster.x-k8s.io/move"], "", "{kept}");
    assert_eq!(kept.to_string().contains(ADDRESS), resource == "configmaps", "a Secret shows nothing: {kept}");

    // The store is deleted between two upgrades, then the source too: what live holds is the value, and is kept anew.
    remove(&space, resource, "rollgate-pins");
    release.upgrade(&[]).succeeded();
    assert!(listed().contains(ADDRESS), "{}", listed());
    remove(&space, resource, "rollgate-pins");
    remove(&space, "configmaps", "capo-cluster-resources");
    release.upgrade(&[]).succeeded();
    assert!(listed().contains(ADDRESS) && listed().contains("live objects"), "{}", listed());

    // Another placeholder, which the policy does not know.
    release.upgrade(&["vip=66.66.66.66"]).refused("66.66.66.66");

    // An operator moves the address: the pin holds, then the gate for rollouts does.
    allocate(&space, "10.0.3.9");
    release.upgrade(&[]).refused("rollgate pin set cluster_virtual_ip 10.0.3.9");
    pin(&space, &file, &["repin", "cluster_virtual_ip", "--from-source", "--reason", "ticket 4711"]).succeeded();
    release.upgrade(&[]).refused("10.0.3.7 -> 10.0.3.9");
    let told = pin(&space, &file, &["show", "cluster_virtual_ip"]).succeeded().stdout;
    assert!(told.contains("ticket 4711") && told.contains("10.0.3.9"), "{told}");
}

#[test]
fn a_pin_in_a_secret_lives_on_with_helm3() {
    play(Helm::V3, "secrets", "secret/rollgate-pins");
}

#[test]
fn a_pin_in_a_configmap_lives_on_with_helm4() {
    play(Helm::V4, "configmaps", "configmap/rollgate-pins");
}

#[test]
fn one_hundred_writers_on_a_real_api_server_agree_and_lose_nothing() {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, "pins-writers");
    let pins = Pins { store: Some("secret/rollgate-pins".to_owned()), ..Pins::default() };
    let store = cluster::store(&pins, bench.api.client(), &space.namespace).expect("a store");
    let pin = |name: &str, value: &str| -> Pin {
        serde_json::from_value(json!({"name": name, "value": value, "source": "env X", "time": "2026-11-21T10:00:00Z"}))
            .expect("a pin")
    };
    let answers: Vec<(String, Result<bool, String>)> = bench.api.run(async {
        let writers = (0..100).map(|number| {
            let (store, own) = (store.clone(), pin(&format!("own{number}"), "1"));
            let (value, vip) = (format!("10.0.{number}.7"), pin("vip", &format!("10.0.{number}.7")));
            tokio::spawn(async move {
                let record = async |pin: Pin| {
                    store.update(|book| -> Result<bool, BookError> { book.record(std::slice::from_ref(&pin)) }).await
                };
                record(own).await.expect("its own pin is in nobody's way");
                (value, record(vip).await.map_err(|error| error.to_string()))
            })
        });
        let mut answers = Vec::new();
        for writer in writers.collect::<Vec<_>>() {
            answers.push(writer.await.expect("no panic"));
        }
        answers
    });
    let book = bench.api.run(store.read()).expect("readable");
    let winner = book.get("vip").expect("pinned").value.clone();
    assert_eq!(book.pins().len(), 101, "no writer lost the pin of another");
    for (value, answer) in answers {
        match answer {
            Ok(added) => assert!(added && value == winner),
            Err(error) => assert!(value != winner && error.contains(&winner), "{error}"),
        }
    }
}

/// Takes objects to another management cluster: as `clusterctl move` does those of Cluster API and whatever bears its label, or the
/// records of Helm, which it does not know.
fn moved(from: &Space, to: &Space, records: bool) {
    for list in from.bench.api.namespaced_lists(&from.namespace) {
        let is_capi = list.starts_with("/apis/") && list.contains("cluster.x-k8s.io/");
        for mut object in from.bench.api.list(&list) {
            let label = object.pointer("/metadata/labels/clusterctl.cluster.x-k8s.io~1move");
            let is_record = object["type"] == "helm.sh/release.v1";
            if is_record != records || !is_record && !is_capi && label.is_none() {
                continue;
            }
            let metadata = object["metadata"].as_object_mut().expect("a map");
            for own in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
                metadata.remove(own);
            }
            object.as_object_mut().expect("a map").remove("status");
            // An item of a list does not say what it is.
            let (root, resource) = list.split_once("/namespaces/").expect("a list of a namespace");
            let resource = resource.rsplit('/').next().expect("a resource");
            object["apiVersion"] = json!(root.trim_start_matches("/apis/").trim_start_matches("/api/"));
            if let Some(kind) = from.bench.api.get(root).and_then(|all| {
                let found = all["resources"].as_array()?.iter().find(|one| one["name"] == resource)?;
                found["kind"].as_str().map(str::to_owned)
            }) {
                object["kind"] = json!(kind);
            }
            to.bench.api.create(&list, &object);
        }
    }
}

/// The output of the stack stays behind, and the value holds all the same.
#[test]
fn a_pin_moves_with_its_cluster_to_another_management_cluster() {
    let Some(bench) = api_only() else { return };
    let target: &'static Bench = Box::leak(Box::new(crate::bench::start(bench.bin.clone(), "pivot", &["--api-only"])));
    let (from, to) = (Space::new(bench, "pivot"), Space::new(target, "pivot"));
    fn release(space: &Space) -> Release<'_> {
        let policy = space.file("rollgate.yaml", &policy("configmap/rollgate-pins"));
        Release { space, helm: Helm::V3, name: "demo", chart: "kubeadm", values: Vec::new(), policy }
    }
    let (before, after) = (release(&from), release(&to));
    let (from, to) = (&from, &to);
    allocate(from, ADDRESS);
    before.install(&[]).succeeded();
    moved(from, to, false);
    let listed = pin(to, &after.policy, &["list"]).succeeded().stdout;
    assert!(listed.contains(ADDRESS), "the pin has moved: {listed}");
    after.install(&[]).refused("live objects belong to it");
    moved(from, to, true);
    after.upgrade(&[]).succeeded();
    let owner = to
        .get("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes", "demo-cp")
        .expect("the control plane is there");
    assert!(owner["spec"].to_string().contains(ADDRESS), "{owner}");
    assert!(!owner["spec"].to_string().contains("55.55.55.55"), "{owner}");
    // The stack of the new management cluster has another address: nobody asked for that.
    allocate(to, "10.0.9.9");
    after.upgrade(&[]).refused("is pinned to 10.0.3.7");
}

/// Two pipelines with different variables install two releases at once and share the pins: one value goes out, and the other one is named.
#[test]
fn of_two_pipelines_at_once_one_value_goes_out() {
    let Some(bench) = api_only() else { return };
    for helm in [Helm::V3, Helm::V4] {
        let space = Space::new(bench, &format!("pins-pipelines-{}", helm.name()));
        let text = policy("configmap/rollgate-pins").replace("{heat: {output: allocated_ip}}", "{env: CLUSTER_VIP}");
        let file = space.file("rollgate.yaml", &text);
        let runs: Vec<(&str, &str, Run)> = std::thread::scope(|scope| {
            let pipelines: Vec<_> = [("one", "10.0.3.7"), ("two", "10.0.9.9")]
                .into_iter()
                .map(|(name, address)| {
                    let (space, policy) = (&space, file.clone());
                    scope.spawn(move || {
                        let release = Release { space, helm, name, chart: "kubeadm", values: Vec::new(), policy };
                        (name, address, release.gated_as(None, "install", &[], &[("CLUSTER_VIP", address)]))
                    })
                })
                .collect();
            pipelines.into_iter().map(|run| run.join().expect("it ran")).collect()
        });
        let listed = pin(&space, &file, &["list"]).succeeded().stdout;
        let winner = if listed.contains("10.0.3.7") { "10.0.3.7" } else { "10.0.9.9" };
        assert!(listed.contains(winner), "{listed}");
        for (name, address, run) in runs {
            let owner =
                space.get("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes", &format!("{name}-cp"));
            if address == winner {
                run.succeeded();
                assert!(owner.expect("it is there")["spec"].to_string().contains(winner));
            } else {
                run.refused(winner);
                assert_eq!(owner, None, "nothing of the other one is written");
            }
        }
    }
}
