//! The character rules of Go's reader (`readerc.go` of go.yaml.in/yaml/v2 v2.4.4), checked before anything is scanned.
//!
//! What passes is valid UTF-8 without control characters; a byte order mark at the start is skipped, UTF-16 is converted first.

use std::borrow::Cow;

use crate::yaml::error::Problem;

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";

/// A document whose characters Go accepts.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    /// UTF-8 text, with the byte order mark still in front.
    pub(crate) bytes: Cow<'a, [u8]>,
    /// Offset of the first byte after the byte order mark.
    pub(crate) start: usize,
    /// True when a carriage return, NEL, LS or PS occurs, so that lines may end in something else than a line feed.
    pub(crate) odd_breaks: bool,
}

/// Checks `bytes` as Go's reader would and finds where the text starts.
pub(crate) fn check(bytes: &[u8]) -> Result<Text<'_>, Problem> {
    let (bytes, start) = match bytes {
        [0xFF, 0xFE, rest @ ..] => (Cow::Owned(utf16(rest, u16::from_le_bytes)?), 0),
        [0xFE, 0xFF, rest @ ..] => (Cow::Owned(utf16(rest, u16::from_be_bytes)?), 0),
        _ => (Cow::Borrowed(bytes), if bytes.starts_with(UTF8_BOM) { UTF8_BOM.len() } else { 0 }),
    };
    if bytes[start..].starts_with(UTF8_BOM) {
        return Err(Problem::new(start, "the document starts with two byte order marks: remove one"));
    }
    let mut odd_breaks = memchr::memchr(b'\r', &bytes).is_some();
    if let Some(offset) = ascii_control(&bytes) {
        return Err(control(&bytes, offset));
    }
    if !bytes.is_ascii() {
        if let Err(error) = std::str::from_utf8(&bytes) {
            return Err(Problem::new(error.valid_up_to(), "the text is not valid UTF-8"));
        }
        odd_breaks |= wide(&bytes)?;
    }
    Ok(Text { bytes, start, odd_breaks })
}

fn control(bytes: &[u8], offset: usize) -> Problem {
    let character = std::str::from_utf8(&bytes[offset..])
        .map_or_else(|_| bytes.get(offset).map(|byte| char::from(*byte)), |text| text.chars().next())
        .unwrap_or_default();
    Problem::new(offset, format!("control character U+{:04X} is not allowed", u32::from(character)))
}

/// Offset of the first ASCII control character that YAML forbids. The inner loop has no branch, so that it is vectorised.
fn ascii_control(bytes: &[u8]) -> Option<usize> {
    let bad = |byte: u8| (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r') | (byte == 0x7F);
    for (index, chunk) in bytes.chunks(4096).enumerate() {
        if chunk.iter().fold(false, |any, byte| any | bad(*byte)) {
            return chunk.iter().position(|byte| bad(*byte)).map(|at| index * 4096 + at);
        }
    }
    None
}

/// Looks for the forbidden characters above ASCII (C1 controls, U+FFFE, U+FFFF); says whether NEL, LS or PS occur.
fn wide(bytes: &[u8]) -> Result<bool, Problem> {
    let mut odd = false;
    for at in memchr::memchr3_iter(0xC2, 0xE2, 0xEF, bytes) {
        match &bytes[at..] {
            [0xC2, 0x85, ..] | [0xE2, 0x80, 0xA8 | 0xA9, ..] => odd = true,
            [0xC2, 0x80..=0x9F, ..] | [0xEF, 0xBF, 0xBE | 0xBF, ..] => return Err(control(bytes, at)),
            _ => {}
        }
    }
    Ok(odd)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Vec<u8>, Problem> {
    if !bytes.len().is_multiple_of(2) {
        return Err(Problem::new(bytes.len(), "the UTF-16 text ends inside a character"));
    }
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let mut text = String::with_capacity(bytes.len());
    for character in char::decode_utf16(units) {
        text.push(character.map_err(|_| Problem::new(0, "the UTF-16 text holds an unpaired surrogate"))?);
    }
    Ok(text.into_bytes())
}

/// Length of the line break at `at`: 0 when there is none, else 1 (LF, CR), 2 (CR LF, NEL) or 3 (LS, PS).
pub(crate) fn break_len(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'\n') => 1,
        Some(b'\r') => 1 + usize::from(bytes.get(at + 1) == Some(&b'\n')),
        Some(0xC2) if bytes.get(at + 1) == Some(&0x85) => 2,
        Some(0xE2) if matches!(bytes.get(at + 1..at + 3), Some([0x80, 0xA8 | 0xA9])) => 3,
        _ => 0,
    }
}
