//! What a late value is, for each thing that its sources and its pin can say.

use super::*;
use crate::report::SourceState;
use crate::tree::{Value, json};
use crate::world::Gap;

const NOW: &str = "2026-11-21T12:00:00Z";

fn policy(edit: Value) -> Policy {
    let mut value = json!({"name": "vip", "placeholders": ["55.55.55.55"], "equivalent": ["unset"], "type": "ip",
        "from": [{"object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "path": "$.data.ip"}}, {"env": "VIP"}]});
    for (field, new) in edit.as_object().expect("a map") {
        value[field] = new.clone();
    }
    let other = json!({"name": "other", "placeholders": ["@@OTHER@@"], "from": [{"env": "O"}]});
    let policy = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy", "lateValues": [value, other],
        "pins": {"file": "rollgate.pins.yaml"}});
    crate::policy::parse("p", policy.to_string().as_bytes()).expect("a policy")
}

/// What the ConfigMap gave: the field's text, or nothing.
fn configmap(found: Option<&str>) -> SourceReading {
    SourceReading {
        value: "vip".to_owned(),
        place: 0,
        found: found.map(str::to_owned),
        source: "ConfigMap capo/c at $.data.ip".to_owned(),
        uid: Some("u1".to_owned()),
        resource_version: Some("7".to_owned()),
        unread: None,
        gap: None,
        clone_of: None,
        fits: false,
        secret: false,
    }
}

fn env(found: Option<&str>) -> SourceReading {
    SourceReading { place: 1, source: "env VIP".to_owned(), uid: None, resource_version: None, ..configmap(found) }
}

fn forbidden() -> SourceReading {
    SourceReading { unread: Some("403 Forbidden".to_owned()), ..configmap(None) }
}

fn secret(found: &str) -> SourceReading {
    SourceReading { secret: true, source: "Secret capo/s at $.data.ip".to_owned(), ..configmap(Some(found)) }
}

fn pin(value: &str) -> Pin {
    let time = "2026-10-01T08:00:00Z";
    crate::tree::from_value(json!({"name": "vip", "value": value, "source": "ConfigMap capo/c", "time": time}))
        .expect("a pin")
}

fn run(policy: &Policy, readings: &[SourceReading], pins: &[Pin], reach: Reach) -> Settled {
    let evidence = Evidence {
        readings,
        pins,
        namespace: Some("capo"),
        now: NOW.parse().expect("a time"),
        reach,
        placeholders: &Placeholders::of(policy),
        hidden: &NOTHING_HIDDEN,
    };
    settle(policy, &policy.late_values[0], evidence)
}

fn online(readings: &[SourceReading], pins: &[Pin]) -> Settled {
    run(&policy(json!({})), readings, pins, Reach::Cluster)
}

fn message(settled: &Settled) -> &str {
    &settled.reason.as_ref().expect("a reason").message
}

#[test]
fn the_first_source_that_knows_it_gives_it_and_it_is_pinned_with_its_origin() {
    let settled = online(&[configmap(Some("10.0.3.7")), env(Some("10.9.9.9"))], &[]);
    assert_eq!((settled.state, settled.value.as_deref()), (LateState::Resolved, Some("10.0.3.7")));
    assert_eq!(settled.reason, None);
    let pin = settled.pin.expect("a pin to record");
    assert_eq!(
        (pin.value.as_str(), pin.source.as_str(), pin.path.as_str()),
        ("10.0.3.7", "ConfigMap capo/c", "$.data.ip")
    );
    assert_eq!((pin.uid.as_deref(), pin.resource_version.as_deref()), (Some("u1"), Some("7")));
    assert_eq!(pin.time.to_string(), NOW);
}

#[test]
fn empty_placeholder_and_equivalent_are_not_values_and_the_next_source_is_asked() {
    for text in ["", "55.55.55.55", "unset", "https://55.55.55.55:6443", "x @@OTHER@@"] {
        let settled = online(&[configmap(Some(text)), env(Some("10.9.9.9"))], &[]);
        assert_eq!((settled.state, settled.value.as_deref()), (LateState::Resolved, Some("10.9.9.9")), "{text:?}");
        let settled = online(&[configmap(Some(text)), env(None)], &[]);
        assert_eq!((settled.state, settled.value), (LateState::Missing, None), "{text:?}");
    }
}

#[test]
fn a_missing_value_is_undecided_and_names_what_lacks_it() {
    let gone = SourceReading { uid: None, resource_version: None, ..configmap(None) };
    let settled = online(&[gone, env(None)], &[]);
    assert_eq!(
        message(&settled),
        "late value vip has no value yet: ConfigMap capo/c at $.data.ip: there is no such object yet; env VIP is not set"
    );
    let reason = settled.reason.expect("a reason");
    assert_eq!((reason.decision, reason.gate.as_str()), (Decision::Undecided, "late-value"));
    let steps: Vec<_> = reason.steps().collect();
    assert_eq!(steps, [("do", "wait for it (--wait 10m)"), ("next", "rollgate pin set vip VALUE --reason TEXT")]);
    let settled = online(&[configmap(None), env(None)], &[]);
    assert!(message(&settled).contains("the object is there, the field is not"));
    let settled = online(&[configmap(Some("55.55.55.55")), env(Some(""))], &[]);
    assert!(message(&settled).ends_with("ConfigMap capo/c at $.data.ip still holds a placeholder; env VIP is empty"));
}

#[test]
fn a_source_that_cannot_be_read_is_not_skipped() {
    for readings in [vec![forbidden(), env(Some("10.9.9.9"))], vec![env(Some("10.9.9.9"))]] {
        let settled = online(&readings, &[]);
        assert_eq!((settled.state, settled.value.as_deref()), (LateState::Unread, None));
        assert!(message(&settled).starts_with("late value vip cannot be known: ConfigMap capo/c at $.data.ip"));
    }
}

#[test]
fn a_value_of_another_type_is_undecided_and_shown_unless_secret() {
    let settled = online(&[configmap(Some("10.0.3.777")), env(Some("10.9.9.9"))], &[]);
    assert_eq!((settled.state, settled.value.as_deref()), (LateState::Invalid, None));
    assert_eq!(
        message(&settled),
        "late value vip cannot be used: ConfigMap capo/c at $.data.ip holds \"10.0.3.777\", which is not of type ip"
    );
    let settled = online(&[secret("hunter2"), env(None)], &[]);
    assert_eq!(settled.state, LateState::Invalid);
    assert!(!format!("{settled:?}").contains("hunter2"), "{settled:?}");
}

#[test]
fn a_pin_that_its_source_confirms_is_written() {
    let settled = online(&[configmap(Some("10.0.3.7")), env(None)], &[pin("10.0.3.7")]);
    assert_eq!((settled.state, settled.value.as_deref()), (LateState::Pinned, Some("10.0.3.7")));
    assert_eq!((settled.reason, settled.pin, settled.warning), (None, None, None));
}

#[test]
fn a_source_that_moved_holds_and_names_both_and_the_way_out() {
    let settled = online(&[configmap(Some("10.0.9.9")), env(None)], &[pin("10.0.3.7")]);
    assert_eq!((settled.state, settled.value.as_deref()), (LateState::Differs, Some("10.0.3.7")));
    let reason = settled.reason.expect("a reason");
    assert_eq!((reason.decision, reason.gate.as_str()), (Decision::Hold, "pin"));
    assert_eq!(
        reason.message,
        "late value vip is pinned to 10.0.3.7 since 2026-10-01 and ConfigMap capo/c at $.data.ip now says 10.0.9.9"
    );
    let steps: Vec<_> = reason.steps().collect();
    let (new, old) = ("rollgate pin set vip 10.0.9.9 --reason TEXT", "rollgate pin set vip 10.0.3.7 --reason TEXT");
    let wanted = "decide which of the two is right, and pin that";
    assert_eq!(steps, [("do", wanted), ("next", old), ("or", new)]);
}

#[test]
fn another_spelling_keeps_the_pinned_bytes() {
    let settled = online(&[configmap(Some("FD00:0::1")), env(None)], &[pin("fd00::1")]);
    assert_eq!((settled.state, settled.value.as_deref()), (LateState::Pinned, Some("fd00::1")));
}

#[test]
fn a_pin_outlives_its_source() {
    for readings in
        [vec![configmap(None), env(None)], vec![forbidden(), env(None)], vec![configmap(Some("vip")), env(None)]]
    {
        let settled = online(&readings, &[pin("10.0.3.7")]);
        assert_eq!((settled.state, settled.value.as_deref()), (LateState::Pinned, Some("10.0.3.7")));
        assert_eq!(settled.reason, None);
        assert!(settled.warning.expect("a warning").starts_with("late value vip comes from its pin"));
    }
}

#[test]
fn a_pin_that_breaks_the_type_is_never_written() {
    let settled = online(&[configmap(Some("10.0.3.7")), env(None)], &[pin("changeme")]);
    assert_eq!((settled.state, settled.value.as_deref()), (LateState::Invalid, None));
    assert!(message(&settled).contains("the pinned value \"changeme\" is not of type ip"));
}

#[test]
fn a_value_that_follows_ignores_pins() {
    let policy = policy(json!({"pin": "follow"}));
    let settled = run(&policy, &[configmap(Some("10.0.9.9"))], &[pin("10.0.3.7")], Reach::Cluster);
    assert_eq!((settled.state, settled.value.as_deref(), settled.pin), (LateState::Resolved, Some("10.0.9.9"), None));
}

#[test]
fn offline_a_value_is_pinned_read_or_symbolic_and_never_missing() {
    let policy = policy(json!({}));
    let state = |readings: &[SourceReading], pins: &[Pin]| {
        let settled = run(&policy, readings, pins, Reach::Plan);
        assert_eq!(settled.reason, None);
        (settled.state, settled.value)
    };
    assert_eq!(state(&[], &[pin("10.0.3.7")]), (LateState::Pinned, Some("10.0.3.7".to_owned())));
    assert_eq!(state(&[configmap(Some("10.0.3.7"))], &[]), (LateState::Resolved, Some("10.0.3.7".to_owned())));
    assert_eq!(state(&[], &[]), (LateState::Symbolic, None));
    assert_eq!(state(&[forbidden()], &[]), (LateState::Symbolic, None));
}

#[test]
fn what_is_here_is_never_out_of_reach() {
    let policy = policy(json!({"from": [{"env": "VIP"}]}));
    let unset = SourceReading { place: 0, ..env(None) };
    for reach in [Reach::Plan, Reach::Files, Reach::Cluster] {
        let settled = run(&policy, std::slice::from_ref(&unset), &[], reach);
        assert_eq!(
            (settled.state, settled.reason.map(|reason| reason.decision)),
            (LateState::Missing, Some(Decision::Undecided))
        );
    }
}

#[test]
fn what_goes_out_is_never_a_symbol() {
    let policy = policy(json!({}));
    let gone = SourceReading { uid: None, resource_version: None, ..configmap(None) };
    let settled = run(&policy, &[gone, env(None)], &[], Reach::Files);
    assert_eq!(settled.state, LateState::Missing);
    assert!(message(&settled).contains("there is no such object among the files"), "{}", message(&settled));
    let settled = run(&policy, &[forbidden(), env(Some("10.9.9.9"))], &[], Reach::Files);
    assert_eq!((settled.state, settled.value), (LateState::Unread, None));
}

#[test]
fn a_secret_is_pinned_by_its_seal_and_nowhere_shown() {
    let policy = policy(json!({"type": "string"}));
    let first = run(&policy, &[secret("hunter2")], &[], Reach::Cluster);
    assert_eq!((first.state, first.value.as_deref(), first.secret), (LateState::Resolved, Some("hunter2"), true));
    assert_eq!(first.secrets, ["hunter2"]);
    assert!(!format!("{first:?}").contains("hunter2"), "{first:?}");
    let pin = first.pin.expect("a pin");
    assert!(pin.secret && !pin.value.contains("hunter2"));

    let again = run(&policy, &[secret("hunter2")], std::slice::from_ref(&pin), Reach::Cluster);
    assert_eq!((again.state, again.value.as_deref()), (LateState::Pinned, Some("hunter2")));

    let moved = run(&policy, &[secret("correct horse")], std::slice::from_ref(&pin), Reach::Cluster);
    assert_eq!((moved.state, moved.value.as_deref()), (LateState::Differs, None));
    let text = format!("{moved:?} {:?}", moved.reason);
    assert!(!text.contains("correct horse") && !text.contains("hunter2") && !text.contains(&pin.value), "{text}");

    // As it is read from where it was kept.
    let read = Pin { clear: Clear::default(), ..pin.clone() };
    let gone = run(&policy, &[configmap(None), env(None)], &[read], Reach::Cluster);
    assert_eq!((gone.state, gone.value), (LateState::Missing, None));
    let opened = run(&policy, &[configmap(None), env(None)], &[pin], Reach::Cluster);
    assert_eq!((opened.state, opened.value.as_deref(), opened.secret), (LateState::Pinned, Some("hunter2"), true));
    assert!(opened.secrets == ["hunter2"] && !format!("{opened:?}").contains("hunter2"), "{opened:?}");
}

#[test]
fn what_to_do_first_is_what_can_help() {
    let object = || json!({"object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "path": "$.data.ip"}});
    let gone = SourceReading { uid: None, resource_version: None, ..configmap(None) };
    let add = "run with --live cluster, or with ConfigMap capo/c as it is now in --live";
    for (from, reach, wanted) in [
        (object(), Reach::Cluster, "wait for it (--wait 10m)"),
        (object(), Reach::Snapshot, add),
        (object(), Reach::Files, add),
        (json!({"env": "VIP"}), Reach::Cluster, "set VIP and run again"),
        (json!({"file": "vip.txt"}), Reach::Files, "write vip.txt and run again"),
        (json!({"template": "{{ late('other') }}"}), Reach::Cluster, "set O and run again"),
    ] {
        let reading = SourceReading { value: "vip".to_owned(), ..gone.clone() };
        let origin = SourceReading { value: "other".to_owned(), ..gone.clone() };
        let settled = run(&policy(json!({"from": [from]})), &[reading, origin], &[], reach);
        assert_eq!(settled.reason.expect("a reason").remedy.as_deref(), Some(wanted));
    }
}

#[test]
fn a_secret_is_never_pinned_by_hand_and_what_may_be_one_only_as_plain_text() {
    let set = |edit: Value, hidden: &[&str]| {
        let policy = policy(edit);
        let hidden = hidden.iter().map(|name| (*name).to_owned()).collect();
        let readings = [configmap(None), env(None)];
        let (now, placeholders) = (NOW.parse().expect("a time"), &Placeholders::of(&policy));
        let evidence = Evidence {
            readings: &readings,
            pins: &[],
            namespace: None,
            now,
            reach: Reach::Cluster,
            placeholders,
            hidden: &hidden,
        };
        let reason = settle(&policy, &policy.late_values[0], evidence).reason.expect("a reason");
        reason.next.into_iter().chain(reason.or).collect::<Vec<_>>()
    };
    assert_eq!(set(json!({}), &[]), ["rollgate pin set vip VALUE --reason TEXT"]);
    assert_eq!(set(json!({"type": "string"}), &[]), ["rollgate pin set vip VALUE --plain --reason TEXT"]);
    assert_eq!(set(json!({"type": "string", "secret": false}), &[]), ["rollgate pin set vip VALUE --reason TEXT"]);
    assert!(set(json!({"type": "string"}), &["vip"]).is_empty());
    assert!(set(json!({"secret": true}), &[]).is_empty());
}

#[test]
fn a_plain_pin_of_a_value_that_is_secret_is_sealed_when_its_source_can_give_it() {
    let policy = policy(json!({"type": "string"}));
    let hidden = BTreeSet::from(["vip".to_owned()]);
    let run = |readings: &[SourceReading]| {
        let (now, placeholders) = (NOW.parse().expect("a time"), &Placeholders::of(&policy));
        let pins = [pin("hunter2")];
        let evidence = Evidence {
            readings,
            pins: &pins,
            namespace: None,
            now,
            reach: Reach::Cluster,
            placeholders,
            hidden: &hidden,
        };
        settle(&policy, &policy.late_values[0], evidence)
    };
    let settled = run(&[env(Some("hunter2")), configmap(Some("hunter2"))]);
    assert_eq!((settled.state, settled.value.as_deref()), (LateState::Pinned, Some("hunter2")));
    let sealed = settled.pin.expect("a pin to record");
    assert!(sealed.secret && recognises(&sealed.value, "hunter2") && sealed.source == "ConfigMap capo/c");
    let settled = run(&[configmap(None), env(None)]);
    assert_eq!((settled.value.as_deref(), settled.pin), (Some("hunter2"), None), "a seal could not give it back");
    assert!(settled.warning.expect("a warning").contains("holds it in plain text"));
}

#[test]
fn a_value_may_be_made_of_others() {
    let value = |name: &str, from: Value| json!({"name": name, "from": [from]});
    let values = json!([
        value("endpoint", json!({"template": "{{ late(\"vip\") }}:{{ late('port') }}"})),
        value("vip", json!({"env": "VIP"})),
        value("port", json!({"env": "PORT"}))
    ]);
    let policy = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy", "lateValues": values});
    let policy = crate::policy::parse("p", policy.to_string().as_bytes()).expect("a policy");
    let reading = |name: &str, found: Option<&str>, secret| SourceReading {
        value: name.to_owned(),
        place: 0,
        source: format!("env {name}"),
        secret,
        uid: None,
        ..configmap(found)
    };
    let settled = |port: Option<&str>, secret| {
        run(&policy, &[reading("vip", Some("10.0.3.7"), secret), reading("port", port, false)], &[], Reach::Cluster)
    };
    let known = settled(Some("6443"), false);
    assert_eq!((known.state, known.value.as_deref()), (LateState::Resolved, Some("10.0.3.7:6443")));
    assert_eq!(settled(None, false).state, LateState::Missing);
    let secret = settled(Some("6443"), true);
    assert!(secret.secret && secret.pin.is_some_and(|pin| pin.secret), "what is made of a secret is one");
}

#[test]
fn each_source_says_what_became_of_it() {
    let gap = |gap| SourceReading { gap: Some(gap), uid: None, ..configmap(None) };
    for (reading, state) in [
        (SourceReading { uid: None, ..configmap(None) }, SourceState::Absent),
        (gap(Gap::KindUnknown), SourceState::KindUnknown),
        (
            SourceReading { gap: Some(Gap::KeyMissing(vec!["fip".to_owned()])), ..configmap(None) },
            SourceState::KeyMissing,
        ),
        (configmap(Some("")), SourceState::Empty),
        (configmap(Some("55.55.55.55")), SourceState::Placeholder),
        (configmap(Some("vip")), SourceState::Malformed),
        (SourceReading { gap: Some(Gap::Forbidden), ..forbidden() }, SourceState::Forbidden),
        (forbidden(), SourceState::Unread),
        (configmap(Some("10.0.3.7")), SourceState::Resolved),
    ] {
        let settled = online(&[reading, env(None)], &[]);
        assert_eq!(settled.attempts[0].state, state);
        assert_eq!(settled.value.is_some(), state == SourceState::Resolved);
    }
    let keys = SourceReading { gap: Some(Gap::KeyMissing(vec!["fip".to_owned()])), ..configmap(None) };
    assert!(message(&online(&[keys, env(None)], &[])).contains("the field is not; it has fip"));
}

#[test]
fn what_a_person_set_in_the_knowledge_of_the_source_holds_nobody() {
    let set = Pin { over: Some("10.0.9.9".to_owned()), ..pin("10.0.3.7") };
    let settled = online(&[configmap(Some("10.0.9.9")), env(None)], std::slice::from_ref(&set));
    assert_eq!((settled.state, settled.value.as_deref(), settled.reason), (LateState::Pinned, Some("10.0.3.7"), None));
    let settled = online(&[configmap(Some("10.0.9.10")), env(None)], &[set]);
    assert_eq!(settled.state, LateState::Differs);
}

#[test]
fn a_value_that_is_set_by_hand_is_never_taken_from_its_source() {
    let policy = policy(json!({"pin": "manual"}));
    let settled = run(&policy, &[configmap(Some("10.0.9.9")), env(None)], &[], Reach::Cluster);
    assert_eq!((settled.state, settled.value.as_deref(), settled.pin.is_some()), (LateState::Missing, None, false));
    assert!(message(&settled).contains("set by hand only"), "{}", message(&settled));
    let settled = run(&policy, &[configmap(Some("10.0.9.9")), env(None)], &[pin("10.0.3.7")], Reach::Cluster);
    assert_eq!((settled.value.as_deref(), settled.reason), (Some("10.0.3.7"), None));
}

#[test]
fn a_copy_of_somebody_elses_value_is_warned_about() {
    let copy =
        SourceReading { clone_of: Some("a copy by Kyverno of mgmt/images".to_owned()), ..configmap(Some("10.0.3.7")) };
    let settled = online(&[copy, env(None)], &[]);
    assert!(
        settled
            .warning
            .expect("a warning")
            .contains("is a copy by Kyverno of mgmt/images; take the value from its owner")
    );
}

#[test]
fn a_pin_of_another_release_is_no_value_of_one_that_waits_for_its_own() {
    let missing = [configmap(None), env(None)];
    let of = |source: &str| Pin { source: source.to_owned(), ..pin("10.0.0.1") };
    let other = run(&policy(json!({})), &missing, &[of("ConfigMap edge-1/c")], Reach::Cluster);
    assert_eq!((other.state, other.value), (LateState::Missing, None));
    let said = other.reason.expect("a reason").message;
    assert!(said.ends_with("its pin is from ConfigMap edge-1/c, which is of another release"), "{said}");
    for own in ["ConfigMap capo/c", "set by hand", "ConfigMap capo/d"] {
        let settled = run(&policy(json!({})), &missing, &[of(own)], Reach::Cluster);
        assert_eq!((settled.state, settled.value.as_deref()), (LateState::Pinned, Some("10.0.0.1")), "{own}");
    }
}
