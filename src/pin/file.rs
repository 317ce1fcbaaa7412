//! Pins in a file that is committed to Git.

use super::Book;
use crate::store;

/// A pin file.
pub(crate) type FileStore = store::FileStore<Book>;
#[cfg(test)]
mod tests;
