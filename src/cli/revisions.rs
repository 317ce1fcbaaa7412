//! The options that say which revisions are compared: `plan --base-ref main --render 'helm template ...'`.

use clap::Args;

use crate::session::revisions::WhichRevisions;

/// Which revisions, and how they are rendered.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Two Git revisions")]
pub struct RevisionArgs {
    /// Compare two Git revisions: the change is judged against the commit at which it left this branch, so that what others
    /// merged meanwhile does not count. The policy and its pins are those of the tip of the branch. What --render, --chart or the
    /// paths say is rendered for each revision in a worktree of its own.
    #[arg(long, value_name = "REF", conflicts_with_all = ["live", "base"])]
    pub base_ref: Option<String>,
    /// Judge the change against the tip of --base-ref, as if both were two releases.
    #[arg(long, requires = "base_ref")]
    pub base_tip: bool,
    /// The base may lack it or render to nothing, because the chart is new.
    #[arg(long, requires = "base_ref")]
    pub new_chart: bool,
    /// The revision that is judged.
    #[arg(long, value_name = "REF", default_value = "HEAD", requires = "base_ref")]
    pub head_ref: String,
    /// The command that renders a revision to its standard output, run by `bash` (by `sh` where there is none) in a worktree
    /// of each, in the folder that corresponds to this one. A command that fails in a pipe fails the render.
    #[arg(long, value_name = "COMMAND", requires = "base_ref", conflicts_with_all = ["paths", "chart"])]
    pub render: Option<String>,
}

impl RevisionArgs {
    /// The revisions that these options name.
    pub(super) fn asked<'a>(&'a self, base: &'a str) -> WhichRevisions<'a> {
        WhichRevisions { base, head: &self.head_ref, at_tip: self.base_tip }
    }
}
