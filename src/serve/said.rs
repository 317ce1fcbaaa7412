//! What a judgement comes to for whoever writes: one line that names the field and the next command, and what is kept of it.

use super::judge::{Doubtful, Manner, Mode};
use super::review::Response;
use crate::model::{Decision, Effect, Reason};
use crate::report::{ObjectReport, Report, plural};

/// The rule of a field that the kind does not have, as far as it is known here.
const UNKNOWN_FIELD: &str = "schema/unknown-field-refused";
/// The finding of a template that goes while an old MachineSet still refers to it.
const OLD_TEMPLATE: &str = "old-template-removed";

/// What was decided, before it is known how the server is to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// There was nothing to judge.
    Skipped,
    /// It was judged, and may go on.
    Allowed,
    /// Something needed is not known.
    Undecided,
    /// The cluster is not read.
    NotReady,
    /// A gate holds it.
    Held,
}

impl Why {
    /// The word of logs and metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Allowed => "allow",
            Self::Undecided => "undecided",
            Self::NotReady => "not-ready",
            Self::Held => "hold",
        }
    }
}

/// What is said of one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What was decided.
    pub why: Why,
    /// In one line, with the next command; empty where it may go on.
    pub line: String,
    /// `line` as lines that are short enough for warnings, the weightiest first.
    pub short: Vec<String>,
    /// What whoever writes should know beside it.
    pub warnings: Vec<String>,
    /// What it does to Machines.
    pub effect: Effect,
    /// The gate that weighs most, where one does.
    pub gate: String,
    /// The rule that weighs most, where one does.
    pub rule: String,
    /// Hash of what affects Machines, where it was judged.
    pub digest: String,
}

impl Said {
    fn bare(why: Why, line: String) -> Self {
        let (gate, rule, digest) = (String::new(), String::new(), String::new());
        Self { why, line, short: Vec::new(), warnings: Vec::new(), effect: Effect::None, gate, rule, digest }
    }

    /// There is nothing to judge.
    #[must_use]
    pub fn skipped(why: &str) -> Self {
        Self::bare(Why::Skipped, why.to_owned())
    }

    /// The cluster is not read.
    #[must_use]
    pub fn not_ready(why: String) -> Self {
        Self::bare(Why::NotReady, format!("rollgate is not ready: {why}"))
    }

    /// Something needed is not known.
    #[must_use]
    pub fn unread(why: String) -> Self {
        Self::bare(Why::Undecided, format!("rollgate cannot say what this does to Machines: {why}"))
    }

