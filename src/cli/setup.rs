//! What every judging command starts with: its options read and checked, the policy in force, and how its pages look.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use jiff::Timestamp;

use super::args::{Colour, CommonArgs};
use super::called::Called;
use super::input::Input;
use super::output::Output;
use super::policy_object::{self, Whence};
use super::revisions::Range;
use super::{Outside, Stop, packs};
use crate::approval;
use crate::compare::redact::MarkKey;
use crate::history;
use crate::host::Host;
use crate::late::Reach;
use crate::pin::FileStore;
use crate::pipeline::{Apart, Question};
use crate::policy::{self, ApprovalPlace, HistoryPlace, Loaded, Policy, Revision};
use crate::providers::gates;
use crate::report::{PolicyReport, human};
use crate::rules;
use crate::world::{Provider, World};

/// The environment as text.
pub(super) type Variables = BTreeMap<String, String>;

/// The environment; a variable that is not text is not there.
pub(super) fn environment() -> Variables {
    std::env::vars_os().filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?))).collect()
}

/// Whether a stream is painted.
pub(super) fn paint(colour: Colour, terminal: bool) -> human::Paint {
    human::Paint(match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|text| text.is_empty()),
    })
}

/// How a report for people looks on a stream.
pub(super) fn page(colour: Colour, terminal: bool, summary: bool, outside: &Outside<'_>) -> human::Page {
    let width = outside.columns.unwrap_or(human::WIDTH);
    human::Page { paint: paint(colour, terminal), width, is_summary: summary }
}

/// Which policy is in force where none is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Untold {
    /// Look upward for rollgate.yaml, else the safe defaults.
    Look,
    /// Refuse: a post-renderer must not change its mind with the folder that it is run from.
    Refuse,
}

/// Options, read and checked.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) outputs: Vec<Output>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) policy: Policy,
    pub(super) policy_report: PolicyReport,
    /// The file of the policy, where there is one that a command here can be told.
    pub(super) policy_file: Option<String>,
    pub(super) policy_folder: PathBuf,
    /// The folder of the policy in the change that is judged, where two revisions are compared.
    pub(super) change_folder: Option<PathBuf>,
    /// The commits that are judged, where two revisions are compared.
    pub(super) commits: Option<Range>,
    pub(super) providers: BTreeMap<String, Provider>,
    pub(super) feature_gates: BTreeMap<String, bool>,
    pub(super) now: Timestamp,
    pub(super) deadline: Duration,
    pub(super) max_age: Option<Duration>,
    pub(super) wait: Option<Duration>,
    /// What the marks of hidden values are made with.
    pub(super) key: MarkKey,
    /// Whether that key was told, and so outlives the run.
    pub(super) key_is_told: bool,
    /// What is judged beside the stream.
    pub(super) apart: Arc<Apart>,
}

impl CommonArgs {
    /// Where a policy of the cluster is read.
    pub(super) fn whence(&self) -> Whence<'_> {
        Whence::of(self.kube_context.as_ref(), self.namespace.as_ref(), &self.deadline)
    }
}

impl Setup {
    /// Reads the options and the policy.
    pub(super) fn new(args: &CommonArgs, untold: Untold) -> Result<Self, Stop> {
        let (mut policy, mut policy_report, policy_folder) = policy(args.policy.as_deref(), untold, args.whence())?;
        let policy_file = Some(policy_report.source.clone()).filter(|_| !policy_report.is_built_in());
        packs::add(&args.pack, &mut policy, &mut policy_report)?;
        let outputs: anyhow::Result<Vec<Output>> = args.output.iter().map(|text| Output::parse(text)).collect();
        let duration = |text: &str, option: &str| {
            policy::duration(text).with_context(|| format!("{option} {text}")).map_err(Stop::usage)
        };
        let env = environment();
        let told = mark_key(&env).map_err(Stop::usage)?;
        Ok(Self {
            key_is_told: told.is_some(),
            key: told.unwrap_or_else(MarkKey::fresh),
            outputs: outputs.map_err(Stop::usage)?,
            env,
            policy,
            policy_report,
            policy_file,
            policy_folder,
            change_folder: None,
            commits: None,
            apart: Arc::default(),
            providers: providers(&args.provider).map_err(Stop::usage)?,
            feature_gates: feature_gates(&args.feature_gate).map_err(Stop::usage)?,
            now: args.now.unwrap_or_else(Timestamp::now),
            deadline: duration(&args.deadline, "--deadline")?,
            max_age: args.max_age.as_deref().map(|text| duration(text, "--max-age")).transpose()?,
            wait: args.wait.as_deref().map(|text| duration(text, "--wait")).transpose()?,
        })
    }

    /// Where the reports go; for people on the stream where nothing is said.
    pub(super) fn outputs(&self) -> &[Output] {
        if self.outputs.is_empty() { &[Output::HUMAN] } else { &self.outputs }
    }

    /// What was told and changes nothing, though somebody means it to.
    pub(super) fn idle(&self) -> impl Iterator<Item = String> {
        let is_known = |name: &str| gates::all().any(|gate| gate.name == name);
        let names =
            || gates::all().map(|gate| gate.name).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ");
        let unknown = self.feature_gates.keys().filter(move |name| !is_known(name));
        unknown.map(move |name| format!("--feature-gate {name}: nothing here depends on it; known are {}", names()))
    }

