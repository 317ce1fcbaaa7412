//! Rules of a user: from the policy, or from a pack file. They are asked after everything else and may only make a
//! verdict stricter, unless they say `override: true`.

use serde_json::{Map, Value, json};

use super::meta::check_user_rules;
use super::pack::Pack;
use super::{Asked, Hit, Rules};

impl Rules {
    /// The built-in packs and the rules of a user.
    ///
    /// Each value is a whole pack, or one rule with the kinds that it is about beside it (as in the policy).
    ///
    /// # Errors
    /// Everything that is wrong with them, a sentence each.
    pub fn with_user(values: &[Value]) -> Result<Self, Vec<String>> {
        let mut user = Vec::new();
        let mut faults = Vec::new();
        for (place, value) in values.iter().enumerate() {
            match Pack::from_value(&format!("rules[{place}]"), as_pack(value, place)) {
                Ok(pack) => {
                    faults.extend(check_user_rules(&pack));
                    user.push(pack);
                }
                Err(error) => faults.push(error.to_string()),
            }
        }
        if faults.is_empty() { Ok(Self { user, ..Self::built_in().clone() }) } else { Err(faults) }
    }

    /// The rule of a user that is about a change, where it counts against what was decided so far.
    #[must_use]
    pub fn by_user(&self, asked: &Asked<'_>, decided: &Hit) -> Option<Hit> {
        self.user.iter().filter(|pack| pack.is_about(&asked.key.group, &asked.key.kind)).find_map(|pack| {
            let version = asked.versions.get(&pack.provider);
            let rule = pack.rules.iter().find(|rule| rule.holds(asked, &version))?;
            (rule.effect > decided.effect || rule.overrides).then(|| super::matching::hit(rule, pack, asked))
        })
    }
}

/// A value as a pack: itself where it holds rules, a pack of one rule otherwise.
fn as_pack(value: &Value, place: usize) -> Value {
    if value.get("rules").is_some() {
        return value.clone();
    }
    let mut rule = value.as_object().cloned().unwrap_or_else(Map::new);
    let kinds = rule.remove("kinds").unwrap_or_else(|| json!([{"group": "*", "kind": "*"}]));
    let provider = rule.remove("provider").unwrap_or_else(|| json!("cluster-api"));
    json!({"pack": format!("rules[{place}]"), "provider": provider, "source": "the policy", "kinds": kinds, "rules": [rule]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mild_rule_needs_to_say_override() {
        let rule = json!({"id": "mine/labels", "paths": ["spec.version"], "effect": "none", "because": "We know."});
        assert!(Rules::with_user(std::slice::from_ref(&rule)).is_err());
        let mut told = rule;
        told["override"] = json!(true);
        assert!(Rules::with_user(&[told]).is_ok());
        let strict = json!({"id": "mine/x", "paths": ["spec.x"], "effect": "rollout", "because": "We fear it."});
        assert!(Rules::with_user(&[strict]).is_ok());
    }
}
