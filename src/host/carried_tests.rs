use super::super::tests::{helm3, old_render, predicted};
use super::*;
use crate::host::Prediction;
use crate::tree::json;
use crate::world::remote::{By, Remote, RemoteReading};

fn release(version: &str) -> Value {
    json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "r", "namespace": "n"},
        "spec": {"interval": "1m", "valuesFrom": [{"kind": "ConfigMap", "name": "v"}], "values": {"version": version}}})
}

fn named(prediction: &Prediction) -> Vec<String> {
    prediction.carried.iter().map(|unread| unread.keys[0].to_string()).collect()
}

#[test]
fn a_changed_release_is_named_and_an_unchanged_one_is_not() {
    let old = [release("v1.30.0")];
    for world in [old_render(&old), helm3(&[], &old), helm3(&old, &old)] {
        assert_eq!(named(&predicted(&[release("v1.31.0")], &world)), ["HelmRelease n/r"]);
        assert_eq!(named(&predicted(&old, &world)), [""; 0]);
        let mut later = release("v1.30.0");
        later["spec"]["interval"] = json!("5m");
        assert_eq!(named(&predicted(&[later], &world)), [""; 0]);
    }
    // What rested is let go by a write that changes nothing else.
    let mut resting = release("v1.30.0");
    resting["spec"]["suspend"] = json!(true);
    let mut forced = release("v1.30.0");
    forced["metadata"]["annotations"] = json!({"reconcile.fluxcd.io/forceAt": "2026-11-01T00:00:00Z"});
    for (before, after, names) in [
        (resting.clone(), release("v1.30.0"), vec!["HelmRelease n/r"]),
        (release("v1.30.0"), resting, vec![]),
        (release("v1.30.0"), forced.clone(), vec!["HelmRelease n/r"]),
        (forced, release("v1.30.0"), vec![]),
    ] {
        assert_eq!(named(&predicted(&[after], &old_render(&[before]))), names);
    }
    let gone = predicted(&[], &old_render(&old));
    assert_eq!(named(&gone), ["HelmRelease n/r"]);
    // One that is new is said.
    let new = predicted(&old, &helm3(&[], &[]));
    assert!(new.carried.is_empty() && new.warnings.iter().any(|warning| warning.contains("HelmRelease n/r")));
}

#[test]
fn what_is_written_into_other_clusters_is_a_note() {
    let remote = |version: &str| {
        let mut release = release(version);
        release["spec"]["kubeConfig"] = json!({"secretRef": {"name": "demo-kubeconfig"}});
        release["spec"]["chart"] =
            json!({"spec": {"chart": "cni", "sourceRef": {"kind": "HelmRepository", "name": "cni"}}});
        release
    };
    let source = |url: &str| {
        json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository", "metadata": {"name": "cni", "namespace": "n"},
            "spec": {"url": url}})
    };
    let values = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v", "namespace": "n"}, "data": {"a": text}});
    let (old, new) = ([remote("v1"), source("a"), values("a")], [remote("v2"), source("b"), values("b")]);
    let found = predicted(&new, &old_render(&old));
    assert_eq!(named(&found), [""; 0]);
    assert!(found.warnings.iter().any(|warning| warning.contains("other clusters")), "{:?}", found.warnings);
    assert_eq!(named(&predicted(&[], &old_render(&old))), [""; 0]);
    // A kubeconfig that goes brings the release into this cluster, and one release that stays here makes the source count.
    let mut here = release("v2");
    here["spec"]["chart"] = new[0]["spec"]["chart"].clone();
    assert_eq!(named(&predicted(&[here.clone(), source("a")], &old_render(&old[..2]))), ["HelmRelease n/r"]);
    here["metadata"]["name"] = json!("here");
    let both = [remote("v1"), here.clone(), source("b")];
    assert_eq!(
        named(&predicted(&both, &old_render(&[remote("v1"), here.clone(), source("a")]))),
        ["HelmRepository n/cni"]
    );
    // A source that nothing here names may be that of somebody else.
    assert_eq!(named(&predicted(&[source("b")], &old_render(&[source("a")]))), ["HelmRepository n/cni"]);
    // One that goes takes nothing away that was rendered from it.
    assert_eq!(named(&predicted(&[here.clone()], &old_render(&[here.clone(), source("a")]))), [""; 0]);
    let application = |server: &str, revision: &str| {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a", "namespace": "n"},
            "spec": {"destination": {"server": server}, "source": {"targetRevision": revision}}})
    };
    for (server, leads, count) in [
        ("https://10.0.0.1:6443", Some(Leads::Elsewhere), 0),
        ("https://10.0.0.1:6443", Some(Leads::Here), 1),
        ("https://10.0.0.1:6443", None, 1),
        ("https://kubernetes.default.svc", None, 1),
    ] {
        let mut world = old_render(&[application(server, "a")]);
        let by = By::Server(server.to_owned());
        world
            .remotes
            .extend(leads.map(|leads| RemoteReading { remote: Remote { namespace: Some("n".into()), by }, leads }));
        let found = predicted(&[application(server, "b")], &world);
        assert_eq!(named(&found).len(), count, "{server}");
    }
}

