//! What a judgement is told from outside, as plain data. A command line, a request and a test fill it in alike.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;

use crate::host::{self, Detected, Signs, Told, parent};
use crate::rules;
use crate::world::Provider;

/// Where live objects are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Live {
    /// The API server.
    #[default]
    Cluster,
    /// Nowhere: everything is new, as far as is known.
    Nothing,
    /// A World, a manifest, or a folder of them.
    Path(PathBuf),
}

impl Live {
    /// What `cluster`, `none` or a path means.
    #[must_use]
    pub fn of(text: &str) -> Self {
        match text {
            "cluster" => Self::Cluster,
            "none" => Self::Nothing,
            path => Self::Path(PathBuf::from(path)),
        }
    }
}

/// Where the last manifest is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BaseFrom {
    /// Nobody said: the release record, or the old render itself.
    #[default]
    Found,
    /// The same, and somebody asked for the release record.
    Release,
    /// It is not known.
    Unknown,
    /// A manifest file.
    Path(PathBuf),
}

impl BaseFrom {
    /// What `release`, `none` or a path means.
    #[must_use]
    pub fn of(text: Option<&str>) -> Self {
        match text {
            None => Self::Found,
            Some("release") => Self::Release,
            Some("none") => Self::Unknown,
            Some(path) => Self::Path(PathBuf::from(path)),
        }
    }
}

/// Everything that is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// The policy: a file, or `none` for the safe defaults.
    pub policy: Option<String>,
    /// Files with rules of the user.
    pub packs: Vec<PathBuf>,
    /// Where live objects are read.
    pub live: Live,
    /// Where the last manifest is read.
    pub base: BaseFrom,
    /// What is said of the host and the release.
    pub told: Told,
    /// Namespace of the release record, where it is not that of the release.
    pub storage_namespace: Option<String>,
    /// `NAME=VERSION` of providers.
    pub providers: Vec<String>,
    /// `NAME=BOOL` of feature gates.
    pub feature_gates: Vec<String>,
    /// The clock, where it is not the machine's.
    pub now: Option<Timestamp>,
    /// Longest time for reading.
    pub deadline: Duration,
    /// Age from which a World is warned about.
    pub max_age: Duration,
    /// Longest time to wait for late values; as the policy says where nothing is told.
    pub wait: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: None,
            packs: Vec::new(),
            live: Live::default(),
            base: BaseFrom::default(),
            told: Told::default(),
            storage_namespace: None,
            providers: Vec::new(),
            feature_gates: Vec::new(),
            now: None,
            deadline: Duration::from_mins(1),
            max_age: Duration::from_hours(1),
            wait: None,
        }
    }
}

impl Options {
    /// Who writes: as it is told, else as the stream, the environment and the parents of this process show.
    #[must_use]
    pub fn detect(&self, stdin: Option<&[u8]>, env: &BTreeMap<String, String>) -> Detected {
        let parents = parent::chain(Path::new("/proc"), std::process::id());
        host::detect(&Signs { stdin, env, parents: &parents, told: &self.told })
    }

    /// The versions that are told.
    pub(super) fn providers(&self) -> anyhow::Result<BTreeMap<String, Provider>> {
        let provider = |text: &String| {
            let (name, version) =
                text.split_once('=').with_context(|| format!("--provider {text}: write NAME=VERSION"))?;
            let names = || rules::NEWEST.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            ensure!(rules::is_known(name), "--provider {text}: nothing is known about {name}; known are {}", names());
            semver::Version::parse(version.trim_start_matches('v'))
                .with_context(|| format!("--provider {text}: {version} is no version such as v1.11.3"))?;
            Ok((name.to_owned(), Provider { version: version.to_owned(), evidence: "told".to_owned() }))
        };
        self.providers.iter().map(provider).collect()
    }

    /// The feature gates that are told.
    pub(super) fn feature_gates(&self) -> anyhow::Result<BTreeMap<String, bool>> {
        let gate = |text: &String| {
            let (name, on) = text.split_once('=').with_context(|| format!("--feature-gate {text}: write NAME=true"))?;
            let on = on.parse().with_context(|| format!("--feature-gate {text}: {on} is neither true nor false"))?;
            Ok((name.to_owned(), on))
        };
        self.feature_gates.iter().map(gate).collect()
    }
}
