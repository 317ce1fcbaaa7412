//! What a rule of the user may say, for editors and for the reference. It is read as a rule of a pack (`rules`), which has no schema.

use schemars::JsonSchema;

use crate::model::{Effect, Touches};
use crate::tree::Value;

/// A rule of the user, in the format of the packs.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct RuleForm {
    /// Its name: `family/name` in lower case, such as `ours/drain-timeout`.
    id: String,
    /// The kinds that it is about, by name or as `{group, kind}`; every compared kind where none is said.
    #[schemars(default)]
    kinds: Vec<KindForm>,
    /// The provider whose version `since` and `until` are about; `cluster-api` where none is said.
    #[schemars(default)]
    provider: Option<String>,
    /// The fields that it is about: `*` is one key, `[*]` a list place, `**` everything below.
    paths: Vec<String>,
    /// First version in which it holds, such as `1.11`.
    #[schemars(default)]
    since: Option<String>,
    /// Last version in which it holds, such as `1.11` with all of its patches.
    #[schemars(default)]
    until: Option<String>,
    /// What must hold besides.
    #[schemars(default)]
    when: Option<WhenForm>,
    /// What a change of such a field does.
    effect: Effect,
    /// What it moves besides Machines.
    #[schemars(default)]
    touches: Option<Touches>,
    /// A finding of this name is made beside it.
    #[schemars(default)]
    finding: Option<String>,
    /// One sentence for the report; `{before}` and `{after}` stand for the values.
    because: String,
    /// Where that is written down, such as a page of your own.
    #[schemars(default)]
    source: Option<String>,
    /// Whether it may make a verdict milder, too.
    #[serde(rename = "override")]
    #[schemars(default)]
    overrides: bool,
}

/// A kind.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum KindForm {
    /// Its name, in whatever group.
    Name(String),
    /// Its name and its group.
    Full {
        /// API group; `*` for any.
        group: String,
        /// Kind; `*` for any.
        kind: String,
    },
}

/// What must hold besides; all that is said must.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct WhenForm {
    /// What happens to the field; anything where nothing is said.
    #[schemars(default)]
    change: Vec<ShiftForm>,
    /// Values of which the old one must be one; `null` is absence.
    #[schemars(default)]
    before: Option<Vec<Value>>,
    /// Values of which the new one must be one; `null` is absence.
    #[schemars(default)]
    after: Option<Vec<Value>>,
    /// In what the old value and the new one are the same although they differ.
    #[schemars(default)]
    alike: Option<AlikeForm>,
    /// Fields of the object after the write, and the values of which theirs must be one.
    #[schemars(default)]
    field: std::collections::BTreeMap<String, Vec<Value>>,
    /// Fields of the object before the write, likewise.
    #[schemars(default)]
    field_before: std::collections::BTreeMap<String, Vec<Value>>,
    /// Whether the list item in which the field stands is new as a whole.
    #[schemars(default)]
    new_item: Option<bool>,
    /// Whether the new value names another namespace than the object's own.
    #[schemars(default)]
    elsewhere: Option<bool>,
    /// A feature gate of the controllers.
    #[schemars(default)]
    gate: Option<GateForm>,
    /// Kinds of which one must refer to the object after the write.
    #[schemars(default)]
    used_by: Vec<String>,
}

/// What happens to a field.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum ShiftForm {
    /// It was not there.
    Added,
    /// It goes away.
    Removed,
    /// Another value.
    Changed,
    /// A larger number.
    Raised,
    /// A smaller number.
    Lowered,
}

/// In what two values are the same.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum AlikeForm {
    /// The group of an `apiVersion`.
    Group,
    /// The major and the minor number of a version that begins with `v`.
    Minor,
    /// A version but for the `v` before it.
    Version,
}

/// A feature gate and the state in which the rule holds.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct GateForm {
    /// Its name.
    name: String,
    /// The state in which the rule holds.
    state: bool,
    /// The state that counts where nobody told it.
    default: bool,
}

#[cfg(test)]
mod tests {
    use crate::rules::Rules;
    use crate::tree::{Value, json};

    /// A rule that says everything that the schema knows.
    fn whole() -> Value {
        json!({
            "id": "ours/x", "kinds": ["MachineDeployment", {"group": "*", "kind": "MachinePool"}], "provider": "cluster-api",
            "paths": ["spec.x"], "since": "1.9", "until": "1.11", "effect": "rollout", "touches": "infrastructure",
            "finding": "silent-no-op", "because": "We know", "source": "our wiki", "override": true,
            "when": {
                "change": ["added", "removed", "changed", "raised", "lowered"], "before": [null, 1], "after": ["a"], "alike": "minor",
                "field": {"spec.y": [1]}, "fieldBefore": {"spec.y": [2]}, "newItem": false, "elsewhere": true,
                "gate": {"name": "MachinePool", "state": true, "default": true}, "usedBy": ["MachineDeployment"],
            },
        })
    }

    #[test]
    fn the_schema_names_what_is_read_and_what_is_read_is_in_the_schema() {
        let schema = Value::from(schemars::schema_for!(super::RuleForm).to_value());
        let names = |node: &Value| -> Vec<String> {
            let mut names: Vec<String> =
                node.as_object().into_iter().flatten().map(|(name, _)| name.to_string()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(&schema["properties"]), names(&whole()));
        assert_eq!(names(&schema["$defs"]["WhenForm"]["properties"]), names(&whole()["when"]));
        if let Err(faults) = Rules::with_user(&[whole()]) {
            panic!("{faults:?}");
        }
        for place in ["", "/when"] {
            let mut wrong = whole();
            wrong
                .pointer_mut(place)
                .and_then(Value::as_object_mut)
                .expect("a map")
                .insert("of-tomorrow".to_owned(), json!(1));
            assert!(Rules::with_user(&[wrong]).is_err(), "{place}");
        }
    }
}
