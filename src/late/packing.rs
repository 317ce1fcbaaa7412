//! How a text is packed inside another one: base64 of every alphabet, gzip, zstd. What is opened is closed again in the same way.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::escape::Escape;

/// Layers that are opened inside each other. Base64 alone cannot be nested deeper in a text of a size that can be meant.
pub(super) const MOST_LAYERS: usize = 48;
/// Bytes that one layer may unpack to; more is no file of a Machine but a bomb.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes that all layers of one text may unpack to: small layers that unpack to large ones can stand in a text by the hundred.
pub(super) const MOST_TOGETHER: u64 = 32 * 1024 * 1024;

/// One step from a text to what is written in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    /// Base64 of any alphabet.
    Base64,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// A document of YAML or JSON, whose strings are quoted.
    Document,
    /// The query of a URL.
    Url,
    /// A string of JSON.
    Json,
}

impl Layer {
    /// How people call it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Document => "yaml",
            Self::Url => "url",
            Self::Json => "json",
        }
    }
}

/// What stands behind a run of base64.
pub(super) enum Layered<'l> {
    /// A text, which can be packed again as it was.
    Text(Unpacked<'l>),
    /// Bytes that can be searched and not written: no text, or packed in a way that cannot be made again.
    Bytes(Cow<'l, [u8]>),
    /// More than is unpacked: nobody knows what stands in it.
    Closed,
}

impl<'l> Layered<'l> {
    /// Opens bytes that may be packed.
    pub(super) fn of(layer: &'l [u8], left: &Cell<u64>) -> Self {
        let (packing, content) = match layer {
            [0x1F, 0x8B, 0x08, ..] => (Packing::Gzip, unzip(layer, left)),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => (Packing::Zstd, unpack_zstd(layer, left)),
            _ => {
                return match std::str::from_utf8(layer) {
                    Ok(text) => Self::Text(Unpacked { text: Cow::Borrowed(text), packing: None }),
                    Err(_) => Self::Bytes(Cow::Borrowed(layer)),
                };
            }
        };
        match content {
            Content::Whole(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Self::Text(Unpacked { text: Cow::Owned(text), packing: Some(packing) }),
                Err(error) => Self::Bytes(Cow::Owned(error.into_bytes())),
            },
            Content::Part(bytes) => Self::Bytes(Cow::Owned(bytes)),
            Content::TooLarge => Self::Closed,
        }
    }
}

/// The unpacked bytes of a run of base64, as text, and how they were packed.
pub(super) struct Unpacked<'l> {
    pub(super) text: Cow<'l, str>,
    packing: Option<Packing>,
}

#[derive(Clone, Copy)]
enum Packing {
    Gzip,
    Zstd,
}

impl<'l> Unpacked<'l> {
    /// Opens bytes that may be packed; `None` where they are no text, or more of it than may be.
    pub(super) fn of(layer: &'l [u8], left: &Cell<u64>) -> Option<Self> {
        match Layered::of(layer, left) {
            Layered::Text(text) => Some(text),
            Layered::Bytes(_) | Layered::Closed => None,
        }
    }

    /// Packs another text in the same way.
    pub(super) fn pack(&self, text: String) -> Vec<u8> {
        match self.packing {
            Some(Packing::Gzip) => zip(text.as_bytes()),
            Some(Packing::Zstd) => pack_zstd(text.as_bytes()),
            None => text.into_bytes(),
        }
    }

    /// The layer that was opened, where there was one.
    pub(super) fn layer(&self) -> Option<Layer> {
        self.packing.map(|packing| match packing {
            Packing::Gzip => Layer::Gzip,
            Packing::Zstd => Layer::Zstd,
        })
    }
}

/// The alphabet that a run is written in: the one of URLs or the usual one, with padding or without.
pub(super) fn alphabet(run: &str) -> &'static GeneralPurpose {
    match (run.contains(['-', '_']), run.len().is_multiple_of(4)) {
        (false, true) => &STANDARD,
        (false, false) => &STANDARD_NO_PAD,
        (true, true) => &URL_SAFE,
        (true, false) => &URL_SAFE_NO_PAD,
    }
}

/// The text that is packed in a run of base64 characters, also where that is broken into lines.
pub(super) fn open(run: &str, left: &Cell<u64>) -> Option<String> {
    let joined: String = run.split_ascii_whitespace().collect();
    let layer = alphabet(&joined).decode(&joined).ok()?;
    Unpacked::of(&layer, left).map(|unpacked| unpacked.text.into_owned())
}

