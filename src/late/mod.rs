//! Late values: what a policy names, where it comes from, whether it may be used, and where it goes in the stream.
//! Everything but reading files and waiting is pure. A value of a Secret never reaches a message, a report or a `Debug` text.

pub mod kind;
mod layers;
mod settle;
mod sources;
pub mod token;

pub use settle::{Evidence, Settled, settle};
pub use sources::{Wanted, describe, extract, local, reading, wanted, within};
