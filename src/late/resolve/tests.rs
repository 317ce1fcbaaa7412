//! What goes into a stream and what comes out, for each way in which a placeholder can be written.

mod properties;
mod values;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::packing::tests::packed;
use super::resolve as resolve_with;
use super::*;
use crate::pin::Pin;
use crate::tree::{Value, json};
use crate::world::{LiveKind, LiveSource, SourceReading};

const VIP: &str = "10.0.3.7";

/// Resolves a stream whose objects are of no interest.
fn resolve(stream: &[u8], policy: &Policy, world: &World, reach: Reach) -> Resolution<'static> {
    let stream = Box::leak(Box::new(StreamText::from(stream.to_vec())));
    resolve_with(stream, &Inventory::default(), policy, world, reach)
}

fn policy(values: Value) -> Policy {
    let policy = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy", "lateValues": values});
    crate::policy::parse("p", policy.to_string().as_bytes()).expect("a policy")
}

fn vip_policy() -> Policy {
    policy(json!([{"name": "vip", "placeholders": ["55.55.55.55"], "type": "ip", "from": [{"env": "VIP"}]}]))
}

fn reading(name: &str, found: Option<&str>) -> SourceReading {
    SourceReading {
        value: name.to_owned(),
        place: 0,
        found: found.map(str::to_owned),
        source: format!("env {name}"),
        uid: None,
        resource_version: None,
        unread: None,
        gap: None,
        clone_of: None,
        fits: false,
        secret: false,
    }
}

fn world(readings: Vec<SourceReading>, pins: Vec<Pin>) -> World {
    let now = "2026-11-21T12:00:00Z".parse().expect("a time");
    World { readings, pins, ..World::new(LiveSource::new(LiveKind::None, "none"), Default::default(), now) }
}

fn known() -> World {
    world(vec![reading("vip", Some(VIP))], Vec::new())
}

/// Resolves with the VIP known; no reason may be left.
fn filled(stream: &str) -> String {
    let world = known();
    let policy = vip_policy();
    let resolution = resolve(stream.as_bytes(), &policy, &world, Reach::Cluster);
    assert_eq!(resolution.reasons, [], "{stream}");
    String::from_utf8(resolution.bytes.into_owned()).expect("text")
}

#[test]
fn every_style_of_scalar_is_filled_in_and_nothing_else_changes() {
    for before in [
        "a: 55.55.55.55\n",
        "a: 55.55.55.55",
        "a:   55.55.55.55   # was 1.2.3.4\nb: 'x'\n",
        "a: \"55.55.55.55\"\nb: '55.55.55.55'\n",
        "a: https://55.55.55.55:6443/x\n",
        "a: [55.55.55.55, \"https://55.55.55.55\", {b: 55.55.55.55/32}]\n",
        "a: |\n  canReach: 55.55.55.55\n  other: x\nb: 1\n",
        "a: |-\n  one 55.55.55.55\n\n  two 55.55.55.55\n",
        "a: >\n  folded 55.55.55.55\n  text\n",
        "a: one 55.55.55.55\n  goes on 55.55.55.55\n",
        "a: \"tab\\t55.55.55.55 \\u00e9\"\n",
        "a: 'it''s 55.55.55.55'\n",
        "a: &vip 55.55.55.55\nb: *vip\n",
        "a: !!str 55.55.55.55\n",
        "\u{feff}a: 55.55.55.55\r\nb: |\r\n  55.55.55.55\r\n",
        "{\"a\": \"55.55.55.55\", \"b\": [\"x-55.55.55.55\"]}\n",
        "# head\n---\n# Source: x\na: 55.55.55.55\n---\nb: 1\n---\n# tail\n",
        "- 55.55.55.55\n- a: 55.55.55.55-55.55.55.55\n",
        "a: é 55.55.55.55 ü\n",
    ] {
        assert_eq!(filled(before), before.replace("55.55.55.55", VIP));
    }
}

#[test]
fn comments_are_not_values() {
    let stream = "# 55.55.55.55\na: 1 # 55.55.55.55\n";
    let (policy, world) = (vip_policy(), known());
    let resolution = resolve(stream.as_bytes(), &policy, &world, Reach::Cluster);
    assert!(matches!(resolution.bytes, Cow::Borrowed(_)));
    assert_eq!(resolution.reasons, []);
    assert_eq!(resolution.reports[0].state, LateState::Unused);
    assert!(needed(stream.as_bytes()).is_empty());
}