    /// What a report comes to.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let weighty = report.reasons.iter().find(|reason| reason.decision == report.decision);
        let changes = || report.objects.iter().flat_map(|object| &object.changes);
        let rule = weighty.and_then(|reason| reason.about.rule.clone());
        let rule = rule.or_else(|| changes().max_by_key(|change| change.effect).map(|change| change.rule.clone()));
        let why = match report.decision {
            Decision::Hold => Why::Held,
            Decision::Undecided => Why::Undecided,
            Decision::Allow | Decision::Warn => Why::Allowed,
        };
        let warned = report.reasons.iter().filter(|reason| reason.decision == Decision::Warn);
        let lost = report.findings.iter().filter(|finding| finding.id == OLD_TEMPLATE);
        let held = weighty.filter(|_| why != Why::Allowed);
        let said = Self {
            why,
            line: held.map(|reason| line(reason, report)).unwrap_or_default(),
            short: held.map(|reason| short(reason, report)).unwrap_or_default(),
            warnings: warned
                .map(|reason| &reason.message)
                .chain(lost.map(|finding| &finding.message))
                .cloned()
                .collect(),
            effect: report.effect,
            gate: weighty.map(|reason| reason.gate.clone()).unwrap_or_default(),
            rule: rule.unwrap_or_default(),
            digest: report.digest.clone(),
        };
        let unknown = changes().find(|change| change.rule == UNKNOWN_FIELD).map(|change| change.path.clone());
        let is_new = |object: &&ObjectReport| object.rule == UNKNOWN_FIELD;
        let unknown = unknown.or_else(|| report.objects.iter().find(is_new).map(|object| object.because.clone()));
        match unknown {
            // The API server has taken it, so it is we who do not know it.
            Some(what) => Self { line: String::new(), short: Vec::new(), why: Why::Undecided, ..said }.raised(
                Why::Undecided,
                &format!("a field is not known to this version of rollgate: {what}; use a newer one"),
            ),
            None => said,
        }
    }

    /// What is said, no lighter than this.
    #[must_use]
    pub fn raised(self, why: Why, line: &str) -> Self {
        if self.why > why || self.why == why && !self.line.is_empty() {
            return self;
        }
        Self { why, line: format!("rollgate: {line}"), short: Vec::new(), ..self }
    }

    /// Whether the write is refused.
    #[must_use]
    pub fn refuses(&self, manner: Manner) -> bool {
        let holds = match self.why {
            Why::Skipped | Why::Allowed => false,
            Why::Held => true,
            Why::Undecided => manner.undecided == Doubtful::Hold,
            Why::NotReady => manner.not_ready == Doubtful::Hold,
        };
        holds && manner.mode == Mode::Enforce
    }

    /// The answer to whoever writes.
    #[must_use]
    pub fn answer(&self, manner: Manner) -> Response {
        if self.why == Why::Skipped {
            return Response::default();
        }
        let refuses = self.refuses(manner);
        let mut warnings = self.warnings.clone();
        if !refuses && self.why > Why::Allowed {
            let (first, more) = self.short.split_first().map_or((&self.line, &[][..]), |(first, more)| (first, more));
            let first = format!("rollgate would hold this: {}", first.strip_prefix("rollgate: ").unwrap_or(first));
            warnings.splice(0..0, [first].into_iter().chain(more.iter().cloned()));
        }
        let mut audit = vec![("decision", self.why.word().to_owned())];
        audit.extend(
            [("digest", &self.digest), ("rule", &self.rule)]
                .into_iter()
                .filter(|(_, text)| !text.is_empty())
                .map(|(name, text)| (name, text.clone())),
        );
        Response { refusal: refuses.then(|| self.line.clone()), warnings, audit }
    }
}

/// The one line of a held write: what happens, how many more gates say so, and what to do.
fn line(reason: &Reason, report: &Report) -> String {
    let next = next(reason).map(|next| format!("; next: {next}")).unwrap_or_default();
    let more = more(report);
    format!("rollgate {}: {}{more}{next}; digest {}", reason.decision.word(), reason.message, report.digest)
}

/// A held write in several lines: the name of a field may be long, so what becomes of Machines stands before it.
fn short(reason: &Reason, report: &Report) -> Vec<String> {
    let effect = toll(report).map(|toll| format!("{toll}: ")).unwrap_or_default();
    let first = format!("{effect}{}{}", reason.message, more(report));
    let next = next(reason).map(|next| format!("next: {next}"));
    [first].into_iter().chain(next).chain([format!("digest {}", report.digest)]).collect()
}

/// What a write does to how many Machines, where it takes any.
fn toll(report: &Report) -> Option<String> {
    let verb = match report.effect {
        Effect::Rollout => "replaces",
        Effect::Delete => "destroys",
        _ => return None,
    };
    let theirs = report.rollouts.iter().filter(|rollout| rollout.effect == report.effect);
    let count: Option<u64> = theirs.map(|rollout| rollout.machines).sum();
    let machines =
        count.filter(|count| *count > 0).map_or_else(|| "Machines".to_owned(), |count| plural(count, "Machine"));
    Some(format!("{verb} {machines}"))
}

/// How many more gates say so.
fn more(report: &Report) -> String {
    match report.reasons.iter().filter(|other| other.decision == report.decision).count().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

/// What to do about a reason.
fn next(reason: &Reason) -> Option<String> {
    let explain = || reason.about.rule.as_ref().map(|rule| format!("rollgate explain {rule}"));
    reason.next.clone().or_else(explain)
}
