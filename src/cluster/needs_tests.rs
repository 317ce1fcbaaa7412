//! What a stream calls for, and nothing else.

use super::*;
use crate::host::Host;
use crate::policy::{LateValue, ObjectSource, PinMode, Source, ValueType};
use crate::tree::json;

fn object(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Object {
    let mut value = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        value["metadata"]["namespace"] = json!(namespace);
    }
    Object::from_value(value, 0).expect("an object")
}

fn plan(objects: Vec<Object>, policy: &Policy, late: &[&str], host: Host) -> ReadPlan {
    let rendered = Inventory::from(objects);
    let late = late.iter().map(|name| (*name).to_owned()).collect();
    let host = Detected { host, ..Detected::default() };
    let asked = PlannedFrom {
        rendered: &rendered,
        policy,
        late: &late,
        host: &host,
        base_given: false,
        storage_namespace: None,
    };
    needs(&asked).expect("a plan")
}

fn kinds(plan: &ReadPlan) -> Vec<String> {
    plan.kinds.keys().map(ToString::to_string).collect()
}

#[test]
fn a_stream_without_capi_objects_asks_only_which_release_it_is() {
    let stream = || vec![object("v1", "ConfigMap", Some("a"), "x")];
    let unknown = plan(stream(), &Policy::default(), &[], Host::default());
    assert_eq!((unknown.kinds.len(), unknown.objects.len()), (0, 1));
    assert_eq!(unknown.objects[0].used, Use::Kin);
    let host = Host { release: Some("r".to_owned()), namespace: Some("a".to_owned()), ..Host::default() };
    let known = plan(stream(), &Policy::default(), &[], host);
    assert!(known.objects.is_empty() && known.release.is_some_and(|release| release.known.is_some()));
    // A host that deletes nothing has no release.
    let host = Host { kind: Some(HostKind::Kubectl), ..Host::default() };
    assert_eq!(plan(stream(), &Policy::default(), &[], host), ReadPlan::default());
}

#[test]
fn a_control_plane_needs_its_machines_and_the_workers_that_may_wait_for_it() {
    let plan = plan(
        vec![object("controlplane.cluster.x-k8s.io/v1beta1", "RKE2ControlPlane", Some("telco"), "cp")],
        &Policy::default(),
        &[],
        Host::default(),
    );
    assert_eq!(
        kinds(&plan),
        [
            "Cluster.cluster.x-k8s.io",
            "Machine.cluster.x-k8s.io",
            "MachineDeployment.cluster.x-k8s.io",
            "MachineHealthCheck.cluster.x-k8s.io",
            "MachinePool.cluster.x-k8s.io",
            "MachineSet.cluster.x-k8s.io",
            "RKE2ControlPlane.controlplane.cluster.x-k8s.io"
        ]
    );
    assert_eq!(plan.scope, Scope::Only(BTreeSet::from(["telco".to_owned()])));
    let control_plane = &plan.kinds[&GroupKind::new(CONTROL_PLANE, "RKE2ControlPlane")];
    assert_eq!(control_plane.version.as_deref(), Some("v1beta1"));
    assert!(control_plane.keep.managed_fields);
    assert!(!plan.kinds[&GroupKind::new(CORE, "Machine")].keep.managed_fields);
}

#[test]
fn health_checks_are_read_whatever_the_policy_says_of_remediation() {
    let mut policy = Policy::default();
    policy.gates.health.remediation = GateAnswer::Allow;
    let workers = object("cluster.x-k8s.io/v1beta2", "MachineDeployment", Some("telco"), "md");
    let plan = plan(vec![workers], &policy, &[], Host::default());
    assert!(kinds(&plan).contains(&"MachineHealthCheck.cluster.x-k8s.io".to_owned()));
    // Whether the preflight check of workers is on is up to a gate.
    assert!(plan.gates);
}

#[test]
fn feature_gates_are_asked_for_where_the_chart_needs_one() {
    let plan_of = |format: &str| {
        let value = json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate",
            "metadata": {"name": "x", "namespace": "telco"}, "spec": {"template": {"spec": {"format": format}}}});
        plan(vec![Object::from_value(value, 0).expect("an object")], &Policy::default(), &[], Host::default())
    };
    let asked = plan_of("ignition");
    assert!(asked.gates && asked.lines().iter().any(|line| line.contains("feature gates")));
    // Workers may be made of it, and whether their version holds them back is up to a gate.
    assert!(plan_of("cloud-config").gates);
    // A gate that is usually on is not worth a question.
    let pool = object("cluster.x-k8s.io/v1beta2", "MachinePool", Some("telco"), "mp");
    assert!(!plan(vec![pool], &Policy::default(), &[], Host::default()).gates);
}

#[test]
fn workers_need_their_revisions() {
    let plan = plan(
        vec![object("cluster.x-k8s.io/v1beta2", "MachineDeployment", Some("telco"), "md")],
        &Policy::default(),
        &[],
        Host::default(),
    );
    assert!(plan.kinds.contains_key(&GroupKind::new(CORE, "MachineSet")));
    assert!(plan.kinds.values().all(|read| read.version.as_deref() == Some("v1beta2")));
}

