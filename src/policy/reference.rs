//! The reference of the policy file, made from its schema: each field with its type, its default and what it does, and an example
//! of each part that is read by a test.

use std::fmt::Write as _;

use super::schema::schema_json;
use crate::tree::{List, Value};

/// An example of each part.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "lateValues",
        "lateValues:
  - name: cluster_virtual_ip
    placeholders: [\"55.55.55.55\"]
    type: ip
    within: 10.0.0.0/16
    from:
      - object: {apiVersion: v1, kind: ConfigMap, name: capo-cluster-resources, path: \"$.data.allocated_ip\"}
      - env: CLUSTER_VIP
    pin: once
    wait: 10m
",
    ),
    ("resolve", "resolve:\n  only: [{kind: RKE2ControlPlane}]\n  skip: [{name: \"docs-*\"}]\n"),
    ("pins", "pins:\n  file: rollgate.pins.yaml\n  fields: [{kind: OpenStackMachineTemplate, path: metadata.name}]\n"),
    ("profile", "profile: strict\n"),
    (
        "gates",
        "gates:
  rollout: hold
  latent: hold
  maxMachines: 3
  budget: {perCluster: 2, perDay: 6, history: configmap/rollgate/rollgate-history}
  windows: [{cron: \"0 2 * * 6\", for: 3h, timeZone: Europe/Paris}]
  freezes: [{from: 2026-12-18, until: 2027-01-05, timeZone: Europe/Paris, reason: end of the year}]
  health: {machines: warn}
",
    ),
    ("perCluster", "perCluster:\n  - clusters: env in (lab, test)\n    gates: {rollout: warn, maxUnavailable: null}\n"),
    ("workload", "workload: {read: true, timeout: 5s, clusters: [fleet/*]}\n"),
    ("images", "images: {servers: [\"https://images.example/os/\"], ca: images-ca.pem, timeout: 5s}\n"),
    (
        "approvals",
        "approvals:\n  from: [configmap/rollgate-approvals, {file: rollgate.approvals.yaml}]\n  by: [anna, berta]\n  longest: 72h\n",
    ),
    (
        "expect",
        "expect:
  - clusters: env=lab
    kind: KubeadmControlPlane
    path: spec.version
    to: v1.32.0
    maxMachines: 9
    until: 2027-01-31T00:00:00Z
",
    ),
    ("setBack", "setBack: rolling\n"),
    ("forecasts", "forecasts: {keep: configmap/rollgate/rollgate-forecasts, plan: true, worlds: worlds}\n"),
    (
        "flux",
        "flux:
  gate: [\"tier in (prod)\", metadata.namespace=telco]
  values: [{namespace: edge-1, name: edge-1-values, template: edge-1-template}]
",
    ),
    ("unseen", "unseen: {release: allow, inside: warn, controllers: warn, ownership: warn}\n"),
    (
        "releases",
        "releases:
  - {name: edge-1, namespace: edge-1, chart: ./chart, values: [edge-1.yaml], live: snapshots/edge-1.json}
  - {name: edge-2, namespace: edge-2, chart: ./chart, values: [edge-2.yaml], kubeContext: management-2}
  - {name: tools, namespace: tools, paths: [tools/overlay]}
",
    ),
    (
        "rules",
        "rules:
  - id: ours/labels
    kinds: [MachineDeployment]
    paths: [\"metadata.labels.*\"]
    effect: in-place
    because: Labels of the object reach its Machines without replacing them
",
    ),
    ("ignore", "ignore:\n  - {path: \"metadata.annotations.**\", kinds: [Cluster], reason: written by our pipeline}\n"),
    ("redact", "redact: [\"spec.**.community\"]\n"),
    ("show", "show: [\"spec.files.*.content\"]\n"),
];

/// The head that every policy starts with.
const HEAD: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n";

/// The page.
#[must_use]
pub fn reference() -> String {
    let schema = schema_json();
    let mut page = format!(
        "# The policy\n\nMade from the schema (`schemas/policy.json`, `rollgate schema policy`); a test fails when they part, and reads each\n\
         example. `rollgate policy check` says everything that is wrong with a file, `rollgate policy show` what is in force.\n\n\
         A policy starts with\n\n```yaml\n{HEAD}```\n\nand every part below may be left out. Fields that are not listed are an error.\n"
    );
    let parts = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (name, part) in parts.filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind")) {
        let _: std::fmt::Result = write!(page, "\n## {name}\n\n{}\n", words(part));
        let mut rows = Vec::new();
        walk(&schema, name, part, &mut rows, &mut Vec::new());
        if rows.len() > 1 || rows.iter().any(|row| !row.default.is_empty() || row.kind.starts_with('`')) {
            page.push_str("\n| field | type | default | |\n|---|---|---|---|\n");
            for row in rows {
                let _: std::fmt::Result = writeln!(
                    page,
                    "| `{}` | {} | {} | {} |",
                    row.path,
                    row.kind,
                    row.default,
                    row.says.replace('|', "\\|")
                );
            }
        }
        if let Some((_, example)) = EXAMPLES.iter().find(|(own, _)| own == name) {
            let _: std::fmt::Result = write!(page, "\n```yaml\n{example}```\n");
        }
    }
    page
}

/// The gates of some clusters.
const PER_CLUSTER: &str = "perCluster[].gates";
/// What stands there.
const EVERY_GATE: &str = " Every field of `gates`, but for `budget.perDay`, `budget.perClusterAndDay` and `budget.history`, which are of all clusters.";

/// One line of a table.
struct Row {
    path: String,
    kind: String,
    default: String,
    says: String,
}

/// The fields of a part and of all below it.
fn walk<'s>(root: &'s Value, path: &str, node: &'s Value, rows: &mut Vec<Row>, above: &mut Vec<&'s str>) {
    let is_first = above.is_empty();
    let default = node.get("default").filter(|value| !value.is_object() && **value != Value::Array(List::default()));
    let name = reference_of(node);
    let target = resolved(root, node);
    let kind = kind(root, target);
    if !is_first || target.get("properties").is_none() {
        let default = default.filter(|value| !value.is_null()).map(|value| format!("`{}`", plain(value)));
        rows.push(Row {
            path: path.to_owned(),
            kind,
            default: default.unwrap_or_default(),
            says: format!("{}{}{}", words(node), choices(target), if path == PER_CLUSTER { EVERY_GATE } else { "" }),
        });
    }
    // Whatever is not said there is as in `gates`, so no default counts.
    if path == PER_CLUSTER {
        return;
    }
    if above.len() > 6 || name.is_some_and(|name| above.contains(&name)) {
        return;
    }
    above.push(name.unwrap_or_default());
    let (items, suffix) = match target.get("items") {
        Some(items) => (resolved(root, items), "[]"),
        None => (target, ""),
    };
    let forms = match items.get("anyOf").and_then(Value::as_array) {
        Some(forms) => forms.iter().map(|form| resolved(root, form)).collect(),
        None => vec![items],
    };
    let fields = forms.into_iter().filter_map(|form| form.get("properties")?.as_object()).flatten();
    for (field, below) in fields {
        walk(root, &format!("{path}{suffix}.{field}"), below, rows, above);
    }
    above.pop();
}

/// What each choice does, where that is not the same everywhere: what a gate answers is.
fn choices(node: &Value) -> String {
    let list = node.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let said: Vec<(String, String)> =
        list.filter_map(|choice| Some((choice.get("const").map(plain)?, words(choice)))).collect();
    let is_answer = said.iter().map(|(word, _)| word.as_str()).eq(["allow", "warn", "hold"]);
    said.iter().filter(|_| !is_answer).map(|(word, says)| format!(" `{word}`: {says}")).collect()
}

/// What a field may be.
fn kind(root: &Value, node: &Value) -> String {
    let one = |node: &Value| node.get("const").map(plain);
    let choices: Vec<String> = match (node.get("oneOf"), node.get("enum")) {
        (Some(list), _) => list.as_array().into_iter().flatten().filter_map(one).collect(),
        (_, Some(list)) => list.as_array().into_iter().flatten().map(plain).collect(),
        _ => Vec::new(),
    };
    if !choices.is_empty() {
        return choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(list) = node.get("anyOf").and_then(Value::as_array) {
        let mut kinds: Vec<String> = list.iter().map(|part| kind(root, resolved(root, part))).collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    let word = match node.get("type") {
        Some(Value::String(word)) => word.as_str(),
        Some(Value::Array(words)) => {
            words.iter().filter_map(Value::as_str).find(|word| *word != "null").unwrap_or("anything")
        }
        _ => "anything",
    };
    match (word, node.get("items")) {
        ("array", Some(items)) => format!("list of {}", kind(root, resolved(root, items))),
        ("object", _) => "map".to_owned(),
        _ => word.to_owned(),
    }
}

/// The part that a reference leads to; of a choice between a part and nothing the part.
fn resolved<'s>(root: &'s Value, node: &'s Value) -> &'s Value {
    if let Some(name) = reference_of(node) {
        return root.get("$defs").and_then(|all| all.get(name)).unwrap_or(node);
    }
    let parts = node.get("anyOf").and_then(Value::as_array);
    let null = |part: &Value| part.get("type").and_then(Value::as_str) == Some("null");
    match parts
        .filter(|parts| parts.len() == 2)
        .and_then(|parts| parts.iter().find(|part| !null(part)).filter(|_| parts.iter().any(null)))
    {
        Some(part) => resolved(root, part),
        None => node,
    }
}

fn reference_of(node: &Value) -> Option<&str> {
    node.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/"))
}

fn words(node: &Value) -> String {
    let text = node.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::parse;

    #[test]
    fn every_part_has_an_example_that_is_read() {
        let schema = schema_json();
        let parts = schema["properties"].as_object().expect("parts").keys();
        for part in parts.filter(|part| !matches!(part.as_str(), "apiVersion" | "kind")) {
            let (_, example) =
                EXAMPLES.iter().find(|(own, _)| own == part).unwrap_or_else(|| panic!("{part} has no example"));
            if let Err(errors) = parse("example", format!("{HEAD}{example}").as_bytes()) {
                panic!("{part}: {errors}");
            }
        }
    }

    #[test]
    fn fields_of_every_depth_have_type_default_and_words() {
        let page = reference();
        for row in [
            "| `gates.health.etcd` | `allow`, `warn`, `hold` | `hold` | etcd could lose its quorum. |",
            "| `lateValues[].from[].object.kind` | string |  | Its kind. |",
            "| `lateValues[].within` | string or list of string |",
            "| `profile` | `strict`, `default`, `observe` |",
            "| `releases[].chart` | string |",
            "| `approvals.from` | list of string or map |",
            "| `approvals.from[].gitTrailer` | string |",
            "| `approvals.from[].signed` | boolean | `true` |",
            "| `gates.budget.history.file` | string |",
        ] {
            assert!(page.contains(row), "{row} is not in {page}");
        }
        assert!(!page.contains("| `perCluster[].gates."), "{page}");
    }
}
