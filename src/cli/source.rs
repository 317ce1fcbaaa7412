//! The options that say what is judged.

use std::path::PathBuf;

use clap::Args;

use super::args::{CommonArgs, helm_program};
use crate::session::{Chart, Source};

/// What is judged, and by what it is rendered.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What is judged")]
pub struct SourceArgs {
    /// Rendered streams, folders of them, or folders with a kustomization; `-` or nothing for standard input.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Judge an upgrade of providers, such as cluster-api=v1.14.2,rke2=v0.25.0: which Machines that are there the new controllers would
    /// replace. It needs no stream, and nothing is written.
    #[arg(long, value_name = "NAME=VERSION", value_delimiter = ',')]
    pub upgrade: Vec<String>,
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
    #[arg(long, env = "HELM_BIN", value_name = "PROGRAM", default_value = "helm", value_parser = helm_program)]
    pub helm: PathBuf,
    /// What renders kustomizations: kustomize or kubectl; the first of them on the path where nothing is said.
    #[arg(long, value_name = "PROGRAM")]
    pub kustomize: Option<PathBuf>,
}

impl SourceArgs {
    /// The files that they name, which are read.
    pub(super) fn read(&self) -> Vec<PathBuf> {
        let of_helm = self.chart.iter().filter(|chart| !chart.contains("://")).chain(&self.values).map(PathBuf::from);
        self.paths.iter().cloned().chain(of_helm).collect()
    }

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
            // Beside nothing there is nothing that `lookup` could find.
            is_alone: common.live == "none",
        })
    }
}
