//! Sentences for people: one line that names the object, the field, before and after, and the Machines.

use super::fold::Count;
use super::{LiveReport, plural};
use crate::compare::{Change, Pair, Within};
use crate::kinds::Role;
use crate::kinds::contract::MACHINE_HEALTH_CHECK;
use crate::model::{Effect, Hold, Together, Touches};
use crate::providers::kind;
use crate::tree::Value;

/// Longest text of a value in a sentence, in characters.
const LONGEST: usize = 60;
/// Longest line of evidence.
const LONGEST_EVIDENCE: usize = 160;
/// Longest start of a sentence.
const LONGEST_START: usize = 110;

/// What owners of one cluster that roll at the same time come to together, and of how many clusters that is true.
#[must_use]
pub(crate) fn of_together(one: &Together, clusters: u64) -> String {
    let place = one.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
    let Together { cluster, machines, lowest, peak, .. } = one;
    let more = match peak.saturating_sub(*machines) {
        0 => "no extra host or address".to_owned(),
        1 => "1 extra host and address".to_owned(),
        more => format!("{more} extra hosts and addresses"),
    };
    let whose = match clusters {
        0 | 1 => format!("cluster {place}{cluster}"),
        many => format!("each of {many} clusters"),
    };
    format!(
        "{whose}, its rollouts together: never fewer than {lowest} of {machines} Machines, never more than {peak}; {more}"
    )
}

/// What happens to so many Machines of an owner that wants so many, in a few words; `replaced` is what the usual case ends with.
#[must_use]
pub(crate) fn of_count(effect: Effect, machines: Option<Count>, replicas: Option<Count>, replaced: &str) -> String {
    let gone = machines.map_or_else(|| "?".to_owned(), |count| count.to_string());
    match (effect, replicas) {
        (Effect::Delete, _) => format!("{gone} destroyed"),
        (Effect::Scale, Some(Count { least: 1, most: 1 })) => format!("{gone} deleted, 1 stays"),
        (Effect::Scale, Some(left)) => format!("{gone} deleted, {left} stay"),
        (Effect::Scale, None) => format!("{gone} deleted"),
        (_, Some(left)) if machines.is_some_and(|machines| machines.most > left.most) => {
            format!("{gone} replaced by {left}")
        }
        (_, Some(left)) => format!("{gone} of {left}{replaced}"),
        (_, None) => format!("{gone} replaced"),
    }
}

/// When what is compared with was taken; nothing where that is not known.
#[must_use]
pub(crate) fn of_age(live: &LiveReport) -> String {
    match live.age() {
        Some(_) if live.age_seconds == Some(0) => " (taken just now)".to_owned(),
        Some(age) => format!(" (taken {age} ago)"),
        None => String::new(),
    }
}

/// How many objects of the stream were not compared; nothing where all were.
#[must_use]
pub(crate) fn not_compared(live: &LiveReport) -> String {
    match live.not_compared {
        0 => String::new(),
        1 => "; 1 is not compared".to_owned(),
        many => format!("; {many} are not compared"),
    }
}

/// What an object's changes of one effect come to, in one line.
#[must_use]
pub(crate) fn of_object(pair: &Pair, effect: Effect, changes: &[&Change], machines: Option<u64>) -> String {
    let consequence = match (effect, pair.key.kind.as_str()) {
        (Effect::Latent, _) if is_held(pair, changes) => "waits, and happens when what holds it back ends".to_owned(),
        (Effect::Latent, _) if touches_infrastructure(changes) => "counts for what is made later".to_owned(),
        (Effect::Latent, MACHINE_HEALTH_CHECK) => {
            "acts on unhealthy Machines at once, and on no healthy one".to_owned()
        }
        // One that has none, or of which nobody knows whether it has any.
        (Effect::Delete, _) if machines.is_none() && kind(&pair.key).role == Role::ControlPlane => {
            "destroys a control plane".to_owned()
        }
        _ => of_one(pair, effect, changes)
            .filter(|_| machines.is_none())
            .unwrap_or_else(|| consequence(effect, machines, kind(&pair.key).role)),
    };
    let Some(first) = changes.first() else {
        if effect == Effect::Rejected && says_refused(&pair.because) {
            return format!("{}: {}", pair.key, pair.because);
        }
        let because = if pair.because.is_empty() { String::new() } else { format!(" ({})", pair.because) };
        return format!("{}: {consequence}{because}", pair.key);
    };
    let others = match changes.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", plural(more as u64, "other change")),
    };
    let why = if effect == Effect::Unknown && !first.because.is_empty() {
        let own = format!("{}: ", pair.key);
        format!(": {}", in_a_sentence(first.because.strip_prefix(own.as_str()).unwrap_or(&first.because)))
    } else {
        String::new()
    };
    let consequence = if changes.len() > 1 { of_several(consequence) } else { consequence };
    format!("{}: {}{others} {consequence}{why}", pair.key, of_change(first))
}

