//! Who writes, and what the API server will hold after the write.
//! Prediction is a pure function of the rendered objects and the World; what it cannot see is doubt, never silence.

mod again;
mod answered;
mod argo;
mod ask;
mod carried;
pub(crate) mod controllers;
pub mod detect;
mod foreign;
mod given;
pub mod helm_args;
pub mod hook;
mod hooked;
pub(crate) mod inside;
mod last_applied;
mod locate;
mod method;
mod nameless;
mod pairs;
pub mod parent;
mod predict;
pub(crate) mod referred;
mod refusals;
mod remarks;
mod removals;
mod rename;
mod reprint;
pub mod say;
mod server;
mod sides;
mod standing;
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
pub use ask::{Request, Verb, Write};
pub use detect::{Detected, Driver, Reach, Signs, ToldHost, detect};
pub use given::{Given, given};
pub(crate) use hook::is_left_out;
pub(crate) use hooked::HOOK_RECREATES;
pub use nameless::refuse_nameless;
pub use predict::{Prediction, predict, writes};

pub(crate) use crate::world::compared as kinds;
pub use crate::world::{Host, HostKind, ReleaseName, ServerAnswer, ServerSaid};
pub(crate) use refusals::stops_before_writes;
pub(crate) use standing::{contested, may_apply, other_manager};
