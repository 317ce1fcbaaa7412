//! What is said of a prediction; of several the worst counts.

use super::set_back;
use crate::approval::Approval;
use crate::gate::budget::Spending;
use crate::gate::glass;
use crate::impact::counted;
use crate::late::Stays;
use crate::model::{Decision, Effect};
use crate::report::{self, Report};

/// What is said where the API server's answer is what the verdict comes from.
const SERVER_IS_WORSE: &str =
    "the API server's dry run is worse than the prediction, so it counts (see the dry run below)";

/// What is said of a prediction, and what it comes from.
pub(super) struct Conclusion {
    pub(super) report: Report,
    /// Approvals that it is allowed by.
    pub(super) approvals: Vec<(String, Approval)>,
    /// The entry about a broken glass that it is allowed by.
    pub(super) glass: Option<(String, Approval)>,
    /// The Machines that go by it.
    pub(super) spending: Option<Spending>,
    /// What in it replaces or destroys Machines; empty where nothing may be set back.
    pub(super) rolling: Vec<Stays>,
    /// Addresses of the images of new Machines.
    pub(super) images: Vec<String>,
}

impl Conclusion {
    /// Joins what another prediction of the same write comes to: the worse report counts, whatever is judged must be allowed, and what
    /// goes by the worse of them is noted. `by_server` says that the other one is the API server's own answer.
    pub(super) fn join(&mut self, other: Self, by_server: bool) {
        let Self { mut report, approvals, glass, spending, rolling, images } = other;
        self.images.extend(images);
        set_back::add(&mut self.rolling, rolling);
        self.glass = self.glass.take().or(glass);
        let is_worse = severity(&report) > severity(&self.report);
        self.spending = if is_worse { spending.or(self.spending.take()) } else { self.spending.take().or(spending) };
        let known = std::mem::take(&mut self.approvals);
        let new: Vec<_> = approvals.into_iter().filter(|one| !known.contains(one)).collect();
        self.approvals = known.into_iter().chain(new).collect();
        let answers = report.server_dry_run.take();
        if is_worse {
            report.warnings.append(&mut self.report.warnings);
            if by_server {
                report.warnings.push(SERVER_IS_WORSE.to_owned());
            }
            report::said_once(&mut report.warnings);
            report.server_dry_run = self.report.server_dry_run.take();
            std::mem::swap(&mut self.report, &mut report);
        }
        if let Some(answers) = answers {
            self.report.server_dry_run.get_or_insert_default().extend(answers);
        }
        let known: Vec<Option<String>> = self.report.approvals.iter().map(|one| one.id.clone()).collect();
        let counts = report.approvals.into_iter().filter(|one| !one.lifts.is_empty() && !known.contains(&one.id));
        self.report.approvals.extend(counts);
        glass::join(&mut self.report, report.break_glass);
    }
}

/// What makes one report worse than another: its decision, then its effect, then how many Machines it takes.
fn severity(report: &Report) -> (Decision, Effect, u64) {
    let machines = counted(&report.rollouts).filter_map(|rollout| rollout.machines).sum();
    (report.decision, report.effect, machines)
}
