//! What a scalar means: `resolve` of go-yaml v2 (`resolve.go`, v2.4.4) and the string keys of sigs.k8s.io/yaml v1.6.0.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use crate::yaml::events::Tag;
use crate::yaml::number;
use crate::yaml::scan::Style;

/// A scalar as Go reads it into an untyped target.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'t> {
    /// `null`, `~` or nothing.
    Null,
    /// A boolean, with YAML 1.1 spellings such as `yes`.
    Bool(bool),
    /// An integer that fits 64 bits with sign.
    Int(i64),
    /// An integer above [`i64::MAX`].
    Uint(u64),
    /// A float, which may be infinite or not a number; JSON refuses those.
    Float(f64),
    /// Text; dates are text too.
    Text(Cow<'t, str>),
    /// What `!!binary` decodes to when it is not UTF-8.
    Bytes(Vec<u8>),
}

/// Resolves a scalar; the error is the reason why Go refuses it.
pub(crate) fn resolve(style: Style, tag: Tag, text: &str) -> Result<Scalar<'_>, String> {
    match tag {
        Tag::None if style == Style::Plain => Ok(implicit(text)),
        Tag::None | Tag::Bang | Tag::Str | Tag::Merge | Tag::Other => Ok(Scalar::Text(text.into())),
        Tag::Binary => binary(text),
        Tag::Timestamp if super::timestamp::is_timestamp(text) => Ok(Scalar::Text(text.into())),
        Tag::Bool | Tag::Int | Tag::Float | Tag::Null | Tag::Timestamp => forced(tag, text),
    }
}

fn forced(tag: Tag, text: &str) -> Result<Scalar<'_>, String> {
    #[expect(clippy::cast_precision_loss, reason = "Go converts the integer of a !!float in the same way")]
    match (tag, implicit(text)) {
        (Tag::Bool, value @ Scalar::Bool(_))
        | (Tag::Int, value @ (Scalar::Int(_) | Scalar::Uint(_)))
        | (Tag::Float, value @ Scalar::Float(_))
        | (Tag::Null, value @ Scalar::Null) => Ok(value),
        (Tag::Float, Scalar::Int(value)) => Ok(Scalar::Float(value as f64)),
        _ => {
            let name = match tag {
                Tag::Bool => "!!bool",
                Tag::Int => "!!int",
                Tag::Float => "!!float",
                Tag::Null => "!!null",
                _ => "!!timestamp",
            };
            Err(format!("the value is not a {name}, as its tag says"))
        }
    }
}

/// Resolves plain text without a tag.
pub(crate) fn implicit(text: &str) -> Scalar<'_> {
    let Some(first) = text.as_bytes().first() else { return Scalar::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => special(text)
            .or_else(|| number::parse_dot_float(text).map(Scalar::Float))
            .unwrap_or(Scalar::Text(text.into())),
        b'0'..=b'9' | b'+' | b'-' => special(text).or_else(|| numeric(text)).unwrap_or(Scalar::Text(text.into())),
        _ => Scalar::Text(text.into()),
    }
}

fn word(text: &str) -> Scalar<'_> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text(text.into()),
    }
}

fn special(text: &str) -> Option<Scalar<'static>> {
    Some(Scalar::Float(match text {
        ".nan" | ".NaN" | ".NAN" => f64::NAN,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => f64::INFINITY,
        "-.inf" | "-.Inf" | "-.INF" => f64::NEG_INFINITY,
        _ => return None,
    }))
}

fn numeric(text: &str) -> Option<Scalar<'static>> {
    let plain: Cow<'_, str> = if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    number::parse_int(&plain)
        .map(Scalar::Int)
        .or_else(|| number::parse_uint(&plain).map(Scalar::Uint))
        .or_else(|| number::is_yaml_float(&plain).then(|| number::parse_float(&plain).map(Scalar::Float)).flatten())
        .or_else(|| number::parse_signed_binary(&plain).map(Scalar::Int))
}

fn binary(text: &str) -> Result<Scalar<'_>, String> {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let clean: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let bytes = GeneralPurpose::new(&STANDARD, config)
        .decode(clean)
        .map_err(|_| "the !!binary value is not base64".to_owned())?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Scalar::Text(text.into()),
        Err(error) => Scalar::Bytes(error.into_bytes()),
    })
}

/// Whether a key or value is `<<` in a form that merges: plain, or with the tags `!` or `!!merge` (`isMerge`).
pub(crate) fn is_merge(style: Style, tag: Tag, text: &str) -> bool {
    text == "<<" && (tag == Tag::None && style == Style::Plain || tag == Tag::Bang || tag == Tag::Merge)
}

impl Scalar<'_> {
    /// The bytes of a key as sigs.k8s.io/yaml makes them from the value; `None` where it refuses (null, integers above 64 bits with sign).
    pub(crate) fn key(self) -> Option<Vec<u8>> {
        Some(match self {
            Self::Null | Self::Uint(_) => return None,
            Self::Bool(value) => value.to_string().into_bytes(),
            Self::Int(value) => value.to_string().into_bytes(),
            Self::Float(value) => number::key_float(value).into_bytes(),
            Self::Text(text) => text.into_owned().into_bytes(),
            Self::Bytes(bytes) => bytes,
        })
    }
}
