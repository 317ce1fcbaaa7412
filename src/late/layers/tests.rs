//! Where placeholders are found in a text and in its layers, and what is written there.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::super::packing::tests::packed;
use super::super::targets::Target;
use super::*;

const VIP: &str = "55.55.55.55";
const TRUE_VIP: &str = "10.0.3.7";

fn vip(with: Option<&str>) -> Targets<'_> {
    Targets::new(vec![Target { value: 0, placeholder: VIP, with }])
}

fn replaced(text: &str) -> (String, usize) {
    let found = spots(text, &vip(Some(TRUE_VIP)));
    (apply(text, &found), found.iter().map(|spot| spot.places.len()).sum())
}

#[test]
fn raw_text_is_replaced_in_place() {
    assert_eq!(replaced("a 55.55.55.55:6443, b=55.55.55.55"), ("a 10.0.3.7:6443, b=10.0.3.7".to_owned(), 2));
    assert_eq!(replaced("155.55.55.55"), ("155.55.55.55".to_owned(), 0));
}

#[test]
fn base64_is_opened_and_closed_again() {
    for before in ["canReach: 55.55.55.55\n", "55.55.55.55", "55.55.55.55 55.55.55.55"] {
        let after = before.replace(VIP, TRUE_VIP);
        let (text, places) = replaced(&format!("data: {} end", STANDARD.encode(before)));
        assert_eq!(text, format!("data: {} end", STANDARD.encode(after)));
        assert_eq!(places, before.matches(VIP).count());
    }
}

#[test]
fn base64_behind_an_escape_is_opened() {
    let letters = |address: &str| STANDARD.encode(format!("vip: {address} and so on"));
    for front in [r#"{"content":"TOKEN:\n"#, r#"{"content":"a\n\n"#, r"printf 'a\t", r"a\u003d", "data:,TOKEN%3D"] {
        assert_eq!(
            replaced(&format!("{front}{}", letters(VIP))),
            (format!("{front}{}", letters(TRUE_VIP)), 1),
            "{front}"
        );
    }
    // The letters of an escape of an escape are themselves base64: what it would read as cannot be written again.
    assert_eq!(refused(&format!("data:,a%253D{}", letters(VIP))).len(), 1);
    // Its letters may be a part of the escape.
    assert_eq!(refused(&format!(r"C:\\d{}", letters(VIP))).len(), 1);
}

