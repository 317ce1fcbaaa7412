//! Which value goes into a stream, what is said where none is known, and what is pinned.

use super::*;

#[test]
fn a_missing_value_leaves_the_stream_alone_and_gives_one_reason() {
    let stream = "a: 55.55.55.55\nb: 55.55.55.55\n";
    let (policy, world) = (vip_policy(), world(vec![reading("vip", None)], Vec::new()));
    let resolution = resolve(stream.as_bytes(), &policy, &world, Reach::Cluster);
    assert!(matches!(resolution.bytes, Cow::Borrowed(_)));
    assert_eq!(resolution.reasons.len(), 1);
    assert_eq!(resolution.reasons[0].decision, Decision::Undecided);
    assert_eq!((resolution.reports[0].state, resolution.reports[0].places), (LateState::Missing, 0));
    assert_eq!(resolution.pins, []);
}

#[test]
fn offline_an_unknown_value_is_a_symbol() {
    let from = json!([{"object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "path": "$.data.ip"}}]);
    let policy = policy(json!([{"name": "vip", "placeholders": ["55.55.55.55"], "type": "ip", "from": from}]));
    let world = world(Vec::new(), Vec::new());
    let resolution = resolve(b"a: 55.55.55.55\n", &policy, &world, Reach::Plan);
    assert_eq!((resolution.reasons.as_slice(), resolution.reports[0].state), (&[][..], LateState::Symbolic));
    let symbol = &resolution.symbolic[0];
    assert!(symbol.reaches("https://55.55.55.55:6443") && symbol.reaches(&STANDARD.encode("vip 55.55.55.55")));
    assert!(!symbol.reaches("10.0.3.7"));
}

#[test]
fn what_most_places_of_live_hold_is_judged_with_where_nothing_else_is_known_and_odd_places_are_named() {
    let stream = concat!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: ns}\ndata:\n",
        "  url: https://55.55.55.55:6443\n  packed: dmlwPTU1LjU1LjU1LjU1Cg==\n  list: [x, 55.55.55.55/32]\n  new: 55.55.55.55\n"
    );
    let live = |url: &str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "ns"},
            "data": {"url": url, "packed": STANDARD.encode("vip=10.0.3.7\n"), "list": ["new", "x", "10.0.3.7/32"]}});
        Inventory::from(vec![crate::object::Object::from_value(object, 0).expect("an object")])
    };
    let policy = vip_policy();
    for (url, held) in [
        ("https://10.0.3.7:6443", "10.0.3.7 in all 3 places of it"),
        ("https://10.0.3.8:6443", "10.0.3.7 in 2 places, 10.0.3.8 in ConfigMap ns/c: data.url"),
        ("https://api.example.org:6443", "10.0.3.7 in all 2 places of it"),
        ("https://55.55.55.55:6443", "10.0.3.7 in all 2 places of it"),
    ] {
        let world = World { live: live(url), ..world(vec![reading("vip", None)], Vec::new()) };
        let resolution = resolve(stream.as_bytes(), &policy, &world, Reach::Cluster);
        assert_eq!(resolution.reasons[0].decision, Decision::Undecided);
        let message = &resolution.reasons[0].message;
        assert!(message.ends_with(&format!("; live holds {held}")), "{message}");
        let judged = String::from_utf8_lossy(&resolution.bytes).into_owned();
        assert!(judged.contains("new: 10.0.3.7\n") && !judged.contains("55.55.55.55"), "{judged}");
        assert_eq!((resolution.symbolic.len(), resolution.pins.len()), (0, 0), "{url}");
    }
}

#[test]
fn two_ways_to_say_unknown_are_no_change_offline() {
    let symbol = Symbolic {
        name: "vip".to_owned(),
        placeholders: vec!["55.55.55.55".to_owned(), "@@VIP@@".to_owned()],
        equivalent: vec![String::new()],
    };
    for (before, after, same) in [
        ("55.55.55.55", "", true),
        ("", "55.55.55.55", true),
        ("https://55.55.55.55:6443", "https://@@VIP@@:6443", true),
        ("https://55.55.55.55:6443", "", false),
        ("55.55.55.55", "10.0.3.7", false),
        ("https://55.55.55.55:6443", "https://55.55.55.55:8443", false),
    ] {
        assert_eq!(symbol.equates(before, after), same, "{before} {after}");
    }
}

#[test]
fn the_first_value_is_to_be_pinned_and_a_pin_is_written() {
    let policy = vip_policy();
    let world = known();
    let resolution = resolve(b"a: 55.55.55.55\n", &policy, &world, Reach::Cluster);
    assert_eq!(resolution.pins.len(), 1);
    let again = super::tests::world(vec![reading("vip", Some("10.0.9.9"))], resolution.pins);
    let moved = resolve(b"a: 55.55.55.55\n", &policy, &again, Reach::Cluster);
    assert_eq!(&*moved.bytes, b"a: 10.0.3.7\n");
    assert_eq!(moved.reasons[0].decision, Decision::Hold);
    assert_eq!(moved.pins, []);
}

#[test]
fn a_secret_is_written_to_the_stream_and_nowhere_else() {
    let policy = policy(json!([{"name": "token", "placeholders": ["@@TOKEN@@"],
        "from": [{"object": {"apiVersion": "v1", "kind": "Secret", "name": "s", "path": "$.data.t"}}]}]));
    let secret = SourceReading { secret: true, ..reading("token", Some("hunter2hunter2")) };
    let world = world(vec![secret], Vec::new());
    let resolution = resolve(b"a: '@@TOKEN@@'\nb: \"@@TOKEN@@\"\n", &policy, &world, Reach::Cluster);
    assert_eq!(resolution.secrets, ["hunter2hunter2"]);
    assert!(String::from_utf8_lossy(&resolution.bytes).contains("hunter2hunter2"));
    let told = format!("{resolution:?} {:?} {:?} {:?}", resolution.reports, resolution.reasons, world.readings);
    assert!(!told.contains("hunter2"), "{told}");
}
