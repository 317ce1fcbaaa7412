//! What differs between live and predicted, in the words of the rendered version.
//! A pair carries both sides of one object; a change names one place that differs.

mod pair;

pub use pair::{Action, Basis, Change, Pair, Within};
