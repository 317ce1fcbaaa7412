//! `rollgate serve`: the admission webhook, and what is applied to a cluster so that it is asked.

mod manifests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand, ValueEnum};

use super::known::duration;
use super::setup::{feature_gates, providers};
use super::{Outside, Stop};
use crate::exit::Exit;
use crate::host::{Host, ToldHost};
use crate::serve::judge::{Doubtful, Manner, Mode};
use crate::serve::{self, Files, Options, Own, Source, Tls, releases};
use crate::session::{InForce, Live, Setup, Untold, Whence, connect, detect, environment, packs};
use crate::world::files;

/// Shortest life of a certificate that is made here; in less nobody hears of another one in time.
const SHORTEST: Duration = Duration::from_secs(30);
/// Longest.
const LONGEST: Duration = Duration::from_secs(87_600 * 3_600);

/// Options of `serve`.
#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
pub struct ServeArgs {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
    /// The policy: a file, a ConfigMap of the cluster, or `none` for the safe defaults. It is read once, at the start.
    #[arg(long, env = "ROLLGATE_POLICY", value_name = "FILE|configmap/NAMESPACE/NAME|none", required = true)]
    pub policy: Option<String>,
    /// The certificate, in PEM, with those between it and its authority. It is read again when the file changes.
    #[arg(long, value_name = "FILE", required_unless_present = "tls_secret", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// In place of both: a Secret, in which the replicas share a certificate that they make and renew themselves. It has to be
    /// there; nothing else of it is touched.
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with = "tls_cert", requires_all = ["tls_configuration", "tls_name"])]
    pub tls_secret: Option<String>,
    /// The ValidatingWebhookConfiguration whose caBundle is kept right.
    #[arg(long, value_name = "NAME", requires = "tls_secret")]
    pub tls_configuration: Option<String>,
    /// A name or an address that the API server asks at, such as rollgate.rollgate-system.svc; several times if wanted.
    #[arg(long, value_name = "NAME", requires = "tls_secret")]
    pub tls_name: Vec<String>,
    /// How long such a certificate is valid, at least 30s; another one takes its place after two thirds of that.
    #[arg(long, value_name = "DURATION", default_value = "2160h", requires = "tls_secret")]
    pub tls_life: String,
    /// Where it listens.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "[::]:9443")]
    pub listen: SocketAddr,
    /// Whether a write that would be held is refused, or let through with a warning and counted.
    #[arg(long, value_enum, default_value_t = ServeMode::Observe)]
    pub mode: ServeMode,
    /// What becomes of a write that cannot be judged, under --mode enforce.
    #[arg(long, value_enum, default_value_t = Then::Hold)]
    pub on_undecided: Then,
    /// What becomes of a write while the cluster is not read, under --mode enforce.
    #[arg(long, value_enum, default_value_t = Then::Hold)]
    pub not_ready: Then,
    /// What the API server holds: `cluster`, or a World, a manifest file or folder in which nothing changes, to try a policy out.
    #[arg(long, value_name = "cluster|PATH", default_value = "cluster")]
    pub live: String,
    /// Context of the kubeconfig; in a Pod its service account is used.
    #[arg(long, value_name = "NAME")]
    pub kube_context: Option<String>,
    /// A file with rules of your own, a pack (docs/own-rules.md); several times if wanted.
    #[arg(long, value_name = "FILE")]
    pub pack: Vec<PathBuf>,
    /// Version of a provider, such as cluster-api=v1.11.3; overrides what is detected.
    #[arg(long, value_name = "NAME=VERSION")]
    pub provider: Vec<String>,
    /// A feature gate of the controllers, such as InPlaceUpdates=true.
    #[arg(long, value_name = "NAME=BOOL")]
    pub feature_gate: Vec<String>,
    /// The gate of HelmReleases.
    #[command(flatten)]
    pub gate: GateArgs,
    /// Most connections at one time.
    #[arg(long, value_name = "NUMBER", default_value_t = 512)]
    pub connections: usize,
    /// How long answers under way may take when a signal ends it.
    #[arg(long, value_name = "DURATION", default_value = "25s")]
    pub drain: String,
}

