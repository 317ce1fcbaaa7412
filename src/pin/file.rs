//! Pins in a file that is committed to Git.

use super::{Book, BookError};
use crate::store;

/// A pin file.
pub type FileStore = store::FileStore<Book>;
/// Why the pins of a file could not be read or written.
pub type StoreError = store::FileError<BookError>;

#[cfg(test)]
mod tests;
