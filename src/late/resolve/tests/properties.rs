//! What holds for streams of any kind: what the places mean is filled in, and no other byte moves.

use proptest::prelude::*;

use super::*;

/// One line of a document with a placeholder in some style, or without one.
fn lines() -> impl Strategy<Value = String> {
    let text = "[a-z #:'\"{}*&!|>-]{0,12}";
    prop_oneof![
        text.prop_map(|text| format!("# {text} 55.55.55.55")),
        "[a-z]{1,8}".prop_map(|text| format!("k: {text} 55.55.55.55 {text}")),
        text.prop_map(|text| format!("k: '{} 55.55.55.55'", text.replace('\'', "''"))),
        text.prop_map(|text| format!("k: {}", Value::from(format!("{text} 55.55.55.55:1 {text}")))),
        "[a-z]{1,8}".prop_map(|text| format!("k: |\n    {text} 55.55.55.55\n\n    {text}")),
        "[a-z]{1,8}".prop_map(|text| format!("k: >-\n    {text}\n    55.55.55.55")),
        text.prop_map(|text| format!("k: {}", STANDARD.encode(format!("{text}\n 55.55.55.55 {text}")))),
        text.prop_map(|text| format!("k: {}", Value::from(text))),
        text.prop_map(|text| format!(
            "k: {}",
            Value::from(json!({"a": format!("{text} 55.55.55.55"), "b": [1]}).to_string())
        )),
        (text, any::<bool>()).prop_map(|(text, zstd)| format!(
            "k: {}",
            STANDARD.encode(packed(&format!("{text}\n55.55.55.55 {text}"), zstd))
        )),
    ]
}

/// Replaces the placeholder in every text of a tree, packed ones included.
fn intended(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            if let Some(inner) = crate::late::layers::open(text).filter(|inner| inner.contains("55.55.55.55")) {
                let layer = STANDARD.decode(text).expect("base64");
                let inner = inner.replace("55.55.55.55", VIP);
                return match layer.as_slice() {
                    [0x1F, 0x8B, ..] => json!(STANDARD.encode(packed(&inner, false))),
                    [0x28, 0xB5, ..] => json!(STANDARD.encode(packed(&inner, true))),
                    _ => json!(STANDARD.encode(inner)),
                };
            }
            json!(text.replace("55.55.55.55", VIP))
        }
        Value::Array(items) => items.iter().map(intended).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), intended(value))).collect(),
        other => other.clone(),
    }
}

proptest! {
    /// Whatever the style, the document reads as intended afterwards, comments stay, and nothing is left or held.
    #[test]
    fn a_filled_stream_reads_as_intended(lines in proptest::collection::vec(lines(), 1..8)) {
        let stream: String = lines.iter().enumerate()
            .map(|(place, line)| if line.starts_with('#') { format!("{line}\n") } else { format!("k{place}{}\n", &line[1..]) })
            .collect();
        let before = crate::yaml::read(stream.as_bytes()).expect("readable").to_json().expect("json");
        let after = filled(&stream);
        let read = crate::yaml::read(after.as_bytes()).expect("readable").to_json().expect("json");
        prop_assert_eq!(read, intended(&before));
        let comments = |text: &str| text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(comments(&after), comments(&stream));
        prop_assert_eq!(filled(&after), after, "what is filled in once is filled in");
    }

    /// Arbitrary bytes never panic, and without a placeholder nothing is touched.
    #[test]
    fn any_bytes_are_handed_on(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (policy, world) = (vip_policy(), known());
        let resolution = resolve(&bytes, &policy, &world, Reach::Cluster);
        prop_assert_eq!(&*resolution.bytes, bytes.as_slice());
    }
}
