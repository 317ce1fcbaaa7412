//! Options that say where late values are known from, for commands that read nothing else.

use clap::Args;
use jiff::Timestamp;

use super::{Stop, run};
use crate::host::Told;
use crate::session::{Live, Options};

/// Options that say where late values are known from.
#[derive(Debug, Clone, Args)]
pub struct KnownArgs {
    /// The policy; rollgate.yaml is looked for upward where none is told.
    #[arg(long, env = "ROLLGATE_POLICY", value_name = "FILE")]
    pub policy: Option<String>,
    /// Where objects are read: `cluster`, a snapshot, a manifest file or folder, or `none`.
    #[arg(long, value_name = "cluster|PATH|none", default_value = "cluster")]
    pub live: String,
    /// Name of the release.
    #[arg(long, env = "ROLLGATE_RELEASE")]
    pub release: Option<String>,
    /// Namespace of the release.
    #[arg(long, short = 'n', env = "ROLLGATE_NAMESPACE")]
    pub namespace: Option<String>,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub kube_context: Option<String>,
    /// The clock, for runs that can be repeated.
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<Timestamp>,
    /// Longest time for one read of the cluster.
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub deadline: String,
}

impl KnownArgs {
    /// What they say.
    pub(super) fn options(&self) -> Result<Options, Stop> {
        Ok(Options {
            policy: self.policy.clone(),
            live: Live::of(&self.live),
            told: Told {
                kind: None,
                release: self.release.clone(),
                namespace: self.namespace.clone(),
                context: self.kube_context.clone(),
                method: None,
            },
            now: self.now,
            deadline: run::duration(&self.deadline, "--deadline")?,
            ..Options::default()
        })
    }
}
