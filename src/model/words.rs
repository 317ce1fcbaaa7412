//! Words that every room says alike.

/// A count with its noun: `1 Machine`, `3 Machines`.
#[must_use]
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
