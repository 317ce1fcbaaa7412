//! What each pack says of itself, as a table of the program: which pack is about a kind, which says a word and since which versions its
//! rules hold is known without reading any of them.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// One pack, as far as the table holds it.
#[derive(Default)]
struct Pack {
    name: String,
    provider: String,
    kinds: Vec<(String, String)>,
    turns: Vec<(u64, u64)>,
    causes: Vec<String>,
    rules: Vec<String>,
}

/// Writes the table: the packs by name, and the causes by id with the place of their pack.
pub(crate) fn write(out: &Path) -> io::Result<()> {
    let mut packs = Vec::new();
    for file in files()? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        packs.push(read(name, &fs::read_to_string(&file)?)?);
        writeln!(io::stdout(), "cargo::rerun-if-changed={}", file.display())?;
    }
    writeln!(io::stdout(), "cargo::rerun-if-changed=src/providers")?;
    packs.sort_by(|one, other| one.name.cmp(&other.name));
    let mut text = String::from("static HEADS: &[Head] = &[\n");
    for Pack { name, provider, kinds, turns, causes, rules } in &packs {
        writeln!(
            text,
            "Head {{ name: {name:?}, provider: {provider:?}, kinds: &{kinds:?}, turns: &{turns:?}, causes: &{causes:?}, rules: &{rules:?} }},"
        )
        .map_err(io::Error::other)?;
    }
    let mut causes: Vec<(&str, usize)> = Vec::new();
    for (place, pack) in packs.iter().enumerate() {
        causes.extend(pack.causes.iter().map(|id| (id.as_str(), place)));
    }
    causes.sort_unstable();
    writeln!(text, "];\nstatic CAUSES: &[(&str, usize)] = &{causes:?};").map_err(io::Error::other)?;
    fs::write(out.join("packs.rs"), text)
}

/// The files of all providers.
fn files() -> io::Result<Vec<PathBuf>> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("src/providers");
    let mut found = Vec::new();
    for provider in fs::read_dir(root)? {
        let folder = provider?.path().join("packs");
        if folder.is_dir() {
            for file in fs::read_dir(folder)? {
                found.push(file?.path());
            }
        }
    }
    Ok(found)
}

/// Reads the lines that the table is made of. They are written one way in each pack, which a test of the program holds against what the
/// pack says when it is read whole.
fn read(name: String, text: &str) -> io::Result<Pack> {
    let mut pack = Pack { name, ..Pack::default() };
    let mut part = "";
    for line in text.lines() {
        let plain = |value: &str| value.trim().trim_matches('"').to_owned();
        if !line.starts_with([' ', '#']) && !line.is_empty() {
            part = line.split(':').next().unwrap_or_default();
            if let Some(provider) = line.strip_prefix("provider:") {
                pack.provider = plain(provider);
            }
            continue;
        }
        let id = line.strip_prefix("  - id:").map(plain);
        match part {
            "kinds" => {
                let kind =
                    line.strip_prefix("  - {group:").and_then(|line| line.strip_suffix('}')?.split_once(", kind:"));
                pack.kinds.extend(kind.map(|(group, kind)| (plain(group), plain(kind))));
            }
            "causes" => pack.causes.extend(id),
            "rules" => pack.rules.extend(id),
            _ => {}
        }
        // What ends with a version ends before the next one.
        for (key, more) in [("    since:", 0), ("    until:", 1)] {
            if let Some(version) = line.strip_prefix(key).map(plain) {
                let (major, minor) = version.split_once('.').ok_or_else(|| io::Error::other(version.clone()))?;
                let number = |text: &str| text.parse::<u64>().map_err(io::Error::other);
                pack.turns.push((number(major)?, number(minor)? + more));
            }
        }
    }
    pack.turns.sort_unstable();
    pack.turns.dedup();
    Ok(pack)
}
