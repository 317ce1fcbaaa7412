//! What a mirror may look at: every object before and after the write, and the clock.

use std::borrow::Cow;

use crate::judge::once::Once;
use crate::object::{Inventory, Key, View};
use crate::tree::Value;
use crate::world::{World, WriteMethod};

/// Both sides of the whole cluster, as far as it is known.
///
/// `pairs` holds what differs, is new or goes away; every other object is the same on both sides and is found in
/// the World (or, for an old render, in the rendered stream).
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// What was read, with the clock and the versions in it; what is live is read through the view.
    pub world: &'a World,
    /// What is live.
    pub view: &'a dyn View,
    /// The rendered objects, late values resolved.
    pub rendered: &'a Inventory,
    /// What is made once.
    pub once: &'a Once,
    /// How the host writes, as far as one way is looked at.
    pub way: Option<WriteMethod>,
}

impl<'a> Scene<'a> {
    /// The object as the API server holds it now.
    #[must_use]
    pub fn before(&self, key: &Key) -> Option<Cow<'a, Value>> {
        self.view.get(key).object()?.value().ok()
    }
}
