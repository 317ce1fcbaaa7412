//! Late values in whatever a chart wraps them in: nothing panics or hangs, and where a value was filled in and nothing was said against it,
//! no placeholder is left.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rollgate::late;
use rollgate::policy;

const POLICY: &[u8] = b"apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
- name: vip
  placeholders: [55.55.55.55]
  from: [{env: VIP}]
- name: word
  placeholders: [PLACEHOLDER]
  from: [{env: WORD}]
";

fuzz_target!(|bytes: &[u8]| {
    let policy = policy::parse("rollgate.yaml", POLICY).expect("a policy");
    let needed = late::needed(bytes, &policy);
    let standing = late::standing(bytes, &policy);
    // What stands in plain sight is needed.
    if let Some((name, _)) = standing {
        assert!(needed.contains(&name.to_string()), "{name}");
    }
});