/// Whether what is said of an object says by itself that nothing is written of it.
fn says_refused(because: &str) -> bool {
    ["refuse", "not written", "stops before"].iter().any(|words| because.contains(words))
}

/// A consequence whose subject is several changes.
fn of_several(consequence: String) -> String {
    const VERBS: [(&str, &str); 10] = [
        ("waits, and happens when what holds it back", "wait, and happen when what holds them back"),
        ("acts ", "act "),
        ("destroys ", "destroy "),
        ("replaces ", "replace "),
        ("reaches ", "reach "),
        ("is ", "are "),
        ("changes ", "change "),
        ("lands ", "land "),
        ("counts ", "count "),
        ("touches ", "touch "),
    ];
    let plural = VERBS.iter().find_map(|(one, many)| Some(format!("{many}{}", consequence.strip_prefix(one)?)));
    plural.unwrap_or(consequence)
}

/// What a rule says, as the end of a sentence.
fn in_a_sentence(because: &str) -> String {
    let because = because.trim_end_matches('.');
    let mut letters = because.chars();
    match (letters.next(), letters.clone().next()) {
        // `AWS`, `CoreDNS` and `Cluster fleet/demo` stay what they are.
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            let mut words = because.split(' ');
            let is_name = words.next().is_some_and(|word| word.chars().skip(1).any(char::is_uppercase))
                || words.next().is_some_and(|word| word.contains('/'));
            if is_name { because.to_owned() } else { first.to_lowercase().chain(letters).collect() }
        }
        _ => because.to_owned(),
    }
}

/// Whether something in the cluster keeps the effect from landing: a pause, a check, an object that is missing.
fn is_held(pair: &Pair, changes: &[&Change]) -> bool {
    changes.first().map_or(pair.waits, |change| change.waits).is_some()
}

/// Whether the first of some changes moves infrastructure.
fn touches_infrastructure(changes: &[&Change]) -> bool {
    changes.first().is_some_and(|change| change.touches == Some(Touches::Infrastructure))
}

/// What becomes of an object that is one Machine or stands for one: what it takes by its deletion is that one, and what a change of it
/// takes may be others.
fn of_one(pair: &Pair, effect: Effect, changes: &[&Change]) -> Option<String> {
    let verb = match effect {
        Effect::Rollout => "replaces",
        Effect::Delete => "destroys",
        _ => return None,
    };
    match (kind(&pair.key).role, changes.is_empty()) {
        (Role::Machine, true) => Some(format!("{verb} this Machine")),
        (Role::InfraMachine, true) => Some(format!("{verb} its Machine")),
        (Role::Machine | Role::InfraMachine, false) => Some(format!("{verb} Machines")),
        _ => None,
    }
}

/// What an effect means, as the end of a sentence.
fn consequence(effect: Effect, machines: Option<u64>, role: Role) -> String {
    // Templates, classes, hosts and the like have no Machines of their own.
    let all = if role.owns_machines() || role == Role::Cluster { "its Machines" } else { "Machines" };
    let count = machines.map_or_else(|| all.to_owned(), |count| plural(count, "Machine"));
    match effect {
        Effect::None => "reaches no Machine".to_owned(),
        Effect::InPlace => "is propagated without replacing Machines".to_owned(),
        Effect::Scale => "changes the number of Machines".to_owned(),
        Effect::Latent if role == Role::Host => "touches nothing that runs on the host now".to_owned(),
        Effect::Latent => "lands with the next new Machine".to_owned(),
        Effect::Rollout => format!("replaces {count}"),
        Effect::Rejected => "will be refused by the API server".to_owned(),
        Effect::Delete => format!("destroys {count}"),
        Effect::Unknown => "is not known to be safe".to_owned(),
    }
}

/// A change in one line: path, the way into documents, before and after.
#[must_use]
pub(crate) fn of_change(change: &Change) -> String {
    let (before, after) = excerpt(change.before.as_ref(), change.after.as_ref());
    format!("{} {before} -> {after}", place(change))
}

/// The path of a change with the way into strings that are documents.
#[must_use]
pub(crate) fn place(change: &Change) -> String {
    way(&change.path.to_string(), &change.within)
}

/// A path with the way into strings that are documents.
#[must_use]
pub(crate) fn way(path: &str, within: &[Within]) -> String {
    let mut place = path.to_owned();
    for within in within {
        place.push_str(" > ");
        place.push_str(if within.path.is_empty() { &within.decode } else { &within.path });
    }
    place
}

/// Two values as short texts; long strings are cut to where they differ.
#[must_use]
pub(crate) fn excerpt(before: Option<&Value>, after: Option<&Value>) -> (String, String) {
    if let (Some(Value::String(before)), Some(Value::String(after))) = (before, after)
        && (before.chars().count() > LONGEST || after.chars().count() > LONGEST || before.contains('\n'))
    {
        return differing_lines(before, after);
    }
    let (old, new) = (short(before), short(after));
    // A number and the same as a text.
    if old == new { (typed(before), typed(after)) } else { (old, new) }
}

