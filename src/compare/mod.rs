//! What differs between live and predicted, in the words of the rendered version.
//! A pair carries both sides of one object; a change names one place that differs.

mod diff;
mod lists;
mod noise;
mod pair;
pub mod redact;
mod refs;
mod within;

use serde_json::Value;

pub use diff::{changes, part_changes};
pub use noise::without_identity;
pub use pair::{Action, Basis, Change, Pair, Within};
pub use refs::{Reference, references};

/// Whether two values of one place mean the same.
fn same(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Number(old), Value::Number(new)) => {
            old == new || old.as_f64() == new.as_f64() && !(old.is_i64() && new.is_i64())
        }
        _ => before == after,
    }
}
