//! Two Git revisions, rendered to be compared with no cluster. Judged is what
//! the change adds: the base is the commit at which it left its target branch, unless the tip of that branch is asked for.
//! Both are rendered in temporary worktrees, which are removed whatever happens. Policy, packs and pins come from the base, never
//! from the change that is judged.

mod artifacts;
mod names;
mod rendered;
pub(crate) mod submodules;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, anyhow, bail};
use tempfile::TempDir;

use self::names::{commit, merge_base};
use super::input::Input;
use super::policy::is_object;
use super::source::{Source, Tree};
use super::{Observer, Ready, Stop, runtime};
use crate::object::StreamText;
use crate::pipeline;
use crate::policy;

/// Which revisions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WhichRevisions<'a> {
    /// The branch that the change is for.
    pub base: &'a str,
    /// The revision that is judged.
    pub head: &'a str,
    /// The change is compared with the tip of that branch.
    pub at_tip: bool,
}

/// Both revisions in temporary worktrees.
#[derive(Debug)]
pub(crate) struct Trees {
    /// How the base is called.
    base: String,
    /// How the judged revision is called.
    head: String,
    /// The folder that corresponds to the current one, at the commit where the change left the base.
    old_folder: PathBuf,
    /// The folder that corresponds to the current one, in the change.
    head_folder: PathBuf,
    /// The folder that corresponds to the current one, at the tip of the base's branch: what decides stands there.
    folder: PathBuf,
    /// The worktrees themselves.
    old_root: PathBuf,
    head_root: PathBuf,
    root: PathBuf,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// The commits that are judged.
    pub range: Range,
    /// The commit at which the change left the base.
    start: String,
    /// Submodules that could not be filled and are another commit in the change.
    unfilled: OnceLock<Vec<PathBuf>>,
    /// The folder of the repository, as Git calls it and without links.
    top: PathBuf,
    real_top: PathBuf,
    /// Removed when this goes.
    worktrees: Worktrees,
}

/// The commits of a change: all of `head` that `tip` has not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Range {
    /// What the base has.
    pub tip: String,
    /// The judged revision.
    pub head: String,
}

/// Both sides of one release, rendered.
#[derive(Debug)]
pub(crate) struct Revisions {
    /// The revisions.
    pub trees: Arc<Trees>,
    /// The file that the base was rendered to; `none` where it renders to nothing.
    pub live: PathBuf,
    /// What the judged revision renders to; unseen of it is what may differ from the base.
    pub input: Input,
}

impl Revisions {
    /// Renders both sides; `number` tells the releases of one run apart. Without a source on the base's side it is new.
    ///
    /// # Errors
    /// When one of them fails or prints nothing.
    pub(crate) fn render(
        trees: &Arc<Trees>,
        number: usize,
        old: Option<&Source>,
        new: &Source,
        may_be_new: bool,
        observer: &dyn Observer,
    ) -> Result<Self, Stop> {
        let rendered = trees.rendered(number, old, new, may_be_new, observer);
        let (live, input) = rendered.map_err(|error| Stop::usage(error).respelt(|text| trees.named(text)))?;
        Ok(Self { trees: Arc::clone(trees), live, input })
    }

    /// Writes the base's render again as it went out, with the late values that the base has pinned: both revisions go through the same
    /// post-renderer, so a placeholder in the one is no change to its value in the other. Returns whether it held any.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub(crate) fn write_pinned(&self, ready: &Ready) -> Result<bool, Stop> {
        if ready.world.pins.is_empty() || !self.live.is_file() {
            return Ok(false);
        }
        let place = || self.live.display().to_string();
        let bytes =
            std::fs::read(&self.live).map_err(|error| Stop::internal(anyhow!("cannot read {}: {error}", place())))?;
        let pinned =
            pipeline::as_pinned(&ready.question, &ready.world, &StreamText::from(bytes)).map_err(Stop::of_fault)?;
        let Some(bytes) = pinned else { return Ok(false) };
        std::fs::write(&self.live, bytes)
            .map_err(|error| Stop::internal(anyhow!("cannot write {}: {error}", place())))?;
        Ok(true)
    }
}

