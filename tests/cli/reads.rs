//! What is read from a cluster for what stands in a stream, and where a right that is missing is doubt.

use serde_json::{Value, json};

use super::emptied::{Cluster, capi, live, object};
use super::server::groups;
use super::{Program, Ran};

const CORE: &str = "/apis/cluster.x-k8s.io/v1";
const INFRA: &str = "infrastructure.cluster.x-k8s.io";

fn text(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("---\n{object}\n")).collect()
}

/// Plans a stream of Helm's beside a cluster.
fn plan(cluster: &Cluster, stream: &[Value], more: &[&str]) -> Ran {
    let told = ["plan", "-", "--policy", "none", "--release", "demo", "--namespace", "telco", "--host", "helm3"];
    cluster.run(&Program::new(), &[&told[..], more].concat(), &text(stream))
}

/// The lines about lists of a kind.
fn lists(cluster: &Cluster, stream: &[Value], kind: &str) -> Vec<String> {
    let ran = plan(cluster, stream, &["--explain-reads"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    said.lines().filter(|line| line.contains(&format!("list {kind}."))).map(str::to_owned).collect()
}

/// Puts a list of a kind of the core into the cluster, for the namespace and for all.
fn put(cluster: &mut Cluster, kind: &str, plural: &str, items: &[Value]) {
    for path in [format!("{CORE}/namespaces/telco/{plural}"), format!("{CORE}/{plural}")] {
        cluster.list(&path, kind, items);
    }
}

#[test]
fn pools_are_read_and_a_missing_right_is_doubt_only_where_there_may_be_some() {
    let [cluster, workers] = capi();
    let told = |spec: Value, may_list: bool| {
        let mut with = cluster.clone();
        with["spec"] = spec;
        let mut there = Cluster::with(&[with.clone(), workers.clone()], false);
        put(&mut there, "Cluster", "clusters", &[live(with.clone())]);
        if !may_list {
            there.0.insert(format!("{CORE}/namespaces/telco/machinepools"), Value::Null);
        }
        let stream = [with, workers.clone()];
        assert_eq!(lists(&there, &stream, "MachinePool").len(), 1);
        plan(&there, &stream, &[])
    };
    assert_eq!(told(json!({}), true).code, Some(0));
    assert_eq!(told(json!({}), false).code, Some(0));
    let topology =
        |pools: Value| json!({"topology": {"class": "x", "version": "v1.33.1", "workers": {"machinePools": pools}}});
    let pool = json!([{"class": "p", "name": "p"}]);
    for (spec, may_list, code) in [
        (topology(json!([])), false, Some(0)),
        (topology(pool.clone()), true, Some(0)),
        (topology(pool), false, Some(4)),
        (json!({"paused": true}), false, Some(4)),
    ] {
        let ran = told(spec.clone(), may_list);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, code, "{spec} {may_list} {said}");
        assert_eq!(said.contains("machinepools"), code == Some(4), "{said}");
    }
}

#[test]
fn clusters_of_a_class_that_names_a_template_are_looked_for_everywhere() {
    let group = "bootstrap.cluster.x-k8s.io";
    let template = |command: &str| {
        let spec = json!({"template": {"spec": {"preKubeadmCommands": [command]}}});
        object(&format!("{group}/v1"), "KubeadmConfigTemplate", Some("telco"), "t", spec)
    };
    let there = |named: &str| {
        let mut there = Cluster::with(&[template("a")], false);
        there.0.insert("/apis".to_owned(), groups(&["cluster.x-k8s.io", "apps", group]));
        there.kinds(group, &[("KubeadmConfigTemplate", "kubeadmconfigtemplates")]);
        for place in ["/namespaces/telco", ""] {
            let path = format!("/apis/{group}/v1{place}/kubeadmconfigtemplates");
            there.list(&path, "KubeadmConfigTemplate", &[live(template("a"))]);
        }
        let named = json!({"apiVersion": format!("{group}/v1"), "kind": "KubeadmConfigTemplate", "name": named});
        let workers = json!({"machineDeployments": [{"class": "w", "template": {"bootstrap": {"ref": named}}}]});
        let class = object("cluster.x-k8s.io/v1", "ClusterClass", Some("telco"), "c", json!({"workers": workers}));
        put(&mut there, "ClusterClass", "clusterclasses", &[class]);
        there
    };
    let stream = [template("b")];
    let far = |named: &str| lists(&there(named), &stream, "Cluster").concat().contains("in all namespaces");
    assert!(far("t") && !far("other"));
    // Where nobody may look everywhere, that is doubt, and a template of no class needs no such right.
    for (named, code) in [("t", Some(4)), ("other", Some(0))] {
        let mut closed = there(named);
        for plural in ["clusters", "machinedeployments", "machinesets", "machines", "machinepools"] {
            closed.0.insert(format!("{CORE}/{plural}"), Value::Null);
        }
        let ran = plan(&closed, &stream, &[]);
        assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    }
}

/// A cluster with workers on bare metal, whose template the stream lacks.
fn on_metal(hosts: &[Value]) -> (Cluster, [Value; 2]) {
    let [cluster, mut workers] = capi();
    let template = json!({"apiVersion": format!("{INFRA}/v1"), "kind": "Metal3MachineTemplate", "name": "t"});
    workers["spec"]["template"]["spec"]["infrastructureRef"] = template;
    let mut there = Cluster::with(&[cluster.clone(), workers.clone()], false);
    there.0.insert("/apis".to_owned(), groups(&["cluster.x-k8s.io", "apps", INFRA, "metal3.io"]));
    there.kinds(INFRA, &[("Metal3MachineTemplate", "metal3machinetemplates")]);
    there.kinds("metal3.io", &[("BareMetalHost", "baremetalhosts")]);
    put(&mut there, "MachineDeployment", "machinedeployments", &[live(workers.clone())]);
    let spec = json!({"template": {"spec": {"image": {"url": "http://a", "checksum": "b"}}}});
    let template = object(&format!("{INFRA}/v1"), "Metal3MachineTemplate", Some("telco"), "t", spec);
    there.0.insert(format!("/apis/{INFRA}/v1/namespaces/telco/metal3machinetemplates/t"), live(template));
    there.list("/apis/metal3.io/v1/namespaces/telco/baremetalhosts", "BareMetalHost", hosts);
    workers["spec"]["replicas"] = json!(3);
    (there, [cluster, workers])
}

#[test]
fn hosts_are_read_where_only_live_owners_name_their_template() {
    let mut host = object("metal3.io/v1", "BareMetalHost", Some("telco"), "h", json!({"online": true}));
    host["status"] = json!({"provisioning": {"state": "available"}});
    let (there, stream) = on_metal(&[host]);
    let ran = plan(&there, &stream, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let (none, _) = on_metal(&[]);
    let ran = plan(&none, &stream, &[]);
    assert!(ran.code == Some(3) && ran.stdout.contains("0 hosts are free"), "{}{}", ran.stdout, ran.stderr);
    let mut closed = none;
    closed.0.insert("/apis/metal3.io/v1/namespaces/telco/baremetalhosts".to_owned(), Value::Null);
    let ran = plan(&closed, &stream, &[]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.code == Some(4) && said.contains("baremetalhosts") && !said.contains("0 hosts"), "{said}");
    // A write that makes no Machine needs none.
    let [cluster, mut workers] = stream;
    workers["spec"]["replicas"] = json!(2);
    assert_eq!(plan(&closed, &[cluster, workers], &[]).code, Some(0));
}

#[test]
fn what_kubectl_may_prune_is_read_and_that_kubectl_applied_it_is_seen() {
    let [cluster, workers] = capi();
    let program = Program::new();
    let base = program.file("base.yaml", &text(std::slice::from_ref(&cluster)));
    let told =
        ["plan", "-", "--policy", "none", "--namespace", "telco", "--host", "kubectl", "--method", "last-applied"];
    let base = ["--base", base.to_str().expect("a path")];
    let applied = |is_applied: bool| {
        let mut there = Cluster::with(&[], false);
        let mut workers = live(workers.clone());
        if is_applied {
            workers["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!("{}");
        }
        put(&mut there, "MachineDeployment", "machinedeployments", &[workers]);
        there
    };
    for (is_applied, prunes, code) in [(true, true, 4), (false, true, 0), (true, false, 0)] {
        let prune: &[&str] = if prunes { &["--prune"] } else { &[] };
        let args = [&told[..], &base, prune].concat();
        let ran = applied(is_applied).run(&program, &args, &text(std::slice::from_ref(&cluster)));
        assert_eq!(ran.code, Some(code), "{is_applied} {prunes} {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn nothing_new_is_made_of_a_kind_whose_definition_goes() {
    let [cluster, workers] = capi();
    let with = |verbs: &[&str]| {
        let mut there = Cluster::with(&[cluster.clone(), workers.clone()], false);
        let resources = there.0.get_mut(CORE).expect("the kinds")["resources"].as_array_mut().expect("a list");
        let one = resources.iter_mut().find(|one| one["kind"] == "MachineDeployment").expect("the kind");
        one["verbs"] = json!(verbs);
        there
    };
    let going = with(&["delete", "deletecollection", "get", "list", "watch"]);
    let usual = with(&["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]);
    let mut more = workers.clone();
    more["metadata"]["name"] = json!("more");
    let stream = [cluster.clone(), workers.clone(), more];
    let ran = plan(&going, &stream, &[]);
    assert!(ran.code == Some(3) && ran.stdout.contains("is being deleted"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(plan(&usual, &stream, &[]).code, Some(0));
    // What is there may still be changed.
    let mut changed = workers;
    changed["spec"]["replicas"] = json!(3);
    assert_eq!(plan(&going, &[cluster, changed], &[]).code, Some(0));
}

#[test]
fn who_waits_for_a_secret_is_asked_where_a_file_says_what_was_written() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x", "namespace": "telco"},
        "data": {"a": "YQ=="}});
    let program = Program::new();
    let mut old = secret.clone();
    old["data"]["a"] = json!("YW==");
    let base = program.file("base.yaml", &text(&[old]));
    let told = ["plan", "-", "--policy", "none", "--host", "helm3", "--explain-reads", "--base"];
    let args = [&told[..], &[base.to_str().expect("a path")]].concat();
    let ran = Cluster::with(&[], false).run(&program, &args, &text(&[secret]));
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("list Machine.") && said.contains("changed Secrets and ConfigMaps may be theirs"), "{said}");
}
