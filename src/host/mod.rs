//! Who writes, and what the API server will hold after the write.
//! Prediction is a pure function of the rendered objects and the World; what it cannot see is doubt, never silence.

mod again;
mod answered;
mod argo;
mod ask;
mod attempt;
mod by_others;
mod carried;
pub(crate) mod controllers;
pub mod detect;
mod forced;
mod foreign;
#[cfg(feature = "serve")]
mod given;
pub(crate) mod helm_args;
pub(crate) mod hook;
mod hooked;
pub(crate) mod inside;
pub(crate) mod kustomized;
mod last_applied;
mod locate;
mod method;
mod nameless;
mod owned;
mod pairs;
pub(crate) mod parent;
mod predict;
pub(crate) mod referred;
mod refusals;
mod remarks;
mod removals;
mod rename;
mod reprint;
mod reversioned;
pub(crate) mod say;
mod server;
mod sides;
mod standing;
mod stored;
mod stream;
mod write;
pub(crate) mod writers;

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

pub(crate) use answered::{Agreement, Answered};
pub(crate) use ask::{Request, Verb, Write};
pub(crate) use detect::Driver;
pub(crate) use detect::Reach;
pub use detect::{Detected, Signs, ToldHost, detect};
pub(crate) use forced::Forced;
#[cfg(feature = "serve")]
pub(crate) use given::{Given, given};
pub(crate) use hook::is_left_out;
pub(crate) use hooked::HOOK_RECREATES;
pub(crate) use nameless::refuse_nameless;
pub(crate) use predict::Prediction;
pub use predict::{predict, writes};

pub(crate) use crate::world::compared as kinds;
pub use crate::world::{Host, HostKind, ServerSaid};
pub(crate) use crate::world::{ReleaseName, ServerAnswer};
pub(crate) use refusals::stops_before_writes;
pub(crate) use standing::{contested, may_apply, other_manager};
pub(crate) use stream::has_option;
