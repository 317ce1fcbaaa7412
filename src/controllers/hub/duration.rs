//! Go durations as whole seconds.

/// Whole seconds of a Go duration such as `1h5m0s`; what is below a second is cut off, as the conversion does.
pub(in crate::controllers) fn go_seconds(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut nanos: f64 = 0.0;
    while !rest.is_empty() {
        let digits =
            rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').filter(|digits| *digits > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..]
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .map_or(rest.len(), |end| digits + end);
        nanos += number
            * match &rest[digits..unit_end] {
                "ns" => 1.0,
                "us" | "µs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" => 60e9,
                "h" => 3600e9,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    if !text.ends_with(|letter: char| letter.is_ascii_alphabetic()) || nanos > 9.2e18 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounded above; what is below a second is meant to go.")]
    let seconds = (nanos / 1e9) as i64;
    Some(if negative { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_become_seconds() {
        for (text, seconds) in [("5m0s", 300), ("1h", 3600), ("1h30m", 5400), ("1500ms", 1), ("0s", 0), ("0", 0)] {
            assert_eq!(go_seconds(text), Some(seconds), "{text}");
        }
        assert_eq!(go_seconds("5"), None);
        assert_eq!(go_seconds("x"), None);
    }
}
