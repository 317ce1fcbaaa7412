//! The commands, and the options that judging commands share, so that the same word means the same everywhere.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;

use super::examples;
use crate::host::HostKind;
use crate::session;
use crate::world::WriteMethod;

/// Says what an install will do to Cluster API Machines, and holds it when nobody asked for that.
///
/// Exit codes: 0 allow, 1 internal error, 2 usage, policy or unreadable stream, 3 hold, 4 undecided.
#[derive(Debug, Parser)]
#[command(name = "rollgate", version, propagate_version = true, max_term_width = 110, after_help = examples::PROGRAM)]
pub struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what a rendered stream would do, and commit nothing.
    #[command(after_long_help = examples::PLAN)]
    Plan(Box<PlanArgs>),
    /// The Helm post-renderer: stream on standard input, stream on standard output, the exit code decides.
    #[command(after_long_help = examples::POST_RENDER)]
    PostRender(PostRenderArgs),
    /// Fill late values into values files before the chart renders.
    #[command(after_long_help = examples::VALUES)]
    Values(super::values::ValuesArgs),
    /// Render one values template that `values` hands over on standard input.
    #[command(name = crate::session::late::apart::COMMAND, hide = true)]
    RenderValues,
    /// Show the pinned late values, move one by hand, or compare them with their sources.
    #[command(after_long_help = examples::PIN)]
    Pin(super::pin::PinArgs),
    /// Say yes to exactly the change of one report, show what was approved, or take it back.
    #[command(after_long_help = examples::APPROVE)]
    Approve(super::approve::ApproveArgs),
    /// Say which Machines are out of date or were replaced, by which field, who wrote it, and what is due by itself.
    #[command(after_long_help = examples::WHY)]
    Why(super::why::WhyArgs),
    /// Compare earlier forecasts with what happened to the Machines, as a matrix of this fleet (policy: `forecasts`).
    #[command(after_long_help = examples::SCORE)]
    Score(super::score::ScoreArgs),
    /// Say what something means: a rule, a field such as KubeadmControlPlane.spec.version, a kind, a gate, a finding, an exit
    /// code, a state of a late value, or `last` for the last report of a post-renderer.
    #[command(after_long_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Check the policy, show what is in force, or try it on a team's own cases.
    #[command(after_long_help = examples::POLICY)]
    Policy(super::policy::PolicyArgs),
    /// Save what a plan reads, to be judged again without the cluster (`plan --live FILE`).
    #[command(after_long_help = examples::SNAPSHOT)]
    Snapshot(SnapshotArgs),
    /// Link the Helm plugins.
    Helm(HelmArgs),
    /// Render HelmReleases as Flux does.
    #[command(after_long_help = examples::FLUX)]
    Flux(super::flux::FluxArgs),
    /// Answer an API server: an admission webhook that judges every write, whoever makes it.
    #[command(after_long_help = examples::SERVE)]
    Serve(Box<super::serve::ServeArgs>),
    /// Print a JSON Schema.
    Schema(SchemaArgs),
    /// Print what a shell reads to complete commands, options, rules, releases and late values: source <(rollgate completions bash).
    #[command(after_long_help = examples::COMPLETIONS)]
    Completions {
        /// Which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands into a folder.
    Man {
        /// Folder for the pages of all commands; without it the main page goes to standard output.
        folder: Option<PathBuf>,
    },
    /// Debugging aids.
    Debug(DebugArgs),
}

/// Options of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which schema.
    #[arg(value_enum)]
    pub what: SchemaOf,
}

/// What there is a schema of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// The report of `-o json`.
    Report,
    /// The policy file.
    Policy,
    /// The file of `snapshot`.
    World,
    /// The reports of several releases, as `plan --all -o json` writes them.
    ReportList,
    /// The answer of `why -o json`.
    Why,
    /// The answer of `score -o json`.
    Score,
}

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// What is judged.
    #[command(flatten)]
    pub source: super::source::SourceArgs,
    /// Options that every judging command has.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Two Git revisions instead of a stream and a cluster.
    #[command(flatten)]
    pub revisions: super::revisions::RevisionArgs,
    /// Judge every release that the policy lists (`releases`), in parallel, with one report and the worst exit code; --release and
    /// --namespace choose among them.
    #[arg(long, conflicts_with_all = ["paths", "chart", "render", "base", "explain_reads"])]
    pub all: bool,
    /// A folder of a repository that Flux applies, such as clusters/prod: every HelmRelease below it, and below the Kustomizations in
    /// it, is rendered on both sides of --base-ref and judged as its own release; several times if wanted.
    #[arg(
        long,
        value_name = "PATH",
        requires = "base_ref",
        group = "by_helm",
        conflicts_with_all = ["paths", "render", "all", "release", "explain_reads", "dry_run_server", "dependency_build"]
    )]
    pub flux: Vec<PathBuf>,
    /// The chart of a HelmRelease that is not in this repository: a folder or an archive; of one HelmRelease by its name.
    #[arg(long, value_name = "[[NAMESPACE/]NAME=]PATH", requires = "flux")]
    pub flux_chart: Vec<String>,
    /// Where sources and values of HelmReleases are found.
    #[command(flatten)]
    pub places: super::flux::PlaceArgs,
    /// What is asked beside the verdict.
    #[command(flatten)]
    pub asked: AlsoShown,
}

