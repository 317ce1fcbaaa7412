//! Packs the JSON Schemas that are only ever printed, so that they take little of the program, and the table of schemas so that each kind
//! of it can be unpacked alone. What the program looks things up by in packs and shapes is made here too, so that it need not be at run time.

#![expect(clippy::use_debug, reason = "what Debug prints of texts, numbers and lists is how Rust writes them")]

#[path = "build/packs.rs"]
mod packs;
#[path = "build/shapes.rs"]
mod shapes;

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::DeflateEncoder;

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo names no OUT_DIR"))?);
    for name in ["report-list", "score", "why", "world"] {
        let schema = format!("schemas/{name}.json");
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&fs::read(&schema)?)?;
        fs::write(out.join(name), packed.finish()?)?;
        writeln!(io::stdout(), "cargo::rerun-if-changed={schema}")?;
    }
    packs::write(&out)?;
    shapes::write(&out)?;
    fs::write(out.join("schemas-of-kinds.index"), schemas_of_kinds(&out.join("schemas-of-kinds"))?)?;
    writeln!(io::stdout(), "cargo::rerun-if-changed={TABLE}")
}

/// The generated table, one kind and version a line.
const TABLE: &str = "src/schema/builtin.jsonl.gz";

/// Packs each line of the table alone, one behind the other, and gives an index: group, version and kind, whether the kind lives outside
/// namespaces, and where the line ends.
fn schemas_of_kinds(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(TABLE)?).read_to_string(&mut text)?;
    let (mut packed, mut index) = (Vec::new(), String::new());
    for line in text.lines() {
        let head: serde_json::Value = serde_json::from_str(line)?;
        let mut one = DeflateEncoder::new(packed, Compression::best());
        one.write_all(line.as_bytes())?;
        packed = one.finish()?;
        let word = |key: &str| head[key].as_str().unwrap_or_default();
        let is_wide = head["cluster"] == true;
        let (group, version, kind, end) = (word("group"), word("version"), word("kind"), packed.len());
        writeln!(index, "{group}/{version}/{kind} {is_wide} {end}").map_err(io::Error::other)?;
    }
    fs::write(file, packed)?;
    Ok(index)
}
