//! The built-in table: every kind of the providers in each version that their newest read release serves.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;

use super::Node;
use crate::object::Key;

/// The generated table, one kind and version a line.
const TABLE: &[u8] = include_bytes!("builtin.jsonl.gz");

/// Lines by `group/version/kind`; each is read when it is asked for.
static LINES: LazyLock<HashMap<String, Line>> = LazyLock::new(unpack);

/// Groups and kinds that live outside namespaces.
static CLUSTER_WIDE: LazyLock<HashSet<(String, String)>> = LazyLock::new(|| {
    LINES.values().filter(|line| line.cluster).map(|line| (line.group.clone(), line.kind.clone())).collect()
});

/// One kind in one version.
struct Line {
    group: String,
    kind: String,
    text: String,
    cluster: bool,
    schema: OnceLock<Option<Node>>,
}

/// What a line says about itself.
#[derive(Deserialize)]
struct Head {
    group: String,
    version: String,
    kind: String,
    #[serde(default)]
    cluster: bool,
}

/// The schema part of a line.
#[derive(Deserialize)]
struct Body {
    spec: Node,
}

/// The schema of the `spec` of a kind; `None` where the table does not know it.
#[must_use]
pub fn builtin(api_version: &str, kind: &str) -> Option<&'static Node> {
    let line = LINES.get(&format!("{api_version}/{kind}"))?;
    line.schema.get_or_init(|| serde_json::from_str::<Body>(&line.text).ok().map(|body| body.spec)).as_ref()
}

/// Whether the table knows a kind as one that lives outside namespaces.
#[must_use]
pub fn is_cluster_wide(key: &Key) -> bool {
    CLUSTER_WIDE.contains(&(key.group.clone(), key.kind.clone()))
}

/// Unpacks the table.
fn unpack() -> HashMap<String, Line> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(TABLE).read_to_string(&mut text).expect("the table in the program is gzip of UTF-8");
    text.lines()
        .filter_map(|text| {
            let head: Head = serde_json::from_str(text).ok()?;
            let id = format!("{}/{}/{}", head.group, head.version, head.kind);
            Some((
                id,
                Line {
                    group: head.group,
                    kind: head.kind,
                    text: text.to_owned(),
                    cluster: head.cluster,
                    schema: OnceLock::new(),
                },
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Merge, Shape};

    #[test]
    fn every_line_of_the_table_is_read() {
        assert!(LINES.len() > 80);
        for id in LINES.keys() {
            let (api_version, kind) = id.rsplit_once('/').expect("an id");
            assert!(builtin(api_version, kind).is_some(), "{id}");
        }
    }

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
        assert!(matches!(args("v1beta1"), Shape::Map { .. }));
        assert!(matches!(args("v1beta2"), Shape::List { merge: Merge::Keys(_), .. }), "{:?}", args("v1beta2"));
    }

    #[test]
    fn references_are_written_whole() {
        let spec = builtin("cluster.x-k8s.io/v1beta1", "MachineDeployment").expect("known");
        let reference = ["template", "spec", "infrastructureRef"].iter().try_fold(spec, |node, key| node.field(key));
        assert!(matches!(reference.map(|node| &node.shape), Some(Shape::Fields { atomic: true, .. })));
    }

    #[test]
    fn kinds_outside_namespaces_are_known() {
        assert!(is_cluster_wide(&Key::new("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", None, "x")));
        assert!(!is_cluster_wide(&Key::new("cluster.x-k8s.io/v1beta2", "Cluster", None, "x")));
    }
}
