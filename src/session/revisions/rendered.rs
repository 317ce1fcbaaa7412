//! What both revisions print: the base into a file beside which the head is judged.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::Trees;
use crate::session::input::{self, Input};
use crate::session::source::{Source, Tree};
use crate::session::{Observer, Unseen};

impl Trees {
    /// Renders both sides, the base into a file; gives that file, and what the head prints.
    pub(super) fn rendered(
        &self,
        number: usize,
        old: Option<&Source>,
        new: &Source,
        may_be_new: bool,
        observer: &dyn Observer,
    ) -> anyhow::Result<(PathBuf, Input)> {
        let base = &self.base;
        let was = self.base_prints(old, may_be_new, observer)?;
        let unseen = was.as_ref().and_then(|was| was.unseen.clone());
        let was = was.map(|was| was.text).filter(|bytes| !input::is_empty(bytes));
        let live = match &was {
            Some(bytes) => {
                let live = self.worktrees.folder.path().join(format!("rendered-{number}.yaml"));
                std::fs::write(&live, &**bytes).with_context(|| format!("cannot write {}", live.display()))?;
                live
            }
            None if may_be_new => PathBuf::from("none"),
            // Beside nothing everything looks new, and new is allowed.
            None => bail!("{} prints no object in {base}; where the chart is new, pass --new-chart", new.name()),
        };
        let mut input = self.head_prints(new, was.is_none(), observer)?;
        input.unseen = Unseen::between(unseen.as_ref(), input.unseen.as_ref()).cloned();
        if input.unseen.is_none() {
            input.unseen = self.unfilled(new);
        }
        Ok((live, input))
    }

    /// What the base prints, where it is there to print.
    fn base_prints(
        &self,
        old: Option<&Source>,
        may_be_new: bool,
        observer: &dyn Observer,
    ) -> anyhow::Result<Option<Input>> {
        let Some(old) = old else { return Ok(None) };
        let base = &self.base;
        self.in_worktree((&self.old_folder, &self.old_root), may_be_new, |tree| {
            let render = |old: &Source| old.render(tree, false, observer).with_context(|| format!("in {base}"));
            if may_be_new {
                // Of what is partly new the rest is compared.
                return old.within(tree).as_ref().map(render).transpose();
            }
            is_there(&self.old_folder, base)?;
            let is_new = |path: &&Path| !tree.there(path).exists() && self.head_folder.join(path).exists();
            if let Some(path) = old.paths().into_iter().find(is_new) {
                bail!(
                    "{} is not in {base}; where it is new, pass --new-chart, and keep a file that is never committed outside of the \
                     repository",
                    path.display()
                );
            }
            render(old).map(Some)
        })
    }

    /// What the head prints: always something.
    fn head_prints(&self, new: &Source, is_first: bool, observer: &dyn Observer) -> anyhow::Result<Input> {
        let head = &self.head;
        is_there(&self.head_folder, head)?;
        let render = |tree: Tree<'_>| new.render(tree, is_first, observer);
        let rendered = self.in_worktree((&self.head_folder, &self.head_root), false, render);
        let mut input = rendered.with_context(|| format!("in {head}"))?;
        if input.is_empty() {
            bail!(
                "{} prints no object in {head}; to ask what removing it all would do, plan a stream of its own",
                new.name()
            );
        }
        if input.name.is_empty() {
            input.name.clone_from(head);
        }
        Ok(input)
    }

    /// Does something in the tree of a revision, whose paths a person knows below its root.
    fn in_worktree<T>(
        &self,
        (folder, root): (&Path, &Path),
        may_be_empty: bool,
        work: impl FnOnce(Tree<'_>) -> T,
    ) -> T {
        let place = |path: &Path| self.in_tree(path, folder, root);
        let shown = |path: &Path| {
            let below = [&self.head_root, &self.old_root].into_iter().find_map(|root| path.strip_prefix(root).ok());
            below.unwrap_or(path).display().to_string()
        };
        work(Tree { folder, place: &place, shown: &shown, root: Some(root), may_be_empty })
    }
}

/// What a person is told where one revision lacks the folder.
fn is_there(folder: &Path, revision: &str) -> anyhow::Result<()> {
    if !folder.is_dir() {
        bail!("{revision} has no folder that corresponds to this one; run it from a folder that both revisions have");
    }
    Ok(())
}
