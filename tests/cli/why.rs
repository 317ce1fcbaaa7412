//! `rollgate why` from saved clusters: which field says that a Machine is out of date, who wrote it, what is due by itself.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::emptied::{Cluster, object};
use super::{Program, Ran, root};

const CLOCK: [&str; 4] = ["--now", "2026-11-21T12:00:00Z", "--policy", "none"];

/// What a scenario has read of its cluster.
fn live(scenario: &str) -> String {
    let file = root().join("testdata/scenarios").join(scenario).join("live.yaml");
    std::fs::read_to_string(file).expect("the live side of a scenario")
}

/// The cluster of kcp-vip-moved, its control plane changed by hand: only what stands in the document of its owner.
fn with_owner(change: impl Fn(&str) -> String) -> String {
    let live = live("kcp-vip-moved");
    let documents = live.split("\n---\n").map(|text| match text.contains("\nkind: KubeadmControlPlane\n") {
        true => change(text),
        false => text.to_owned(),
    });
    documents.collect::<Vec<_>>().join("\n---\n")
}

fn moved() -> String {
    with_owner(|text| text.replace("value: 10.0.3.7", "value: 10.0.3.42"))
}

/// One sentence, wherever its lines end.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn why(program: &Program, live: &str, more: &[&str]) -> Ran {
    program.file("live.yaml", live);
    program.run(&[&["why", "--live", "live.yaml"], &CLOCK[..], more].concat(), b"")
}

#[test]
fn a_cluster_that_is_as_wanted_says_so() {
    let ran = why(&Program::new(), &live("kcp-vip-moved"), &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("rollgate: no outdated Machine was found\n"), "{}", ran.stdout);
}

