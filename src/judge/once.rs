//! What one judgement makes once for all provider versions that it tries: rollouts that were played, live objects that were read.

use std::sync::{Arc, Mutex, PoisonError};

use crate::hashed::HashMap;
use crate::impact::simulate::Plays;
use crate::object::{Key, Object};
use crate::tree::Value;

/// What one judgement makes once.
#[derive(Debug, Default)]
pub struct Once {
    /// Rollouts that were played already.
    pub plays: Arc<Plays>,
    /// Live objects that were read already; `None` where that failed.
    live: Mutex<HashMap<Key, Option<Value>>>,
}

impl Once {
    /// The content of a live object.
    #[must_use]
    pub fn live(&self, object: &Object) -> Option<Value> {
        let known = || self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&object.key) {
            return known.clone();
        }
        let read = object.value().ok().map(std::borrow::Cow::into_owned);
        known().insert(object.key.clone(), read.clone());
        read
    }
}