#[test]
fn a_kubeconfig_counts_only_where_it_was_read_and_leads_elsewhere() {
    let remote = |version: &str, secret: &str| {
        let mut release = release(version);
        release["spec"]["kubeConfig"] = json!({"secretRef": {"name": secret}});
        release
    };
    let old = [remote("v1", "demo-kubeconfig")];
    let reading = |name: &str, leads: Leads| {
        let by = By::Secret { name: name.to_owned(), key: None };
        RemoteReading { remote: Remote { namespace: Some("n".to_owned()), by }, leads }
    };
    for (leads, count) in [(Leads::Elsewhere, 0), (Leads::Here, 1), (Leads::Unknown("why".to_owned()), 1)] {
        let mut world = helm3(&[], &old);
        world.remotes.push(reading("demo-kubeconfig", leads));
        let found = predicted(&[remote("v2", "demo-kubeconfig")], &world);
        assert_eq!(named(&found).len(), count, "{:?}", found.carried);
        // One that stays as it is matters to nobody.
        assert_eq!(named(&predicted(&old, &world)), [""; 0]);
        // A change from one cluster to another takes what is there away from the first.
        world.remotes.push(reading("other-kubeconfig", Leads::Elsewhere));
        assert_eq!(named(&predicted(&[remote("v1", "other-kubeconfig")], &world)).len(), count);
    }
    // Where nobody looked, and in two renders whose names tell nothing.
    assert_eq!(named(&predicted(&[remote("v2", "demo-kubeconfig")], &helm3(&[], &old))), ["HelmRelease n/r"]);
    let here = predicted(&[remote("v2", "this")], &old_render(&[remote("v1", "this")]));
    assert_eq!(named(&here), ["HelmRelease n/r"]);
}

#[test]
fn a_new_release_beside_clusters_may_take_them_over() {
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c", "namespace": "n"}, "spec": {}});
    let world = helm3(std::slice::from_ref(&cluster), std::slice::from_ref(&cluster));
    assert_eq!(named(&predicted(&[cluster, release("v1")], &world)), ["HelmRelease n/r"]);
}

#[test]
fn a_carrier_is_known_by_its_kind_or_by_what_it_holds() {
    let object = |api_version: &str, kind: &str, spec: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "n"}, "spec": spec});
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"}});
    let reference = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "name": "md"});
    for (api_version, kind, spec, found) in [
        ("provisioning.cattle.io/v1", "Cluster", json!({"rkeConfig": {}}), true),
        ("k0rdent.mirantis.com/v1beta1", "ClusterDeployment", json!({}), true),
        ("kro.run/v1alpha1", "ResourceGraphDefinition", json!({}), true),
        ("hypershift.openshift.io/v1beta1", "NodePool", json!({}), true),
        ("example.com/v1", "Bundle", json!({"resources": [cluster]}), true),
        ("example.com/v1", "Bundle", json!({"text": format!("---\n{cluster}\n")}), true),
        ("example.com/v1", "Release", json!({"valuesFrom": [{"kind": "ConfigMap", "name": "v"}]}), true),
        ("example.com/v1", "Release", json!({"template": "aws-1-0", "config": {"workers": 3}}), true),
        ("keda.sh/v1alpha1", "ScaledObject", json!({"scaleTargetRef": reference}), false),
        ("monitoring.coreos.com/v1", "PodMonitor", json!({"selector": {}}), false),
        ("apps/v1", "Deployment", json!({"template": {}}), false),
    ] {
        let mut after = spec.clone();
        after["more"] = json!("b");
        let (old, new) = (object(api_version, kind, spec), object(api_version, kind, after));
        assert_eq!(named(&predicted(&[new], &old_render(&[old]))).len(), usize::from(found), "{kind} {api_version}");
    }
}

#[test]
fn applications_and_payloads_are_named() {
    let application = |revision: &str| {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "a", "namespace": "n"},
            "spec": {"template": {"spec": {"source": {"targetRevision": revision}}}}})
    };
    assert_eq!(named(&predicted(&[application("b")], &old_render(&[application("a")]))), ["ApplicationSet n/a"]);
    let map = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}, "data": {"a.yaml": text}});
    let cluster = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerCluster\n";
    let json = r#"{"kind":"Cluster","apiVersion":"cluster.x-k8s.io/v1beta1"}"#;
    for (text, found) in
        [(cluster, true), (json, true), ("apiVersion: apps/v1\n", false), ("cluster.x-k8s.io/v1", false)]
    {
        let prediction = predicted(&[map(text)], &old_render(&[map("old")]));
        assert_eq!(named(&prediction).len(), usize::from(found), "{text}");
    }
    let secret = |text: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"},
            "type": "addons.cluster.x-k8s.io/resource-set", "data": {"a": BASE64_STANDARD.encode(text)}})
    };
    assert_eq!(named(&predicted(&[secret(cluster)], &old_render(&[secret("")]))), ["Secret n/s"]);
    // Values that a release takes are part of it.
    let values = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v", "namespace": "n"}, "data": {"a": "b"}});
    let old = [
        release("v1"),
        map("x"),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v", "namespace": "n"}}),
    ];
    assert_eq!(named(&predicted(&[release("v1"), values], &old_render(&old))), ["ConfigMap n/v"]);
}