#[test]
fn the_field_that_makes_machines_out_of_date_is_named_with_both_values_and_its_writer() {
    let program = Program::new();
    let fields = "managedFields: [{manager: helm-controller, operation: Apply, apiVersion: controlplane.cluster.x-k8s.io/v1beta1, \
        time: '2026-11-20T03:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:spec': {'f:kubeadmConfigSpec': {'f:files': {}}}}}]";
    let labels = "labels: {helm.toolkit.fluxcd.io/name: edge-2-release}";
    let owner = with_owner(|text| {
        let text = text.replace("value: 10.0.3.7", "value: 10.0.3.42");
        let name = "  name: edge-2-control-plane\n";
        let text = text.replacen(name, &format!("{name}  {fields}\n"), 1);
        // What stands there already would be a second map of labels.
        if text.contains("  labels:\n") { text } else { text.replacen(name, &format!("{name}  {labels}\n"), 1) }
    });
    let ran = why(&program, &owner, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let first = flat(&ran.stdout);
    assert!(
        first.starts_with(
            "rollgate: KubeadmControlPlane edge-2/edge-2-control-plane has 3 Machines out of date: \
             spec.kubeadmConfigSpec.files[0].content"
        ),
        "{}",
        ran.stdout
    );
    assert!(
        first.contains("10.0.3.7 -> 10.0.3.42, written by helm-controller (Apply) at 2026-11-20 03:00 UTC"),
        "{}",
        ran.stdout
    );
    let said = super::sentence(&ran.stdout, "out of date: edge-2-control-plane-b6lxn");
    for words in [
        "spec.kubeadmConfigSpec.files[0].content",
        "files[0].content > spec.containers[0].env[1].value 10.0.3.7 -> 10.0.3.42 [kcp/files]",
        "written by helm-controller (Apply), which last wrote the object 2026-11-20T03:00:00Z",
    ] {
        assert!(said.contains(words), "{words} is not in {said}\n{}", ran.stdout);
    }
    let json = why(&program, &owner, &["-o", "json"]);
    let report: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(report["owners"][0]["outdated"][0]["fields"][0]["rule"], "kcp/files", "{report}");
    assert_eq!(report["isWhole"], true);
}

#[test]
fn one_machine_or_another_owner_is_asked_about_by_name() {
    let program = Program::new();
    let one = why(&program, &moved(), &["Machine/edge-2-control-plane-f2gqs"]);
    assert!(flat(&one.stdout).contains("edge-2-control-plane has 1 Machine out of date"), "{}", one.stdout);
    assert!(!one.stdout.contains("b6lxn"), "{}", one.stdout);
    for name in ["edge-2", "edge-2/edge-2", "kubeadmcontrolplane/edge-2-control-plane"] {
        let ran = why(&program, &moved(), &[name]);
        assert!(
            flat(&ran.stdout).contains("edge-2-control-plane has 3 Machines out of date"),
            "{name}: {}",
            ran.stdout
        );
    }
    let gone = why(&program, &moved(), &["gone"]);
    assert_eq!(gone.code, Some(2), "{}", gone.stdout);
    assert!(gone.stderr.contains("Machine is called \"gone\""), "{}", gone.stderr);
    // What is there and owns no Machine would read as if all were well with it.
    let class = format!(
        "{}\n---\n{}",
        moved(),
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gone", "namespace": "edge-2"}}"#
    );
    assert_eq!(why(&program, &class, &["gone"]).code, Some(2));
}

#[test]
fn machines_that_were_replaced_are_told_from_two_dumps() {
    let program = Program::new();
    program.file("before.yaml", &live("kcp-vip-moved"));
    // The whole cluster as it is afterwards: the new address everywhere, and other Machines.
    let mut after = live("kcp-vip-moved").replace("value: 10.0.3.7", "value: 10.0.3.42");
    for (old, new) in [("b6lxn", "aaaaa"), ("f2gqs", "bbbbb")] {
        after = after.replace(old, new);
    }
    let ran = why(&program, &after, &["--before", "before.yaml"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(flat(&ran.stdout).contains("edge-2-control-plane replaced 2 Machines: "), "{}", ran.stdout);
    let said = super::sentence(&ran.stdout, "replaced: edge-2-control-plane-b6lxn, edge-2-control-plane-f2gqs");
    assert!(said.contains("spec.containers[0].env[1].value 10.0.3.7 -> 10.0.3.42"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("w8d5j"), "one Machine is still there and as wanted: {}", ran.stdout);
}

#[test]
fn workers_are_told_by_their_machine_set() {
    let ran = why(&Program::new(), &live("mid-rollout-scaled"), &[]);
    assert!(ran.stdout.contains("MachineDeployment fleet/demo-md of cluster demo"), "{}", ran.stdout);
    let said = super::sentence(&ran.stdout, "  out of date: ");
    assert!(said.contains("spec.template.spec.version v1.33.1") && said.contains("v1.33.2"), "{}", ran.stdout);
}

#[test]
fn a_rollout_that_comes_by_itself_is_told_with_its_time() {
    let later = with_owner(|text| text.replacen("\nspec:\n", "\nspec:\n  rolloutAfter: '2026-12-24T18:00:00Z'\n", 1));
    let ran = why(&Program::new(), &later, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        flat(&ran.stdout).contains("edge-2-control-plane will replace 3 Machines at 2026-12-24 18:0"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("due 2026-12-24 18:0"), "{}", ran.stdout);
    assert!(ran.stdout.contains("[kcp/rollout-after]"), "{}", ran.stdout);
    let spent = with_owner(|text| text.replacen("\nspec:\n", "\nspec:\n  rolloutAfter: '2020-01-01T00:00:00Z'\n", 1));
    let ran = why(&Program::new(), &spent, &[]);
    assert!(ran.stdout.starts_with("rollgate: no outdated Machine was found\n"), "{}", ran.stdout);
}

#[test]
fn a_remediation_that_is_tried_again_and_again_is_told_with_its_count() {
    let note = r#"controlplane.cluster.x-k8s.io/remediation-in-progress: '{"machine":"edge-2-control-plane-b6lxn","timestamp":"2026-11-21T11:00:00Z","retryCount":819}'"#;
    let name = "  name: edge-2-control-plane\n";
    let sick = with_owner(|text| match text.contains("  annotations:\n") {
        true => text.replacen("  annotations:\n", &format!("  annotations:\n    {note}\n"), 1),
        false => text.replacen(name, &format!("{name}  annotations:\n    {note}\n"), 1),
    });
    let ran = why(&Program::new(), &sick, &[]);
    assert!(
        ran.stdout.contains("being remediated: edge-2-control-plane-b6lxn, tried 819 times before"),
        "{}",
        ran.stdout
    );
}

#[test]
fn what_could_not_be_read_is_said_and_is_undecided() {
    let all = live("kcp-vip-moved");
    let none: Vec<&str> = all.split("\n---\n").filter(|text| !text.contains("kind: Machine\n")).collect();
    let ran = why(&Program::new(), &none.join("\n---\n"), &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("not known: the Machines of KubeadmControlPlane edge-2/edge-2-control-plane"),
        "{}",
        ran.stdout
    );
    let program = Program::new();
    let ran = program.run(&["why", "--live", "none"], b"");
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    let ran = program.run(&["why", "edge-2"], b"");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("not known: the cluster: there is no kubeconfig"), "{}", ran.stdout);
}

#[test]
fn secrets_stay_hidden() {
    let program = Program::new();
    let secret = "canary7Zq7";
    let owner = with_owner(|text| text.replace("value: 10.0.3.7", &format!("password: {secret}")));
    for format in ["human", "json"] {
        let ran = why(&program, &owner, &["-o", format]);
        assert!(ran.stdout.contains("files[0].content"), "{}", ran.stdout);
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{}", ran.stdout);
    }
}

/// The example: a cluster whose address came after its first install, with the three newest revisions of its release.
fn example() -> String {
    let read = |name: &str| std::fs::read_to_string(root().join("examples/why").join(name)).expect("an example");
    format!("{}\n---\n{}", read("after/cluster.yaml"), read("after/release.yaml"))
}

#[test]
fn a_rollout_that_is_over_is_told_by_the_revision_that_was_it() {
    let ran = why(&Program::new(), &example(), &["edge-1"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let said = flat(&ran.stdout);
    assert!(
        said.starts_with(
            "rollgate: RKE2ControlPlane edge-1/edge-1-control-plane replaced 3 Machines since 2026-11-03 02:14 UTC: \
             spec.files[0].content"
        ),
        "{}",
        ran.stdout
    );
    for words in [
        "canReach 55.55.55.55 -> 10.0.3.7, written by helm (release edge-1, revision 7)",
        "revision 7 of edge-1, 2026-11-03 02:14 UTC, deployed: Upgrade complete; chart telco-cluster-0.4.1 -> telco-cluster-0.4.2",
        "edge-1-control-plane-7hq2n, edge-1-control-plane-c5d8j, edge-1-control-plane-t9r4b made until 2026-11-03 02:31 UTC",
        "written by helm (Update), which last wrote the object 2026-11-03T02:14:07Z",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{}", ran.stdout);
    }
    // Revision 6 changed a drain timeout, which replaces nothing.
    assert!(!said.contains("revision 6") && !said.contains("revision 5"), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 120), "{}", ran.stdout);
}

#[test]
fn a_dump_without_the_machines_of_before_and_without_a_history_says_nothing_of_them() {
    let read = std::fs::read_to_string(root().join("examples/why/after/cluster.yaml")).expect("an example");
    let ran = why(&Program::new(), &read, &["edge-1"]);
    assert!(ran.stdout.starts_with("rollgate: no outdated Machine of edge-1 was found\n"), "{}", ran.stdout);
    // Machines that are older than the revision were not made by it.
    let old = example().replace("2026-11-03T02:15:37Z", "2026-11-01T00:00:00Z");
    let old = old.replace("2026-11-03T02:24:09Z", "2026-11-01T00:00:00Z");
    let ran = why(&Program::new(), &old, &["edge-1"]);
    assert!(flat(&ran.stdout).contains("replaced 1 Machine since"), "{}", ran.stdout);
    let none = old.replace("2026-11-03T02:31:55Z", "2026-11-01T00:00:00Z");
    let ran = why(&Program::new(), &none, &["edge-1"]);
    assert!(ran.stdout.starts_with("rollgate: no outdated Machine of edge-1 was found\n"), "{}", ran.stdout);
}

#[test]
fn machines_that_are_gone_get_their_revision_too() {
    let program = Program::new();
    let before = std::fs::read_to_string(root().join("examples/why/before.yaml")).expect("an example");
    program.file("before.yaml", &before);
    let ran = why(&program, &example(), &["edge-1", "--before", "before.yaml", "-o", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let owner = &report["owners"][0];
    let gone = &owner["outdated"][0];
    assert_eq!((&gone["isReplaced"], gone["names"].as_array().map(Vec::len)), (&json!(true), Some(3)), "{report:#}");
    assert_eq!(gone["fields"][0]["revisions"][0]["revision"], 7, "{report:#}");
    assert!(owner["headline"].as_str().is_some_and(|text| text.contains("(release edge-1, revision 7)")), "{owner:#}");
}

#[test]
fn what_somebody_wrote_after_the_newest_revision_is_not_laid_on_it() {
    // By hand: another address than the one that the newest revision has.
    let manager = "manager: helm\n    operation: Update\n";
    assert!(example().contains(manager));
    let by_hand = |text: &str| {
        let mut documents: Vec<String> = text.split("---\n").map(str::to_owned).collect();
        for one in documents.iter_mut().filter(|one| one.contains("\nkind: RKE2ControlPlane\n")) {
            *one = one.replace("canReach: 10.0.3.7", "canReach: 10.0.3.99");
            *one = one.replacen("- manager: helm\n", "- manager: kubectl-edit\n", 1);
        }
        documents.join("---\n")
    };
    let ran = why(&Program::new(), &by_hand(&example()), &["edge-1"]);
    let said = flat(&ran.stdout);
    assert!(said.contains("has 3 Machines out of date"), "{}", ran.stdout);
    assert!(said.contains("10.0.3.7 -> 10.0.3.99, written by kubectl-edit (Update)"), "{}", ran.stdout);
    assert!(said.contains("revision 7 of edge-1, the newest, has"), "{}", ran.stdout);
    assert!(said.contains("what stands there was not written by it"), "{}", ran.stdout);
}

#[test]
fn a_machine_set_that_is_left_empty_tells_what_it_was_replaced_for() {
    let owner = |name: &str| json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "name": name, "uid": "1", "controller": true}]);
    let template = |version: &str| {
        json!({"spec": {"clusterName": "c", "version": version, "bootstrap": {"dataSecretName": "x"},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "XTemplate", "name": "t"}}})
    };
    let core = "cluster.x-k8s.io/v1beta2";
    let mut md = object(
        core,
        "MachineDeployment",
        Some("telco"),
        "md",
        json!({"clusterName": "c", "replicas": 1, "template": template("v1.34.0")}),
    );
    md["metadata"]["uid"] = json!("1");
    let set = |name: &str, version: &str, replicas: u64, revision: &str, made: &str| {
        let mut set = object(
            core,
            "MachineSet",
            Some("telco"),
            name,
            json!({"clusterName": "c", "replicas": replicas, "template": template(version)}),
        );
        set["status"] = json!({"replicas": replicas});
        set["metadata"]["creationTimestamp"] = json!(made);
        set["metadata"]["annotations"] = json!({"machinedeployment.clusters.x-k8s.io/revision": revision});
        set["metadata"]["ownerReferences"] = owner("md");
        set
    };
    let mut machine =
        object(core, "Machine", Some("telco"), "md-new-1", json!({"clusterName": "c", "version": "v1.34.0"}));
    machine["metadata"]["creationTimestamp"] = json!("2026-11-20T02:15:00Z");
    machine["metadata"]["ownerReferences"] =
        json!([{"apiVersion": core, "kind": "MachineSet", "name": "md-new", "uid": "3", "controller": true}]);
    let told = |old_replicas: u64| {
        let objects = [
            md.clone(),
            set("md-old", "v1.33.0", old_replicas, "1", "2026-10-01T00:00:00Z"),
            set("md-new", "v1.34.0", 1, "2", "2026-11-20T02:14:30Z"),
            machine.clone(),
        ];
        let text: String = objects.iter().map(|object| format!("---\n{object}\n")).collect();
        why(&Program::new(), &text, &["md"])
    };
    let ran = told(0);
    let said = flat(&ran.stdout);
    assert!(
        said.contains("MachineDeployment telco/md replaced 1 Machine since 2026-11-20 02:15 UTC"),
        "{}",
        ran.stdout
    );
    assert!(said.contains("spec.template.spec.version v1.33.0 -> v1.34.0"), "{}", ran.stdout);
    assert!(said.contains("MachineSet md-old, which is empty, and md-new"), "{}", ran.stdout);
    // While the old one still has Machines they are out of date, and nothing is over.
    let ran = told(1);
    assert!(
        flat(&ran.stdout).contains("has 1 Machine out of date") || !ran.stdout.contains("which is empty"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("which is empty"), "{}", ran.stdout);
}

#[test]
fn certificates_that_end_are_due_when_they_are() {
    let with = |days: u64| {
        let mut documents: Vec<String> = live("kcp-vip-moved").split("\n---\n").map(str::to_owned).collect();
        for one in &mut documents {
            if one.contains("\nkind: KubeadmControlPlane\n") {
                *one = one.replacen(
                    "\nspec:\n",
                    &format!("\nspec:\n  rolloutBefore: {{certificatesExpiryDays: {days}}}\n"),
                    1,
                );
            } else if one.contains("kind: Machine\n") {
                *one = one.replacen("\nstatus:\n", "\nstatus:\n  certificatesExpiryDate: '2027-02-01T00:00:00Z'\n", 1);
            }
        }
        why(&Program::new(), &documents.join("\n---\n"), &[])
    };
    let ran = with(30);
    let said = flat(&ran.stdout);
    assert!(said.contains("will replace 3 Machines at 2027-01-02 00:0"), "{}", ran.stdout);
    assert!(said.contains("[kcp/rollout-before]"), "{}", ran.stdout);
    let ran = with(90);
    assert!(flat(&ran.stdout).contains("has 3 Machines out of date: spec.rollout.before"), "{}", ran.stdout);
}

#[test]
fn a_machine_that_a_health_check_wants_replaced_is_told() {
    let conditions = "  - {type: HealthCheckSucceeded, status: 'False', reason: NodeStartupTimeout}\n  - {type: OwnerRemediated, status: 'False', reason: WaitingForRemediation}\n";
    let mut documents: Vec<String> = live("kcp-vip-moved").split("\n---\n").map(str::to_owned).collect();
    let machine =
        documents.iter_mut().find(|one| one.contains("kind: Machine\n") && one.contains("f2gqs")).expect("a Machine");
    assert!(machine.contains("  conditions:\n"), "{machine}");
    *machine = machine.replacen("  conditions:\n", &format!("  conditions:\n{conditions}"), 1);
    let ran = why(&Program::new(), &documents.join("\n---\n"), &["edge-2"]);
    assert!(
        flat(&ran.stdout)
            .contains("edge-2-control-plane-f2gqs is to be replaced by a health check: NodeStartupTimeout"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("b6lxn is to be replaced"), "{}", ran.stdout);
}

/// A record of Helm as the API server gives it.
fn record(number: u64, manifest: &[Value], description: &str) -> Value {
    let manifest: String = manifest.iter().map(|object| format!("---\n{object}\n")).collect();
    let body = json!({"name": "demo", "namespace": "telco", "version": number, "manifest": manifest, "info": {"status": "superseded",
        "last_deployed": format!("2026-11-0{number}T02:14:05Z"), "description": description}, "config": {"secret": "canary7Zq7"}});
    let packed = BASE64_STANDARD.encode(body.to_string());
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("sh.helm.release.v1.demo.v{number}"), "namespace": "telco",
        "labels": {"owner": "helm", "name": "demo", "status": "superseded", "version": number.to_string()}},
        "data": {"release": packed}})
}

/// A cluster with one MachineDeployment, one old Machine, and three revisions, of which the last one changed the version.
fn recorded(plural: &str, description: &str) -> Cluster {
    let capi = super::emptied::capi();
    let md = |version: &str| {
        let mut md = capi[1].clone();
        md["spec"]["template"]["spec"]["version"] = json!(version);
        md
    };
    let mut cluster = Cluster::with(&[], false);
    let mut owner = super::emptied::live(md("v1.34.0"));
    owner["metadata"]["managedFields"] = json!([{"manager": "helm", "operation": "Update", "apiVersion": "cluster.x-k8s.io/v1",
        "time": "2026-11-03T02:14:06Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:version": {}}}}}}]);
    let mut set = object("cluster.x-k8s.io/v1", "MachineSet", Some("telco"), "md-old", md("v1.33.0")["spec"].clone());
    set["metadata"]["ownerReferences"] = json!([{"apiVersion": "cluster.x-k8s.io/v1", "kind": "MachineDeployment", "name": "md", "uid": "1", "controller": true}]);
    let mut machine = object(
        "cluster.x-k8s.io/v1",
        "Machine",
        Some("telco"),
        "md-old-1",
        json!({"clusterName": "c", "version": "v1.33.0"}),
    );
    machine["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
    machine["metadata"]["ownerReferences"] = json!([{"apiVersion": "cluster.x-k8s.io/v1", "kind": "MachineSet", "name": "md-old", "uid": "2", "controller": true}]);
    for (kind, name, item) in [
        ("MachineDeployment", "machinedeployments", owner),
        ("MachineSet", "machinesets", set),
        ("Machine", "machines", machine),
    ] {
        for path in ["/apis/cluster.x-k8s.io/v1/namespaces/telco", "/apis/cluster.x-k8s.io/v1"] {
            cluster.list(&format!("{path}/{name}"), kind, std::slice::from_ref(&item));
        }
    }
    let records = [
        record(1, &[md("v1.32.0")], "Install complete"),
        record(2, &[md("v1.33.0")], "Upgrade complete"),
        record(3, &[md("v1.34.0")], description),
    ];
    let path = "/api/v1/namespaces/telco/secrets";
    cluster.list(path, "PartialObjectMetadata", &[]);
    cluster.list("/api/v1/namespaces/telco/configmaps", "PartialObjectMetadata", &[]);
    let path = format!("/api/v1/namespaces/telco/{plural}");
    let heads: Vec<Value> = records.iter().map(|one| json!({"metadata": one["metadata"]})).collect();
    cluster.list(&path, "PartialObjectMetadata", &heads);
    for mut one in records {
        let name = one["metadata"]["name"].as_str().expect("a name").to_owned();
        // In a Secret the API has the data encoded once more.
        if plural == "secrets" {
            one["data"]["release"] = json!(BASE64_STANDARD.encode(one["data"]["release"].as_str().expect("data")));
        } else {
            one["kind"] = json!("ConfigMap");
        }
        cluster.0.insert(format!("{path}/{name}"), one);
    }
    cluster
}

