//! What is read beside the stream: versions from more than one record, data that others name, namespaces.

use serde_json::{Value, json};

use super::emptied::{Cluster, args, capi, live, object};
use super::{Program, Ran};

fn text(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("---\n{object}\n")).collect()
}

fn plan(cluster: &Cluster, stream: &[Value]) -> (Ran, Value) {
    let program = Program::new();
    let ran = cluster.run(&program, &args(&["plan", "-"], &["--host", "helm3", "-o", "json"]), &text(stream));
    let report = serde_json::from_str(&ran.stdout).unwrap_or_default();
    (ran, report)
}

/// A cluster whose inventory knows the core alone, and beside it the controller of a provider of the stream.
fn with_versions(stream: &[Value]) -> Cluster {
    let mut cluster = Cluster::with(stream, false);
    let control_plane = "controlplane.cluster.x-k8s.io";
    cluster.0.insert(
        "/apis".to_owned(),
        super::server::groups(&["cluster.x-k8s.io", "apps", control_plane, "clusterctl.cluster.x-k8s.io"]),
    );
    cluster.kinds(control_plane, &[("RKE2ControlPlane", "rke2controlplanes")]);
    let planes: Vec<Value> = stream.iter().filter(|one| one["kind"] == "RKE2ControlPlane").cloned().map(live).collect();
    cluster.list(&format!("/apis/{control_plane}/v1/namespaces/telco/rke2controlplanes"), "RKE2ControlPlane", &planes);
    cluster.kinds("clusterctl.cluster.x-k8s.io", &[("Provider", "providers")]);
    let core = json!({"apiVersion": "clusterctl.cluster.x-k8s.io/v1", "kind": "Provider", "metadata": {"name": "cluster-api", "namespace": "capi"},
        "providerName": "cluster-api", "type": "CoreProvider", "version": "v1.9.6"});
    cluster.list("/apis/clusterctl.cluster.x-k8s.io/v1/providers", "Provider", &[core]);
    let image = |image: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m", "namespace": "rke2",
        "labels": {"cluster.x-k8s.io/provider": "control-plane-rke2"}}, "spec": {"template": {"spec": {"containers": [{"image": image}]}}}})
    };
    cluster.list("/apis/apps/v1/deployments", "Deployment", &[image("x/rke2:v0.21.0")]);
    cluster
}

#[test]
fn a_provider_that_the_first_record_lacks_is_looked_for_in_the_next() {
    let plane =
        object("controlplane.cluster.x-k8s.io/v1", "RKE2ControlPlane", Some("telco"), "cp", json!({"replicas": 1}));
    let stream = [plane];
    let cluster = with_versions(&stream);
    let (ran, report) = plan(&cluster, &stream);
    assert_eq!(
        report["providers"],
        json!({"cluster-api": "v1.9.6", "rke2": "v0.21.0"}),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    // Where nobody says it, that is named.
    let mut blind = cluster;
    blind.0.insert("/apis/apps/v1/deployments".to_owned(), Value::Null);
    let (ran, report) = plan(&blind, &stream);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("no version of rke2 was found"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn runtime_extensions_are_read_where_a_gate_lets_them_update_in_place() {
    let [_, old] = capi();
    let mut new = old.clone();
    new["spec"]["template"]["spec"]["version"] = json!("v1.34.1");
    let told = |gate: bool, may_read: bool| {
        let mut cluster = Cluster::with(std::slice::from_ref(&old), false);
        let (runtime, infra) = ("runtime.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io");
        cluster.0.insert("/apis".to_owned(), super::server::groups(&["cluster.x-k8s.io", "apps", runtime, infra]));
        cluster.kinds(infra, &[("XTemplate", "xtemplates")]);
        let template = object(&format!("{infra}/v1"), "XTemplate", Some("telco"), "t", json!({}));
        cluster.0.insert(format!("/apis/{infra}/v1/namespaces/telco/xtemplates/t"), template);
        let controller = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m", "namespace": "capi",
            "labels": {"cluster.x-k8s.io/provider": "cluster-api"}}, "spec": {"template": {"spec": {"containers": [
                {"image": "x/core:v1.14.2", "args": [format!("--feature-gates=RuntimeSDK=true,InPlaceUpdates={gate}")]}]}}}});
        cluster.list("/apis/apps/v1/deployments", "Deployment", &[controller]);
        cluster.kinds(runtime, &[("ExtensionConfig", "extensionconfigs")]);
        let extension = json!({"apiVersion": "runtime.cluster.x-k8s.io/v1", "kind": "ExtensionConfig", "metadata": {"name": "firmware"},
            "status": {"handlers": [{"name": "a", "requestHook": {"apiVersion": "v1", "hook": "CanUpdateMachineSet"}}]}});
        let path = "/apis/runtime.cluster.x-k8s.io/v1/extensionconfigs";
        match may_read {
            true => cluster.list(path, "ExtensionConfig", &[extension]),
            false => drop(cluster.0.insert(path.to_owned(), Value::Null)),
        }
        plan(&cluster, std::slice::from_ref(&new))
    };
    let named = |ran: &Ran| ran.stdout.contains("runtime extension firmware");
    let (ran, report) = told(true, true);
    assert!(ran.code == Some(3) && named(&ran), "{report:#} {}", ran.stderr);
    // Without the gate nobody asks an extension, and none is read.
    let (ran, report) = told(false, true);
    assert!(ran.code == Some(3) && !named(&ran), "{report:#} {}", ran.stderr);
    // Whether there is one takes nothing out of the verdict.
    let (ran, report) = told(true, false);
    let warnings = report["warnings"].to_string();
    assert!(
        ran.code == Some(3) && warnings.contains("whether a runtime extension updates"),
        "{report:#} {}",
        ran.stderr
    );
}

