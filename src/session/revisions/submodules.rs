//! Submodules of the two sides of a change. A new worktree has empty folders for them (git-worktree(1)), which would be the same on both
//! sides whatever changes in them; so they are filled with what the clone has of them, and what it has not is named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::super::Unseen;
use super::super::source::Source;
use super::{Trees, git};

/// Submodules that are not there, each with its commit.
type Missing = BTreeMap<PathBuf, String>;

impl Trees {
    /// Fills the submodules of both sides.
    ///
    /// # Errors
    /// When Git fails.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        if self.unfilled.get().is_some() {
            return Ok(());
        }
        let fill = |root: &Path, commit: &str| {
            let mut missing = Missing::new();
            fill(&self.top, root, (commit, Path::new("")), &mut missing).map(|()| missing)
        };
        let (old, new) = (fill(&self.old_root, &self.start)?, fill(&self.head_root, &self.range.head)?);
        let commits = |root: &Path, commit: &str| of(&self.top, root, commit);
        let (was, is) = (commits(&self.old_root, &self.start)?, commits(&self.head_root, &self.range.head)?);
        let changed = |path: &&PathBuf| {
            let at = |missing: &Missing, all: &Missing| missing.get(*path).or_else(|| all.get(*path)).cloned();
            at(&old, &was) != at(&new, &is)
        };
        let mut paths: Vec<PathBuf> = old.keys().chain(new.keys()).filter(changed).cloned().collect();
        paths.dedup();
        // Somebody else did the same at the same time.
        drop(self.unfilled.set(paths));
        Ok(())
    }

    /// A submodule that changes, is not in this clone, and lies in or around one of some paths of the repository.
    pub(crate) fn lacks(&self, paths: &[PathBuf]) -> Option<&Path> {
        let touches = |module: &&PathBuf| {
            paths.iter().any(|path| path == Path::new(".") || module.starts_with(path) || path.starts_with(module))
        };
        self.unfilled.get()?.iter().find(touches).map(PathBuf::as_path)
    }

    /// What is not seen of a source, as it lies in a submodule that is not there.
    pub(super) fn unfilled(&self, source: &Source) -> Option<Unseen> {
        let place = |path: &Path| {
            let there = self.in_tree(path, &self.head_folder, &self.head_root);
            there.strip_prefix(&self.head_root).map(Path::to_owned)
        };
        let paths = match source {
            // It may read everything.
            Source::Command(_) => vec![PathBuf::from(".")],
            source => source.paths().into_iter().filter_map(|path| place(path).ok()).collect(),
        };
        let (why, remedy) = missing(self.lacks(&paths)?);
        Some(Unseen { why, remedy, of: None })
    }
}

/// Why a submodule is not seen, and what to do about it.
pub(crate) fn missing(module: &Path) -> (String, String) {
    let module = module.display();
    (
        format!("submodule {module} changes, and this clone does not have both of its commits"),
        format!("run: git submodule update --init {module} && git -C {module} fetch --all"),
    )
}

/// The submodules of a commit.
fn of(repository: &Path, tree: &Path, commit: &str) -> anyhow::Result<Missing> {
    if !tree.join(".gitmodules").exists() {
        return Ok(Missing::new());
    }
    let listed = git(&["-C", &repository.display().to_string(), "ls-tree", "-r", "-z", "--full-tree", commit])?;
    let module = |line: &str| {
        let (about, path) = line.split_once('\t')?;
        Some((PathBuf::from(path), about.strip_prefix("160000 commit ")?.to_owned()))
    };
    Ok(listed.split('\0').filter_map(module).collect())
}

/// Fills the submodules of a tree, and those of them.
fn fill(repository: &Path, tree: &Path, (commit, at): (&str, &Path), missing: &mut Missing) -> anyhow::Result<()> {
    for (path, commit) in of(repository, tree, commit)? {
        let (from, to) = (repository.join(&path), tree.join(&path));
        let name = format!("{commit}^{{commit}}");
        let has =
            from.join(".git").exists() && git(&["-C", &from.display().to_string(), "cat-file", "-e", &name]).is_ok();
        if !has {
            missing.insert(at.join(&path), commit);
            continue;
        }
        checked_out(&from, &to, &commit).with_context(|| format!("submodule {}", at.join(&path).display()))?;
        fill(&from, &to, (&commit, &at.join(&path)), missing)?;
    }
    Ok(())
}

/// Writes the files of a commit into a folder, with an index of its own: nothing of the submodule itself changes.
fn checked_out(from: &Path, to: &Path, commit: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(to).context("its folder cannot be made")?;
    let index = tempfile::tempdir().context("no temporary folder can be made")?;
    let folder = git(&["-C", &from.display().to_string(), "rev-parse", "--absolute-git-dir"])?;
    for args in [&["read-tree", commit][..], &["checkout-index", "--all", "--force"]] {
        let mut command = Command::new("git");
        command.args(["-c", "core.hooksPath=/dev/null", "--git-dir", &folder, "--work-tree"]).arg(to).args(args);
        command.current_dir(to).env("GIT_INDEX_FILE", index.path().join("index")).stdin(Stdio::null());
        let output = command.output().context("git cannot be run")?;
        if !output.status.success() {
            bail!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    Ok(())
}
