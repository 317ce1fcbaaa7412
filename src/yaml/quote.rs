//! Writing new scalars: plain where that is certain to read back as the same string, else in double quotes of our own.
//!
//! The double-quoted form escapes whatever any YAML reader on the way (Go v2, Helm's kyaml, libyaml) could take for something else:
//! controls, line breaks of all kinds, byte order marks. It never writes `\/` and never surrogate pairs.

use crate::tree::Value;
use crate::yaml::number::json_float;
use crate::yaml::resolve::{Scalar, implicit};

/// Writes a string as a one-line double-quoted scalar.
#[must_use]
pub fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    escape_into(text, &mut out);
    out.push('"');
    out
}

/// Writes a string for the inside of double quotes.
pub(crate) fn escape_into(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0'..='\x1F' | '\x7F'..='\u{9F}' => hex(b'x', 2, character, out),
            '\u{A0}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}' => hex(b'u', 4, character, out),
            _ => out.push(character),
        }
    }
}

fn hex(kind: u8, digits: u32, character: char, out: &mut String) {
    out.push('\\');
    out.push(char::from(kind));
    for place in (0..digits).rev() {
        let digit = u32::from(character) >> (4 * place) & 0xF;
        out.push(char::from_digit(digit, 16).unwrap_or('0').to_ascii_uppercase());
    }
}

/// True when `text` may stand inside single quotes on one line.
pub(crate) fn fits_single(text: &str) -> bool {
    text.chars()
        .all(|character| character == ' ' || !character.is_control() && !is_odd(character) && character != '\u{A0}')
        && !text.starts_with(' ')
        && !text.ends_with(' ')
}

/// True for characters that break lines or that some readers refuse or drop.
pub(crate) fn is_odd(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
}

/// True when `text`, written plain on one line, reads as the string `text`; `flow` inside of braces or brackets.
pub(crate) fn fits_plain(text: &str, flow: bool) -> bool {
    plain_shape(text, flow) && matches!(implicit(text), Scalar::Text(_))
}

/// True when plain `text` is one scalar, whatever it resolves to. Says no to much that would be possible.
pub(crate) fn plain_shape(text: &str, flow: bool) -> bool {
    let bytes = text.as_bytes();
    let Some(first) = bytes.first() else { return false };
    if !(first.is_ascii_alphanumeric() || matches!(first, b'/' | b'_' | b'.' | b'+' | b'-'))
        || bytes.starts_with(b"---")
        || bytes.starts_with(b"...")
        || *first == b'-' && !bytes.get(1).is_some_and(u8::is_ascii_alphanumeric)
    {
        return false;
    }
    bytes.iter().enumerate().all(|(at, byte)| {
        let next = bytes.get(at + 1).copied();
        match byte {
            b':' => !matches!(next, None | Some(b' ')) && !flow,
            b' ' => !matches!(next, None | Some(b'#' | b' ')),
            b'?' | b',' => !flow,
            b'_' | b'.' | b'/' | b'-' | b'+' | b'=' | b'@' | b'%' | b'~' | b'^' | b'(' | b')' | b'$' | b';' | b'!' => {
                true
            }
            _ => byte.is_ascii_alphanumeric(),
        }
    })
}

/// Writes any value on one line: scalars plain or double-quoted, collections in flow style.
pub(crate) fn write_value(value: &Value, flow: bool, out: &mut String) {
    match value {
        Value::String(text) if fits_plain(text, flow) => out.push_str(text),
        Value::String(text) => out.push_str(&double_quoted(text)),
        Value::Number(number) => match (number.is_f64(), number.as_f64()) {
            (true, Some(value)) => out.push_str(&json_float(value)),
            _ => out.push_str(&number.to_string()),
        },
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_value(item, true, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                out.push_str(&double_quoted(key));
                out.push_str(": ");
                write_value(value, true, out);
            }
            out.push('}');
        }
    }
}