#[test]
fn an_address_behind_an_escape_is_written_as_behind_a_blank() {
    let written = |text: &str| {
        let found = spots(text, &vip(Some("fd00::7")));
        (apply(text, &found), found.iter().any(|spot| spot.refused.is_some()))
    };
    for (text, new) in [
        (r"printf 'server\n55.55.55.55:6443'", Some(r"printf 'server\n[fd00::7]:6443'")),
        (r#"{"a":"{\n55.55.55.55/32"}"#, Some(r#"{"a":"{\nfd00::7/128"}"#)),
        (r#"{"a":"x\n55.55.55.55.nip.io"}"#, None),
        ("data:,VIP%3D55.55.55.55%2F32", None),
        ("VIP=55.55.55.55%3A6443", None),
        ("data:,VIP%3D55.55.55.55%0A", Some("data:,VIP%3Dfd00%3A%3A7%0A")),
    ] {
        assert_eq!(written(text), (new.unwrap_or(text).to_owned(), new.is_none()), "{text}");
    }
}

#[test]
fn base64_within_base64_is_opened_too() {
    let wrap = |text: &str| STANDARD.encode(format!("content: {}", STANDARD.encode(text)));
    assert_eq!(replaced(&wrap("vip 55.55.55.55")), (wrap("vip 10.0.3.7"), 1));
}

#[test]
fn broken_lines_keep_their_width() {
    let break_at = |text: &str, mark: &str| {
        let letters = STANDARD.encode(text);
        letters.as_bytes().chunks(20).map(|line| String::from_utf8_lossy(line)).collect::<Vec<_>>().join(mark)
    };
    let before = "one line of text\nserver: https://55.55.55.55:6443 and more text after it";
    for (mark, end) in [("\n", "\n"), ("\r\n", ""), ("\n", ""), (" ", "")] {
        let (text, places) = replaced(&format!("{}{end}", break_at(before, mark)));
        assert_eq!((text, places), (format!("{}{end}", break_at(&before.replace(VIP, TRUE_VIP), mark)), 1));
    }
}

#[test]
fn gzip_and_zstd_inside_base64_are_opened_and_packed_the_same_way_each_time() {
    for zstd in [false, true] {
        let content = "apiVersion: helm.cattle.io/v1\ncanReach: 55.55.55.55\n".repeat(20);
        let pack = |text: &str| STANDARD.encode(packed(text, zstd));
        let (text, places) = replaced(&pack(&content));
        assert_eq!(open(&text), Some(content.replace(VIP, TRUE_VIP)));
        assert_eq!((places, &text), (20, &pack(&content.replace(VIP, TRUE_VIP))));
    }
}

#[test]
fn each_place_says_how_it_is_packed() {
    let zipped = STANDARD.encode(packed("x: 55.55.55.55\n", false));
    let text = format!("55.55.55.55 {}", STANDARD.encode(format!("k: {zipped} 55.55.55.55")));
    let found = spots(&text, &vip(Some(TRUE_VIP)));
    let layers: Vec<&[Layer]> = found.iter().flat_map(|spot| &spot.places).map(|place| &*place.layers).collect();
    assert_eq!(layers, [&[][..], &[Layer::Base64, Layer::Base64, Layer::Gzip], &[Layer::Base64]]);
}

#[test]
fn base64_of_urls_and_without_padding_is_opened_and_closed_as_it_was() {
    for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
        for before in ["a 55.55.55.55", "a 55.55.55.55?", "a 55.55.55.55??", "\u{7ff}\u{7fe}~~ 55.55.55.55 \u{7ff}"] {
            let after = before.replace(VIP, TRUE_VIP);
            let text = replaced(&format!("k: {} end", engine.encode(before)));
            assert_eq!(text, (format!("k: {} end", engine.encode(after)), 1), "{before}");
        }
    }
}

#[test]
fn a_placeholder_in_a_query_is_written_as_a_query_writes() {
    let targets = Targets::new(vec![Target { value: 0, placeholder: "@@V@@", with: Some("a b") }]);
    let text = "https://x/?q=%40%40V%40%40&r=@@V@@";
    assert_eq!(apply(text, &spots(text, &targets)), "https://x/?q=a%20b&r=a b");
}

#[test]
fn a_value_that_would_end_or_begin_something_is_quoted_in_a_document() {
    for value in ["@abc", "a,b", ",ab", "-", "=", "=x", "a]b", "*x"] {
        let targets = Targets::new(vec![Target { value: 0, placeholder: "changeme", with: Some(value) }]);
        for (text, pointer) in
            [("a: 1\nkey: changeme\n", "/key"), ("a: 1\nmap: {key: changeme, other: y}\n", "/map/key")]
        {
            let new = apply(text, &spots(text, &targets));
            let json = yaml::read(new.as_bytes()).expect("readable").to_json().expect("json");
            assert_eq!(json.pointer(pointer).and_then(|said| said.as_str()), Some(value), "{new}");
        }
    }
}

#[test]
fn a_document_inside_a_text_reads_as_meant_whatever_the_value_holds() {
    for value in ["a: b", "say \"x\"", "it's", "x #y", "[fd00::7]", "two\nlines", "{{ x }}", "- x", "*x", "a\\b"] {
        let targets = Targets::new(vec![Target { value: 0, placeholder: "@V@", with: Some(value) }]);
        for (text, pointer) in [
            ("a: 1\nkey: x@V@\n", "/key"),
            ("a: 1\nkey: 'x @V@'\n", "/key"),
            ("a: 1\nlist:\n  - \"@V@\"\n", "/list/0"),
            ("{\"a\": 1, \"key\": \"x @V@\"}", "/key"),
            ("#cloud-config\nkey: |\n  line @V@\n", "/key"),
            ("key: |\n  a: 1\n  inner: 'x @V@'\n", "/key"),
        ] {
            let read = |text: &str| {
                let json = yaml::read(text.as_bytes()).expect("readable").to_json().expect("json");
                json.pointer(pointer).and_then(|value| value.as_str().map(str::to_owned)).expect("text")
            };
            let after = apply(text, &spots(text, &targets));
            let meant = match pointer {
                "/key" if text.contains("inner") => {
                    assert_eq!(
                        yaml::read(read(&after).as_bytes()).expect("readable").to_json().expect("json")["inner"],
                        format!("x {value}")
                    );
                    continue;
                }
                _ => read(text).replace("@V@", value),
            };
            assert_eq!(read(&after), meant, "{value:?} in {text:?}: {after}");
        }
    }
}

#[test]
fn json_stays_json_and_numbers_stay_numbers() {
    let list = |with: &'static str| {
        vec![
            Target { value: 0, placeholder: "@V@", with: Some(with) },
            Target { value: 1, placeholder: "7777", with: Some("6443") },
        ]
    };
    let fill = |text: &str, with| apply(text, &spots(text, &Targets::new(list(with))));
    assert_eq!(fill("{\"a\": \"@V@\", \"port\": 7777}", "say \"x\""), "{\"a\": \"say \\\"x\\\"\", \"port\": 6443}");
    assert_eq!(fill("a: x\nb: 'p @V@'\nport: 7777\n", "it's"), "a: x\nb: 'p it''s'\nport: 6443\n");
    assert_eq!(fill("a: 1\n---\nb: \"@V@\"\n", "say \"x\""), "a: 1\n---\nb: \"say \\\"x\\\"\"\n");
    assert_eq!(fill("plain @V@ text", "say \"x\""), "plain say \"x\" text");
}

