//! The files of a chart, wherever they lie: in its folder or archive, and in the charts in it. And a copy of it with all of them unpacked.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

use crate::session::flux::artifact;

/// Folders inside of folders.
const DEEPEST: usize = 16;

/// A copy of a chart; it goes with this.
pub(super) struct Copied {
    pub(super) root: PathBuf,
    _folder: TempDir,
}

/// A copy of a chart in which each file is what `change` makes of it.
pub(super) fn copied(chart: &Path, change: impl Fn(&str, &[u8]) -> Vec<u8>) -> anyhow::Result<Copied> {
    let copy = tempfile::Builder::new().prefix("rollgate-chart-").tempdir()?;
    let mut root: Option<PathBuf> = None;
    files(chart, &mut |name, text| {
        let Some(place) = unpacked(name) else { return Ok(()) };
        if place.file_name().is_some_and(|file| file == "Chart.yaml") {
            let folder = place.parent().unwrap_or(Path::new("")).to_owned();
            let is_above = |root: &PathBuf| folder.components().count() < root.components().count();
            if root.as_ref().is_none_or(is_above) {
                root = Some(folder);
            }
        }
        let file = copy.path().join(place);
        std::fs::create_dir_all(file.parent().unwrap_or(copy.path()))?;
        Ok(std::fs::write(file, change(name, text))?)
    })?;
    let root = copy.path().join(root.context("it holds no Chart.yaml")?);
    Ok(Copied { root, _folder: copy })
}

/// Where a file of a chart stands once the archives in it are folders; none for an archive itself. A folder that ends like an archive
/// is taken for one by Helm (helm `pkg/chart/v2/loader/load.go`).
fn unpacked(name: &str) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        match part.strip_suffix(".tgz") {
            Some(_) if parts.peek().is_none() && out.ends_with("charts") => return None,
            Some(bare) if parts.peek().is_some() && out.ends_with("charts") => {
                // The folder inside of an archive is that of its chart.
                let _its_folder = parts.next();
                out.push(format!("{bare}-unpacked"));
            }
            _ => out.push(part),
        }
    }
    Some(out)
}

/// Each file of a chart, which is a folder or an archive, and of the charts in it.
pub(super) fn files(chart: &Path, with: &mut dyn FnMut(&str, &[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
    if chart.is_dir() {
        return folder(chart, "", 0, with);
    }
    let bytes = std::fs::read(chart).context("cannot read its chart")?;
    artifact::each(&bytes, "", 0, &mut |_, name, text| with(name, text))
}

fn folder(
    path: &Path,
    name: &str,
    depth: usize,
    with: &mut dyn FnMut(&str, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let unreadable = || format!("cannot read {name} of its chart");
    ensure!(depth < DEEPEST, "folders of its chart lie too deep in each other");
    let entries: Result<Vec<_>, _> = std::fs::read_dir(path).with_context(unreadable)?.collect();
    let mut entries: Vec<_> = entries.with_context(unreadable)?.into_iter().map(|entry| entry.file_name()).collect();
    entries.sort();
    let is_charts = name == "charts" || name.ends_with("/charts");
    for entry in entries {
        let below = entry.to_string_lossy();
        let below = if name.is_empty() { below.into_owned() } else { format!("{name}/{below}") };
        let path = path.join(&entry);
        if path.is_dir() {
            folder(&path, &below, depth + 1, with)?;
            continue;
        }
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {below} of its chart"))?;
        with(&below, &bytes)?;
        if is_charts && path.extension().is_some_and(|end| end == "tgz") {
            artifact::each(&bytes, &below, 0, &mut |_, name, text| with(name, text))?;
        }
    }
    Ok(())
}
