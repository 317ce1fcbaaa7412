//! Lengths of time as Go reads and Kubernetes keeps them.

/// A length of time as Go reads it (`time.ParseDuration`), in nanoseconds; `None` where it is none.
pub(crate) fn nanoseconds(text: &str) -> Option<i128> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let unit: i128 = match &tail[..end] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && part.is_empty() {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(unit)?)?;
        if !part.is_empty() {
            let scale = 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
            total = total.checked_add(part.parse::<i128>().ok()?.checked_mul(unit)? / scale)?;
        }
        rest = &tail[end..];
    }
    Some(sign * total)
}

/// A length of time as Go keeps it (`time.Duration`), in nanoseconds; `None` where it is none, or more than Go can hold.
pub(crate) fn go_duration(text: &str) -> Option<i64> {
    i64::try_from(nanoseconds(text)?).ok()
}

/// A length of time as Go reads it, in whole seconds; what is below a second is cut off, as the conversion does.
pub(crate) fn go_seconds(text: &str) -> Option<i64> {
    go_duration(text).map(|nanoseconds| nanoseconds / 1_000_000_000)
}
