//! The functions of Go templates and of sprig that classes use: each as the original, or not at all.
//! Read beside `text/template/funcs.go` of Go 1.24 and `functions.go`, `strings.go`, `defaults.go`, `dict.go`, `list.go`,
//! `numeric.go`, `semver.go` of sprig 3.3.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use semver::Version;

use crate::gotemplate::Trouble;
use crate::gotemplate::value::{Val, whole};

/// Whether Go itself has a function of this name (`text/template/funcs.go` builtins).
pub(crate) fn is_of_go(name: &str) -> bool {
    const BUILTINS: [&str; 19] = [
        "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print",
        "printf", "println", "slice", "urlquery",
    ];
    BUILTINS.contains(&name)
}

/// Calls a function with its arguments, the one from the pipeline last.
pub(crate) fn call(name: &str, given: Vec<Val>) -> Result<Val, Trouble> {
    let unknown = || Trouble::not_computed(format!("the function {name}"));
    match name {
        "and" | "or" => given.into_iter().next_back().ok_or_else(|| wrong(name)),
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => compared(name, &given),
        "print" | "printf" | "toJson" | "quote" | "squote" | "toString" => printed(name, &given),
        "default" | "coalesce" | "empty" | "ternary" | "not" => chosen(name, given),
        "int" | "int64" | "add" | "add1" | "sub" | "mul" | "div" | "mod" | "max" | "min" => counted(name, &given),
        "list" | "dict" | "hasKey" | "get" | "has" | "first" | "last" | "join" | "splitList" | "index" | "len" => {
            collected(name, given)
        }
        "semverCompare" => match given.as_slice() {
            [Val::Text(constraint), Val::Text(version)] => satisfies(constraint, version).map(Val::Bool),
            _ => Err(wrong(name)),
        },
        "trim" | "upper" | "lower" | "nospace" | "b64enc" | "b64dec" | "trimPrefix" | "trimSuffix" | "trimAll"
        | "replace" | "contains" | "hasPrefix" | "hasSuffix" | "indent" | "nindent" => {
            let texts: Option<Vec<&str>> = given
                .iter()
                .skip(usize::from(name.ends_with("indent")))
                .map(|value| if let Val::Text(text) = value { Some(text.as_str()) } else { None })
                .collect();
            written(name, &given, &texts.ok_or_else(|| wrong(name))?)
        }
        _ => Err(unknown()),
    }
}

/// Arguments that a function does not take here. Go refuses most of them, and makes something odd of the others.
fn wrong(name: &str) -> Trouble {
    Trouble::not_computed(format!("{name} of such values"))
}

/// Longest text that a function makes of a short one.
const LONGEST: usize = 4 * 1024 * 1024;

/// Whether a text stays short when something is put into it at so many places.
fn fits(length: usize, places: usize, each: usize) -> Result<(), Trouble> {
    let whole = places.checked_mul(each).and_then(|more| more.checked_add(length));
    match whole {
        Some(whole) if whole <= LONGEST => Ok(()),
        _ => Err(Trouble::not_computed("a template that makes very much")),
    }
}

/// Functions of texts.
fn written(name: &str, given: &[Val], texts: &[&str]) -> Result<Val, Trouble> {
    let text = |text: String| Ok(Val::Text(text));
    match (name, texts) {
        ("trim", [one]) => text(one.trim().to_owned()),
        // Go leaves letters alone whose other case is two letters.
        ("upper" | "lower", [one]) if !one.is_ascii() => Err(wrong(name)),
        ("upper", [one]) => text(one.to_uppercase()),
        ("lower", [one]) => text(one.to_lowercase()),
        ("nospace", [one]) => text(one.split_whitespace().collect()),
        ("b64enc", [one]) => text(STANDARD.encode(one)),
        ("b64dec", [one]) => {
            let bytes = STANDARD.decode(one).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            bytes.map(Val::Text).ok_or_else(|| Trouble::not_computed("a text that is not base64"))
        }
        ("trimPrefix", [cut, one]) => text(one.strip_prefix(cut).unwrap_or(one).to_owned()),
        ("trimSuffix", [cut, one]) => text(one.strip_suffix(cut).unwrap_or(one).to_owned()),
        ("trimAll", [cut, one]) => text(one.trim_matches(|letter| cut.contains(letter)).to_owned()),
        ("replace", [old, new, one]) if !old.is_empty() => {
            fits(one.len(), one.matches(old).count(), new.len())?;
            text(one.replace(old, new))
        }
        ("contains", [part, one]) => Ok(Val::Bool(one.contains(part))),
        ("hasPrefix", [part, one]) => Ok(Val::Bool(one.starts_with(part))),
        ("hasSuffix", [part, one]) => Ok(Val::Bool(one.ends_with(part))),
        ("indent" | "nindent", [one]) => {
            let Some(Val::Int(width)) = given.first() else { return Err(wrong(name)) };
            let width = usize::try_from(*width).map_err(|_| wrong(name))?;
            fits(one.len(), one.matches('\n').count() + 1, width)?;
            let pad = " ".repeat(width);
            let body = format!("{pad}{}", one.replace('\n', &format!("\n{pad}")));
            text(if name == "nindent" { format!("\n{body}") } else { body })
        }
        _ => Err(wrong(name)),
    }
}

