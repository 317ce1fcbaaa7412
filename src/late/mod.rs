//! Late values: what a policy names, where it comes from, whether it may be used, and where it goes in the stream.
//! Everything but reading files and waiting is pure. A value of a Secret never reaches a message, a report or a `Debug` text.

mod back;
mod checksums;
mod context;
mod document;
mod embedded;
mod escape;
mod fields;
mod held;
pub mod kind;
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
pub mod template;
pub mod token;
mod vet;
pub mod wait;
mod web;

pub use back::{NoWayBack, Stays, set_back};
pub use fields::{Kept, keep};
pub use local::{allowed, local};
pub use resolution::{Resolution, Symbolic, Trial};
pub use resolve::{is_unresolved, resolve, tried};
pub use settle::{Evidence, NOTHING_HIDDEN, Reach, Settled, settle};
pub use sources::{Wanted, describe, extract, no_kind, reading, wanted, within};
pub use stream::{needed, standing};
pub use vet::vet;
pub use web::Address;
