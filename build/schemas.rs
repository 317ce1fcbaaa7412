//! Cuts the table of schemas while the program is built: where each node of it ends, and which node each kind begins with.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// The generated table: a node a line, then the roots, then the kinds outside namespaces.
const TABLE: &str = "src/schema/crds.json";

/// What stands before the nodes, before the roots, and before the kinds outside namespaces.
const PARTS: (&str, &str, &str) = ("{\"nodes\": [\n", "\n],\n\"roots\": ", ",\n\"wide\": ");

/// What a kind begins with: the provider, its version and the node.
type Root = (String, (u64, u64, u64), usize);

/// Writes the nodes one behind the other, and as tables of the program where each ends, the roots of each kind and version of its
/// API, from the oldest version of the provider to the newest, and the kinds outside namespaces.
pub(crate) fn write(out: &Path) -> io::Result<()> {
    writeln!(io::stdout(), "cargo::rerun-if-changed={TABLE}")?;
    let broken = || io::Error::other(format!("{TABLE} is not as it is made"));
    let text = fs::read_to_string(TABLE)?;
    let inner = text.trim_end().strip_prefix(PARTS.0).and_then(|text| text.strip_suffix('}'));
    let (nodes, rest) = inner.and_then(|text| text.split_once(PARTS.1)).ok_or_else(broken)?;
    let (roots, wide) = rest.split_once(PARTS.2).ok_or_else(broken)?;
    let (mut packed, mut ends) = (String::new(), Vec::new());
    for node in nodes.lines() {
        packed.push_str(node.strip_suffix(',').unwrap_or(node));
        ends.push(packed.len());
    }
    fs::write(out.join("schemas.nodes"), packed)?;
    let read: BTreeMap<String, BTreeMap<String, usize>> = serde_json::from_str(roots)?;
    let mut kinds: BTreeMap<String, Vec<Root>> = BTreeMap::new();
    for (name, of_version) in read {
        let (provider, version) = name.split_once('@').ok_or_else(broken)?;
        let mut numbers = version.split('.').map(str::parse::<u64>);
        let mut number = || numbers.next().unwrap_or(Ok(0)).map_err(io::Error::other);
        let version = (number()?, number()?, number()?);
        for (kind, node) in of_version {
            kinds.entry(kind).or_default().push((provider.to_owned(), version, node));
        }
    }
    let mut text = format!("static ENDS: [u32; {}] = {ends:?};\n", ends.len());
    let count = kinds.len();
    writeln!(text, "pub(super) const KINDS: usize = {count};\nstatic ROOTS: [(&str, &[Root]); KINDS] = [")
        .map_err(io::Error::other)?;
    for (kind, mut roots) in kinds {
        // Those of one version stay in the order of the names of their providers.
        roots.sort_by_key(|(_, version, _)| *version);
        write!(text, "({kind:?}, &[").map_err(io::Error::other)?;
        for (provider, version, node) in roots {
            write!(text, "Root {{ provider: {provider:?}, version: {version:?}, node: {node} }}, ")
                .map_err(io::Error::other)?;
        }
        text.push_str("]),\n");
    }
    let mut wide: Vec<String> = serde_json::from_str(wide)?;
    wide.sort();
    writeln!(text, "];\nstatic WIDE: &[&str] = &{wide:?};").map_err(io::Error::other)?;
    fs::write(out.join("schemas.rs"), text)
}
