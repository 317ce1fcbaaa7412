//! The objects of a stream are the same however they are written: as they came, known by the head of each document, or as JSON that is
//! read whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rollgate::facade::object::{Key, Stream};

fuzz_target!(|bytes: &[u8]| {
    let bytes = bytes.to_vec().into();
    let Ok(stream) = Stream::load(&bytes) else { return };
    let mut json = String::new();
    let mut keys: Vec<Key> = Vec::new();
    for object in stream.objects.objects() {
        // What only shows when the whole document is read refuses the run later, and is no object here.
        let Ok(value) = object.value() else { return };
        json.push_str(&format!("{value}\n---\n"));
        keys.push(object.key.clone());
    }
    // JSON holds signs as they are that YAML takes for the end of a line.
    if json.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']) {
        return;
    }
    let again = Stream::load(&json.into()).expect("objects as JSON are a stream");
    let found: Vec<Key> = again.objects.objects().iter().map(|object| object.key.clone()).collect();
    assert_eq!(found, keys);
});
