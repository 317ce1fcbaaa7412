//! How this run was called, as far as a command that its report names has to say it again: only then does it run as it is printed.

use std::path::PathBuf;

use crate::hashed::HashMap;
use crate::model::{Call, quoted};
use crate::report::{Report, escape};
use crate::rules::{self, Rules};

/// What was told, or found out, of policy, packs, place and cluster.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Called<'a> {
    /// The policy file; none where it is found from the working directory.
    pub(super) policy: Option<&'a str>,
    /// Packs beside it.
    pub(super) packs: &'a [PathBuf],
    /// Where objects are read, where that is not the cluster.
    pub(super) live: Option<&'a str>,
    /// Namespace of the release.
    pub(super) namespace: Option<&'a str>,
    /// The context that was told.
    pub(super) context: Option<&'a str>,
}

impl Called<'_> {
    /// Says the commands of a report as they have to be called.
    pub(super) fn complete(&self, report: &mut Report) {
        // Many reasons are of one rule.
        let mut known: HashMap<String, bool> = HashMap::default();
        let mut is_known = |what: &str| match known.get(what) {
            Some(is) => *is,
            None => *known.entry(what.to_owned()).or_insert(rules::explain(Rules::built_in(), what).is_some()),
        };
        for reason in &mut report.reasons {
            reason.complete(|call| self.pin(call));
            for step in reason.next.iter_mut().chain(&mut reason.or) {
                self.point(step);
                if let Some(what) = step.strip_prefix("rollgate explain ")
                    && !is_known(what)
                {
                    let told = self.policy.map(|policy| format!(" --policy {}", quoted(policy)));
                    let packs = self.packs.iter().map(|pack| format!(" --pack {}", quoted(&pack.to_string_lossy())));
                    step.extend(told.into_iter().chain(packs));
                }
            }
        }
    }

    /// Lets a command of another program ask the cluster that was asked.
    fn point(&self, step: &mut String) {
        let Some(context) = self.context.map(quoted) else { return };
        let options = [("helm ", "--kube-context"), ("kubectl ", "--context")];
        if let Some((program, option)) = options.into_iter().find(|(program, _)| step.starts_with(program)) {
            // The outer one of two has credentials of its own.
            let at = step.rfind(program).unwrap_or_default() + program.len();
            step.insert_str(at, &format!("{option} {context} "));
        }
    }

    /// A command about pins.
    pub(super) fn pin(&self, call: &Call) -> String {
        call.line(&self.options(true))
    }

    /// The command that approves a change; where approvals count in commits alone, the one that makes the commit.
    pub(super) fn approve(&self, digest: &str, in_commits: bool) -> String {
        let commit = in_commits.then_some("--make-commit");
        Call::of(["approve", digest].into_iter().chain(commit)).line(&self.options(false))
    }

    /// The command that shows what was approved.
    pub(super) fn approvals(&self) -> String {
        let options = self.options(false).into_iter().map(|(option, value)| format!(" {option} {}", quoted(value)));
        format!("rollgate approve --list{}", options.collect::<String>())
    }

    fn options(&self, live: bool) -> Vec<(&str, &str)> {
        let live = self.live.filter(|_| live);
        let all =
            [("--policy", self.policy), ("--live", live), ("-n", self.namespace), ("--kube-context", self.context)];
        all.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
    }
}

/// What a reason says to do, below its message, as lines.
pub(super) fn steps(reason: &crate::model::Reason) -> String {
    reason.steps().map(|(word, step)| format!("\n  {word}: {}", escape::line(step))).collect()
}
