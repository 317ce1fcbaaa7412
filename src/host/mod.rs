//! Who writes, and what the API server will hold after the write.
//! Prediction is a pure function of the rendered objects and the World; what it cannot see is doubt, never silence.

mod answered;
mod apply;
mod argo;
mod ask;
mod carried;
pub(crate) mod controllers;
pub mod detect;
mod fields;
mod foreign;
pub mod helm_args;
pub mod hook;
pub(crate) mod inside;
pub(crate) mod kinds;
mod locate;
mod merge;
mod method;
mod model;
mod pairs;
pub mod parent;
mod place;
mod predict;
pub(crate) mod referred;
mod refusals;
mod remarks;
mod removals;
mod rename;
mod reprint;
pub mod say;
mod stored;
mod stream;
mod write;
pub mod writers;

#[cfg(test)]
mod method_tests;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod release_tests;
#[cfg(test)]
mod removal_tests;
#[cfg(test)]
mod tests;

pub use answered::{Agreement, Answered};
pub use ask::{Request, Said, ServerAnswer, Verb, Write};
pub use detect::{Detected, Driver, Reach, ReleaseName, Signs, Told, detect};
pub(crate) use fields::canonical;
pub use model::{Host, HostKind};
pub use predict::{Prediction, predict, writes};
