//! What a change of a policy gives away: gates that hold less, limits that let more through, places where a person's yes counts
//! from now on. What is neither plainly looser nor plainly stricter is only said to change.

use serde_json::Value;

use super::Policy;

/// The places of a policy that change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Those that let more through, with both values where these are words or numbers of a gate.
    pub looser: Vec<String>,
    /// The others, by their first names.
    pub other: Vec<String>,
}

/// Words of gates and profiles, the loosest first.
const RANKS: &[&[&str]] = &[&["allow", "warn", "rollout", "hold", "undecided"], &["observe", "default", "strict"]];

/// What changes from one policy to another.
#[must_use]
pub(crate) fn moved(old: &Policy, new: &Policy) -> Moved {
    let mut out = Moved::default();
    // Which releases there are is no question of how they are judged.
    let of = |policy: &Policy| serde_json::to_value(Policy { releases: Vec::new(), ..policy.clone() });
    let [old, new] = [old, new].map(|policy| of(policy).unwrap_or_default());
    walk(&old, &new, &mut Vec::new(), &mut out);
    out.other.dedup();
    out
}

fn walk(old: &Value, new: &Value, path: &mut Vec<String>, out: &mut Moved) {
    if old == new {
        return;
    }
    if let (Value::Object(was), Value::Object(is)) = (blank(old), blank(new)) {
        let mut keys: Vec<&String> = was.keys().chain(is.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            path.push(key.clone());
            walk(was.get(key).unwrap_or(&Value::Null), is.get(key).unwrap_or(&Value::Null), path, out);
            path.pop();
        }
        return;
    }
    let place = path.join(".");
    let of_gates = path.first().is_some_and(|first| ["gates", "unseen", "profile"].contains(&first.as_str()));
    match is_looser(&place, old, new) {
        Some(true) if of_gates && !old.is_array() && !new.is_array() => {
            let nothing = if old.is_string() || new.is_string() { "its default" } else { "no limit" };
            out.looser.push(format!("{place} {} -> {}", told(old, nothing), told(new, nothing)));
        }
        Some(true) => out.looser.push(place),
        Some(false) => {}
        None => out.other.extend(path.first().cloned()),
    }
}

/// An object stands for one that is not said.
fn blank(value: &Value) -> &Value {
    static EMPTY: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| serde_json::json!({}));
    if value.is_null() { &EMPTY } else { value }
}

/// Whether a place lets more through than before; `None` where that cannot be told.
fn is_looser(place: &str, old: &Value, new: &Value) -> Option<bool> {
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let lost = || items(old).iter().any(|item| !items(new).contains(item));
    let came = || items(new).iter().any(|item| !items(old).contains(item));
    match place {
        "gates.freezes" => return Some(lost()),
        // The first window is a limit; one more, or none any more, is none.
        "gates.windows" => return Some(!items(old).is_empty() && (came() || items(new).is_empty())),
        "approvals.from" | "expect" | "show" => return Some(came()),
        "approvals.by" => return Some(!items(old).is_empty() && (came() || items(new).is_empty())),
        "approvals.breakGlass.allow" => return Some(new == &Value::Bool(true)),
        _ if !place.starts_with("gates") && !place.starts_with("unseen") && place != "profile" => return None,
        _ => {}
    }
    // Where nothing is said, these do what they do by default; the default of others hangs on what else the policy says.
    let default = match place {
        "gates.rollout" => Some("hold"),
        "profile" => Some("default"),
        _ => None,
    };
    let word =
        |side: &Value| if side.is_null() { default.map(str::to_owned) } else { side.as_str().map(str::to_owned) };
    if let Some((old, new)) = word(old).zip(word(new)) {
        let rank = |word: &str| RANKS.iter().find_map(|ranks| ranks.iter().position(|rank| *rank == word));
        return rank(&old).zip(rank(&new)).map(|(old, new)| new < old);
    }
    // No number is no limit.
    match (old.as_u64(), new.as_u64()) {
        (Some(old), Some(new)) => Some(new > old),
        (Some(_), None) if new.is_null() => Some(true),
        (None, Some(_)) if old.is_null() => Some(false),
        _ => None,
    }
}

/// A word or a number of a gate, or what it is where nothing is said.
fn told(value: &Value, nothing: &str) -> String {
    match value {
        Value::Null => nothing.to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::parse;

    fn told(old: &str, new: &str) -> Moved {
        let read = |text: &str| {
            let text = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{text}\n");
            parse("rollgate.yaml", text.as_bytes()).expect("a policy")
        };
        moved(&read(old), &read(new))
    }

    #[test]
    fn what_lets_more_through_is_named_and_what_lets_less_through_is_not() {
        let looser = |old: &str, new: &str| told(old, new).looser.join(", ");
        assert_eq!(looser("gates: {rollout: hold}", "gates: {rollout: allow}"), "gates.rollout hold -> allow");
        assert_eq!(looser("", "gates: {rollout: allow}"), "gates.rollout its default -> allow");
        assert_eq!(looser("gates: {rollout: warn}", "gates: {rollout: hold}"), "");
        assert_eq!(looser("gates: {maxMachines: 3}", "gates: {maxMachines: 9}"), "gates.maxMachines 3 -> 9");
        assert_eq!(looser("gates: {maxMachines: 3}", "gates: {}"), "gates.maxMachines 3 -> no limit");
        assert_eq!(looser("gates: {}", "gates: {maxUnavailable: null}"), "gates.maxUnavailable 1 -> no limit");
        assert_eq!(looser("", "gates: {health: {machines: warn}}"), "gates.health.machines hold -> warn");
        assert_eq!(looser("", "profile: observe"), "profile its default -> observe");
        let freeze = "gates: {freezes: [{from: 2026-12-18, until: 2027-01-05}]}";
        assert_eq!(looser(freeze, ""), "gates.freezes");
        assert_eq!(looser("", freeze), "");
        let expected =
            "expect: [{kind: Cluster, path: spec.topology.version, to: v1.34.2, until: \"2027-01-31T00:00:00Z\"}]";
        assert_eq!(looser("", expected), "expect");
        assert_eq!(looser(expected, ""), "");
        assert_eq!(looser("", "approvals: {from: [configmap/yes]}"), "approvals.from");
        let (kept, glass) =
            ("approvals: {from: [configmap/yes]}", "approvals: {from: [configmap/yes], breakGlass: {allow: true}}");
        assert_eq!(looser(kept, glass), "approvals.breakGlass.allow");
    }

    #[test]
    fn what_is_neither_is_said_to_change() {
        assert_eq!(told("pins: {store: configmap/a}", "pins: {store: configmap/b}").other, ["pins"]);
        // Its default is another one where the workload cluster may be read.
        assert_eq!(told("", "gates: {health: {vip: allow}}").other, ["gates"]);
        assert_eq!(told("gates: {rollout: warn}", "gates: {rollout: warn}"), Moved::default());
    }
}
