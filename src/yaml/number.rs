//! Numbers as Go's `strconv` reads and writes them, where that differs from Rust.
//!
//! Mirrors `ParseInt`, `ParseUint`, `ParseFloat` with base 0 as `resolve.go` of go-yaml v2 calls them, `FormatFloat` with 'g' and 32
//! bits for keys (sigs.k8s.io/yaml v1.6.0) and the float encoder of encoding/json.

/// `strconv.ParseInt(text, 0, 64)` for text without underscores.
pub(crate) fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = parse_uint(digits)?;
    if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// `strconv.ParseUint(text, 0, 64)` for text without underscores: a leading 0 alone makes it octal.
pub(crate) fn parse_uint(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (radix, skip) = match bytes {
        [b'0', b'b' | b'B', _, ..] => (2, 2),
        [b'0', b'o' | b'O', _, ..] => (8, 2),
        [b'0', b'x' | b'X', _, ..] => (16, 2),
        [b'0'] => return Some(0),
        [b'0', ..] => (8, 1),
        _ => (10, 0),
    };
    radix_digits(&text[skip..], radix)
}

/// Digits only: unlike Rust's own parser no sign is taken.
fn radix_digits(digits: &str, radix: u32) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// The `0b` branch of `resolve.go`, which lets a sign stand after the prefix.
pub(crate) fn parse_signed_binary(text: &str) -> Option<i64> {
    let digits = text.strip_prefix("0b")?;
    let (negative, digits) = match digits.as_bytes().first()? {
        b'-' => (true, &digits[1..]),
        b'+' => (false, &digits[1..]),
        _ => return None,
    };
    let value = radix_digits(digits, 2)?;
    if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// True for `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, the floats of go-yaml.
pub(crate) fn is_yaml_float(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = rest.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if whole == 0 && digits == 0 {
            return false;
        }
        rest = &fraction[digits..];
    } else if whole == 0 {
        return false;
    }
    if rest.is_empty() {
        return true;
    }
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else { return false };
    let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `strconv.ParseFloat` for text that [`is_yaml_float`]; out of range is no number.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// `strconv.ParseFloat` for text that starts with a dot: underscores may stand between two digits.
pub(crate) fn parse_dot_float(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let placed = |at: usize| digit(at.checked_sub(1)) && digit(Some(at + 1));
    if !memchr::memchr_iter(b'_', bytes).all(placed) {
        return None;
    }
    let plain = text.replace('_', "");
    if is_yaml_float(&plain) { parse_float(&plain) } else { None }
}

/// Shortest decimal digits of a finite number and the exponent of the first one.
fn digits(scientific: &str) -> (bool, String, i32) {
    let (negative, scientific) = scientific.strip_prefix('-').map_or((false, scientific), |rest| (true, rest));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (negative, mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

fn exponent_form(digits: &str, exponent: i32, width: usize) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{:0width$}", exponent.unsigned_abs())
}

fn decimal_form(digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    match digits.len() {
        len if whole == 0 => format!("0.{}", &digits[..len]),
        len if len <= whole => format!("{digits}{}", "0".repeat(whole - len)),
        _ => format!("{}.{}", &digits[..whole], &digits[whole..]),
    }
}

/// A finite number as encoding/json writes it.
pub(crate) fn json_float(value: f64) -> String {
    let (negative, digits, exponent) = digits(&format!("{value:e}"));
    let size = value.abs();
    let text = if size != 0.0 && !(1e-6..1e21).contains(&size) {
        exponent_form(&digits, exponent, 1)
    } else {
        decimal_form(&digits, exponent)
    };
    if negative { format!("-{text}") } else { text }
}

/// A number as a key: `FormatFloat(value, 'g', -1, 32)`, with go-yaml's names for what is not finite.
#[expect(clippy::cast_possible_truncation, reason = "the rounding to 32 bits is what is mirrored")]
pub(crate) fn key_float(value: f64) -> String {
    let value = value as f32;
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let (negative, digits, exponent) = digits(&format!("{value:e}"));
    // With the shortest digits, Go takes the exponent form below -4 and from 6 on, however many digits there are.
    let text = if value != 0.0 && !(-4..6).contains(&exponent) {
        exponent_form(&digits, exponent, 2)
    } else {
        decimal_form(&digits, exponent)
    };
    if negative { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_as_json() {
        for (value, text) in [
            (1.0, "1"),
            (0.5, "0.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
            (1e-6, "0.000001"),
            (-0.0, "-0"),
            (123.456, "123.456"),
            (1.5e-9, "1.5e-9"),
        ] {
            assert_eq!(json_float(value), text);
        }
    }

    #[test]
    fn floats_as_keys() {
        for (value, text) in [
            (1e6, "1e+06"),
            (123_456.5, "123456.5"),
            (0.00001, "1e-05"),
            (16_777_217.0, "1.6777216e+07"),
            (1e39, ".inf"),
            (0.0001, "0.0001"),
            (1000.0, "1000"),
        ] {
            assert_eq!(key_float(value), text);
        }
    }
}
