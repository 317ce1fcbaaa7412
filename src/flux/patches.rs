//! Late values as patches for `spec.postRenderers` of a HelmRelease, for those who cannot change its values. Each patch tests what the
//! chart rendered before it replaces it: a chart that renders something else there is refused, not patched wrongly.

use std::collections::BTreeSet;

use crate::kinds::contract::SECRET;
use crate::object::{ApiVersion, Key, Object, Path};
use crate::tree::{Value, json};
use crate::yaml::double_quoted;

/// Why a late value cannot be written by a patch.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoPatch {
    /// A patch would show it.
    #[error(
        "{0}: a patch stands in the HelmRelease, where everybody reads it, and a Secret does not; \
         use rollgate flux values --secret, and valuesFrom"
    )]
    Secret(Key),
    /// Two objects have one name.
    #[error("{0} stands there twice, and a patch would reach both; render it once")]
    Twice(Key),
    /// An object is reached by its name, and that changes.
    #[error(
        "{0}: a late value stands in its name, which a patch cannot change; use rollgate flux values, and valuesFrom"
    )]
    Name(Key),
    /// A key changes, or an entry comes or goes.
    #[error(
        "{0}, {1}: a late value changes more than a text here, which no patch can say; use rollgate flux values, and valuesFrom"
    )]
    Shape(Key, Path),
    /// An object cannot be read.
    #[error("{0}: {1}")]
    Unread(Key, String),
}

/// The patches that make the stream `after` of the stream `before`, as `postRenderers` of a HelmRelease; `None` where nothing differs.
///
/// # Errors
/// When a patch cannot say it.
pub(crate) fn patches(before: &[Object], after: &[Object]) -> Result<Option<String>, NoPatch> {
    let mut seen = BTreeSet::new();
    let mut entries = String::new();
    for (at, old) in before.iter().enumerate() {
        let key = &old.key;
        let new = after.get(at).filter(|new| new.key == *key).ok_or_else(|| NoPatch::Name(key.clone()))?;
        let read = |object: &Object| {
            let value = object.value().map_err(|error| NoPatch::Unread(key.clone(), error.to_string()))?;
            Ok::<Value, NoPatch>(value.into_owned())
        };
        let (old_value, new_value) = (read(old)?, read(new)?);
        let mut operations = Vec::new();
        differences(key, (&old_value, &new_value), &Path::root(), "", &mut operations)?;
        let is_again = !seen.insert(key.clone());
        if operations.is_empty() {
            continue;
        }
        if key.group.is_empty() && key.kind == SECRET {
            return Err(NoPatch::Secret(key.clone()));
        }
        if is_again || before[at + 1..].iter().any(|other| other.key == *key) {
            return Err(NoPatch::Twice(key.clone()));
        }
        entry(&mut entries, key, &old_value, &operations);
    }
    Ok((!entries.is_empty()).then(|| format!("postRenderers:\n- kustomize:\n    patches:\n{entries}")))
}

/// The operations that make one tree of the other.
fn differences(
    key: &Key,
    (old, new): (&Value, &Value),
    path: &Path,
    pointer: &str,
    out: &mut Vec<Value>,
) -> Result<(), NoPatch> {
    let shape = || NoPatch::Shape(key.clone(), path.clone());
    match (old, new) {
        _ if old == new => {}
        (Value::Object(before), Value::Object(after)) => {
            if before.len() != after.len() {
                return Err(shape());
            }
            for (name, before) in before {
                let after = after.get(name).ok_or_else(shape)?;
                let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                differences(key, (before, after), &path.clone().key(name.as_str()), &pointer, out)?;
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            if before.len() != after.len() {
                return Err(shape());
            }
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                differences(key, (before, after), &path.clone().index(at), &format!("{pointer}/{at}"), out)?;
            }
        }
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => return Err(shape()),
        _ => {
            out.push(json!({"op": "test", "path": pointer, "value": old}));
            out.push(json!({"op": "replace", "path": pointer, "value": new}));
        }
    }
    Ok(())
}

/// One patch with its target.
fn entry(out: &mut String, key: &Key, value: &Value, operations: &[Value]) {
    let api_version = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    // The names of a target are regular expressions (kustomize `api/types/selector.go`, NewSelectorRegex), anchored at both ends.
    let exactly = |text: &str| double_quoted(&text.replace('.', "\\."));
    let mut target = vec![
        format!("version: {}", double_quoted(ApiVersion::parse(api_version).version)),
        format!("kind: {}", double_quoted(&key.kind)),
        format!("name: {}", exactly(&key.name)),
    ];
    if !key.group.is_empty() {
        target.insert(0, format!("group: {}", double_quoted(&key.group)));
    }
    if let Some(namespace) = value.pointer("/metadata/namespace").and_then(Value::as_str) {
        target.push(format!("namespace: {}", exactly(namespace)));
    }
    out.extend(["    - target: {", &target.join(", "), "}\n      patch: |\n"]);
    operations.iter().for_each(|operation| out.extend(["        - ", &operation.to_string(), "\n"]));
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::object::Stream;

    fn objects(text: &str) -> Vec<Object> {
        Stream::load(&bytes::Bytes::copy_from_slice(text.as_bytes())).expect("a stream").objects.objects().to_vec()
    }

    fn said(before: &str, after: &str) -> String {
        match patches(&objects(before), &objects(after)) {
            Ok(patches) => patches.unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: edge.1, namespace: telco}\n\
                           spec: {controlPlaneEndpoint: {host: 55.55.55.55, port: 6443}}\n";

    #[test]
    fn each_text_is_tested_and_replaced() {
        let map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a/b: 'x 55.55.55.55', c: same}\n";
        let before = format!("{CLUSTER}{map}");
        assert_eq!(
            said(&before, &before.replace("55.55.55.55", "10.0.3.7")),
            r#"postRenderers:
- kustomize:
    patches:
    - target: {group: "cluster.x-k8s.io", version: "v1beta1", kind: "Cluster", name: "edge\\.1", namespace: "telco"}
      patch: |
        - {"op":"test","path":"/spec/controlPlaneEndpoint/host","value":"55.55.55.55"}
        - {"op":"replace","path":"/spec/controlPlaneEndpoint/host","value":"10.0.3.7"}
    - target: {version: "v1", kind: "ConfigMap", name: "c"}
      patch: |
        - {"op":"test","path":"/data/a~1b","value":"x 55.55.55.55"}
        - {"op":"replace","path":"/data/a~1b","value":"x 10.0.3.7"}
"#
        );
        assert_eq!(said(&before, &before), "");
    }

    #[test]
    fn what_no_patch_can_say_is_an_error_with_the_name() {
        let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: 55.55.55.55}\n";
        let key = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {55.55.55.55: x}\n";
        let named = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-55.55.55.55}\n";
        for (before, message) in [
            (secret.to_owned(), "Secret s: a patch stands in the HelmRelease"),
            (key.to_owned(), "ConfigMap c, data: a late value changes more than a text"),
            (named.to_owned(), "ConfigMap c-55.55.55.55: a late value stands in its name"),
            (format!("{CLUSTER}---\n{CLUSTER}"), "Cluster telco/edge.1 stands there twice"),
        ] {
            let said = said(&before, &before.replace("55.55.55.55", "10.0.3.7"));
            assert!(said.starts_with(message), "{said}");
        }
    }
}
