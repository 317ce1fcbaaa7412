//! The built-in table: every kind of the providers in each version that their newest read release serves.

use std::io::Read as _;
use std::sync::{LazyLock, OnceLock};

use flate2::read::DeflateDecoder;
use serde::Deserialize;

use super::SchemaNode;
use crate::hashed::{HashMap, HashSet};
use crate::object::Key;

/// The lines of the table, each packed alone (`build.rs`).
const LINES_OF_TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas-of-kinds"));

/// What lies where in it.
const INDEX: &str = include_str!(concat!(env!("OUT_DIR"), "/schemas-of-kinds.index"));

/// Lines by `group/version/kind`; each is unpacked and read when it is asked for.
static LINES: LazyLock<HashMap<&'static str, Line>> = LazyLock::new(|| lines().map(|line| (line.id, line)).collect());

/// Groups and kinds that live outside namespaces.
static CLUSTER_WIDE: LazyLock<HashSet<(&'static str, &'static str)>> = LazyLock::new(|| {
    let group_and_kind = |line: Line| Some((line.id.split_once('/')?.0, line.id.rsplit_once('/')?.1));
    lines().filter(|line| line.cluster).filter_map(group_and_kind).collect()
});

/// One kind in one version.
struct Line {
    id: &'static str,
    cluster: bool,
    packed: &'static [u8],
    schema: OnceLock<Option<SchemaNode>>,
}

/// The schema part of a line.
#[derive(Deserialize)]
struct Body {
    spec: SchemaNode,
}

/// The schema of the `spec` of a kind; `None` where the table does not know it.
#[must_use]
pub fn builtin(api_version: &str, kind: &str) -> Option<&'static SchemaNode> {
    let line = LINES.get(format!("{api_version}/{kind}").as_str())?;
    let read = || {
        let mut text = String::new();
        DeflateDecoder::new(line.packed).read_to_string(&mut text).ok()?;
        serde_json::from_str::<Body>(&text).ok().map(|body| body.spec)
    };
    line.schema.get_or_init(read).as_ref()
}

/// Whether the table knows a kind as one that lives outside namespaces.
#[must_use]
pub fn is_cluster_wide(key: &Key) -> bool {
    CLUSTER_WIDE.contains(&(key.group.as_str(), key.kind.as_str()))
}

/// The lines of the table, still packed.
fn lines() -> impl Iterator<Item = Line> {
    let mut from = 0;
    INDEX.lines().filter_map(move |line| {
        let mut words = line.split(' ');
        let (id, cluster, end) = (words.next()?, words.next()? == "true", words.next()?.parse().ok()?);
        let packed = LINES_OF_TABLE.get(std::mem::replace(&mut from, end)..end)?;
        Some(Line { id, cluster, packed, schema: OnceLock::new() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Merge, SchemaShape};

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
