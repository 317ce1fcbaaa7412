//! A secret that goes in never comes out: alone, behind encodings, in whatever stands around it. The first byte says how it is written, the
//! second where, the rest is put around it.
#![no_main]

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use libfuzzer_sys::fuzz_target;
use rollgate::facade::compare::redact::{MarkKey, Redactor};
use rollgate::facade::object::{Key, Path};
use rollgate::facade::tree::Value;
use serde_json::json;

const CANARY: &str = "canary7Zq\"9+hunter";

fn written(way: u8) -> String {
    let escaped = |text: &str| Value::from(text).to_string().trim_matches('"').to_owned();
    match way % 7 {
        0 => CANARY.to_owned(),
        1 => BASE64_STANDARD.encode(CANARY),
        2 => BASE64_URL_SAFE_NO_PAD.encode(CANARY),
        3 => CANARY.bytes().map(|byte| format!("{byte:02x}")).collect(),
        4 => escaped(CANARY),
        5 => escaped(&escaped(CANARY)),
        _ => BASE64_STANDARD.encode(BASE64_STANDARD.encode(CANARY)),
    }
}

fuzz_target!(|input: (u8, u8, &str, &str)| {
    let (way, place, before, after) = input;
    let secret = written(way);
    // Set off from what stands around it: glued to other letters an encoding is another text.
    let text = format!("{before} {secret}\n{after}");
    let mut redactor = Redactor::new(&MarkKey::fresh());
    let lone = Key::new("v1", "Secret", Some("n"), "s");
    redactor.learn(&lone, &json!({"stringData": {"a": CANARY}}).into());
    let key = Key::new("controlplane.cluster.x-k8s.io/v1beta1", "RKE2ControlPlane", Some("n"), "cp");
    let object = match place % 5 {
        0 => json!({"spec": {"files": [{"path": "/etc/x", "content": text}]}}),
        1 => json!({"spec": {"preRKE2Commands": [text]}}),
        2 => json!({"metadata": {"annotations": {"a": text}}}),
        3 => json!({"spec": {"serverConfig": {text.clone(): 1}, "agentConfig": {"a": [text]}}}),
        _ => json!({"status": {"message": text}}),
    };
    let shown = redactor.value(&key, &Path::root(), None, &object.into()).to_string();
    for form in [CANARY, &secret, "hunter", "7Zq"] {
        if !before.contains(form) && !after.contains(form) {
            assert!(!shown.contains(form), "{form} in {shown}");
        }
    }
});
