//! What a plan is asked about: rendered streams, folders of them, kustomizations and charts, each rendered by its own tool in the
//! tree that it stands in. A render that fails or gives nothing is an error that carries what the tool said.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, anyhow, bail};
use tempfile::TempDir;
use tokio::process::Command;

use super::asks::{Heard, Rendering};
use super::input::{self, Input};
use super::process::{self, Ended};
use super::tool::{printed, ran, said};
use super::{Observer, Unseen};
use crate::kinds::fields::text;
use crate::object::Files;
use crate::tree::Value;
use crate::world::files;
use crate::yaml::{self, Span};

/// What is said where there is no Helm.
pub(crate) const NO_HELM: &str = "install Helm, or give --helm PROGRAM";

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
        bytes: Arc<[u8]>,
    },
}

/// A chart and how Helm is called for it.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// The program.
    pub helm: PathBuf,
    /// A folder, an archive, or what a repository or a registry has.
    pub chart: String,
    /// Whether a repository or a registry has it, and no tree.
    pub is_remote: bool,
    /// Files with values; the last one wins.
    pub values: Vec<String>,
    /// Whether what it depends on is fetched first.
    pub builds_dependencies: bool,
    /// Further arguments, as Helm takes them.
    pub args: Vec<String>,
    /// Name of the release.
    pub release: String,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Context of the kubeconfig.
    pub context: Option<String>,
    /// Whether it is installed for the first time in any case.
    pub first: bool,
    /// Whether who writes it renders it without a cluster too, or into one that is empty: then `lookup` finds nothing there either, and the
    /// revision is the first.
    pub is_alone: bool,
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
            Self::Given { name, bytes } => Ok(Input::unnamed(name.clone(), Arc::clone(bytes))),
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
            Self::Chart(chart) => format!("chart {}", chart.chart),
            Self::Command(_) => "the command of --render".to_owned(),
            Self::Given { name, .. } => name.clone(),
        }
    }
}

impl Chart {
    /// Its files of this machine: the chart and the values that no server has.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let own = Some(&self.chart).filter(|_| !self.is_remote);
        own.into_iter().chain(&self.values).filter(|file| !file.contains("://")).map(Path::new)
    }

    fn render(&self, tree: Tree<'_>, first: bool, observer: &dyn Observer) -> anyhow::Result<Input> {
        for file in self.files() {
            tree.keeps(&tree.there(file), file)?;
        }
        let chart: OsString = match Path::new(&self.chart) {
            path if path.is_absolute() => (tree.place)(path).into_os_string(),
            _ => self.chart.clone().into(),
        };
        if self.builds_dependencies && !self.is_remote {
            self.build_dependencies(&chart, tree, observer)?;
        }
        let bytes = self.template((&chart, &[]), tree, first, observer)?;
        let unseen = self.unseen(tree, first, &bytes, observer);
        Ok(Input { unseen, ..Input::unnamed(self.chart.clone(), bytes) })
    }

    /// What Helm prints for a chart.
    fn template(
        &self,
        (chart, args): (&OsStr, &[String]),
        tree: Tree<'_>,
        first: bool,
        observer: &dyn Observer,
    ) -> anyhow::Result<Arc<[u8]>> {
        let mut command = Command::new(&self.helm);
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
        command.args(&self.args).args(args);
        let what = format!("{} template {} {}", self.helm.display(), self.release, self.chart);
        printed(command, tree, (&what, NO_HELM), observer).map_err(|error| {
            // helm `pkg/action/dependency.go`, CheckDependencies.
            let lacks = error.to_string().contains("missing in charts/ directory");
            if lacks { anyhow!("{error}; --dependency-build fetches them first") } else { error }
        })
    }

    /// What Helm did not see as it rendered `stream`, as the chart asks a cluster that nobody let it ask.
    fn unseen(&self, tree: Tree<'_>, first: bool, stream: &[u8], observer: &dyn Observer) -> Option<Unseen> {
        let heard = Heard::by(&self.args);
        let heard = Heard { objects: heard.objects || self.is_alone, revision: self.is_alone, ..heard };
        if heard.is_all() {
            return None;
        }
        let own = tree.there(Path::new(&self.chart));
        let fetched;
        let chart = if own.exists() && !self.is_remote {
            own
        } else {
            // What a repository or a registry has is looked at in a copy.
            fetched = self.fetched(tree, observer);
            match &fetched {
                Ok(folder) => folder.path().join(FETCHED),
                Err(error) => return Some(Unseen::not_known(&format!("{error:#}"))),
            }
        };
        let how = format!("{:?}", (&self.args, &self.release, &self.namespace, first || self.first));
        let mut told = vec![how.into_bytes()];
        for file in &self.values {
            // What is elsewhere is told by its address.
            told.push(std::fs::read(tree.there(Path::new(file))).unwrap_or_else(|_| file.clone().into_bytes()));
        }
        let told: Vec<&[u8]> = told.iter().map(Vec::as_slice).collect();
        let unseen = Unseen::of(Rendering { chart: &chart, told: &told, stream, heard }, |chart, args| {
            Ok(self.template((chart.as_os_str(), args), tree, first, observer)?.to_vec())
        })?;
        // What stands in the files that arguments name was not read.
        let names_files = |argument: &String| {
            ["--set-file", "--values", "--post-renderer"].iter().any(|option| argument.starts_with(option))
                || argument == "-f"
        };
        let of = unseen.of.filter(|_| !self.args.iter().any(names_files));
        Some(Unseen { of, ..unseen })
    }

    /// The archive of a chart that a repository or a registry has.
    fn fetched(&self, tree: Tree<'_>, observer: &dyn Observer) -> anyhow::Result<TempDir> {
        let folder = tempfile::Builder::new().prefix("rollgate-chart-").tempdir()?;
        let mut command = Command::new(&self.helm);
        command.args(["pull", &self.chart]).args(of_pull(&self.args)).arg("--destination").arg(folder.path());
        let what = format!("{} pull {}", self.helm.display(), self.chart);
        let Ended { status, stderr, .. } = ran(command, tree.folder, (&what, NO_HELM), observer)?;
        if !status.success() {
            bail!("{what} failed ({status}): {}", said(&stderr));
        }
        let archives = std::fs::read_dir(folder.path())?.collect::<Result<Vec<_>, _>>()?;
        let archive =
            archives.iter().map(std::fs::DirEntry::path).find(|file| file.extension().is_some_and(|end| end == "tgz"));
        std::fs::rename(archive.with_context(|| format!("{what} fetched nothing"))?, folder.path().join(FETCHED))?;
        Ok(folder)
    }

    /// Has Helm fetch what the chart depends on. A chart beside it must lie in the same tree.
    fn build_dependencies(&self, chart: &OsStr, tree: Tree<'_>, observer: &dyn Observer) -> anyhow::Result<()> {
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
        let Ended { status, stderr, .. } = ran(command, tree.folder, (&what, NO_HELM), observer)?;
        if !status.success() {
            bail!("{what} failed ({status}): {}", said(&stderr));
        }
        let _is_new: bool = built.insert(folder);
        Ok(())
    }
}

