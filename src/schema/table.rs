//! The table of schemas: what the CRD of each kind says in each version of its provider that was read. `crds.json` is made from the
//! providers' CRDs by `tests/schemas` and never edited; everything that is known of fields is read from it.

use std::cmp::Ordering;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;

use super::fields::Fields;
use crate::hashed::HashSet;
use crate::tree::Value;

/// One place of the schema of a CRD; the short names are those of the file.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CrdNode {
    /// Type: `o`bject, `a`rray, `s`tring, `i`nteger, `n`umber, `b`oolean, `x` number or text, `*` anything.
    #[serde(rename = "t")]
    pub(crate) kind: &'static str,
    /// Fields.
    #[serde(rename = "p", default)]
    pub(crate) fields: Fields,
    /// Value of every other key.
    #[serde(rename = "g")]
    pub(crate) others: Option<usize>,
    /// Items.
    #[serde(rename = "h")]
    pub(crate) items: Option<usize>,
    /// Fields that must be there.
    #[serde(rename = "q", default)]
    pub(crate) required: Vec<&'static str>,
    /// Values that are allowed.
    #[serde(rename = "e")]
    pub(crate) one_of: Option<Vec<Value>>,
    /// Pattern of a text.
    #[serde(rename = "r")]
    pub(crate) pattern: Option<String>,
    /// Format of a text or number.
    #[serde(rename = "f")]
    pub(crate) format: Option<&'static str>,
    /// Least and most.
    #[serde(rename = "v", default)]
    pub(crate) value: (Option<f64>, Option<f64>),
    /// Shortest and longest.
    #[serde(rename = "l", default)]
    pub(crate) length: (Option<u64>, Option<u64>),
    /// Fewest and most items.
    #[serde(rename = "c", default)]
    pub(crate) count: (Option<u64>, Option<u64>),
    /// Fewest and most keys.
    #[serde(rename = "m", default)]
    pub(crate) size: (Option<u64>, Option<u64>),
    /// What a number is a multiple of.
    #[serde(rename = "j")]
    pub(crate) multiple_of: Option<f64>,
    /// Value where none is given.
    #[serde(rename = "d")]
    pub(crate) default: Option<Value>,
    /// Whether null may stay.
    #[serde(rename = "z", default)]
    pub(crate) nullable: bool,
    /// Whether fields that are not named may stay.
    #[serde(rename = "u", default)]
    pub(crate) open: bool,
    /// Whether a map is written as a whole.
    #[serde(rename = "a", default)]
    pub(crate) atomic: bool,
    /// Keys that tell items apart.
    #[serde(rename = "k", default)]
    pub(crate) keys: Vec<String>,
    /// `map`, `set` or `atomic`.
    #[serde(rename = "y")]
    pub(crate) list: Option<&'static str>,
    /// Validation rules.
    #[serde(rename = "w", default)]
    pub(crate) rules: Vec<Word>,
}

/// A validation rule in a word of our own.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Word {
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

// Where each node ends, the roots, and the kinds outside namespaces: made while the program is built.
include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

/// All nodes, one behind the other.
static NODES: &str = include_str!(concat!(env!("OUT_DIR"), "/schemas.nodes"));

/// Each node is read when somebody comes to it: one kind needs few of them.
static READ: [OnceLock<Box<CrdNode>>; ENDS.len()] = [const { OnceLock::new() }; ENDS.len()];

/// What is said where the file cannot be read, which a test rules out.
const TESTED: &str = "a test reads the schemas that are built in";

/// Where the schema of a kind begins, and in which version of its provider it was read.
pub(crate) struct Root {
    pub(crate) provider: &'static str,
    pub(crate) version: (u64, u64, u64),
    pub(crate) node: usize,
}

impl Root {
    /// The minor version of the provider in which it was recorded.
    pub(crate) const fn minor(&self) -> (u64, u64) {
        (self.version.0, self.version.1)
    }
}

/// The place of a kind under an `apiVersion` among all that the table has.
pub(super) fn place(api_version: &str, kind: &str) -> Option<usize> {
    ROOTS.binary_search_by(|(id, _)| compared(id, [api_version, "/", kind])).ok()
}

/// The schemas of a kind under an `apiVersion`, from the oldest to the newest.
pub(crate) fn roots(api_version: &str, kind: &str) -> Option<&'static [Root]> {
    ROOTS.get(place(api_version, kind)?).map(|(_, roots)| *roots)
}

/// All kinds of the table, each as `apiVersion/Kind`.
pub(crate) fn kinds() -> impl Iterator<Item = &'static str> {
    ROOTS.iter().map(|(id, _)| *id)
}

/// Whether the table has a kind of a group, in whichever version.
pub(crate) fn has(group: &str, kind: &str) -> bool {
    kinds().any(|id| {
        let rest = id.strip_prefix(group).and_then(|rest| rest.strip_prefix('/'));
        rest.and_then(|rest| rest.split_once('/')).is_some_and(|(_, own)| own == kind)
    })
}

/// Whether the table knows a kind as one that lives outside namespaces.
pub(super) fn is_wide(group: &str, kind: &str) -> bool {
    // Most kinds are not known by any group.
    static KINDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| WIDE.iter().filter_map(|id| id.rsplit('/').next()).collect());
    KINDS.contains(kind) && WIDE.binary_search_by(|id| compared(id, [group, "/", kind])).is_ok()
}

/// How an id stands to one that is given in parts.
fn compared(id: &str, parts: [&str; 3]) -> Ordering {
    let mut rest = id.as_bytes();
    for part in parts.map(str::as_bytes) {
        let common = rest.len().min(part.len());
        let (own, after) = rest.split_at(common);
        match own.cmp(&part[..common]) {
            Ordering::Equal if common < part.len() => return Ordering::Less,
            Ordering::Equal => rest = after,
            differs => return differs,
        }
    }
    if rest.is_empty() { Ordering::Equal } else { Ordering::Greater }
}

/// A node by its place.
pub(crate) fn node(place: usize) -> Option<&'static CrdNode> {
    let read = || {
        let end = |place: usize| ENDS.get(place).map_or(0, |end| *end as usize);
        let start = place.checked_sub(1).map_or(0, end);
        Box::new(serde_json::from_str(&NODES[start..end(place)]).expect(TESTED))
    };
    Some(&**READ.get(place)?.get_or_init(read))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The file that the table is made from.
    #[derive(Deserialize)]
    struct File {
        nodes: Vec<serde_json::Value>,
        roots: BTreeMap<String, BTreeMap<String, usize>>,
        wide: Vec<String>,
    }

    #[test]
    fn the_schemas_that_are_built_in_are_those_of_the_file() {
        let file: File = serde_json::from_str(include_str!("crds.json")).expect("JSON");
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
        assert!(WIDE.len() > 5 && WIDE.is_sorted() && ROOTS.is_sorted_by_key(|(id, _)| id));
        assert_eq!(WIDE, file.wide);
        assert!(ROOTS.iter().all(|(_, roots)| roots.is_sorted_by_key(|root| root.version)));
    }
}
