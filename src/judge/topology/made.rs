//! What the templates of a class come out as for one Cluster, for whoever reads them without judging a write.

use std::borrow::Cow;

use super::blueprint::parts;
use super::{patches, referenced, values};
use crate::kinds::{Versions, superset};
use crate::object::Key;
use crate::providers::kind;
use crate::tree::{Value, json};

/// The templates of a class that `read` gives, by kind, each as the patches leave it that can be computed; a Cluster that has a template twice
/// has it twice here.
pub(crate) fn patched(
    (key, api_version, cluster): (&Key, &str, &Value),
    (class_key, class): (&Key, &Value),
    versions: &Versions,
    read: &dyn Fn(&Key) -> Option<Value>,
) -> Vec<(String, Value)> {
    let cluster = &superset::value(kind(key), api_version, cluster, versions);
    let global = values::of_cluster(cluster, class);
    let made = parts(cluster, class).into_iter().filter_map(|part| {
        let key = part.key(class_key);
        let wanted = part.reference.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let template = referenced::stored(Cow::Owned(read(&key)?), wanted)?.into_owned();
        let values = values::of_group(cluster, class, &global, &part.group);
        let patched = patches::apply(&template, &part, class, &values, versions);
        // A patch that fails stops the topology controller, which then makes nothing of the template.
        let spec = if patched.broken.is_some() { patches::spec_of(&template) } else { patched.spec };
        Some((key.kind.clone(), json!({"spec": spec})))
    });
    made.collect()
}