/// Where a chart lies that was fetched.
const FETCHED: &str = "chart.archive";

/// Of the arguments of `helm template` those that say where a chart is and who asks for it, which `helm pull` takes as well (helm
/// `pkg/cmd/flags.go`, `addChartPathOptionsFlags`).
fn of_pull(args: &[String]) -> Vec<&String> {
    const WITH_VALUE: [&str; 11] = [
        "--version",
        "--repo",
        "--username",
        "--password",
        "--ca-file",
        "--cert-file",
        "--key-file",
        "--keyring",
        "--registry-config",
        "--repository-config",
        "--repository-cache",
    ];
    const ALONE: [&str; 5] =
        ["--devel", "--insecure-skip-tls-verify", "--plain-http", "--pass-credentials", "--verify"];
    let mut out = Vec::new();
    let mut args = args.iter();
    while let Some(argument) = args.next() {
        let name = argument.split_once('=').map_or(argument.as_str(), |(name, _)| name);
        if ALONE.contains(&name) {
            out.push(argument);
        } else if WITH_VALUE.contains(&name) {
            out.push(argument);
            out.extend((name == argument).then(|| args.next()).flatten());
        }
    }
    out
}

/// Runs a command of the user.
fn of_command(command: &str, tree: Tree<'_>, observer: &dyn Observer) -> anyhow::Result<Input> {
    let what = "the command of --render";
    let Ended { status, stdout, stderr } = ran(process::shell(command), tree.folder, (what, ""), observer)?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        bail!("{what} failed ({status}): {last}");
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
    let mut parts: Vec<(String, Arc<[u8]>)> = Vec::new();
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
fn kustomized(path: &Path, told: Option<&Path>, tree: Tree<'_>, observer: &dyn Observer) -> anyhow::Result<Arc<[u8]>> {
    let there = if path.is_absolute() { (tree.place)(path) } else { path.to_owned() };
    let (mut command, verb) = kustomize(told);
    command.arg(&there);
    printed(command, tree, (&format!("{verb} {}", path.display()), NO_KUSTOMIZE), observer)
}

/// What is said where there is no kustomize.
pub(crate) const NO_KUSTOMIZE: &str = "install kustomize or kubectl, or give --kustomize PROGRAM";

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

fn read(there: &Path, path: &Path) -> anyhow::Result<Arc<[u8]>> {
    std::fs::File::open(there).and_then(crate::world::whole).with_context(|| format!("cannot read {}", path.display()))
}
