//! Who writes, and what the API server will hold after the write.
//! Prediction is a pure function of the rendered objects and the World; what it cannot see is doubt, never silence.

mod apply;
mod fields;
mod kinds;
mod locate;
mod merge;
mod method;
mod model;
mod predict;
mod referred;
mod rename;
mod stream;
mod write;

#[cfg(test)]
mod tests;

pub use model::{Host, HostKind};
pub use predict::{Prediction, predict};
