//! The bytes of a stream and what they say: whoever asks first reads them, and nobody reads them again.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::{LoadError, Object, Stream};
use crate::hashed::HashSet;
use crate::yaml::{self, Section};

/// The text of a stream. Copies share its bytes and what was read of them.
#[derive(Clone)]
pub struct StreamText {
    bytes: Bytes,
    read: Arc<Read>,
}

/// Documents that were looked through for some words and hold none of them, in any spelling.
struct InVain {
    words: Vec<String>,
    /// Where each of these documents starts.
    starts: HashSet<usize>,
}

/// What was read of a text, once somebody has asked for it.
#[derive(Default)]
struct Read {
    sections: OnceLock<yaml::Result<Vec<Section>>>,
    stream: OnceLock<Result<Stream, LoadError>>,
    in_vain: OnceLock<InVain>,
}

impl StreamText {
    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Its documents, as [`yaml::split`] cuts them.
    ///
    /// # Errors
    /// When they cannot be told apart.
    pub fn sections(&self) -> yaml::Result<&[Section]> {
        let sections = self.read.sections.get_or_init(|| yaml::split(&self.bytes));
        sections.as_deref().map_err(Clone::clone)
    }

    /// What it says.
    ///
    /// # Errors
    /// As [`Stream::load`].
    pub fn stream(&self) -> Result<&Stream, LoadError> {
        let read = || Stream::of_sections(&self.bytes, self.sections()?, &[]);
        self.read.stream.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// The starts of documents that are known to hold none of these words; `None` where nobody looked for the same ones.
    pub(crate) fn in_vain(&self, words: &[&str]) -> Option<&HashSet<usize>> {
        let known = self.read.in_vain.get().filter(|known| !words.is_empty() && known.words == words)?;
        Some(&known.starts)
    }

    /// Notes the starts of the documents that hold none of these words. Only the first words are kept: whoever judges a stream looks for
    /// the same ones again.
    pub(crate) fn note_in_vain(&self, words: &[&str], starts: HashSet<usize>) {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        self.read.in_vain.get_or_init(|| InVain { words, starts });
    }

    /// The object of each document, where that is an everyday one; nothing where nobody has read it yet.
    pub(super) fn everyday(&self) -> Vec<Option<&Object>> {
        let (Some(Ok(stream)), Ok(sections)) = (self.read.stream.get(), self.sections()) else { return Vec::new() };
        let mut objects = stream.objects.objects().iter().filter(|object| object.everyday().is_some()).peekable();
        let at = |section: &Section| objects.next_if(|object| object.is_document(section.document));
        sections.iter().map(at).collect()
    }
}

impl From<Bytes> for StreamText {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, read: Arc::default() }
    }
}

impl From<Vec<u8>> for StreamText {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

impl Deref for StreamText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for StreamText {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for StreamText {}

impl fmt::Debug for StreamText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamText({} bytes)", self.bytes.len())
    }
}