/// What is asked beside the verdict.
#[derive(Debug, Clone, Args)]
pub struct AlsoShown {
    /// Also ask the API server what it would store after the same writes (dryRun=All), and show where its answer differs from the
    /// prediction; whichever is worse counts. Needs the rights to write (see docs/rbac.yaml).
    #[arg(long, conflicts_with = "base_ref")]
    pub dry_run_server: bool,
    /// Print what is read from the cluster, for what, and how much; judge nothing. Exit 4 if something could not be read.
    #[arg(long, conflicts_with = "output")]
    pub explain_reads: bool,
}

/// Options of `snapshot`.
#[derive(Debug, Args)]
#[command(mut_arg("output", |output| output.value_name("FILE").help("The file of the snapshot; `-` for standard output (default)")))]
pub struct SnapshotArgs {
    /// What the World is read for.
    #[command(flatten)]
    pub source: super::source::SourceArgs,
    /// Options that every judging command has.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `post-render`.
#[derive(Debug, Args)]
pub struct PostRenderArgs {
    /// Options that every judging command has.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Whether pins are recorded and approvals used up: auto = yes, unless the parent is known not to write.
    #[arg(long, value_enum, default_value_t = Commit::Auto)]
    pub commit: Commit,
    /// Let a held install through without an approval of it, where the policy allows that (approvals.breakGlass): say why. It stands
    /// in the first and the last line of the report, and is written down where approvals are kept.
    #[arg(long, env = "ROLLGATE_BREAK_GLASS", value_name = "REASON")]
    pub break_glass: Option<String>,
}

/// Whether an allowed run records what it found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Commit {
    /// Record, unless the parent is known not to write (`helm template`, a dry run).
    Auto,
    /// Record in any case.
    Always,
    /// Record nothing.
    Never,
}

impl From<Commit> for session::Commit {
    fn from(wish: Commit) -> Self {
        match wish {
            Commit::Auto => Self::Auto,
            Commit::Always => Self::Always,
            Commit::Never => Self::Never,
        }
    }
}