/// What is printed.
fn printed(name: &str, given: &[Val]) -> Result<Val, Trouble> {
    match (name, given) {
        ("print", values) if values.iter().all(|value| matches!(value, Val::Text(_))) => {
            Ok(Val::Text(values.iter().map(Val::shown).collect()))
        }
        ("printf", [Val::Text(format), rest @ ..]) => formatted(format, rest).map(Val::Text),
        ("toJson", [one]) if one.is_far() => Err(wrong(name)),
        ("toJson", [one]) => {
            let text = one.to_json().to_string();
            Ok(Val::Text(text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")))
        }
        ("quote", values) => {
            let there = values.iter().filter(|value| **value != Val::Missing);
            let quoted: Result<Vec<String>, Trouble> = there.map(|value| in_quotes(&value.shown())).collect();
            Ok(Val::Text(quoted?.join(" ")))
        }
        ("squote", values) => {
            let there = values.iter().filter(|value| **value != Val::Missing);
            let quoted: Vec<String> = there.map(|value| format!("'{}'", value.shown())).collect();
            Ok(Val::Text(quoted.join(" ")))
        }
        ("toString", [one]) if *one != Val::Missing => Ok(Val::Text(one.shown())),
        _ => Err(Trouble::not_computed(format!("{name} of such values"))),
    }
}

/// A text as Go quotes it.
fn in_quotes(text: &str) -> Result<String, Trouble> {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            ' '..='~' => out.push(letter),
            _ => return Err(Trouble::not_computed("a quoted text with letters beyond ASCII")),
        }
    }
    out.push('"');
    Ok(out)
}

/// `printf` with its simplest verbs.
fn formatted(format: &str, values: &[Val]) -> Result<String, Trouble> {
    let mut out = String::new();
    let mut values = values.iter();
    let mut letters = format.chars();
    let odd = || Trouble::not_computed(format!("printf with {format:?}"));
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let verb = letters.next().ok_or_else(odd)?;
        if verb == '%' {
            out.push('%');
            continue;
        }
        match (verb, values.next().ok_or_else(odd)?) {
            ('s' | 'v', Val::Text(text)) => out.push_str(text),
            ('d' | 'v', Val::Int(number)) => out.push_str(&number.to_string()),
            ('t' | 'v', Val::Bool(yes)) => out.push_str(&yes.to_string()),
            ('v', number @ Val::Float(_)) => out.push_str(&number.shown()),
            ('q', Val::Text(text)) => out.push_str(&in_quotes(text)?),
            _ => return Err(odd()),
        }
    }
    if values.next().is_some() { Err(odd()) } else { Ok(out) }
}

/// One of several values.
fn chosen(name: &str, given: Vec<Val>) -> Result<Val, Trouble> {
    match (name, given.as_slice()) {
        ("default", [fallback, one]) => Ok(if one.is_true() { one.clone() } else { fallback.clone() }),
        ("default", [fallback]) => Ok(fallback.clone()),
        ("coalesce", values) => Ok(values.iter().find(|value| value.is_true()).cloned().unwrap_or(Val::Missing)),
        ("empty", [one]) => Ok(Val::Bool(!one.is_true())),
        ("not", [one]) => Ok(Val::Bool(!one.is_true())),
        ("ternary", [yes, no, Val::Bool(which)]) => Ok(if *which { yes.clone() } else { no.clone() }),
        _ => Err(wrong(name)),
    }
}

