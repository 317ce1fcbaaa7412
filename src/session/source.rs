//! What a plan is asked about: rendered streams, folders of them, kustomizations and charts (`chart.rs`), each rendered by its own tool in the
//! tree that it stands in. A render that fails or gives nothing is an error that carries what the tool said.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use tokio::process::Command;

use super::Observer;
use super::chart::Chart;
use super::input::{self, Input};
use super::process::{self, Ended};
use super::tool::{printed, ran, shown};
use crate::object::Files;
use crate::world::files;

/// What is said where there is no Helm.
pub(crate) const NO_HELM: &str = "install Helm, or pass --helm PROGRAM";

/// What is rendered, with everything that decides what comes out.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Streams, folders and kustomizations.
    Paths {
        /// Where they are; `-` or nothing for standard input.
        paths: Vec<PathBuf>,
        /// What renders kustomizations, where that is said.
        kustomize: Option<PathBuf>,
    },
    /// A chart.
    Chart(Chart),
    /// A command of the user, run by a shell.
    Command(String),
    /// What is rendered already.
    Given {
        /// How it is called.
        name: String,
        /// The stream.
        bytes: Bytes,
    },
}

/// The tree that something is rendered in.
#[derive(Clone, Copy)]
pub(crate) struct Tree<'t> {
    /// Where relative paths start.
    pub folder: &'t Path,
    /// How an absolute path is found in it.
    pub place: &'t (dyn Fn(&Path) -> PathBuf + Sync),
    /// How a path in it is called in reports.
    pub shown: &'t (dyn Fn(&Path) -> String + Sync),
    /// The worktree that it is, where a request wrote what is in it: no link of it may lead out.
    pub root: Option<&'t Path>,
    /// Whether nothing may come out: a base may lack what is new.
    pub may_be_empty: bool,
}

impl std::fmt::Debug for Tree<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Tree<'static> {
    /// The folder that the program runs in.
    #[must_use]
    pub(crate) fn here() -> Self {
        Self {
            folder: Path::new("."),
            place: &|path| path.to_owned(),
            shown: &|path| path.display().to_string(),
            root: None,
            may_be_empty: false,
        }
    }
}

impl Tree<'_> {
    /// Refuses what a link or `..` leads to outside of the worktree: whoever wrote it could read this machine with our rights.
    pub(crate) fn keeps(self, there: &Path, path: &Path) -> anyhow::Result<()> {
        if self.root.is_some_and(|root| there.starts_with(root)) { self.holds(there, path) } else { Ok(()) }
    }

    /// Refuses what is not in the worktree, wherever it was said to be.
    pub(crate) fn holds(self, there: &Path, path: &Path) -> anyhow::Result<()> {
        let Some(root) = self.root else { return Ok(()) };
        // What is not there is the reader's to complain about.
        let (Ok(there), Ok(root)) = (std::fs::canonicalize(there), std::fs::canonicalize(root)) else { return Ok(()) };
        if !there.starts_with(root) {
            bail!("{} leads out of the repository, so it is not what was reviewed", path.display());
        }
        Ok(())
    }

    /// Where a path stands in this tree.
    #[must_use]
    pub(crate) fn there(self, path: &Path) -> PathBuf {
        if path.is_absolute() { (self.place)(path) } else { self.folder.join(path) }
    }
}

impl Source {
    /// Reads or renders it; `first` says that a chart is installed for the first time.
    ///
    /// # Errors
    /// When it is not there, what renders it fails, or nothing comes out where something must.
    pub(crate) fn render(&self, tree: Tree<'_>, first: bool, observer: &dyn Observer) -> anyhow::Result<Input> {
        match self {
            Self::Paths { paths, kustomize } => of_paths(paths, kustomize.as_deref(), tree, observer),
            Self::Chart(chart) => chart.render(tree, first, observer),
            Self::Command(command) => of_command(command, tree, observer),
            Self::Given { name, bytes } => Ok(Input::unnamed(name.clone(), bytes.clone())),
        }
    }

    /// What of it a tree has, as far as files tell; `None` where that is nothing.
    #[must_use]
    pub(crate) fn within(&self, tree: Tree<'_>) -> Option<Self> {
        let there = |path: &Path| tree.there(path).exists();
        match self {
            _ if !tree.folder.is_dir() => None,
            Self::Paths { paths, kustomize } => {
                let paths: Vec<PathBuf> = paths.iter().filter(|path| there(path)).cloned().collect();
                (!paths.is_empty()).then(|| Self::Paths { paths, kustomize: kustomize.clone() })
            }
            // What is called by a registry is there on both sides; of a chart without its values nothing is known.
            Self::Chart(chart) => chart.files().all(there).then(|| self.clone()),
            Self::Command(_) | Self::Given { .. } => Some(self.clone()),
        }
    }

    /// The files and folders that it is made of, as far as they are named.
    #[must_use]
    pub(crate) fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Paths { paths, .. } => paths.iter().map(PathBuf::as_path).collect(),
            Self::Chart(chart) => chart.files().collect(),
            Self::Command(_) | Self::Given { .. } => Vec::new(),
        }
    }

    /// How an error calls it.
    #[must_use]
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Paths { paths, .. } => {
                let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
                names.join(", ")
            }
            Self::Chart(chart) => format!("chart {}", chart.named()),
            Self::Command(_) => "the command of --render".to_owned(),
            Self::Given { name, .. } => name.clone(),
        }
    }
}

