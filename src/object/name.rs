//! Names that no API server takes whatever the kind, and that would stand in every report about them. What only some kinds refuse
//! is judged like any other refusal.

use super::Key;
use super::key::is_compared;

/// What is wrong with the names in a key; `None` where some API server takes them.
///
/// A name is a segment of a path (apimachinery `pkg/api/validation/path/name.go` `IsValidPathSegmentName`, v0.34), a namespace is a DNS label,
/// and so in ASCII; custom resources, Secrets and ConfigMaps are named in ASCII too (`pkg/api/validation/generic.go` `NameIsDNSSubdomain`).
#[must_use]
pub fn bad_name(key: &Key) -> Option<&'static str> {
    let name = key.name.as_str();
    let in_ascii =
        is_compared(&key.group) || key.group.is_empty() && matches!(key.kind.as_str(), "Secret" | "ConfigMap");
    let bad = matches!(name, "." | "..")
        || name.contains(['/', '%'])
        || name.chars().any(char::is_control)
        || in_ascii && !is_graphic(name)
        || key.namespace.as_deref().is_some_and(|namespace| !is_graphic(namespace) || namespace.contains(['/', '%']));
    bad.then_some("no API server takes a name or a namespace with such characters in it")
}

fn is_graphic(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_nothing_takes_are_refused() {
        let key = |group: &str, kind: &str, namespace: &str, name: &str| Key::new(group, kind, Some(namespace), name);
        for good in [
            key("cluster.x-k8s.io/v1beta1", "Cluster", "ns", "demo-1.a"),
            key("cluster.x-k8s.io/v1beta1", "Cluster", "ns", "Refused_By_The_Server"),
            key("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:node Über"),
            key("v1", "ConfigMap", "", "kube-root-ca.crt"),
        ] {
            assert_eq!(bad_name(&good), None, "{good}");
        }
        for bad in [
            key("cluster.x-k8s.io/v1beta1", "Cluster", "ns", "a\u{1b}[2J"),
            key("cluster.x-k8s.io/v1beta1", "Cluster", "n\u{202e}s", "a"),
            key("v1", "Secret", "ns", "a\nrollgate: allow"),
            key("rbac.authorization.k8s.io/v1", "Role", "ns", "a/b"),
            key("apps/v1", "Deployment", "ns", ".."),
            key("cluster.x-k8s.io/v1beta1", "Cluster", "ns", "a\u{202e}b"),
        ] {
            assert!(bad_name(&bad).is_some(), "{bad}");
        }
    }
}
