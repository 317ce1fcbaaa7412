//! The marks that stand for what is hidden: 128 bits of a keyed hash, so that equal still shows as equal, and who has the
//! report or the snapshot can neither look a guess up nor find another text with the same mark.

use std::io::Read as _;
use std::sync::LazyLock;

use memchr::memmem;
use sha2::{Digest as _, Sha256};

/// How a mark begins.
pub(crate) const MARK: &str = "<redacted:";

/// Finds where marks begin: a snapshot of a fleet holds hundreds of thousands.
static BEGIN: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(MARK));

/// Where marks may begin in a text.
pub(crate) fn beginnings(text: &str) -> impl Iterator<Item = usize> {
    BEGIN.find_iter(text.as_bytes())
}

/// Bytes of a hash that a mark shows.
const SHOWN: usize = 16;

/// Fewest characters of a key that a person gives: with fewer it could be found by trying.
const SHORTEST: usize = 32;

/// The key of the marks. It is in no report and in no snapshot: made for one run, or kept outside by who wants to compare
/// the marks of several.
#[derive(Clone)]
pub struct MarkKey {
    key: [u8; 32],
    /// The hash after the key, inside and outside (RFC 2104): every mark begins with these.
    begun: [Sha256; 2],
}

impl PartialEq for MarkKey {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for MarkKey {}

impl std::fmt::Debug for MarkKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MarkKey(..)")
    }
}

impl MarkKey {
    fn new(key: [u8; 32]) -> Self {
        Self { key, begun: begun(&key) }
    }

    /// A key that nobody has used before.
    #[must_use]
    pub fn fresh() -> Self {
        let mut key = [0_u8; 32];
        let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
        if read.is_err() {
            // Where there is no such device, the seeds of the standard library's maps are random too.
            for chunk in key.chunks_mut(8) {
                use std::hash::{BuildHasher as _, RandomState};
                chunk.copy_from_slice(&RandomState::new().hash_one(0_u8).to_le_bytes());
            }
        }
        Self::new(key)
    }

    /// The key that a text stands for; `None` where the text is so short that it could be guessed.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.chars().count() >= SHORTEST).then(|| Self::new(Sha256::digest(text.as_bytes()).into()))
    }

    /// The text that [`Self::of_hex`] reads.
    #[must_use]
    pub fn hex(&self) -> String {
        hex(&self.key)
    }

    /// Reads what [`Self::hex`] wrote.
    #[must_use]
    pub fn of_hex(text: &str) -> Option<Self> {
        let digits: Option<Vec<u8>> =
            text.trim().chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        let digits: [u8; 64] = digits?.try_into().ok()?;
        let mut key = [0_u8; 32];
        for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
            *byte = pair.iter().fold(0, |sum, digit| sum << 4 | digit);
        }
        Some(Self::new(key))
    }

    /// What tells this key from others without telling it.
    #[must_use]
    pub fn id(&self) -> String {
        hex(&self.hash(b"rollgate key id")[..SHOWN])
    }

    /// Another key, which only who has this one can make.
    #[must_use]
    pub fn derived(&self) -> Self {
        Self::new(self.hash(b"rollgate derived key"))
    }

    fn hash(&self, message: &[u8]) -> [u8; 32] {
        keyed_hash(&self.begun, message)
    }

    /// The mark of a text.
    #[must_use]
    pub fn mark(&self, secret: &str) -> String {
        format!("{MARK}{}>", hex(&self.hash(secret.as_bytes())[..SHOWN]))
    }
}

/// Whether a text is one mark and nothing else.
#[must_use]
pub(crate) fn is_mark(text: &str) -> bool {
    text.len() == MARK.len() + SHOWN * 2 + 1 && marks(text).first() == Some(&(0..text.len()))
}

/// Where the marks in a text are.
pub(super) fn marks(text: &str) -> Vec<std::ops::Range<usize>> {
    let whole = |start: usize| {
        let inner = start + MARK.len();
        let end = inner + SHOWN * 2;
        let of_hash = text.as_bytes().get(inner..end)?.iter().all(u8::is_ascii_hexdigit);
        (of_hash && text.as_bytes().get(end) == Some(&b'>')).then(|| start..end + 1)
    };
    beginnings(text).filter_map(whole).collect()
}

/// A text with each mark in it replaced.
#[must_use]
pub(crate) fn remarked(text: &str, mark: impl Fn(&str) -> String) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for range in marks(text) {
        out.push_str(&text[from..range.start]);
        out.push_str(&mark(&text[range.clone()]));
        from = range.end;
    }
    out.push_str(&text[from..]);
    out
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out
}

/// The hash after a key that is no longer than a block, inside and outside.
fn begun(key: &[u8]) -> [Sha256; 2] {
    let mut block = [0_u8; 64];
    block.iter_mut().zip(key).for_each(|(byte, of_key)| *byte = *of_key);
    [0x36, 0x5c].map(|pad| Sha256::new().chain_update(block.map(|byte| byte ^ pad)))
}

/// HMAC-SHA-256 (RFC 2104) of a message, begun with its key.
fn keyed_hash([inside, outside]: &[Sha256; 2], message: &[u8]) -> [u8; 32] {
    let inner = inside.clone().chain_update(message).finalize();
    outside.clone().chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_of_rfc_4231() {
        let hash = keyed_hash(&begun(b"Jefe"), b"what do ya want for nothing?");
        assert_eq!(hash[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    }

    #[test]
    fn a_key_reads_back_and_its_name_tells_nothing_of_it() {
        let key = MarkKey::fresh();
        assert_eq!(MarkKey::of_hex(&key.hex()), Some(key.clone()));
        assert!(!key.hex().contains(&key.id()) && format!("{key:?}") == "MarkKey(..)");
        assert_ne!(key, MarkKey::fresh());
        for broken in ["", "00", "x", &"0".repeat(63), &"0".repeat(66)] {
            assert_eq!(MarkKey::of_hex(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_key_that_can_be_guessed_is_none() {
        assert_eq!(MarkKey::of_text("telco"), None);
        assert!(MarkKey::of_text("d3b07384d113edec49eaa6238ad5ff00").is_some());
    }

    #[test]
    fn a_mark_has_128_bits_and_is_found_again() {
        let mark = MarkKey::fresh().mark("a");
        assert_eq!(mark.len(), MARK.len() + 32 + 1);
        assert_eq!(
            marks(&format!("x {mark} y <redacted:forged>")),
            std::iter::once(2..2 + mark.len()).collect::<Vec<_>>()
        );
    }
}