/// Runs a command of the user.
fn of_command(command: &str, tree: Tree<'_>, observer: &dyn Observer) -> anyhow::Result<Input> {
    let what = "the command of --render";
    let Ended { status, stdout, stderr } = ran(process::shell(command), tree.folder, (what, ""), observer)?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        bail!("{what} failed ({status}): {}", shown(last));
    }
    Ok(Input::unnamed("", stdout))
}

/// Streams, folders and kustomizations as one stream, in the order in which they were given.
fn of_paths(
    paths: &[PathBuf],
    kustomize: Option<&Path>,
    tree: Tree<'_>,
    observer: &dyn Observer,
) -> anyhow::Result<Input> {
    if let [] | [_] = paths
        && paths.first().is_none_or(|path| path.as_os_str() == "-")
    {
        return Input::of_stdin().map_err(|stop| stop.error);
    }
    let mut parts: Vec<(String, Bytes)> = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            parts.push((input::STDIN.to_owned(), Input::of_stdin().map_err(|stop| stop.error)?.text.bytes().clone()));
            continue;
        }
        let there = tree.there(path);
        tree.keeps(&there, path)?;
        let data = std::fs::metadata(&there).with_context(|| format!("cannot read {}", path.display()))?;
        if !data.is_dir() {
            parts.push(((tree.shown)(path), read(&there, path)?));
        } else if is_kustomization(&there) {
            // What a kustomization prints stands in no file.
            parts.push((String::new(), kustomized(path, kustomize, tree, observer)?));
        } else {
            parts.extend(of_folder(path, &there, tree)?);
        }
    }
    let name = if let [path] = paths { (tree.shown)(path) } else { "the stream".to_owned() };
    let (files, bytes) = match <[_; 1]>::try_from(parts) {
        // One file is handed on as it is.
        Ok([(name, bytes)]) => (Files::one(name), bytes),
        Err(parts) => Files::joined(parts),
    };
    Ok(Input { files, ..Input::unnamed(name, bytes) })
}

/// The manifests of a folder and of those below it. A chart or a kustomization in it is not taken for manifests.
fn of_folder(path: &Path, there: &Path, tree: Tree<'_>) -> anyhow::Result<Vec<(String, Bytes)>> {
    if there.join(CHART).is_file() {
        bail!("{0} is a chart; pass --chart {0} --release NAME", path.display());
    }
    let found = files::manifests(there)?;
    let shown = |file: &Path| path.join(file.strip_prefix(there).unwrap_or(file));
    for folder in found.iter().filter_map(|file| file.parent()).filter(|folder| *folder != there) {
        if is_kustomization(folder) || folder.join(CHART).is_file() {
            let what = if is_kustomization(folder) { "a kustomization" } else { "a chart" };
            bail!(
                "{} is {what} in {}, a folder of manifests; name what is meant by itself",
                shown(folder).display(),
                path.display()
            );
        }
    }
    if found.is_empty() {
        bail!("{} holds no .yaml, .yml or .json file", path.display());
    }
    let one = |file: &PathBuf| {
        tree.keeps(file, &shown(file))?;
        Ok(((tree.shown)(&shown(file)), read(file, &shown(file))?))
    };
    found.iter().map(one).collect()
}

/// What a kustomization renders to.
fn kustomized(path: &Path, told: Option<&Path>, tree: Tree<'_>, observer: &dyn Observer) -> anyhow::Result<Bytes> {
    let there = if path.is_absolute() { (tree.place)(path) } else { path.to_owned() };
    let (mut command, verb) = kustomize(told);
    command.arg(&there);
    printed(command, tree, (&format!("{verb} {}", path.display()), NO_KUSTOMIZE), observer)
}

/// What is said where there is no kustomize.
pub(crate) const NO_KUSTOMIZE: &str = "install kustomize or kubectl, or pass --kustomize PROGRAM";

/// The program that builds a kustomization, and how the call is named; the folder is still to be added.
pub(crate) fn kustomize(told: Option<&Path>) -> (Command, String) {
    let programs: &[&Path] = match told {
        Some(program) => &[program],
        None => &[Path::new("kustomize"), Path::new("kubectl")],
    };
    let program = programs.iter().find(|program| told.is_some() || is_on_path(program)).unwrap_or(&programs[0]);
    let is_kubectl = program.file_stem().and_then(|name| name.to_str()).is_some_and(|name| name.contains("kubectl"));
    let verb = if is_kubectl { "kustomize" } else { "build" };
    let mut command = Command::new(program);
    command.arg(verb);
    (command, format!("{} {verb}", program.display()))
}

/// Whether a program of this name is on the path.
fn is_on_path(program: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The file that makes a folder a chart.
const CHART: &str = "Chart.yaml";

/// Whether a folder is a kustomization (kustomize `api/konfig/general.go`, `RecognizedKustomizationFileNames`).
pub(crate) fn is_kustomization(folder: &Path) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"].iter().any(|name| folder.join(name).is_file())
}

pub(super) fn read(there: &Path, path: &Path) -> anyhow::Result<Bytes> {
    std::fs::File::open(there).and_then(crate::world::whole).with_context(|| format!("cannot read {}", path.display()))
}