#[test]
fn an_ipv6_address_is_quoted_where_its_brackets_would_begin_a_list() {
    let targets = vip(Some("fd00::7"));
    let fill = |text: &str| apply(text, &spots(text, &targets));
    assert_eq!(fill("a: 1\nserver: 55.55.55.55:6443\n"), "a: 1\nserver: \"[fd00::7]:6443\"\n");
    assert_eq!(fill("a:\n  - 55.55.55.55:6443\n"), "a:\n  - \"[fd00::7]:6443\"\n");
}

#[test]
fn hundreds_of_placeholders_are_found_in_one_pass() {
    let names: Vec<String> = (0..500).map(|number| format!("@@V{number}@@")).collect();
    let list = names.iter().enumerate().map(|(value, name)| Target { value, placeholder: name, with: Some("x") });
    let text: String = names.iter().map(|name| format!("k={name},")).collect();
    assert_eq!(apply(&text, &spots(&text, &Targets::new(list.collect()))), "k=x,".repeat(500));
}

#[test]
fn what_is_not_a_layer_stays_as_it_is() {
    for text in ["", "abcdefgh", "AAAA AAAA", "====", "H4sIAAAAAAAA", "key=dmFsdWU=", "QUJD\nQUJD\n"] {
        assert_eq!(replaced(text), (text.to_owned(), 0), "{text}");
    }
    assert_eq!(replaced("x\n55.55.55.55"), ("x\n10.0.3.7".to_owned(), 1));
}

#[test]
fn looking_alone_replaces_nothing() {
    let text = format!("55.55.55.55 {}", STANDARD.encode("ip 55.55.55.55!"));
    let found = spots(&text, &vip(None));
    assert_eq!(found.iter().map(|spot| (spot.places.len(), &spot.new)).collect::<Vec<_>>(), [(1, &None); 2]);
    assert_eq!(apply(&text, &found), text);
}

proptest::proptest! {
    /// Wherever the placeholder falls in the base64 letters, and however deep it is packed, it is found and packed again.
    #[test]
    fn a_placeholder_is_found_at_every_offset_and_depth(
        before in "[a-z é\n]{0,40}", after in "[a-z é\n]{0,40}", layers in 1..=7_usize, zipped in proptest::bool::ANY, zstd in proptest::bool::ANY
    ) {
        let pack = |vip: &str| {
            let mut text = format!("{before} {vip} {after}");
            for layer in 0..layers {
                let bytes = if zipped && layer == 0 { packed(&text, zstd) } else { text.clone().into_bytes() };
                text = format!("k: {}", STANDARD.encode(bytes));
            }
            text
        };
        proptest::prop_assert_eq!(replaced(&pack(VIP)), (pack(TRUE_VIP), 1));
    }
}

proptest::proptest! {
    /// A text that JSON or a URL escapes reads afterwards as the plain text would.
    #[test]
    fn behind_an_escape_it_reads_as_in_the_plain_text(
        before in "[a-z9 é\n\t\r=\"<&]{0,12}", after in "[a-z9 \n=\"&]{0,12}", html in proptest::bool::ANY
    ) {
        let plain = format!("{before}{VIP}{after}");
        let meant = replaced(&plain).0;
        let spelling = if html { Spelling::JsonHtml } else { Spelling::Json };
        let json = replaced(&format!("printf \"{}\"", spelling.write(&plain))).0;
        proptest::prop_assert_eq!(json, format!("printf \"{}\"", spelling.write(&meant)));
        let url = replaced(&format!("data:,{}", Spelling::Url.write(&plain))).0;
        proptest::prop_assert_eq!(url, format!("data:,{}", Spelling::Url.write(&meant)));
    }
}