#[test]
fn what_was_looked_through_in_vain_is_not_looked_through_for_the_same_words_again() {
    let stream = StreamText::from(b"a: 1\n---\nb: 55.55.55.55\n---\nc: 66.66.66.66\n".to_vec());
    let policy = vip_policy();
    assert_eq!(crate::late::needed(&stream, &policy).len(), 1);
    let words: Vec<&str> = policy.late_values.iter().flat_map(|late| &late.placeholders).map(String::as_str).collect();
    let starts = stream.in_vain(&words).expect("it was looked through");
    assert_eq!(starts.len(), 2);
    assert!(stream.in_vain(&["66.66.66.66"]).is_none(), "other words may stand there");
    let resolution = resolve_with(&stream, &Inventory::default(), &policy, &known(), Reach::Cluster);
    assert!(matches!(resolution.bytes, Cow::Owned(_)), "what stands there is found as before");
}

#[test]
fn a_stream_without_placeholders_is_handed_on_as_it_is() {
    let stream = StreamText::from(b"a: 155.55.55.55\n---\n{broken".to_vec());
    let (policy, world) = (vip_policy(), known());
    let resolution = resolve_with(&stream, &Inventory::default(), &policy, &world, Reach::Cluster);
    assert!(matches!(resolution.bytes, Cow::Borrowed(bytes) if std::ptr::eq(bytes, &stream.bytes()[..])));
}

#[test]
fn packed_content_is_filled_in() {
    let inner = "#cloud-config\nvip: 55.55.55.55\n";
    let after = inner.replace("55.55.55.55", VIP);
    let document = |text: &str| format!("kind: Secret\ndata:\n  value: {}\n", STANDARD.encode(text));
    assert_eq!(filled(&document(inner)), document(&after));
    let long = "a line of text before it\n".repeat(4) + inner;
    let wrapped = |text: &str| {
        let letters = STANDARD.encode(text);
        let lines: Vec<_> = letters.as_bytes().chunks(60).map(String::from_utf8_lossy).collect();
        format!("data:\n  value: |\n    {}\nnext: 1\n", lines.join("\n    "))
    };
    assert_eq!(filled(&wrapped(&long)), wrapped(&long.replace("55.55.55.55", VIP)));
}

#[test]
fn text_stays_text_and_an_integer_stays_an_integer() {
    let policy = policy(json!([
        {"name": "port", "placeholders": ["PORT"], "type": "integer", "from": [{"env": "P"}]},
        {"name": "word", "placeholders": ["WORD"], "from": [{"env": "W"}]},
        {"name": "number", "placeholders": ["99999"], "type": "integer", "from": [{"env": "N"}]}]));
    let world = world(
        vec![reading("port", Some("6443")), reading("word", Some("yes")), reading("number", Some("7"))],
        Vec::new(),
    );
    let stream =
        "a: PORT\nb: \"PORT\"\nc: x-PORT\nd: WORD\ne: 'WORD'\nf: [WORD]\ng: 99999\nh: \"99999\"\ni: |\n  WORD\n";
    let resolution = resolve(stream.as_bytes(), &policy, &world, Reach::Cluster);
    assert_eq!(resolution.reasons, []);
    assert_eq!(
        String::from_utf8_lossy(&resolution.bytes),
        "a: 6443\nb: \"6443\"\nc: x-6443\nd: \"yes\"\ne: 'yes'\nf: [\"yes\"]\ng: 7\nh: \"7\"\ni: |\n  yes\n"
    );
    assert_eq!(resolution.reports[0].places, 3);
}

