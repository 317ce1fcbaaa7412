//! Rules of a user: from the policy, or from a pack file. They are asked after everything else and may only make a
//! verdict stricter, unless they say `override: true`.

use super::meta::{PackFault, check_user_rules};
use super::pack::Pack;
use super::{ChangedLeaf, Hit, Rules};
use crate::providers::core::RELEASE;
use crate::tree::{Map, Value, json};
use crate::yaml;

/// What is wrong with one of the rules of a user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rules[{place}]: {}", self.text())]
pub struct UserFault {
    /// Which of them, from 0.
    pub place: usize,
    /// The field of it, where one cannot be read; empty where the whole is meant.
    pub field: String,
    /// What is wrong.
    pub message: String,
}

impl UserFault {
    /// What is wrong, with the field.
    #[must_use]
    pub fn text(&self) -> String {
        if self.field.is_empty() { self.message.clone() } else { format!("{}: {}", self.field, self.message) }
    }
}

impl Rules {
    /// The built-in packs and the rules of a user.
    ///
    /// Each value is a whole pack, or one rule with the kinds that it is about beside it (as in the policy).
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn with_user(values: &[Value]) -> Result<Self, Vec<UserFault>> {
        let mut user = Vec::new();
        let mut faults = Vec::new();
        for (place, value) in values.iter().enumerate() {
            match user_pack(value) {
                Ok(pack) => user.push(pack),
                Err(found) => {
                    faults.extend(found.into_iter().map(|(field, message)| UserFault { place, field, message }));
                }
            }
        }
        if faults.is_empty() { Ok(Self { user, ..Self::built_in().clone() }) } else { Err(faults) }
    }

    /// The rule of a user that counts against what was decided so far: the first that is about the change may be milder, where it says so,
    /// and any that is stricter counts.
    #[must_use]
    pub fn by_user(&self, asked: &ChangedLeaf<'_>, decided: &Hit) -> Option<Hit> {
        let about = self.user.iter().filter(|pack| pack.is_about(&asked.key.group, &asked.key.kind));
        let own = about.filter_map(|pack| Some((pack, pack.rules.iter().find(|rule| rule.holds(asked, pack))?)));
        let mut counting = own
            .enumerate()
            .filter(|(place, (_, rule))| rule.effect > decided.effect || (*place == 0 && rule.overrides));
        counting.next().map(|(_, (pack, rule))| super::matching::hit(rule, pack, asked))
    }
}

/// A value as a pack, or everything that is wrong with it: field and message.
fn user_pack(value: &Value) -> Result<Pack, Vec<(String, String)>> {
    let (name, tree) = as_pack(value);
    // The list around a single rule is ours: the user has written none.
    let own = |path: &str| {
        let path = path.strip_prefix("rules[0]").filter(|_| name == LONE).unwrap_or(path);
        path.trim_start_matches('.').to_owned()
    };
    let pack = Pack::from_value(&name, tree).map_err(|error| vec![(own(&error.path), yaml::plain(&error.message))])?;
    let faults = check_user_rules(&pack);
    if faults.is_empty() {
        return Ok(pack);
    }
    let said = |fault: PackFault| {
        let text =
            fault.text.strip_prefix("policy: rules[0] ").filter(|_| name == LONE).unwrap_or(&fault.text).to_owned();
        (own(&fault.field), text)
    };
    Err(faults.into_iter().map(said).collect())
}

/// How the pack around a single rule is called.
const LONE: &str = "policy";

/// A value as the tree of a pack, with its name: itself where it holds rules, a pack of one rule otherwise.
fn as_pack(value: &Value) -> (String, Value) {
    if value.get("rules").is_some() || value.get("pack").is_some() {
        return (value.get("pack").and_then(Value::as_str).unwrap_or("pack").to_owned(), value.clone());
    }
    let mut rule = value.as_object().cloned().unwrap_or_else(Map::new);
    let kinds = rule.remove("kinds").map_or_else(|| json!([{"group": "*", "kind": "*"}]), kinds);
    let provider = rule.remove("provider").unwrap_or_else(|| json!(RELEASE.name));
    let pack = json!({"pack": LONE, "provider": provider, "source": "the policy", "kinds": kinds, "rules": [rule]});
    (LONE.to_owned(), pack)
}

/// The kinds of a rule: a name stands for the kind of that name in every group, and one need not be in a list.
fn kinds(value: Value) -> Value {
    let one = |value: Value| match value {
        Value::String(kind) => json!({"group": "*", "kind": kind}),
        other => other,
    };
    match value {
        Value::Array(list) => list.into_iter().map(one).collect(),
        other => json!([one(other)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(rule: Value) -> Vec<String> {
        Rules::with_user(&[rule]).err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_mild_rule_needs_to_say_override() {
        let rule = json!({"id": "mine/version", "paths": ["spec.version"], "effect": "none", "because": "We know."});
        assert_eq!(
            faults(rule.clone()),
            [
                "rules[0]: effect: mine/version: the effect none makes nothing stricter, so it would never count; say override: true to make a verdict milder"
            ]
        );
        let mut told = rule;
        told["override"] = json!(true);
        assert_eq!(faults(told), [""; 0]);
        let strict = json!({"id": "mine/x", "paths": ["spec.x"], "effect": "rollout", "because": "We fear it."});
        assert_eq!(faults(strict), [""; 0]);
    }

    #[test]
    fn kinds_are_names_too_and_a_sentence_needs_no_full_stop() {
        for kinds in [
            json!(["MachineDeployment", "MachinePool"]),
            json!("MachineDeployment"),
            json!([{"group": "*", "kind": "X"}]),
        ] {
            let rule = json!({"id": "mine/x", "paths": ["spec.x"], "effect": "rollout", "because": "We fear it", "kinds": kinds});
            assert_eq!(faults(rule), [""; 0]);
        }
        let rule =
            json!({"id": "mine/x", "paths": ["spec.x"], "effect": "rollout", "because": "We fear it", "kinds": [3]});
        assert_eq!(faults(rule).len(), 1);
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_told_where() {
        let typo = json!({"id": "mine/x", "paths": ["spec.x"], "effect": "roll", "because": "We fear it."});
        let found = faults(typo);
        assert!(
            found.len() == 1 && found[0].starts_with("rules[0]: effect: \"roll\" is not a choice here"),
            "{found:?}"
        );
        let unwritten = json!({"id": "mine/x", "effect": "rollout", "because": "We fear it."});
        assert!(faults(unwritten)[0].starts_with("rules[0]: the field `paths` is missing"));
    }

    #[test]
    fn a_rule_about_a_kind_that_is_never_compared_is_refused() {
        let rule = json!({"id": "mine/x", "paths": ["spec.x"], "effect": "rollout", "because": "We fear it.",
            "kinds": [{"group": "apps", "kind": "Deployment"}]});
        let found = faults(rule);
        assert!(found.len() == 1 && found[0].contains("Deployment"), "{found:?}");
    }
}
