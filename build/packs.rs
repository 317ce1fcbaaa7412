//! Reads the packs while the program is built: what each says of itself stands in a table, so that which pack is about a kind, which says a
//! word and since which versions its rules hold is known without reading any of them; the pack itself becomes JSON, which is read fast.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

/// One pack, as far as the table holds it.
struct Pack {
    name: String,
    provider: String,
    kinds: Vec<(String, String)>,
    turns: Vec<(u64, u64, u64)>,
    causes: Vec<String>,
    rules: Vec<String>,
}

/// Writes each pack as JSON, and the table: the packs by name, and the causes by id with the place of their pack.
pub(crate) fn write(out: &Path) -> io::Result<()> {
    let mut packs = Vec::new();
    let folder = out.join("packs");
    fs::create_dir_all(&folder)?;
    for file in files()? {
        writeln!(io::stdout(), "cargo::rerun-if-changed={}", file.display())?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let wrong = |what: String| io::Error::other(format!("{}: {what}", file.display()));
        let pack: Value =
            serde_saphyr::from_str(&fs::read_to_string(&file)?).map_err(|error| wrong(error.to_string()))?;
        fs::write(folder.join(&name), pack.to_string())?;
        packs.push(Pack::read(name, &pack).map_err(wrong)?);
    }
    writeln!(io::stdout(), "cargo::rerun-if-changed=src/providers")?;
    packs.sort_by(|one, other| one.name.cmp(&other.name));
    let mut text = String::from("static HEADS: &[Head] = &[\n");
    for Pack { name, provider, kinds, turns, causes, rules } in &packs {
        writeln!(
            text,
            "Head {{ name: {name:?}, provider: {provider:?}, kinds: &{kinds:?}, turns: &{turns:?}, causes: &{causes:?}, rules: &{rules:?}, \
             text: include_str!(concat!(env!(\"OUT_DIR\"), \"/packs/{name}\")) }},"
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

impl Pack {
    /// What the table holds of a pack; the error names what is missing or of another form.
    fn read(name: String, pack: &Value) -> Result<Self, String> {
        let ids = |part: &str| items(pack, part).map(|item| text(item, "id")).collect::<Result<_, String>>();
        let mut turns = Vec::new();
        for rule in items(pack, "rules") {
            // What ends with a version ends before the next one.
            for (key, more) in [("since", 0), ("until", 1)] {
                if rule.get(key).is_some() {
                    turns.push(turn(&text(rule, key)?, more)?);
                }
            }
        }
        turns.sort_unstable();
        turns.dedup();
        let kinds = items(pack, "kinds").map(|kind| Ok((text(kind, "group")?, text(kind, "kind")?)));
        Ok(Self {
            name,
            provider: text(pack, "provider")?,
            kinds: kinds.collect::<Result<_, String>>()?,
            turns,
            causes: ids("causes")?,
            rules: ids("rules")?,
        })
    }
}

/// The items of a list; none where it is not there.
fn items<'p>(pack: &'p Value, part: &str) -> impl Iterator<Item = &'p Value> {
    pack.get(part).and_then(Value::as_array).into_iter().flatten()
}

/// The text at a key.
fn text(of: &Value, key: &str) -> Result<String, String> {
    of.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| format!("{key} of {of} is no text"))
}

/// A version such as `1.11` or `1.11.4`, or so many behind it: minors where it has no patch, else patches.
fn turn(version: &str, more: u64) -> Result<(u64, u64, u64), String> {
    let numbers: Result<Vec<u64>, _> = version.split('.').map(str::parse).collect();
    match numbers.as_deref() {
        Ok([major, minor]) => Ok((*major, minor + more, 0)),
        Ok([major, minor, patch]) => Ok((*major, *minor, patch + more)),
        _ => Err(format!("{version:?} is no version")),
    }
}
