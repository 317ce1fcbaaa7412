//! A second front door: something that is no command line asks about one object, as an admission webhook would, and about a stream that
//! it hands on. Only `session` is used, so whatever of a question hides in the command line is missed here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rollgate::exit::Exit;
use rollgate::facade::host::{HostKind, ToldHost};
use rollgate::facade::model::Decision;
use rollgate::facade::object::Stream;
use rollgate::facade::session::{
    Base, Commit, Commitment, InForce, Input, Live, Session, Setup, Unobserved, Untold, Whence,
};
use rollgate::facade::tree::Value;
use rollgate::facade::verdict;
use rollgate::facade::world::WriteMethod;
use serde_json::json;

/// The clock of every question.
const NOW: &str = "2025-10-10T12:00:00Z";

fn scenario(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/scenarios").join(file)
}

/// A question about what an API server is about to hold, with the answers of files.
fn setup(policy: &str, live: Live) -> Setup {
    let policy = InForce::of(Some(policy), Untold::Refuse, Whence::default()).expect("a policy");
    let setup = Setup::new(policy, BTreeMap::new()).expect("no key is told");
    Setup {
        told: ToldHost { kind: Some(HostKind::Kubectl), method: Some(WriteMethod::Replace), ..ToldHost::default() },
        live,
        base: Some(Base::Nothing),
        now: NOW.parse().expect("a time"),
        now_is_told: true,
        ..setup
    }
}

/// What a webhook answers: whether the object may be written, and why not.
fn admits(object: &Value) -> (Decision, Vec<String>) {
    let setup = setup("none", Live::Path(scenario("drain-timeout/live.yaml")));
    let input = Input::unnamed("the request", serde_json::to_vec(object).expect("JSON"));
    let session = Session { setup: &setup, input: &input, is_hosts: false };
    let ready = session.read(&mut Unobserved::default()).expect("a World");
    let report = ready.judge(&setup, &Unobserved::default()).expect("a judgement").report;
    (report.decision, report.reasons.iter().map(|reason| reason.gate.clone()).collect())
}

/// The object of a kind as it stands.
fn live(kind: &str) -> Value {
    let bytes = std::fs::read(scenario("drain-timeout/live.yaml")).expect("a file");
    let stream = Stream::load(&bytes.into()).expect("manifests");
    let found = stream.objects.objects().iter().find(|object| object.key.kind == kind).expect("an object of the kind");
    found.value().expect("a tree").into_owned()
}

#[test]
fn one_object_is_judged_without_a_command_line() {
    let mut object = live("MachineDeployment");
    assert_eq!(admits(&object), (Decision::Allow, Vec::new()), "nothing changes");
    object["spec"]["template"]["spec"]["version"] = "v1.99.0".into();
    let (decision, gates) = admits(&object);
    assert_eq!(verdict::exit(decision), Exit::Hold, "its Machines are replaced: {gates:?}");
    assert!(gates.contains(&"rollout".to_owned()), "{gates:?}");
}

#[test]
fn what_is_handed_on_is_filled_in_and_pinned_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("rollgate.yaml");
    let late = "lateValues: [{name: vip, placeholders: [\"55.55.55.55\"], type: ip, from: [{file: vip.txt}]}]";
    let text = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{late}\npins: {{file: pins.yaml}}\n");
    std::fs::write(&policy, text).expect("a policy");
    std::fs::write(folder.path().join("vip.txt"), "10.0.0.7\n").expect("a value");
    let setup = setup(policy.to_str().expect("text"), Live::Nothing);
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"vip": "55.55.55.55"}});
    let input = Input::unnamed("the stream", serde_json::to_vec(&map).expect("JSON"));
    let mut observer = Unobserved::default();
    let ready = Session { setup: &setup, input: &input, is_hosts: true }.read(&mut observer).expect("a World");
    let mut judgement = ready.judge(&setup, &observer).expect("a judgement");
    let commitment = Commitment { setup: &setup, ready: &ready, wish: Commit::Always, approvals: String::new() };
    commitment.before(&mut judgement).expect("the pin is written");
    assert!(commitment.last(&mut judgement, &mut |_| ()).expect("nothing is used up"));
    assert_eq!(verdict::exit(judgement.report.decision), Exit::Allow, "{:?}", judgement.report.reasons);
    assert!(String::from_utf8_lossy(&judgement.stream).contains("10.0.0.7"), "the value goes out");
    let pins = std::fs::read_to_string(folder.path().join("pins.yaml")).expect("pins");
    assert!(pins.contains("vip") && pins.contains("10.0.0.7"), "{pins}");
}
