//! What the API server refuses by the schema alone: types, limits, required fields, list types, validation rules.
//! Read beside `k8s.io/apiextensions-apiserver` `pkg/apiserver/validation` and `schema/listtype`, v0.33.

use std::cell::RefCell;
use std::hash::Hash;

use jiff::Timestamp;
use regex::Regex;

use super::Shape;
use crate::hashed::{HashMap, HashSet};
use crate::kinds::url;
use crate::object::{Path, Route};
use crate::schema::table::{CrdNode, Word, node};
use crate::tree::{Map, Value};

thread_local! {
    /// Patterns that were compiled already; `None` is one that cannot be.
    static PATTERNS: RefCell<HashMap<String, Option<Regex>>> = RefCell::new(HashMap::default());
}

impl Shape {
    /// Where a value breaks the schema, and how. What another value has at the same place as one memory is not looked at.
    #[must_use]
    pub fn faults(&self, value: &Value, other: Option<&Value>, at: &Path) -> Vec<(Path, String)> {
        let mut out = Vec::new();
        check(self.root, (value, other), &Route::At(at), &mut out);
        out
    }
}

impl Shape {
    /// Where a value that the schema fixes was changed.
    #[must_use]
    pub fn moved(&self, old: &Value, new: &Value, at: &Path) -> Vec<(Path, String)> {
        let mut out = Vec::new();
        fixed(self.root, old, new, &Route::At(at), &mut out);
        out
    }

    /// Where a value is of another type than its place has, and how: who decodes it into Go's types gets no further. What was kept as it is
    /// is not looked at.
    #[must_use]
    pub(crate) fn mistyped(&self, sent: &Value, kept: &Value, at: &Path) -> Vec<(Path, String)> {
        let mut out = Vec::new();
        mistyped(self.root, (sent, Some(kept)), &Route::At(at), &mut out);
        out
    }
}

fn mistyped(shape: &CrdNode, (sent, kept): (&Value, Option<&Value>), at: &Route<'_>, out: &mut Vec<(Path, String)>) {
    if sent.is_null() || kept.is_some_and(|kept| sent.is_same(kept)) {
        return;
    }
    if !type_fits(shape, sent) {
        return out.push((at.to_path(), format!("must be {}", type_word(shape.kind))));
    }
    for (key, child) in sent.as_object().into_iter().flatten() {
        if let Some(below) = shape.fields.get(key).or(shape.others).and_then(node) {
            mistyped(below, (child, kept.and_then(|kept| kept.get(key))), &at.key(key), out);
        }
    }
    let items = sent.as_array().into_iter().flatten().enumerate();
    for ((place, item), below) in items.zip(std::iter::repeat(shape.items.and_then(node))) {
        if let Some(below) = below {
            mistyped(below, (item, kept.and_then(|kept| kept.get(place))), &at.index(place), out);
        }
    }
}

/// Checks one value beside what stands at its place on the other side.
fn check(shape: &CrdNode, (value, other): (&Value, Option<&Value>), at: &Route<'_>, out: &mut Vec<(Path, String)>) {
    if other.is_some_and(|other| value.is_same(other)) {
        return;
    }
    if value.is_null() && (shape.nullable || shape.kind == "*") {
        return;
    }
    if !type_fits(shape, value) {
        out.push((at.to_path(), format!("must be {}", type_word(shape.kind))));
        return;
    }
    if let Some(list) = &shape.one_of
        && !list.contains(value)
    {
        let words: Vec<String> =
            list.iter().map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned)).collect();
        out.push((at.to_path(), format!("must be one of {}", words.join(", "))));
    }
    match value {
        Value::String(text) => check_text(shape, text, at, out),
        Value::Number(number) => check_number(shape, number.as_f64().unwrap_or(0.0), at, out),
        Value::Array(list) => check_list(shape, (list, other.and_then(Value::as_array)), at, out),
        Value::Object(map) => check_map(shape, (map, other.and_then(Value::as_object)), at, out),
        _ => {}
    }
}

