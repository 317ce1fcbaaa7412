//! A policy that is kept in the cluster, with both Helms and a real API server: what it says counts at the next install, and without it
//! nothing goes out.

use std::path::PathBuf;

use serde_json::json;

use crate::bench::{Space, api_only};
use crate::helm::{Helm, Release};

const HEAD: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n";

fn play(helm: Helm) {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, &format!("policy-{}", helm.name()));
    let policy = PathBuf::from(format!("configmap/{}/gate", space.namespace));
    let release = Release { space: &space, helm, name: "demo", chart: "kubeadm", values: Vec::new(), policy };
    let (old, new) = ("vip=10.0.3.7", "version=v1.34.1");
    release.install(&[old]).refused("there is no ConfigMap");
    let write = |text: &str| {
        let path = format!("/api/v1/namespaces/{}/configmaps/gate", space.namespace);
        bench.api.merge(&path, &json!({"data": {"rollgate.yaml": text}}));
    };
    space.config_map("gate", &json!({}), &json!({"other.yaml": HEAD}));
    release.install(&[old]).refused("has no key rollgate.yaml");
    write(&format!("{HEAD}gates: {{rollout: true}}\n"));
    release.install(&[old]).refused("expected allow, warn or hold");
    write(HEAD);
    release.install(&[old]).succeeded();
    let held = release.upgrade(&[old, new]).refused("rollgate: hold");
    assert!(held.stderr.contains(&format!("policy configmap/{}/gate", space.namespace)), "{}", held.stderr);
    write(&format!("{HEAD}gates: {{rollout: warn}}\n"));
    release.upgrade(&[old, new]).succeeded();
}

#[test]
fn a_policy_of_the_cluster_counts_with_helm3() {
    play(Helm::V3);
}

#[test]
fn a_policy_of_the_cluster_counts_with_helm4() {
    play(Helm::V4);
}
