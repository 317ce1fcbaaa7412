//! What each gate does: the answers per effect, how many Machines, when, and what the state of the cluster does.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a gate answers when it finds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Answer"))]
#[serde(rename_all = "lowercase")]
pub enum GateAnswer {
    /// Say nothing.
    Allow,
    /// Say it, and go on.
    Warn,
    /// Stop the install.
    Hold,
}

/// What each gate does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Gates {
    /// A change that is propagated to Machines without replacing them.
    pub in_place: GateAnswer,
    /// A change of the number of Machines.
    pub scale: GateAnswer,
    /// Fewer Machines of a control plane, or more workers of one owner taken away at once than `maxMachines` says (3 where it says
    /// nothing).
    pub scale_in: GateAnswer,
    /// Kubernetes versions that do not fit together after the write: a control plane that skips a minor version or goes back, workers
    /// that are newer than their control plane or too far behind it.
    pub version: GateAnswer,
    /// A change that lands with the next new Machine.
    pub latent: GateAnswer,
    /// A change that replaces Machines. Where nothing is said: hold, and with `windows` a warning while one of them is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<GateAnswer>,
    /// A write that the API server will refuse.
    pub rejected: GateAnswer,
    /// A change that destroys Machines.
    pub delete: GateAnswer,
    /// A change that moves load balancers, networks or security groups at once.
    pub infrastructure: GateAnswer,
    /// Most Machines that one run may replace or remove without a hold, whatever the other gates say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_machines: Option<u64>,
    /// How many Machines may go of one cluster, and in a day.
    #[serde(skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// Most Machines of one cluster that may be missing or not ok at one time while its owners roll; owners that roll together count
    /// together. `null` for no limit.
    pub max_unavailable: Option<u64>,
    /// When rollouts may start; outside of them a rollout is held.
    pub windows: Vec<Window>,
    /// When nothing may be replaced or destroyed, whatever the windows say.
    pub freezes: Vec<Freeze>,
    /// What to do with a change that replaces or deletes Machines once a pause or another block ends.
    pub paused: Later,
    /// What the state of the cluster does.
    pub health: HealthGates,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            in_place: GateAnswer::Allow,
            scale: GateAnswer::Allow,
            scale_in: GateAnswer::Hold,
            version: GateAnswer::Hold,
            latent: GateAnswer::Warn,
            rollout: None,
            rejected: GateAnswer::Hold,
            delete: GateAnswer::Hold,
            infrastructure: GateAnswer::Warn,
            max_machines: None,
            budget: Budget::default(),
            max_unavailable: Some(1),
            windows: Vec::new(),
            freezes: Vec::new(),
            paused: Later::default(),
            health: HealthGates::default(),
        }
    }
}

impl Gates {
    /// What a change that replaces Machines meets, whatever the clock says.
    #[must_use]
    pub fn on_rollout(&self) -> GateAnswer {
        self.rollout.unwrap_or(GateAnswer::Hold)
    }
}

/// How many Machines may go of one cluster, and in a day. What went in a day is counted from what post-renderers noted of the installs
/// that they let out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Budget {
    /// Most Machines of one cluster that one run may replace or remove without a hold; no limit where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_cluster: Option<u64>,
    /// Most Machines that all runs of 24 hours may replace or remove without a hold, of all clusters that one history is kept of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_day: Option<u64>,
    /// Most Machines of one cluster that all runs of 24 hours may replace or remove without a hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_cluster_and_day: Option<u64>,
    /// Where to note what went out: `configmap/NAME` in the namespace of the release, `configmap/NAMESPACE/NAME` for releases of several
    /// namespaces, or a file that all runs share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryPlace>,
}

impl Budget {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it counts what went in a day.
    #[must_use]
    pub const fn counts_days(&self) -> bool {
        self.per_day.is_some() || self.per_cluster_and_day.is_some()
    }
}

/// A place where it is noted what went out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub enum HistoryPlace {
    /// `configmap/NAME` or `configmap/NAMESPACE/NAME`.
    Object(String),
    /// A file.
    File(HistoryFile),
}