/// Where a value that never changes was changed.
fn fixed(shape: &CrdNode, old: &Value, new: &Value, at: &Route<'_>, out: &mut Vec<(Path, String)>) {
    if old.is_same(new) {
        return;
    }
    for rule in &shape.rules {
        if let Word::Fixed(field) = rule {
            let (place, before, after) = match field.as_str() {
                "" => (at.to_path(), Some(old), Some(new)),
                field => (at.key(field).to_path(), old.get(field), new.get(field)),
            };
            if before.is_some() && before != after {
                out.push((place, "cannot change".to_owned()));
            }
        }
        if let Word::Stays(field) = rule
            && old.get(field).is_some()
            && new.get(field).is_none()
        {
            out.push((at.key(field).to_path(), "cannot be removed later".to_owned()));
        }
        if let Word::Kept(field) = rule
            && old.get(field).is_some() != new.get(field).is_some()
        {
            out.push((at.key(field).to_path(), "cannot be added or removed later".to_owned()));
        }
    }
    if let (Value::Object(left), Value::Object(right)) = (old, new) {
        for (key, before) in left {
            let below = shape.fields.get(key).or(shape.others).and_then(node);
            if let (Some(below), Some(after)) = (below, right.get(key)) {
                fixed(below, before, after, &at.key(key), out);
            }
        }
    }
}

/// Whether a value has the type.
fn type_fits(shape: &CrdNode, value: &Value) -> bool {
    match shape.kind {
        "o" => value.is_object(),
        "a" => value.is_array(),
        "s" => value.is_string(),
        "i" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "n" => value.is_number(),
        "b" => value.is_boolean(),
        "x" => value.is_string() || value.is_i64() || value.is_u64(),
        _ => true,
    }
}

/// A type for a person.
fn type_word(kind: &str) -> &'static str {
    match kind {
        "o" => "a map",
        "a" => "a list",
        "s" => "text",
        "i" => "a whole number",
        "n" => "a number",
        "b" => "true or false",
        "x" => "a number or text",
        _ => "there",
    }
}

/// Whether a count lies within limits; says so where it does not.
fn within(limits: (Option<u64>, Option<u64>), count: usize, what: &str) -> Option<String> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    match limits {
        (Some(1), _) if count == 0 => Some("must not be empty".to_owned()),
        (Some(least), _) if count < least => Some(format!("must have at least {least} {what}, not {count}")),
        (_, Some(most)) if count > most => Some(format!("must have at most {most} {what}, not {count}")),
        _ => None,
    }
}

/// Checks a text.
fn check_text(shape: &CrdNode, text: &str, at: &Route<'_>, out: &mut Vec<(Path, String)>) {
    out.extend(within(shape.length, text.chars().count(), "characters").map(|fault| (at.to_path(), fault)));
    if let Some(pattern) = &shape.pattern
        && !matches(pattern, text)
    {
        out.push((at.to_path(), format!("must match {pattern}")));
    }
    let wrong = match shape.format {
        Some("date-time") => {
            text.parse::<Timestamp>().is_err().then_some("must be a time such as 2025-06-01T00:00:00Z")
        }
        Some("byte") => {
            use base64::Engine as _;
            base64::engine::general_purpose::STANDARD.decode(text).is_err().then_some("must be base64")
        }
        Some("uri") => url::parse_request(text).is_none().then_some("must be an address such as https://example.com/a"),
        Some("uuid") => (!is_uuid(text)).then_some("must be a UUID"),
        Some("ipv4") => text.parse::<std::net::Ipv4Addr>().is_err().then_some("must be an IPv4 address"),
        Some("ipv6") => text.parse::<std::net::Ipv6Addr>().is_err().then_some("must be an IPv6 address"),
        _ => None,
    };
    out.extend(wrong.map(|fault| (at.to_path(), fault.to_owned())));
    for rule in &shape.rules {
        match rule {
            Word::Not(list) if list.iter().any(|word| word == text) => {
                out.push((at.to_path(), format!("must not be {text}")));
            }
            Word::Matches(pattern) if !matches(pattern, text) => {
                out.push((at.to_path(), format!("must match {pattern}")));
            }
            _ => {}
        }
    }
}

