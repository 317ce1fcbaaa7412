//! One state of a cluster as each host would have left it, as a World.

use std::sync::Arc;

use rollgate::facade::compare::redact::MarkKey;
use rollgate::facade::late::Reach;
use rollgate::facade::object::Stream;
use rollgate::facade::pipeline::{self, Fault, Question};
use rollgate::facade::policy::Policy;
use rollgate::facade::report::{PolicyReport, Report};
use rollgate::facade::schema::{self, Merge, SchemaNode, SchemaShape};
use rollgate::facade::world::World;
use rollgate::facade::world::snapshot::{self, Snapshot};
use serde_json::{Map, Value, json};

use crate::situation::{NAMESPACE, Sides};

/// Who wrote last and writes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Helm3,
    Helm4,
    Flux,
    Kubectl,
    KubectlServerSide,
}

impl Host {
    /// All but the first.
    pub(crate) const OTHERS: [Self; 4] = [Self::Helm4, Self::Flux, Self::Kubectl, Self::KubectlServerSide];

    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Helm3 => ("helm3", "merge-patch", ""),
            Self::Helm4 => ("helm4", "server-side-apply", "helm"),
            Self::Flux => ("flux", "server-side-apply", "helm-controller"),
            Self::Kubectl => ("kubectl", "last-applied", ""),
            Self::KubectlServerSide => ("kubectl", "server-side-apply", "kubectl"),
        }
    }
}

/// The World that a host finds.
pub(crate) fn world(sides: &Sides, host: Host) -> World {
    let (kind, method, manager) = host.words();
    let by_helm = kind != "kubectl";
    let live: Vec<Value> = sides.live.iter().map(|object| signed(object, sides, host)).collect();
    let release = json!({
        "name": "demo", "namespace": NAMESPACE, "deployed": 1, "newest": 1, "status": "deployed", "method": method,
    });
    let world = json!({
        "taken": "2026-01-01T00:00:00Z", "now": "2026-01-01T00:00:00Z",
        "source": {"kind": "cluster", "name": "cluster"},
        "live": live,
        "base": {"kind": if by_helm { "release" } else { "unknown" }, "objects": if by_helm { json!(sides.base) } else { json!([]) }},
        "release": if by_helm { release } else { Value::Null },
        "host": {
            "kind": kind, "evidence": "told", "release": if by_helm { json!("demo") } else { Value::Null },
            "namespace": NAMESPACE, "context": null, "method": method, "force": manager == "helm-controller", "writesNothing": false,
        },
        "readings": [], "pins": [], "providers": sides.providers, "featureGates": {"ClusterTopology": true},
        "unread": [], "absent": [],
    });
    serde_json::from_str(&world.to_string()).expect("a World")
}

/// A live object with what its writer left on it.
fn signed(object: &Value, sides: &Sides, host: Host) -> Value {
    let is =
        |other: &&Value| other["kind"] == object["kind"] && other["metadata"]["name"] == object["metadata"]["name"];
    let mut object = object.clone();
    let Some(base) = sides.base.iter().find(|base| is(base)) else { return object };
    let (_, _, manager) = host.words();
    let annotations = &mut object["metadata"]["annotations"];
    match host {
        Host::Helm3 | Host::Helm4 | Host::Flux => {
            annotations["meta.helm.sh/release-name"] = json!("demo");
            annotations["meta.helm.sh/release-namespace"] = json!(NAMESPACE);
            object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
        }
        Host::Kubectl => {
            annotations["kubectl.kubernetes.io/last-applied-configuration"] = json!(format!("{base}\n"));
        }
        Host::KubectlServerSide => {}
    }
    if !manager.is_empty() {
        let api = base["apiVersion"].as_str().unwrap_or_default();
        let spec = schema::builtin(api, base["kind"].as_str().unwrap_or_default());
        let mut own = json!({"f:metadata": fields(&base["metadata"], None), "f:spec": fields(&base["spec"], spec)});
        if let Some(map) = own["f:metadata"].as_object_mut() {
            ["f:name", "f:namespace"].into_iter().for_each(|name| drop(map.shift_remove(name)));
        }
        object["metadata"]["managedFields"] = json!([{
            "manager": manager, "operation": "Apply", "apiVersion": api, "time": "2025-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": own,
        }]);
    }
    object
}

/// The fields of a value as the API server notes them.
fn fields(value: &Value, node: Option<&SchemaNode>) -> Value {
    let any = SchemaNode::any();
    let node = node.unwrap_or(&any);
    let atomic =
        matches!(&node.shape, SchemaShape::Fields { atomic: true, .. } | SchemaShape::Map { atomic: true, .. });
    match value {
        Value::Object(map) if !atomic && !map.is_empty() => {
            let inner = |(key, value): (&String, &Value)| (format!("f:{key}"), fields(value, node.field(key)));
            Value::Object(map.iter().map(inner).collect())
        }
        Value::Array(items) => match &node.shape {
            SchemaShape::List { items: inner, merge: Merge::Keys(keys) } => {
                let item = |item: &Value| {
                    let key: Map<String, Value> = keys
                        .iter()
                        .filter_map(|key| {
                            let default = inner.field(key).and_then(|field| field.default.clone()).map(Value::from);
                            Some((key.clone(), item.get(key).cloned().or(default)?))
                        })
                        .collect();
                    let mut held = fields(item, Some(inner));
                    held["."] = json!({});
                    (format!("k:{}", Value::Object(key)), held)
                };
                Value::Object(items.iter().map(item).collect())
            }
            SchemaShape::List { merge: Merge::Set, .. } => {
                Value::Object(items.iter().map(|item| (format!("v:{item}"), json!({}))).collect())
            }
            _ => json!({}),
        },
        _ => json!({}),
    }
}

/// The key of all marks: two judgements are compared with each other.
fn key() -> MarkKey {
    MarkKey::of_text("the key of the metamorphic tests, always the same").expect("long enough")
}

/// The question whether a stream may be written.
pub(crate) fn question(stream: Vec<u8>) -> Question {
    Question {
        stream: stream.into(),
        files: rollgate::facade::object::Files::default(),
        policy: Policy::default(),
        policy_report: PolicyReport::default(),
        reach: Reach::Cluster,
        key: key(),
        key_lasts: true,
        goes_out: false,
        break_glass: None,
        apart: Arc::default(),
        upgrade: Default::default(),
    }
}

/// Judges a stream.
pub(crate) fn judged(stream: Vec<u8>, world: &World) -> Result<Report, Fault> {
    pipeline::judge(&question(stream), world).map(|judgement| judgement.report)
}

/// The World as a snapshot of it gives it back for a stream.
pub(crate) fn through_snapshot(world: World, stream: &[u8]) -> World {
    let saved = serde_json::to_vec(&Snapshot::of(world, &key(), &[])).expect("a snapshot is JSON");
    let Snapshot { mut world, redact, .. } = Snapshot::read(&saved).expect("a snapshot can be read");
    let rendered = Stream::load(&bytes::Bytes::from(stream.to_vec())).expect("the stream can be read").objects;
    snapshot::reveal(&mut world, Some(&key()), &redact, &[&rendered]);
    world
}
