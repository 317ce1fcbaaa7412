//! What a plan is asked about: rendered streams, folders of them, kustomizations and charts, each rendered by its own tool in the
//! tree that it stands in. A render that fails or gives nothing is an error that carries what the tool said.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use serde_json::Value;
use tokio::process::Command;

use super::args::CommonArgs;
use super::input::{self, Input};
use super::render::{self, Ended};
use super::run;
use crate::kinds::fields::text;
use crate::object::Files;
use crate::world::files;
use crate::yaml::{self, Span};

/// What is said where there is no Helm.
pub(super) const NO_HELM: &str = "install Helm, or give --helm PROGRAM";
/// Most lines of a tool that are handed on.
const MOST_LINES: usize = 20;
/// Longest of them, in characters.
const LONGEST_LINE: usize = 500;

/// What is judged, and by what it is rendered.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What is judged")]
pub struct SourceArgs {
    /// Rendered streams, folders of them, or folders with a kustomization; `-` or nothing for standard input.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// A chart that Helm renders for --release: a folder, an archive, or whatever else `helm template` takes.
    #[arg(long, value_name = "CHART", conflicts_with = "paths", requires = "release", group = "by_helm")]
    pub chart: Option<String>,
    /// A values file of the chart; several times if wanted, the last one wins.
    #[arg(long, short = 'f', value_name = "FILE", requires = "chart")]
    pub values: Vec<String>,
    /// A value of the chart.
    #[arg(long, value_name = "NAME=VALUE", requires = "chart")]
    pub set: Vec<String>,
    /// One more argument for `helm template`, such as --helm-arg=--api-versions=example.org/v1.
    #[arg(long, value_name = "ARG", requires = "by_helm", allow_hyphen_values = true)]
    pub helm_arg: Vec<String>,
    /// Fetch what a chart depends on before it is rendered, by `helm dependency build` in the tree that it is rendered in.
    #[arg(long, conflicts_with = "paths")]
    pub dependency_build: bool,
    /// The chart is installed for the first time: its templates see .Release.IsInstall. Otherwise they see .Release.IsUpgrade,
    /// unless it is compared with nothing.
    #[arg(long, requires = "chart")]
    pub first_install: bool,
    /// The Helm that renders charts.
    #[arg(long, env = "HELM_BIN", value_name = "PROGRAM", default_value = "helm")]
    pub helm: PathBuf,
    /// What renders kustomizations: kustomize or kubectl; the first of them on the path where nothing is said.
    #[arg(long, value_name = "PROGRAM")]
    pub kustomize: Option<PathBuf>,
}

/// What is rendered, with everything that decides what comes out.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Streams, folders and kustomizations.
    Paths { paths: Vec<PathBuf>, kustomize: Option<PathBuf> },
    /// A chart.
    Chart(Chart),
    /// A command of the user, run by a shell.
    Command(String),
    /// What is rendered already.
    Given {
        /// How it is called.
        name: String,
        /// The stream.
        bytes: Arc<[u8]>,
    },
}

/// A chart and how Helm is called for it.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    pub(super) helm: PathBuf,
    pub(super) chart: String,
    /// Whether a repository or a registry has it, and no tree.
    pub(super) is_remote: bool,
    pub(super) values: Vec<String>,
    /// Whether what it depends on is fetched first.
    pub(super) builds_dependencies: bool,
    /// Further arguments, as Helm takes them.
    pub(super) args: Vec<String>,
    pub(super) release: String,
    pub(super) namespace: Option<String>,
    pub(super) context: Option<String>,
    /// Whether it is installed for the first time in any case.
    pub(super) first: bool,
}

/// The tree that something is rendered in.
#[derive(Clone, Copy)]
pub(super) struct Tree<'t> {
    /// Where relative paths start.
    pub(super) folder: &'t Path,
    /// How an absolute path is found in it.
    pub(super) place: &'t (dyn Fn(&Path) -> PathBuf + Sync),
    /// How a path in it is called in reports.
    pub(super) shown: &'t (dyn Fn(&Path) -> String + Sync),
    /// The worktree that it is, where a request wrote what is in it: no link of it may lead out.
    pub(super) root: Option<&'t Path>,
    /// Whether nothing may come out: a base may lack what is new.
    pub(super) may_be_empty: bool,
}

impl std::fmt::Debug for Tree<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Tree<'static> {
    /// The folder that the program runs in.
    pub(super) fn here() -> Self {
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
    pub(super) fn keeps(self, there: &Path, path: &Path) -> anyhow::Result<()> {
        if self.root.is_some_and(|root| there.starts_with(root)) { self.holds(there, path) } else { Ok(()) }
    }

    /// Refuses what is not in the worktree, wherever it was said to be.
    pub(super) fn holds(self, there: &Path, path: &Path) -> anyhow::Result<()> {
        let Some(root) = self.root else { return Ok(()) };
        // What is not there is the reader's to complain about.
        let (Ok(there), Ok(root)) = (std::fs::canonicalize(there), std::fs::canonicalize(root)) else { return Ok(()) };
        if !there.starts_with(root) {
            bail!("{} leads out of the repository, so it is not what was reviewed", path.display());
        }
        Ok(())
    }

    /// Where a path stands in this tree.
    pub(super) fn there(self, path: &Path) -> PathBuf {
        if path.is_absolute() { (self.place)(path) } else { self.folder.join(path) }
    }
}

