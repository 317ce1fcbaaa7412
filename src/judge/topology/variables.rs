//! What the webhook refuses about the variables of a Cluster: one that its class does not define, one that is missing, one
//! of another type. Read beside `internal/topology/variables/cluster_variable_validation.go` of Cluster API 1.14. Rules in
//! CEL are not computed: a value that one of them looks at is not known.

use std::collections::{BTreeMap, BTreeSet};

use super::admission::refuse;
use super::values::list;
use crate::hashed::{HashMap, HashSet};
use crate::kinds::fields::text;
use crate::kinds::openapi::fault;
use crate::kinds::webhook::Refusal;
use crate::model::RuleId;
use crate::tree::Value;

/// The id of the refusal.
const RULE: RuleId = RuleId::of("cluster/variable-refused");

/// What is refused about the variables of a Cluster; `class` is the class as it stands when the Cluster is written.
pub(super) fn refusals(cluster: &Value, class: &Value, out: &mut Vec<Refusal>) {
    let definitions = definitions(class);
    let at = "/spec/topology/variables";
    let set: BTreeSet<&str> = list(cluster, at).filter_map(|variable| text(variable, "/name")).collect();
    for definition in &definitions {
        // A default is filled in first.
        let is_filled_in = definition.schema.get("default").is_some();
        if definition.is_required && !is_filled_in && !set.contains(definition.name) {
            refuse(out, RULE, at, format!("the class requires the variable {}, which is not set", definition.name));
        }
    }
    let mut schemas: Schemas<'_> = BTreeMap::new();
    for definition in &definitions {
        schemas.entry(definition.name).or_insert(definition.schema);
    }
    let known = (&schemas, are_discovered(class));
    each(cluster, at, || at.to_owned(), known, out);
    let plane = "/spec/topology/controlPlane";
    each(cluster, &format!("{plane}{OVERRIDES}"), || format!("{plane}{OVERRIDES}"), known, out);
    for lists in ["machineDeployments", "machinePools"] {
        let pointer = format!("/spec/topology/workers/{lists}");
        // A cluster has hundreds of groups, most of them without any: no path is made for those.
        for (place, group) in list(cluster, &pointer).enumerate() {
            each(group, OVERRIDES, || format!("{pointer}/{place}{OVERRIDES}"), known, out);
        }
    }
}

/// The first variable with another value that the class checks with a rule in CEL.
pub(super) fn uncomputed(old: &Value, new: &Value, class: &Value) -> Option<String> {
    let ruled: HashSet<&str> =
        definitions(class).iter().filter(|one| has_rules(one.schema)).map(|one| one.name).collect();
    if ruled.is_empty() {
        return None;
    }
    let mut lists = vec!["/spec/topology/variables".to_owned(), format!("/spec/topology/controlPlane{OVERRIDES}")];
    for workers in ["machineDeployments", "machinePools"] {
        let pointer = format!("/spec/topology/workers/{workers}");
        lists.extend((0..list(new, &pointer).count()).map(|place| format!("{pointer}/{place}{OVERRIDES}")));
    }
    lists.iter().find_map(|at| {
        let had: HashMap<&str, &Value> =
            list(old, at).filter_map(|variable| Some((text(variable, "/name")?, variable))).collect();
        list(new, at).find_map(|variable| {
            let name = text(variable, "/name").filter(|name| ruled.contains(name))?;
            (had.get(name) != Some(&variable)).then(|| name.to_owned())
        })
    })
}

/// Where overrides of variables stand below a group.
pub(super) const OVERRIDES: &str = "/variables/overrides";

/// Whether a schema has a rule in CEL somewhere.
fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| {
            (key == "x-kubernetes-validations" && value.as_array().is_some_and(|rules| !rules.is_empty()))
                || has_rules(value)
        }),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

/// The schemas of the variables that a class defines, by name.
type Schemas<'v> = BTreeMap<&'v str, &'v Value>;

/// A variable of a class.
struct Definition<'v> {
    name: &'v str,
    is_required: bool,
    schema: &'v Value,
}

/// Who defines a variable that stands in the class itself, as its controller calls it.
const INLINE: &str = "inline";

/// The variables that a class defines: those that are written in it, and those of extensions, which only its controller says.
fn definitions(class: &Value) -> Vec<Definition<'_>> {
    let written: Vec<(&str, &Value)> =
        list(class, "/spec/variables").filter_map(|told| Some((text(told, "/name")?, told))).collect();
    let is_written = |name: &str| written.iter().any(|(own, _)| *own == name);
    let others = list(class, "/status/variables").filter_map(|told| {
        let name = text(told, "/name").filter(|name| !is_written(name))?;
        // What the class no longer says its controller has yet to forget.
        let first = list(told, "/definitions").find(|from| text(from, "/from") != Some(INLINE))?;
        Some((name, first))
    });
    let all = written.iter().copied().chain(others);
    all.map(|(name, from)| Definition {
        name,
        is_required: from.get("required") == Some(&Value::Bool(true)),
        schema: from.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null),
    })
    .collect()
}

/// Whether an extension defines variables too, and the class as it was read does not say which: only its controller writes that.
fn are_discovered(class: &Value) -> bool {
    let discovers = |patch: &Value| text(patch, "/external/discoverVariablesExtension").is_some();
    list(class, "/status/variables").next().is_none() && list(class, "/spec/patches").any(discovers)
}

