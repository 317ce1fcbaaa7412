//! Signs that policy and chart have parted: a late value of which nothing stands in the stream, and texts that look as if somebody
//! had meant to fill them in. On a first install they hold it: what goes out wrong then is what rolls the Machines later.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::settle::{LATE, reason};
use super::{held, layers, token};
use crate::kinds::contract::CLUSTER;
use crate::model::Decision;
use crate::model::{Finding, Reason};
use crate::object::{Inventory, Key, Object, Path};
use crate::policy::{LateValue, Policy, ValueType};
use crate::providers::is_compared;
use crate::tree::Value;
use crate::world::{BaseKind, LiveKind, World};

/// What the signs come to.
#[derive(Debug, Default)]
pub(super) struct Signs {
    pub(super) findings: Vec<Finding>,
    pub(super) reasons: Vec<Reason>,
}

impl Signs {
    fn add(&mut self, id: &str, (object, path): (Key, Option<&Path>), message: String, hold: Option<String>) {
        let mut finding = Finding::new(id, object, message);
        finding.about.path = path.map(ToString::to_string);
        if let Some(next) = hold {
            let mut reason = reason(LATE, Decision::Hold, finding.message.clone(), Some(next)).of(&finding.object);
            reason.about.path.clone_from(&finding.about.path);
            finding.gate = Some(reason.gate.clone());
            self.reasons.push(reason);
        }
        self.findings.push(finding);
    }
}

/// Looks for the signs. `unseen` are the late values whose placeholders stand nowhere, each with its value where that is known and
/// may be shown; `values` are the values that are known to be right.
pub(super) fn signs(
    policy: &Policy,
    world: &World,
    objects: &Inventory,
    unseen: &[(&LateValue, Option<String>)],
    values: &[String],
) -> Signs {
    let mut signs = Signs::default();
    let compared: Vec<&Object> = objects.objects().iter().filter(|object| is_compared(&object.key.group)).collect();
    let Some(first) = compared.iter().find(|object| object.key.kind == CLUSTER).or(compared.first()) else {
        return signs;
    };
    let is_first = is_first_install(world, &compared);
    for (late, value) in unseen {
        let placeholders = late.placeholders.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ");
        let message = match value {
            Some(value) => format!(
                "late value {}: neither its placeholder {placeholders} nor its value {value} is in this stream; \
                 the chart may print another placeholder now",
                late.name
            ),
            None => format!(
                "late value {}: neither its placeholder {placeholders} nor a known value is in this stream; \
                 the chart may print another placeholder now",
                late.name
            ),
        };
        let next = format!(
            "correct placeholders of {} in the policy, or write optional: true there if this chart need not use it",
            late.name
        );
        signs.add("late-value-unseen", (first.key.clone(), None), message, is_first.then_some(next));
    }
    for (key, likely) in likely_in(policy, &compared, values) {
        let more = match likely.places {
            1 => String::new(),
            places => format!(" (and {} places more)", places - 1),
        };
        let message = format!(
            "{key}: {}{more} holds {}, {}, and no late value has it as its placeholder",
            likely.path, likely.text, likely.what
        );
        let next = format!(
            "add {:?} to placeholders of {} in the policy, or to its except list if it is meant",
            likely.text, likely.late
        );
        signs.add("likely-placeholder", (key, Some(&likely.path)), message, is_first.then_some(next));
    }
    signs
}

/// Whether a placeholder may be let out as on a first install: nothing of the release is there, and that was looked at; and no pin of
/// the value says that it was there before.
pub(super) fn is_surely_first(world: &World, objects: &Inventory, late: &LateValue) -> bool {
    let all: Vec<&Object> = objects.objects().iter().collect();
    let seen = world.base.kind == BaseKind::FirstInstall || world.source.kind != LiveKind::None;
    let pinned = world.pins.iter().any(|pin| pin.name == late.name);
    seen && world.unread.is_empty() && !pinned && is_first_install(world, &all)
}

/// Whether nothing of this release is there yet, as far as can be seen: by its record, else by the live objects, else by pins.
fn is_first_install(world: &World, compared: &[&Object]) -> bool {
    let any = |side: &Inventory| compared.iter().any(|object| held::object(side, &object.key).is_some());
    match world.base.kind {
        BaseKind::FirstInstall => !any(&world.live),
        BaseKind::Release => false,
        BaseKind::Live | BaseKind::File => !any(&world.base.objects) && !any(&world.live),
        BaseKind::Unknown => !any(&world.live) && (world.source.kind != LiveKind::None || world.pins.is_empty()),
    }
}

/// A text that looks like a placeholder.
struct Likely {
    text: String,
    what: &'static str,
    /// The late value that it may belong to.
    late: String,
    path: Path,
    places: usize,
}