/// Whether a text is a UUID as the API server reads one: its dashes may be left out.
fn is_uuid(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes: Vec<usize> = text.match_indices('-').map(|(place, _)| place).collect();
    digits == 32 && digits + dashes.len() == text.len() && (dashes.is_empty() || dashes == [8, 13, 18, 23])
}

/// Whether a text matches; a pattern that cannot be read refuses nothing.
fn matches(pattern: &str, text: &str) -> bool {
    PATTERNS.with_borrow_mut(|known| {
        if !known.contains_key(pattern) {
            known.insert(pattern.to_owned(), Regex::new(pattern).ok());
        }
        known.get(pattern).and_then(Option::as_ref).is_none_or(|compiled| compiled.is_match(text))
    })
}

/// Checks a number.
fn check_number(shape: &CrdNode, number: f64, at: &Route<'_>, out: &mut Vec<(Path, String)>) {
    let (least, most) = match shape.format {
        Some("int32") => (Some(f64::from(i32::MIN)), Some(f64::from(i32::MAX))),
        _ => (None, None),
    };
    for least in [shape.value.0, least].into_iter().flatten().filter(|least| number < *least) {
        out.push((at.to_path(), format!("must be at least {least}")));
    }
    for most in [shape.value.1, most].into_iter().flatten().filter(|most| number > *most) {
        out.push((at.to_path(), format!("must be at most {most}")));
    }
    if let Some(of) = shape.multiple_of.filter(|of| number % of != 0.0) {
        out.push((at.to_path(), format!("must be a multiple of {of}")));
    }
    for rule in &shape.rules {
        if let Word::Ranges(ranges) = rule
            && !ranges.iter().any(|(low, high)| (*low..=*high).contains(&number))
        {
            let words: Vec<String> = ranges.iter().map(|(low, high)| format!("{low} to {high}")).collect();
            out.push((at.to_path(), format!("must be a number from {}", words.join(" or from "))));
        }
    }
}

/// Checks a list.
fn check_list<'v>(
    shape: &CrdNode,
    (list, other): (&'v [Value], Option<&Vec<Value>>),
    at: &Route<'_>,
    out: &mut Vec<(Path, String)>,
) {
    out.extend(within(shape.count, list.len(), "items").map(|fault| (at.to_path(), fault)));
    let at_key = |item: &'v Value, key: &str| item.get(key).unwrap_or(&Value::Null);
    let keyed = |item: &'v Value| -> Vec<&'v Value> { shape.keys.iter().map(|key| at_key(item, key)).collect() };
    let is_repeated = match shape.list {
        Some("map") => repeats(list.iter().map(keyed)),
        Some("set") => repeats(list.iter()),
        _ => false,
    };
    let is_unique = |rule: &Word| match rule {
        Word::Unique(field) if field.is_empty() => !repeats(list.iter()),
        Word::Unique(field) => !repeats(list.iter().map(|item| at_key(item, field))),
        _ => true,
    };
    let refused = usize::from(is_repeated) + shape.rules.iter().filter(|rule| !is_unique(rule)).count();
    out.extend((0..refused).map(|_| (at.to_path(), "must not hold the same item twice".to_owned())));
    if let Some(below) = shape.items.and_then(node) {
        for (place, item) in list.iter().enumerate() {
            check(below, (item, other.and_then(|other| other.get(place))), &at.index(place), out);
        }
    }
}

