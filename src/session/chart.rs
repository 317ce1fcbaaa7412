//! A chart as Helm renders it in a tree, and what it could not hear of the cluster there.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use tempfile::TempDir;
use tokio::process::Command;

use super::asks::{Heard, Rendering};
use super::input::Input;
use super::process::Ended;
use super::source::{NO_HELM, Tree, read};
use super::tool::{printed, ran, said, shown};
use super::{Observer, Unseen};
use crate::kinds::fields::text;
use crate::tree::Value;
use crate::yaml::{self, Span};

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

impl Chart {
    /// Its files of this machine: the chart and the values that no server has.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let own = Some(&self.chart).filter(|_| !self.is_remote);
        own.into_iter().chain(&self.values).filter(|file| !file.contains("://")).map(Path::new)
    }

    /// What Helm makes of it in a tree.
    ///
    /// # Errors
    /// When Helm fails or prints no object, or what it reads is not in the tree.
    pub(super) fn render(&self, tree: Tree<'_>, first: bool, observer: &dyn Observer) -> anyhow::Result<Input> {
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
        Ok(Input { unseen, ..Input::unnamed(self.named(), bytes) })
    }

    /// What Helm prints for a chart.
    fn template(
        &self,
        (chart, args): (&OsStr, &[String]),
        tree: Tree<'_>,
        first: bool,
        observer: &dyn Observer,
    ) -> anyhow::Result<Bytes> {
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
        let what = format!("{} template {} {}", self.helm.display(), self.release, self.named());
        printed(command, tree, (&what, NO_HELM), observer).map_err(|error| {
            // helm `pkg/action/dependency.go`, CheckDependencies.
            let lacks = error.to_string().contains("missing in charts/ directory");
            if lacks { anyhow!("{error}; --dependency-build fetches them first") } else { error }
        })
    }

    /// How the chart is called: an address without its password, and without its query, which may be a signature.
    #[must_use]
    pub(crate) fn named(&self) -> String {
        match self.is_remote {
            true => shown(self.chart.split(['?', '#']).next().unwrap_or_default()),
            false => self.chart.clone(),
        }
    }

    /// What Helm did not see as it rendered `stream`, as the chart asks a cluster that nobody let it ask.
    fn unseen(&self, tree: Tree<'_>, first: bool, stream: &[u8], observer: &dyn Observer) -> Option<Unseen> {
        let heard = Heard::by(&self.args);
        let alone = self.is_alone;
        let heard = Heard { objects: heard.objects || alone, revision: alone, time: alone, ..heard };
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
        let what = format!("{} pull {}", self.helm.display(), self.named());
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
        let what = format!("{} dependency build {}", self.helm.display(), self.named());
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
