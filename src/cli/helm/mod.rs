//! `rollgate helm`: links the plugins, and runs Helm behind the gate with readable reasons and our exit codes.

mod behind;
mod options;
mod rollback;
mod setup;

pub(super) use options::HELP;

use super::args::{HelmArgs, HelmCommand};
use super::{Outside, Stop};
use crate::exit::Exit;

pub(super) fn run(args: HelmArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    match args.command {
        HelmCommand::Setup { helm, dry_run, path } => setup::run(&helm, dry_run, path, outside),
        HelmCommand::Other(words) => behind::run(&words, outside),
    }
}

/// Which Helm a binary is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Helm {
    /// The binary.
    binary: std::path::PathBuf,
    /// 3 or 4.
    major: u64,
    /// Its whole version, such as `v4.3.1`.
    version: String,
    /// The folders that it loads plugins from (`HELM_PLUGINS`).
    plugins: Vec<std::path::PathBuf>,
}

impl Helm {
    /// Asks a Helm binary for its version and plugin folder.
    fn ask(binary: &std::path::Path) -> anyhow::Result<Self> {
        use anyhow::Context as _;
        let version = output(binary, &["version", "--template", "{{.Version}}"])?;
        let major = version.trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
        let major = major.with_context(|| format!("{} says version {version:?}", binary.display()))?;
        let plugins = output(binary, &["env", "HELM_PLUGINS"])?;
        let plugins = std::env::split_paths(&plugins).collect();
        Ok(Self { binary: binary.to_owned(), major, version, plugins })
    }

    /// The program as a shell reads it.
    fn called(&self) -> String {
        crate::model::quoted(&self.binary.to_string_lossy())
    }

    /// What the host is called.
    const fn host(&self) -> &'static str {
        if self.major >= 4 { "helm4" } else { "helm3" }
    }
}

/// Standard output of a Helm command, trimmed.
fn output(binary: &std::path::Path, args: &[&str]) -> anyhow::Result<String> {
    let run = std::process::Command::new(binary)
        .args(args)
        .output()
        .map_err(|why| anyhow::anyhow!("cannot run {}: {why}; pass --helm PATH", binary.display()))?;
    anyhow::ensure!(
        run.status.success(),
        "{} {} failed: {}",
        binary.display(),
        args.join(" "),
        String::from_utf8_lossy(&run.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&run.stdout).trim().to_owned())
}
