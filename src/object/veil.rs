//! Trees in debug output: that one is there and how large it is, never what stands in it. Any tree may hold a secret, and
//! debug output ends up in logs and in the messages of failed checks.

use std::fmt;

use crate::tree::Value;

/// A tree that may hold secrets, for `Debug`.
pub(crate) struct Veil<'v>(pub &'v Value);

impl fmt::Debug for Veil<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Object(map) => write!(f, "(map of {})", map.len()),
            Value::Array(list) => write!(f, "(list of {})", list.len()),
            Value::String(text) => write!(f, "(text of {} bytes)", text.len()),
            Value::Number(_) => f.write_str("(number)"),
            Value::Bool(_) => f.write_str("(boolean)"),
            Value::Null => f.write_str("null"),
        }
    }
}