#[test]
fn a_gate_of_hosts_that_is_off_is_not_read_for() {
    let mut policy = Policy::default();
    policy.gates.health.hosts = GateAnswer::Allow;
    let template = object("infrastructure.cluster.x-k8s.io/v1beta1", "Metal3MachineTemplate", Some("a"), "t");
    let without = plan(vec![template.clone()], &policy, &[], Host::default());
    assert!(!kinds(&without).iter().any(|kind| kind.contains("metal3.io")));
    let with = plan(vec![template], &Policy::default(), &[], Host::default());
    assert!(kinds(&with).contains(&"BareMetalHost.metal3.io".to_owned()));
}

#[test]
fn a_class_is_looked_for_everywhere() {
    let plan = plan(
        vec![object("cluster.x-k8s.io/v1beta1", "ClusterClass", Some("a"), "c")],
        &Policy::default(),
        &[],
        Host::default(),
    );
    assert!(matches!(plan.scope, Scope::Everywhere(_)));
    let pools = &plan.kinds[&GroupKind::new(CORE, MACHINE_POOL)];
    assert!(pools.everywhere && pools.optional);
}

#[test]
fn a_template_calls_for_the_classes_of_its_namespace_alone() {
    let of = |kind: &str| {
        let template = object("infrastructure.cluster.x-k8s.io/v1beta1", kind, Some("a"), "t");
        plan(vec![template], &Policy::default(), &[], Host::default())
    };
    let plan = of("DockerMachineTemplate");
    assert!(kinds(&plan).contains(&"ClusterClass.cluster.x-k8s.io".to_owned()));
    assert!(matches!(plan.scope, Scope::Only(_)) && plan.kinds.values().all(|read| !read.everywhere));
    assert!(!kinds(&of("DockerMachine")).contains(&"ClusterClass.cluster.x-k8s.io".to_owned()));
}

#[test]
fn pools_may_be_forbidden_unless_the_stream_has_one() {
    let cluster = || object("cluster.x-k8s.io/v1beta2", "Cluster", Some("a"), "c");
    let pool = || object("cluster.x-k8s.io/v1beta2", "MachinePool", Some("a"), "p");
    for (objects, is_optional) in
        [(vec![cluster()], true), (vec![cluster(), pool()], false), (vec![pool(), cluster()], false)]
    {
        let plan = plan(objects, &Policy::default(), &[], Host::default());
        assert_eq!(plan.kinds[&GroupKind::new(CORE, MACHINE_POOL)].optional, is_optional);
    }
}

#[test]
fn what_kubectl_prunes_may_be_of_any_kind() {
    let of = |prune: bool| {
        let host = Host { kind: Some(HostKind::Kubectl), prune, ..Host::default() };
        plan(vec![object("v1", "ConfigMap", Some("a"), "c")], &Policy::default(), &[], host)
    };
    let pruned = of(true);
    assert!(kinds(&pruned).contains(&"MachineDeployment.cluster.x-k8s.io".to_owned()));
    assert_eq!(pruned.scope, Scope::Only(BTreeSet::from(["a".to_owned()])));
    assert_eq!(of(false), ReadPlan::default());
}

#[test]
fn many_namespaces_are_one_list() {
    let objects = ["a", "b", "c", "d"].map(|name| object("cluster.x-k8s.io/v1beta1", "Cluster", Some(name), "c"));
    assert!(matches!(plan(objects.to_vec(), &Policy::default(), &[], Host::default()).scope, Scope::Everywhere(_)));
    assert!(matches!(plan(objects[..3].to_vec(), &Policy::default(), &[], Host::default()).scope, Scope::Only(_)));
}

#[test]
fn without_a_namespace_nothing_is_looked_up_in_default() {
    let cluster = || vec![object("cluster.x-k8s.io/v1beta1", "Cluster", None, "c")];
    let nowhere = plan(cluster(), &Policy::default(), &[], Host::default());
    assert_eq!(nowhere.scope, Scope::Nowhere);
    assert_eq!(nowhere.homeless.len(), 1);
    let host = Host { namespace: Some("telco".to_owned()), ..Host::default() };
    let somewhere = plan(cluster(), &Policy::default(), &[], host);
    assert_eq!(somewhere.scope, Scope::Only(BTreeSet::from(["telco".to_owned()])));
    assert!(somewhere.homeless.is_empty());
}

#[test]
fn only_referenced_secrets_are_read() {
    let mut control_plane = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "a"}});
    control_plane["spec"] =
        json!({"kubeadmConfigSpec": {"files": [{"contentFrom": {"secret": {"name": "used", "key": "k"}}}]}});
    let objects = vec![
        Object::from_value(control_plane, 0).expect("an object"),
        object("v1", "Secret", Some("a"), "used"),
        object("v1", "Secret", Some("a"), "unused"),
        object("v1", "ConfigMap", Some("a"), "used"),
    ];
    let plan = plan(objects, &Policy::default(), &[], Host::default());
    assert_eq!(plan.objects.len(), 1);
    assert_eq!((plan.objects[0].kind.kind.as_str(), plan.objects[0].name.as_str()), ("Secret", "used"));
}

