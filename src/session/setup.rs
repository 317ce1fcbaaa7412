//! What a question is asked with: the policy in force, the environment, the clock, and what was told of the host and its cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use jiff::Timestamp;

use super::revisions::Range;
use super::{InForce, Input, Stop, pins};
use crate::approval;
use crate::compare::redact::MarkKey;
use crate::history;
use crate::host::ToldHost;
use crate::judge::upgrade::Wanted;
use crate::late::Reach;
use crate::pin::FileStore;
use crate::pipeline::{Apart, Question};
use crate::policy::{ApprovalPlace, HistoryPlace, Policy, Revision};
use crate::providers::gates;
use crate::report::PolicyReport;
use crate::world::{Provider, World};

/// The environment of the process as text; a variable that is not text is not there.
#[must_use]
pub(crate) fn environment() -> BTreeMap<String, String> {
    std::env::vars_os().filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?))).collect()
}

/// What the API server holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Live {
    /// It is asked.
    Cluster,
    /// Nothing.
    Nothing,
    /// A World, a manifest file or a folder of them.
    Path(PathBuf),
}

impl Live {
    /// Reads `cluster`, `none` or a path.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "cluster" => Self::Cluster,
            "none" => Self::Nothing,
            path => Self::Path(PathBuf::from(path)),
        }
    }
}

/// What the host wrote last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// What the release record says.
    Release,
    /// It is not known.
    Nothing,
    /// A manifest file.
    Path(PathBuf),
}

impl Base {
    /// Reads `release`, `none` or a path.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "release" => Self::Release,
            "none" => Self::Nothing,
            path => Self::Path(PathBuf::from(path)),
        }
    }
}

/// Everything that is known before anything is read.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// The policy in force.
    pub policy: Policy,
    /// How the report calls it.
    pub policy_report: PolicyReport,
    /// The file of the policy, where there is one that a command here can be told.
    pub policy_file: Option<String>,
    /// The folder that its files start from.
    pub policy_folder: PathBuf,
    /// The folder of the policy in the change that is judged, where two revisions are compared.
    pub change_folder: Option<PathBuf>,
    /// The commits that are judged, where two revisions are compared.
    pub commits: Option<Range>,
    /// What was told of the host.
    pub told: ToldHost,
    /// Where the live objects are.
    pub live: Live,
    /// What the host wrote last time, where that was told.
    pub base: Option<Base>,
    /// Namespace of the release record, where it is not that of the release.
    pub storage_namespace: Option<String>,
    /// Versions that were told.
    pub providers: BTreeMap<String, Provider>,
    /// Feature gates of the controllers that were told.
    pub feature_gates: BTreeMap<String, bool>,
    /// The clock.
    pub now: Timestamp,
    /// Whether it was told.
    pub now_is_told: bool,
    /// Longest time for one step.
    pub deadline: Duration,
    /// A World that is older is no answer.
    pub max_age: Option<Duration>,
    /// How long is waited for late values; the policy says it where nothing was told.
    pub wait: Option<Duration>,
    /// What the marks of hidden values are made with.
    pub key: MarkKey,
    /// Whether that key was told, and so outlives the run.
    pub key_is_told: bool,
    /// What is judged beside the stream.
    pub apart: Arc<Apart>,
    /// Versions of providers that come: then no stream is written, and every owner of Machines is asked about.
    pub upgrade: Wanted,
}

impl Setup {
    /// A question to the cluster that the environment names, under a policy.
    ///
    /// # Errors
    /// When the key of the marks that the environment has is none.
    pub fn new(policy: InForce, env: BTreeMap<String, String>) -> Result<Self, Stop> {
        let told = mark_key(&env).map_err(Stop::usage)?;
        Ok(Self {
            key_is_told: told.is_some(),
            key: told.unwrap_or_else(MarkKey::fresh),
            env,
            policy_file: Some(policy.report.source.clone()).filter(|_| !policy.report.is_built_in()),
            policy: policy.policy,
            policy_report: policy.report,
            policy_folder: policy.folder,
            change_folder: None,
            commits: None,
            told: ToldHost::default(),
            live: Live::Cluster,
            base: None,
            storage_namespace: None,
            providers: BTreeMap::new(),
            feature_gates: BTreeMap::new(),
            now: Timestamp::now(),
            now_is_told: false,
            deadline: Duration::from_secs(60),
            max_age: None,
            wait: None,
            apart: Arc::default(),
            upgrade: Wanted::new(),
        })
    }

    /// What was told and changes nothing, though somebody means it to.
    pub(super) fn idle(&self) -> impl Iterator<Item = String> {
        let is_known = |name: &str| gates::all().any(|gate| gate.name == name);
        let names =
            || gates::all().map(|gate| gate.name).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ");
        let unknown = self.feature_gates.keys().filter(move |name| !is_known(name));
        unknown.map(move |name| format!("--feature-gate {name}: nothing here depends on it; known are {}", names()))
    }

    /// Puts into a World what was told of the controllers.
    pub fn tell(&self, world: &mut World) {
        world.providers.extend(self.providers.clone());
        world.feature_gates.extend(self.feature_gates.clone());
    }

    /// The store of the pins, where the policy names a file.
    pub(super) fn pin_file(&self) -> Option<FileStore> {
        pins::file(&self.policy, &self.policy_folder)
    }

    /// The store of the pins as the judged change leaves it, where two revisions are compared.
    pub(super) fn pin_file_of_change(&self) -> Option<FileStore> {
        pins::file(&self.policy, self.change_folder.as_ref()?)
    }

    /// The file with approvals that a place of the policy is.
    pub(super) fn approval_file(&self, place: &ApprovalPlace) -> Option<approval::File> {
        let ApprovalPlace::File(file) = place else { return None };
        let folder = match file.of {
            Revision::Change => self.change_folder.as_ref().unwrap_or(&self.policy_folder),
            Revision::Base => &self.policy_folder,
        };
        Some(approval::File::new(folder.join(&file.file)))
    }

    /// The file with the history, where the policy names one.
    pub(super) fn history_file(&self) -> Option<history::File> {
        let Some(HistoryPlace::File(file)) = &self.policy.gates.budget.history else { return None };
        Some(history::File::new(self.policy_folder.join(&file.file)))
    }

    /// The question about writes of which both sides are given: there is no stream.
    #[must_use]
    pub fn given(&self) -> Question {
        self.question(&Input::unnamed("the review", Vec::new()), Reach::Cluster)
    }

    pub(super) fn question(&self, input: &Input, reach: Reach) -> Question {
        let (stream, files) = (input.text.clone(), input.files.clone());
        let (policy, policy_report, key) = (self.policy.clone(), self.policy_report.clone(), self.key.clone());
        let (key_lasts, break_glass, goes_out) = (self.key_is_told, None, false);
        let (apart, upgrade) = (Arc::clone(&self.apart), self.upgrade.clone());
        Question { stream, files, policy, policy_report, reach, key, key_lasts, break_glass, goes_out, apart, upgrade }
    }
}

/// The key of the marks, where the environment has one: then the marks and digests of several runs can be compared.
fn mark_key(env: &BTreeMap<String, String>) -> anyhow::Result<Option<MarkKey>> {
    let Some(text) = env.get("ROLLGATE_KEY").filter(|text| !text.is_empty()) else { return Ok(None) };
    let key = MarkKey::of_text(text);
    ensure!(key.is_some(), "ROLLGATE_KEY is too short to be kept secret; give it 32 random characters or more");
    Ok(key)
}