/// A Secret.
fn secret(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "telco"}, "data": {"a": value}})
}

/// Gives the Cluster a control plane of another release, which has the Secret x written onto its nodes.
fn with_control_plane(cluster: &mut Cluster) {
    let group = "controlplane.cluster.x-k8s.io";
    cluster.0.insert("/apis".to_owned(), super::server::groups(&["cluster.x-k8s.io", "apps", group]));
    cluster.kinds(group, &[("KubeadmControlPlane", "kubeadmcontrolplanes")]);
    let mut of_plane = live(capi()[0].clone());
    of_plane["spec"] = json!({"controlPlaneRef": {"apiVersion": format!("{group}/v1"), "kind": "KubeadmControlPlane", "name": "cp", "namespace": "telco"}});
    for path in ["/apis/cluster.x-k8s.io/v1/namespaces/telco/clusters", "/apis/cluster.x-k8s.io/v1/clusters"] {
        cluster.list(path, "Cluster", std::slice::from_ref(&of_plane));
    }
    let file = json!({"path": "/etc/x", "contentFrom": {"secret": {"name": "x", "key": "a"}}});
    let spec = json!({"replicas": 1, "version": "v1.33.1", "kubeadmConfigSpec": {"files": [file]}});
    let plane = live(object(&format!("{group}/v1"), "KubeadmControlPlane", Some("telco"), "cp", spec));
    cluster.0.insert(format!("/apis/{group}/v1/namespaces/telco/kubeadmcontrolplanes/cp"), plane);
}

