//! Any bytes are read or refused: no panic, no hang, and the quick ways agree with the exact one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rollgate::facade::yaml;

fuzz_target!(|stream: &[u8]| {
    let Ok(sections) = yaml::split(stream) else { return };
    let mut at = 0;
    for section in &sections {
        assert_eq!(section.separator.start, at);
        assert_eq!(section.document.start, section.separator.end);
        at = section.document.end;
        document(stream, section);
    }
    assert_eq!(at, stream.len());
});

fn document(stream: &[u8], section: &yaml::Section) {
    let head = yaml::head(section.document.of(stream));
    let Ok(tree) = yaml::read_section(stream, section) else { return };
    if section.is_blank(stream) {
        assert!(tree.is_empty());
    }
    let mut json = Vec::new();
    // Go writes U+0085 into JSON as it is, where YAML reads it as a line break; such text is left out.
    let breaks = |json: &[u8]| json.windows(2).any(|pair| pair == [0xC2, 0x85]);
    if tree.write_json(&mut json).is_ok()
        && !breaks(&json)
        && let Ok(value) = tree.to_json()
        && let Ok(again) = yaml::read(&json)
    {
        // JSON is YAML: what was written reads as the same value.
        assert_eq!(again.to_json().ok(), Some(value));
    }
    if let Some(head) = head {
        let text = |path: &[&str]| {
            let path: Vec<_> = path.iter().map(|key| yaml::Segment::from(*key)).collect();
            tree.at(&path).and_then(|node| tree.string(node))
        };
        assert_eq!(text(&["apiVersion"]), Some(head.api_version));
        assert_eq!(text(&["kind"]), Some(head.kind));
        assert_eq!(text(&["metadata", "name"]), Some(head.name));
        assert_eq!(text(&["metadata", "namespace"]), head.namespace);
    }
}
