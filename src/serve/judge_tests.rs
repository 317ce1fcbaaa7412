//! Writes to a cluster that was read at one time, as an API server would show them.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::host::Host;
use crate::model::Effect;
use crate::object::Stream;
use crate::serve::review;
use crate::serve::said::Why;
use crate::session::{InForce, Untold, Whence};
use crate::world::files;

const ENFORCE: Manner = Manner { mode: Mode::Enforce, undecided: Doubtful::Hold, not_ready: Doubtful::Hold };

fn live() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/scenarios/drain-timeout/live.yaml")
}

fn judge_of(policy: &str, cache: Cache) -> Arc<Judge> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rollgate.yaml");
    std::fs::write(&file, format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{policy}\n")).expect("a policy");
    let policy = InForce::of(file.to_str(), Untold::Refuse, Whence::default()).expect("a policy");
    let setup = Setup::new(policy, BTreeMap::new()).expect("no key is told");
    Arc::new(Judge::new(&setup, ENFORCE, Arc::new(cache), None).expect("a judge"))
}

fn judge() -> Arc<Judge> {
    let world = files::open(&live(), &Host::default(), Timestamp::now()).expect("a World").world;
    judge_of("", Cache::of_world(world))
}

fn object(kind: &str) -> Value {
    object_of(&live(), kind)
}

fn object_of(file: &Path, kind: &str) -> Value {
    let bytes = std::fs::read(file).expect("a file");
    let stream = Stream::load(&bytes.into()).expect("manifests");
    let found = stream.objects.objects().iter().find(|object| object.key.kind == kind).expect("an object of the kind");
    found.value().expect("a tree").into_owned()
}

/// A review of a write, through the wire.
fn review_of(before: Option<&Value>, after: Option<&Value>) -> Request {
    let object = after.or(before).expect("a side");
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (group, version) =
        text("/apiVersion").split_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap_or_default();
    let kind = text("/kind");
    let resource = format!("{}s", kind.to_ascii_lowercase());
    let operation = match (before, after) {
        (None, _) => "CREATE",
        (_, None) => "DELETE",
        _ => "UPDATE",
    };
    let mut request = json!({
        "uid": "u", "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": resource},
        "name": text("/metadata/name"), "namespace": text("/metadata/namespace"), "operation": operation
    });
    request["oldObject"] = before.cloned().unwrap_or_default();
    request["object"] = after.cloned().unwrap_or_default();
    let mut review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
    review["request"] = request;
    review::parse(format!("{review}").as_bytes()).expect("a question")
}

fn asks(judge: &Arc<Judge>, request: Request) -> (Response, Said) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(judge.answer(request, Instant::now() + Duration::from_secs(20)))
}

fn changed(judge: &Arc<Judge>, kind: &str, change: impl Fn(&mut Value)) -> (Response, Said) {
    let before = object(kind);
    let mut after = before.clone();
    change(&mut after);
    asks(judge, review_of(Some(&before), Some(&after)))
}

#[test]
fn a_rollout_is_refused_with_the_field_and_the_next_command() {
    let (answer, said) =
        changed(&judge(), "MachineDeployment", |md| md["spec"]["template"]["spec"]["version"] = json!("v1.99.0"));
    let refusal = answer.refusal.expect("it is refused");
    assert!(refusal.contains("spec.template.spec.version") && refusal.contains("next: "), "{refusal}");
    assert_eq!((said.why, said.gate.as_str(), said.effect), (Why::Held, "rollout", Effect::Rollout));
    assert!(!said.digest.is_empty() && !said.rule.is_empty());
    assert!(answer.audit.iter().any(|(name, text)| *name == "digest" && *text == said.digest));
}

#[test]
fn what_changes_nothing_is_not_judged_and_what_reaches_no_machine_passes() {
    let judge = judge();
    let (answer, said) = changed(&judge, "MachineDeployment", |md| {
        md["metadata"]["managedFields"] = json!([{"manager": "x"}]);
        md["status"] = json!({"replicas": 2});
    });
    assert_eq!((answer, said.why), (Response::default(), Why::Skipped));
    let (answer, said) = changed(&judge, "MachineDeployment", |md| md["metadata"]["labels"] = json!({"team": "a"}));
    assert_eq!((answer.refusal, said.why), (None, Why::Allowed));
}

#[test]
fn a_deletion_is_one_whatever_marks_keep_it_from_helm() {
    let judge = judge();
    let mut cluster = object("Cluster");
    cluster["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep", "helm.sh/hook": "test"});
    let (answer, said) = asks(&judge, review_of(Some(&cluster), None));
    assert!(answer.refusal.is_some(), "{said:?}");
    assert_eq!(said.effect, Effect::Delete);
    // What is going already does not go once more.
    cluster["metadata"]["deletionTimestamp"] = json!("2025-10-10T12:00:00Z");
    assert_eq!(asks(&judge, review_of(Some(&cluster), None)).1.why, Why::Skipped);
}

