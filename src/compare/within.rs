//! Strings that are documents: base64, gzip, cloud-init, YAML, JSON. A change in one is named by the place inside.

use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Most bytes that a gzipped text may unfold to; more is left alone.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The text behind base64, unzipped where it is gzip; `None` where the text is not base64 of text.
pub(super) fn decode_text(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() < 8 {
        return None;
    }
    let compact: String = text.split_ascii_whitespace().collect();
    let bytes = BASE64_STANDARD.decode(compact).ok()?;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) { unzip(&bytes)? } else { bytes };
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\u{0}'))
}

/// What a gzip stream holds.
pub(super) fn unzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes).take(LARGEST + 1).read_to_end(&mut plain).ok()?;
    (plain.len() as u64 <= LARGEST).then_some(plain)
}
