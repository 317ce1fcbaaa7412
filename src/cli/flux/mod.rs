//! `rollgate flux render`: what helm-controller will make of a HelmRelease, before anything is merged.

mod build;
mod found;
mod moved;
pub(super) mod plan;
pub(super) mod post_renderers;
mod settled;
pub(super) mod values;
mod variables;
mod versions;
mod walk;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};

use super::args::{Colour, PostRenderArgs, helm_program};
use super::{Outside, Stop, known};
use crate::exit::Exit;
use crate::flux::release::Release;
use crate::flux::values::ValuesFault;
use crate::host::ToldHost;
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::object::Object;
use crate::session::flux::{Charts, Given, Live, Nowhere, Run, Scratch, Tools, releases};
use crate::session::{Input, Tree, revisions};

/// Options of `flux`.
#[derive(Debug, Args)]
pub struct FluxArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: FluxCommand,
}

/// What `flux` can do.
#[derive(Debug, Subcommand)]
pub enum FluxCommand {
    /// Print what helm-controller would install or upgrade for each HelmRelease of some files. Secrets that a chart renders are in it.
    Render(RenderArgs),
    /// Write the ConfigMap or Secret that a HelmRelease names in valuesFrom, once all late values in it are known; nothing before.
    Values(values::PublishArgs),
    /// Print kustomize patches for spec.postRenderers that write late values into the stream on standard input, as post-render would.
    PostRenderers(Box<PostRenderArgs>),
}

/// Options of `flux render`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// Files with HelmReleases; their sources and the ConfigMaps and Secrets of their values may stand beside them.
    #[arg(value_name = "RELEASE.yaml", required = true)]
    pub files: Vec<PathBuf>,
    /// The chart, a folder or an archive, where it is not in this repository; of one HelmRelease by its name.
    #[arg(long, value_name = "[[NAMESPACE/]NAME=]PATH")]
    pub chart: Vec<String>,
    /// The folder that GitRepositories stand for; by default the repository of this folder.
    #[arg(long, value_name = "DIR")]
    pub repo_root: Option<PathBuf>,
    /// Where sources and values are found.
    #[command(flatten)]
    pub places: PlaceArgs,
    /// One more argument for `helm template`, such as --helm-arg=--kube-version=1.34.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub helm_arg: Vec<String>,
    /// The Helm that renders charts.
    #[arg(long, env = "HELM_BIN", value_name = "PROGRAM", default_value = "helm", value_parser = helm_program)]
    pub helm: PathBuf,
    /// What runs post-renderers: kustomize or kubectl; by default the first of them on the path.
    #[arg(long, value_name = "PROGRAM")]
    pub kustomize: Option<PathBuf>,
    /// Namespace of objects that name none.
    #[arg(long, short = 'n', default_value = "default")]
    pub namespace: String,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub kube_context: Option<String>,
    /// Templates see .Release.IsInstall; otherwise .Release.IsUpgrade.
    #[arg(long)]
    pub first_install: bool,
    /// Longest time for reading from the cluster.
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub deadline: String,
}

/// Where sources and values of HelmReleases are found.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What Flux reads")]
pub struct PlaceArgs {
    /// A GitRepository, or a source that is pushed from here, that is this repository; otherwise it is known by its address.
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    pub repo_source: Vec<String>,
    /// A file with the ConfigMaps and Secrets that values come from.
    #[arg(long, value_name = "FILE")]
    pub values_from: Vec<PathBuf>,
    /// Read ConfigMaps and Secrets that no file has from the cluster, and take charts of registries as its source-controller serves them.
    #[arg(long)]
    pub from_cluster: bool,
    /// Where source-controller is reached, such as http://127.0.0.1:8080 of a kubectl port-forward; by default where the sources say.
    #[arg(long, value_name = "URL", requires = "from_cluster")]
    pub artifacts_at: Option<String>,
    /// A ConfigMap or Secret that is not there.
    #[arg(long, value_name = "KIND/NAME")]
    pub absent: Vec<String>,
}

impl PlaceArgs {
    /// What stands in the files with values, and where else is looked.
    pub(super) fn given(&self, told: &ToldHost, home: &str, deadline: &str) -> Result<Given, Stop> {
        let mut objects = Vec::new();
        for file in &self.values_from {
            objects.extend(objects_of(&Input::one(Some(file))?)?);
        }
        let cluster = match self.from_cluster {
            true => {
                let live = Live::connect(told, known::duration(deadline, "--deadline")?).map_err(Stop::undecided)?;
                Some(live.served_at(self.artifacts_at.clone()))
            }
            false => None,
        };
        let absent = self.absent.iter().map(|told| match told.split_once('/') {
            Some((kind @ (CONFIG_MAP | SECRET), name)) if !name.is_empty() => Ok((kind.to_owned(), name.to_owned())),
            _ => Err(Stop::usage(anyhow!("--absent {told}: write ConfigMap/NAME or Secret/NAME"))),
        });
        Ok(Given { objects, home: home.to_owned(), absent: absent.collect::<Result<_, _>>()?, cluster })
    }
}