#[test]
fn only_needed_late_values_are_read() {
    let value = |name: &str| LateValue {
        keys: false,
        first_install: Default::default(),
        name: name.to_owned(),
        placeholders: Vec::new(),
        equivalent: Vec::new(),
        kind: ValueType::Ip,
        pattern: None,
        within: Default::default(),
        from: vec![
            Source { env: Some("X".to_owned()), ..Source::default() },
            Source {
                object: Some(ObjectSource {
                    api_version: "v1".to_owned(),
                    kind: "ConfigMap".to_owned(),
                    name: "vip".to_owned(),
                    namespace: None,
                    path: "$.data.ip".to_owned(),
                    release: None,
                    selector: None,
                }),
                ..Source::default()
            },
        ],
        pin: PinMode::Once,
        secret: None,
        values: Vec::new(),
        optional: false,
        except: Vec::new(),
        wait: None,
    };
    let mut policy = Policy { late_values: vec![value("vip"), value("other")], ..Policy::default() };
    policy.pins.store = Some("configmap/rollgate-pins".to_owned());
    let host = Host { namespace: Some("telco".to_owned()), ..Host::default() };
    let plan = plan(vec![object("cluster.x-k8s.io/v1beta1", "Cluster", None, "c")], &policy, &["vip"], host);
    let lines: Vec<String> = plan.lines().into_iter().filter(|line| line.starts_with("get ")).collect();
    assert_eq!(
        lines,
        ["get ConfigMap telco/vip: source 2 of late value vip", "get ConfigMap telco/rollgate-pins: the pins"]
    );
}

#[test]
fn every_line_of_a_plan_says_what_for() {
    let host = Host { release: Some("demo".to_owned()), namespace: Some("a".to_owned()), ..Host::default() };
    let plan =
        plan(vec![object("cluster.x-k8s.io/v1beta1", "MachineDeployment", None, "md")], &Policy::default(), &[], host);
    for line in plan.lines() {
        let (_, reason) = line.split_once(": ").expect("a reason");
        assert!(!reason.is_empty(), "{line}");
    }
    assert!(plan.release.expect("a release").known.is_some());
}

#[test]
fn the_application_of_argo_cd_is_read_where_its_name_is_known() {
    let of = |kind, release: Option<&str>| {
        let host = Host { kind: Some(kind), release: release.map(str::to_owned), ..Host::default() };
        let owner = object("cluster.x-k8s.io/v1beta1", "MachineDeployment", Some("telco"), "md");
        let lines = plan(vec![owner], &Policy::default(), &[], host).lines();
        lines.into_iter().filter(|line| line.contains("Application")).collect::<Vec<_>>()
    };
    let line = "get Application.argoproj.io argocd/demo: how Argo CD writes, and what it leaves alone";
    assert_eq!(of(HostKind::Argocd, Some("demo")), [line]);
    assert!(of(HostKind::Argocd, None).is_empty() && of(HostKind::Helm3, Some("demo")).is_empty());
}

#[test]
fn what_the_last_manifest_held_is_read_with_what_goes_with_it() {
    let config_map = || object("v1", "ConfigMap", Some("a"), "x");
    let removed_of = |base: Vec<Object>, rendered: Vec<Object>| {
        let base = crate::world::Base { objects: base.into(), ..crate::world::Base::default() };
        let rendered = Inventory::from(rendered);
        removed(&rendered, &base, &Policy::default(), Some("home"), &ReadPlan::default())
    };
    let more = removed_of(
        vec![config_map(), object("cluster.x-k8s.io/v1beta2", "MachineDeployment", None, "md")],
        vec![config_map()],
    );
    assert!(more.kinds.contains_key(&GroupKind::new(CORE, "MachineDeployment")));
    assert_eq!(more.scope, Scope::Only(BTreeSet::from(["home".to_owned()])));
    // A namespace takes with it what is in it; one that stays takes nothing.
    let namespace = || object("v1", "Namespace", None, "b");
    let more = removed_of(vec![namespace()], vec![config_map()]);
    assert!(more.kinds.contains_key(&GroupKind::new(CORE, "Machine")));
    assert_eq!(more.scope, Scope::Only(BTreeSet::from(["b".to_owned()])));
    assert_eq!(removed_of(vec![namespace()], vec![namespace()]), ReadPlan::default());
    // So does a hook that makes it anew.
    let mut hook = namespace();
    hook.body = crate::object::Body::Value(json!({"metadata": {"annotations": {"helm.sh/hook": "pre-upgrade"}}}));
    assert!(removed_of(vec![], vec![hook]).kinds.contains_key(&GroupKind::new(CORE, "Cluster")));
    // What Flux wrote for a release may be anywhere.
    let release = object("helm.toolkit.fluxcd.io/v2", "HelmRelease", Some("flux"), "r");
    assert!(removed_of(vec![release], vec![]).kinds[&GroupKind::new(CORE, "Cluster")].everywhere);
}
