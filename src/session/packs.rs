//! Packs that a user brings: read for a judgement, or only looked through.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use super::Stop;
use crate::policy::{self, Policy, UserRule};
use crate::report::PolicyReport;
use crate::rules::{Rules, UserFault};
use crate::tree::Value;
use crate::yaml;

/// Puts the rules of each file behind those of the policy, and the file into the name of the policy in force.
///
/// # Errors
/// When a file cannot be read, or anything is wrong with it.
pub(crate) fn add(files: &[PathBuf], policy: &mut Policy, report: &mut PolicyReport) -> Result<(), Stop> {
    for file in files {
        let (value, bytes) = read(file).map_err(Stop::usage)?;
        if let Some(fault) = faults(&value).first() {
            return Err(Stop::usage(anyhow!("{}: {fault}", file.display())));
        }
        policy.rules.push(UserRule(value));
        report.source = format!("{}, {}", report.source, file.display());
        report.digest = policy::digest(format!("{} {}", report.digest, policy::digest(&bytes)).as_bytes());
    }
    Ok(())
}

/// The pack in a file, with its bytes.
///
/// # Errors
/// When it cannot be read, or is no YAML.
pub(crate) fn read(file: &Path) -> anyhow::Result<(Value, Vec<u8>)> {
    let bytes = std::fs::read(file).with_context(|| format!("pack {} cannot be read", file.display()))?;
    let value = yaml::read_strict(&bytes).map_err(|error| anyhow!("{}:{error}", file.display()))?;
    Ok((value, bytes))
}

/// Everything that is wrong with a pack, a sentence each.
#[must_use]
pub(crate) fn faults(value: &Value) -> Vec<String> {
    match Rules::with_user(std::slice::from_ref(value)) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(UserFault::text).collect(),
    }
}
