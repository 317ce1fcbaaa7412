//! Places that keep something of our own between runs: a file beside the policy, or an object of the cluster. What is kept is read as a
//! whole, changed, and written so that no other run's change is lost.

pub(crate) mod cluster;
pub(crate) mod entries;
pub(crate) mod file;

use std::collections::BTreeMap;

pub(crate) use cluster::{ClusterError, ClusterStore};
pub(crate) use file::{FileError, FileStore};

/// What a store can keep.
pub trait Kept: Clone + Default + PartialEq {
    /// How people call it, such as `pins`.
    const NOUN: &'static str;

    /// Labels of an object that keeps it, beside those of every object of ours.
    const LABELS: &'static [(&'static str, &'static str)] = &[];

    /// Why its text cannot be read or changed.
    type Fault: std::error::Error + Send + Sync + 'static;

    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it is something else.
    fn parse(file: &str, bytes: &[u8]) -> Result<Self, Self::Fault>;

    /// The text of the file, which had the text `before`.
    ///
    /// # Errors
    /// When that text cannot be changed into one that says this.
    fn render(&self, file: &str, before: &[u8]) -> Result<String, Self::Fault>;

    /// Reads the texts of an object, by their keys.
    ///
    /// # Errors
    /// When one of them is something else.
    fn of_data(place: &str, data: &BTreeMap<String, String>) -> Result<Self, Self::Fault>;

    /// Whether an object with these labels may be written.
    ///
    /// # Errors
    /// When it is somebody else's.
    fn takes(_place: &str, _labels: &BTreeMap<String, String>) -> Result<(), Self::Fault> {
        Ok(())
    }

    /// The texts of the object.
    fn data(&self) -> BTreeMap<String, String>;

    /// The fault of a key whose text cannot be read.
    fn unreadable(place: &str, key: &str, error: &dyn std::fmt::Display) -> Self::Fault;
}