#[test]
fn the_cluster_is_asked_with_nothing_but_a_name() {
    for plural in ["secrets", "configmaps"] {
        let program = Program::new();
        let ran = recorded(plural, "Upgrade complete").run(&program, &["why", "md", "--policy", "none"], "");
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let said = flat(&ran.stdout);
        for words in [
            "rollgate: MachineDeployment telco/md has 1 Machine out of date: spec.template.spec.version v1.33.0 -> v1.34.0, \
             written by helm (release demo, revision 3)",
            "revision 3 of demo, 2026-11-03 02:14 UTC, superseded: Upgrade complete",
            "revision 2 of demo",
            "of the Helm release telco/demo",
        ] {
            assert!(said.contains(words), "{words:?} is not in\n{}", ran.stdout);
        }
        assert!(!ran.stdout.contains("canary7Zq7"), "{}", ran.stdout);
    }
}

#[test]
fn a_history_that_may_not_be_read_is_not_known_and_the_rest_is_told() {
    let mut cluster = recorded("secrets", "");
    cluster.0.insert("/api/v1/namespaces/telco/secrets".to_owned(), Value::Null);
    let ran = cluster.run(&Program::new(), &["why", "md", "--policy", "none"], "");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let said = flat(&ran.stdout);
    assert!(said.contains("not known: the history of release demo in namespace telco: forbidden"), "{}", ran.stdout);
    assert!(
        said.contains("has 1 Machine out of date: spec.template.spec.version v1.33.0 -> v1.34.0"),
        "{}",
        ran.stdout
    );
    // One revision alone.
    let mut cluster = recorded("secrets", "");
    cluster.0.insert("/api/v1/namespaces/telco/secrets/sh.helm.release.v1.demo.v2".to_owned(), Value::Null);
    let ran = cluster.run(&Program::new(), &["why", "md", "--policy", "none"], "");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let said = flat(&ran.stdout);
    assert!(said.contains("revision 3 of demo") && said.contains("compared with revision 1"), "{}", ran.stdout);
}

