//! Plain words that every room shares: what a change does, a pair of one object, a cause.

pub mod cause;
pub mod effect;
pub mod pair;

pub use cause::Cause;
pub use effect::{Decision, Effect, Touches};
pub use pair::{Action, Basis, Change, Pair, Within};
