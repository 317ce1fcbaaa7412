//! What stands where the stream writes, beyond what is compared: namespaces that are being deleted, and objects of any kind that are
//! there already, by the marks that Helm looks at before it takes one over. Nothing else of them is kept.

use std::collections::BTreeSet;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Unread;
use crate::object::Key;
use crate::tree::Value;

/// What stands where the stream writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Standing {
    /// Namespaces that are being deleted: nothing new can be made in them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ending: BTreeSet<String>,
    /// Objects of the stream that nothing compares, that the last manifest lacks or has in another version, and that are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub there: Vec<There>,
    /// Those of which nobody could say whether they are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
}

/// An object that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct There {
    /// The object.
    pub key: Key,
    /// Whose it is.
    #[serde(flatten)]
    pub marks: Marks,
}

/// The label and the annotations by which Helm knows its own (helm `pkg/action/validate.go`, `checkOwnership`, v3.22 and v4.3).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Marks {
    /// Label `app.kubernetes.io/managed-by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Annotation `meta.helm.sh/release-name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Annotation `meta.helm.sh/release-namespace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_namespace: Option<String>,
}

impl Standing {
    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The marks of an object that is there.
    #[must_use]
    pub fn marks(&self, key: &Key) -> Option<&Marks> {
        self.there.iter().find(|there| there.key == *key).map(|there| &there.marks)
    }
}

impl Marks {
    /// The marks of an object.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |map: &str, name: &str| {
            object.get("metadata").and_then(|metadata| metadata.get(map)?.get(name)?.as_str()).map(str::to_owned)
        };
        Self {
            managed_by: text("labels", "app.kubernetes.io/managed-by"),
            release: text("annotations", "meta.helm.sh/release-name"),
            release_namespace: text("annotations", "meta.helm.sh/release-namespace"),
        }
    }

    /// Whose the object is, where it is not that of a release, as what stands behind "it"; `None` where it is. What is not known of
    /// the release is taken as equal.
    #[must_use]
    pub fn not_of(&self, release: Option<&str>, namespace: Option<&str>) -> Option<String> {
        let differs = |own: &str, told: Option<&str>| told.is_some_and(|told| told != own);
        match (&self.release, &self.release_namespace) {
            (None, _) => Some("belongs to no Helm release".to_owned()),
            (Some(own), _) if differs(own, release) => Some(format!("belongs to release {own:?}")),
            (Some(own), Some(of)) if differs(of, namespace) => {
                Some(format!("belongs to release {own:?} of namespace {of}"))
            }
            (Some(_), None) => Some("lacks the annotation meta.helm.sh/release-namespace".to_owned()),
            _ if self.managed_by.as_deref() != Some("Helm") => {
                Some("lacks the label app.kubernetes.io/managed-by: Helm".to_owned())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn helm_knows_its_own_by_a_label_and_two_annotations() {
        let of = |labels: Value, annotations: Value| {
            let object = json!({"metadata": {"labels": labels, "annotations": annotations}});
            Marks::of(&object).not_of(Some("demo"), Some("fleet")).unwrap_or_default()
        };
        let (name, namespace) = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace");
        let (helm, own) = (
            json!({"app.kubernetes.io/managed-by": "Helm"}),
            json!({"meta.helm.sh/release-name": "demo", "meta.helm.sh/release-namespace": "fleet"}),
        );
        assert_eq!(of(helm.clone(), own.clone()), "");
        assert_eq!(of(helm.clone(), Value::Null), "belongs to no Helm release");
        assert_eq!(of(helm.clone(), json!({name: "web", namespace: "fleet"})), "belongs to release \"web\"");
        assert!(of(helm.clone(), json!({name: "demo", namespace: "other"})).ends_with("of namespace other"));
        assert!(of(helm, json!({name: "demo"})).contains("release-namespace"));
        assert!(of(Value::Null, own).contains("managed-by"));
    }
}