#[test]
fn where_an_escape_is_not_sure_the_place_is_left_and_named() {
    for text in [r"printf \\n55.55.55.55", r"sed s/x/\155.55.55.55/", r"C:\d55.55.55.55"] {
        assert_eq!(refused(text).len(), 1, "{text}");
    }
    for text in [r"n55.55.55.55", r"\end55.55.55.55", r"%4155.55.55.55", r"\u004155.55.55.55"] {
        assert_eq!(refused(text), [""; 0], "{text}");
    }
    let json = r#"{"script":"printf \\n55.55.55.55"}"#;
    assert_eq!(replaced(json), (json.replace(VIP, TRUE_VIP), 1));
}

/// The placeholders that are found and left, with why.
fn refused(text: &str) -> Vec<String> {
    let found = spots(text, &vip(Some(TRUE_VIP)));
    assert_eq!(apply(text, &found), text);
    found.into_iter().filter_map(|spot| spot.refused).collect()
}

#[test]
fn what_is_no_text_is_searched_and_never_written() {
    let tar = [b"etc/vip\0\0\0\x80\xFF".as_slice(), b"vip=55.55.55.55\n\0\0"].concat();
    let wide: Vec<u8> = "ping 55.55.55.55".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let twice = [packed("a: 1\n", true), packed("b: 55.55.55.55\n", true)].concat();
    for layer in [&tar, &wide, &twice] {
        let [why] = refused(&format!("k: {}", STANDARD.encode(layer))).try_into().expect("one place");
        assert!(why.starts_with("data that is no text"), "{why}");
    }
    let other = [b"etc/vip\0\x80\xFF".as_slice(), b"vip=155.55.55.55\n\0"].concat();
    assert_eq!(spots(&STANDARD.encode(other), &vip(Some(TRUE_VIP))), []);
}

#[test]
fn what_unpacks_to_more_than_may_be_is_never_taken_for_empty() {
    let bomb = STANDARD.encode(packed(&"0".repeat(9 * 1024 * 1024), false));
    for text in [bomb.clone(), STANDARD.encode(format!("inner: {bomb} 55.55.55.55"))] {
        let found = spots(&text, &vip(Some(TRUE_VIP)));
        assert_eq!(found.iter().map(|spot| spot.closed).collect::<Vec<_>>(), [true]);
    }
}

#[test]
fn base64_in_lines_is_opened_inside_of_a_longer_text() {
    let content =
        "#!/bin/sh\nfor node in a b c; do ping -c 1 \"$node\"; done\ncurl https://55.55.55.55:6443/healthz || exit 1\n";
    let lines = |text: &str, width: usize, mark: &str| broken(text.as_bytes(), width, mark);
    for (width, mark) in [(76, "\n"), (64, "\r\n"), (60, "\n    ")] {
        for (head, tail) in [
            ("Content-Transfer-Encoding: base64\n\n", "\n--==BOUNDARY==--\n"),
            ("cat <<EOF | base64 -d\n", "\nEOF\necho 55.55.55.55\n"),
            ("-----BEGIN FILE-----\n", "\n-----END FILE-----"),
            ("AllLettersOfOneWordThatIsNoBase64\n", "\n"),
        ] {
            let head = if mark == "\n    " { format!("{head}    ") } else { head.to_owned() };
            let text = |vip: &str| {
                format!("{head}{}{}", lines(&content.replace(VIP, vip), width, mark), tail.replace(VIP, vip))
            };
            assert_eq!(replaced(&text(VIP)).0, text(TRUE_VIP), "{width} {mark:?} {head:?}");
        }
    }
    let plain = "AllLettersOfOneWord\nAllLettersOfTwoWords\nAllLettersOfTwoWords\n";
    assert_eq!(replaced(plain), (plain.to_owned(), 0));
}

#[test]
fn a_placeholder_is_found_as_writers_of_json_and_urls_spell_it() {
    let targets = Targets::new(vec![Target { value: 0, placeholder: "<VIP>", with: Some("a&b \"c\"") }]);
    let fill = |text: &str| apply(text, &spots(text, &targets));
    for text in [r#"{"a":"x \u003cVIP\u003ey","b":[1]}"#, "cat <<EOF\n{\"a\":\"x \\u003cVIP\\u003ey\"}\nEOF\n"] {
        let after = fill(text);
        let json = &after[after.find('{').expect("JSON")..=after.rfind('}').expect("JSON")];
        let read: crate::tree::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(read["a"], "x a&b \"c\"y", "{after}");
    }
    assert_eq!(fill("https://x/?q=%3cVIP%3e&r=%3CVIP%3E"), "https://x/?q=a%26b%20%22c%22&r=a%26b%20%22c%22");
}