#[test]
fn what_helm_repeats_of_a_refusal_shows_no_secret() {
    let refusal = "Upgrade \"demo\" failed: cannot patch \"md\": Invalid value: \"password=canary7Zq7\": refused";
    for format in ["human", "json"] {
        let ran =
            recorded("secrets", refusal).run(&Program::new(), &["why", "md", "--policy", "none", "-o", format], "");
        assert!(ran.stdout.contains("cannot patch"), "{}", ran.stdout);
        assert!(!ran.stdout.contains("canary7Zq7"), "{}", ran.stdout);
    }
}

#[test]
fn a_snapshot_keeps_the_history_for_later() {
    let program = Program::new();
    let cluster = recorded("secrets", "Upgrade complete");
    let rendered = format!("---\n{}\n", super::emptied::capi()[1]);
    let options = ["--policy", "none", "--release", "demo", "--namespace", "telco", "-o", "world.json"];
    let saved = cluster.run(&program, &[&["snapshot", "-"], &options[..]].concat(), &rendered);
    assert!(matches!(saved.code, Some(0 | 4)), "{}{}", saved.stdout, saved.stderr);
    let ran = program.run(&["why", "md", "--policy", "none", "--live", "world.json"], b"");
    assert!(flat(&ran.stdout).contains("written by helm (release demo, revision 3)"), "{}{}", ran.stdout, ran.stderr);
}

