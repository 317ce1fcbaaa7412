//! The one loader of policies: which policy is in force, how the report calls it, and the folder that its files start from.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::Stop;
use crate::policy::{self, Loaded, Policy};
use crate::report::PolicyReport;

/// Which policy is in force where none is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold<'a> {
    /// Look upward for rollgate.yaml from a folder, else the safe defaults.
    Look(&'a Path),
    /// Refuse: a post-renderer must not change its mind with the folder that it is run from.
    Refuse,
}

/// The policy in force.
#[derive(Debug, Clone)]
pub struct InForce {
    /// The policy.
    pub policy: Policy,
    /// How the report calls it.
    pub report: PolicyReport,
    /// The folder that its files start from.
    pub folder: PathBuf,
}

impl InForce {
    /// The safe defaults.
    fn built_in() -> Self {
        let report = PolicyReport { source: BUILT_IN.to_owned(), digest: policy::digest(b"") };
        Self { policy: Policy::default(), report, folder: PathBuf::from(".") }
    }

    /// The file that it was read from; `None` for the safe defaults.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        (self.report.source != BUILT_IN).then_some(self.report.source.as_str())
    }
}

/// How the safe defaults are called.
const BUILT_IN: &str = "built-in";

/// Loads the policy that was told (`none` for the safe defaults), else as `untold` says.
///
/// # Errors
/// When it cannot be read or something is wrong with it, or none is told where one has to be.
pub fn in_force(told: Option<&str>, untold: Untold<'_>) -> Result<InForce, Stop> {
    let file = match (told, untold) {
        (Some("none"), _) => None,
        (Some(file), _) => Some(PathBuf::from(file)),
        (None, Untold::Look(near)) => policy::find(near),
        (None, Untold::Refuse) => {
            return Err(Stop::usage(anyhow!(
                "no policy was told; give --policy FILE or set ROLLGATE_POLICY, or --policy none for the safe defaults"
            )));
        }
    };
    let Some(file) = file else { return Ok(InForce::built_in()) };
    let loaded = Loaded::from_file(&file).map_err(Stop::usage)?;
    let report = PolicyReport { source: file.display().to_string(), digest: loaded.digest.clone() };
    let folder = loaded.folder().to_owned();
    Ok(InForce { policy: loaded.policy, report, folder })
}
