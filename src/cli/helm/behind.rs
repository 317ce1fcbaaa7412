//! `helm rollgate upgrade ...`: runs Helm with the post-renderer of its major, the identity that only Helm knows,
//! readable reasons and our exit codes. Any other word is a rollgate command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, anyhow};

use super::{Helm, options, rollback, setup};
use crate::cli::{Outside, Stop, fault};
use crate::exit::Exit;
use crate::host::say;
use crate::report::Report;

/// The Helm commands that take a post-renderer.
const RENDERING: [&str; 3] = ["install", "upgrade", "template"];

pub(super) fn run(words: &[OsString], outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let first = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    if !RENDERING.contains(&first) && first != "rollback" {
        let args = std::iter::once(OsString::from("rollgate")).chain(words.iter().cloned());
        return Ok(crate::cli::with(args, outside));
    }
    let text = |word: &OsString| {
        word.to_str().map(str::to_owned).ok_or_else(|| Stop::usage(anyhow!("{} is not text", word.display())))
    };
    let words: Vec<String> = words.iter().map(text).collect::<Result<_, _>>()?;
    let split = options::split(&words)?;
    let binary = std::env::var_os("HELM_BIN")
        .filter(|text| !text.is_empty())
        .map_or_else(|| PathBuf::from("helm"), PathBuf::from);
    if split.help {
        return help(&binary, first, outside);
    }
    let helm = Helm::ask(&binary).map_err(Stop::usage)?;
    if first == "rollback" { rollback::run(&helm, &split, outside) } else { rendered(&helm, &split, outside) }
}

/// What Helm says of its command, and what may stand beside it.
fn help(binary: &std::path::Path, command: &str, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let own = super::output(binary, &[command, "--help"]).map_err(Stop::usage)?;
    writeln!(outside.out, "{}\n\n{own}", options::HELP)
        .context("cannot write to standard output")
        .map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// Runs a command that renders behind the post-renderer.
fn rendered(helm: &Helm, split: &options::Split, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let folder = tempfile::tempdir().context("cannot make a folder for the report").map_err(Stop::internal)?;
    let report = folder.path().join("report.json");
    let mut command = command(helm, split, &report).map_err(Stop::usage)?;
    let status =
        command.status().with_context(|| format!("cannot run {}", helm.binary.display())).map_err(Stop::internal)?;
    let said = std::fs::read(&report).ok().and_then(|bytes| serde_json::from_slice::<Report>(&bytes).ok());
    if status.success() {
        return Ok(Exit::Allow);
    }
    let Some(report) = said else { return Ok(Exit::Internal) };
    if helm.major >= 4 {
        let paint = crate::report::human::Paint(false);
        crate::report::human::write(&report, paint, outside.err).map_err(Stop::internal)?;
    }
    if report.reasons.iter().any(|reason| reason.gate == fault::USAGE) {
        return Ok(Exit::Usage);
    }
    Ok(match crate::verdict::exit(report.decision) {
        Exit::Allow => Exit::Internal,
        exit => exit,
    })
}

/// The Helm command line, with what a post-renderer cannot find out by itself in the environment.
fn command(helm: &Helm, split: &options::Split, report: &std::path::Path) -> anyhow::Result<Command> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(&helm.binary);
    command.args(&split.helm).env(say::COPY, report);
    if let Some(namespace) = std::env::var_os("HELM_NAMESPACE").filter(|text| !text.is_empty()) {
        command.arg("--namespace").arg(&namespace).env("ROLLGATE_NAMESPACE", namespace);
    }
    if let Some(context) = std::env::var_os("HELM_KUBECONTEXT").filter(|text| !text.is_empty()) {
        command.arg("--kube-context").arg(context);
    }
    if helm.major >= 4 {
        command.args(["--post-renderer", setup::POST_RENDERER.0]).env("HELM_PLUGINS", setup::search_path(helm)?);
    } else {
        command.arg("--post-renderer").arg(program).args(["--post-renderer-args", "post-render"]);
    }
    for option in &split.ours {
        command.args(["--post-renderer-args", option]);
    }
    Ok(command)
}