/// Options of the gate of HelmReleases.
#[derive(Debug, Args)]
#[command(next_help_heading = "For Flux")]
pub struct GateArgs {
    /// Keep HelmReleases with the annotation rollgate.dev/gate: enabled suspended, and resume each for exactly what was judged.
    #[arg(long)]
    pub gate_releases: bool,
    /// Publish the values that the policy names (`flux.values`) as soon as their late values are known, and hold one that moves.
    #[arg(long)]
    pub publish_values: bool,
    /// Namespace of the Leases by which one of several replicas gates, and one publishes; by default that of the Pod or of the context.
    #[arg(long, value_name = "NAMESPACE")]
    pub lease_namespace: Option<String>,
    /// Where notification-controller takes events, such as http://notification-controller.flux-system.svc.cluster.local./
    #[arg(long, value_name = "URL")]
    pub notify: Option<String>,
    /// The Helm that renders charts.
    #[arg(long, env = "HELM_BIN", value_name = "PROGRAM", default_value = "helm", value_parser = super::args::helm_program)]
    pub helm: PathBuf,
    /// What runs post-renderers: kustomize or kubectl; by default the first of them on the path.
    #[arg(long, value_name = "PROGRAM")]
    pub kustomize: Option<PathBuf>,
}

/// What `serve` can do instead of serving.
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Print what is applied to a cluster to install the webhook: kubectl apply -f -.
    Manifests(Box<ManifestArgs>),
}

/// Whether holds refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ServeMode {
    /// What would be held is let through with a warning.
    Observe,
    /// What is held is refused.
    Enforce,
}

/// What becomes of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Then {
    /// It is let through with a warning.
    Allow,
    /// It is refused.
    Hold,
}

/// What the API server does if the webhook does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailurePolicy {
    /// The write goes on, unjudged.
    Ignore,
    /// The write is refused, whoever makes it, except the users that are skipped.
    Fail,
}

/// Who makes the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Certificates {
    /// The server itself, in a Secret that its replicas share.
    Own,
    /// cert-manager.
    CertManager,
}

/// Options of `serve manifests`.
#[derive(Debug, Args)]
pub struct ManifestArgs {
    /// The image that runs `rollgate serve`; the binary of pipelines has no server.
    #[arg(long, value_name = "IMAGE")]
    pub image: String,
    /// Namespace that all of it is put into, and that is made for it.
    #[arg(long, short = 'n', value_name = "NAMESPACE", default_value = "rollgate-system")]
    pub namespace: String,
    /// The policy: a ConfigMap of the cluster, or `none` for the safe defaults.
    #[arg(long, value_name = "configmap/NAMESPACE/NAME|none", default_value = "none")]
    pub policy: String,
    /// Whether a write that would be held is refused, or let through with a warning and counted.
    #[arg(long, value_enum, default_value_t = ServeMode::Observe)]
    pub mode: ServeMode,
    /// What the API server does with a write while nobody answers: `ignore` lets it go on unjudged, `fail` refuses it.
    #[arg(long, value_enum, default_value_t = FailurePolicy::Ignore)]
    pub failure_policy: FailurePolicy,
    /// How long the API server waits for an answer, in seconds, 2 to 30.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u8).range(2..=30))]
    pub timeout: u8,
    /// With the gate of HelmReleases, and the rights that it needs; the image has to hold Helm and kustomize then.
    #[arg(long)]
    pub gate_releases: bool,
    /// With the values that the policy publishes (`flux.values`), and the rights that this needs.
    #[arg(long)]
    pub publish_values: bool,
    /// Where notification-controller takes what the gate says.
    #[arg(long, value_name = "URL", requires = "gate_releases")]
    pub notify: Option<String>,
    /// Replicas of the server.
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    pub replicas: u8,
    /// A user whose writes are not judged, beside the controllers of Cluster API and the garbage collector, such as
    /// system:serviceaccount:kube-system:cluster-autoscaler; several times if wanted.
    #[arg(long, value_name = "USER")]
    pub skip: Vec<String>,
    /// The label of the Secrets and ConfigMaps whose writes are judged.
    #[arg(long, value_name = "LABEL", default_value = "cluster.x-k8s.io/cluster-name")]
    pub data_label: String,
    /// Who makes the certificate, unless you bring your own.
    #[arg(long, value_enum, default_value_t = Certificates::Own)]
    pub certificates: Certificates,
    /// The authority of your own certificate, in PEM; the Secret rollgate-tls then has to hold tls.crt and tls.key.
    #[arg(long, value_name = "FILE", conflicts_with = "certificates")]
    pub ca_bundle: Option<PathBuf>,
}