/// What a decoder gives.
enum Content {
    Whole(Vec<u8>),
    /// What came before it broke, or what cannot be packed again as it was.
    Part(Vec<u8>),
    /// More than may be.
    TooLarge,
}

/// Reads what a decoder gives, up to what may be.
fn bounded(reader: impl std::io::Read, left: &Cell<u64>) -> Content {
    let most = MOST_BYTES.min(left.get());
    let mut content = Vec::new();
    let unpacked = reader.take(most + 1).read_to_end(&mut content);
    left.set(left.get().saturating_sub(content.len() as u64));
    match unpacked {
        _ if content.len() as u64 > most => Content::TooLarge,
        Ok(_) => Content::Whole(content),
        Err(_) => Content::Part(content),
    }
}

fn unzip(bytes: &[u8], left: &Cell<u64>) -> Content {
    bounded(flate2::read::MultiGzDecoder::new(bytes), left)
}

/// Packs without a time or a name, so that the same content always gives the same bytes: they are part of a Machine's spec.
fn zip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    writer.write_all(bytes).and_then(|()| writer.finish()).expect("writing to memory cannot fail")
}

/// One frame of Zstandard. More than one could not be packed again as they were, and are looked at.
fn unpack_zstd(bytes: &[u8], left: &Cell<u64>) -> Content {
    let mut rest = bytes;
    let mut all = Vec::new();
    loop {
        let Ok(decoder) = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(&mut rest, MOST_BYTES) else {
            // Nothing can be said of a first frame that asks for more memory than there is for it.
            return if all.is_empty() { Content::TooLarge } else { Content::Part(all) };
        };
        match bounded(decoder, left) {
            Content::Whole(content) if all.is_empty() && rest.is_empty() => return Content::Whole(content),
            Content::Whole(content) => all.extend(content),
            Content::Part(content) => {
                all.extend(content);
                return Content::Part(all);
            }
            Content::TooLarge => return Content::TooLarge,
        }
        if rest.is_empty() {
            return Content::Part(all);
        }
    }
}

/// Packs with zstd; one content always gives the same bytes, as with gzip.
fn pack_zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// The runs of base64 of every alphabet, with padding and without.
pub(super) fn every_run(text: &[u8], shortest: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    every_stretch(text, shortest.saturating_sub(2 * PADDING)).flat_map(move |stretch| runs_of(text, stretch, shortest))
}

/// The longest stretches of letters of every alphabet that are not shorter than this: what is a run is a part of one.
pub(super) fn every_stretch(text: &[u8], shortest: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    stretches(text, shortest, is_loose)
}

/// The runs in one such stretch, and in what is left of it behind an escape whose last letters it begins with.
pub(super) fn runs_of(text: &[u8], stretch: Range<usize>, shortest: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let Range { start, end } = stretch;
    let may_be_escaped = start > 0 && matches!(text[start - 1], b'\\' | b'%');
    let last = if may_be_escaped { end.min(start + LONGEST_ESCAPE) } else { start };
    let ends = (start + 1..=last).filter_map(|at| Some((at, Escape::ending(&text[..at])?)));
    // Where one is sure, nobody asks what its beginning could be.
    let (unsure, sure): (Vec<_>, Vec<_>) = ends.partition(|(_, escape)| *escape == Escape::Unsure);
    let behind = if sure.is_empty() { unsure } else { sure }.into_iter().map(|(at, _)| at);
    whole_runs(text, stretch, shortest).chain(behind.flat_map(move |at| whole_runs(text, at..end, shortest)))
}

/// Letters of the longest escape behind its first mark: `\UHHHHHHHH`.
const LONGEST_ESCAPE: usize = 9;

/// The runs in one stretch, with padding and without.
fn whole_runs(text: &[u8], stretch: Range<usize>, shortest: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let (start, end) = (stretch.start, stretch.end);
    let usual = runs(&text[start..end + padding(text, end)], shortest);
    let usual = usual.map(move |run| start + run.start..start + run.end);
    usual.chain(loose_run(text, stretch, shortest.saturating_sub(PADDING)))
}

/// Whether a stretch is all that stands in its line, but for padding and blanks, and is base64 of the usual alphabet.
pub(super) fn is_line(text: &[u8], stretch: &Range<usize>) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == b'\n');
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace() && **byte != b'\n';
    let after = &text[stretch.end + padding(text, stretch.end)..];
    is_end(text[..stretch.start].iter().rev().find(|byte| !is_blank(byte)))
        && is_end(after.iter().find(|byte| !is_blank(byte)))
        && text[stretch.clone()].iter().all(|byte| is_base64(*byte))
}

