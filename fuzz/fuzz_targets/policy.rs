//! Any policy is read or refused, and one that is read says the same when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rollgate::facade::policy;

fuzz_target!(|bytes: &[u8]| {
    let Ok(first) = policy::parse("rollgate.yaml", bytes) else { return };
    let written = serde_json::to_vec(&first).expect("a policy can be written");
    let again = policy::parse("rollgate.yaml", &written).expect("what was written is a policy");
    assert_eq!(first, again);
});