#[test]
fn a_value_with_marks_of_yaml_in_it_is_quoted_where_it_must_be() {
    let policy = policy(json!([{"name": "v", "placeholders": ["@V@"], "from": [{"env": "V"}]}]));
    for value in [
        "a: b",
        "x #y",
        "it's",
        "say \"x\"",
        "{a}",
        "- x",
        "*x",
        "two\nlines",
        "tab\tbed",
        "é",
        "C:\\x",
        "key:",
        "a,b]",
    ] {
        for (stream, read) in [
            ("k: pre-@V@-post\n", "/k"),
            ("k: '@V@'\n", "/k"),
            ("k: \"@V@\"\n", "/k"),
            ("k: [a, x@V@]\n", "/k/1"),
            ("k: |\n  @V@\n", "/k"),
            ("k: >-\n  @V@\n", "/k"),
        ] {
            let world = world(vec![reading("v", Some(value))], Vec::new());
            let resolution = resolve(stream.as_bytes(), &policy, &world, Reach::Cluster);
            let json = |bytes: &[u8]| crate::yaml::read(bytes).expect("readable").to_json().expect("json");
            let before = json(stream.as_bytes());
            let expected = before.pointer(read).and_then(Value::as_str).expect("text").replace("@V@", value);
            assert_eq!(resolution.reasons, [], "{value:?} in {stream:?}");
            assert_eq!(json(&resolution.bytes).pointer(read), Some(&json!(expected)), "{value:?} in {stream:?}");
        }
    }
}

#[test]
fn a_placeholder_in_a_key_is_left_and_holds_with_its_place() {
    let stream = "kind: A\nmetadata: {name: one}\n---\nkind: ConfigMap\nmetadata:\n  name: two\n  namespace: ns\ndata:\n  55.55.55.55: x\n  a: 55.55.55.55\n";
    let (policy, world) = (vip_policy(), known());
    let resolution = resolve(stream.as_bytes(), &policy, &world, Reach::Cluster);
    assert_eq!(resolution.reasons.len(), 1);
    let reason = &resolution.reasons[0];
    assert_eq!((reason.gate.as_str(), reason.decision), ("placeholder", Decision::Hold));
    assert_eq!(
        reason.message,
        "a placeholder of late value vip is left in document 2 (ConfigMap ns/two), line 9, column 3: the key of a field"
    );
    assert_eq!(String::from_utf8_lossy(&resolution.bytes), stream.replace("a: 55.55.55.55", "a: 10.0.3.7"));
    assert_eq!(resolution.reports[0].places, 1);
}

#[test]
fn an_address_of_the_other_version_is_written_as_its_place_wants_or_refused_by_name() {
    let policy = vip_policy();
    let world = world(vec![reading("vip", Some("fd00::7"))], Vec::new());
    let stream = "a: https://55.55.55.55:6443\nb: 55.55.55.55/32\nc: 55.55.55.55:80\nd: 55.55.55.55\n";
    let resolution = resolve(stream.as_bytes(), &policy, &world, Reach::Cluster);
    assert_eq!(resolution.reasons, []);
    let read = crate::yaml::read(&resolution.bytes).expect("readable").to_json().expect("json");
    assert_eq!(read, json!({"a": "https://[fd00::7]:6443", "b": "fd00::7/128", "c": "[fd00::7]:80", "d": "fd00::7"}));
    let packed = format!("a: {}\n", STANDARD.encode("host: x.55.55.55.55.nip.io"));
    let resolution = resolve(packed.as_bytes(), &policy, &world, Reach::Cluster);
    assert_eq!(resolution.reasons.len(), 1);
    assert!(
        resolution.reasons[0].message.ends_with("an IPv6 address cannot be a part of a name"),
        "{:?}",
        resolution.reasons
    );
}

#[test]
fn a_document_that_cannot_be_read_is_undecided_only_where_it_may_hold_a_placeholder() {
    let (policy, world) = (vip_policy(), known());
    let resolution = resolve(b"a: 1\n---\na: {55.55.55.55\n", &policy, &world, Reach::Cluster);
    assert_eq!(resolution.reasons[0].decision, Decision::Undecided);
    assert!(resolution.reasons[0].message.starts_with("line "), "{:?}", resolution.reasons);
    assert_eq!(needed(b"a: 1\n---\na: {55.55.55.55\n"), ["vip"]);
}