/// Looks at each variable of a list of a holder, `path` of which is the whole way there. `may_be_others` says that more of them may be
/// defined than are known.
fn each(
    holder: &Value,
    list_at: &str,
    path: impl Fn() -> String,
    (schemas, may_be_others): (&Schemas<'_>, bool),
    out: &mut Vec<Refusal>,
) {
    for variable in list(holder, list_at) {
        let Some(name) = text(variable, "/name") else { continue };
        let Some(schema) = schemas.get(name) else {
            if may_be_others {
                continue;
            }
            refuse(out, RULE, &path(), format!("the class of the cluster defines no variable {name}"));
            continue;
        };
        let mut value = variable.get("value").cloned().unwrap_or(Value::Null);
        super::values::defaults(schema, &mut value);
        if let Some(why) = fault(&value, schema) {
            refuse(out, RULE, &path(), format!("the variable {name}{why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn found(schema: &Value, value: &Value) -> Vec<String> {
        let class = json!({"spec": {"variables": [
            {"name": "a", "required": true, "schema": {"openAPIV3Schema": schema}},
        ]}});
        let cluster = json!({"spec": {"topology": {"variables": [{"name": "a", "value": value}]}}});
        let mut out = Vec::new();
        refusals(&cluster, &class, &mut out);
        out.into_iter()
            .map(|refusal| refusal.message.trim_start_matches("the webhook refuses it: ").to_owned())
            .collect()
    }

    #[test]
    fn values_keep_to_their_schema() {
        let string = json!({"type": "string", "enum": ["x", "y"]});
        assert!(found(&string, &json!("x")).is_empty());
        assert_eq!(found(&string, &json!("z")), ["the variable a is none of the values that it may have"]);
        assert_eq!(found(&json!({"type": "string"}), &json!(3)), ["the variable a must be of the type string"]);
        assert_eq!(found(&json!({"type": "integer", "maximum": 3}), &json!(4)), ["the variable a is too large"]);
        assert!(found(&json!({"type": "integer"}), &json!(4.0)).is_empty());
        let map = json!({"type": "object", "required": ["b"], "properties": {"b": {"type": "array", "items": {"type": "boolean"}}}});
        assert_eq!(found(&map, &json!({})), ["the variable a.b is missing"]);
        assert_eq!(found(&map, &json!({"b": [true, 1]})), ["the variable a.b[1] must be of the type boolean"]);
        assert_eq!(
            found(&map, &json!({"b": [], "c": 1})),
            ["the variable a.c is a field that its schema does not have"]
        );
        let open = json!({"type": "object", "additionalProperties": {"type": "string"}});
        assert!(found(&open, &json!({"any": "thing"})).is_empty());
    }

    #[test]
    fn a_rule_in_cel_is_not_computed() {
        let class =
            |schema: Value| json!({"spec": {"variables": [{"name": "a", "schema": {"openAPIV3Schema": schema}}]}});
        let ruled = class(json!({"type": "object", "properties": {"b": {"type": "integer",
            "x-kubernetes-validations": [{"rule": "self > 1"}]}}}));
        let cluster = |value: Value| json!({"spec": {"topology": {"variables": [{"name": "a", "value": value}]}}});
        let (one, two) = (cluster(json!({"b": 1})), cluster(json!({"b": 2})));
        assert_eq!(uncomputed(&one, &two, &ruled).as_deref(), Some("a"));
        assert_eq!(uncomputed(&one, &one, &ruled), None, "the value stays");
        assert_eq!(uncomputed(&one, &two, &class(json!({"type": "object"}))), None);
    }

    #[test]
    fn a_variable_is_defined_and_set() {
        let class = json!({"spec": {"variables": [{"name": "a", "required": true, "schema": {"openAPIV3Schema": {"type": "string"}}}]}});
        let cluster = json!({"spec": {"topology": {
            "variables": [{"name": "b", "value": 1}],
            "workers": {"machineDeployments": [{"name": "w", "variables": {"overrides": [{"name": "a", "value": 1}]}}]},
        }}});
        let mut out = Vec::new();
        refusals(&cluster, &class, &mut out);
        let paths: Vec<String> = out.iter().map(|refusal| refusal.path.to_string()).collect();
        assert_eq!(paths[..2], ["spec.topology.variables", "spec.topology.variables"]);
        assert!(out[2].message.contains("must be of the type string"));
    }

    #[test]
    fn what_a_class_says_goes_before_what_its_controller_told_of_it() {
        let told = json!([{"name": "a", "definitions": [{"from": "inline", "required": false, "schema": {"openAPIV3Schema": {"type": "string"}}}]}]);
        let of = |written: Value| {
            let class = json!({"spec": {"variables": written}, "status": {"variables": told}});
            let cluster = json!({"spec": {"topology": {"variables": [{"name": "a", "value": "v"}]}}});
            let mut out = Vec::new();
            refusals(&cluster, &class, &mut out);
            out.len()
        };
        let said = |schema: Value| json!([{"name": "a", "schema": {"openAPIV3Schema": schema}}]);
        assert_eq!(of(said(json!({"type": "string"}))), 0);
        assert_eq!(of(said(json!({"type": "string", "enum": ["x"]}))), 1);
        assert_eq!(of(json!([])), 1, "it is no longer there");
    }

    #[test]
    fn what_an_extension_defines_counts() {
        let class = json!({"spec": {}, "status": {"variables": [
            {"name": "a", "definitions": [{"from": "x", "required": false, "schema": {"openAPIV3Schema": {"type": "string"}}}]},
        ]}});
        let cluster = json!({"spec": {"topology": {"variables": [{"name": "a", "value": "v"}]}}});
        let mut out = Vec::new();
        refusals(&cluster, &class, &mut out);
        assert!(out.is_empty());
    }
}
