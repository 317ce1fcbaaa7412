//! Words that every room says alike.

/// A count with its noun: `1 Machine`, `3 Machines`.
#[must_use]
pub(crate) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
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