/// The run of letters of every alphabet that only the alphabet of URLs or a missing padding explains.
fn loose_run(text: &[u8], Range { start, end }: Range<usize>, shortest: usize) -> Option<Range<usize>> {
    let padding = padding(text, end);
    if end + padding - start < shortest {
        return None;
    }
    let run = &text[start..end];
    let of_urls = run.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let padded = (end + padding - start).is_multiple_of(4);
    let end = if padded { end + padding } else { end };
    // A whole run of the usual alphabet has been looked at.
    (end - start >= shortest && (of_urls || !padded) && (end - start) % 4 != 1).then_some(start..end)
}

/// The longest runs of base64 characters with their padding.
pub(super) fn runs(text: &[u8], shortest: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    stretches(text, shortest.saturating_sub(PADDING), is_base64).filter_map(move |Range { start, end }| {
        // `name=value` is no padding: a run that is whole without it ends before it.
        let whole = (end - start).is_multiple_of(4);
        let end = if whole { end } else { end + padding(text, end) };
        (end - start >= shortest && (end - start).is_multiple_of(4)).then_some(start..end)
    })
}

/// Most signs of padding behind a run.
pub(super) const PADDING: usize = 2;

/// Signs of padding that follow.
pub(super) fn padding(text: &[u8], end: usize) -> usize {
    text[end..].iter().take(PADDING).take_while(|byte| **byte == b'=').count()
}

/// The longest stretches of letters that are not shorter than this. One of that length has a letter at every place that is so far from
/// the last one that was looked at, so that most of a text is stepped over.
pub(super) fn stretches<'t>(
    text: &'t [u8],
    shortest: usize,
    is_letter: impl Fn(u8) -> bool + 't,
) -> impl Iterator<Item = Range<usize>> + 't {
    let step = shortest.max(1);
    // Before it stands no letter of a stretch that is still to come.
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = text.get(at + step - 1) {
            let probe = at + step - 1;
            if !is_letter(*byte) {
                at = probe + 1;
                continue;
            }
            let start = probe - text[at..probe].iter().rev().take_while(|byte| is_letter(**byte)).count();
            let end = probe + text[probe..].iter().position(|byte| !is_letter(*byte)).unwrap_or(text.len() - probe);
            at = end;
            if end - start >= step {
                return Some(start..end);
            }
        }
        None
    })
}

/// For each byte whether it is a letter of base64: 1 of the usual alphabet, 2 of that of URLs only.
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let mut byte = u8::MAX;
    while byte > 0 {
        letters[byte as usize] = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => 1,
            b'-' | b'_' => 2,
            _ => 0,
        };
        byte -= 1;
    }
    letters
};

#[inline]
pub(super) const fn is_base64(byte: u8) -> bool {
    LETTERS[byte as usize] == 1
}