impl SourceArgs {
    /// What these options name.
    pub(super) fn source(&self, common: &CommonArgs) -> Source {
        let Some(chart) = &self.chart else {
            return Source::Paths { paths: self.paths.clone(), kustomize: self.kustomize.clone() };
        };
        let set = self.set.iter().flat_map(|value| ["--set".to_owned(), value.clone()]);
        Source::Chart(Chart {
            helm: self.helm.clone(),
            chart: chart.clone(),
            is_remote: chart.contains("://"),
            values: self.values.clone(),
            builds_dependencies: self.dependency_build,
            args: set.chain(self.helm_arg.iter().cloned()).collect(),
            release: common.release.clone().unwrap_or_default(),
            namespace: common.namespace.clone(),
            context: common.kube_context.clone(),
            first: self.first_install,
        })
    }
}

impl Source {
    /// Renders it; `first` says that a chart is installed for the first time.
    pub(super) fn render(&self, tree: Tree<'_>, first: bool) -> anyhow::Result<Input> {
        match self {
            Self::Paths { paths, kustomize } => of_paths(paths, kustomize.as_deref(), tree),
            Self::Chart(chart) => chart.render(tree, first),
            Self::Command(command) => of_command(command, tree),
            Self::Given { name, bytes } => Ok(Input::unnamed(name.clone(), Arc::clone(bytes))),
        }
    }

    /// What of it a tree has, as far as files tell; `None` where that is nothing.
    pub(super) fn within(&self, tree: Tree<'_>) -> Option<Self> {
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
    pub(super) fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Paths { paths, .. } => paths.iter().map(PathBuf::as_path).collect(),
            Self::Chart(chart) => chart.files().collect(),
            Self::Command(_) | Self::Given { .. } => Vec::new(),
        }
    }

    /// How an error calls it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Paths { paths, .. } => {
                let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
                names.join(", ")
            }
            Self::Chart(chart) => format!("chart {}", chart.chart),
            Self::Command(_) => "the command of --render".to_owned(),
            Self::Given { name, .. } => name.clone(),
        }
    }
}

impl Chart {
    /// Its files of this machine: the chart and the values that no server has.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let own = Some(&self.chart).filter(|_| !self.is_remote);
        own.into_iter().chain(&self.values).filter(|file| !file.contains("://")).map(Path::new)
    }

    fn render(&self, tree: Tree<'_>, first: bool) -> anyhow::Result<Input> {
        for file in self.files() {
            tree.keeps(&tree.there(file), file)?;
        }
        let mut command = Command::new(&self.helm);
        let chart: OsString = match Path::new(&self.chart) {
            path if path.is_absolute() => (tree.place)(path).into_os_string(),
            _ => self.chart.clone().into(),
        };
        if self.builds_dependencies && !self.is_remote {
            self.build_dependencies(&chart, tree)?;
        }
        command.args(["template", &self.release]).arg(chart);
        if let Some(namespace) = &self.namespace {
            command.args(["--namespace", namespace]);
        }
        if let Some(context) = &self.context {
            command.args(["--kube-context", context]);
        }
        for values in &self.values {
            let path = Path::new(values);
            let path = if path.is_absolute() { (tree.place)(path) } else { path.to_owned() };
            command.arg("--values").arg(path);
        }
        if !first && !self.first {
            command.arg("--is-upgrade");
        }
        command.args(&self.args);
        let what = format!("{} template {} {}", self.helm.display(), self.release, self.chart);
        let bytes = printed(command, tree, &what, NO_HELM).map_err(|error| {
            // helm `pkg/action/dependency.go`, CheckDependencies.
            let lacks = error.to_string().contains("missing in charts/ directory");
            if lacks { anyhow!("{error}; --dependency-build fetches them first") } else { error }
        })?;
        Ok(Input::unnamed(self.chart.clone(), bytes))
    }

    /// Has Helm fetch what the chart depends on. A chart beside it must lie in the same tree.
    fn build_dependencies(&self, chart: &OsStr, tree: Tree<'_>) -> anyhow::Result<()> {
        // Of several releases of one chart the first one builds, and the others wait.
        static BUILT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let folder = tree.there(Path::new(&self.chart));
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if built.contains(&folder) {
            return Ok(());
        }
        let (about, shown) = (folder.join("Chart.yaml"), Path::new(&self.chart).join("Chart.yaml"));
        tree.keeps(&about, &shown)?;
        let about = read(&about, &shown)?;
        let about = yaml::read_json(&about, Span { start: 0, end: about.len() })?;
        let dependencies = about.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        for beside in dependencies.filter_map(|one| text(one, "/repository")?.strip_prefix("file://")) {
            tree.holds(&folder.join(beside), Path::new(beside))?;
        }
        let mut command = Command::new(&self.helm);
        command.args(["dependency", "build"]).arg(chart);
        let what = format!("{} dependency build {}", self.helm.display(), self.chart);
        let Ended { status, stderr, .. } = ran(command, tree.folder, &what, NO_HELM)?;
        if !status.success() {
            bail!("{what} failed ({status}): {}", said(&stderr));
        }
        let _is_new: bool = built.insert(folder);
        Ok(())
    }
}

