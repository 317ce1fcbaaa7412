//! What is done next about a HelmRelease, as a pure function: what was decided before (which stands on the object), what is seen of it
//! now, and a verdict where one came. Each step is one write onto exactly the object that was seen, so a restart at any point is a look
//! at the same object, and two that act at once cannot both be heard.

use std::time::Duration;

use jiff::Timestamp;

use super::state::{Made, Observed, Phase, Ruling, State, Verdict};

/// How long is waited for a source or a value before it is looked at again without news.
const AGAIN: Duration = Duration::from_secs(15);
/// How often what is held is judged anew without news: windows open, health returns, time goes by.
const RECHECK: Duration = Duration::from_secs(60);
/// How often is looked while helm-controller may act.
const CLOSE: Duration = Duration::from_millis(300);
/// How long helm-controller may take to begin before the release is suspended again: it waits for something that is not there.
const BEGINS: Duration = Duration::from_secs(60);
/// How much longer than its own timeout helm-controller may take.
const GRACE: Duration = Duration::from_secs(60);
/// How often is looked at what rests.
const REST: Duration = Duration::from_secs(15);

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    /// Whether it is suspended from now on; `None` leaves that as it is.
    pub suspend: Option<bool>,
    /// What stands on it from now on; `None` takes everything of ours away.
    pub state: Option<State>,
}

/// What people hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextSaid {
    /// One word.
    pub reason: &'static str,
    /// Whether somebody has to do something.
    pub warns: bool,
    /// Whether it is why the release waits.
    pub waits: bool,
    /// The line.
    pub line: String,
}

/// What comes after the write, or where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It is judged.
    Judge,
    /// Its removal is judged.
    JudgeRemoval,
    /// It is looked at again.
    Look(Duration),
    /// Nothing, until there is news of it.
    Rest,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextStep {
    /// The write.
    pub write: Option<Write>,
    /// What is said once it is written.
    pub say: Option<NextSaid>,
    /// What comes then.
    pub then: Then,
}

impl NextStep {
    const fn quiet(then: Then) -> Self {
        Self { write: None, say: None, then }
    }

    fn to(suspend: Option<bool>, state: State, say: Option<NextSaid>) -> Self {
        Self { write: Some(Write { suspend, state: Some(state) }), say, then: Then::Look(Duration::ZERO) }
    }

    fn forget(say: Option<NextSaid>) -> Self {
        Self { write: Some(Write { suspend: None, state: None }), say, then: Then::Rest }
    }
}

fn say(reason: &'static str, warns: bool, line: impl Into<String>) -> Option<NextSaid> {
    Some(NextSaid { reason, warns, waits: false, line: line.into() })
}

fn wait(reason: &'static str, warns: bool, line: impl Into<String>) -> Option<NextSaid> {
    say(reason, warns, line).map(|said| NextSaid { waits: true, ..said })
}

/// The next step.
#[must_use]
pub(crate) fn next(state: Option<&State>, seen: &Observed, verdict: Option<&Verdict>) -> NextStep {
    if seen.deleting {
        return removed(state, seen, verdict);
    }
    let Some(state) = state else { return if seen.asked { taken(seen) } else { NextStep::quiet(Then::Rest) } };
    if !seen.asked {
        let line =
            "it is no longer gated; it stays as it is, and flux resume helmrelease resumes it where it is suspended";
        return NextStep::forget(say("NotGated", false, line));
    }
    match state.phase {
        Phase::Theirs if seen.suspended => NextStep::quiet(Then::Rest),
        Phase::Theirs => back(state, seen, say("Gated", false, "resumed by hand; it is judged before Flux acts")),
        Phase::Resumed => resumed(state, seen),
        _ if !seen.suspended => {
            let line = "it was resumed by hand, and is suspended again until its change is allowed; \
                        next: rollgate approve, or take the annotation off to go on without a gate";
            back(state, seen, say("SuspendedAgain", true, line))
        }
        _ => resting(state, seen, verdict),
    }
}

/// A release that asks for the first time.
fn taken(seen: &Observed) -> NextStep {
    let state = |phase, why: &str| State {
        phase,
        made: None,
        applied: None,
        generation: 0,
        verdict: String::new(),
        since: seen.now,
        why: why.to_owned(),
    };
    if seen.suspended {
        let why = "a person has suspended it; it is judged once a person resumes it";
        return NextStep::to(None, state(Phase::Theirs, why), say("SuspendedByHand", false, why));
    }
    NextStep::to(
        Some(true),
        state(Phase::Waiting, "it is judged"),
        say("Gated", false, "it is judged before Flux acts"),
    )
}