#[test]
fn secrets_of_a_cluster_are_compared_in_a_release_of_their_own() {
    let core = |cluster: &mut Cluster| {
        let resource = |name: &str, kind: &str, inside: bool| json!({"name": name, "singularName": "", "namespaced": inside, "kind": kind, "verbs": ["get", "list"]});
        let all = [
            resource("secrets", "Secret", true),
            resource("configmaps", "ConfigMap", true),
            resource("namespaces", "Namespace", false),
        ];
        cluster
            .0
            .insert("/api/v1".to_owned(), json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": all}));
    };
    for (name, code) in [("c-ca", 3), ("x", 0), ("other", 0), ("d-ca", 0)] {
        let mut cluster = Cluster::with(&[secret(name, "b2xk")], false);
        core(&mut cluster);
        with_control_plane(&mut cluster);
        cluster.0.insert(format!("/api/v1/namespaces/telco/secrets/{name}"), secret(name, "b2xk"));
        let (ran, report) = plan(&cluster, &[secret(name, "bmV3")]);
        assert_eq!(ran.code, Some(code), "{name}: {report} {}", ran.stderr);
        let compared = report["objects"].as_array().map_or(0, Vec::len);
        assert_eq!(compared, usize::from(["c-ca", "x"].contains(&name)), "{name}: {report} {}", ran.stderr);
        let (ran, _) = plan(&cluster, &[secret(name, "b2xk")]);
        assert_eq!(ran.code, Some(0), "{name}: {}{}", ran.stdout, ran.stderr);
    }
    // What cannot be read is doubt, and where there is no Cluster nothing more is asked.
    let mut blind = Cluster::with(&[secret("c-ca", "b2xk")], false);
    core(&mut blind);
    blind.0.insert("/apis/cluster.x-k8s.io/v1/namespaces/telco/clusters".to_owned(), Value::Null);
    blind.0.insert("/apis/cluster.x-k8s.io/v1/clusters".to_owned(), Value::Null);
    assert_eq!(plan(&blind, &[secret("c-ca", "bmV3")]).0.code, Some(4));
    let mut empty = Cluster::with(&[secret("c-ca", "b2xk")], false);
    core(&mut empty);
    empty.list("/apis/cluster.x-k8s.io/v1/namespaces/telco/clusters", "Cluster", &[]);
    empty.0.insert("/apis/cluster.x-k8s.io/v1/namespaces/telco/machinedeployments".to_owned(), Value::Null);
    assert_eq!(plan(&empty, &[secret("c-ca", "bmV3")]).0.code, Some(0));
}

#[test]
fn every_namespace_of_the_stream_is_asked_for() {
    let map = |namespace: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": namespace}});
    let names: Vec<String> = (0..12).map(|place| format!("n{place:02}")).collect();
    let stream: Vec<Value> = names.iter().map(|name| map(name)).chain(capi()).collect();
    let cluster = |there: &[String], may_list: bool| {
        let mut cluster = Cluster::with(&capi(), false);
        let namespace = |name: &String| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        for name in there {
            cluster.0.insert(format!("/api/v1/namespaces/{name}"), namespace(name));
        }
        match may_list {
            true => cluster.list("/api/v1/namespaces", "Namespace", &there.iter().map(namespace).collect::<Vec<_>>()),
            false => drop(cluster.0.insert("/api/v1/namespaces".to_owned(), Value::Null)),
        }
        cluster
    };
    for may_list in [true, false] {
        assert_eq!(plan(&cluster(&names, may_list), &stream).0.code, Some(0), "{may_list}");
        assert_eq!(plan(&cluster(&names[..11], may_list), &stream).0.code, Some(3), "{may_list}");
    }
    // What may not be asked for is doubt.
    let mut closed = cluster(&names, false);
    closed.0.insert("/api/v1/namespaces/n11".to_owned(), Value::Null);
    assert_eq!(plan(&closed, &stream).0.code, Some(4));
}

/// A stream that brings a ConfigMap which the last release had not, and what becomes of it.
fn with_new_data(cluster: &Cluster, policy: &str) -> (Option<i32>, String) {
    let program = Program::new();
    let policy = program.file("rollgate.yaml", &format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{policy}"));
    let mut stream = capi().to_vec();
    stream.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more", "namespace": "telco"}, "data": {"a": "b"}}));
    let told = ["plan", "-", "--release", "demo", "--namespace", "telco", "--host", "helm3", "--policy"];
    let told = [&told[..], &[policy.to_str().expect("a path")]].concat();
    let ran = cluster.run(&program, &told, &text(&stream));
    (ran.code, format!("{}{}", ran.stdout, ran.stderr).split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn whose_a_new_object_is_that_is_there_is_asked_and_what_may_not_be_asked_is_doubt() {
    let path = "/api/v1/namespaces/telco/configmaps/more";
    let mut cluster = Cluster::with(&capi(), false);
    assert_eq!(with_new_data(&cluster, "").0, Some(0));
    cluster.0.insert(path.to_owned(), Value::Null);
    let (code, said) = with_new_data(&cluster, "");
    assert!(code == Some(4) && said.contains("resources: [\"configmaps\"], verbs: [\"get\"]"), "{said}");
    let (code, said) = with_new_data(&cluster, "unseen: {ownership: warn}\n");
    assert!(code == Some(0) && said.contains("whether ConfigMap telco/more is there already"), "{said}");
    assert_eq!(with_new_data(&cluster, "unseen: {ownership: allow}\n").0, Some(0));
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more", "namespace": "telco"}, "data": {"a": "s3cr3t"}});
    cluster.0.insert(path.to_owned(), theirs.clone());
    let (code, said) = with_new_data(&cluster, "unseen: {ownership: allow}\n");
    assert!(code == Some(3) && said.contains("belongs to no Helm release") && !said.contains("s3cr3t"), "{said}");
    cluster.0.insert(path.to_owned(), live(theirs));
    assert_eq!(with_new_data(&cluster, "").0, Some(0));
}

#[test]
fn a_namespace_that_goes_is_asked_for_and_what_is_in_it_shows_that_it_stays() {
    let mut cluster = Cluster::with(&capi(), false);
    let path = "/api/v1/namespaces/telco".to_owned();
    let namespace = |phase: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "telco"}, "status": {"phase": phase}});
    cluster.0.insert(path.clone(), namespace("Active"));
    assert_eq!(plan(&cluster, &capi()).0.code, Some(0));
    cluster.0.insert(path.clone(), namespace("Terminating"));
    let (ran, report) = plan(&cluster, &capi());
    assert_eq!((ran.code, &report["effect"]), (Some(3), &json!("rejected")), "{report:#}");
    // All that is in a namespace that goes is being deleted, so what is not shows that it stays.
    cluster.0.insert(path, Value::Null);
    assert_eq!(plan(&cluster, &capi()).0.code, Some(0));
    for path in ["/apis/cluster.x-k8s.io/v1/namespaces/telco", "/apis/cluster.x-k8s.io/v1"] {
        for (kind, plural) in [("Cluster", "clusters"), ("MachineDeployment", "machinedeployments")] {
            let mut of: Vec<Value> = capi().into_iter().filter(|object| object["kind"] == kind).map(live).collect();
            of.iter_mut().for_each(|object| object["metadata"]["deletionTimestamp"] = json!("2026-11-21T12:00:00Z"));
            cluster.list(&format!("{path}/{plural}"), kind, &of);
        }
    }
    let (ran, _) = plan(&cluster, &capi());
    assert!(
        ran.code != Some(0) && ran.stdout.contains("whether the namespace telco is being deleted"),
        "{}",
        ran.stdout
    );
}
