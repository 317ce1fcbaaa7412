//! Placeholders inside a text, also inside the base64, gzip and zstd that Secrets, cloud-init and kubeadm files are wrapped in, and
//! inside documents that a text is itself. A layer is closed again, with new content, only where its content held a placeholder.

use std::cell::Cell;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::packing::{self, Layer, MOST_LAYERS, MOST_TOGETHER, Unpacked, alphabet, every_run, is_base64, runs};
use super::targets::{Standing, Targets, percent};
use super::{context, embedded};
use crate::yaml;

/// A stretch of a text that holds placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// The placeholders that it holds.
    pub(super) places: Vec<Place>,
    /// The text that takes its place; `None` where nothing in it is replaced.
    pub(super) new: Option<String>,
    /// Why something in it cannot be replaced although its value is known.
    pub(super) refused: Option<String>,
}

/// One placeholder inside a spot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Its late value, by its place in the policy.
    pub(super) value: usize,
    /// The layers around it, the outermost first.
    pub(super) layers: Vec<Layer>,
}

impl Spot {
    /// The late values whose placeholders it holds, one entry for each place.
    pub(super) fn values(&self) -> impl Iterator<Item = usize> + '_ {
        self.places.iter().map(|place| place.value)
    }
}

/// What is looked for, and how much may still be unpacked for it.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) targets: &'a Targets<'a>,
    /// Layers around the text.
    depth: usize,
    /// Bytes that may still be unpacked.
    left: &'a Cell<u64>,
}

impl Look<'_> {
    /// The same look one layer deeper; `None` where that is too deep.
    pub(super) fn deeper(self) -> Option<Self> {
        (self.depth < MOST_LAYERS).then_some(Self { depth: self.depth + 1, ..self })
    }
}

/// Finds every placeholder in a text and in the layers inside it, in order, without overlap.
pub(super) fn spots(text: &str, targets: &Targets<'_>) -> Vec<Spot> {
    at_depth(text, Look { targets, depth: 0, left: &Cell::new(MOST_TOGETHER) })
}

/// The spots that have something to take their place.
pub(super) fn replacements(spots: &[Spot]) -> Vec<yaml::Spot> {
    let known = |spot: &Spot| Some(yaml::Spot { range: spot.range.clone(), with: spot.new.clone()? });
    spots.iter().filter_map(known).collect()
}

/// The text with every spot replaced that has something to take its place.
pub(super) fn apply(text: &str, spots: &[Spot]) -> String {
    yaml::respell(text, &replacements(spots))
}

/// The same inside of layers.
pub(super) fn at_depth(text: &str, look: Look<'_>) -> Vec<Spot> {
    let standing = look.targets.places(text).into_iter();
    let mut found: Vec<Spot> = standing.map(|standing| plain(text, standing)).collect();
    let cares = found.iter().any(embedded::needs_care);
    if let Some(deeper) = look.deeper() {
        if cares && let Some(spot) = embedded::spot(text, deeper) {
            return vec![spot];
        }
        match wrapped(text, deeper) {
            Some(spot) => found.push(spot),
            None => found.extend(
                every_run(text.as_bytes(), shortest(look.targets))
                    .filter_map(|range| opened(&text[range.clone()], range, deeper)),
            ),
        }
    }
    found.sort_by_key(|spot| (spot.range.start, std::cmp::Reverse(spot.range.end)));
    // A placeholder made of base64 letters may itself look like a layer: the outermost finding counts.
    let mut end = 0;
    found.retain(|spot| {
        let free = spot.range.start >= end;
        if free {
            end = spot.range.end;
        }
        free
    });
    found
}

/// The spot of one placeholder.
fn plain(text: &str, standing: Standing<'_, '_>) -> Spot {
    let Standing { range, target, escaped } = standing;
    let layers = if escaped { vec![Layer::Url] } else { Vec::new() };
    let places = vec![Place { value: target.value, layers }];
    let written = match target.with {
        None => None,
        // In the query of a URL the marks of a value are written as numbers, as those of its placeholder are.
        Some(with) if escaped => Some(Ok((range.clone(), percent(with).unwrap_or_else(|| with.to_owned())))),
        Some(with) => Some(context::written(text, range.clone(), with)),
    };
    match written {
        None => Spot { range, places, new: None, refused: None },
        Some(Ok((range, new))) => Spot { range, places, new: Some(new), refused: None },
        Some(Err(why)) => Spot { range, places, new: None, refused: Some(why) },
    }
}

/// Opens one run of base64 characters.
fn opened(run: &str, range: Range<usize>, look: Look<'_>) -> Option<Spot> {
    let alphabet = alphabet(run);
    let layer = alphabet.decode(run).ok()?;
    let Inside { places, new, refused } = inside(&layer, look)?;
    Some(Spot { range, places, new: new.map(|bytes| alphabet.encode(bytes)), refused })
}

