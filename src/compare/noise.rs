//! Fields that the API server or the host writes by itself and that nobody renders.
//! They never show as a change; everything else does.

use crate::tree::{Map, Value};

/// Keys of `metadata` that only the API server writes.
const SERVER_METADATA: [&str; 7] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Annotations that the writing program adds for itself. Helm's file name annotation is there only between Helm 4 and
/// the post-renderer (helm `pkg/action/action.go`, `renderResources`).
const HOST_ANNOTATIONS: [&str; 4] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "postrenderer.helm.sh/postrender-filename",
];

/// Labels that the writing program adds for itself (helm `pkg/action/validate.go`, `setMetadataVisitor`;
/// helm-controller `internal/postrender/origin_labels.go`).
const HOST_LABELS: [&str; 3] =
    ["app.kubernetes.io/managed-by", "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"];

/// Whether a key of the object itself is left out of the comparison. `apiVersion` is the form in which the object was
/// asked for, not a part of it.
pub(super) fn is_top_level_noise(key: &str) -> bool {
    matches!(key, "status" | "apiVersion" | "kind")
}

/// Whether a key of `metadata` is left out of the comparison.
pub(super) fn is_metadata_noise(key: &str) -> bool {
    SERVER_METADATA.contains(&key)
}

/// Whether a label or an annotation of the object itself is left out of the comparison.
pub(super) fn is_mark_noise(marks: &str, key: &str) -> bool {
    match marks {
        "annotations" => HOST_ANNOTATIONS.contains(&key),
        "labels" => HOST_LABELS.contains(&key),
        _ => false,
    }
}

/// Takes out of a template what its name alone decides, so that two templates can be compared by content:
/// names, owners, and annotations that hold a checksum.
#[must_use]
pub(crate) fn without_identity(template: &Value) -> Value {
    let mut bare = template.clone();
    if let Some(metadata) = bare.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["name", "namespace", "ownerReferences", "finalizers"] {
            metadata.shift_remove(key);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|key, _| !is_checksum(key) && !is_mark_noise("annotations", key));
        }
        if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
            labels.retain(|key, _| !is_checksum(key) && !is_mark_noise("labels", key));
        }
        metadata.retain(|_, value| !is_empty_map(value));
    }
    bare
}

/// Whether an annotation or a label holds a checksum made by the chart.
fn is_checksum(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.starts_with("checksum/") || key.contains("checksum") || key.contains("sha256") || key.ends_with("hash")
}

/// Whether a value is a map without keys.
fn is_empty_map(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}
