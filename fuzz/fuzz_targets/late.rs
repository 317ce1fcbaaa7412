//! Any stream goes through the late values: no panic, no hang in layers of base64 and gzip, nothing left where nothing is said, and
//! what is filled in once is filled in.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rollgate::facade::host::Host;
use rollgate::facade::late::{self, Reach};
use rollgate::facade::object::{Inventory, StreamText};
use rollgate::facade::policy::{self, Policy};
use rollgate::facade::world::{World, files};

const POLICY: &str = r#"
apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
- {name: vip, placeholders: ["55.55.55.55"], type: ip, from: [{env: VIP}]}
- {name: word, placeholders: ["@@W@@"], from: [{env: WORD}]}
"#;

/// A policy, and a World in which one value is known and the other is pinned.
static CASE: LazyLock<(Policy, World)> = LazyLock::new(|| {
    let policy = policy::parse("fuzz", POLICY.as_bytes()).expect("a policy");
    let mut world = files::nothing(&Host::default(), "2026-11-21T12:00:00Z".parse().expect("a time"));
    for (name, value) in [("vip", "fd00::7"), ("word", "it's: \"a\" #word")] {
        let pin = format!(r#"{{"name": "{name}", "value": {value:?}, "source": "x", "time": "2026-11-21T12:00:00Z"}}"#);
        world.pins.push(serde_json::from_str(&pin).expect("a pin"));
    }
    (policy, world)
});

fuzz_target!(|stream: &[u8]| {
    let (policy, world) = &*CASE;
    let stream = StreamText::from(stream.to_vec());
    let first = late::resolve(&stream, &Inventory::default(), policy, world, Reach::Files);
    if first.reasons.is_empty() {
        let bytes = StreamText::from(first.bytes.to_vec());
        assert!(late::needed(&bytes, policy).is_empty(), "a placeholder is left and nothing is said");
        let second = late::resolve(&bytes, &Inventory::default(), policy, world, Reach::Files);
        assert_eq!(first.bytes, second.bytes);
    }
});