/// Texts that look like placeholders of the types of the policy, each once for an object.
fn likely_in(policy: &Policy, compared: &[&Object], values: &[String]) -> Vec<(Key, Likely)> {
    let kinds = kinds(policy);
    let mut list = Vec::new();
    if kinds.is_empty() {
        return list;
    }
    for object in compared {
        let Ok(value) = object.glance() else { continue };
        let mut found: BTreeMap<String, Likely> = BTreeMap::new();
        each_text(&value, &mut Path::root(), &mut |path, text| {
            for (late, range, what) in likely(&kinds, text) {
                let text = &text[range];
                if is_meant(policy, values, text) || is_resolver(path, text) {
                    continue;
                }
                let likely = found.entry(text.to_owned()).or_insert_with(|| Likely {
                    text: text.to_owned(),
                    what,
                    late: late.name.clone(),
                    path: path.clone(),
                    places: 0,
                });
                likely.places += 1;
            }
        });
        list.extend(found.into_values().map(|likely| (object.key.clone(), likely)));
    }
    list
}

/// One late value for each type that is looked for.
fn kinds(policy: &Policy) -> Vec<&LateValue> {
    let mut kinds: Vec<&LateValue> = Vec::new();
    for value in policy.late_values.iter().filter(|value| !value.placeholders.is_empty()) {
        if !kinds.iter().any(|other| other.kind == value.kind) {
            kinds.push(value);
        }
    }
    kinds
}

/// Whether a text is known to be right, or is a placeholder that is dealt with already.
fn is_meant(policy: &Policy, values: &[String], text: &str) -> bool {
    let listed = |value: &LateValue| value.except.iter().chain(&value.placeholders).any(|other| other == text);
    let within = |value: &LateValue| {
        let holds =
            |network: &str, address: &IpAddr| network.parse::<ipnet::IpNet>().is_ok_and(|net| net.contains(address));
        text.parse::<IpAddr>().is_ok_and(|address| value.within.iter().any(|network| holds(network, &address)))
    };
    policy.late_values.iter().any(|value| listed(value) || within(value))
        || values.iter().any(|value| token::occurs(value.as_bytes(), text))
}

/// Whether a public resolver stands where resolvers stand.
fn is_resolver(path: &Path, text: &str) -> bool {
    let place = path.to_string().to_lowercase();
    matches!(text, "1.1.1.1" | "8.8.8.8" | "9.9.9.9")
        && ["dns", "nameserver", "resolv"].iter().any(|word| place.contains(word))
}

/// Hands every text of a tree to `see`, also those that are packed inside a text.
fn each_text(value: &Value, path: &mut Path, see: &mut impl FnMut(&Path, &str)) {
    match value {
        Value::String(text) => layers::each(text, &mut |text| see(path, text)),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                path.push(crate::object::Segment::Index(place));
                each_text(item, path, see);
                path.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                path.push(crate::object::Segment::Key(key.to_string()));
                each_text(item, path, see);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Words that stand for "fill this in".
const WORDS: [&str; 9] =
    ["changeme", "change-me", "change_me", "todo", "tbd", "fixme", "replaceme", "replace-me", "replace_me"];

/// Where a text looks like a placeholder of one of these late values, and as what.
fn likely<'p>(kinds: &[&'p LateValue], text: &str) -> Vec<(&'p LateValue, Range<usize>, &'static str)> {
    let mut found = Vec::new();
    for late in kinds {
        match late.kind {
            ValueType::Ip => found.extend(addresses(text).map(|(range, what)| (*late, range, what))),
            ValueType::Uuid => found.extend(uuids(text).map(|(range, what)| (*late, range, what))),
            _ => {}
        }
    }
    if let Some(late) = kinds.first() {
        found.extend(words(text).map(|range| (*late, range, "a word that stands for something to be filled in")));
    }
    found
}

/// Words such as `changeme` that are a whole text, or all that stands behind `:` or `=` on a line of it.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = from;
        from += line.len();
        let value = line.rsplit([':', '=']).next().unwrap_or_default();
        let bare = value.trim().trim_matches(['"', '\'', '<', '>']);
        let at = start + line.len() - value.len() + value.find(bare)?;
        WORDS.iter().any(|word| bare.eq_ignore_ascii_case(word)).then(|| at..at + bare.len())
    })
}

/// Addresses of documentation, and those of four equal numbers.
fn addresses(text: &str) -> impl Iterator<Item = (Range<usize>, &'static str)> + '_ {
    let part: fn(char) -> bool = |c| c.is_ascii_hexdigit() || matches!(c, '.' | ':');
    runs(text, part).filter_map(move |range| {
        let joined = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        // `0.0.0.0/0` and other networks are no addresses.
        let network = text[range.end..].strip_prefix('/').is_some_and(|rest| {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && !matches!(&rest[..digits], "32" | "128")
        });
        if network || text[..range.start].ends_with(joined) || text[range.end..].starts_with(joined) {
            return None;
        }
        let run = text[range.clone()].trim_end_matches(['.', ':']);
        let (host, whole) = match run.parse::<Ipv6Addr>() {
            Ok(_) => (run, run.len() == text.trim().len()),
            Err(_) => (run.split(':').next().unwrap_or_default(), run.len() == text.trim().len()),
        };
        let what = match host.parse::<IpAddr>().ok()? {
            IpAddr::V4(address) => version_4(address, whole)?,
            IpAddr::V6(address) => version_6(address)?,
        };
        Some((range.start..range.start + host.len(), what))
    })
}

/// The longest runs of characters of a kind.
fn runs(text: &str, part: fn(char) -> bool) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(part)?;
        at = text[start..].find(move |c| !part(c)).map_or(text.len(), |length| start + length);
        Some(start..at)
    })
}

