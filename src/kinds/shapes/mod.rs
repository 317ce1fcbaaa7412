//! Shapes: which fields a kind has in one provider version, of which type and within which limits.
//! `shapes.json` is made from the providers' CRDs by `tests/shapes.rs`; a kind without a shape is judged without one.

mod check;
mod fill;

pub use fill::POINTERS;

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, OnceLock};

use semver::Version;
use serde::Deserialize;

use crate::kinds::versions::{Versions, parse};
use crate::tree::Value;

/// One node of a shape; the short names are those of the file.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Node {
    /// Type: `o`bject, `a`rray, `s`tring, `i`nteger, `n`umber, `b`oolean, `x` number or text, `*` anything.
    #[serde(rename = "t")]
    kind: String,
    /// Fields.
    #[serde(rename = "p", default)]
    fields: BTreeMap<String, usize>,
    /// Value of every other key.
    #[serde(rename = "g")]
    others: Option<usize>,
    /// Items.
    #[serde(rename = "h")]
    items: Option<usize>,
    /// Fields that must be there.
    #[serde(rename = "q", default)]
    required: Vec<String>,
    /// Values that are allowed.
    #[serde(rename = "e")]
    one_of: Option<Vec<Value>>,
    /// Pattern of a text.
    #[serde(rename = "r")]
    pattern: Option<String>,
    /// Format of a text or number.
    #[serde(rename = "f")]
    format: Option<String>,
    /// Least and most.
    #[serde(rename = "v", default)]
    value: (Option<f64>, Option<f64>),
    /// Shortest and longest.
    #[serde(rename = "l", default)]
    length: (Option<u64>, Option<u64>),
    /// Fewest and most items.
    #[serde(rename = "c", default)]
    count: (Option<u64>, Option<u64>),
    /// Fewest and most keys.
    #[serde(rename = "m", default)]
    size: (Option<u64>, Option<u64>),
    /// Value where none is given.
    #[serde(rename = "d")]
    default: Option<Value>,
    /// Whether null may stay.
    #[serde(rename = "z", default)]
    nullable: bool,
    /// Whether fields that are not named may stay.
    #[serde(rename = "u", default)]
    open: bool,
    /// Keys that tell items apart.
    #[serde(rename = "k", default)]
    keys: Vec<String>,
    /// `map`, `set` or `atomic`.
    #[serde(rename = "y")]
    list: Option<String>,
    /// Validation rules.
    #[serde(rename = "w", default)]
    rules: Vec<Word>,
}

/// A validation rule in a word of our own.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Word {
    /// Items, or a field of theirs, are all different.
    Unique(String),
    /// The text is none of these.
    Not(Vec<String>),
    /// The text matches.
    Matches(String),
    /// At most one of these fields is there.
    NotBoth(Vec<String>),
    /// Exactly one of these fields is there.
    OneOf(Vec<String>),
    /// The field, or the value itself, never changes.
    Fixed(String),
    /// The field neither comes nor goes.
    Kept(String),
    /// The first field is not there beside this value of the second.
    Clash(String, String, String),
    /// A rule that is not read here, in the schema's words; it never refuses anything here.
    Unread(#[expect(dead_code, reason = "it stands there for the reader of the file.")] String),
}

/// The whole file: a node a line, then the roots.
struct Table {
    /// Each node is read when somebody comes to it: one kind needs few of them.
    nodes: Vec<(&'static str, OnceLock<Node>)>,
    /// A provider's version a line, with the nodes of its kinds.
    roots: &'static str,
}

/// What stands before the nodes, and between them and the roots.
const PARTS: (&str, &str) = ("{\"nodes\": [\n", "\n],\n\"roots\": ");

/// The file, cut once.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let text = include_str!("shapes.json").trim_end();
    let parts =
        text.strip_prefix(PARTS.0).and_then(|text| text.strip_suffix('}')).and_then(|text| text.split_once(PARTS.1));
    let (nodes, roots) = parts.expect(TESTED);
    Table {
        nodes: nodes.lines().map(|line| (line.strip_suffix(',').unwrap_or(line), OnceLock::new())).collect(),
        roots,
    }
});

/// What is said where the file cannot be read, which a test rules out.
const TESTED: &str = "a test reads the shapes that are built in";

/// The shape of `spec` of one kind in one version.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    root: &'static Node,
}

impl Shape {
    /// Whether two shapes are one.
    #[must_use]
    pub fn is(self, other: Self) -> bool {
        std::ptr::eq(self.root, other.root)
    }

    /// The shape of a kind under an `apiVersion`, in the newest recorded version that is of no later minor than the provider's;
    /// the oldest one where the provider is older than all.
    #[must_use]
    pub fn of(kind: &str, api_version: &str, versions: &Versions) -> Option<Self> {
        let second = if api_version.starts_with("vmware.") { "vmware." } else { "" };
        let word = format!("{second}{kind}/{}", api_version.rsplit('/').next()?);
        let mut best: Option<&Root> = None;
        for root in ROOTS.get(word.as_str())? {
            // They stand from the oldest to the newest. Fields come with minor versions, so any patch of the same one fits best.
            let wanted = versions.known_or_newest(root.provider);
            if best.is_none() || (root.version.major, root.version.minor) <= (wanted.major, wanted.minor) {
                best = Some(root);
            }
        }
        Some(Self { root: node(best?.node)? })
    }
}

