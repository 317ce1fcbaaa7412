//! `plan --dry-run-server` beside the real API server with the real webhooks: it agrees where the prediction is right, and
//! shows what a mutating policy adds that nobody rendered.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::helm::{Helm, Release};
use crate::observe::wait_for;

/// Long enough for one Machine on a busy machine.
const INSTALL: Duration = Duration::from_secs(240);

/// A change in place is allowed, a rollout is held.
const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates: {rollout: hold}\n";

/// Makes the API server add a command to every KubeadmControlPlane of a namespace that is written from now on.
fn mutate(space: &Space) {
    let policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
    let name = format!("site-{}", space.namespace);
    let create = |path: &str, object: Value| space.bench.api.create(path, &object);
    create(
        policies,
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail", "reinvocationPolicy": "Never",
                "matchConstraints": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space.namespace}},
                    "resourceRules": [{"apiGroups": ["controlplane.cluster.x-k8s.io"], "apiVersions": ["*"],
                        "operations": ["CREATE", "UPDATE"], "resources": ["kubeadmcontrolplanes"]}],
                },
                // The controllers write here too: only what carries the label of the test is changed.
                "matchConditions": [{"name": "ours", "expression":
                    "has(object.spec.machineTemplate.metadata) && has(object.spec.machineTemplate.metadata.labels) \
                     && 'site' in object.spec.machineTemplate.metadata.labels"}],
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression":
                    "[JSONPatch{op: \"add\", path: \"/spec/kubeadmConfigSpec/preKubeadmCommands\", value: [\"touch /site\"]}]"}}],
            },
        }),
    );
    create(
        &policies.replace("policies", "policybindings"),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": name}, "spec": {"policyName": name}}),
    );
}

/// A user who may read everything and write nothing, as a kubeconfig.
fn reader(space: &Space) -> String {
    let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]);
    space.bench.user(&format!("reader-{}", space.namespace), &rules).display().to_string()
}

/// The counts of a report's dry run: answered, as predicted, different, not asked.
fn counts(report: &Value) -> [u64; 4] {
    let of = |name: &str| report["serverDryRun"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {report:#}"));
    [of("answered"), of("asPredicted"), of("different"), of("notAsked")]
}

/// One life: agree on an upgrade, show a policy's addition, doubt where the right is missing.
fn play(helm: Helm, options: &'static [&'static str], name: &str) {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, name);
    let policy = space.file("rollgate.yaml", POLICY);
    let values = vec!["controlPlane.replicas=1".to_owned(), "workers.replicas=0".to_owned()];
    let release = Release { space: &space, helm, name: "demo", chart: "kubeadm", values, policy };
    release.run_with("install", &[], options).succeeded();
    wait_for(&space, "a Machine running", INSTALL, |sight| sight.running() == (1, 1) && sight.settled());

    // The upgrade that the whole program is about: agreed to the letter, and held for what it does.
    let upgrade = ["version=v1.34.1", "vip=10.0.3.7"];
    let (code, report) = release.dry_run(&upgrade, None);
    let [answered, same, different, not_asked] = counts(&report);
    assert_eq!((different, not_asked), (0, 0), "{report:#}");
    assert!(answered == same && answered >= 5, "{report:#}");
    assert_eq!((code, report["decision"].as_str()), (Some(3), Some("hold")), "{report:#}");

    // The v that webhooks put before a version is no surprise, for the control plane and for workers.
    let (_, report) = release.dry_run(&["version=1.34.1", "workers.replicas=1"], None);
    let [answered, same, different, _] = counts(&report);
    assert!(different == 0 && answered == same, "{report:#}");

    // A change in place: allowed as long as nobody adds anything.
    let in_place = ["controlPlane.labels.site=a"];
    let (code, report) = release.dry_run(&in_place, None);
    assert_eq!((code, counts(&report)[2]), (Some(0), 0), "{report:#}");
    mutate(&space);
    // The API server takes a moment to know its policies.
    let began = std::time::Instant::now();
    let (code, report) = loop {
        let (code, report) = release.dry_run(&in_place, None);
        if counts(&report)[2] > 0 || began.elapsed() > Duration::from_secs(60) {
            break (code, report);
        }
    };
    assert_eq!(counts(&report)[2], 1, "{report:#}");
    let difference = &report["serverDryRun"]["objects"][0]["differences"][0];
    assert_eq!(difference["path"], "spec.kubeadmConfigSpec.preKubeadmCommands", "{report:#}");
    assert!(difference.get("predicted").is_none(), "{report:#}");
    // A command can hold a secret: which one it is stays hidden.
    let answered = difference["answered"][0].as_str().unwrap_or_default();
    assert!(answered.starts_with("touch <redacted:"), "{report:#}");
    assert_eq!((code, &report["effect"]), (Some(3), &json!("rollout")), "the worse counts: {report:#}");

    // Who may only read gets no answer, and that is a doubt with the right to add.
    let (code, report) = release.dry_run(&in_place, Some(&reader(&space)));
    assert_eq!(code, Some(4), "{report:#}");
    let remedies: Vec<&str> =
        report["reasons"].as_array().into_iter().flatten().filter_map(|one| one["remedy"].as_str()).collect();
    assert!(remedies.iter().any(|one| one.contains("kubeadmcontrolplanes") && one.contains("patch")), "{remedies:?}");
    // Nothing was written by all of this.
    let owner =
        space.list("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes").pop().expect("a control plane");
    let commands = &owner["spec"]["kubeadmConfigSpec"]["preKubeadmCommands"];
    assert_eq!((&owner["spec"]["version"], commands), (&json!("v1.34.0"), &Value::Null), "{owner:#}");
}

#[test]
fn the_api_server_agrees_and_disagrees_with_helm3() {
    play(Helm::V3, &[], "dry-run-helm3");
}

#[test]
fn the_api_server_agrees_and_disagrees_with_helm4() {
    play(Helm::V4, &[], "dry-run-helm4");
}

#[test]
fn the_api_server_agrees_and_disagrees_with_helm4_and_patches() {
    play(Helm::V4, &["--server-side=false"], "dry-run-helm4-patch");
}
