//! When two values of one place mean the same although they are written otherwise. Only what the controller or the API
//! server itself takes for equal is here: whatever is in doubt is a change. So the order of a set counts: the API server keeps
//! it as it was written, and the webhooks of the OpenStack provider, which alone has sets, compare Go's lists.

use jiff::Timestamp;

use crate::object::nanoseconds;
use crate::object::{ApiVersion, Path, Segment};
use crate::providers::is_of_core;
use crate::schema::{SchemaNode, SchemaShape, Type, builtin};
use crate::tree::Value;

/// Fields that hold a length of time as Go writes it (`metav1.Duration` in the v1beta1 types of Cluster API and CAPRKE2).
const DURATIONS: [&str; 9] = [
    "nodeDrainTimeout",
    "nodeVolumeDetachTimeout",
    "nodeDeletionTimeout",
    "nodeStartupTimeout",
    "timeoutForControlPlane",
    "retryPeriod",
    "minHealthyPeriod",
    "timeout",
    "ttl",
];

/// Maps whose values are texts for somebody else, whatever their keys are called.
const FREE_TEXT: [&str; 5] = ["extraArgs", "kubeletExtraArgs", "labels", "annotations", "variables"];

/// What is known about the kind of the objects that are compared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Meaning {
    /// Schema of the spec.
    pub(super) spec: Option<&'static SchemaNode>,
    /// Whether the controller holds the object in Go types that drop empty lists and maps, and whether its webhook puts a
    /// `v` before versions: the kinds of Cluster API itself.
    core: bool,
}

impl Meaning {
    /// What is known about the kind of an object.
    pub(super) fn of(object: &Value) -> Self {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let group = ApiVersion::parse(version).group;
        Self { spec: builtin(version, kind), core: is_of_core(group, kind) }
    }

    /// Whether two values of one place mean the same. `node` is the schema of the place, where it is known.
    pub(super) fn same(&self, path: &Path, node: Option<&SchemaNode>, before: &Value, after: &Value) -> bool {
        if before == after {
            return true;
        }
        match (before, after) {
            (Value::Number(old), Value::Number(new)) => !(old.is_i64() && new.is_i64()) && old.as_f64() == new.as_f64(),
            (Value::String(old), Value::String(new)) => self.same_text(path, node, old, new),
            (Value::String(_), Value::Number(_)) | (Value::Number(_), Value::String(_)) => {
                is_of(node, Type::Quantity) && same_amount(&plain(before), &plain(after))
            }
            // Where the schema wants something, an empty value is refused: it is no other way to say nothing.
            (Value::Null, empty) => self.core && is_nothing(path, node, empty) && !node.is_some_and(|node| node.filled),
            (empty, Value::Null) => self.core && is_nothing(path, node, empty),
            _ => false,
        }
    }

    /// Whether two texts of one place mean the same.
    fn same_text(&self, path: &Path, node: Option<&SchemaNode>, old: &str, new: &str) -> bool {
        let field = field(path);
        if is_of(node, Type::Time) {
            let time = |text: &str| text.parse::<Timestamp>().ok();
            return time(old).is_some_and(|old| Some(old) == time(new));
        }
        if is_of(node, Type::Quantity) {
            return same_amount(old, new);
        }
        if is_of(node, Type::Text) && DURATIONS.contains(&field) && !is_free_text(path) {
            return nanoseconds(old).is_some_and(|old| Some(old) == nanoseconds(new));
        }
        // The webhooks of Cluster API put a `v` before a version that has none.
        self.core && field == "version" && is_of(node, Type::Text) && bare(old) == bare(new)
    }
}

/// The name of the field that a path ends in.
fn field(path: &Path) -> &str {
    let names = path.segments().iter().rev().find_map(|segment| match segment {
        Segment::Key(key) => Some(key.as_str()),
        Segment::Index(_) => None,
    });
    names.unwrap_or_default()
}

/// Whether a place lies in a map of texts for somebody else.
fn is_free_text(path: &Path) -> bool {
    path.segments().iter().any(|segment| matches!(segment, Segment::Key(key) if FREE_TEXT.contains(&key.as_str())))
}

/// Whether a place has a type.
fn is_of(node: Option<&SchemaNode>, wanted: Type) -> bool {
    matches!(node.map(|node| &node.shape), Some(SchemaShape::Leaf(found)) if *found == wanted)
}

/// Whether an empty list or map here equals none at all. Taints are the one list of Cluster API where it does not.
fn is_nothing(path: &Path, node: Option<&SchemaNode>, value: &Value) -> bool {
    match (node.map(|node| &node.shape), value) {
        (Some(SchemaShape::Map { .. }), Value::Object(map)) => map.is_empty(),
        (Some(SchemaShape::List { .. }), Value::Array(items)) => items.is_empty() && field(path) != "taints",
        _ => false,
    }
}

/// A version without its `v`.
fn bare(version: &str) -> &str {
    version.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(version)
}

/// A number or a text as a text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether two amounts such as `1Gi` and `1024Mi` are the same (apimachinery `pkg/api/resource/quantity.go`).
pub(crate) fn same_amount(old: &str, new: &str) -> bool {
    amount(old).is_some_and(|old| amount(new) == Some(old))
}