#[inline]
const fn is_loose(byte: u8) -> bool {
    LETTERS[byte as usize] > 0
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn left() -> Cell<u64> {
        Cell::new(MOST_TOGETHER)
    }

    /// A text packed as cloud-init, kubeadm and Ignition take it.
    pub(in super::super) fn packed(text: &str, zstd: bool) -> Vec<u8> {
        if zstd { pack_zstd(text.as_bytes()) } else { zip(text.as_bytes()) }
    }

    #[test]
    fn what_is_opened_is_closed_in_the_same_way() {
        for zstd in [false, true] {
            let layer = packed(&"apiVersion: v1\ncanReach: 55.55.55.55\n".repeat(20), zstd);
            let budget = left();
            let unpacked = Unpacked::of(&layer, &budget).expect("it can be opened");
            assert_eq!(unpacked.pack(unpacked.text.clone().into_owned()), layer);
            assert_eq!(unpacked.layer(), Some(if zstd { Layer::Zstd } else { Layer::Gzip }));
        }
    }

    /// These bytes end up in the spec of Machines: if a new version of the packer makes others, an update of rollgate replaces
    /// Machines. Do not renew the expectation without saying so in the changelog.
    #[test]
    fn the_packers_make_the_bytes_that_they_always_made() {
        let content = "#cloud-config\nwrite_files:\n- path: /etc/vip\n  content: 10.0.3.7\n".repeat(3);
        let zipped = "H4sIAAAAAAAC/8XLywmAMAwA0HumCPTcj3gQsoxITDVQ2qJR19ctvL/nuLRr9dxq1g2eQ03mrEVOAo99sZ0winG8tQPix0yqEQ4ppDCGCdzP/wU5p5nbwAAAAA==";
        assert_eq!(STANDARD.encode(zip(content.as_bytes())), zipped);
        let packed = "KLUv/QA4zQIADAQAI2Nsb3VkLWNvbmZpZwp3cml0ZV9maWxlczoKLSBwYXRoOiAvZXRjL3ZpcAogIGNvbnRlbnQ6IDEwLjAuMy43CgKoEOP/9wMQNn4Q4///vw8dDOhAwgg=";
        assert_eq!(STANDARD.encode(pack_zstd(content.as_bytes())), packed);
    }

    /// What the tool of Zstandard itself packs, of a file (the size is known) and of a pipe (it is not).
    #[test]
    fn what_other_tools_pack_is_opened() {
        for letters in [
            "KLUv/SQWsQAAY2FuUmVhY2g6IDU1LjU1LjU1LjU1CrOUQKI=",
            "KLUv/QRYsQAAY2FuUmVhY2g6IDU1LjU1LjU1LjU1CrOUQKI=",
            "KLUv/QBYsQAAY2FuUmVhY2g6IDU1LjU1LjU1LjU1Cg==",
        ] {
            assert_eq!(open(letters, &left()).as_deref(), Some("canReach: 55.55.55.55\n"));
        }
    }

    /// The longest stretches of letters, looked at letter by letter.
    fn letter_by_letter(text: &[u8], is_letter: fn(u8) -> bool) -> Vec<Range<usize>> {
        let begins = |at: &usize| is_letter(text[*at]) && (*at == 0 || !is_letter(text[at - 1]));
        let end = |at: usize| (at..text.len()).find(|end| !is_letter(text[*end])).unwrap_or(text.len());
        (0..text.len()).filter(begins).map(|at| at..end(at)).collect()
    }

    proptest::proptest! {
        /// What is stepped over holds nothing that is looked for.
        #[test]
        fn runs_are_those_that_are_found_letter_by_letter(text in "[ab+/=_ -]{0,80}", shortest in 0_usize..24) {
            let text = text.as_bytes();
            for (is_letter, length) in [(is_base64 as fn(u8) -> bool, shortest), (is_loose, shortest)] {
                let long = |stretch: &Range<usize>| stretch.len() >= length.max(1);
                let all: Vec<Range<usize>> = letter_by_letter(text, is_letter).into_iter().filter(long).collect();
                proptest::prop_assert_eq!(stretches(text, length, is_letter).collect::<Vec<_>>(), all);
            }
            let usual = letter_by_letter(text, is_base64).into_iter().filter_map(|Range { start, end }| {
                let end = if (end - start) % 4 == 0 { end } else { end + padding(text, end) };
                (end - start >= shortest && (end - start) % 4 == 0).then_some(start..end)
            });
            let loose = letter_by_letter(text, is_loose).into_iter().filter_map(|stretch| loose_run(text, stretch, shortest.saturating_sub(2)));
            let in_order = |mut runs: Vec<Range<usize>>| {
                runs.sort_by_key(|run| (run.start, run.end));
                runs
            };
            proptest::prop_assert_eq!(in_order(every_run(text, shortest).collect()), in_order(usual.chain(loose).collect()));
        }
    }

    #[test]
    fn a_bomb_is_left_alone() {
        let bytes = vec![b'5'; usize::try_from(MOST_BYTES).expect("fits") + 1];
        assert!(Unpacked::of(&zip(&bytes), &left()).is_none());
        assert!(Unpacked::of(&pack_zstd(&bytes), &left()).is_none());
        let (layer, budget) = (zip(&bytes[2..]), left());
        let opened = (0..40).filter(|_| Unpacked::of(&layer, &budget).is_some()).count();
        assert_eq!((opened, budget.get()), (4, 0), "many layers unpack to no more than one text may");
        assert!(
            matches!(Layered::of(&layer, &budget), Layered::Closed),
            "and what is left alone is not taken for empty"
        );
    }

    #[test]
    fn what_cannot_be_packed_again_as_it_was_is_looked_at_all_the_same() {
        let frames = [pack_zstd(b"a"), pack_zstd(b"b")].concat();
        let whole = zip(&b"many letters, and none of them twice in a row".repeat(9));
        let cut = &whole[..whole.len() - 4];
        let behind = [zip(b"a").as_slice(), b"more"].concat();
        for (layer, seen) in
            [(&frames[..], &b"ab"[..]), (cut, b"many letters"), (&behind, b"a"), (b"\xFF55", b"\xFF55")]
        {
            let budget = left();
            let Layered::Bytes(bytes) = Layered::of(layer, &budget) else { panic!("{layer:?}") };
            assert!(bytes.starts_with(seen), "{bytes:?}");
        }
    }
}
