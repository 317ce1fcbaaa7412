//! What differs between live and predicted, in the words of the rendered version.
//! A pair carries both sides of one object; a change names one place that differs.

mod diff;
mod lists;
mod noise;
pub mod redact;
mod semantic;
mod within;

pub use crate::model::{Action, Basis, Change, Pair, Within};
pub use diff::{changes, part_changes};
pub use noise::without_identity;
pub(crate) use semantic::same_amount;