#[test]
fn a_scale_changes_the_object_that_it_belongs_to() {
    let judge = judge();
    let scale = |replicas: Value| json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "edge-1-md0", "namespace": "edge-1"}, "spec": replicas});
    let ask = |after: Value| {
        let mut request = review_of(Some(&scale(json!({"replicas": 2}))), Some(&scale(after)));
        request.part = "scale".to_owned();
        request.resource = review::Resource {
            group: "cluster.x-k8s.io".to_owned(),
            version: "v1beta1".to_owned(),
            resource: "machinedeployments".to_owned(),
        };
        asks(&judge, request)
    };
    // None are left out of the JSON.
    let (answer, said) = ask(json!({}));
    assert!(answer.refusal.is_some(), "{said:?}");
    assert_eq!(said.effect, Effect::Delete);
    assert_eq!(ask(json!({"replicas": 3})).1.effect, Effect::Scale);
}

#[test]
fn a_field_that_nobody_knows_here_is_not_taken_for_one_that_does_nothing() {
    let (answer, said) = changed(&judge(), "RKE2ControlPlane", |cp| cp["spec"]["brandNewField"] = json!("x"));
    assert!(answer.refusal.is_some(), "{said:?}");
    assert!(said.why >= Why::Undecided, "{said:?}");
}

#[test]
fn a_placeholder_that_comes_is_not_let_through() {
    let world = files::open(&live(), &Host::default(), Timestamp::now()).expect("a World").world;
    let late = "lateValues: [{name: vip, placeholders: [\"66.66.66.66\"], type: ip, from: [{env: VIP}]}]";
    let judge = judge_of(late, Cache::of_world(world));
    let mut map = object("OpenStackCluster");
    map["metadata"]["name"] = json!("fresh");
    assert_eq!(asks(&judge, review_of(None, Some(&map))).1.why, Why::Allowed);
    map["metadata"]["annotations"] = json!({"vip": "66.66.66.66"});
    let (answer, said) = asks(&judge, review_of(None, Some(&map)));
    assert_eq!(said.why, Why::Undecided, "{said:?}");
    assert!(answer.refusal.expect("it is refused").contains("late value vip"));
}

#[test]
fn what_is_not_read_is_no_answer() {
    let judge = judge_of("", Cache::of("nothing"));
    let (answer, said) = changed(&judge, "MachineDeployment", |md| md["spec"]["replicas"] = json!(9));
    assert_eq!(said.why, Why::NotReady);
    assert!(answer.refusal.is_some());
    for (manner, refused) in [
        (Manner { not_ready: Doubtful::Allow, ..ENFORCE }, false),
        (Manner { mode: Mode::Observe, ..ENFORCE }, false),
        (ENFORCE, true),
    ] {
        let answer = said.answer(manner);
        assert_eq!((answer.refusal.is_some(), answer.warnings.is_empty()), (refused, refused), "{manner:?}");
    }
}

#[test]
fn the_side_of_the_review_counts_and_not_what_was_heard_before() {
    // Two writes follow each other faster than a watch tells: the second one is judged over the first.
    let judge = judge();
    let mut first = object("MachineDeployment");
    first["spec"]["replicas"] = json!(7);
    let mut second = first.clone();
    second["spec"]["replicas"] = json!(0);
    let (answer, _) = asks(&judge, review_of(Some(&first), Some(&second)));
    assert!(answer.refusal.expect("it is refused").contains('7'));
}

#[test]
fn a_write_of_another_part_is_not_guessed() {
    let judge = judge();
    let mut request = review_of(Some(&object("Cluster")), Some(&object("Cluster")));
    let mut after = object("Cluster");
    after["spec"]["paused"] = json!(true);
    request.after = Some(Object::from_value(after, 0).expect("an object"));
    request.part = "odd".to_owned();
    assert_eq!(asks(&judge, request).1.why, Why::Undecided);
}

#[test]
fn the_digest_is_that_of_a_plan_of_the_same_write() {
    use crate::host::{HostKind, ToldHost};
    use crate::session::{Base, Input, Live, Session, Unobserved};
    use crate::world::WriteMethod;
    let mut after = object("MachineDeployment");
    after["spec"]["template"]["spec"]["version"] = json!("v1.99.0");
    let policy = InForce::of(Some("none"), Untold::Refuse, Whence::default()).expect("a policy");
    let setup = Setup {
        told: ToldHost { kind: Some(HostKind::Kubectl), method: Some(WriteMethod::Replace), ..ToldHost::default() },
        live: Live::Path(live()),
        base: Some(Base::Nothing),
        ..Setup::new(policy, BTreeMap::new()).expect("no key is told")
    };
    let input = Input::unnamed("the object", format!("{after}").into_bytes());
    let session = Session { setup: &setup, input: &input, is_hosts: false };
    let ready = session.read(&mut Unobserved::default()).expect("a World");
    let planned = ready.judge(&setup, &Unobserved::default()).expect("a judgement").report;
    let (_, said) = asks(&judge(), review_of(Some(&object("MachineDeployment")), Some(&after)));
    assert_eq!(said.digest, planned.digest);
}