impl Trees {
    /// Checks both revisions out.
    ///
    /// # Errors
    /// When a revision is not there, or they share no history.
    pub(crate) fn open(asked: WhichRevisions<'_>, observer: &dyn Observer) -> Result<Arc<Self>, Stop> {
        let trees = Self::open_bare(asked, observer)?;
        trees.fill().map_err(Stop::usage)?;
        Ok(trees)
    }

    /// Opens both revisions without submodules, whose folders are empty then.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_bare(asked: WhichRevisions<'_>, observer: &dyn Observer) -> Result<Arc<Self>, Stop> {
        opened(asked, observer).map(Arc::new).map_err(Stop::usage)
    }

    /// The commit at which the change left the base.
    pub(crate) fn start(&self) -> &str {
        &self.start
    }

    /// The policy of the base: the one that was told, as it stands there, else the nearest `rollgate.yaml` above the folder. What
    /// lies outside of the repository does not count, since it is not what was reviewed.
    ///
    /// # Errors
    /// When a file lies there that could be meant and is called otherwise.
    pub(crate) fn policy(&self, told: Option<&str>) -> Result<String, Stop> {
        self.policy_in(told, &self.folder, &self.root)
    }

    /// The policy of the judged revision: it says which releases there are, and decides nothing.
    ///
    /// # Errors
    /// As [`Self::policy`].
    pub(crate) fn policy_of_change(&self, told: Option<&str>) -> Result<String, Stop> {
        self.policy_in(told, &self.head_folder, &self.head_root)
    }

    /// The policy where the change left the base: it says which releases there were.
    ///
    /// # Errors
    /// As [`Self::policy`].
    pub(crate) fn policy_before(&self, told: Option<&str>) -> Result<String, Stop> {
        self.policy_in(told, &self.old_folder, &self.old_root)
    }

    fn policy_in(&self, told: Option<&str>, folder: &Path, root: &Path) -> Result<String, Stop> {
        let within = |file: &Path| file.starts_with(root);
        let found = match told {
            Some("none") => None,
            Some(told) if is_object(told) => return Ok(told.to_owned()),
            Some(file) => Some(self.in_tree(Path::new(file), folder, root)),
            None => match policy::find(folder) {
                Ok(file) => file.filter(|file| within(file)),
                Err(policy::LoadError::Misnamed { file }) if !within(&file) => None,
                Err(error) => return Err(Stop::usage(error).respelt(|text| self.named(text))),
            },
        };
        Ok(found.map_or_else(|| "none".to_owned(), |file| file.display().to_string()))
    }

    /// A file that was told, as it stands in the base. One outside of the repository is nobody's change, and stays what it is.
    pub(crate) fn of_base(&self, file: &Path) -> PathBuf {
        self.in_tree(file, &self.folder, &self.root)
    }

    fn in_tree(&self, file: &Path, folder: &Path, root: &Path) -> PathBuf {
        if file.is_relative() {
            return folder.join(file);
        }
        // Also what was found in one of the worktrees stands at its place in each.
        let roots = [&self.head_root, &self.old_root, &self.root, &self.top, &self.real_top];
        let below = roots.into_iter().find_map(|top| file.strip_prefix(top).ok());
        below.map_or_else(|| file.to_owned(), |below| root.join(below))
    }

    /// A folder of the tip, as it stands in the change; one outside of the repository stays what it is.
    pub(crate) fn in_change(&self, folder: &Path) -> PathBuf {
        folder.strip_prefix(&self.root).map_or_else(|_| folder.to_owned(), |below| self.head_root.join(below))
    }

    /// Whether a path stands in the judged revision.
    pub(crate) fn is_in_change(&self, path: &Path) -> bool {
        path.starts_with(&self.head_root)
    }

    /// A name that a report or a message can be made of: `main:rollgate.yaml`, not a temporary folder.
    pub(crate) fn named(&self, text: &str) -> String {
        let folder = self.worktrees.folder.path();
        let mut text = text.to_owned();
        let [old, new] = self.artifacts();
        let roots = [
            (&old, &self.base),
            (&new, &self.head),
            (&self.root, &self.base),
            (&self.old_root, &self.base),
            (&self.head_root, &self.head),
        ];
        for (root, name) in roots {
            text = text.replace(&format!("{}/", root.display()), &format!("{name}:"));
            text = text.replace(&root.display().to_string(), name);
        }
        // The files that bases were rendered to.
        let rendered = format!("{}/rendered-", folder.display());
        let mut parts = text.split(&rendered);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str(&self.base);
            out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(".yaml"));
        }
        out
    }

    /// Does the same in both trees: where the change left the base, and in the change. The second path is the root of the tree.
    ///
    /// # Errors
    /// Those of the work.
    pub(crate) fn on_both<T>(&self, work: impl Fn(Tree<'_>, &Path, bool) -> anyhow::Result<T>) -> Result<(T, T), Stop> {
        let shown = |path: &Path| path.display().to_string();
        let place = |path: &Path| path.to_owned();
        let tree = |folder, root| Tree { folder, place: &place, shown: &shown, root: Some(root), may_be_empty: true };
        let sides = [(&self.old_folder, &self.old_root, &self.base), (&self.head_folder, &self.head_root, &self.head)];
        let [old, new] = sides.map(|(folder, root, name)| {
            let done = work(tree(folder.as_path(), root.as_path()), root, *root == self.head_root);
            done.with_context(|| format!("in {name}"))
                .map_err(|error| Stop::usage(error).respelt(|text| self.named(text)))
        });
        Ok((old?, new?))
    }
}

