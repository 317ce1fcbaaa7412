//! Packs the JSON Schemas that are only ever printed, so that they take little of the program. What the program looks things up by in packs
//! and in the schemas of kinds is made here too, so that it need not be at run time.

#![expect(clippy::use_debug, reason = "what Debug prints of texts, numbers and lists is how Rust writes them")]

#[path = "build/packs.rs"]
mod packs;
#[path = "build/schemas.rs"]
mod schemas;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::{env, fs};

use flate2::Compression;
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
    schemas::write(&out)
}