/// A record of Helm as a dump has it, of the release of the cluster edge-2.
fn dumped(number: u64, objects: &[Value]) -> String {
    let mut one = record(number, objects, "Upgrade complete");
    one["metadata"]["namespace"] = json!("edge-2");
    let packed = one["data"]["release"].as_str().expect("data");
    one["data"]["release"] = json!(BASE64_STANDARD.encode(packed));
    format!("\n---\n{one}")
}

#[test]
fn where_a_topology_writes_the_owner_the_revision_of_its_cluster_is_named() {
    let label = "topology.cluster.x-k8s.io/owned: ''";
    let owner = with_owner(|text| {
        let text = text.replace("value: 10.0.3.7", "value: 10.0.3.42");
        let name = "  name: edge-2-control-plane\n";
        match text.contains("  labels:\n") {
            true => text.replacen("  labels:\n", &format!("  labels:\n    {label}\n"), 1),
            false => text.replacen(name, &format!("{name}  labels: {{{label}}}\n"), 1),
        }
    });
    let cluster = |address: &str, replicas: u64| {
        let variables = json!([{"name": "vip", "value": address}]);
        let topology =
            json!({"class": "c", "version": "v1.33.1", "variables": variables, "controlPlane": {"replicas": replicas}});
        object("cluster.x-k8s.io/v1beta1", "Cluster", Some("edge-2"), "edge-2", json!({"topology": topology}))
    };
    let records = [
        dumped(1, &[cluster("10.0.3.7", 1)]),
        dumped(2, &[cluster("10.0.3.7", 3)]),
        dumped(3, &[cluster("10.0.3.42", 3)]),
        dumped(4, &[cluster("10.0.3.42", 5)]),
    ];
    let ran = why(&Program::new(), &format!("{owner}{}", records.concat()), &["edge-2"]);
    let said = flat(&ran.stdout);
    for words in [
        "10.0.3.7 -> 10.0.3.42, written by the topology of its Cluster (release demo, revision 3)",
        "revision 3 of demo, 2026-11-03 02:14 UTC, superseded: Upgrade complete",
        "Cluster edge-2/edge-2: spec.topology.variables[0].value 10.0.3.7 -> 10.0.3.42",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{}", ran.stdout);
    }
    assert!(!said.contains("revision 2 of demo") && !said.contains("revision 4 of demo"), "{}", ran.stdout);
}

