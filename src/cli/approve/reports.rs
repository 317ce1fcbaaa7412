//! The reports that can be approved: those of this machine by their digest, one from elsewhere, and the command that a hold
//! names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use super::ApproveArgs;
use crate::cli::Stop;
use crate::cli::called::Called;
use crate::gate::approval as gate;
use crate::host::say;
use crate::model::{Decision, SET_BACK};
use crate::policy::Policy;
use crate::report::{Report, ReportList};

/// The report with the change.
pub(super) fn report_of(args: &ApproveArgs, env: &BTreeMap<String, String>) -> Result<Report, Stop> {
    let last = say::report_path(env);
    let files = match (&args.report, last) {
        (Some(file), _) => vec![file.clone()],
        (None, Some(last)) => newest(&last),
        (None, None) => Vec::new(),
    };
    let wanted = args.change.strip_prefix("sha256:").unwrap_or(&args.change);
    let is_last = args.change == "last";
    if !is_last && (wanted.len() < 12 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return Err(Stop::usage(anyhow!("{:?} is neither `last` nor a digest such as sha256:4f1c...", args.change)));
    }
    let mut other = None;
    for file in &files {
        let reports = read(file)?;
        // Of several releases nobody knows which is meant.
        let is_last = is_last && reports.len() == 1;
        for report in reports {
            let is_it =
                report.digest.strip_prefix("sha256:").is_some_and(|hash| hash.starts_with(&wanted.to_lowercase()));
            // Of a stream that went out in part, the whole is what a person approves; its report is beside this one.
            let in_part = report.reasons.iter().any(|reason| reason.gate == SET_BACK);
            if is_last && !in_part {
                return in_namespace(report, args.namespace.as_deref());
            }
            if is_it {
                return Ok(report);
            }
            other.get_or_insert(report.digest);
        }
    }
    Err(Stop::usage(match (&args.report, other) {
        (Some(file), Some(digest)) => anyhow!("{} is the report of another change, {digest}", file.display()),
        (_, Some(_)) => {
            anyhow!("no report here has the digest {}; plan it again here, or pass --report FILE", args.change)
        }
        (_, None) => anyhow!("there is no report of a held change here; plan it again here, or pass --report FILE"),
    }))
}

/// The newest report, where it is of a release in the namespace that was asked for.
fn in_namespace(report: Report, asked: Option<&str>) -> Result<Report, Stop> {
    let of = report.host.namespace.as_deref();
    let (Some(asked), Some(namespace)) = (asked, of.filter(|of| asked.is_some_and(|asked| asked != *of))) else {
        return Ok(report);
    };
    let release = report.host.release.as_deref().map_or_else(String::new, |name| format!("release {namespace}/{name}"));
    let whose = if release.is_empty() { format!("namespace {namespace}") } else { release };
    Err(Stop::usage(anyhow!(
        "the newest report is of {whose}, not of namespace {asked}; give its digest to approve it"
    )))
}

/// The reports on this machine, the newest first.
fn newest(last: &Path) -> Vec<PathBuf> {
    let held = std::fs::read_dir(held_folder(last)).into_iter().flatten().flatten().map(|entry| entry.path());
    let age = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let mut files: Vec<PathBuf> = held.chain([last.to_owned()]).filter(|path| path.is_file()).collect();
    files.sort_by_key(|path| std::cmp::Reverse(age(path)));
    files
}

/// The report of a file, or those of several releases.
fn read(file: &Path) -> Result<Vec<Report>, Stop> {
    let bytes =
        std::fs::read(file).with_context(|| format!("{} cannot be read", file.display())).map_err(Stop::usage)?;
    let list = serde_json::from_slice::<ReportList<'_>>(&bytes).map(|list| list.items.into_owned());
    list.or_else(|_| Ok(vec![serde_json::from_slice(&bytes)?]))
        .map_err(|error: serde_json::Error| {
            anyhow!(error).context(format!("{} is not a report of this version", file.display()))
        })
        .map_err(Stop::usage)
}

/// Reports that are kept to be approved.
const KEPT: usize = 20;

fn held_folder(last: &Path) -> PathBuf {
    say::folder_of(last).join("held")
}

/// Keeps a held report where `approve` finds it by its digest, and says in it how to approve it, where an approval alone would let
/// it through and the policy names a place for one.
pub(in crate::cli) fn offer(report: &mut Report, policy: &Policy, called: &Called<'_>, env: &BTreeMap<String, String>) {
    if !gate::is_approvable(report, policy) {
        return;
    }
    let digest = report.digest.clone();
    let Some(first) = report.reasons.iter_mut().find(|one| one.decision == Decision::Hold) else { return };
    let in_commits = policy.approvals.from.iter().all(|place| place.trailer().is_some());
    first.lead_with(called.approve(&digest, in_commits));
    if let Some(last) = say::report_path(env) {
        // It is a service: whoever has no such folder gives --report.
        drop(keep(&held_folder(&last), &digest, report));
    }
}

fn keep(folder: &Path, digest: &str, report: &Report) -> std::io::Result<()> {
    let short = digest.strip_prefix("sha256:").and_then(|hash| hash.get(..16)).unwrap_or("other");
    say::write_report(&folder.join(format!("{short}.json")), &serde_json::to_vec_pretty(report)?)?;
    let mut files: Vec<_> = std::fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    files.iter().rev().skip(KEPT).try_for_each(|(_, path)| std::fs::remove_file(path))
}
