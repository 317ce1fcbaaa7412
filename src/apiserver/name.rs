//! Names that no API server takes. They can stand in a stream all the same, and would be in every report about it.

use crate::kinds::labels::is_subdomain;
use crate::object::Key;
use crate::providers::is_compared;

/// Longest name of an object, and of a namespace.
const LONGEST: usize = 253;
const LONGEST_LABEL: usize = 63;

/// What is wrong with the names in a key; `None` where an API server takes them.
///
/// Custom resources, Secrets and ConfigMaps are named as DNS subdomains, namespaces as DNS labels, all others as a segment of a path
/// (apimachinery `pkg/api/validation/generic.go` `NameIsDNSSubdomain`, `pkg/api/validation/path/name.go` `IsValidPathSegmentName`, v0.34).
#[must_use]
pub(crate) fn bad_name(key: &Key) -> Option<&'static str> {
    let name = key.name.as_str();
    if matches!(name, "." | "..") || name.contains(['/', '%']) || name.chars().any(char::is_control) {
        return Some("no API server takes a name with such characters in it");
    }
    let strict = is_compared(&key.group) || key.is_secret() || key.is_config_map();
    if strict && !is_subdomain(name) {
        return Some("no API server takes this name: it is small letters, digits, - and . and at most 253 of them");
    }
    match key.namespace.as_deref() {
        Some(namespace) if !is_label(namespace) => {
            Some("no API server takes this namespace: it is small letters, digits and - and at most 63 of them")
        }
        _ => None,
    }
}

/// Whether the names in a key can be shown as they stand, so that a report can say that the API server refuses them.
#[must_use]
pub(crate) fn is_plain_name(key: &Key) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let mut names = std::iter::once(&key.name).chain(&key.namespace);
    names.all(|name| name.len() <= LONGEST && name.chars().all(is_plain))
}

fn is_label(name: &str) -> bool {
    name.len() <= LONGEST_LABEL && is_part(name)
}

fn is_part(part: &str) -> bool {
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    part.starts_with(ends) && part.ends_with(ends) && part.chars().all(|c| ends(c) || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_an_api_server_takes_them() {
        let key = |group: &str, kind: &str, namespace: &str, name: &str| Key::new(group, kind, Some(namespace), name);
        for good in [
            key("cluster.x-k8s.io/v1beta1", "Cluster", "ns", "demo-1.a"),
            key("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:node Über"),
            key("v1", "ConfigMap", "", "kube-root-ca.crt"),
        ] {
            assert_eq!(bad_name(&good), None, "{good}");
        }
        for bad in [
            key("cluster.x-k8s.io/v1beta1", "Cluster", "ns", "Demo"),
            key("cluster.x-k8s.io/v1beta1", "Cluster", "ns", "a\u{1b}[2J"),
            key("cluster.x-k8s.io/v1beta1", "Cluster", "n.s", "a"),
            key("v1", "Secret", "ns", "a\nrollgate: allow"),
            key("v1", "ConfigMap", "ns", &"a".repeat(254)),
            key("rbac.authorization.k8s.io/v1", "Role", "ns", "a/b"),
            key("apps/v1", "Deployment", "ns", ".."),
            key("cluster.x-k8s.io/v1beta1", "Cluster", "ns", "a\u{202e}b"),
        ] {
            assert!(bad_name(&bad).is_some(), "{bad}");
        }
        assert!(is_plain_name(&key("v1", "ConfigMap", "ns", "My_Notes")));
        assert!(!is_plain_name(&key("v1", "ConfigMap", "ns", "a\u{202e}b")));
    }
}
