//! Lengths of time as Go and Kubernetes write them: `10m`, `1h30m`, `1.5h`.
//! A sign is refused: nothing in a policy goes back in time.

use std::time::Duration;

/// Why a text is not a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a length of time: {why}; write it as 10m or 1h30m")]
pub(crate) struct DurationError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// Units of Go's `time.ParseDuration` with their length in nanoseconds; the longer name stands first.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a length of time as Go's `time.ParseDuration` does, without a sign.
///
/// # Errors
/// When a number or a unit is missing or not known, or the length does not fit.
pub(crate) fn duration(text: &str) -> Result<Duration, DurationError> {
    let fault = |why: &str| DurationError { text: text.to_owned(), why: why.to_owned() };
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if text.is_empty() {
        return Err(fault("it is empty"));
    }
    let mut total: u128 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_end);
        let scale = match unit {
            "" => return Err(fault("a number has no unit")),
            "d" | "w" => return Err(fault("days and weeks are not units here, use hours")),
            _ => UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale),
        };
        let scale = scale.ok_or_else(|| fault(&format!("{unit:?} is not a unit")))?;
        let part = nanoseconds(number, scale).ok_or_else(|| fault(&format!("{number:?} is not a number")))?;
        total = total.checked_add(part).ok_or_else(|| fault("it is too long"))?;
        rest = next;
    }
    let seconds = u64::try_from(total / 1_000_000_000).map_err(|_| fault("it is too long"))?;
    let rest = u32::try_from(total % 1_000_000_000).expect("a remainder below one billion fits");
    Ok(Duration::new(seconds, rest))
}

/// `number` units of `scale` nanoseconds; a fraction finer than a nanosecond is cut off.
fn nanoseconds(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(scale)?;
    let mut unit = scale;
    for digit in fraction.bytes() {
        unit /= 10;
        total = total.checked_add(unit * u128::from(digit - b'0'))?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_as_go_reads_them() {
        for (text, millis) in [
            ("0", 0),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("2s150ms", 2_150),
            ("1m0s", 60_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn other_spellings_are_refused_with_a_remedy() {
        for text in
            ["", "10", "-5m", "+5m", "m", "1d", "10 m", "1h30", "1..5h", ".h", "99999999999999999999999999999999h"]
        {
            let error = duration(text).expect_err(text).to_string();
            assert!(error.contains("write it as 10m"), "{error}");
        }
    }
}
