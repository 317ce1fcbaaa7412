//! What a pack must keep to, built in or brought by a user: readable rules, each of which can win.

use std::collections::BTreeSet;

use super::Pattern;
use super::pack::{KindName, Pack, Rule, When};
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::model::Effect;
use crate::providers::is_compared;

/// What is wrong with a pack that can be read, and where in it.
pub(super) struct PackFault {
    /// The field.
    pub(super) field: String,
    /// What is wrong, with pack and rule.
    pub(super) text: String,
}

/// What is wrong with a pack that can be read.
pub(super) fn faults(pack: &Pack) -> Vec<PackFault> {
    let mut out = Vec::new();
    if pack.kinds.is_empty() {
        out.push(PackFault { field: "kinds".to_owned(), text: format!("{}: it is about no kind", pack.pack) });
    }
    for (place, rule) in pack.rules.iter().enumerate() {
        let mut fault = |field: &str, text: &str| {
            let (field, text) =
                (format!("rules[{place}].{field}"), format!("{}: rules[{place}] {}: {text}", pack.pack, rule.id));
            out.push(PackFault { field, text });
        };
        if !is_id(&rule.id) {
            fault("id", "an id has the form family/name, in lower case");
        }
        if rule.paths.is_empty() {
            fault("paths", "it names no path");
        }
        if rule.source.is_empty() && pack.source.is_empty() {
            fault("source", "neither it nor the pack names a source");
        }
        if let (Some(since), Some(until)) = (&rule.since, &rule.until)
            && since > until
        {
            fault("since", "since is later than until");
        }
        if pack.rules[..place].iter().any(|earlier| earlier.id == rule.id) {
            fault("id", "another rule has this id");
        }
        let before = &pack.rules[..place];
        if !rule.paths.is_empty() && rule.paths.iter().all(|path| before.iter().any(|other| hides(other, rule, path))) {
            let names: Vec<&str> = before
                .iter()
                .filter(|other| rule.paths.iter().any(|path| hides(other, rule, path)))
                .map(|other| other.id.as_str())
                .collect();
            fault("paths", &format!("it can never win, because {} stands before it", names.join(", ")));
        } else if let Some((other, path)) = overlap(before, rule) {
            let text = format!(
                "{} takes {path} without a condition in some of the same versions; say since and until",
                other.id
            );
            fault("paths", &text);
        }
    }
    let mut seen = BTreeSet::new();
    let mut fault = |text: String| out.push(PackFault { field: "causes".to_owned(), text });
    for cause in &pack.causes {
        if !seen.insert(&cause.id) {
            fault(format!("{}: the cause {} stands twice", pack.pack, cause.id));
        }
        if !cause.because.ends_with('.') || cause.source.is_empty() {
            fault(format!("{}: the cause {} needs a sentence with a full stop, and a source", pack.pack, cause.id));
        }
    }
    out
}

/// Whether a text can be an id.
fn is_id(id: &str) -> bool {
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    id.split_once('/').is_some_and(|(family, name)| word(family) && word(name))
}

/// Whether every change of a path of a rule is taken by an earlier rule without conditions.
fn hides(earlier: &Rule, rule: &Rule, path: &Pattern) -> bool {
    let since = earlier.since.as_ref().is_none_or(|since| rule.since.as_ref().is_some_and(|own| own >= since));
    let until = earlier.until.as_ref().is_none_or(|until| rule.until.as_ref().is_some_and(|own| own <= until));
    is_unconditional(&earlier.when) && since && until && takes(earlier, path)
}

/// An earlier rule without conditions that takes a path of a rule without conditions in some version of both.
fn overlap<'r>(before: &'r [Rule], rule: &'r Rule) -> Option<(&'r Rule, &'r str)> {
    let ends_before = |one: &Rule, other: &Rule| {
        one.until.as_ref().zip(other.since.as_ref()).is_some_and(|(until, since)| until < since)
    };
    before
        .iter()
        .filter(|other| is_unconditional(&other.when) && is_unconditional(&rule.when))
        .filter(|other| !ends_before(other, rule) && !ends_before(rule, other))
        .find_map(|other| Some((other, rule.paths.iter().find(|path| takes(other, path))?.text())))
}

/// Whether the paths of a rule cover a path.
fn takes(rule: &Rule, path: &Pattern) -> bool {
    rule.paths.iter().any(|other| {
        other.text() == path.text()
            || other.text().strip_suffix(".**").is_some_and(|head| {
                path.text() == head
                    || path.text().strip_prefix(head).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('['))
            })
    })
}

/// Whether a rule asks for nothing besides its path.
fn is_unconditional(when: &When) -> bool {
    when.change.is_empty()
        && when.before.is_none()
        && when.after.is_none()
        && when.alike.is_none()
        && when.field.is_empty()
        && when.field_before.is_empty()
        && when.new_item.is_none()
        && when.elsewhere.is_none()
        && when.gate.is_none()
        && when.live.is_none()
        && when.used_by.is_empty()
}

/// What is wrong with rules of a user beside the built-in ones: they may only be stricter, unless they say `override: true`,
/// and a rule that nothing could ever meet would be a false promise.
pub(super) fn check_user_rules(pack: &Pack) -> Vec<PackFault> {
    let mut out = faults(pack);
    for (place, rule) in
        pack.rules.iter().enumerate().filter(|(_, rule)| rule.effect == Effect::None && !rule.overrides)
    {
        let text = format!(
            "{}: the effect none makes nothing stricter, so it would never count; say override: true to make a verdict milder",
            rule.id
        );
        out.push(PackFault { field: format!("rules[{place}].effect"), text });
    }
    let referred = |name: &KindName| name.group.is_empty() && matches!(name.kind.as_str(), SECRET | CONFIG_MAP | "*");
    let never = |name: &&KindName| name.group != "*" && !is_compared(&name.group) && !referred(name);
    for (place, name) in pack.kinds.iter().enumerate().filter(|(_, name)| never(name)) {
        let text = format!(
            "{} of group {:?} is never compared: rules are about objects of Cluster API and its providers",
            name.kind, name.group
        );
        out.push(PackFault { field: format!("kinds[{place}]"), text });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;
    use crate::yaml;

    #[test]
    fn the_packs_that_are_built_in_keep_to_the_rules() {
        let faults: Vec<String> = Rules::built_in().packs().flat_map(faults).map(|fault| fault.text).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        let unended =
            Rules::built_in().packs().flat_map(|pack| &pack.rules).filter(|rule| !rule.because.ends_with('.'));
        assert_eq!(
            unended.map(|rule| rule.id.as_str()).collect::<Vec<_>>(),
            Vec::<&str>::new(),
            "sentences without a full stop"
        );
    }

    #[test]
    fn a_bad_pack_is_told_what_is_wrong() {
        let pack = |text: &str| Pack::from_value("mine", yaml::read_strict(text.as_bytes()).expect("good YAML"));
        let text = "pack: mine\nprovider: cluster-api\nkinds: [{group: g, kind: K}]\nrules:\n- {id: a/all, paths: [spec.**], effect: none, because: x., source: s}\n- {id: A, paths: [spec.a], effect: none, because: why., source: s}\n";
        let found: Vec<String> = faults(&pack(text).expect("a pack")).into_iter().map(|fault| fault.text).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        let unknown = pack("pack: x\nnonsense: 1\n").expect_err("no field has that name").to_string();
        assert!(unknown.contains("nonsense"), "{unknown}");
    }
}