/// Networks that only texts about networks use: RFC 5737.
fn version_4(address: Ipv4Addr, whole: bool) -> Option<&'static str> {
    let [a, b, c, d] = address.octets();
    match [a, b, c] {
        [192, 0, 2] | [198, 51, 100] | [203, 0, 113] => return Some("an address of documentation (RFC 5737)"),
        _ if a != b || b != c || c != d => return None,
        _ => {}
    }
    match a {
        // Every address, and every bit of a mask.
        0 | 255 => None,
        // Public resolvers stand in lists of resolvers for good; alone they are what people write for "some address".
        1 | 8 | 9 if !whole => None,
        _ => Some("an address of four equal numbers"),
    }
}

/// RFC 3849 and RFC 9637.
fn version_6(address: Ipv6Addr) -> Option<&'static str> {
    match address.segments() {
        [0x2001, 0x0DB8, ..] => Some("an address of documentation (RFC 3849)"),
        [0x3FFF, second, ..] if second < 0x1000 => Some("an address of documentation (RFC 9637)"),
        _ => None,
    }
}

/// Ids of one digit only, the nil UUID first of all.
fn uuids(text: &str) -> impl Iterator<Item = (Range<usize>, &'static str)> + '_ {
    runs(text, |c| c.is_ascii_alphanumeric() || c == '-').filter_map(move |range| {
        let run = &text[range.clone()];
        let shape = run.len() == 36 && [8, 13, 18, 23].iter().all(|at| run.as_bytes()[*at] == b'-');
        let first = run.chars().next()?;
        let same = run.chars().all(|c| c == first || c == '-') && run.matches('-').count() == 4;
        match first {
            _ if !shape || !same || !first.is_ascii_hexdigit() => None,
            '0' => Some((range, "the nil UUID")),
            _ => Some((range, "a UUID of one digit")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn late(kind: &str) -> LateValue {
        crate::tree::from_value(json!({"name": "v", "type": kind, "placeholders": ["55.55.55.55"]}))
            .expect("a late value")
    }

    fn found(kind: &str, text: &str) -> Vec<String> {
        let late = late(kind);
        likely(&[&late], text).into_iter().map(|(_, range, _)| text[range].to_owned()).collect()
    }

    #[test]
    fn texts_that_wait_to_be_filled_in_are_seen() {
        for (kind, text, expected) in [
            ("ip", "192.0.2.10", "192.0.2.10"),
            ("ip", "https://198.51.100.7:6443/x", "198.51.100.7"),
            ("ip", "canReach: 203.0.113.1\n", "203.0.113.1"),
            ("ip", "203.0.113.1/32", "203.0.113.1"),
            ("ip", "at 11.11.11.11.", "11.11.11.11"),
            ("ip", "1.1.1.1", "1.1.1.1"),
            ("ip", "https://[2001:db8::1]:6443", "2001:db8::1"),
            ("ip", "2001:DB8::1", "2001:DB8::1"),
            ("ip", "changeme", "changeme"),
            ("string", "a: 1\ntoken: \"TODO\"\nb: 2\n", "TODO"),
            ("string", "KEY=ChangeMe", "ChangeMe"),
            ("uuid", "id 00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"),
            ("uuid", "11111111-1111-1111-1111-111111111111", "11111111-1111-1111-1111-111111111111"),
        ] {
            assert_eq!(found(kind, text), [expected], "{kind} {text}");
        }
    }

    #[test]
    fn what_is_meant_is_left_in_peace() {
        for (kind, text) in [
            ("ip", "0.0.0.0"),
            ("ip", "0.0.0.0/0"),
            ("ip", "255.255.255.255"),
            ("ip", "nameserver 8.8.8.8"),
            ("ip", "1.1.1.1,8.8.8.8"),
            ("ip", "10.0.3.7"),
            ("ip", "192.0.2.0/24"),
            ("ip", "v11.11.11.11"),
            ("ip", "1192.0.2.10"),
            ("ip", "fd00::1"),
            ("string", "# TODO: tidy up\n"),
            ("string", "echo todo list"),
            ("string", "192.0.2.10"),
            ("uuid", "0d9a6a54-2c5e-4f6f-8f2c-3c9d1e7b5a11"),
        ] {
            assert_eq!(found(kind, text), Vec::<String>::new(), "{kind} {text}");
        }
    }
}
