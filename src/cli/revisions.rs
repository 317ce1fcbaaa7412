//! `plan --base-ref main --render 'helm template ...'`: two Git revisions rendered and compared with no cluster. Judged is what
//! the change adds: the base is the commit at which it left its target branch, unless the tip of that branch is asked for.
//! Both are rendered in temporary worktrees, which are removed whatever happens. Policy, packs and pins come from the base, never
//! from the change that is judged.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use tempfile::TempDir;

use super::render::{self, Ended};
use super::{Stop, input, run};
use crate::policy;

/// Name of the file that the base is rendered to.
const BASE: &str = "base.yaml";

/// Which revisions, and how they are rendered.
#[derive(Debug, Clone, Args)]
pub struct RevisionArgs {
    /// Compare two Git revisions: the change is judged against the commit at which it left this branch, so that what others
    /// merged meanwhile is not taken for its doing. The policy and its pins are those of the tip of the branch.
    #[arg(long, value_name = "REF", requires = "render", conflicts_with_all = ["files", "live", "base"])]
    pub base_ref: Option<String>,
    /// Judge the change against the tip of --base-ref, as if both were two releases.
    #[arg(long, requires = "base_ref")]
    pub base_tip: bool,
    /// The base may render to nothing, because the chart is new.
    #[arg(long, requires = "base_ref")]
    pub new_chart: bool,
    /// The revision that is judged.
    #[arg(long, value_name = "REF", default_value = "HEAD", requires = "base_ref")]
    pub head_ref: String,
    /// The command that renders a revision to its standard output, run by `bash` (by `sh` where there is none) in a worktree
    /// of each, in the folder that corresponds to this one. A command that fails in a pipe fails the render.
    #[arg(long, value_name = "COMMAND", requires = "base_ref")]
    pub render: Option<String>,
}

/// Both sides, rendered.
pub(super) struct Revisions {
    /// How the base is called.
    base: String,
    /// The folder at the tip of the base's branch that corresponds to the current one: what decides stands there.
    folder: PathBuf,
    /// The worktree of that tip.
    root: PathBuf,
    /// The worktree of the change.
    head: PathBuf,
    /// The file that the base was rendered to; `none` where it renders to nothing.
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
    /// When a revision is not there, they share no history, or the command fails or prints nothing in one of them; both
    /// worktrees are gone then.
    pub(super) fn render(args: &RevisionArgs, base: &str, command: &str) -> Result<Self, Stop> {
        rendered(args, base, command).map_err(Stop::usage)
    }

    /// The policy of the base: the one that was told, as it stands there, else the nearest `rollgate.yaml` above the folder. What
    /// lies outside of the repository does not count, since it is not what was reviewed.
    pub(super) fn policy(&self, told: Option<&str>) -> Result<String, Stop> {
        let within = |file: &Path| file.starts_with(&self.root);
        let found = match told {
            Some("none") => None,
            Some(file) => Some(self.of_base(Path::new(file))),
            None => match policy::find(&self.folder) {
                Ok(file) => file.filter(|file| within(file)),
                Err(policy::LoadError::Misnamed { file }) if !within(&file) => None,
                Err(error) => return Err(Stop::usage(error).respelt(|text| self.named(text))),
            },
        };
        Ok(found.map_or_else(|| "none".to_owned(), |file| file.display().to_string()))
    }

    /// A file that was told, as it stands in the base. One outside of the repository is nobody's change, and stays what it is.
    pub(super) fn of_base(&self, file: &Path) -> PathBuf {
        if file.is_relative() {
            return self.folder.join(file);
        }
        match file.strip_prefix(&self.top).or_else(|_| file.strip_prefix(&self.real_top)) {
            Ok(below) => self.root.join(below),
            Err(_) => file.to_owned(),
        }
    }

    /// A folder of the tip, as it stands in the change; one outside of the repository stays what it is.
    pub(super) fn in_change(&self, folder: &Path) -> PathBuf {
        folder.strip_prefix(&self.root).map_or_else(|_| folder.to_owned(), |below| self.head.join(below))
    }

    /// A name that a report or a message can be made of: `main:rollgate.yaml`, not a temporary folder.
    pub(super) fn named(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.display()), &format!("{}:", self.base))
            .replace(&self.worktrees.folder.path().join(BASE).display().to_string(), &self.base)
    }
}