/// A set that Helm writes one by one: what one of them hears changes nothing for the others.
#[test]
fn each_object_of_a_set_that_rolls_is_refused_by_itself() {
    let judge = judge();
    for (kind, change) in [
        (
            "MachineDeployment",
            (|md: &mut Value| md["spec"]["template"]["spec"]["version"] = json!("v1.99.0")) as fn(&mut Value),
        ),
        ("RKE2ControlPlane", |cp| cp["spec"]["version"] = json!("v1.99.0+rke2r1")),
    ] {
        let (answer, said) = changed(&judge, kind, change);
        assert!(answer.refusal.is_some(), "{kind}: {said:?}");
        assert_eq!(said.effect, Effect::Rollout, "{kind}");
    }
}

/// A template that cannot be changed is taken away and made anew under its name: Machines are compared with its name alone, but new ones
/// are made of it, so neither half goes through unseen.
#[test]
fn a_template_that_is_deleted_and_made_anew_is_no_change_that_nobody_sees() {
    let judge = judge();
    let template = object("OpenStackMachineTemplate");
    let (answer, said) = asks(&judge, review_of(Some(&template), None));
    assert!(answer.refusal.is_some(), "its owner refers to it: {said:?}");
    let mut anew = template;
    anew["spec"]["template"]["spec"]["flavor"] = json!("m1.tiny");
    let (_, said) = asks(&judge, review_of(None, Some(&anew)));
    assert_ne!(
        (said.why, said.effect),
        (Why::Allowed, Effect::None),
        "what is made of it is another Machine: {said:?}"
    );
}

/// Who takes back what was let through, as a rollback does, is judged as any other: by what it does to the Machines that are there.
#[test]
fn a_rollback_is_judged_by_the_machines_and_not_by_its_name() {
    let judge = judge();
    let before = object("MachineDeployment");
    let mut ahead = before.clone();
    ahead["spec"]["template"]["spec"]["version"] = json!("v1.99.0");
    let (answer, said) = asks(&judge, review_of(Some(&ahead), Some(&before)));
    assert!(
        answer.refusal.is_some() && said.line.contains("v1.99.0"),
        "Machines of the newer one may be there: {said:?}"
    );
}

/// The audit log keeps what was decided and by which rule, of what is let through as well.
#[test]
fn the_audit_log_hears_of_every_judgement() {
    let judge = judge();
    let words = |answer: &Response| answer.audit.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let (held, _) =
        changed(&judge, "MachineDeployment", |md| md["spec"]["template"]["spec"]["version"] = json!("v1.99.0"));
    assert_eq!(words(&held), ["decision", "digest", "rule"]);
    let (allowed, _) = changed(&judge, "MachineDeployment", |md| md["spec"]["replicas"] = json!(3));
    assert!(words(&allowed).contains(&"decision"), "{allowed:?}");
}

/// Of a topology, the Cluster is what is judged: what its controller then writes of the groups is skipped by name (`matchConditions`).
#[test]
fn a_topology_is_judged_at_its_cluster() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/scenarios/class-default-not-stored/live.yaml");
    let world = files::open(&file, &Host::default(), Timestamp::now()).expect("a World").world;
    let judge = judge_of("", Cache::of_world(world));
    let before = object_of(&file, "Cluster");
    let mut after = before.clone();
    after["spec"]["topology"]["version"] = json!("v1.34.0");
    let (answer, said) = asks(&judge, review_of(Some(&before), Some(&after)));
    assert!(answer.refusal.is_some_and(|line| line.contains("v1.34.0")), "{said:?}");
    assert_eq!(said.effect, Effect::Rollout);
}

fn scenario(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/scenarios").join(name).join("live.yaml")
}

fn judge_of_scenario(name: &str) -> Arc<Judge> {
    judge_of(
        "",
        Cache::of_world(files::open(&scenario(name), &Host::default(), Timestamp::now()).expect("a World").world),
    )
}

/// The deletion of one object of a scenario.
fn deletes(scene: &str, kind: &str, name: &str) -> (Response, Said) {
    let bytes = std::fs::read(scenario(scene)).expect("a file");
    let stream = Stream::load(&bytes.into()).expect("manifests");
    let is_it = |object: &&Object| object.key.kind == kind && object.key.name == name;
    let object = stream.objects.objects().iter().find(is_it).expect("the object").value().expect("a tree").into_owned();
    asks(&judge_of_scenario(scene), review_of(Some(&object), None))
}