/// Suspends it, to be judged.
fn back(state: &State, seen: &Observed, said: Option<NextSaid>) -> NextStep {
    let why = said.as_ref().map(|said| said.line.clone()).unwrap_or_default();
    let state = State { phase: Phase::Waiting, generation: 0, since: seen.now, why, ..state.clone() };
    NextStep::to(Some(true), state, said)
}

/// A release that is suspended by us.
fn resting(state: &State, seen: &Observed, verdict: Option<&Verdict>) -> NextStep {
    let made = match &seen.made {
        Ok(made) => made,
        Err(why) if state.phase == Phase::Waiting && state.why == *why => return NextStep::quiet(Then::Look(AGAIN)),
        Err(why) => {
            let waiting = State { phase: Phase::Waiting, since: seen.now, why: why.clone(), ..state.clone() };
            return NextStep::to(None, waiting, wait("Waiting", false, why.clone()));
        }
    };
    if let Some(verdict) = verdict.filter(|verdict| !verdict.removal && verdict.made == *made) {
        return answered(state, seen, verdict);
    }
    if state.made.as_ref() != Some(made) {
        return NextStep::quiet(Then::Judge);
    }
    match state.phase {
        Phase::Held | Phase::Undecided => due(seen, seen.judged.map(|at| age(at, seen.now)), RECHECK),
        // What failed as it is fails again; a person who asks is heard.
        Phase::Failed => NextStep::quiet(if seen.stirred { Then::Judge } else { Then::Look(REST) }),
        Phase::Done => due(seen, Some(age(state.since, seen.now)), seen.interval),
        _ => NextStep::quiet(Then::Judge),
    }
}

/// Judges it when its time has come.
fn due(seen: &Observed, age: Option<Duration>, every: Duration) -> NextStep {
    match age.and_then(|age| every.checked_sub(age)).filter(|left| !left.is_zero() && !seen.stirred) {
        Some(left) => NextStep::quiet(Then::Look(left.min(REST))),
        None => NextStep::quiet(Then::Judge),
    }
}

fn answered(state: &State, seen: &Observed, verdict: &Verdict) -> NextStep {
    let now = State {
        phase: Phase::Resumed,
        made: Some(verdict.made.clone()),
        applied: state.applied.clone(),
        generation: 0,
        verdict: verdict.digest.clone(),
        since: seen.now,
        why: String::new(),
    };
    let (phase, reason) = match verdict.answer {
        Ruling::Allow => {
            let opened = State { generation: seen.generation + 1, why: "allowed; Flux may act".to_owned(), ..now };
            // What happens at every interval is no news.
            let is_news = state.applied.as_ref() != Some(&verdict.made);
            let said = say("Allowed", false, format!("allowed; Flux may act; digest {}", verdict.digest));
            return NextStep::to(Some(false), opened, said.filter(|_| is_news));
        }
        Ruling::Hold => (Phase::Held, "Held"),
        Ruling::Undecided => (Phase::Undecided, "Undecided"),
    };
    let same = state.phase == phase && state.made.as_ref() == Some(&verdict.made) && state.why == verdict.line;
    if same {
        return NextStep::quiet(Then::Look(REST));
    }
    let held = State { phase, why: verdict.line.clone(), ..now };
    NextStep::to(None, held, wait(reason, true, verdict.line.clone()))
}

