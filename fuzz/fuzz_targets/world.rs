//! Any World file is read or refused; one that is read is written and read again, and its marks can be taken for any stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rollgate::facade::compare::redact::MarkKey;
use rollgate::facade::object::Inventory;
use rollgate::facade::world::snapshot::{self, Snapshot};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut first) = Snapshot::read(bytes) else { return };
    let written = serde_json::to_vec(&first).expect("a snapshot can be written");
    assert!(snapshot::is_snapshot(&written));
    assert!(Snapshot::read(&written).is_ok());
    let rendered: Inventory = first.world.live.objects().to_vec().into();
    snapshot::reveal(&mut first.world, Some(&MarkKey::fresh()), &first.redact, &[&rendered]);
});