/// Opens a text that is nothing but base64 broken into lines, and breaks the new one at the same width.
fn wrapped(text: &str, look: Look<'_>) -> Option<Spot> {
    let body = text.trim_end();
    let width = body.find(['\n', '\r', ' '])?;
    let mut joined = String::new();
    let mut last = width;
    for piece in body.split_ascii_whitespace() {
        // Only the last line may be shorter; most texts are seen to be something else at their first word.
        if last != width || piece.len() > width || !piece.bytes().all(|byte| is_base64(byte) || byte == b'=') {
            return None;
        }
        last = piece.len();
        joined.push_str(piece);
    }
    let layer = STANDARD.decode(joined).ok()?;
    let Inside { places, new, refused } = inside(&layer, look)?;
    let mark = ["\r\n", "\n", " "].into_iter().find(|mark| body[width..].starts_with(mark))?;
    let new = new.map(|bytes| {
        let letters = STANDARD.encode(bytes);
        let lines: Vec<&str> =
            (0..letters.len()).step_by(width).map(|at| &letters[at..letters.len().min(at + width)]).collect();
        lines.join(mark)
    });
    Some(Spot { range: 0..body.len(), places, new, refused })
}

/// What stands in a layer.
struct Inside {
    places: Vec<Place>,
    new: Option<Vec<u8>>,
    refused: Option<String>,
}

/// Looks into the bytes behind base64, through what they are packed with; `None` where no placeholder is in them.
fn inside(layer: &[u8], look: Look<'_>) -> Option<Inside> {
    let unpacked = Unpacked::of(layer, look.left)?;
    let spots = at_depth(&unpacked.text, look);
    if spots.is_empty() {
        return None;
    }
    let around: Vec<Layer> = std::iter::once(Layer::Base64).chain(unpacked.layer()).collect();
    let changed = spots.iter().any(|spot| spot.new.is_some());
    let new = changed.then(|| unpacked.pack(apply(&unpacked.text, &spots)));
    let refused = spots.iter().find_map(|spot| spot.refused.clone());
    Some(Inside { places: within(&around, spots), new, refused })
}

/// The places of some spots, with one more step around each of them.
pub(super) fn within(around: &[Layer], spots: Vec<Spot>) -> Vec<Place> {
    let places = spots.into_iter().flat_map(|spot| spot.places);
    let deeper = places.map(|Place { value, layers }| Place { value, layers: [around, &layers].concat() });
    deeper.collect()
}

/// The text that is packed in a run of base64 characters, also where that is broken into lines.
pub(super) fn open(run: &str) -> Option<String> {
    packing::open(run, &Cell::new(MOST_TOGETHER))
}

/// Hands a text and every text that is packed in it to `see`.
pub(super) fn each(text: &str, see: &mut impl FnMut(&str)) {
    each_at(text, see, 0, &Cell::new(MOST_TOGETHER));
}

fn each_at(text: &str, see: &mut impl FnMut(&str), depth: usize, left: &Cell<u64>) {
    see(text);
    if depth < MOST_LAYERS {
        for range in runs(text.as_bytes(), 12) {
            if let Some(inner) = packing::open(&text[range], left).filter(|inner| !inner.contains('\0')) {
                each_at(&inner, see, depth + 1, left);
            }
        }
    }
}

/// Fewest base64 characters that a placeholder can hide in.
const fn shortest(targets: &Targets<'_>) -> usize {
    targets.shortest().div_ceil(3).saturating_mul(4)
}

/// Whether raw bytes of a document hold a layer with a placeholder in it, or one that only a reader can put together.
pub(super) fn suspect(document: &[u8], targets: &Targets<'_>) -> bool {
    let letters = |line: &[u8]| line.len() >= 8 && line.iter().all(|byte| is_base64(*byte) || *byte == b'=');
    let left = Cell::new(MOST_TOGETHER);
    let look = Look { targets, depth: 1, left: &left };
    let looked = |range: Range<usize>| {
        let run = std::str::from_utf8(&document[range.clone()]).unwrap_or_default();
        opened(run, range, look).is_some()
    };
    document.split(|byte| *byte == b'\n').any(|line| letters(line.trim_ascii()))
        || every_run(document, shortest(targets)).any(looked)
}

#[cfg(test)]
mod tests {
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
            for before in ["a 55.55.55.55", "a 55.55.55.55?", "a 55.55.55.55??", "\u{7ff}\u{7fe}~~ 55.55.55.55 \u{7ff}"]
            {
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
            before in "[a-z é\n]{0,40}", after in "[a-z é\n]{0,40}", layers in 1..=MOST_LAYERS, zipped in proptest::bool::ANY, zstd in proptest::bool::ANY
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
}
