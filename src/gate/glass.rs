//! Breaking the glass: whoever runs an install lets it through although it is held and nobody approved it, where the policy says that
//! this may be done. It lifts no doubt, every reason stays visible, and it is written down before anything goes out.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Judged;
use super::approval::{self, ToApprove, can_lift};
use crate::approval::{self as kept, Approval, Ledger, ReleaseId, Use};
use crate::model::{Decision, Reason};
use crate::policy::{self, ApprovalPlace, BreakGlass};
use crate::report::{BreakGlassReport, Report};

/// Longest reason, in characters.
const LONGEST: usize = 500;
/// How long one reason opens the gate where the policy says nothing.
const HOUR: Duration = Duration::from_secs(3600);

/// What somebody wishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Why.
    pub reason: String,
    /// Who, as the program was told.
    pub by: Option<String>,
    /// Whether the run writes, so that it has to be written down.
    pub writes: bool,
}

/// How long one reason opens the gate.
#[must_use]
pub(crate) fn longest(glass: &BreakGlass) -> Duration {
    glass.longest.as_deref().and_then(|text| policy::duration(text).ok()).unwrap_or(HOUR)
}

/// Turns all holds into warnings, or none: the report of it, and what must be written down with its place as the policy names it.
pub(crate) fn lift(
    judged: &Judged<'_>,
    reasons: &mut [Reason],
    asked: &ToApprove<'_>,
    wish: &Wish,
) -> (Option<BreakGlassReport>, Option<(String, Approval)>) {
    let blank = BreakGlassReport { reason: wish.reason.clone(), by: wish.by.clone(), ..BreakGlassReport::default() };
    let entry = entry(judged, reasons, asked, wish);
    let place = match refusal(judged, reasons, &entry) {
        Ok(place) => place,
        Err(message) => return (Some(BreakGlassReport { message, ..blank }), None),
    };
    let mut lifts = BTreeSet::new();
    for reason in reasons.iter_mut().filter(|reason| reason.decision == Decision::Hold) {
        reason.decision = Decision::Warn;
        (reason.next, reason.remedy) = (None, None);
        lifts.insert(reason.gate.clone());
    }
    let lifts = lifts.into_iter().collect();
    let [name, id] = [&place, &entry.id].map(|text| wish.writes.then(|| text.clone()));
    (Some(BreakGlassReport { opened: true, lifts, id, place: name, ..blank }), Some((place, entry)))
}

/// What is written down: an entry among the approvals that lets nothing through.
fn entry(judged: &Judged<'_>, reasons: &[Reason], asked: &ToApprove<'_>, wish: &Wish) -> Approval {
    let now = kept::to_the_second(judged.world.now);
    let host = &judged.world.host;
    let said: Vec<(String, String)> = reasons
        .iter()
        .filter(|reason| reason.decision == Decision::Hold)
        .map(|reason| (reason.gate.clone(), (asked.shown)(&reason.message)))
        .collect();
    let entry = Approval {
        id: String::new(),
        digest: asked.digest.to_owned(),
        key: asked.key.map(str::to_owned),
        clusters: asked.clusters.to_vec(),
        release: ReleaseId::of(host.namespace.as_deref(), host.release.as_deref()),
        gates: kept::held(said.iter().map(|(gate, says)| (gate.as_str(), says.as_str()))),
        machines: approval::machines(&judged.classified.rollouts),
        reason: wish.reason.clone(),
        by: wish.by.clone(),
        time: now,
        expires: now,
        once: true,
        break_glass: true,
        uses: vec![Use { time: now, by: wish.by.clone() }],
        revoked: None,
    };
    entry.named()
}

