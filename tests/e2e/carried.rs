//! Objects that carry others, with real Helms: the gate names what changes in them, and a kubeconfig counts as that of another
//! cluster only where it leads there.

use std::sync::Once;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::bench::{Bench, Space, api_only};
use crate::helm::{Helm, Release, Run};

const THEIRS: &str = include_str!("../../testdata/authorities/theirs.pem");

/// The kinds of Flux and Argo CD of which the bench runs no controller.
fn definitions(bench: &Bench) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (group, kind, plural, version) in [
            ("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations", "v1"),
            ("argoproj.io", "Application", "applications", "v1alpha1"),
        ] {
            let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
            let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                    "versions": [{"name": version, "served": true, "storage": true, "schema": schema}]}});
            bench.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
            let served = || bench.api.get(&format!("/apis/{group}/{version}/{plural}")).is_some();
            for _ in 0..100 {
                if served() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            assert!(served(), "{kind} is not served");
        }
    });
}

/// The authority of the bench, as its kubeconfig says it.
fn authority(bench: &Bench) -> String {
    let text = std::fs::read(&bench.kubeconfig).expect("the kubeconfig can be read");
    let config = Value::from(rollgate::facade::yaml::read_strict(&text).expect("the kubeconfig is YAML"));
    let data = config.pointer("/clusters/0/cluster/certificate-authority-data").and_then(Value::as_str);
    String::from_utf8(BASE64_STANDARD.decode(data.expect("an authority")).expect("base64")).expect("PEM")
}

/// The Secret from which the remote release takes its cluster.
fn kubeconfig(space: &Space, authority: &str) {
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [],
        "contexts": [{"name": "c", "context": {"cluster": "k"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://10.9.9.9:6443", "certificate-authority-data": BASE64_STANDARD.encode(authority)}}]});
    let path = format!("/api/v1/namespaces/{}/secrets", space.namespace);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other-kubeconfig"},
        "data": {"value": BASE64_STANDARD.encode(config.to_string())}});
    match space.bench.api.get(&format!("{path}/other-kubeconfig")) {
        Some(_) => space.bench.api.merge(&format!("{path}/other-kubeconfig"), &secret),
        None => space.bench.api.create(&path, &secret),
    };
}

/// Fails the test unless the gate refused with these words, in whichever lines they stand.
#[track_caller]
fn refused(run: Run, words: &str) {
    let run = run.refused("");
    let said = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(words), "it does not say {words:?}: {said}");
}

fn play(helm: Helm) {
    let Some(bench) = api_only() else { return };
    definitions(bench);
    let space = Space::new(bench, &format!("carried-{}", helm.name()));
    // No controller of this bench gives it to every namespace.
    space.config_map("kube-root-ca.crt", &json!({}), &json!({"ca.crt": authority(bench)}));
    kubeconfig(&space, THEIRS);
    let policy = space.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    let release = Release { space: &space, helm, name: "demo", chart: "carriers", values: Vec::new(), policy };
    release.install_ungated(&[]).succeeded();
    release.upgrade(&[]).succeeded();
    for (value, called) in [
        ("release=b", "HelmRelease"),
        ("kustomization=b", "Kustomization"),
        ("application=b", "Application"),
        ("payload=b", "ConfigMap"),
        ("application=", "Application"),
        ("fresh=b", "Kustomization"),
    ] {
        let name = if value.starts_with("fresh") { "fresh" } else { value.split('=').next().unwrap_or_default() };
        refused(release.upgrade(&[value]), &format!("what {called} {name} carries"));
    }
    // Into another cluster, and then into this one by another address.
    release.upgrade(&["remote=b"]).succeeded();
    kubeconfig(&space, &authority(bench));
    release.upgrade(&["remote=b"]).succeeded();
    refused(release.upgrade(&["remote=c"]), "leads back into this cluster");
    let held = space.get("helm.toolkit.fluxcd.io/v2", "helmreleases", "remote").expect("it is there");
    assert_eq!(held.pointer("/spec/values/version"), Some(&json!("b")), "what was refused is not written");
}

#[test]
fn helm3() {
    play(Helm::V3);
}

#[test]
fn helm4() {
    play(Helm::V4);
}