#[test]
fn a_revision_shows_no_secret_of_a_file() {
    let secret = "canary7Zq7";
    let plane = |content: &str| {
        let files = json!([{"path": "/etc/kubernetes/token.conf", "content": content}]);
        object(
            "controlplane.cluster.x-k8s.io/v1beta1",
            "KubeadmControlPlane",
            Some("edge-2"),
            "edge-2-control-plane",
            json!({"replicas": 3, "version": "v1.31.4", "kubeadmConfigSpec": {"files": files}}),
        )
    };
    let records = [dumped(1, &[plane("password: canary7Zq7old")]), dumped(2, &[plane("password: canary7Zq7new")])];
    for (format, code) in [("human", 0), ("json", 0)] {
        let ran = why(&Program::new(), &format!("{}{}", moved(), records.concat()), &["-o", format]);
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{}", ran.stdout);
    }
}

#[test]
fn an_owner_that_nobody_here_can_ask_is_not_taken_for_one_that_is_as_wanted() {
    let pool = |replicas: u64| {
        let spec = json!({"clusterName": "edge-2", "replicas": replicas, "template": {}});
        let pool = object("cluster.x-k8s.io/v1beta1", "MachinePool", Some("edge-2"), "pool", spec);
        why(&Program::new(), &format!("{}\n---\n{pool}", live("kcp-vip-moved")), &["edge-2"])
    };
    let ran = pool(2);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(
        flat(&ran.stdout).contains("not known: which Machines of MachinePool edge-2/pool are out of date"),
        "{}",
        ran.stdout
    );
    assert_eq!(pool(0).code, Some(0));
}