    /// The clock.
    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Puts into a World what was told on the command line.
    pub(super) fn tell(&self, world: &mut World) {
        world.providers.extend(self.providers.clone());
        world.feature_gates.extend(self.feature_gates.clone());
    }

    /// The store of the pins, where the policy names a file.
    pub(super) fn pin_file(&self) -> Option<FileStore> {
        Some(FileStore::new(self.policy_folder.join(self.policy.pins.file.as_ref()?)))
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

    /// How this run was called. Pins of a file are compared with the same objects again; those of a cluster are in the cluster.
    pub(super) fn called<'s>(&'s self, args: &'s CommonArgs, host: &'s Host) -> Called<'s> {
        Called {
            policy: self.policy_file.as_deref(),
            packs: &args.pack,
            live: Some(args.live.as_str()).filter(|live| *live != "cluster" && self.policy.pins.file.is_some()),
            namespace: host.namespace.as_deref(),
            context: host.context.as_deref(),
        }
    }

    pub(super) fn question(&self, input: &Input, reach: Reach) -> Question {
        let (stream, files) = (Arc::clone(&input.bytes), input.files.clone());
        let (policy, policy_report, key) = (self.policy.clone(), self.policy_report.clone(), self.key.clone());
        let (key_lasts, break_glass, goes_out) = (self.key_is_told, None, false);
        let apart = Arc::clone(&self.apart);
        Question { stream, files, policy, policy_report, reach, key, key_lasts, break_glass, goes_out, apart }
    }
}

/// The key of the marks, where the environment has one: then the marks and digests of several runs can be compared.
fn mark_key(env: &BTreeMap<String, String>) -> anyhow::Result<Option<MarkKey>> {
    let Some(text) = env.get("ROLLGATE_KEY").filter(|text| !text.is_empty()) else { return Ok(None) };
    let key = MarkKey::of_text(text);
    ensure!(key.is_some(), "ROLLGATE_KEY is too short to be kept secret; give it 32 random characters or more");
    Ok(key)
}

/// The policy in force, how the report calls it, and the folder that its files start from.
pub(super) fn policy(
    told: Option<&str>,
    untold: Untold,
    whence: Whence<'_>,
) -> Result<(Policy, PolicyReport, PathBuf), Stop> {
    let here = PathBuf::from(".");
    let built_in = || {
        let report = PolicyReport { source: PolicyReport::BUILT_IN.to_owned(), digest: policy::digest(b"") };
        (Policy::default(), report, here.clone())
    };
    let file = match (told, untold) {
        (Some("none"), _) => return Ok(built_in()),
        (Some(told), _) if policy_object::is_object(told) => return Ok(parts(policy_object::load(told, whence)?)),
        (Some(file), _) => PathBuf::from(file),
        (None, Untold::Look) => match policy::find(&here).map_err(Stop::usage)? {
            Some(file) => file,
            None => return Ok(built_in()),
        },
        (None, Untold::Refuse) => {
            return Err(Stop::usage(anyhow!(
                "no policy was told; give --policy FILE or set ROLLGATE_POLICY, or --policy none for the safe defaults"
            )));
        }
    };
    let loaded = Loaded::from_file(&file).map_err(Stop::usage)?;
    Ok(parts(loaded))
}

/// A policy, how the report calls it, and the folder that its files start from.
fn parts(loaded: Loaded) -> (Policy, PolicyReport, PathBuf) {
    let report = PolicyReport { source: loaded.file.display().to_string(), digest: loaded.digest };
    (loaded.policy, report, loaded.folder)
}

fn providers(told: &[String]) -> anyhow::Result<BTreeMap<String, Provider>> {
    told.iter()
        .map(|text| {
            let (name, version) =
                text.split_once('=').with_context(|| format!("--provider {text}: write NAME=VERSION"))?;
            let names = || rules::known().collect::<Vec<_>>().join(", ");
            ensure!(rules::is_known(name), "--provider {text}: nothing is known about {name}; known are {}", names());
            semver::Version::parse(version.trim_start_matches('v'))
                .with_context(|| format!("--provider {text}: {version} is no version such as v1.11.3"))?;
            Ok((name.to_owned(), Provider { version: version.to_owned(), evidence: "told".to_owned() }))
        })
        .collect()
}

fn feature_gates(told: &[String]) -> anyhow::Result<BTreeMap<String, bool>> {
    told.iter()
        .map(|text| {
            let (name, on) = text.split_once('=').with_context(|| format!("--feature-gate {text}: write NAME=true"))?;
            let on = on.parse().with_context(|| format!("--feature-gate {text}: {on} is neither true nor false"))?;
            let known = || gates::all().map(|gate| gate.name);
            let near = policy::nearest(name, known()).filter(|near| *near != name);
            if let Some(near) = near.filter(|_| !known().any(|known| known == name)) {
                bail!("--feature-gate {text}: nothing depends on a gate {name}; did you mean {near}?");
            }
            Ok((name.to_owned(), on))
        })
        .collect()
}
