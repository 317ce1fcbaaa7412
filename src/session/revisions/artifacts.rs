//! The two sides of a change as source-controller serves them: without links, and without what it leaves out (fluxcd/pkg
//! `artifact/storage/storage.go`, `Archive`, v0.18.0: nothing but regular files and folders).

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::super::{Stop, Tree};
use super::Trees;
use crate::flux::sourceignore::{FILE, Ignored};

impl Trees {
    /// Where the artifacts of the base and of the change lie, once they are made.
    pub(super) fn artifacts(&self) -> [PathBuf; 2] {
        ["artifact-base", "artifact-head"].map(|name| self.worktrees.folder.path().join(name))
    }

    /// Fills the submodules of both sides, as a source that says `recurseSubmodules` has them; artifacts are made anew.
    ///
    /// # Errors
    /// As [`Self::fill`].
    pub(crate) fn with_submodules(&self) -> anyhow::Result<()> {
        self.fill()?;
        for artifact in self.artifacts().iter().filter(|artifact| artifact.exists()) {
            std::fs::remove_dir_all(artifact).context("a copy of the repository cannot be removed")?;
        }
        Ok(())
    }

    /// Does the same in the artifacts of both sides, as [`Self::on_both`] in their trees.
    ///
    /// # Errors
    /// Those of the work.
    pub(crate) fn on_artifacts<T>(
        &self,
        work: impl Fn(Tree<'_>, &Path, bool) -> anyhow::Result<T>,
    ) -> Result<(T, T), Stop> {
        let [old, new] = self.artifacts();
        self.on_both(|tree, root, is_new| {
            let copy = if is_new { &new } else { &old };
            if !copy.exists() {
                served(root, copy)?;
            }
            let folder = copy.join(tree.folder.strip_prefix(root).unwrap_or(Path::new("")));
            work(Tree { folder: &folder, root: Some(copy), ..tree }, copy, is_new)
        })
    }
}

/// Makes the artifact of a tree. Files are linked, as nothing writes into either.
fn served(tree: &Path, to: &Path) -> anyhow::Result<()> {
    let ignored = patterns(tree)?;
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        std::fs::create_dir_all(to.join(&folder)).context("a copy of the repository cannot be made")?;
        for entry in
            std::fs::read_dir(tree.join(&folder)).with_context(|| format!("cannot read {}", folder.display()))?
        {
            let entry = entry?;
            let (path, kind) = (folder.join(entry.file_name()), entry.file_type()?);
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(path);
            } else if kind.is_file() && !ignored.has(&path, false) {
                let (from, to) = (tree.join(&path), to.join(&path));
                std::fs::hard_link(&from, &to)
                    .or_else(|_| std::fs::copy(&from, &to).map(drop))
                    .with_context(|| format!("cannot copy {}", path.display()))?;
            }
        }
    }
    Ok(())
}

/// What the files of a tree say that is left out, the root's first (fluxcd/pkg `sourceignore/sourceignore.go`, `LoadIgnorePatterns`).
fn patterns(tree: &Path) -> anyhow::Result<Ignored> {
    let (mut ignored, mut folders) = (Ignored::default(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        let file = tree.join(&folder).join(FILE);
        if file.is_file() && !file.is_symlink() {
            let text = std::fs::read(&file).with_context(|| format!("cannot read {}", folder.join(FILE).display()))?;
            ignored.add(&String::from_utf8_lossy(&text), &folder);
        }
        let mut below = Vec::new();
        for entry in std::fs::read_dir(tree.join(&folder)).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git" {
                below.push(folder.join(entry.file_name()));
            }
        }
        below.sort();
        folders.extend(below.into_iter().rev());
    }
    Ok(ignored)
}