/// A value as one short text that tells a text from what only reads like it.
fn typed(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) if !text.is_empty() => format!("\"{}\"", cut(text)),
        other => short(other),
    }
}

/// The first lines that differ, cut to what can be read.
fn differing_lines(before: &str, after: &str) -> (String, String) {
    let (mut old, mut new) = (before.lines(), after.lines());
    loop {
        match (old.next(), new.next()) {
            (Some(a), Some(b)) if a == b => {}
            (None, None) => return (cut(before), cut(after)),
            (a, b) => {
                return (
                    a.map_or_else(|| "(end)".to_owned(), |line| cut(line.trim())),
                    b.map_or_else(|| "(end)".to_owned(), |line| cut(line.trim())),
                );
            }
        }
    }
}

/// A value as one short text.
#[must_use]
pub(crate) fn short(value: Option<&Value>) -> String {
    match value {
        None => "(absent)".to_owned(),
        Some(Value::String(text)) if text.is_empty() => "\"\"".to_owned(),
        Some(Value::String(text)) => cut(text),
        Some(other) => cut(&other.to_string()),
    }
}

/// What waits, and when it happens, of a sentence that says what holds it back.
#[must_use]
pub(crate) fn of_waiting(because: &str) -> Option<String> {
    let (effect, over) = Hold::told(because)?;
    Some(format!("when {over}: {}", start(&in_a_sentence(effect))))
}

/// The start of a sentence, for a line that others explain: its first part, cut behind a word.
#[must_use]
pub(crate) fn start(text: &str) -> String {
    let part = text.split("; ").next().unwrap_or(text);
    let short = cut_at(part, LONGEST_START);
    match short.strip_suffix('…').and_then(|short| short.rsplit_once(' ')) {
        Some((words, _)) => format!("{words} …"),
        None => short,
    }
}

/// A line of evidence: longer, since what differs may stand behind a mark.
#[must_use]
pub(crate) fn evidence(text: &str) -> String {
    cut_at(text, LONGEST_EVIDENCE)
}

/// At most `LONGEST` characters, on one line.
fn cut(text: &str) -> String {
    cut_at(text, LONGEST)
}

fn cut_at(text: &str, longest: usize) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    if line.chars().count() <= longest {
        return line;
    }
    let mut short: String = line.chars().take(longest - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_changes_have_a_verb_of_their_own() {
        for (one, many) in [
            ("is not known to be safe", "are not known to be safe"),
            ("lands with the next new Machine", "land with the next new Machine"),
            ("will be refused by the API server", "will be refused by the API server"),
        ] {
            assert_eq!(of_several(one.to_owned()), many);
        }
    }

    #[test]
    fn what_waits_is_told_by_what_happens_and_when() {
        let hold = Hold {
            why: crate::model::Why::RolloutPaused,
            places: Vec::new(),
            says: "Cluster a/b is paused".to_owned(),
            over: "Cluster a/b is no longer paused".to_owned(),
        };
        let told = |sentence: String| of_waiting(&sentence);
        let wanted = |what: &str| Some(format!("when Cluster a/b is no longer paused: {what}"));
        assert_eq!(told(hold.tells("It is known; the group is deleted.")), wanted("the group is deleted"));
        assert_eq!(told(hold.tells_of("They differ", "2 Machines are replaced")), wanted("2 Machines are replaced"));
        assert_eq!(told("nothing waits".to_owned()), None);
    }

    #[test]
    fn the_start_of_a_sentence_ends_with_a_word() {
        assert_eq!(start("X a/b: it goes back; and more"), "X a/b: it goes back");
        let long = start(&"word ".repeat(50));
        assert!(long.ends_with("word …") && long.chars().count() <= LONGEST_START + 1, "{long}");
    }

    #[test]
    fn a_count_of_machines_says_only_what_is_known() {
        let of = |effect, machines: Option<u64>, left: Option<u64>| {
            of_count(effect, machines.map(Count::from), left.map(Count::from), " replaced")
        };
        for (said, told) in [
            (of(Effect::Rollout, Some(3), Some(3)), "3 of 3 replaced"),
            (of(Effect::Rollout, Some(1), None), "1 replaced"),
            (of(Effect::Rollout, Some(8), Some(4)), "8 replaced by 4"),
            (of(Effect::Scale, Some(2), Some(1)), "2 deleted, 1 stays"),
            (of(Effect::Scale, Some(1), Some(2)), "1 deleted, 2 stay"),
            (of(Effect::Delete, None, Some(0)), "? destroyed"),
        ] {
            assert_eq!(said, told);
        }
    }
}
