//! Weighs what a mirror found: how many Machines, with what room, in which order.
//! The order is the controllers' own (`docs` of each provider); percentages round as they round.

use std::collections::HashSet;

use serde_json::Value;

use super::Rollout;
use crate::judge::{Act, Assessment, Mirror, Unit, replicas_wanted};
use crate::model::Basis;
use crate::model::effect::Effect;
use crate::object::Key;

/// The entry of an owner, where Machines are replaced, deleted or their number falls; `None` where none is.
#[must_use]
pub fn of(owner: &Key, assessment: &Assessment) -> Option<Rollout> {
    let wanted = replicas_wanted(&assessment.new, Some(&assessment.old));
    let before = replicas_wanted(&assessment.old, None);
    let cluster = assessment.cluster.as_ref().map(|key| key.name.clone()).unwrap_or_default();
    let base = Rollout {
        owner: owner.clone(),
        cluster,
        effect: Effect::Rollout,
        replicas: Some(wanted),
        machines: None,
        machine_names: Vec::new(),
        max_surge: None,
        max_unavailable: None,
        steps: Vec::new(),
        causes: Vec::new(),
    };
    // Machines that were read are counted; what is said of their number is not.
    let runs = if assessment.basis == Basis::Machines { assessment.count().min(before) } else { before };
    let counts = assessment.held(Act::Fewer).is_none() && !is_deleting(&assessment.old);
    if wanted == 0 && runs > 0 && counts {
        let names = assessment.units.iter().flat_map(|unit| unit.names.clone()).collect();
        return Some(gone(base, runs, names, vec!["spec.replicas".to_owned()]));
    }
    let rolls =
        assessment.newly().next().is_some() || (assessment.is_released() && assessment.pending().next().is_some());
    if rolls && !assessment.waits() && !is_deleting(&assessment.old) {
        return Some(replaced(base, assessment, wanted));
    }
    (wanted < before && wanted < runs && counts).then(|| fewer(base, runs, wanted))
}

/// Whether an owner is on its way out already: nothing is done to its Machines but deleting them.
fn is_deleting(owner: &Value) -> bool {
    owner.pointer("/metadata/deletionTimestamp").is_some_and(|stamp| !stamp.is_null())
}

/// All Machines go.
#[must_use]
pub(crate) fn gone(base: Rollout, before: u64, machine_names: Vec<String>, causes: Vec<String>) -> Rollout {
    Rollout {
        effect: Effect::Delete,
        machines: Some(before),
        machine_names,
        steps: vec![format!("deletes all {before} Machines; none takes their place")],
        causes,
        ..base
    }
}

/// The number of Machines falls, and none is replaced.
#[must_use]
pub(crate) fn fewer(base: Rollout, before: u64, wanted: u64) -> Rollout {
    let count = before - wanted;
    Rollout {
        effect: Effect::Scale,
        machines: Some(count),
        machine_names: Vec::new(),
        steps: vec![format!("deletes {count} of {before} Machines, drained one after another")],
        causes: vec!["spec.replicas".to_owned()],
        ..base
    }
}

/// Machines are replaced.
fn replaced(base: Rollout, assessment: &Assessment, wanted: u64) -> Rollout {
    let mut units: Vec<&Unit> = assessment.newly().chain(assessment.pending()).collect();
    units.sort_by(|left, right| left.names.cmp(&right.names));
    let count: u64 = units.iter().map(|unit| unit.count).sum();
    let (surge, unavailable) = room(assessment, wanted);
    let paths = units.iter().flat_map(|unit| &unit.after).map(|cause| cause.path.to_string());
    let mut seen = HashSet::new();
    let causes: Vec<String> = paths.filter(|path| seen.insert(path.clone())).collect();
    Rollout {
        machines: Some(count),
        machine_names: units.iter().flat_map(|unit| unit.names.clone()).collect(),
        max_surge: Some(surge),
        max_unavailable: Some(unavailable),
        steps: steps(assessment.mirror, count, wanted, surge, unavailable),
        causes,
        ..base
    }
}

/// The room that the strategy gives: Machines above and below the wanted number.
fn room(assessment: &Assessment, wanted: u64) -> (u64, u64) {
    let owner = &assessment.new;
    match assessment.mirror {
        Mirror::Kubeadm => {
            let surge = owner.pointer("/spec/rollout/strategy/rollingUpdate/maxSurge");
            let surge = surge.map_or(1, plain_number);
            (surge, u64::from(surge == 0))
        }
        Mirror::Rke2 => {
            let surge = owner.pointer("/spec/rolloutStrategy/rollingUpdate/maxSurge");
            let surge = surge.or_else(|| owner.pointer("/spec/rollout/strategy/rollingUpdate/maxSurge"));
            let surge = surge.map_or(1, plain_number);
            (surge, u64::from(surge == 0))
        }
        Mirror::Workers => {
            let told = |key: &str| owner.pointer(&format!("/spec/rollout/strategy/rollingUpdate/{key}"));
            let surge = told("maxSurge").map_or(1, |value| of_percent(value, wanted, true));
            let unavailable = told("maxUnavailable").map_or(0, |value| of_percent(value, wanted, false));
            // Both zero would stand still, so the controller takes one Machine away at a time.
            if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
        }
    }
}

/// A number as control planes read it: a text that is not a number, such as a percentage, is 0.
fn plain_number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_str().and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// A number or a percentage of the wanted Machines; surge rounds up, unavailable rounds down.
fn of_percent(value: &Value, wanted: u64, up: bool) -> u64 {
    let percent = value.as_str().and_then(|text| text.strip_suffix('%')).and_then(|text| text.parse::<u64>().ok());
    match percent {
        Some(percent) if up => (wanted * percent).div_ceil(100),
        Some(percent) => wanted * percent / 100,
        None => plain_number(value),
    }
}

/// What happens, in order.
fn steps(mirror: Mirror, count: u64, wanted: u64, surge: u64, unavailable: u64) -> Vec<String> {
    let each =
        if count == 1 { "the Machine that is".to_owned() } else { format!("each of the {count} Machines that are") };
    if mirror == Mirror::Workers {
        let mut out = vec!["makes a new MachineSet; the old ones drain away".to_owned()];
        if surge > 0 {
            out.push(format!("makes up to {surge} new Machines first, so that at most {} run", wanted + surge));
        }
        let least = wanted.saturating_sub(unavailable);
        out.push(format!("drains and deletes old Machines while at least {least} of {wanted} are available"));
        out.push(format!("repeats until {each} out of date is replaced"));
        return out;
    }
    let first = if surge > 0 {
        [
            format!("makes 1 Machine more, so that {} run, and waits until it is healthy", wanted + 1),
            "moves etcd leadership away, drains and deletes 1 Machine that is out of date".to_owned(),
        ]
    } else {
        [
            "moves etcd leadership away, drains and deletes 1 Machine that is out of date".to_owned(),
            format!(
                "makes 1 Machine in its place and waits until it is healthy; {} run meanwhile",
                wanted.saturating_sub(1)
            ),
        ]
    };
    let mut out = first.to_vec();
    out.push(format!("repeats, one at a time, until {each} out of date is replaced"));
    out
}