/// A release is written object by object: the template goes when its MachineDeployment names another one already.
#[test]
fn an_old_template_goes_while_its_set_drains_and_who_deletes_it_hears_of_that() {
    let (answer, said) = deletes("old-template-removed-while-its-set-drains", "DockerMachineTemplate", "demo-md-a");
    assert_eq!((answer.refusal, said.why), (None, Why::Allowed));
    assert!(answer.warnings.iter().any(|warning| warning.contains("MachineSet fleet/demo-md-old still refers to it")));
    for (scene, name) in [
        ("old-template-removed-while-its-set-is-paused", "demo-md-a"),
        ("old-template-removed-while-its-set-drains", "demo-md-b"),
    ] {
        assert!(deletes(scene, "DockerMachineTemplate", name).0.refusal.is_some(), "{scene} {name}");
    }
}

/// What a whole release leaves behind when it is taken away goes after its Cluster.
#[test]
fn what_a_cluster_that_goes_refers_to_goes_with_it() {
    for (kind, name) in
        [("DockerMachineTemplate", "demo-md-b"), ("KubeadmConfigTemplate", "demo-md"), ("Secret", "demo-ca")]
    {
        let of = |scene| deletes(scene, kind, name);
        assert_eq!(of("keys-and-template-removed-of-a-cluster-that-goes").0.refusal, None, "{kind}");
        let (answer, said) = of("keys-and-template-removed-of-a-cluster-that-stays");
        assert!(answer.refusal.is_some(), "{kind}: {said:?}");
    }
}

/// A label or an annotation leaves the keys of a cluster as they are, and what is said of a Secret whose name ends like a password is whole.
#[test]
fn a_label_on_the_keys_of_a_cluster_is_no_change_of_them() {
    let file = scenario("keys-of-a-cluster-get-a-label");
    let judge = judge_of_scenario("keys-of-a-cluster-get-a-label");
    let bytes = std::fs::read(&file).expect("a file");
    let stream = Stream::load(&bytes.into()).expect("manifests");
    for object in stream.objects.objects().iter().filter(|object| object.key.kind == "Secret") {
        let before = object.value().expect("a tree").into_owned();
        let change = |change: &dyn Fn(&mut Value)| {
            let mut after = before.clone();
            change(&mut after);
            asks(&judge, review_of(Some(&before), Some(&after)))
        };
        let (answer, said) = change(&|secret| secret["metadata"]["labels"]["velero.io/backup-name"] = json!("a"));
        assert_eq!((answer.refusal, said.why), (None, Why::Allowed), "{}", object.key);
        let (answer, _) = change(&|secret| secret["metadata"]["annotations"] = json!({"team": "a"}));
        assert_eq!(answer.refusal, None, "{}", object.key);
        for touch in [
            (|secret: &mut Value| secret["data"]["tls.crt"] = json!("b3RoZXI=")) as fn(&mut Value),
            |secret| secret["metadata"]["labels"] = json!({"team": "a"}),
            |secret| secret["type"] = json!("Opaque"),
        ] {
            assert!(change(&touch).0.refusal.is_some(), "{}", object.key);
        }
        let line = asks(&judge, review_of(Some(&before), None)).0.refusal.expect("it is refused");
        assert!(line.contains("is not known to be safe"), "{line}");
    }
}

/// A Cluster takes a class from a namespace from which no Cluster takes one yet.
#[test]
fn a_class_of_another_namespace_is_read_where_only_the_write_names_it() {
    let scene = "topology-takes-a-class-that-says-the-same";
    let mut world = files::open(&scenario(scene), &Host::default(), Timestamp::now()).expect("a World").world;
    let is_copied = |object: &&Object| object.key.kind == "ClusterClass" || object.key.kind.ends_with("Template");
    let copies: Vec<Value> =
        world.live.objects().iter().filter(is_copied).map(|one| one.value().expect("a tree").into_owned()).collect();
    for mut copy in copies {
        copy["metadata"]["namespace"] = json!("classes");
        world.live.push(Object::from_value(copy, 0).expect("an object"));
    }
    let judge = judge_of("", Cache::of_world(world));
    let before = object_of(&scenario(scene), "Cluster");
    let moved = |namespace: &str| {
        let mut after = before.clone();
        after["spec"]["topology"]["classRef"]["namespace"] = json!(namespace);
        asks(&judge, review_of(Some(&before), Some(&after)))
    };
    let (answer, said) = moved("classes");
    assert_eq!((answer.refusal, said.why), (None, Why::Allowed), "{said:?}");
    assert!(moved("nowhere").0.refusal.is_some());
}
