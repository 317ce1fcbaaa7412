//! `plan --base-ref main --render 'helm template ...'`: two Git revisions rendered and compared with no cluster.
//! Both are rendered in temporary worktrees, which are removed whatever happens. Policy, packs and pins come from the base, never
//! from the change that is judged.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use tempfile::TempDir;

use super::render::{self, Ended};
use super::{Stop, run};
use crate::object::Stream;
use crate::policy;

/// Name of the file that the base is rendered to.
const BASE: &str = "base.yaml";

/// Which revisions, and how they are rendered.
#[derive(Debug, Clone, Args)]
pub struct RevisionArgs {
    /// Compare two Git revisions: this one is what is there now, and the policy and its pins are taken from it.
    #[arg(long, value_name = "REF", requires = "render", conflicts_with_all = ["files", "live", "base"])]
    pub base_ref: Option<String>,
    /// The revision that is judged.
    #[arg(long, value_name = "REF", default_value = "HEAD", requires = "base_ref")]
    pub head_ref: String,
    /// The command that renders a revision to its standard output, run by `sh` in a worktree of each, in the folder that
    /// corresponds to this one.
    #[arg(long, value_name = "COMMAND", requires = "base_ref")]
    pub render: Option<String>,
}

/// Both sides, rendered.
pub(super) struct Revisions {
    /// How the base is called.
    base: String,
    /// The folder of the base revision that corresponds to the current one.
    folder: PathBuf,
    /// The file that the base was rendered to.
    pub(super) live: PathBuf,
    /// What the judged revision renders to.
    pub(super) stream: Arc<[u8]>,
    /// What a person should know.
    pub(super) warnings: Vec<String>,
    /// The folder of the repository, as Git calls it and without links.
    top: PathBuf,
    real_top: PathBuf,
    /// Removed when this goes.
    worktrees: Worktrees,
}

impl Revisions {
    /// Renders both revisions.
    ///
    /// # Errors
    /// When a revision is not there, or the command fails in one of them; both worktrees are gone then.
    pub(super) fn render(base: &str, head: &str, command: &str) -> Result<Self, Stop> {
        rendered(base, head, command).map_err(Stop::usage)
    }

    /// The policy of the base: the one that was told, as it stands there, else the nearest `rollgate.yaml` above the folder. What
    /// lies outside of the repository does not count, since it is not what was reviewed.
    pub(super) fn policy(&self, told: Option<&str>) -> String {
        match told {
            Some("none") => "none".to_owned(),
            Some(file) => self.of_base(Path::new(file)).display().to_string(),
            None => policy::find(&self.folder)
                .filter(|file| file.starts_with(self.root()))
                .map_or_else(|| "none".to_owned(), |file| file.display().to_string()),
        }
    }

    /// A file that was told, as it stands in the base. One outside of the repository is nobody's change, and stays what it is.
    pub(super) fn of_base(&self, file: &Path) -> PathBuf {
        if file.is_relative() {
            return self.folder.join(file);
        }
        match file.strip_prefix(&self.top).or_else(|_| file.strip_prefix(&self.real_top)) {
            Ok(below) => self.root().join(below),
            Err(_) => file.to_owned(),
        }
    }

    /// A name that a report or a message can be made of: `main:rollgate.yaml`, not a temporary folder.
    pub(super) fn named(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root().display()), &format!("{}:", self.base))
            .replace(&self.worktrees.folder.path().join(BASE).display().to_string(), &self.base)
    }

    fn root(&self) -> PathBuf {
        self.worktrees.folder.path().join("base")
    }
}

fn rendered(base: &str, head: &str, command: &str) -> anyhow::Result<Revisions> {
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    let real_top = std::fs::canonicalize(&top).unwrap_or_else(|_| top.clone());
    let worktrees = Worktrees::new()?;
    let _guard = run::runtime().map_err(|stop| stop.error)?.enter();
    render::clean_up_on_signals(worktrees.folder.path())?;
    let (old, new) = (worktrees.add("base", base)?, worktrees.add("head", head)?);
    let (folder, head_folder) = (old.join(&prefix), new.join(&prefix));
    let bytes: Arc<[u8]> = output(command, &folder, base)?.into();
    // Beside nothing everything is new and nothing is lost: that is what a render that failed without a word would say.
    if Stream::load(&bytes).is_ok_and(|stream| stream.objects.is_empty()) {
        bail!(
            "the command of --render gives no object in {base}: nothing can be compared with it. If the whole chart is new, \
             judge its render with `rollgate plan FILE --live none`"
        );
    }
    let live = worktrees.folder.path().join(BASE);
    std::fs::write(&live, &bytes).with_context(|| format!("cannot write {}", live.display()))?;
    let stream = output(command, &head_folder, head)?.into();
    let mut warnings = Vec::new();
    if head == "HEAD" && !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
        warnings.push("changes that are not committed were not looked at: HEAD was rendered".to_owned());
    }
    Ok(Revisions { base: base.to_owned(), folder, live, stream, warnings, top, real_top, worktrees })
}

/// What the command prints in a folder.
fn output(command: &str, folder: &Path, revision: &str) -> anyhow::Result<Vec<u8>> {
    if !folder.is_dir() {
        bail!("{revision} has no folder that corresponds to this one; run it from a folder that both revisions have");
    }
    let runtime = run::runtime().map_err(|stop| stop.error)?;
    let ended = runtime.block_on(render::run(command, folder));
    let Ended { status, stdout, stderr } =
        ended.with_context(|| format!("the command of --render did not run in {revision}"))?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        bail!("the command of --render failed in {revision} ({status}): {last}");
    }
    Ok(stdout)
}

/// Temporary worktrees of the repository that the program runs in.
struct Worktrees {
    folder: TempDir,
}

impl Worktrees {
    fn new() -> anyhow::Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("rollgate-").tempdir().context("no temporary folder can be made")?;
        Ok(Self { folder })
    }

    /// Checks a revision out.
    fn add(&self, name: &str, revision: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.path().join(name);
        // Named as a commit, so that a revision that looks like an option is none.
        let commit = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{revision}^{{commit}}")])
            .with_context(|| format!("{revision} is not a revision of this repository; in CI, fetch it first"))?;
        let to = path.to_str().ok_or_else(|| anyhow!("{} is not text", path.display()))?;
        git(&["-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach", to, &commit])?;
        Ok(path)
    }
}

impl Drop for Worktrees {
    fn drop(&mut self) {
        for name in ["base", "head"] {
            let path = self.folder.path().join(name);
            if let Some(path) = path.to_str().filter(|_| path.exists()) {
                // What cannot be removed here goes with the folder, and Git forgets it at its next `worktree prune`.
                drop(git(&["worktree", "remove", "--force", path]));
            }
        }
    }
}

/// What a Git command prints, without the line break at its end.
fn git(args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").args(args).stdin(Stdio::null()).output().context("git cannot be run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git {}: {}", args.join(" "), said.lines().next().unwrap_or("it failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
}
