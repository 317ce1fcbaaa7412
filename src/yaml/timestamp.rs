//! Which text go-yaml v2 takes for a timestamp (`parseTimestamp` in `resolve.go`). Only `!!timestamp` asks: the value stays text.

/// True when Go's `time.Parse` accepts `text` by one of the four layouts of go-yaml.
pub(crate) fn is_timestamp(text: &str) -> bool {
    parse(text.as_bytes()).is_some()
}

/// `2006-1-2`, then nothing, or a clock after `T`/`t` with a zone, or after a space without one.
fn parse(text: &[u8]) -> Option<()> {
    let (year, rest) = number(text, 4, 4)?;
    let (month, rest) = number(rest.strip_prefix(b"-")?, 1, 2)?;
    let (day, rest) = number(rest.strip_prefix(b"-")?, 1, 2)?;
    if !(1..=12).contains(&month) || day < 1 || day > days(year, month) {
        return None;
    }
    match rest {
        [] => Some(()),
        [b'T' | b't', rest @ ..] => zone(clock(rest)?),
        [b' ', rest @ ..] => clock(rest)?.is_empty().then_some(()),
        _ => None,
    }
}

/// Takes at least `min` and at most `max` digits.
fn number(text: &[u8], min: usize, max: usize) -> Option<(u32, &[u8])> {
    let len = text.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
    if len < min {
        return None;
    }
    let value = text[..len].iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    Some((value, &text[len..]))
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// `15:4:5` and an optional fraction, which Go also takes after a comma.
fn clock(text: &[u8]) -> Option<&[u8]> {
    let (hour, rest) = number(text, 2, 2).or_else(|| number(text, 1, 1))?;
    let (minute, rest) = number(rest.strip_prefix(b":")?, 1, 2)?;
    let (second, rest) = number(rest.strip_prefix(b":")?, 1, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    match rest {
        [b'.' | b',', digit, ..] if digit.is_ascii_digit() => {
            let len = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            Some(&rest[1 + len..])
        }
        _ => Some(rest),
    }
}

/// `Z` or `+07:00`.
fn zone(text: &[u8]) -> Option<()> {
    match text {
        [b'Z'] => Some(()),
        [b'+' | b'-', rest @ ..] => {
            let (hour, rest) = number(rest, 2, 2)?;
            let (minute, rest) = number(rest.strip_prefix(b":")?, 2, 2)?;
            (rest.is_empty() && hour <= 24 && minute < 60).then_some(())
        }
        _ => None,
    }
}