#[test]
fn a_record_that_flux_keeps_in_a_namespace_of_its_own_is_found() {
    let cluster = || {
        let mut cluster = recorded("secrets", "Upgrade complete");
        let old = "/api/v1/namespaces/telco/secrets";
        let moved: Vec<(String, Value)> = cluster
            .0
            .iter()
            .filter(|(path, _)| path.starts_with(old))
            .map(|(path, value)| (path.replace("/telco/", "/flux-system/"), value.clone()))
            .collect();
        cluster.0.retain(|path, _| !path.starts_with(old));
        cluster.0.extend(moved);
        cluster.list(old, "PartialObjectMetadata", &[]);
        cluster.list("/api/v1/namespaces/flux-system/configmaps", "PartialObjectMetadata", &[]);
        cluster
    };
    // Nothing says where: that is said.
    let ran = cluster().run(&Program::new(), &["why", "md", "--policy", "none"], "");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(
        flat(&ran.stdout).contains("there is no record of it in telco; pass --storage-namespace"),
        "{}",
        ran.stdout
    );
    let told =
        cluster().run(&Program::new(), &["why", "md", "--policy", "none", "--storage-namespace", "flux-system"], "");
    assert!(flat(&told.stdout).contains("(release demo, revision 3)"), "{}{}", told.stdout, told.stderr);
    // The label of Flux says it.
    let mut labelled = cluster();
    for path in [
        "/apis/cluster.x-k8s.io/v1/namespaces/telco/machinedeployments",
        "/apis/cluster.x-k8s.io/v1/machinedeployments",
    ] {
        let list = labelled.0.get_mut(path).expect("a list");
        list["items"][0]["metadata"]["labels"] =
            json!({"helm.toolkit.fluxcd.io/name": "demo", "helm.toolkit.fluxcd.io/namespace": "flux-system"});
    }
    let ran = labelled.run(&Program::new(), &["why", "md", "--policy", "none"], "");
    let said = flat(&ran.stdout);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("(release demo, revision 3)"), "{}", ran.stdout);
    assert!(said.contains("of the HelmRelease of Flux flux-system/demo"), "{}", ran.stdout);
}

