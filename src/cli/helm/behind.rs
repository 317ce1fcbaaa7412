//! `helm rollgate upgrade ...`: runs Helm with the post-renderer of its major, the identity that only Helm knows,
//! readable reasons and our exit codes. Any other word is a rollgate command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use super::Helm;
use crate::cli::{Outside, Stop};
use crate::exit::Exit;
use crate::report::Report;

/// The Helm commands that take a post-renderer.
const RENDERING: [&str; 3] = ["install", "upgrade", "template"];

pub(super) fn run(words: &[OsString], outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let first = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    if !RENDERING.contains(&first) {
        let args = std::iter::once(OsString::from("rollgate")).chain(words.iter().cloned());
        return Ok(crate::cli::with(args, outside));
    }
    let binary = std::env::var_os("HELM_BIN").map_or_else(|| PathBuf::from("helm"), PathBuf::from);
    let helm = Helm::ask(&binary).map_err(Stop::usage)?;
    let folder = tempfolder().map_err(Stop::internal)?;
    let report = folder.join("report.json");
    let ended = command(&helm, words, &report)
        .and_then(|mut command| command.status().with_context(|| format!("cannot run {}", helm.binary.display())));
    let said = std::fs::read(&report).ok().and_then(|bytes| serde_json::from_slice::<Report>(&bytes).ok());
    // The folder is ours and only held the report.
    drop(std::fs::remove_dir_all(&folder));
    let status = ended.map_err(Stop::internal)?;
    if status.success() {
        return Ok(Exit::Allow);
    }
    let Some(report) = said else { return Ok(Exit::Internal) };
    if helm.major >= 4 {
        let paint = crate::report::human::Paint(false);
        crate::report::human::write(&report, paint, outside.err).map_err(Stop::internal)?;
    }
    Ok(match crate::verdict::exit(report.decision) {
        Exit::Allow => Exit::Internal,
        exit => exit,
    })
}

/// The Helm command line, with what a post-renderer cannot find out by itself in the environment.
fn command(helm: &Helm, words: &[OsString], report: &std::path::Path) -> anyhow::Result<Command> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(&helm.binary);
    command.args(words).env("ROLLGATE_REPORT", report);
    if let Some(namespace) = std::env::var_os("HELM_NAMESPACE").filter(|text| !text.is_empty()) {
        command.arg("--namespace").arg(&namespace).env("ROLLGATE_NAMESPACE", namespace);
    }
    if let Some(context) = std::env::var_os("HELM_KUBECONTEXT").filter(|text| !text.is_empty()) {
        command.arg("--kube-context").arg(context);
    }
    if helm.major >= 4 {
        command.args(["--post-renderer", "rollgate-post-render"]);
    } else {
        command.arg("--post-renderer").arg(program).args(["--post-renderer-args", "post-render"]);
    }
    Ok(command)
}

/// A fresh folder that only this user can read.
fn tempfolder() -> anyhow::Result<PathBuf> {
    let nanos = jiff::Timestamp::now().as_nanosecond();
    let folder = std::env::temp_dir().join(format!("rollgate-{}-{nanos}", std::process::id()));
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}
