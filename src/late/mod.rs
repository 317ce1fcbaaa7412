//! Late values: what a policy names, where it comes from, whether it may be used, and where it goes in the stream.
//! Everything but reading files and waiting is pure. A value of a Secret never reaches a message, a report or a `Debug` text.

mod back;
mod checksums;
mod context;
mod document;
mod embedded;
mod escape;
mod fields;
mod filling;
mod held;
pub(crate) mod kind;
mod layers;
mod local;
mod packing;
mod resolution;
mod resolve;
mod settle;
mod signs;
mod sources;
mod stream;
mod targets;
pub(crate) mod template;
pub(crate) mod token;
mod vet;
pub(crate) mod wait;
mod web;

pub(crate) use back::{Stays, set_back};

pub(crate) use fields::keep;
pub(crate) use local::{allowed, local};
pub(crate) use resolution::{Resolution, Symbolic, Trial};
pub use resolve::resolve;
pub(crate) use resolve::{is_unresolved, tried};
pub use settle::Reach;
pub(crate) use settle::{Evidence, NOTHING_HIDDEN, Settled, settle};
pub(crate) use sources::{Wanted, no_kind, reading, wanted, within};
pub use stream::needed;
pub(crate) use stream::standing;
pub(crate) use token::Placeholders;
pub(crate) use vet::vet;
pub(crate) use web::Address;