/// Whole numbers.
fn counted(name: &str, given: &[Val]) -> Result<Val, Trouble> {
    let numbers: Option<Vec<i64>> = given.iter().map(as_int).collect();
    let odd = || Trouble::not_computed(format!("{name} of such values"));
    let numbers = numbers.ok_or_else(odd)?;
    let folded = |fold: fn(i64, i64) -> Option<i64>| {
        let (first, rest) = numbers.split_first()?;
        rest.iter().try_fold(*first, |sum, number| fold(sum, *number))
    };
    let out = match (name, numbers.as_slice()) {
        ("int" | "int64", [one]) => Some(*one),
        ("add1", [one]) => one.checked_add(1),
        ("add", _) => folded(i64::checked_add),
        ("mul", _) => folded(i64::checked_mul),
        ("max", _) => folded(|left, right| Some(left.max(right))),
        ("min", _) => folded(|left, right| Some(left.min(right))),
        ("sub", [left, right]) => left.checked_sub(*right),
        ("div", [left, right]) => left.checked_div(*right),
        ("mod", [left, right]) => left.checked_rem(*right),
        _ => None,
    };
    out.map(Val::Int).ok_or_else(odd)
}

/// A value as a whole number, as sprig casts it; forms that are seldom are left alone.
#[expect(clippy::cast_possible_truncation, reason = "the bound is looked at before.")]
fn as_int(value: &Val) -> Option<i64> {
    match value {
        Val::Missing => Some(0),
        Val::Bool(yes) => Some(i64::from(*yes)),
        Val::Int(number) => Some(*number),
        Val::Float(number) => whole(*number).or_else(|| (number.abs() < 1e9).then_some(number.trunc() as i64)),
        Val::Text(text) if text == "0" || !text.starts_with(['0', '+']) => text.parse().ok(),
        _ => None,
    }
}

/// Lists and maps.
fn collected(name: &str, given: Vec<Val>) -> Result<Val, Trouble> {
    match (name, given.as_slice()) {
        ("list", _) => Ok(Val::List(given)),
        ("dict", pairs) if pairs.len() % 2 == 0 => {
            let entry = |pair: &[Val]| match pair {
                [Val::Text(key), value] => Ok((key.clone(), value.clone())),
                _ => Err(Trouble::not_computed("a dict whose keys are no texts")),
            };
            pairs.chunks(2).map(entry).collect::<Result<BTreeMap<_, _>, _>>().map(Val::Map)
        }
        ("hasKey", [Val::Map(map), Val::Text(key)]) => Ok(Val::Bool(map.contains_key(key))),
        ("get", [Val::Map(map), Val::Text(key)]) => Ok(map.get(key).cloned().unwrap_or(Val::Text(String::new()))),
        ("has", [one, Val::List(items)]) => Ok(Val::Bool(items.contains(one))),
        ("first", [Val::List(items)]) => Ok(items.first().cloned().unwrap_or(Val::Missing)),
        ("last", [Val::List(items)]) => Ok(items.last().cloned().unwrap_or(Val::Missing)),
        ("join", [Val::Text(between), Val::List(items)]) => {
            fits(0, items.len(), between.len())?;
            let there = items.iter().filter(|item| **item != Val::Missing);
            Ok(Val::Text(there.map(Val::shown).collect::<Vec<_>>().join(between)))
        }
        ("splitList", [Val::Text(between), Val::Text(text)]) if !between.is_empty() => {
            Ok(Val::List(text.split(between.as_str()).map(|part| Val::Text(part.to_owned())).collect()))
        }
        ("len", [one]) => {
            let count = match one {
                Val::Text(text) => text.len(),
                Val::List(items) => items.len(),
                Val::Map(map) => map.len(),
                _ => return Err(wrong(name)),
            };
            i64::try_from(count).map(Val::Int).map_err(|_| wrong(name))
        }
        ("index", [base, keys @ ..]) => keys.iter().try_fold(base.clone(), |value, key| item(&value, key)),
        _ => Err(wrong(name)),
    }
}

/// One entry of a list or a map.
fn item(value: &Val, key: &Val) -> Result<Val, Trouble> {
    match (value, key) {
        (Val::Map(map), Val::Text(key)) => Ok(map.get(key).cloned().unwrap_or(Val::Missing)),
        (Val::List(items), Val::Int(place)) => {
            let found = usize::try_from(*place).ok().and_then(|place| items.get(place));
            found.cloned().ok_or_else(|| Trouble::fails(format!("there is no item {place}")))
        }
        _ => Err(wrong("index")),
    }
}

