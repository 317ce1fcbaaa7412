//! What differs between live and predicted, in the words of the rendered version.
//! A pair carries both sides of one object; a change names one place that differs.

mod diff;
mod form;
mod lists;
mod noise;
pub(crate) mod redact;
mod semantic;
mod within;

pub use crate::model::{Action, Change, Pair};
pub(crate) use crate::model::{Basis, Within};
pub use diff::changes;
pub(crate) use diff::part_changes;
pub(crate) use noise::without_identity;
pub(crate) use semantic::same_amount;
pub(crate) use within::documents;
