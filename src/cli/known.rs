//! Options of the commands that know late values and judge nothing: `values`, `pin`, `flux values`.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;

use super::Stop;
use super::called::Called;
use crate::host::ToldHost;
use crate::policy::{self, Loaded, Policy};
use crate::session::late::{LateSources, LateValues};
use crate::session::{Live, Untold, Whence, policy as in_force};

/// Options that say where late values are known from.
#[derive(Debug, Clone, Args)]
pub struct KnownArgs {
    /// The policy; rollgate.yaml is looked for upward where none is told.
    #[arg(long, env = "ROLLGATE_POLICY", value_name = "FILE|configmap/[NAMESPACE/]NAME")]
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
    /// The policy that was told, else the nearest one above `near` or the working directory; `None` where there is none.
    pub(super) fn policy(&self, near: Option<&Path>) -> Result<Option<Loaded>, Stop> {
        let near = near.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        in_force::load(self.policy.as_deref(), Untold::Look(near), self.whence()?)
    }

    /// Where a policy of the cluster is read.
    fn whence(&self) -> Result<Whence<'_>, Stop> {
        let (context, namespace) = (self.kube_context.as_deref(), self.namespace.as_deref());
        Ok(Whence { context, namespace, deadline: duration(&self.deadline, "--deadline")? })
    }

    /// The late values of a policy, known from what these options say.
    pub(super) fn late_values<'a>(
        &self,
        policy: &'a Policy,
        folder: &'a Path,
        digest: &'a str,
        wait: Option<Duration>,
    ) -> Result<LateValues<'a>, Stop> {
        let told = ToldHost {
            release: self.release.clone(),
            namespace: self.namespace.clone(),
            context: self.kube_context.clone(),
            ..ToldHost::default()
        };
        let (live, deadline) = (Live::parse(&self.live), duration(&self.deadline, "--deadline")?);
        LateValues::new(LateSources { policy, folder, digest, told, live, now: self.now, deadline, wait })
    }

    /// How this run was called.
    pub(super) fn called<'s>(&'s self, known: &'s LateValues<'_>, policy: Option<&'s str>) -> Called<'s> {
        Called {
            policy,
            packs: &[],
            live: Some(self.live.as_str()).filter(|live| *live != "cluster" && known.policy().pins.file.is_some()),
            namespace: known.host().namespace.as_deref(),
            context: known.host().context.as_deref(),
        }
    }
}

/// A length of time that an option names.
pub(super) fn duration(text: &str, option: &str) -> Result<Duration, Stop> {
    policy::duration(text).with_context(|| format!("{option} {text}")).map_err(Stop::usage)
}