/// Options that every judging command has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "How it is judged")]
pub struct CommonArgs {
    /// The policy: a file, a ConfigMap of the cluster, or `none` for the safe defaults. `plan` looks for rollgate.yaml upward; `post-render` must be told.
    #[arg(long, env = "ROLLGATE_POLICY", value_name = "FILE|configmap/[NAMESPACE/]NAME|none")]
    pub policy: Option<String>,
    /// What was told of it, where that of the base counts.
    #[arg(skip)]
    pub told_policy: Option<String>,
    /// A file with rules of your own, a pack (docs/own-rules.md); several times if wanted.
    #[arg(long, value_name = "FILE")]
    pub pack: Vec<PathBuf>,
    /// What the API server holds: `cluster`, a World, a manifest file or folder, or `none`.
    #[arg(long, value_name = "cluster|PATH|none", default_value = "cluster")]
    pub live: String,
    /// What the host wrote last time: a manifest file, `release` for the release record, or `none`.
    #[arg(long, value_name = "PATH|release|none")]
    pub base: Option<String>,
    /// Name of the release.
    #[arg(long, env = "ROLLGATE_RELEASE")]
    pub release: Option<String>,
    /// Namespace of the release.
    #[arg(long, short = 'n', env = "ROLLGATE_NAMESPACE")]
    pub namespace: Option<String>,
    /// Namespace of the release record, if it is not that of the release (`storageNamespace` of a Flux HelmRelease), or of the Application
    /// of Argo CD, if it is not argocd.
    #[arg(long, env = "ROLLGATE_STORAGE_NAMESPACE", value_name = "NAMESPACE")]
    pub storage_namespace: Option<String>,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub kube_context: Option<String>,
    /// Who writes; detected by default.
    #[arg(long, value_enum)]
    pub host: Option<HostKind>,
    /// How it writes; by default taken from the host and the release record.
    #[arg(long, value_enum)]
    pub method: Option<WriteMethod>,
    /// The host takes over fields that other managers own, as --force-conflicts of Helm 4 and kubectl does.
    #[arg(long)]
    pub force_conflicts: bool,
    /// The stream is a stored revision that is written again (`helm rollback`); --base is the last manifest. `helm rollgate rollback` sets this.
    #[arg(long, hide = true)]
    pub rolls_back: bool,
    /// kubectl deletes what it applied before and the stream lacks (`kubectl apply --prune`); --base is what it applied last.
    #[arg(long)]
    pub prune: bool,
    /// How the report is written: FORMAT or FORMAT=FILE, several times if wanted. Formats: human, json, markdown, sarif, junit,
    /// gitlab, github, html.
    #[arg(long, short = 'o', value_name = "FORMAT[=FILE]")]
    pub output: Vec<String>,
    /// Leave the evidence out of the report for people: show the verdict, the reasons and the table of Machines.
    #[arg(long)]
    pub summary: bool,
    /// Version of a provider, such as cluster-api=v1.11.3; overrides what is detected.
    #[arg(long, value_name = "NAME=VERSION")]
    pub provider: Vec<String>,
    /// A feature gate of the controllers, such as InPlaceUpdates=true.
    #[arg(long, value_name = "NAME=BOOL")]
    pub feature_gate: Vec<String>,
    /// Take this time for now, so that a run can be repeated.
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<Timestamp>,
    /// Stop reading after this long; what is not read by then is undecided.
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub deadline: String,
    /// A snapshot older than this is no answer: the run is undecided. By default one older than an hour is a warning.
    #[arg(long, value_name = "DURATION")]
    pub max_age: Option<String>,
    /// Longest time to wait for late values; overrides the policy's.
    #[arg(long, value_name = "DURATION")]
    pub wait: Option<String>,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A rule id, a field, a kind, a word of a report, or `last`.
    #[arg(required_unless_present = "check_pack")]
    pub what: Option<String>,
    /// Check a file with rules of your own and report everything that is wrong with it.
    #[arg(long, value_name = "FILE", conflicts_with = "what")]
    pub check_pack: Option<PathBuf>,
    /// The policy whose rules are explained too; by default the nearest rollgate.yaml upward.
    #[arg(long, env = "ROLLGATE_POLICY", value_name = "FILE|none")]
    pub policy: Option<String>,
    /// A file with rules of your own; several times if wanted.
    #[arg(long, value_name = "FILE")]
    pub pack: Vec<PathBuf>,
}

/// Options of `helm`.
#[derive(Debug, Args)]
#[command(after_help = super::helm::HELP)]
pub struct HelmArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: HelmCommand,
}

/// What `helm` can do.
#[derive(Debug, Subcommand)]
pub enum HelmCommand {
    /// Link the plugins for the Helm that runs this, each where it does no harm.
    Setup {
        /// The Helm to ask for its version.
        #[arg(long, env = "HELM_BIN", default_value = "helm", value_parser = helm_program)]
        helm: PathBuf,
        /// Say what would be linked, and link nothing.
        #[arg(long)]
        dry_run: bool,
        /// Print only the value of HELM_PLUGINS with which this Helm finds them.
        #[arg(long)]
        path: bool,
    },
    /// `install`, `upgrade`, `template` or `rollback` with Helm's own arguments: runs Helm behind the gate.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// The Helm to run; a variable that a pipeline sets to nothing names the usual one.
pub(super) fn helm_program(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    Ok(PathBuf::from(if text.is_empty() { "helm" } else { text }))
}

/// Options of `debug`.
#[derive(Debug, Args)]
pub struct DebugArgs {
    /// What to look at.
    #[command(subcommand)]
    pub command: DebugCommand,
}

/// What `debug` can show.
#[derive(Debug, Subcommand)]
pub enum DebugCommand {
    /// Each document of a stream as one line of JSON, exactly as Kubernetes would read it.
    Yaml {
        /// The stream; `-` or nothing for standard input.
        file: Option<PathBuf>,
    },
}