/// `eq` and its kin: only values of one kind can be compared, and numbers from JSON are not whole ones.
fn compared(name: &str, given: &[Val]) -> Result<Val, Trouble> {
    let [first, rest @ ..] = given else { return Err(wrong(name)) };
    if rest.is_empty() || (name != "eq" && rest.len() != 1) {
        return Err(wrong(name));
    }
    if matches!(name, "eq" | "ne") {
        for other in rest {
            if alike(first, other)? {
                return Ok(Val::Bool(name == "eq"));
            }
        }
        return Ok(Val::Bool(name == "ne"));
    }
    let order = match (first, &rest[0]) {
        (Val::Int(left), Val::Int(right)) => left.cmp(right),
        (Val::Float(left), Val::Float(right)) => left.partial_cmp(right).ok_or_else(|| wrong(name))?,
        (Val::Text(left), Val::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        _ => return Err(wrong(name)),
    };
    Ok(Val::Bool(match name {
        "lt" => order == Ordering::Less,
        "le" => order != Ordering::Greater,
        "gt" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

/// Whether two values are equal.
fn alike(left: &Val, right: &Val) -> Result<bool, Trouble> {
    match (left, right) {
        (Val::Missing, Val::Missing) => Ok(true),
        (Val::List(_) | Val::Map(_), _) | (_, Val::List(_) | Val::Map(_)) => Err(wrong("eq")),
        (Val::Missing, _) | (_, Val::Missing) => Ok(false),
        _ if std::mem::discriminant(left) != std::mem::discriminant(right) => Err(wrong("eq")),
        _ => Ok(left == right),
    }
}

/// Whether a version is within a constraint (Masterminds semver 3): full versions with a comparing sign.
fn satisfies(constraint: &str, version: &str) -> Result<bool, Trouble> {
    let odd = || Trouble::not_computed(format!("the constraint {constraint:?} on {version:?}"));
    let version = Version::parse(version.trim_start_matches('v')).map_err(|_| odd())?;
    let mut any = false;
    for all in constraint.split("||") {
        let mut holds = true;
        for one in parts(all).ok_or_else(odd)? {
            let (sign, text) = one;
            let is_short = text.split(['-', '+']).next().unwrap_or_default().split('.').count() < 3;
            let full = if is_short && matches!(sign, ">=" | "<") { filled(text) } else { text.to_owned() };
            let wanted = Version::parse(&full).map_err(|_| odd())?;
            let order = version.cmp_precedence(&wanted);
            // A pre-release is only within a constraint that has one itself.
            let is_out = !version.pre.is_empty() && wanted.pre.is_empty() && sign != "!=";
            holds &= !is_out
                && match sign {
                    "" | "=" => order == Ordering::Equal,
                    "!=" => order != Ordering::Equal,
                    ">" => order == Ordering::Greater,
                    ">=" => order != Ordering::Less,
                    "<" => order == Ordering::Less,
                    _ => order != Ordering::Greater,
                };
        }
        any |= holds;
    }
    Ok(any)
}

/// A version with zeros where it is short.
fn filled(text: &str) -> String {
    let (core, tail) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
    let missing = 3 - core.split('.').count().min(3);
    format!("{core}{}{tail}", ".0".repeat(missing))
}

/// The signs and versions of a constraint; `None` where another sign stands in it.
fn parts(constraint: &str) -> Option<Vec<(&str, &str)>> {
    let mut out = Vec::new();
    let mut rest = constraint.trim_start_matches([' ', ',']);
    while !rest.is_empty() {
        let sign = [">=", "<=", "!=", "=>", "=<", ">", "<", "="].into_iter().find(|sign| rest.starts_with(sign));
        let sign = sign.unwrap_or_default();
        if matches!(sign, "=>" | "=<") {
            return None;
        }
        rest = rest[sign.len()..].trim_start_matches(' ').trim_start_matches('v');
        let end = rest.find([' ', ',', '<', '>', '=', '!']).unwrap_or(rest.len());
        if end == 0 {
            return None;
        }
        out.push((sign, &rest[..end]));
        rest = rest[end..].trim_start_matches([' ', ',']);
    }
    (!out.is_empty()).then_some(out)
}
