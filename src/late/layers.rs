//! Placeholders inside a text, also inside the base64 and gzip that Secrets, cloud-init and kubeadm files are wrapped in.
//! A layer is opened only to look; it is closed again, with new content, only where its content held a placeholder.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::{context, token};
use crate::yaml;

/// Layers that are opened inside each other; deeper ones are left alone.
const MOST_LAYERS: usize = 4;
/// Bytes that one layer may unpack to; more is no file of a Machine but a bomb.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes that all layers of one text may unpack to: small layers that unpack to large ones can stand in a text by the hundred.
const MOST_TOGETHER: u64 = 32 * 1024 * 1024;

/// A placeholder that is looked for.
#[derive(Clone, Copy)]
pub(super) struct Target<'p> {
    /// Place of its late value in the policy.
    pub(super) value: usize,
    /// The placeholder.
    pub(super) placeholder: &'p str,
    /// What is written in its place; `None` where it is only looked for.
    pub(super) with: Option<&'p str>,
}

/// A stretch of a text that holds placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// The late values whose placeholders it holds, one entry for each place.
    pub(super) values: Vec<usize>,
    /// The text that takes its place; `None` where nothing in it is replaced.
    pub(super) new: Option<String>,
    /// Why something in it cannot be replaced although its value is known.
    pub(super) refused: Option<String>,
}