#[test]
fn where_a_reference_moved_what_differs_between_the_templates_is_told() {
    let program = Program::new();
    let text = live("old-template-removed-after-the-rollout");
    let template = |name: &str, flavor: &str| {
        object(
            "infrastructure.cluster.x-k8s.io/v1beta1",
            "DevMachineTemplate",
            Some("fleet"),
            name,
            json!({"template": {"spec": {"flavor": flavor}}}),
        )
        .to_string()
    };
    // The old template as a revision of the release wrote it, and the new one.
    let md = |name: &str| {
        let reference = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevMachineTemplate", "name": name});
        let spec = json!({"clusterName": "demo", "replicas": 2, "template": {"spec": {"clusterName": "demo", "infrastructureRef": reference}}});
        object("cluster.x-k8s.io/v1beta1", "MachineDeployment", Some("fleet"), "demo-md", spec)
    };
    let parsed = |text: String| serde_json::from_str::<Value>(&text).expect("JSON");
    let records = [
        dumped(1, &[md("demo-md-a"), parsed(template("demo-md-a", "m1.large"))]),
        dumped(2, &[md("demo-md-b"), parsed(template("demo-md-b", "m1.xlarge"))]),
    ];
    let ran = why(&program, &format!("{text}{}", records.concat()), &["demo-md"]);
    let said = flat(&ran.stdout);
    for words in [
        "spec.template.spec.infrastructureRef.name demo-md-a -> demo-md-b",
        "revision 2 of demo, 2026-11-02 02:14 UTC",
        "DevMachineTemplate demo-md-a -> demo-md-b: spec.template.spec.flavor m1.large -> m1.xlarge",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{}", ran.stdout);
    }
}

#[test]
fn an_owner_without_machines_is_no_doubt_where_all_machines_were_read() {
    let mut cluster = Cluster::with(&[], false);
    let why = |cluster: &Cluster| cluster.run(&Program::new(), &["why", "-n", "telco", "--policy", "none"], "");
    let ran = why(&cluster);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(flat(&ran.stdout).contains("MachineDeployment telco/md has no Machines (2 wanted)"), "{}", ran.stdout);
    // Of providers that have nothing there the version does not matter.
    assert!(!ran.stdout.contains("no version of ck8s") && !ran.stdout.contains("talos"), "{}", ran.stdout);
    for path in ["/apis/cluster.x-k8s.io/v1/namespaces/telco/machines", "/apis/cluster.x-k8s.io/v1/machines"] {
        cluster.0.insert(path.to_owned(), Value::Null);
    }
    let ran = why(&cluster);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(flat(&ran.stdout).contains("the Machines of MachineDeployment telco/md: none was read"), "{}", ran.stdout);
}