/// An amount in billionths; `None` where it is none, or too large or too fine to be told exactly.
fn amount(text: &str) -> Option<i128> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor: i128 = match suffix {
        "n" => 1,
        "u" => 1_000,
        "m" => 1_000_000,
        "" => 1_000_000_000,
        "k" => 10_i128.pow(12),
        "M" => 10_i128.pow(15),
        "G" => 10_i128.pow(18),
        "T" => 10_i128.pow(21),
        "P" => 10_i128.pow(24),
        "E" => 10_i128.pow(27),
        "Ki" => 1_000_000_000 << 10,
        "Mi" => 1_000_000_000 << 20,
        "Gi" => 1_000_000_000 << 30,
        "Ti" => 1_000_000_000 << 40,
        "Pi" => 1_000_000_000 << 50,
        "Ei" => 1_000_000_000 << 60,
        _ => return None,
    };
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let scale = 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let units: i128 = format!("{whole}{part}").parse().ok()?;
    let scaled = units.checked_mul(factor)?;
    (scaled % scale == 0).then_some(sign * (scaled / scale))
}

#[cfg(test)]
mod tests {
    use crate::compare::changes;
    use crate::tree::json;

    /// How many changes lie between two specs of a kind.
    fn count(api_version: &str, kind: &str, before: crate::tree::Value, after: crate::tree::Value) -> usize {
        let object = |spec: crate::tree::Value| json!({"apiVersion": api_version, "kind": kind, "spec": spec});
        changes(&object(before), &object(after)).len()
    }

    const KCP: (&str, &str) = ("controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlane");

    #[test]
    fn amounts_and_times_are_compared_by_what_they_mean() {
        assert!(
            super::same_amount("1Gi", "1024Mi") && super::same_amount("0.5", "500m") && !super::same_amount("1e", "1e")
        );
        assert!(!super::same_amount("1G", "1Gi") && !super::same_amount("1", "x"));
        assert_eq!(crate::object::nanoseconds("1h30m0.5s"), Some(5_400_500_000_000));
        assert_eq!(crate::object::nanoseconds("5"), None);
        for (text, seconds) in
            [("5m0s", 300), ("1h", 3600), ("1h30m", 5400), ("1500ms", 1), ("0s", 0), ("0", 0), ("-1.5s", -1)]
        {
            assert_eq!(crate::object::go_seconds(text), Some(seconds), "{text}");
        }
        assert_eq!(
            (
                crate::object::go_seconds("x"),
                crate::object::go_seconds("300000h"),
                crate::object::go_seconds("3000000h")
            ),
            (None, Some(1_080_000_000), None)
        );
    }

    #[test]
    fn durations_are_equal_however_they_are_written() {
        let spec = |text: &str| json!({"machineTemplate": {"nodeDrainTimeout": text}});
        assert_eq!(count(KCP.0, KCP.1, spec("5m"), spec("300s")), 0);
        assert_eq!(count(KCP.0, KCP.1, spec("5m"), spec("301s")), 1);
    }

    #[test]
    fn arguments_of_programs_are_texts() {
        let spec = |text: &str| json!({"kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraArgs": {"timeout": text, "version": "1"}}}}});
        assert_eq!(count(KCP.0, KCP.1, spec("60s"), spec("1m")), 1);
    }

    #[test]
    fn a_version_is_the_same_with_and_without_its_v() {
        assert_eq!(count(KCP.0, KCP.1, json!({"version": "v1.31.0"}), json!({"version": "1.31.0"})), 0);
        let rke2 = ("controlplane.cluster.x-k8s.io/v1beta1", "RKE2ControlPlane");
        assert_eq!(count(rke2.0, rke2.1, json!({"version": "v1.31.0+rke2r1"}), json!({"version": "1.31.0+rke2r1"})), 1);
    }

    #[test]
    fn empty_lists_equal_none_except_taints() {
        let node = |registration: crate::tree::Value| json!({"kubeadmConfigSpec": {"initConfiguration": {"nodeRegistration": registration}}});
        assert_eq!(count(KCP.0, KCP.1, node(json!({"ignorePreflightErrors": []})), node(json!({}))), 0);
        assert_eq!(count(KCP.0, KCP.1, node(json!({"taints": []})), node(json!({}))), 1);
        assert_eq!(count(KCP.0, KCP.1, node(json!({"kubeletExtraArgs": {}})), node(json!({}))), 0);
    }

    #[test]
    fn an_empty_list_is_a_change_where_the_schema_refuses_it() {
        let node = |registration: crate::tree::Value| json!({"kubeadmConfigSpec": {"initConfiguration": {"nodeRegistration": registration}}});
        let (with, without) = (node(json!({"ignorePreflightErrors": []})), node(json!({})));
        let new = "controlplane.cluster.x-k8s.io/v1beta2";
        assert_eq!(count(new, KCP.1, without.clone(), with.clone()), 1);
        assert_eq!(count(new, KCP.1, with, without), 0);
    }

    #[test]
    fn an_empty_struct_is_a_change() {
        assert_eq!(
            count(
                KCP.0,
                KCP.1,
                json!({"kubeadmConfigSpec": {"clusterConfiguration": {"dns": {}}}}),
                json!({"kubeadmConfigSpec": {"clusterConfiguration": {}}})
            ),
            1
        );
    }

    #[test]
    fn points_in_time_are_equal_in_any_zone() {
        let spec = |text: &str| json!({"rolloutAfter": text});
        assert_eq!(count(KCP.0, KCP.1, spec("2026-01-01T00:00:00Z"), spec("2026-01-01T01:00:00+01:00")), 0);
    }

    #[test]
    fn a_number_and_its_text_differ() {
        let spec = |surge: crate::tree::Value| json!({"rolloutStrategy": {"rollingUpdate": {"maxSurge": surge}}});
        assert_eq!(count(KCP.0, KCP.1, spec(json!(1)), spec(json!("1"))), 1);
    }
}