pub(super) fn run(args: &ServeArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    match &args.command {
        Some(ServeCommand::Manifests(wanted)) => manifests::print(wanted, outside),
        None => answer(args),
    }
}

/// Where the certificate comes from.
fn tls(args: &ServeArgs) -> Result<Tls, Stop> {
    let Some(secret) = &args.tls_secret else {
        let told = |file: &Option<PathBuf>, option: &str| {
            file.clone().with_context(|| format!("{option} is missing")).map_err(Stop::usage)
        };
        let (certificate, key) = (told(&args.tls_cert, "--tls-cert")?, told(&args.tls_key, "--tls-key")?);
        return Ok(Tls::Files(Files { certificate, key }));
    };
    let place = secret.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, name) =
        place.with_context(|| format!("--tls-secret {secret}: write NAMESPACE/NAME")).map_err(Stop::usage)?;
    let life = duration(&args.tls_life, "--tls-life")?;
    if life < SHORTEST || life > LONGEST {
        return Err(Stop::usage(anyhow!("--tls-life {}: at least 30s, at most 87600h", args.tls_life)));
    }
    if Live::parse(&args.live) != Live::Cluster {
        return Err(Stop::usage(anyhow!(
            "--tls-secret needs a cluster; with --live {} pass --tls-cert and --tls-key",
            args.live
        )));
    }
    Ok(Tls::Own(Own {
        namespace: namespace.to_owned(),
        secret: name.to_owned(),
        configuration: args.tls_configuration.clone().unwrap_or_default(),
        names: args.tls_name.clone(),
        life,
    }))
}

impl GateArgs {
    fn options(&self, home: &str) -> releases::Options {
        releases::Options {
            namespace: self.lease_namespace.clone().unwrap_or_else(|| home.to_owned()),
            helm: self.helm.clone(),
            kustomize: self.kustomize.clone(),
            notify: self.notify.clone(),
        }
    }
}

fn answer(args: &ServeArgs) -> Result<Exit, Stop> {
    let then = |then: Then| if then == Then::Allow { Doubtful::Allow } else { Doubtful::Hold };
    let mode = if args.mode == ServeMode::Enforce { Mode::Enforce } else { Mode::Observe };
    let mut options = Options {
        gate: None,
        publish: None,
        listen: args.listen,
        tls: tls(args)?,
        manner: Manner { mode, undecided: then(args.on_undecided), not_ready: then(args.not_ready) },
        connections: args.connections,
        drain: duration(&args.drain, "--drain")?,
    };
    let whence = Whence { context: args.kube_context.as_deref(), ..Whence::default() };
    let policy = InForce::of(args.policy.as_deref(), Untold::Refuse, whence)?;
    let mut setup = Setup::new(policy, environment())?;
    packs::add(&args.pack, &mut setup.policy, &mut setup.policy_report)?;
    setup.providers = providers("--provider", &args.provider).map_err(Stop::usage)?;
    setup.feature_gates = feature_gates(&args.feature_gate).map_err(Stop::usage)?;
    setup.told = ToldHost { context: args.kube_context.clone(), ..ToldHost::default() };
    let source = match Live::parse(&args.live) {
        Live::Path(path) => {
            let mut world = files::open(&path, &Host::default(), setup.now).map_err(Stop::usage)?.world;
            setup.tell(&mut world);
            Source::World(Box::new(world))
        }
        Live::Cluster | Live::Nothing => {
            let detected = detect(&setup.told, None, &setup.env);
            Source::Cluster(Box::new(connect(&detected, &setup.env, setup.deadline)?))
        }
    };
    if let (true, Source::Cluster(cluster)) = (args.gate.gate_releases, &source) {
        options.gate = Some(args.gate.options(cluster.namespace()));
    }
    if args.gate.publish_values {
        if setup.policy.flux.values.is_empty() {
            return Err(Stop::usage(anyhow!("--publish-values: the policy names nothing to publish (flux.values)")));
        }
        let home = if let Source::Cluster(cluster) = &source { cluster.namespace() } else { "" };
        options.publish = Some(args.gate.lease_namespace.clone().unwrap_or_else(|| home.to_owned()));
    }
    let whole = serve::run(&options, &setup, source)?;
    Ok(if whole { Exit::Allow } else { Exit::Internal })
}
