//! The values that Go templates work on. What comes from JSON has the types that Go gives it: every number is a float.

use std::collections::BTreeMap;

use super::Values;
use crate::gotemplate::Trouble;
use crate::tree::{Map, Value};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Val {
    /// Nothing, as an entry that a map does not have.
    Missing,
    /// Yes or no.
    Bool(bool),
    /// A whole number, which only templates and functions make.
    Int(i64),
    /// A number from JSON.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A map.
    Map(BTreeMap<String, Self>),
}

impl Val {
    /// All variables as one map.
    pub(crate) fn of_values(values: &Values) -> Self {
        Self::Map(values.iter().map(|(name, value)| (name.clone(), Self::of_json(value))).collect())
    }

    /// A value from JSON. Entries without a value are left out: builtin variables have none.
    fn of_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Missing,
            Value::Bool(yes) => Self::Bool(*yes),
            Value::Number(number) => Self::Float(number.as_f64().unwrap_or_default()),
            Value::String(text) => Self::Text(text.to_string()),
            Value::Array(items) => Self::List(items.iter().map(Self::of_json).collect()),
            Value::Object(map) => {
                let entries = map.iter().filter(|(_, value)| !value.is_null());
                Self::Map(entries.map(|(key, value)| (key.to_string(), Self::of_json(value))).collect())
            }
        }
    }

    /// The value as JSON, numbers that are whole without a fraction.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Bool(yes) => Value::from(*yes),
            Self::Int(number) => Value::from(*number),
            Self::Float(number) => whole(*number).map_or_else(|| Value::from(*number), Value::from),
            Self::Text(text) => Value::from(text.as_str()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(map) => map.iter().map(|(key, value)| (key.clone(), value.to_json())).collect::<Map>().into(),
        }
    }

    /// About how many bytes it holds; `None` where it is deeper than that.
    pub(crate) fn weight(&self, deepest: usize) -> Option<usize> {
        let below = deepest.checked_sub(1)?;
        match self {
            Self::Text(text) => Some(32 + text.len()),
            Self::List(items) => items.iter().try_fold(32, |sum, item| Some(sum + item.weight(below)?)),
            Self::Map(map) => {
                map.iter().try_fold(32, |sum, (key, item)| Some(sum + 32 + key.len() + item.weight(below)?))
            }
            _ => Some(32),
        }
    }

    /// Whether a number in it is so large or so small that Go may print it in another way than JSON is printed here.
    pub(crate) fn is_far(&self) -> bool {
        match self {
            Self::Float(number) => *number != 0.0 && !(1e-5..1e15).contains(&number.abs()),
            Self::List(items) => items.iter().any(Self::is_far),
            Self::Map(map) => map.values().any(Self::is_far),
            _ => false,
        }
    }

    /// Whether a condition holds for it (`IsTrue`).
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Missing => false,
            Self::Bool(yes) => *yes,
            Self::Int(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(map) => !map.is_empty(),
        }
    }

    /// What a person calls its type.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Missing => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// The entry of a map; a map that has none gives nothing, and so does nothing.
    pub(crate) fn field(&self, name: &str) -> Result<Self, Trouble> {
        match self {
            Self::Map(map) => Ok(map.get(name).cloned().unwrap_or(Self::Missing)),
            Self::Missing => Ok(Self::Missing),
            other => Err(Trouble::fails(format!("{} has no field {name}", other.word()))),
        }
    }

    /// As Go prints it (`%v`).
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Missing => "<no value>".to_owned(),
            Self::Bool(yes) => yes.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Float(number) => float(*number),
            Self::Text(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::inside).collect();
                format!("[{}]", items.join(" "))
            }
            Self::Map(map) => {
                let entries: Vec<String> = map.iter().map(|(key, value)| format!("{key}:{}", value.inside())).collect();
                format!("map[{}]", entries.join(" "))
            }
        }
    }

    /// As Go prints it inside a list or a map.
    fn inside(&self) -> String {
        if *self == Self::Missing { "<nil>".to_owned() } else { self.shown() }
    }
}

/// The whole number that a float is, within what a float can say exactly.
#[expect(clippy::cast_possible_truncation, reason = "the bounds and the fraction are looked at before.")]
pub(crate) fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// A float as Go prints it (`strconv.FormatFloat` with `g` and the fewest digits): with an exponent from a million on and
/// below a ten-thousandth.
fn float(number: f64) -> String {
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