/// Charts that were told, each as `PATH` or `NAME=PATH`.
pub(super) fn told_charts(told: &[String]) -> Vec<(Option<String>, PathBuf)> {
    let one = |text: &String| match text.split_once('=') {
        // A path may hold `=`; a name never starts as one does.
        Some((name, path)) if !name.starts_with(['.', '/']) => (Some(name.to_owned()), PathBuf::from(path)),
        _ => (None, PathBuf::from(text)),
    };
    told.iter().map(one).collect()
}

/// The addresses of a repository.
pub(super) fn remotes(root: &Path) -> Vec<String> {
    let root = root.display().to_string();
    let listed = revisions::git(&["-C", &root, "config", "--get-regexp", r"^remote\..*\.url$"]).unwrap_or_default();
    listed.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect()
}

fn objects_of(input: &Input) -> Result<Vec<Object>, Stop> {
    let stream = input.text.stream().map_err(|error| Stop::usage(anyhow!("{}: {error}", input.name)))?;
    Ok(stream.objects.objects().to_vec())
}

pub(super) fn run(args: FluxArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let args = match args.command {
        FluxCommand::Render(args) => args,
        FluxCommand::Values(args) => return values::run(args, outside),
        FluxCommand::PostRenderers(args) => return post_renderers::run(*args, colour, outside),
    };
    let root = match &args.repo_root {
        Some(root) => root.clone(),
        None => revisions::git(&["rev-parse", "--show-toplevel"]).map_or_else(|_| PathBuf::from("."), PathBuf::from),
    };
    if !root.is_dir() {
        return Err(Stop::usage(anyhow!("--repo-root {}: there is no such folder", root.display())));
    }
    let tools = Tools {
        charts: Charts {
            told: told_charts(&args.chart),
            own: args.places.repo_source.clone(),
            remotes: remotes(&root),
            trusts_unseen: args.repo_root.is_some(),
        },
        helm: args.helm,
        kustomize: args.kustomize,
        helm_args: args.helm_arg,
        scratch: Scratch::new(outside)?,
    };
    let told = ToldHost {
        kind: None,
        release: None,
        namespace: Some(args.namespace.clone()),
        context: args.kube_context,
        method: None,
        prune: false,
        rolls_back: false,
        force: false,
    };
    let mut given = args.places.given(&told, &args.namespace, &args.deadline)?;
    for file in &args.files {
        given.objects.extend(objects_of(&Input::one(Some(file))?)?);
    }
    let releases = releases(&given).map_err(Stop::usage)?;
    if releases.is_empty() {
        return Err(Stop::usage(anyhow!("there is no HelmRelease in what was given")));
    }
    let run = Run { tools: &tools, given: &given, root: &root, tree: Tree::here(), first: args.first_install };
    let mut out = Vec::new();
    for release in releases {
        let release = release.map_err(|(title, why)| Stop::usage(anyhow!("HelmRelease {title}: {why}")))?;
        let rendered = run.render(&release).map_err(|error| stop(&release, error))?;
        for note in rendered.notes.iter().chain(rendered.unseen.as_ref().map(|one| &one.why)) {
            // A closed standard error leaves nothing to say it with.
            drop(writeln!(outside.err, "rollgate: HelmRelease {}: {note}", release.title()));
        }
        out.extend_from_slice(format!("---\n# HelmRelease {}\n", release.title()).as_bytes());
        out.extend_from_slice(rendered.bytes.trim_ascii_end());
        out.push(b'\n');
    }
    outside.out.write_all(&out).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// What of a HelmRelease cannot be read here leaves it undecided; what Flux would not take either is a fault of the caller.
fn stop(release: &Release, error: anyhow::Error) -> Stop {
    let is_undecided = error.is::<Nowhere>()
        || matches!(
            error.downcast_ref(),
            Some(ValuesFault::Missing(_) | ValuesFault::Key(..) | ValuesFault::Unread(..))
        );
    let error = error.context(format!("HelmRelease {}", release.title()));
    if is_undecided { Stop::undecided(error) } else { Stop::usage(error) }
}
