//! Maintenance windows and freezes: outside of the ones and inside the others a rollout or a deletion is held, whatever the other
//! gates answer.

use jiff::{Timestamp, tz::TimeZone};

use super::Judged;
use crate::impact::{Rollout, counted};
use crate::model::Reason;
use crate::model::{Decision, Effect};
use crate::policy::freeze::ends;
use crate::policy::{self, Freeze, Window, cron};

/// Whether the policy names windows and one of them is open.
pub(super) fn is_any_open(judged: &Judged<'_>) -> bool {
    judged.policy.gates.windows.iter().any(|window| is_open(window, judged.world.now) == Ok(true))
}

/// A hold when Machines would go and no window is open, or while a freeze lasts.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    if !takes(judged) {
        return Vec::new();
    }
    let mut out = closed(judged);
    out.extend(judged.policy.gates.freezes.iter().filter_map(|freeze| frozen(freeze, judged.world.now)));
    out
}

/// Whether Machines are replaced or destroyed, or drained because fewer are wanted.
fn takes(judged: &Judged<'_>) -> bool {
    let is_fewer = |rollout: &Rollout| rollout.effect == Effect::Scale && rollout.machines != Some(0);
    judged.pairs.iter().any(|pair| pair.effect >= Effect::Rollout) || counted(&judged.classified.rollouts).any(is_fewer)
}

/// A hold while a freeze lasts, or where nobody can tell whether it does.
fn frozen(freeze: &Freeze, now: Timestamp) -> Option<Reason> {
    let message = match ends(freeze) {
        Ok((from, until)) if from <= now && now < until => {
            let why = freeze.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            format!("{now} lies in the freeze from {} until {}{why}", freeze.from, freeze.until)
        }
        Ok(_) => return None,
        Err(fault) => format!("a freeze of the policy cannot be read: {}: {}", fault.field, fault.why),
    };
    let next = "wait until the freeze is over, or change gates.freezes in the policy".to_owned();
    Some(Reason::new("freezes", Decision::Hold, message).with_remedy(next))
}

/// A hold when windows are named and none is open.
fn closed(judged: &Judged<'_>) -> Vec<Reason> {
    let windows = &judged.policy.gates.windows;
    if windows.is_empty() {
        return Vec::new();
    }
    let now = judged.world.now;
    let mut faults = Vec::new();
    for window in windows {
        match is_open(window, now) {
            Ok(true) => return Vec::new(),
            Ok(false) => {}
            Err(fault) => faults.push(fault),
        }
    }
    let message = if faults.is_empty() {
        format!("{now} is outside every maintenance window of the policy")
    } else {
        format!("a maintenance window of the policy cannot be read: {}", faults.join("; "))
    };
    let next = "wait for the window, or change gates.windows in the policy".to_owned();
    vec![Reason::new("windows", Decision::Hold, message).with_remedy(next)]
}

/// Whether the newest start of the window lies less than its length before `now`.
fn is_open(window: &Window, now: Timestamp) -> Result<bool, String> {
    let cron = cron::read(&window.cron).map_err(|error| format!("cron {:?}: {error}", window.cron))?;
    let zone = match &window.time_zone {
        Some(name) => TimeZone::get(name).map_err(|error| format!("time zone {name:?}: {error}"))?,
        None => TimeZone::UTC,
    };
    let length = policy::duration(&window.length).map_err(|error| format!("for {error}"))?;
    let here = now.to_zoned(zone);
    let start =
        cron.find_previous_occurrence(&here, true).map_err(|error| format!("cron {:?}: {error}", window.cron))?;
    Ok(start.timestamp().checked_add(length).is_ok_and(|end| now < end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saturday_night() -> Window {
        Window { cron: "0 2 * * 6".to_owned(), length: "3h".to_owned(), time_zone: Some("Europe/Paris".to_owned()) }
    }

    #[test]
    fn a_window_is_open_from_its_start_for_its_length() {
        let open = |at: &str| is_open(&saturday_night(), at.parse().expect("a time")).expect("a window");
        assert!(!open("2026-11-21T00:59:59Z"));
        assert!(open("2026-11-21T01:00:00Z"));
        assert!(open("2026-11-21T03:59:59Z"));
        assert!(!open("2026-11-21T04:00:00Z"));
    }

    #[test]
    fn a_window_that_cannot_be_read_is_said() {
        let window = Window { time_zone: Some("Europe/Atlantis".to_owned()), ..saturday_night() };
        assert!(is_open(&window, Timestamp::UNIX_EPOCH).expect_err("no such zone").contains("Atlantis"));
    }
}
