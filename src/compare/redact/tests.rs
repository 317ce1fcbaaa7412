//! What is hidden and what stays, on whole objects and changes.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;

use super::*;
use crate::tree::json;

fn shown(kind: &str, object: &Value) -> String {
    let api_version = if matches!(kind, "Secret" | "ConfigMap") { "v1" } else { "x.cluster.x-k8s.io/v1beta1" };
    let key = Key::new(api_version, kind, None, "x");
    Redactor::new(&MarkKey::fresh()).value(&key, &Path::root(), None, object).to_string()
}

#[test]
fn every_value_of_a_secret_is_hidden_and_its_keys_are_not() {
    let text = shown(
        "Secret",
        &json!({"metadata": {"name": "s"}, "data": {"tls.key": "Y2FuYXJ5"}, "stringData": {"a": "canary"}}),
    );
    assert!(!text.contains("canary") && !text.contains("Y2FuYXJ5") && text.contains("tls.key"), "{text}");
}

#[test]
fn secrets_are_found_in_the_fields_of_every_kind() {
    let cases = [
        json!({"spec": {"users": [{"name": "a", "passwd": "canary"}]}}),
        json!({"spec": {"initConfiguration": {"bootstrapTokens": [{"token": "canary"}]}}}),
        json!({"spec": {"files": [{"path": "/etc/kubernetes/pki/ca.key", "content": "canary"}]}}),
        json!({"spec": {"topology": {"variables": [{"name": "registryPassword", "value": "canary"}]}}}),
        json!({"spec": {"topology": {"variables": [{"name": "registry", "value": {"password": "canary"}}]}}}),
        json!({"spec": {"files": [{"path": "/a", "content": "x: 1\npassword: canary\n"}]}}),
        json!({"spec": {"files": [{"path": "/a", "encoding": "base64", "content": BASE64_STANDARD.encode("token: canary-token")}]}}),
        json!({"spec": {"preKubeadmCommands": ["export HTTPS_PROXY=http://user:canary@proxy:3128"]}}),
        json!({"spec": {"certificateKey": "canary"}}),
        json!({"spec": {"credentials": {"clientSecret": "canary"}}}),
    ];
    for case in cases {
        let text = shown("KubeadmControlPlane", &case);
        assert!(!text.contains("canary") && text.contains("<redacted:"), "{text}");
        assert!(!text.contains(&BASE64_STANDARD.encode("token: canary-token")), "{text}");
    }
}

