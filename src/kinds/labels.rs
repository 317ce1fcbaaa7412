//! Labels, annotations and selectors as Kubernetes reads them.
//! Read beside `k8s.io/apimachinery` `pkg/apis/meta/v1/{helpers,validation}`, v0.33.

use crate::kinds::webhook::Refusal;
use crate::model::RuleId;
use crate::object::Path;

use crate::tree::Value;

/// Whether a selector selects a thing with these labels; `None` where it is not a selector.
#[must_use]
pub(crate) fn selects<'v>(selector: &Value, label: impl Fn(&str) -> Option<&'v str>) -> Option<bool> {
    let mut all = true;
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str()?;
        if !is_key(key) || !is_value(value) {
            return None;
        }
        all &= label(key) == Some(value);
    }
    for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let key = expression.get("key").and_then(Value::as_str).filter(|key| is_key(key))?;
        let values: Vec<&str> = expression
            .get("values")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        if !values.iter().all(|value| is_value(value)) {
            return None;
        }
        let have = label(key);
        all &= match (expression.get("operator").and_then(Value::as_str)?, values.is_empty()) {
            ("In", false) => have.is_some_and(|have| values.contains(&have)),
            ("NotIn", false) => have.is_none_or(|have| !values.contains(&have)),
            ("Exists", true) => have.is_some(),
            ("DoesNotExist", true) => have.is_none(),
            _ => return None,
        };
    }
    Some(all)
}

/// What is refused about labels and annotations.
pub(crate) fn refusals(metadata: Option<&Value>, at: &Path, out: &mut Vec<Refusal>) {
    let map = |key: &str| metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_object);
    let mut refuse = |path: Path, message: &str| {
        out.push(Refusal {
            rule: RuleId::of("core/rejected"),
            path,
            message: format!("the webhook refuses it: {message}"),
        });
    };
    for (key, value) in map("labels").into_iter().flatten() {
        if !is_key(key) || value.as_str().is_none_or(|value| !is_value(value)) {
            refuse(at.key("labels").key(key.as_str()), "it is not a valid label");
        }
    }
    for (key, _) in map("annotations").into_iter().flatten() {
        if !is_key(&key.to_ascii_lowercase()) {
            refuse(at.key("annotations").key(key.as_str()), "it is not a valid name of an annotation");
        }
    }
}

/// Whether a text is a qualified name.
pub(crate) fn is_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let label = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    !name.is_empty()
        && is_value(name)
        && prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(label))
}

/// Whether a text is a label value.
pub(crate) fn is_value(value: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_none_or(|byte| byte.is_ascii_alphanumeric());
    value.len() <= 63
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && ends(value.bytes().next())
        && ends(value.bytes().last())
}

/// Whether a text is a name of an object (`IsDNS1123Subdomain`).
pub(crate) fn is_subdomain(name: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_part = |part: &str| {
        ends(part.bytes().next())
            && ends(part.bytes().last())
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::tree::json;

    #[test]
    fn selectors_select() {
        let label = |key: &str| (key == "a").then_some("1");
        assert_eq!(selects(&json!({"matchLabels": {"a": "1"}}), label), Some(true));
        assert_eq!(selects(&json!({"matchLabels": {"a": "2"}}), label), Some(false));
        assert_eq!(selects(&json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]}), label), Some(true));
        assert_eq!(selects(&json!({"matchExpressions": [{"key": "a", "operator": "In"}]}), label), None);
        assert_eq!(selects(&json!({"matchLabels": {"a": "not valid!"}}), label), None);
    }
}