/// Runs a command of the user.
fn of_command(command: &str, tree: Tree<'_>) -> anyhow::Result<Input> {
    let what = "the command of --render";
    let Ended { status, stdout, stderr } = ran(render::shell(command), tree.folder, what, "")?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        bail!("{what} failed ({status}): {last}");
    }
    Ok(Input::unnamed("", stdout.into()))
}

/// Streams, folders and kustomizations as one stream, in the order in which they were given.
fn of_paths(paths: &[PathBuf], kustomize: Option<&Path>, tree: Tree<'_>) -> anyhow::Result<Input> {
    if let [] | [_] = paths
        && paths.first().is_none_or(|path| path.as_os_str() == "-")
    {
        return Input::of_stdin().map_err(|stop| stop.error);
    }
    let mut parts: Vec<(String, Arc<[u8]>)> = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            parts.push((input::STDIN.to_owned(), Input::of_stdin().map_err(|stop| stop.error)?.bytes));
            continue;
        }
        let there = tree.there(path);
        tree.keeps(&there, path)?;
        let data = std::fs::metadata(&there).with_context(|| format!("cannot read {}", path.display()))?;
        if !data.is_dir() {
            parts.push(((tree.shown)(path), read(&there, path)?));
        } else if is_kustomization(&there) {
            // What a kustomization prints stands in no file.
            parts.push((String::new(), kustomized(path, kustomize, tree)?));
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
fn of_folder(path: &Path, there: &Path, tree: Tree<'_>) -> anyhow::Result<Vec<(String, Arc<[u8]>)>> {
    if there.join(CHART).is_file() {
        bail!("{0} is a chart; say --chart {0} --release NAME", path.display());
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
fn kustomized(path: &Path, told: Option<&Path>, tree: Tree<'_>) -> anyhow::Result<Arc<[u8]>> {
    let there = if path.is_absolute() { (tree.place)(path) } else { path.to_owned() };
    let (mut command, verb) = kustomize(told);
    command.arg(&there);
    printed(command, tree, &format!("{verb} {}", path.display()), NO_KUSTOMIZE)
}

/// What is said where there is no kustomize.
pub(super) const NO_KUSTOMIZE: &str = "install kustomize or kubectl, or give --kustomize PROGRAM";

/// The program that builds a kustomization, and how the call is named; the folder is still to be added.
pub(super) fn kustomize(told: Option<&Path>) -> (Command, String) {
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
pub(super) fn is_kustomization(folder: &Path) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"].iter().any(|name| folder.join(name).is_file())
}

fn read(there: &Path, path: &Path) -> anyhow::Result<Arc<[u8]>> {
    std::fs::File::open(there).and_then(crate::world::whole).with_context(|| format!("cannot read {}", path.display()))
}

/// What a tool prints; an error with what it said where it fails or prints no object.
pub(super) fn printed(command: Command, tree: Tree<'_>, what: &str, remedy: &str) -> anyhow::Result<Arc<[u8]>> {
    let Ended { status, stdout, stderr } = ran(command, tree.folder, what, remedy)?;
    if !status.success() {
        bail!("{what} failed ({status}): {}", said(&stderr));
    }
    if input::is_empty(&stdout) && !tree.may_be_empty {
        bail!("{what} prints no object (it said: {})", said(&stderr));
    }
    Ok(stdout.into())
}

pub(super) fn ran(command: Command, folder: &Path, what: &str, remedy: &str) -> anyhow::Result<Ended> {
    let runtime = run::runtime().map_err(|stop| stop.error)?;
    let _guard = runtime.enter();
    render::clean_up_on_signals(None)?;
    match runtime.block_on(render::run(command, folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && folder.is_dir() => {
            Err(anyhow!(error).context(format!("{what} cannot be run; {remedy}")))
        }
        ended => ended.with_context(|| format!("{what} did not run")),
    }
}

/// What a tool said as it failed. Its warnings may quote values, so where it says what the error is, that is enough.
pub(super) fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let error = lines.iter().position(|line| line.to_ascii_lowercase().starts_with("error"));
    let lines = &lines[error.unwrap_or_default()..];
    let short = |line: &&str| line.chars().take(LONGEST_LINE).collect::<String>();
    let mut shown: Vec<String> = lines.iter().take(MOST_LINES).map(short).collect();
    if lines.len() > MOST_LINES {
        shown.push(format!("({} more lines)", lines.len() - MOST_LINES));
    }
    if shown.is_empty() { "it said nothing".to_owned() } else { shown.join("\n") }
}