fn rendered(args: &RevisionArgs, base: &str, command: &str) -> anyhow::Result<Revisions> {
    let head = args.head_ref.as_str();
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    let real_top = std::fs::canonicalize(&top).unwrap_or_else(|_| top.clone());
    let (tip, head_commit) = (commit(base)?, commit(head)?);
    let start = if args.base_tip { tip.clone() } else { merge_base(base, &tip, head, &head_commit)? };
    let worktrees = Worktrees::new()?;
    let _guard = run::runtime().map_err(|stop| stop.error)?.enter();
    render::clean_up_on_signals(worktrees.folder.path())?;
    let (old, new) = (worktrees.add("base", &start)?, worktrees.add("head", &head_commit)?);
    // A policy that was tightened since the change began counts for it.
    let root = if start == tip { old.clone() } else { worktrees.add("tip", &tip)? };
    let (old_folder, head_folder) = (old.join(&prefix), new.join(&prefix));
    let bytes: Arc<[u8]> = match old_folder.is_dir() || !args.new_chart {
        true => output(command, &old_folder, base)?.into(),
        false => Arc::from([]),
    };
    let live = if !input::is_empty(&bytes) {
        let live = worktrees.folder.path().join(BASE);
        std::fs::write(&live, &bytes).with_context(|| format!("cannot write {}", live.display()))?;
        live
    } else if args.new_chart {
        PathBuf::from("none")
    } else {
        // Beside nothing everything looks new, and new is allowed.
        bail!("the command of --render prints no object in {base}; where the chart is new, say --new-chart");
    };
    let stream: Arc<[u8]> = output(command, &head_folder, head)?.into();
    if input::is_empty(&stream) {
        bail!(
            "the command of --render prints no object in {head}; to ask what removing it all would do, plan a stream of its own"
        );
    }
    let mut warnings = Vec::new();
    if head == "HEAD" && !git(&["status", "--porcelain"])?.is_empty() {
        warnings.push("changes that are not committed were not looked at: HEAD was rendered".to_owned());
    }
    if start != tip {
        warnings.push(format!(
            "judged is what {head} adds since it left {base} at {}; {base} has moved on since (--base-tip compares with its tip)",
            start.get(..12).unwrap_or(&start)
        ));
    }
    let folder = root.join(&prefix);
    Ok(Revisions { base: base.to_owned(), folder, root, head: new, live, stream, warnings, top, real_top, worktrees })
}

/// The commit that a revision means. Named as a commit, so that a revision that looks like an option is none.
fn commit(revision: &str) -> anyhow::Result<String> {
    let name = format!("{revision}^{{commit}}");
    git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name])
        .map_err(|_| anyhow!("{revision} is not a revision of this repository; {}", fetch_of(revision)))
}

/// The command that fetches a revision that is not there.
fn fetch_of(revision: &str) -> String {
    if revision.contains(['~', '^', ':', '@', '{']) {
        return "fetch the branch that it starts from first".to_owned();
    }
    let remotes = git(&["remote"]).unwrap_or_default();
    let mut names = remotes.lines();
    let split = revision.split_once('/').filter(|(remote, _)| remotes.lines().any(|name| name == *remote));
    match (split, names.next()) {
        (Some((remote, branch)), _) => {
            format!("run: git fetch {remote} +refs/heads/{branch}:refs/remotes/{remote}/{branch}")
        }
        (None, Some(remote)) => format!("run: git fetch {remote} +refs/heads/{revision}:refs/heads/{revision}"),
        (None, None) => "and it has no remote to fetch it from".to_owned(),
    }
}

/// The commit at which a change left its target branch.
fn merge_base(base: &str, tip: &str, head: &str, head_commit: &str) -> anyhow::Result<String> {
    if let Ok(start) = git(&["merge-base", tip, head_commit])
        && !start.is_empty()
    {
        return Ok(start);
    }
    if git(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|answer| answer == "true") {
        let remotes = git(&["remote"]).unwrap_or_default();
        let remote = remotes.lines().next().unwrap_or("origin");
        bail!(
            "this clone is shallow, and where {head} left {base} lies deeper; run: git fetch --unshallow {remote} \
             (in GitLab CI set GIT_DEPTH: 0, in GitHub Actions fetch-depth: 0)"
        );
    }
    bail!("{head} and {base} have no commit in common; --base-tip compares with the tip of {base}")
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

    /// Checks a commit out.
    fn add(&self, name: &str, commit: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.path().join(name);
        let to = path.to_str().ok_or_else(|| anyhow!("{} is not text", path.display()))?;
        git(&["-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach", to, commit])?;
        Ok(path)
    }
}

impl Drop for Worktrees {
    fn drop(&mut self) {
        for name in ["base", "head", "tip"] {
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