fn opened(WhichRevisions { base, head, at_tip }: WhichRevisions<'_>, observer: &dyn Observer) -> anyhow::Result<Trees> {
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    let real_top = std::fs::canonicalize(&top).unwrap_or_else(|_| top.clone());
    let (tip, head_commit) = (commit(base)?, commit(head)?);
    let start = if at_tip { tip.clone() } else { merge_base(base, &tip, head, &head_commit)? };
    let worktrees = Worktrees::new()?;
    let _guard = runtime().map_err(|stop| stop.error)?.enter();
    observer.starts(Some(worktrees.folder.path()))?;
    let (old, new) = (worktrees.add("base", &start)?, worktrees.add("head", &head_commit)?);
    // A policy that was tightened since the change began counts for it.
    let root = if start == tip { old.clone() } else { worktrees.add("tip", &tip)? };
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
    Ok(Trees {
        base: base.to_owned(),
        head: head.to_owned(),
        old_folder: old.join(&prefix),
        head_folder: new.join(&prefix),
        folder: root.join(&prefix),
        old_root: old,
        head_root: new,
        root,
        warnings,
        range: Range { tip, head: head_commit },
        start,
        unfilled: OnceLock::new(),
        top,
        real_top,
        worktrees,
    })
}

/// Temporary worktrees of the repository that the program runs in.
#[derive(Debug)]
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
        // Of a sparse clone a new worktree would be as sparse (git `builtin/worktree.c`, `copy_sparse_checkout`).
        let options = ["-c", "core.hooksPath=/dev/null", "-c", "core.sparseCheckout=false"];
        git(&[&options[..], &["worktree", "add", "--quiet", "--detach", to, commit]].concat())?;
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
///
/// # Errors
/// When it fails.
pub(crate) fn git(args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").args(args).stdin(Stdio::null()).output().context("git cannot be run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git {}: {}", args.join(" "), said.lines().next().unwrap_or("it failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
}
