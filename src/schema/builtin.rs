//! The schema of a kind as its newest version says it, and which kinds live outside namespaces.

use std::sync::OnceLock;

use super::{SchemaNode, table};
use crate::object::Key;

/// Each schema is made when somebody asks for it.
static READ: [OnceLock<Option<SchemaNode>>; table::KINDS] = [const { OnceLock::new() }; table::KINDS];

/// The schema of the `spec` of a kind, in the newest version of its provider that was read; `None` where the table does not know it.
#[must_use]
pub fn builtin(api_version: &str, kind: &str) -> Option<&'static SchemaNode> {
    let read = || table::roots(api_version, kind)?.last().and_then(|root| table::node(root.node)).map(SchemaNode::from);
    READ.get(table::place(api_version, kind)?)?.get_or_init(read).as_ref()
}

/// Whether a kind has other fields under one `apiVersion` than under another, in the newest versions that have them.
#[must_use]
pub(crate) fn differ(one: &str, other: &str, kind: &str) -> bool {
    let newest = |api_version: &str| table::roots(api_version, kind)?.last().map(|root| root.node);
    newest(one).zip(newest(other)).is_some_and(|(one, other)| one != other)
}

/// Whether the table knows a kind as one that lives outside namespaces.
#[must_use]
pub(crate) fn is_cluster_wide(key: &Key) -> bool {
    table::is_wide(&key.group, &key.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Merge, SchemaShape};

    #[test]
    fn how_lists_merge_depends_on_the_version() {
        let args = |version: &str| {
            let spec =
                builtin(&format!("controlplane.cluster.x-k8s.io/{version}"), "KubeadmControlPlane").expect("known");
            ["kubeadmConfigSpec", "clusterConfiguration", "apiServer", "extraArgs"]
                .iter()
                .try_fold(spec, |node, key| node.field(key))
                .expect("a field")
                .shape
                .clone()
        };
        assert!(matches!(args("v1beta1"), SchemaShape::Map { .. }));
        assert!(matches!(args("v1beta2"), SchemaShape::List { merge: Merge::Keys(_), .. }), "{:?}", args("v1beta2"));
    }

    #[test]
    fn references_are_written_whole() {
        let spec = builtin("cluster.x-k8s.io/v1beta1", "MachineDeployment").expect("known");
        let reference = ["template", "spec", "infrastructureRef"].iter().try_fold(spec, |node, key| node.field(key));
        assert!(matches!(reference.map(|node| &node.shape), Some(SchemaShape::Fields { atomic: true, .. })));
    }

    #[test]
    fn kinds_outside_namespaces_are_known() {
        assert!(is_cluster_wide(&Key::new("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", None, "x")));
        assert!(!is_cluster_wide(&Key::new("cluster.x-k8s.io/v1beta2", "Cluster", None, "x")));
    }
}
