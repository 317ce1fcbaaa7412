//! Words that every room says alike.

use std::fmt::Display;

/// A count with its noun: `1 Machine`, `3 Machines`.
#[must_use]
pub(crate) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The verb for so many: `is`, `are`.
#[must_use]
pub(crate) const fn is(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// A count with its noun and verb: `1 Machine is`, `3 Machines are`.
#[must_use]
pub(crate) fn plural_is(count: u64, noun: &str) -> String {
    format!("{} {}", plural(count, noun), is(count))
}

/// The first of some, and how many others there are: `a`, `a and 3 more`.
#[must_use]
pub(crate) fn first_and_more<T: Display>(all: &[T]) -> String {
    some_of(all, 1)
}

/// The first ones of some with commas, and how many others there are: `a, b`, `a, b and 3 more`.
#[must_use]
pub(crate) fn some_of<I>(all: I, shown: usize) -> String
where
    I: IntoIterator<Item: Display, IntoIter: ExactSizeIterator>,
{
    let all = all.into_iter();
    let more = all.len().saturating_sub(shown);
    let some = all.take(shown).map(|one| one.to_string()).collect::<Vec<_>>().join(", ");
    if more == 0 { some } else { format!("{some} and {more} more") }
}

/// A length of time in words: the two largest units of it.
#[must_use]
pub(crate) fn age(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => plural(seconds, "second"),
        (0, 0, _) => plural(minutes, "minute"),
        (0, _, _) if minutes % 60 == 0 => plural(hours, "hour"),
        (0, _, _) => format!("{} {}", plural(hours, "hour"), plural(minutes % 60, "minute")),
        _ if hours % 24 == 0 => plural(days, "day"),
        _ => format!("{} {}", plural(days, "day"), plural(hours % 24, "hour")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_has_no_others() {
        assert_eq!(first_and_more(&["a"]), "a");
        assert_eq!(first_and_more(&["a", "b", "c"]), "a and 2 more");
        assert_eq!(some_of(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(some_of(&["a", "b"], 2), "a, b");
        assert_eq!(some_of(&[] as &[&str], 2), "");
        assert_eq!(
            (plural_is(1, "Machine"), plural_is(3, "Machine")),
            ("1 Machine is".into(), "3 Machines are".into())
        );
    }
}