/// What a rule says of one field by another one, or by what it holds.
fn between(rule: &Word, map: &Map, at: &Route<'_>) -> Option<(Path, String)> {
    let (field, fault) = match rule {
        Word::Beside(field, other, value) => {
            let is_asked = map.get(other).is_some_and(|have| have == value.as_str());
            let word = if is_asked { "must be there" } else { "must be there only" };
            (map.contains_key(field) != is_asked).then(|| (field, format!("{word} beside {other}: {value}")))
        }
        Word::Holds(field, text) => {
            let said = map.get(field).and_then(Value::as_str);
            said.is_some_and(|said| !said.contains(text)).then(|| (field, format!("must hold {text}")))
        }
        Word::Apart(field) => {
            let items = map.get(field).and_then(Value::as_array);
            let repeated = items.is_some_and(|items| repeats(items.iter()));
            repeated.then(|| (field, "must not hold the same item twice".to_owned()))
        }
        Word::AnyOf(fields) => {
            let is_said = fields.iter().any(|field| map.get(field).is_some_and(says));
            let fault = || match fields.as_slice() {
                [_] => "must be there and not be empty".to_owned(),
                _ => format!("must be there, or else another one of {}", fields.join(", ")),
            };
            fields.first().filter(|_| !is_said).map(|field| (field, fault()))
        }
        Word::One(field, values) => {
            let is_one =
                map.get(field).and_then(Value::as_str).is_some_and(|have| values.iter().any(|one| one == have));
            (!is_one).then(|| (field, format!("must be one of {}", values.join(", "))))
        }
        Word::Needs(field, other) => (map.contains_key(field) && !map.contains_key(other))
            .then(|| (field, format!("must not be there without {other}"))),
        Word::Rising(low, high) => {
            let number = |field: &str| map.get(field).and_then(Value::as_f64);
            let falls = number(low).zip(number(high)).is_some_and(|(low, high)| high < low);
            falls.then(|| (high, format!("must not be less than {low}")))
        }
        _ => None,
    }?;
    Some((at.key(field).to_path(), fault))
}

/// Whether a value says something: an empty text or list does not.
fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    }
}

/// Whether a value stands twice.
fn repeats<T: Hash + Eq>(values: impl Iterator<Item = T>) -> bool {
    let mut seen = HashSet::default();
    values.into_iter().any(|value| !seen.insert(value))
}

/// Checks a map.
fn check_map(shape: &CrdNode, (map, other): (&Map, Option<&Map>), at: &Route<'_>, out: &mut Vec<(Path, String)>) {
    out.extend(within(shape.size, map.len(), "fields").map(|fault| (at.to_path(), fault)));
    for key in shape.required.iter().filter(|key| !map.contains_key(key)) {
        out.push((at.key(key).to_path(), "is required".to_owned()));
    }
    for rule in &shape.rules {
        if let Word::NotBoth(fields) = rule
            && fields.iter().filter(|field| map.contains_key(field)).count() > 1
        {
            out.push((at.to_path(), format!("must not have both of {}", fields.join(", "))));
        }
        if let Word::OneOf(fields) = rule
            && fields.iter().filter(|field| map.contains_key(field)).count() != 1
        {
            out.push((at.to_path(), format!("must have exactly one of {}", fields.join(", "))));
        }
    }
    for rule in &shape.rules {
        if let Word::Clash(field, other, value) = rule
            && map.contains_key(field)
            && map.get(other).is_some_and(|have| have == value.as_str())
        {
            out.push((at.key(field).to_path(), format!("must not be there beside {other}: {value}")));
        }
    }
    out.extend(shape.rules.iter().filter_map(|rule| between(rule, map, at)));
    for rule in &shape.rules {
        if let Word::Port(hosts) = rule {
            let port = map.get("port").and_then(Value::as_i64);
            let is_none = hosts.iter().any(|host| map.get(host).is_some_and(|host| *host == "")) && port == Some(0);
            if !is_none && !port.is_some_and(|port| (1..=65535).contains(&port)) {
                out.push((at.key("port").to_path(), "must be a number from 1 to 65535".to_owned()));
            }
        }
    }
    for (key, child) in map {
        if let Some(below) = shape.fields.get(key).or(shape.others).and_then(node) {
            check(below, (child, other.and_then(|other| other.get(key))), &at.key(key), out);
        }
    }
}