/// A file in which it is noted what went out. It must be there, if empty: one that is made anew for each run remembers nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryFile {
    /// Its path, beside the policy unless it is absolute.
    pub file: String,
}

impl HistoryPlace {
    /// Namespace, where one is said, and name of the ConfigMap, where it is one.
    #[must_use]
    pub fn config_map(&self) -> Option<(Option<&str>, &str)> {
        let Self::Object(text) = self else { return None };
        let rest = text.strip_prefix("configmap/")?;
        Some(rest.split_once('/').map_or((None, rest), |(namespace, name)| (Some(namespace), name)))
    }
}

impl std::fmt::Display for HistoryPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Object(text) => f.write_str(text),
            Self::File(file) => write!(f, "file {}", file.file),
        }
    }
}

/// The answer to what lands later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Later {
    /// That of the `rollout` gate, as if it landed now.
    #[default]
    Rollout,
    /// Go on, and say nothing.
    Allow,
    /// Go on, and say it.
    Warn,
    /// Stop.
    Hold,
}

/// A time in which rollouts may start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Window {
    /// Start, as a cron line of five fields.
    pub cron: String,
    /// Length, such as `3h`.
    #[serde(rename = "for")]
    pub length: String,
    /// Time zone by its IANA name; UTC where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// A time in which nothing may be replaced or destroyed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Freeze {
    /// First day or moment of it, such as `2026-12-18` or `2026-12-18T16:00:00Z`.
    pub from: String,
    /// First day or moment after it.
    pub until: String,
    /// Time zone of days by its IANA name; UTC where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Why, as the hold says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What the state of the cluster does to a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HealthGates {
    /// etcd could lose its quorum.
    pub etcd: GateAnswer,
    /// Machines are not ok.
    pub machines: GateAnswer,
    /// A remediation is under way.
    pub remediation: GateAnswer,
    /// The control plane was never complete: something would be replaced while the cluster is still being made.
    pub bootstrap: GateAnswer,
    /// A rollout or a scaling is under way already, or a controller has not seen the last change yet.
    pub in_progress: GateAnswer,
    /// A control plane rolls, and with it the Node that has the virtual IP, which no other Node can take over. It is asked of the
    /// workload cluster: where nothing is said, `warn` with `workload.read`, else `allow`. Without `workload.read`, `warn` says that
    /// nobody looked, and `hold` is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip: Option<GateAnswer>,
    /// The drain of a Machine that goes waits for a PodDisruptionBudget that allows no disruption. It is asked of the workload cluster, as
    /// `vip` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdb: Option<GateAnswer>,
    /// Metal3: there are fewer free hosts than a rollout needs before the first old Machine goes.
    pub hosts: GateAnswer,
    /// An image that new Machines boot from is not there any more. It is asked of the servers in `images.servers`: where nothing is
    /// said, `hold` where servers are named, else `allow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<GateAnswer>,
}

impl Default for HealthGates {
    fn default() -> Self {
        Self {
            etcd: GateAnswer::Hold,
            machines: GateAnswer::Hold,
            remediation: GateAnswer::Hold,
            bootstrap: GateAnswer::Hold,
            in_progress: GateAnswer::Hold,
            vip: None,
            pdb: None,
            hosts: GateAnswer::Hold,
            images: None,
        }
    }
}

impl HealthGates {
    /// The answer of the gate about images, as it was told, or by whether a server may be asked.
    #[must_use]
    pub fn of_images(told: Option<GateAnswer>, asks: bool) -> GateAnswer {
        told.unwrap_or(if asks { GateAnswer::Hold } else { GateAnswer::Allow })
    }

    /// The answer of a gate that is asked of the workload cluster, as it was told, or by whether that may be asked.
    #[must_use]
    pub fn in_workload(told: Option<GateAnswer>, reads: bool) -> GateAnswer {
        told.unwrap_or(if reads { GateAnswer::Warn } else { GateAnswer::Allow })
    }
}