#[test]
fn only_what_the_stream_needs_is_needed() {
    let policy = policy(json!([
        {"name": "vip", "placeholders": ["55.55.55.55"], "from": [{"env": "A"}]},
        {"name": "fip", "placeholders": ["66.66.66.66"], "from": [{"env": "B"}]},
        {"name": "packed", "placeholders": ["77.77.77.77"], "from": [{"env": "C"}]},
        {"name": "hidden", "placeholders": ["to be done"], "from": [{"env": "D"}]}]));
    let stream = format!(
        "a: 55.55.55.55\n# 66.66.66.66\nb: {}\nc: it is to\n  be\n  done\n",
        STANDARD.encode("ip: 77.77.77.77")
    );
    let names: Vec<String> = crate::late::needed(&StreamText::from(stream.into_bytes()), &policy).into_iter().collect();
    assert_eq!(names, ["hidden", "packed", "vip"]);
}

fn needed(stream: &[u8]) -> Vec<String> {
    crate::late::needed(&StreamText::from(stream.to_vec()), &vip_policy()).into_iter().collect()
}

#[test]
fn a_value_in_a_template_named_by_a_hash_is_a_finding() {
    let template = |kind: &str, name: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{ip: 55.55.55.55}}\n"
        )
    };
    let (policy, world) = (vip_policy(), known());
    for (kind, name, found) in [
        ("OpenStackMachineTemplate", "demo-cp-4d1f0a9c7e", 1),
        ("OpenStackMachineTemplate", "demo-control-plane", 0),
        ("OpenStackMachineTemplate", "demo-facade", 0),
        ("OpenStackCluster", "demo-4d1f0a9c7e", 0),
    ] {
        let stream = template(kind, name);
        let resolution = resolve(stream.as_bytes(), &policy, &world, Reach::Cluster);
        assert_eq!(resolution.findings.len(), found, "{kind} {name}");
    }
}

/// Resolves with the VIP known, under a policy with more in it.
fn with(more: Value, stream: &str) -> Resolution<'_> {
    let mut root = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy", "lateValues": [
        {"name": "vip", "placeholders": ["55.55.55.55"], "type": "ip", "from": [{"env": "VIP"}]}]});
    for (key, value) in more.as_object().expect("a map") {
        root[key] = value.clone();
    }
    let policy = crate::policy::parse("p", root.to_string().as_bytes()).expect("a policy");
    let resolution = resolve(stream.as_bytes(), &policy, &known(), Reach::Cluster);
    // Nothing of it is borrowed from the policy.
    Resolution { bytes: Cow::Owned(resolution.bytes.into_owned()), ..resolution }
}

#[test]
fn a_key_is_filled_in_on_request_unless_two_keys_would_be_the_same() {
    let late =
        json!([{"name": "vip", "placeholders": ["55.55.55.55"], "type": "ip", "keys": true, "from": [{"env": "VIP"}]}]);
    for (before, after) in [
        ("a:\n  55.55.55.55: x\n", "a:\n  10.0.3.7: x\n"),
        ("a: {\"x/55.55.55.55\": 55.55.55.55}\n", "a: {\"x/10.0.3.7\": 10.0.3.7}\n"),
        ("? 55.55.55.55\n: x\n", "? 10.0.3.7\n: x\n"),
    ] {
        let resolution = with(json!({"lateValues": late}), before);
        assert_eq!((resolution.reasons.as_slice(), &*resolution.bytes), (&[][..], after.as_bytes()), "{before}");
    }
    let twice = "a:\n  55.55.55.55: x\n  10.0.3.7: y\n";
    let resolution = with(json!({"lateValues": late}), twice);
    assert_eq!(&*resolution.bytes, twice.as_bytes());
    assert!(resolution.reasons[0].message.ends_with("it would become the same key as another field"));
}

