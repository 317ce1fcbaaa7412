//! Names of revisions: which commit one means, and where a change left its base.

use anyhow::{anyhow, bail};

use super::git;

/// The commit that a revision means. Named as a commit, so that a revision that looks like an option is none.
pub(super) fn commit(revision: &str) -> anyhow::Result<String> {
    unambiguous(revision)?;
    let name = format!("{revision}^{{commit}}");
    git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name])
        .map_err(|_| anyhow!("{revision} is not a revision of this repository; {}", fetch_of(revision)))
}

/// Refuses a short name that is both a tag and a branch of another commit: Git takes the tag (gitrevisions(7)), and whoever may push one
/// would choose what a change is compared with.
fn unambiguous(revision: &str) -> anyhow::Result<()> {
    let names = ["tags", "heads", "remotes"].map(|kind| format!("refs/{kind}/{revision}"));
    let found: Vec<(&str, String)> = names
        .iter()
        .filter_map(|name| {
            let commit = format!("{name}^{{commit}}");
            Some((name.as_str(), git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).ok()?))
        })
        .collect();
    match found.as_slice() {
        [(first, one), rest @ ..] => match rest.iter().find(|(_, other)| other != one) {
            Some((other, _)) => bail!(
                "{revision} is both {first} and {other}, which are not the same commit; say which one by its whole name"
            ),
            None => Ok(()),
        },
        [] => Ok(()),
    }
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
pub(super) fn merge_base(base: &str, tip: &str, head: &str, head_commit: &str) -> anyhow::Result<String> {
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