#[test]
fn what_machines_are_started_with_is_guarded_whatever_its_provider_calls_it() {
    let cases = [
        json!({"additionalMetadata": [{"key": "startup-script", "value": "useradd -p wolf-tango-nine ops"}]}),
        json!({"vmExtensions": [{"name": "join", "publisher": "Microsoft.Azure", "version": "2.1",
            "protectedSettings": {"commandToExecute": "./join.sh wolf-tango-nine"}}]}),
        json!({"vmExtensions": [{"name": "join", "settings": {"commandToExecute": "./join.sh wolf-tango-nine"}}]}),
        json!({"installImage": {"postInstallScript": "useradd -p wolf-tango-nine ops"}}),
        json!({"metadata": {"user_data": "wolf-tango-nine"}}),
        json!({"extendedMetadata": {"a": {"b": "wolf-tango-nine"}}}),
        json!({"volumes": [{"cloudInitNoCloud": {"networkData": "wifis: {w: {key-x: wolf-tango-nine}}"}}]}),
        json!({"provisionJob": {"sshCommand": "sshpass -p wolf-tango-nine ssh", "scpCommand": "scp -X wolf-tango-nine"}}),
        json!({"containers": [{"name": "a", "command": ["sh", "-c", "join wolf-tango-nine"]}]}),
        json!({"lifecycleHooks": [{"notificationMetadata": "wolf-tango-nine"}]}),
        json!({"rootPass": "wolf-tango-nine"}),
    ];
    for case in cases {
        let text = shown("XMachineTemplate", &json!({"spec": {"template": {"spec": case}}}));
        assert!(!text.contains("wolf") && text.contains("<redacted:"), "{text}");
        assert!(!text.contains("commandToExecute") || text.contains(r#""name":"join""#), "{text}");
    }
    let plain = json!({"metadata": {"name": "wolf-tango-nine", "labels": {"a": "wolf-tango-nine"}}, "spec": {"template": {
        "metadata": {"labels": {"a": "wolf-tango-nine"}}, "spec": {"image": "wolf-tango-nine", "flavor": "wolf-tango-nine",
        "networkData": {"links": {"ethernets": [{"id": "wolf-tango-nine"}]}}, "imageURLCommand": "wolf-tango-nine",
        "vmExtensions": [{"name": "wolf-tango-nine", "publisher": "wolf-tango-nine", "version": "1.0"}],
        "additionalNetworkTags": ["wolf-tango-nine"], "additionalMetadata": [{"key": "wolf-tango-nine", "value": "true"}]}}}});
    assert_eq!(shown("XMachineTemplate", &plain), plain.to_string());
}

#[test]
fn what_an_api_server_says_of_an_object_shows_nothing_that_is_hidden_in_it() {
    let redactor = Redactor::new(&MarkKey::fresh()).with_names(["demo"]);
    let key = Key::new("bootstrap.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate", None, "demo");
    let object = json!({"metadata": {"name": "demo"}, "spec": {"template": {"spec": {"files": [
        {"path": "/etc/x", "content": "wolf hunter2q"}], "preKubeadmCommands": ["login hunter3q"]}}}});
    let said = |words: &str| redactor.answer(&key, &object, words);
    for words in [
        r#"X "demo" is invalid: spec.template.spec.files[0].content: Invalid value: "wolf hunter2q": too short"#,
        r#"X "demo" is invalid: spec.x: Invalid value: v1beta1.File{Path:"/etc/x", Content:"hunter2q"}: bad"#,
        r#"X "demo" is invalid: spec.x: Unsupported value: "hunter2q": supported values: "a", "b""#,
        r#"admission webhook "v.example.org" denied the request: content hunter2q of demo is too weak"#,
        r#"admission webhook "v.example.org" denied the request: 'login hunter3q' of demo is not allowed"#,
        r#"error found in #10 byte of ...|ontent":"hunter2q"|..., bigger context of demo"#,
    ] {
        let shown = said(words);
        assert!(!shown.contains("hunter") && !shown.contains("wolf"), "{shown}");
        assert!(shown.contains("demo") && shown.contains("<redacted:"), "{shown}");
    }
    for words in [
        r#"X "demo" is invalid: spec.version: Unsupported value: "v1.31.0": supported values: "a", "b""#,
        r#"admission webhook "validation.kubeadmconfigtemplate.bootstrap.cluster.x-k8s.io" denied the request: spec.replicas: Forbidden"#,
        r#"failed calling webhook "v.example.org": Post "https://capi.capi-system.svc:443/validate?timeout=10s": no endpoints"#,
        "exceeded quota: machines, requested: count/machines=1, used: count/machines=3, limited: count/machines=3",
    ] {
        assert_eq!(said(words), words);
    }
}

#[test]
fn a_long_number_of_a_secret_is_hidden_as_a_word_and_a_short_one_is_not() {
    let mut redactor = Redactor::new(&MarkKey::fresh());
    let data =
        json!({"pin": BASE64_STANDARD.encode("83726491"), "id": BASE64_STANDARD.encode("372649"), "port": "NjQ0Mw=="});
    redactor.learn(
        &Key::new("v1", "Secret", None, "s"),
        &json!({"data": data, "stringData": {"a": "10.9.8.7", "b": "true"}}),
    );
    for text in ["unlock 83726491 1", "unlock=372649"] {
        assert!(redactor.text(text).starts_with("unlock") && redactor.text(text).contains("<redacted:"), "{text}");
    }
    for text in ["https://10.9.8.7:6443 true", "id 1837264912", "size 3726490", "sha256:a372649b", "4711"] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn what_only_names_a_secret_is_shown() {
    let object = json!({"spec": {"files": [{"contentFrom": {"secret": {"name": "my-secret", "key": "value"}}}],
        "identityRef": {"kind": "Secret", "name": "cloud-config"}, "secretName": "s", "tokenTTL": "24h",
        "sshAuthorizedKeys": ["ssh-ed25519 AAAA me"], "privateKeyFile": "/etc/x"}});
    assert_eq!(shown("KubeadmControlPlane", &object), object.to_string());
}

#[test]
fn arguments_that_tell_nothing_secret_are_shown() {
    let labels = "ip=${COREOS_EC2_IPV4},role=worker,example.com/machine-pool=test-def00";
    let object = |name: &str, value: &str| {
        json!({"spec": {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": name, "value": value}],
            "taints": []}, "controlPlane": {"extraArgs": {name: value}}}}})
    };
    let plain = object("node-labels", labels);
    assert_eq!(shown("KubeadmConfig", &plain), plain.to_string());
    for (name, value) in [("canary", labels), ("node-labels", "a=h7Gk2pQz9LxWv4Ts"), ("node-labels", "u:p@canary")] {
        assert!(!shown("KubeadmConfig", &object(name, value)).contains(value), "{name} {value}");
    }
}

#[test]
fn what_a_class_says_of_a_variable_is_shown_and_what_it_chooses_is_not() {
    let words = "Default: SCS-2V-4, replace it by a larger one";
    let schema = |own: Value| json!({"spec": {"variables": [{"name": "flavor", "schema": {"openAPIV3Schema": own}}]}});
    let object = schema(json!({"type": "string", "description": words}));
    assert_eq!(shown("ClusterClass", &object), object.to_string());
    for hidden in [json!({"default": "h7Gk2pQz9LxWv4Ts"}), json!({"description": "password: canary-h7Gk2pQz9LxWv4Ts"})]
    {
        let text = shown("ClusterClass", &schema(hidden));
        assert!(!text.contains("h7Gk2pQz9LxWv4Ts"), "{text}");
    }
    let property = json!({"properties": {"description": {"default": "h7Gk2pQz9LxWv4Ts"}}});
    assert!(!shown("ClusterClass", &schema(property)).contains("h7Gk2pQz9LxWv4Ts"));
}

#[test]
fn a_changed_secret_shows_as_two_marks() {
    let mut redactor = Redactor::new(&MarkKey::fresh());
    let key = Key::new("v1", "Secret", None, "s");
    let path = Path::parse("data.a").expect("a path");
    let mut change = Change::unjudged(path, Some(json!("b2xkLXZhbHVl")), Some(json!("bmV3LXZhbHVl")));
    redactor.learn(&key, &json!({"data": {"a": "b2xkLXZhbHVl"}}));
    redactor.change(&key, &mut change);
    assert_ne!(change.before, change.after);
    assert!(change.before.as_ref().and_then(Value::as_str).is_some_and(|text| text.starts_with("<redacted:")));
    assert!(!redactor.text("it was old-value before").contains("old-value"));
}

#[test]
fn a_leaf_change_in_a_named_item_is_known_by_that_name() {
    let redactor = Redactor::new(&MarkKey::fresh());
    let key = Key::new("x.cluster.x-k8s.io/v1", "KubeadmConfigTemplate", None, "x");
    let path = Path::parse("spec.template.spec.files[2].content").expect("a path");
    let mut change = Change::unjudged(path, None, Some(json!("canary")));
    change.item = Some("/root/.ssh/id_rsa".into());
    redactor.change(&key, &mut change);
    assert_ne!(change.after, Some(json!("canary")));
}

#[test]
fn a_secret_is_hidden_behind_encodings_of_a_part_of_a_text() {
    let encoded = BASE64_STANDARD.encode("export TOKEN=canary-of-old");
    let twice = BASE64_STANDARD.encode(format!("sh -c {encoded}"));
    let redactor = Redactor::new(&MarkKey::fresh());
    for word in [&encoded, &twice] {
        let shown = redactor.text(&format!("echo {word} | base64 -d | sh"));
        assert!(!shown.contains(word.as_str()) && shown.starts_with("echo <redacted:"), "{shown}");
    }
    let mut redactor = Redactor::new(&MarkKey::fresh());
    let key = Key::new("x.cluster.x-k8s.io/v1", "A", None, "x");
    redactor.learn(&key, &json!({"spec": {"commands": [format!("echo {twice} | sh")]}}));
    assert!(!redactor.text("it was canary-of-old").contains("canary"));
    let harmless = BASE64_STANDARD.encode("nothing to see in here");
    assert_eq!(redactor.text(&harmless), harmless);
}

#[test]
fn a_policy_can_name_more_places() {
    let redactor = Redactor::new(&MarkKey::fresh()).with_patterns(["spec.**.community"]);
    let key = Key::new("x.cluster.x-k8s.io/v1", "A", None, "x");
    let text =
        redactor.value(&key, &Path::root(), None, &json!({"spec": {"a": [{"community": "canary"}]}})).to_string();
    assert!(!text.contains("canary"));
}

/// What one step of a run says of a text.
fn step(redactor: &mut Redactor, number: u8, text: &str) -> String {
    let key = Key::new("controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlane", None, "x");
    let object =
        json!({"spec": {"files": [{"path": text, "content": text}], "version": text, "commands": [text, text]}});
    match number % 5 {
        0 => redactor.learn(&key, &object),
        1 => redactor.remember(text),
        2 => redactor.remember_part(text),
        3 => return redactor.value(&key, &Path::root(), None, &object).to_string(),
        _ => return format!("{} {}", redactor.text(text), redactor.quoted(&format!("invalid: \"{text}\""))),
    }
    String::new()
}

proptest! {
    /// With what was looked at before, and where each text is looked at each time, every text comes out the same: also where nearly all
    /// that may be unpacked is used up.
    #[test]
    fn what_was_looked_at_before_hides_as_what_is_looked_at_now(
        words in prop::collection::vec(prop::sample::select(vec![
            "password: canary-one", "canary-one", "canary-two", "plain", "TOKEN=canary-two run", "v1.31.0", "a.b/c",
            "ZXhwb3J0IFRPS0VOPWNhbmFyeS1vZi1vbGQ=", "H4sIAAAAAAAAA0tMTEpOTEwCAJ/kpGQHAAAA", "control-plane-template-V2", "x\\ny: |\n  z",
        ]), 1..4),
        steps in prop::collection::vec((any::<u8>(), 0_usize..4), 1..24),
        left in prop::sample::select(vec![0, 40, 16 * 1024 * 1024, 16 * 1024 * 1024 + 90, 32 * 1024 * 1024]),
    ) {
        let key = MarkKey::of_text("a key of more than thirty-two letters").expect("a key");
        let mut both = [Redactor::new(&key), Redactor::new(&key)];
        both.iter_mut().for_each(|redactor| redactor.budget = Budget::of(left));
        (both[1].looked.is_off, both[1].shaped.is_off, both[1].lines.is_off) = (true, true, true);
        for (number, from) in steps {
            let text = words[from.min(words.len() - 1)..].join(" ");
            let [memo, fresh] = &mut both;
            prop_assert_eq!(step(memo, number, &text), step(fresh, number, &text));
            prop_assert_eq!(memo.budget.left(), fresh.budget.left());
        }
    }
}