/// The provider that has a kind under an `apiVersion`, and the oldest minor version in which it was recorded.
#[must_use]
pub fn oldest_with(kind: &str, api_version: &str) -> Option<(&'static str, (u64, u64))> {
    let root = ROOTS.get(format!("{kind}/{}", api_version.rsplit('/').next()?).as_str())?.first()?;
    Some((root.provider, (root.version.major, root.version.minor)))
}

/// Whether the kinds of a group have shapes; other groups use some of the same names for other kinds.
#[must_use]
pub fn has_shapes(group: &str) -> bool {
    let head = group.strip_suffix("cluster.x-k8s.io");
    matches!(
        head,
        Some(
            "" | "addons."
                | "bootstrap."
                | "controlplane."
                | "infrastructure."
                | "ipam."
                | "runtime."
                | "vmware.infrastructure."
        )
    )
}

/// A shape's place in the table.
struct Root {
    provider: &'static str,
    version: Version,
    node: usize,
}

/// The shapes of each kind and version of its API, from the oldest to the newest.
static ROOTS: LazyLock<HashMap<&'static str, Vec<Root>>> = LazyLock::new(|| {
    let mut out: HashMap<&'static str, Vec<Root>> = HashMap::new();
    for (provider, version, kind, node) in roots(TABLE.roots) {
        out.entry(kind).or_default().push(Root { provider, version, node });
    }
    out.values_mut().for_each(|roots| roots.sort_by(|left, right| left.version.cmp(&right.version)));
    out
});

/// Provider, version, kind and node of each root, from lines such as `"aws@2.10.3": {"AWSCluster/v1beta1":1557}`.
fn roots(text: &'static str) -> impl Iterator<Item = (&'static str, Version, &'static str, usize)> {
    text.lines().flat_map(|line| {
        // What stands in quotes is every second piece.
        let mut pieces = line.split('"').skip(1);
        let name = pieces.next().and_then(|name| name.split_once('@'));
        let head = name.and_then(|(provider, version)| Some((provider, parse(version)?)));
        pieces.next();
        std::iter::from_fn(move || {
            let (kind, node) = (pieces.next()?, pieces.next()?);
            let node = node.trim_matches(|sign: char| !sign.is_ascii_digit()).parse().expect(TESTED);
            let (provider, version) = head.as_ref()?;
            Some((*provider, version.clone(), kind, node))
        })
    })
}

/// A node by its place.
fn node(place: usize) -> Option<&'static Node> {
    let (text, node) = TABLE.nodes.get(place)?;
    Some(node.get_or_init(|| serde_json::from_str(text).expect(TESTED)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Path;

    use crate::tree::json;

    fn shape() -> Shape {
        let versions = Versions::told("cluster-api", "v1.14.2");
        Shape::of("KubeadmControlPlane", "controlplane.cluster.x-k8s.io/v1beta2", &versions).expect("a shape")
    }

    #[test]
    fn the_shapes_that_are_built_in_can_be_read() {
        assert!(TABLE.nodes.len() > 500);
        assert!((0..TABLE.nodes.len()).all(|place| node(place).is_some()));
        let read: BTreeMap<String, BTreeMap<String, usize>> = serde_json::from_str(TABLE.roots).expect("JSON");
        assert!(read.len() > 10);
        let read = read.into_iter().flat_map(|(name, kinds)| {
            let named = move |(kind, node)| (name.clone(), kind, node);
            kinds.into_iter().map(named)
        });
        let name = |provider: &str, version: Version| format!("{provider}@{version}");
        let mut cut: Vec<_> = roots(TABLE.roots)
            .map(|(provider, version, kind, node)| (name(provider, version), kind.to_owned(), node))
            .collect();
        let mut read: Vec<_> = read.collect();
        cut.sort();
        read.sort();
        assert_eq!(cut, read);
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        let mut spec =
            json!({"version": "v1.30.0", "nonsense": 1, "machineTemplate": {"metadata": {"labels": {"a": "b"}}}});
        let dropped = shape().prune(&mut spec, &Path::root().key("spec"));
        assert_eq!(dropped.iter().map(ToString::to_string).collect::<Vec<_>>(), ["spec.nonsense"]);
        assert_eq!(spec["machineTemplate"]["metadata"]["labels"]["a"], json!("b"));
    }

    #[test]
    fn limits_are_kept() {
        let spec = json!({"version": "", "kubeadmConfigSpec": {"files": []}});
        let found: Vec<String> =
            shape().faults(&spec, &Path::root().key("spec")).into_iter().map(|(path, _)| path.to_string()).collect();
        assert!(found.contains(&"spec.version".to_owned()), "{found:?}");
        assert!(found.contains(&"spec.kubeadmConfigSpec.files".to_owned()), "{found:?}");
        assert!(found.contains(&"spec.machineTemplate".to_owned()), "{found:?}");
    }
}
