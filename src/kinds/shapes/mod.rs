//! Shapes: which fields a kind has in one provider version, of which type and within which limits.
//! `shapes.json` is made from the providers' CRDs by `tests/shapes.rs`; a kind without a shape is judged without one.

mod check;
mod fill;

pub use fill::POINTERS;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::kinds::versions::Versions;
use crate::tree::Value;

/// One node of a shape; the short names are those of the file.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ShapeNode {
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
    /// What a number is a multiple of.
    #[serde(rename = "j")]
    multiple_of: Option<f64>,
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
    /// The first field is there exactly where the second has this value.
    Beside(String, String, String),
    /// The field, where it is there, holds this text.
    Holds(String, String),
    /// The items of the list in this field are all different.
    Apart(String),
    /// At least one of these fields is there and is no empty text or list.
    AnyOf(Vec<String>),
    /// The field is there and is one of these.
    One(String, Vec<String>),
    /// The first field is not there without the second.
    Needs(String, String),
    /// The field does not go once it is there.
    Stays(String),
    /// The field `port` is that of an address; where a field is named, nothing there beside no port is as well.
    Port(Vec<String>),
    /// The second field is no less than the first.
    Rising(String, String),
    /// The number lies in one of these ranges.
    Ranges(Vec<(f64, f64)>),
    /// A rule that is not read here, in the schema's words; it never refuses anything here.
    Unread(#[expect(dead_code, reason = "it stands there for the reader of the file.")] String),
}

// Where each node ends, and the roots: made while the program is built.
include!(concat!(env!("OUT_DIR"), "/shapes.rs"));

/// All nodes, one behind the other.
static NODES: &str = include_str!(concat!(env!("OUT_DIR"), "/shapes.nodes"));

/// Each node is read when somebody comes to it: one kind needs few of them.
static READ: [OnceLock<Box<ShapeNode>>; ENDS.len()] = [const { OnceLock::new() }; ENDS.len()];

/// What is said where the file cannot be read, which a test rules out.
const TESTED: &str = "a test reads the shapes that are built in";

/// The shape of `spec` of one kind in one version.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    root: &'static ShapeNode,
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
        let mut best: Option<&Root> = None;
        for root in roots(&word(kind, api_version))? {
            // They stand from the oldest to the newest. Fields come with minor versions, so any patch of the same one fits best.
            let wanted = versions.known_or_newest(root.provider);
            if best.is_none() || root.minor() <= (wanted.major, wanted.minor) {
                best = Some(root);
            }
        }
        Some(Self { root: node(best?.node)? })
    }
}

/// Groups with kinds of the same names as others, by how they begin, and the word under which the table has those.
const SECOND: [(&str, &str); 2] = [("vmware.", "vmware."), ("k0smotron.io/", "k0smotron.")];

/// The word under which the table has a kind.
fn word(kind: &str, api_version: &str) -> String {
    let second = SECOND.iter().find(|(start, _)| api_version.starts_with(start)).map_or("", |(_, word)| word);
    let version = api_version.rsplit('/').next().unwrap_or_default();
    format!("{second}{kind}/{version}")
}

/// The provider that has a kind under an `apiVersion`, and the oldest minor version in which it was recorded.
#[must_use]
pub fn oldest_with(kind: &str, api_version: &str) -> Option<(&'static str, (u64, u64))> {
    let root = roots(&word(kind, api_version))?.first()?;
    Some((root.provider, root.minor()))
}

/// Whether the kinds of a group have shapes; other groups use some of the same names for other kinds.
#[must_use]
pub fn has_shapes(group: &str) -> bool {
    // That of the hosts of Metal3.
    if group == "metal3.io" {
        return true;
    }
    let head = group.strip_suffix("cluster.x-k8s.io");
    group == "k0smotron.io"
        || matches!(
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
    version: (u64, u64, u64),
    node: usize,
}

impl Root {
    /// The minor version of the provider in which it was recorded.
    const fn minor(&self) -> (u64, u64) {
        (self.version.0, self.version.1)
    }
}

/// The shapes of a kind and version of its API, from the oldest to the newest.
fn roots(word: &str) -> Option<&'static [Root]> {
    let place = ROOTS.binary_search_by(|(kind, _)| (*kind).cmp(word)).ok()?;
    ROOTS.get(place).map(|(_, roots)| *roots)
}

/// A node by its place.
fn node(place: usize) -> Option<&'static ShapeNode> {
    let read = || {
        let end = |place: usize| ENDS.get(place).map_or(0, |end| *end as usize);
        let start = place.checked_sub(1).map_or(0, end);
        Box::new(serde_json::from_str(&NODES[start..end(place)]).expect(TESTED))
    };
    Some(&**READ.get(place)?.get_or_init(read))
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

    /// The file that the table is made from.
    #[derive(Deserialize)]
    struct File {
        nodes: Vec<serde_json::Value>,
        roots: BTreeMap<String, BTreeMap<String, usize>>,
    }

    #[test]
    fn the_shapes_that_are_built_in_are_those_of_the_file() {
        let file: File = serde_json::from_str(include_str!("shapes.json")).expect("JSON");
        assert!(file.nodes.len() > 500 && file.nodes.len() == ENDS.len() && file.roots.len() > 10);
        assert!((0..ENDS.len()).all(|place| node(place).is_some()));
        let written = |place: usize| {
            let start = place.checked_sub(1).map_or(0, |before| ENDS[before] as usize);
            serde_json::from_str::<serde_json::Value>(&NODES[start..ENDS[place] as usize]).expect("JSON")
        };
        assert!(file.nodes.iter().enumerate().all(|(place, node)| written(place) == *node));
        let mut of_file: Vec<_> = file
            .roots
            .iter()
            .flat_map(|(name, kinds)| kinds.iter().map(move |(kind, node)| (name.clone(), kind.as_str(), *node)))
            .collect();
        let mut of_table: Vec<_> = ROOTS
            .iter()
            .flat_map(|(kind, roots)| roots.iter().map(move |root| (root, *kind)))
            .map(|(Root { provider, version: (major, minor, patch), node }, kind)| {
                (format!("{provider}@{major}.{minor}.{patch}"), kind, *node)
            })
            .collect();
        of_file.sort();
        of_table.sort();
        assert_eq!(of_table, of_file);
        assert!(ROOTS.iter().all(|(_, roots)| roots.is_sorted_by_key(|root| root.version)));
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
