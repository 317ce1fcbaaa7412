//! What the webhook of ExtensionConfig refuses: an address that is none, or two of them.
//! Read beside `core/webhooks/admission/extensionconfig.go` (validate, validateExtensionConfigSpec) of Cluster API 1.14.

use super::webhook::RULE;
use crate::kinds::fields::text;
use crate::kinds::labels;
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// What is refused of an extension, new or changed.
pub(super) fn refusals(name: &str, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    if !is_label(name) {
        refuse(
            out,
            RULE,
            &Path::root().key("metadata"),
            "name",
            "it is small letters, digits and -, at most 63 of them",
        );
    }
    let at = spec.key("clientConfig");
    let url = text(new, "/spec/clientConfig/url");
    let service = new.pointer("/spec/clientConfig/service").filter(|service| says(service));
    match (url, service) {
        (None, None) => refuse(out, RULE, spec, "clientConfig", "it names neither url nor service"),
        (Some(_), Some(_)) => {
            for key in ["url", "service"] {
                refuse(out, RULE, &at, key, "url and service exclude each other");
            }
        }
        _ => {}
    }
    if url.is_some_and(|url| !url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"))) {
        refuse(out, RULE, &at, "url", "it is no address of https");
    }
    if let Some(service) = service {
        let name = text(service, "/name").unwrap_or_default();
        if !is_label(name) || name.starts_with(|sign: char| sign.is_ascii_digit()) {
            refuse(out, RULE, &at, "service.name", "it is no name of a Service");
        }
        if !is_label(text(service, "/namespace").unwrap_or_default()) {
            refuse(out, RULE, &at, "service.namespace", "it is no name of a namespace");
        }
        if text(service, "/path").is_some_and(|path| !path.starts_with('/')) {
            refuse(out, RULE, &at, "service.path", "a path begins with /");
        }
        if service.get("port").and_then(Value::as_i64).is_some_and(|port| !(1..=65535).contains(&port)) {
            refuse(out, RULE, &at, "service.port", "a port lies between 1 and 65535");
        }
    }
    if new.pointer("/spec/namespaceSelector").is_some_and(|selector| labels::selects(selector, |_| None).is_none()) {
        refuse(out, RULE, spec, "namespaceSelector", "the selector is not one");
    }
}

/// Whether a service says anything; the webhook fills in a port only where it does.
fn says(service: &Value) -> bool {
    service.as_object().is_some_and(|map| map.values().any(|value| !value.is_null() && *value != ""))
}

/// Whether a text is a label of DNS.
fn is_label(name: &str) -> bool {
    labels::is_subdomain(name) && name.len() <= 63 && !name.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(config: Value) -> Vec<String> {
        let mut out = Vec::new();
        refusals("ext", &json!({"spec": {"clientConfig": config}}), &Path::root().key("spec"), &mut out);
        let below = |refusal: Refusal| refusal.path.to_string().trim_start_matches("spec.clientConfig.").to_owned();
        out.into_iter().map(below).collect()
    }

    #[test]
    fn an_extension_has_one_address() {
        let service = json!({"name": "ext", "namespace": "capi", "path": "/v1", "port": 443});
        assert_eq!(refused(json!({"url": "https://ext.example.com"})), [""; 0]);
        assert_eq!(refused(json!({"service": service})), [""; 0]);
        assert_eq!(refused(json!({"url": "https://ext.example.com", "service": service})), ["url", "service"]);
        assert_eq!(refused(json!({})), ["spec.clientConfig"]);
    }

    #[test]
    fn an_address_is_one() {
        assert_eq!(refused(json!({"url": "http://ext.example.com"})), ["url"]);
        let service = |name: &str, path: &str, port: i64| {
            refused(json!({"service": {"name": name, "namespace": "capi", "path": path, "port": port}}))
        };
        assert_eq!(service("1ext", "v1", 0), ["service.name", "service.path", "service.port"]);
    }
}
