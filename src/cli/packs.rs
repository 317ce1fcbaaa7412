//! Packs that a user brings: read for a judgement with `--pack`, or only looked through with `explain --check-pack`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use super::{Outside, Stop};
use crate::exit::Exit;
use crate::policy::{self, Policy, UserRule};
use crate::report::PolicyReport;
use crate::rules::{Rules, UserFault};
use crate::tree::Value;
use crate::yaml;

/// Puts the rules of each file behind those of the policy, and the file into the name of the policy in force.
///
/// # Errors
/// When a file cannot be read, or anything is wrong with it.
pub(super) fn add(files: &[PathBuf], policy: &mut Policy, report: &mut PolicyReport) -> Result<(), Stop> {
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

/// Says everything that is wrong with a pack.
pub(super) fn check(file: &Path, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let (value, _) = read(file).map_err(Stop::usage)?;
    let faults = faults(&value);
    if !faults.is_empty() {
        let lines: Vec<String> = faults.iter().map(|fault| format!("{}: {fault}", file.display())).collect();
        return Err(Stop::usage(anyhow!("{}", lines.join("\n"))));
    }
    let count = value.get("rules").and_then(Value::as_array).map_or(1, Vec::len);
    writeln!(outside.out, "{}: {count} rules, nothing is wrong with them", file.display())
        .context("cannot write to standard output")
        .map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

fn read(file: &Path) -> anyhow::Result<(Value, Vec<u8>)> {
    let bytes = std::fs::read(file).with_context(|| format!("pack {} cannot be read", file.display()))?;
    let value = yaml::read_strict(&bytes).map_err(|error| anyhow!("{}:{error}", file.display()))?;
    Ok((value, bytes))
}

/// Everything that is wrong with a pack, a sentence each.
fn faults(value: &Value) -> Vec<String> {
    match Rules::with_user(std::slice::from_ref(value)) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(UserFault::text).collect(),
    }
}
