//! A template in the API version in which its class names it: the topology controller asks for it, patches it and applies it there
//! (cluster-api `core/reconcilers/topology/cluster/util.go`, getReference, v1.14), whichever version it was written or read in.

use std::borrow::Cow;

use crate::judge::stage::Stage;
use crate::judge::topology::blueprint::ClassPart;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::diff;
use crate::kinds::fields::text;
use crate::kinds::remembered::{Remembered, remembered};
use crate::kinds::shapes::Shape;
use crate::kinds::webhook::Written;
use crate::object::{ApiVersion, Key};
use crate::providers::kind;
use crate::schema;
use crate::tree::{Value, json};

/// The template of a part before or after the write, in the version of its reference; `None` where it could not be read.
pub(super) fn template(stage: &Stage<'_>, part: &ClassPart, key: &Key, is_after: bool) -> Option<Value> {
    let before = stage.written_before(key);
    let written = if is_after { stage.written_after(key) } else { before.clone() }?;
    let is_stored = !is_after || before.is_some_and(|before| before.get("spec") == written.get("spec"));
    let written = if stage.is_of_renders() { as_kept(stage, key, written) } else { written };
    let wanted = text(&part.reference, "/apiVersion").unwrap_or_default();
    let form = if is_stored { stored(written, wanted)? } else { in_version(written, wanted) };
    Some(form.into_owned())
}

/// A rendered object as the API server keeps it: with what its webhook and its schema fill in.
fn as_kept<'v>(stage: &Stage<'_>, key: &Key, object: Cow<'v, Value>) -> Cow<'v, Value> {
    let (kind, api_version) = (kind(key), text(&object, "/apiVersion").unwrap_or_default());
    let Some((webhook, shape)) = kind.webhook.zip(Shape::of(&key.kind, api_version, &stage.versions)) else {
        return object;
    };
    let mut out = object.clone().into_owned();
    if let Some(spec) = out.get_mut("spec") {
        shape.fill(spec);
    }
    webhook.fill_in(&Written { key, api_version, shape, versions: &stage.versions, is_past: false }, &mut out);
    if let Some(spec) = out.get_mut("spec") {
        shape.fill(spec);
    }
    Cow::Owned(out)
}

/// An object that the API server holds, in a version; `None` where it does not say legibly what it is there.
pub(super) fn stored<'v>(object: Cow<'v, Value>, wanted: &str) -> Option<Cow<'v, Value>> {
    if wanted.is_empty() || text(&object, "/apiVersion") == Some(wanted) {
        return Some(object);
    }
    match remembered(&object, wanted) {
        Remembered::Nothing => Some(in_version(object, wanted)),
        Remembered::Illegible => None,
        Remembered::Spec(spec) => {
            let mut out = object.into_owned();
            out["spec"] = spec;
            out["apiVersion"] = Value::from(wanted);
            Some(Cow::Owned(plain(out, wanted)))
        }
    }
}

/// An object in a version, by what moved between the two.
fn in_version<'v>(object: Cow<'v, Value>, wanted: &str) -> Cow<'v, Value> {
    if wanted.is_empty() || text(&object, "/apiVersion") == Some(wanted) {
        return object;
    }
    let mut out = object.into_owned();
    let model = json!({"apiVersion": wanted, "kind": text(&out, "/kind")});
    Cow::Owned(if schema::reshape(&mut out, &model) { plain(out, wanted) } else { out })
}

/// What came out of a conversion: Go's types leave out what is empty, while the API server keeps what no conversion went through.
fn plain(mut object: Value, version: &str) -> Value {
    let is_typed = ApiVersion::parse(version).group != INFRASTRUCTURE;
    if let Some(spec) = object.get_mut("spec").filter(|_| is_typed) {
        diff::prune(spec, diff::CLUSTER_API);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::contract::CONVERSION_DATA;

    const OLD: &str = "bootstrap.cluster.x-k8s.io/v1beta1";
    const NEW: &str = "bootstrap.cluster.x-k8s.io/v1beta2";

    fn object(data: Option<&str>) -> Value {
        let mut object = json!({"apiVersion": OLD, "kind": "KubeadmConfigTemplate", "metadata": {"uid": "u", "annotations": {}}, "spec": {
            "template": {"spec": {"joinConfiguration": {"discovery": {}, "nodeRegistration": {"kubeletExtraArgs": {"a": "1", "b": "2"}}}}}}});
        if let Some(data) = data {
            object["metadata"]["annotations"][CONVERSION_DATA] = json!(data);
        }
        object
    }

    fn arguments(object: &Value) -> Option<Value> {
        Some(object.pointer("/spec/template/spec/joinConfiguration")?.clone())
    }

    fn held(object: &Value, wanted: &str) -> Option<Value> {
        arguments(&*stored(Cow::Borrowed(object), wanted)?)
    }

    #[test]
    fn a_template_is_brought_into_the_version_of_its_reference() {
        let listed = json!({"nodeRegistration": {"kubeletExtraArgs": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}});
        assert_eq!(held(&object(None), NEW), Some(listed.clone()));
        assert_eq!(arguments(&in_version(Cow::Owned(object(None)), NEW)), Some(listed));
        let as_it_is = held(&object(Some("no JSON")), OLD).expect("it is read in that version");
        assert_eq!(as_it_is["discovery"], json!({}));
    }

    #[test]
    fn what_is_stored_says_the_order_and_what_is_written_does_not() {
        let hub = json!({"apiVersion": NEW, "kind": "KubeadmConfigTemplate", "spec": {"template": {"spec": {"joinConfiguration":
            {"nodeRegistration": {"kubeletExtraArgs": [{"name": "b", "value": "2"}, {"name": "a", "value": "1"}]}}}}}});
        let object = object(Some(&hub.to_string()));
        let first = |arguments: Option<Value>| {
            arguments.map(|all| all["nodeRegistration"]["kubeletExtraArgs"][0]["name"].clone())
        };
        assert_eq!(first(held(&object, NEW)), Some(json!("b")));
        assert_eq!(first(arguments(&in_version(Cow::Borrowed(&object), NEW))), Some(json!("a")));
    }

    #[test]
    fn what_is_not_legible_is_not_read() {
        assert_eq!(held(&object(Some("no JSON")), NEW), None);
        assert_eq!(held(&object(Some(&json!({"apiVersion": NEW}).to_string())), NEW), None);
    }
}