#[test]
fn a_place_that_the_policy_leaves_out_stays_and_holds() {
    let stream = "kind: ConfigMap\nmetadata: {name: docs}\ndata:\n  README: use 55.55.55.55\n  vip: 55.55.55.55\n";
    let resolution = with(json!({"resolve": {"skip": [{"name": "docs", "path": "data.README"}]}}), stream);
    assert_eq!(String::from_utf8_lossy(&resolution.bytes), stream.replace("vip: 55.55.55.55", "vip: 10.0.3.7"));
    let [reason] = resolution.reasons.as_slice() else { panic!("{:?}", resolution.reasons) };
    assert_eq!((reason.gate.as_str(), reason.decision), ("placeholder", Decision::Hold));
    assert!(
        reason.message.ends_with("line 4, column 11: resolve.skip[0] of the policy leaves this place out"),
        "{}",
        reason.message
    );
    let only = with(json!({"resolve": {"only": [{"kind": "ConfigMap"}]}}), stream);
    assert_eq!((only.reasons.len(), only.reports[0].places), (0, 2));
    let other = with(json!({"resolve": {"only": [{"kind": "Secret"}]}}), stream);
    assert_eq!((other.reasons.len(), other.reports[0].places, &*other.bytes), (2, 0, stream.as_bytes()));
}

#[test]
fn each_place_is_told_with_its_line_and_packing() {
    let packed = STANDARD.encode("vip: 55.55.55.55");
    let stream = format!(
        "# head\nkind: A\nmetadata: {{name: one}}\n---\nkind: ConfigMap\nmetadata: {{name: c, namespace: ns}}\ndata:\n  \
         url: https://55.55.55.55/?x=55.55.55.55\n  file: |\n    a\n    b 55.55.55.55\n    c {packed}\nlist: [x, 55.55.55.55]\n"
    );
    let resolution = with(json!({}), &stream);
    let places: Vec<String> = resolution.reports[0]
        .filled
        .iter()
        .map(|place| {
            format!("{} {} {} {}", place.object, place.path, place.line, place.encoding.as_deref().unwrap_or("-"))
        })
        .collect();
    assert_eq!(
        places,
        [
            "ConfigMap ns/c data.url 8 -",
            "ConfigMap ns/c data.url 8 -",
            "ConfigMap ns/c data.file 11 -",
            "ConfigMap ns/c data.file 12 base64",
            "ConfigMap ns/c list[1] 13 -",
        ]
    );
    assert_eq!(resolution.reports[0].places, 5);
}

#[test]
fn two_late_values_with_one_placeholder_are_one_value() {
    let late = |source: &str| {
        json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy", "lateValues": [
            {"name": "vip", "placeholders": ["55.55.55.55"], "type": "ip", "from": [{"env": "VIP"}]},
            {"name": "api", "placeholders": ["55.55.55.55"], "type": "ip", "from": [{"env": source}]}]})
    };
    assert!(crate::policy::parse("p", late("OTHER").to_string().as_bytes()).is_err());
    let resolution = with(late("VIP"), "a: 55.55.55.55\n");
    assert_eq!((resolution.reasons.as_slice(), &*resolution.bytes), (&[][..], b"a: 10.0.3.7\n".as_slice()));
    assert_eq!(resolution.reports.iter().map(|report| report.places).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn a_checksum_that_the_chart_made_of_a_placeholder_is_found() {
    let sha = |text: &str| {
        use sha2::Digest as _;
        sha2::Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {vip: 55.55.55.55}";
    let stream = |checksum: &str| {
        format!(
            "---\n# Source: x/templates/c.yaml\n{config}\n---\n# Source: x/templates/d.yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\n\
             spec: {{template: {{metadata: {{annotations: {{checksum/config: {checksum}}}}}}}}}\n"
        )
    };
    for (checksum, found) in [
        (sha(&format!("{config}\n")), 1),
        (sha(config), 1),
        (sha("55.55.55.55"), 1),
        (format!("cp-{}", &sha("55.55.55.55")[..10]), 1),
        (sha("something else"), 0),
    ] {
        let stream = StreamText::from(stream(&checksum).into_bytes());
        let objects = &stream.stream().expect("a stream").objects;
        let resolution = resolve_with(&stream, objects, &vip_policy(), &known(), Reach::Cluster);
        let about = resolution.findings.iter().filter(|finding| finding.id == "late-value-in-checksum");
        let names: Vec<&str> = about.map(|finding| finding.object.name.as_str()).collect();
        assert_eq!(names, vec!["d"; found], "{checksum}");
        let later = World { readings: vec![reading("vip", None)], ..known() };
        let unknown = resolve_with(&stream, objects, &vip_policy(), &later, Reach::Cluster);
        assert!(unknown.findings.iter().all(|finding| finding.id != "late-value-in-checksum"));
    }
}