/// Finds every placeholder in a text and in the layers inside it, in order, without overlap.
pub(super) fn spots(text: &str, targets: &[Target<'_>]) -> Vec<Spot> {
    at_depth(text, targets, 0, &Cell::new(MOST_TOGETHER))
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

fn at_depth(text: &str, targets: &[Target<'_>], depth: usize, left: &Cell<u64>) -> Vec<Spot> {
    let mut found = Vec::new();
    for target in targets {
        for range in token::places(text.as_bytes(), target.placeholder) {
            found.push(placed(text, range, target));
        }
        // In the query of a URL the marks around a placeholder are written as numbers.
        if let Some(escaped) = percent(target.placeholder) {
            for range in token::places(text.as_bytes(), &escaped) {
                let new = target.with.map(|with| percent(with).unwrap_or_else(|| with.to_owned()));
                found.push(Spot { range, values: vec![target.value], new, refused: None });
            }
        }
    }
    if depth < MOST_LAYERS {
        match wrapped(text, targets, depth, left) {
            Some(spot) => found.push(spot),
            None => found.extend(
                every_run(text.as_bytes(), shortest(targets))
                    .filter_map(|range| opened(&text[range.clone()], range, targets, depth, left)),
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
fn placed(text: &str, range: Range<usize>, target: &Target<'_>) -> Spot {
    let values = vec![target.value];
    match target.with.map(|with| context::written(text, range.clone(), with)) {
        None => Spot { range, values, new: None, refused: None },
        Some(Ok((range, new))) => Spot { range, values, new: Some(new), refused: None },
        Some(Err(why)) => Spot { range, values, new: None, refused: Some(why) },
    }
}

/// Opens one run of base64 characters.
fn opened(run: &str, range: Range<usize>, targets: &[Target<'_>], depth: usize, left: &Cell<u64>) -> Option<Spot> {
    let alphabet = alphabet(run);
    let layer = alphabet.decode(run).ok()?;
    let Inside { values, new, refused } = inside(&layer, targets, depth, left)?;
    Some(Spot { range, values, new: new.map(|bytes| alphabet.encode(bytes)), refused })
}

/// The alphabet that a run is written in: the one of URLs or the usual one, with padding or without.
fn alphabet(run: &str) -> &'static GeneralPurpose {
    match (run.contains(['-', '_']), run.len().is_multiple_of(4)) {
        (false, true) => &STANDARD,
        (false, false) => &STANDARD_NO_PAD,
        (true, true) => &URL_SAFE,
        (true, false) => &URL_SAFE_NO_PAD,
    }
}

/// A text with its marks as the query of a URL writes them; `None` where it has none (RFC 3986, section 2.3).
fn percent(text: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    if text.bytes().all(plain) {
        return None;
    }
    let write = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    Some(text.bytes().map(write).collect())
}

/// Opens a text that is nothing but base64 broken into lines, and breaks the new one at the same width.
fn wrapped(text: &str, targets: &[Target<'_>], depth: usize, left: &Cell<u64>) -> Option<Spot> {
    let body = text.trim_end();
    let width = body.find(['\n', '\r', ' '])?;
    let pieces: Vec<&str> = body.split_ascii_whitespace().collect();
    let (last, full) = pieces.split_last()?;
    let even = full.iter().all(|piece| piece.len() == width) && last.len() <= width;
    if !even || !pieces.iter().all(|piece| piece.bytes().all(|byte| is_base64(byte) || byte == b'=')) {
        return None;
    }
    let joined = pieces.concat();
    let layer = STANDARD.decode(joined).ok()?;
    let Inside { values, new, refused } = inside(&layer, targets, depth, left)?;
    let mark = ["\r\n", "\n", " "].into_iter().find(|mark| body[width..].starts_with(mark))?;
    let new = new.map(|bytes| {
        let letters = STANDARD.encode(bytes);
        let lines: Vec<&str> =
            (0..letters.len()).step_by(width).map(|at| &letters[at..letters.len().min(at + width)]).collect();
        lines.join(mark)
    });
    Some(Spot { range: 0..body.len(), values, new, refused })
}

/// What stands in a layer.
struct Inside {
    values: Vec<usize>,
    new: Option<Vec<u8>>,
    refused: Option<String>,
}

/// The text that is packed in a run of base64 characters, also where that is broken into lines.
pub(super) fn open(run: &str) -> Option<String> {
    open_within(run, &Cell::new(MOST_TOGETHER))
}

fn open_within(run: &str, left: &Cell<u64>) -> Option<String> {
    let joined: String = run.split_ascii_whitespace().collect();
    content(&alphabet(&joined).decode(&joined).ok()?, left).map(Cow::into_owned)
}

/// Hands a text and every text that is packed in it to `see`.
pub(super) fn each(text: &str, see: &mut impl FnMut(&str)) {
    each_at(text, see, 0, &Cell::new(MOST_TOGETHER));
}

fn each_at(text: &str, see: &mut impl FnMut(&str), depth: usize, left: &Cell<u64>) {
    see(text);
    if depth < MOST_LAYERS {
        for range in runs(text.as_bytes(), 12) {
            if let Some(inner) = open_within(&text[range], left).filter(|inner| !inner.contains('\0')) {
                each_at(&inner, see, depth + 1, left);
            }
        }
    }
}

/// The text of unpacked bytes, through gzip where they are that.
fn content<'l>(layer: &'l [u8], left: &Cell<u64>) -> Option<Cow<'l, str>> {
    match is_zipped(layer) {
        true => String::from_utf8(unzip(layer, left)?).ok().map(Cow::Owned),
        false => std::str::from_utf8(layer).ok().map(Cow::Borrowed),
    }
}

fn is_zipped(layer: &[u8]) -> bool {
    layer.starts_with(&[0x1F, 0x8B, 0x08])
}

/// Looks into unpacked bytes, through gzip where they are that; `None` where no placeholder is in them.
fn inside(layer: &[u8], targets: &[Target<'_>], depth: usize, left: &Cell<u64>) -> Option<Inside> {
    let zipped = is_zipped(layer);
    let text = &*content(layer, left)?;
    let spots = at_depth(text, targets, depth + 1, left);
    if spots.is_empty() {
        return None;
    }
    let values = spots.iter().flat_map(|spot| spot.values.iter().copied()).collect();
    let changed = spots.iter().any(|spot| spot.new.is_some());
    let new = changed.then(|| apply(text, &spots).into_bytes());
    let refused = spots.into_iter().find_map(|spot| spot.refused);
    Some(Inside { values, new: new.map(|bytes| if zipped { zip(&bytes) } else { bytes }), refused })
}

fn unzip(bytes: &[u8], left: &Cell<u64>) -> Option<Vec<u8>> {
    let most = MOST_BYTES.min(left.get());
    let mut content = Vec::new();
    let unpacked = flate2::read::MultiGzDecoder::new(bytes).take(most + 1).read_to_end(&mut content);
    left.set(left.get().saturating_sub(content.len() as u64));
    (unpacked.ok()? as u64 <= most).then_some(content)
}

/// Packs without a time or a name, so that the same content always gives the same bytes: they are part of a Machine's spec.
fn zip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    writer.write_all(bytes).and_then(|()| writer.finish()).expect("writing to memory cannot fail")
}

/// Fewest base64 characters that a placeholder can hide in.
fn shortest(targets: &[Target<'_>]) -> usize {
    targets.iter().map(|target| target.placeholder.len().div_ceil(3) * 4).min().unwrap_or(usize::MAX)
}

/// Whether raw bytes of a document hold a layer with a placeholder in it, or one that only a reader can put together.
pub(super) fn suspect(document: &[u8], targets: &[Target<'_>]) -> bool {
    let letters = |line: &[u8]| line.len() >= 8 && line.iter().all(|byte| is_base64(*byte) || *byte == b'=');
    let left = Cell::new(MOST_TOGETHER);
    let looked = |range: Range<usize>| {
        let run = std::str::from_utf8(&document[range.clone()]).unwrap_or_default();
        opened(run, range, targets, 0, &left).is_some()
    };
    document.split(|byte| *byte == b'\n').any(|line| letters(line.trim_ascii()))
        || every_run(document, shortest(targets)).any(looked)
}

/// The runs of base64 of every alphabet, with padding and without.
fn every_run(text: &[u8], shortest: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    runs(text, shortest).chain(loose_runs(text, shortest.saturating_sub(2)))
}

/// The runs that only the alphabet of URLs or a missing padding explains.
fn loose_runs(text: &[u8], shortest: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let loose = |byte: &u8| is_base64(*byte) || matches!(byte, b'-' | b'_');
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let start = at + text[at..].iter().position(loose)?;
            let end = start + text[start..].iter().position(|byte| !loose(byte)).unwrap_or(text.len() - start);
            let padding = text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
            at = end + padding;
            let run = &text[start..end];
            let of_urls = run.iter().any(|byte| matches!(byte, b'-' | b'_'));
            let padded = (end + padding - start).is_multiple_of(4);
            let end = if padded { end + padding } else { end };
            // A whole run of the usual alphabet has been looked at.
            if end - start >= shortest && (of_urls || !padded) && (end - start) % 4 != 1 {
                return Some(start..end);
            }
        }
        None
    })
}

/// The longest runs of base64 characters with their padding.
fn runs(text: &[u8], shortest: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let start = at + text[at..].iter().position(|byte| is_base64(*byte))?;
            let mut end = start + text[start..].iter().position(|byte| !is_base64(*byte)).unwrap_or(text.len() - start);
            let padding = text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
            at = end + padding;
            // `name=value` is no padding: a run that is whole without it ends before it.
            if !(end - start).is_multiple_of(4) {
                end += padding;
            }
            if end - start >= shortest && (end - start).is_multiple_of(4) {
                return Some(start..end);
            }
        }
        None
    })
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIP: &str = "55.55.55.55";
    const TRUE_VIP: &str = "10.0.3.7";

    fn replaced(text: &str) -> (String, usize) {
        let found = spots(text, &[Target { value: 0, placeholder: VIP, with: Some(TRUE_VIP) }]);
        (apply(text, &found), found.iter().map(|spot| spot.values.len()).sum())
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
    fn gzip_inside_base64_is_opened_and_packed_the_same_way_each_time() {
        let content = "apiVersion: helm.cattle.io/v1\ncanReach: 55.55.55.55\n".repeat(20);
        let (text, places) = replaced(&STANDARD.encode(zip(content.as_bytes())));
        let unpacked = unzip(&STANDARD.decode(&text).expect("base64"), &Cell::new(MOST_TOGETHER)).expect("gzip");
        assert_eq!(String::from_utf8(unpacked).expect("text"), content.replace(VIP, TRUE_VIP));
        assert_eq!(places, 20);
        assert_eq!(replaced(&STANDARD.encode(zip(content.as_bytes()))).0, text);
    }

    /// These bytes end up in the spec of Machines: if a new version of the packer makes others, an update of rollgate replaces
    /// Machines. Do not renew the expectation without saying so in the changelog.
    #[test]
    fn the_packer_makes_the_bytes_that_it_always_made() {
        let content = "#cloud-config\nwrite_files:\n- path: /etc/vip\n  content: 10.0.3.7\n".repeat(3);
        let packed = "H4sIAAAAAAAC/8XLywmAMAwA0HumCPTcj3gQsoxITDVQ2qJR19ctvL/nuLRr9dxq1g2eQ03mrEVOAo99sZ0winG8tQPix0yqEQ4ppDCGCdzP/wU5p5nbwAAAAA==";
        assert_eq!(STANDARD.encode(zip(content.as_bytes())), packed);
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
        let targets = [Target { value: 0, placeholder: "@@V@@", with: Some("a b") }];
        let text = "https://x/?q=%40%40V%40%40&r=@@V@@";
        assert_eq!(apply(text, &spots(text, &targets)), "https://x/?q=a%20b&r=a b");
    }

    #[test]
    fn what_is_not_a_layer_stays_as_it_is() {
        for text in ["", "abcdefgh", "AAAA AAAA", "====", "H4sIAAAAAAAA", "key=dmFsdWU=", "QUJD\nQUJD\n"] {
            assert_eq!(replaced(text), (text.to_owned(), 0), "{text}");
        }
        assert_eq!(replaced("x\n55.55.55.55"), ("x\n10.0.3.7".to_owned(), 1));
    }

    #[test]
    fn a_bomb_is_left_alone() {
        let bomb = STANDARD.encode(zip(&vec![b'5'; usize::try_from(MOST_BYTES).expect("fits") + 1]));
        assert_eq!(replaced(&bomb).1, 0);
    }

    #[test]
    fn many_layers_unpack_to_no_more_than_one_text_may() {
        let layer = STANDARD.encode(zip(&vec![b'5'; usize::try_from(MOST_BYTES).expect("fits") - 1]));
        let left = Cell::new(MOST_TOGETHER);
        let text = format!("{layer} ").repeat(40);
        assert!(at_depth(&text, &[Target { value: 0, placeholder: VIP, with: None }], 0, &left).is_empty());
        assert_eq!(left.get(), 0);
    }

    #[test]
    fn looking_alone_replaces_nothing() {
        let text = format!("55.55.55.55 {}", STANDARD.encode("ip 55.55.55.55!"));
        let found = spots(&text, &[Target { value: 3, placeholder: VIP, with: None }]);
        assert_eq!(
            found.iter().map(|spot| (spot.values.as_slice(), &spot.new)).collect::<Vec<_>>(),
            [(&[3][..], &None); 2]
        );
        assert_eq!(apply(&text, &found), text);
    }

    proptest::proptest! {
        /// Wherever the placeholder falls in the base64 letters, and however deep it is packed, it is found and packed again.
        #[test]
        fn a_placeholder_is_found_at_every_offset_and_depth(
            before in "[a-z é\n]{0,40}", after in "[a-z é\n]{0,40}", layers in 1..=MOST_LAYERS, zipped in proptest::bool::ANY
        ) {
            let pack = |vip: &str| {
                let mut text = format!("{before} {vip} {after}");
                for layer in 0..layers {
                    let bytes = if zipped && layer == 0 { zip(text.as_bytes()) } else { text.clone().into_bytes() };
                    text = format!("k: {}", STANDARD.encode(bytes));
                }
                text
            };
            proptest::prop_assert_eq!(replaced(&pack(VIP)), (pack(TRUE_VIP), 1));
        }
    }
}