/// A release that helm-controller may act on: only on what was judged, and only until it is done.
fn resumed(state: &State, seen: &Observed) -> NextStep {
    if seen.suspended {
        let why = "a person has suspended it; it is judged once a person resumes it";
        let theirs =
            State { phase: Phase::Theirs, generation: 0, since: seen.now, why: why.to_owned(), ..state.clone() };
        return NextStep::to(None, theirs, say("SuspendedByHand", false, why));
    }
    if seen.generation != state.generation || seen.made.as_ref().ok() != state.made.as_ref() {
        return back(state, seen, say("ChangedWhileResumed", true, moved(state, seen)));
    }
    let closed = |phase, why: String, applied: Option<Made>, said: Option<NextSaid>| {
        let closed = State { phase, generation: 0, since: seen.now, why, applied, ..state.clone() };
        NextStep::to(Some(true), closed, said)
    };
    let (before, age) = (state.applied.clone(), age(state.since, seen.now));
    let failed = |what: &str| format!("{what}: {}", seen.flux.said);
    if seen.flux.done && seen.flux.ready {
        let is_news = state.applied != state.made;
        let said = say("Applied", false, "Flux has applied what was allowed").filter(|_| is_news);
        return closed(Phase::Done, String::new(), state.made.clone(), said);
    }
    if seen.flux.done {
        let why = failed("Flux failed with what was allowed");
        let phase = if seen.flux.stalled { Phase::Failed } else { Phase::Done };
        return closed(phase, why.clone(), before, say("FluxFailed", true, why));
    }
    if !seen.flux.began && age >= BEGINS {
        let why = failed("Flux does not begin, so it is suspended again and judged again");
        return closed(Phase::Waiting, why.clone(), before, say("NotBegun", true, why));
    }
    if age >= seen.timeout + GRACE {
        let why = failed("Flux does not come to an end, so it is suspended again");
        return closed(Phase::Done, why.clone(), before, say("NotDone", true, why));
    }
    NextStep::quiet(Then::Look(CLOSE))
}

/// What is no longer as it was judged.
fn moved(state: &State, seen: &Observed) -> String {
    let what = match (&seen.made, &state.made) {
        (Err(why), _) => why.clone(),
        (Ok(now), Some(was)) if now.chart != was.chart => "the artifact of its chart has changed".to_owned(),
        (Ok(now), Some(was)) if now.values != was.values => "an object of its values has changed".to_owned(),
        _ => "its spec has changed".to_owned(),
    };
    let begun = if seen.flux.began { "Flux had begun, so look at what it did" } else { "Flux had not begun" };
    format!("{what} after it was judged; it is suspended again and judged again ({begun})")
}

/// A release that is being deleted: what is suspended Flux forgets without uninstalling it, so it is kept until its removal was judged.
fn removed(state: Option<&State>, seen: &Observed, verdict: Option<&Verdict>) -> NextStep {
    if !seen.guarded {
        return NextStep::quiet(Then::Rest);
    }
    let Some(state) = state else { return NextStep::forget(None) };
    if !seen.flux.installed {
        return NextStep::forget(None);
    }
    if !seen.asked || state.phase == Phase::Theirs || state.phase.is_open() && seen.suspended {
        let line = "it goes without being uninstalled, as Flux does with what a person suspends";
        return NextStep::forget(say("NotUninstalled", true, line));
    }
    let age = age(state.since, seen.now);
    match (state.phase, seen.suspended) {
        (Phase::Removing, false) if age < seen.timeout + GRACE => return NextStep::quiet(Then::Look(CLOSE)),
        (_, false) => {
            let line = "it is deleted, and suspended until its removal is allowed";
            return back(state, seen, say("RemovalWaits", false, line));
        }
        (_, true) => {}
    }
    let Some(verdict) = verdict.filter(|verdict| verdict.removal) else {
        let is_judged = matches!(state.phase, Phase::Held | Phase::Undecided);
        let judged = seen.judged.filter(|_| is_judged).map(|at| self::age(at, seen.now));
        let step = due(seen, judged, RECHECK);
        return if step.then == Then::Judge { NextStep::quiet(Then::JudgeRemoval) } else { step };
    };
    let (phase, suspend, reason) = match verdict.answer {
        Ruling::Allow => (Phase::Removing, Some(false), "RemovalAllowed"),
        Ruling::Hold => (Phase::Held, None, "RemovalHeld"),
        Ruling::Undecided => (Phase::Undecided, None, "RemovalUndecided"),
    };
    if suspend.is_none() && state.phase == phase && state.why == verdict.line {
        return NextStep::quiet(Then::Look(REST));
    }
    let open = suspend.is_some();
    let line = if open { "its removal is allowed; Flux may uninstall it".to_owned() } else { verdict.line.clone() };
    let now = State {
        phase,
        generation: if open { seen.generation + 1 } else { 0 },
        verdict: verdict.digest.clone(),
        since: seen.now,
        why: line.clone(),
        ..state.clone()
    };
    NextStep::to(suspend, now, say(reason, !open, line))
}

/// How long ago something was; none where a clock went back.
fn age(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(at)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