/// The place where it is written down, or why the glass stays whole.
fn refusal(judged: &Judged<'_>, reasons: &[Reason], entry: &Approval) -> Result<String, String> {
    let rules = &judged.policy.approvals;
    let gates = |is: &dyn Fn(&&Reason) -> bool| -> Vec<&str> {
        reasons.iter().filter(is).map(|reason| reason.gate.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let doubts = gates(&|reason| reason.decision == Decision::Undecided);
    let holds = gates(&|reason| reason.decision == Decision::Hold);
    if doubts.is_empty() && holds.is_empty() {
        return Err("nothing is held; leave --break-glass out".to_owned());
    }
    if !rules.break_glass.allow {
        return Err("the policy does not allow it (approvals.breakGlass)".to_owned());
    }
    let Some(by) = entry.by.as_deref() else {
        return Err("who does it is not known, and that must be written down; set USER".to_owned());
    };
    let name = by.split(" (").next().unwrap_or(by);
    let wanted = &rules.break_glass.by;
    if !wanted.is_empty() && !wanted.iter().any(|one| one == by || one == name) {
        return Err(format!("it is by {by}, and the policy allows only {}", wanted.join(", ")));
    }
    if !doubts.is_empty() {
        return Err(format!("it cannot lift what is undecided: {}", doubts.join(", ")));
    }
    let fixed: Vec<&str> = holds.iter().copied().filter(|gate| !can_lift(gate)).collect();
    if !fixed.is_empty() {
        return Err(format!("it does not lift {}", fixed.join(", ")));
    }
    if entry.reason.chars().count() > LONGEST {
        return Err(format!("its reason is longer than {LONGEST} characters"));
    }
    let Some(place) = rules.from.iter().find(|place| place.keeps()).map(ApprovalPlace::to_string) else {
        return Err("the policy names no ConfigMap and no file to write it down in (approvals.from)".to_owned());
    };
    let Some(found) = judged.world.approvals.iter().find(|found| found.place == place) else {
        return Err(format!("{place} was not read, so it could not be written down there"));
    };
    if let Some(why) = &found.unread {
        return Err(format!("{place} cannot be read, so it could not be written down there: {why}"));
    }
    match Ledger::of(found.approvals.clone()).spent(entry, longest(&rules.break_glass)) {
        Some(why) => Err(why.to_string()),
        None => Ok(place),
    }
}

/// Of several ways in which a stream may be written, what was broken for one was broken for the install.
pub(crate) fn join(report: &mut Report, other: Option<BreakGlassReport>) {
    let Some(other) = other.filter(|other| other.opened) else { return };
    if report.decision > Decision::Warn {
        return;
    }
    match report.break_glass.as_mut().filter(|glass| glass.opened) {
        Some(glass) => {
            let lifts: BTreeSet<String> = glass.lifts.drain(..).chain(other.lifts).collect();
            glass.lifts = lifts.into_iter().collect();
        }
        None => report.break_glass = Some(other),
    }
}

/// Says it where every format shows it: as the first reason, or as a warning where it opened nothing.
pub(crate) fn tell(report: &mut Report) {
    let Some(glass) = &report.break_glass else { return };
    if glass.opened {
        let kept = match (&glass.place, &glass.id) {
            (Some(place), Some(id)) => format!("written down in {place} as {id}"),
            _ => "nothing is written, so it is not written down either".to_owned(),
        };
        let (shout, lifts) = (glass.shout(), glass.lifts.join(", "));
        let text = format!("{shout}: nobody approved this. Held by {lifts}, and let through; {kept}");
        report.reasons.insert(0, Reason::new(GATE, Decision::Warn, text));
    } else {
        report.warnings.insert(0, format!("break-glass had no effect: {}", glass.message));
    }
}

/// Takes back what was said of a glass that stays whole after all.
pub(crate) fn shut(report: &mut Report, why: &str) {
    if let Some(glass) = report.break_glass.as_mut().filter(|glass| glass.opened) {
        (glass.opened, glass.message) = (false, why.to_owned());
        report.reasons.retain(|reason| reason.gate != GATE);
    }
}

/// How the reason is called.
pub(crate) const GATE: &str = "break-glass";
