//! Which owners of one cluster roll at the same time, and how many Machines that leaves or makes together.
//! Read beside `exp/topology/desiredstate/desired_state.go` of Cluster API 1.14: a topology hands a new version to its control plane
//! first, then to so many groups of workers at a time, and nothing else to an owner that waits for it.

use std::collections::{BTreeMap, BTreeSet};

use super::Rollout;
use crate::kinds::contract::{CONTROL_PLANE, TOPOLOGY_OWNED, UPGRADE_CONCURRENCY};
use crate::kinds::fields::{annotation, label, text};
use crate::model::{Course, Together};
use crate::object::Key;
use crate::tree::Value;

/// A live object, where it was read.
pub(crate) type Live<'a> = &'a dyn Fn(&Key) -> Option<Value>;

/// The owners that come to the greatest count at one time, each with its own. `was` and `is` are the Cluster before and after the write.
#[must_use]
pub(crate) fn at_once<'r>(
    live: Live<'_>,
    [was, is]: &[Option<Value>; 2],
    counts: BTreeMap<&'r Key, u64>,
) -> Vec<(&'r Key, u64)> {
    let version = |side: &Option<Value>| text(side.as_ref()?, "/spec/topology/version").map(str::to_owned);
    let (had, wanted) = (version(was), version(is));
    let waits = |owner: &Key| {
        let Some(live) = live(owner) else { return wanted.is_some() && had != wanted };
        let version = text(&live, "/spec/version").or_else(|| text(&live, "/spec/template/spec/version"));
        label(&live, TOPOLOGY_OWNED).is_some() && wanted.is_some() && version != wanted.as_deref()
    };
    let (waiting, mut out): (Vec<_>, Vec<_>) = counts.into_iter().partition(|(owner, _)| waits(owner));
    let (planes, mut workers): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|(owner, _)| owner.group == CONTROL_PLANE);
    let told = is.as_ref().and_then(|cluster| annotation(cluster, UPGRADE_CONCURRENCY)?.parse().ok());
    workers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    workers.truncate(told.unwrap_or(1));
    let count = |part: &[(&Key, u64)]| part.iter().map(|(_, count)| count).sum::<u64>();
    out.extend(if count(&planes) >= count(&workers) { planes } else { workers });
    out
}

/// The owners of one cluster that roll, counted together; `None` where fewer than two do, or the course of one is not known.
#[must_use]
pub(crate) fn together(live: Live<'_>, sides: &[Option<Value>; 2], rollouts: &[&Rollout]) -> Option<Together> {
    let courses: Option<BTreeMap<&Key, &Course>> =
        rollouts.iter().map(|rollout| Some((&rollout.owner, rollout.course.as_ref()?))).collect();
    let courses = courses.filter(|courses| courses.len() > 1)?;
    let first = rollouts.first()?;
    let now = |course: &Course| course.peak - course.more;
    let most = |count: fn(&Course) -> u64| {
        at_once(live, sides, courses.iter().map(|(owner, course)| (*owner, count(course))).collect())
    };
    let (missing, more) =
        (most(|course| (course.peak - course.more).saturating_sub(course.lowest)), most(|course| course.more));
    let sum = |part: &[(&Key, u64)]| part.iter().map(|(_, count)| count).sum::<u64>();
    let machines: u64 = courses.values().map(|course| now(course)).sum();
    let owners: BTreeSet<&Key> = missing.iter().chain(&more).map(|(owner, _)| *owner).collect();
    Some(Together {
        namespace: first.owner.namespace.clone(),
        cluster: first.cluster.clone(),
        waits: waits(rollouts, &owners),
        owners: owners.into_iter().cloned().collect(),
        machines,
        lowest: machines.saturating_sub(sum(&missing)),
        peak: machines + sum(&more),
    })
}

/// Workers that let Machines go before others are made, beside a control plane of another version: the preflight check
/// ControlPlaneIsStable makes none until that is done (`machineset_preflight.go` controlPlaneStablePreflightCheck).
fn waits(rollouts: &[&Rollout], owners: &BTreeSet<&Key>) -> Vec<String> {
    let is_plane = |rollout: &&&Rollout| rollout.owner.group == CONTROL_PLANE;
    let upgrades = |rollout: &&Rollout| rollout.causes.iter().any(|cause| cause == "spec.version");
    if !rollouts.iter().filter(is_plane).any(|plane| owners.contains(&plane.owner) && upgrades(plane)) {
        return Vec::new();
    }
    let gives = |rollout: &&&Rollout| {
        !is_plane(rollout) && owners.contains(&rollout.owner) && rollout.max_unavailable.is_some_and(|count| count > 0)
    };
    let told = |rollout: &&Rollout| {
        format!(
            "{} deletes {} first, and its MachineSets make none until the control plane is upgraded; if a drain of the control plane \
             waits for one, both wait for ever",
            rollout.owner,
            crate::model::plural(rollout.max_unavailable.unwrap_or_default(), "Machine")
        )
    };
    rollouts.iter().filter(gives).map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::contract::{CORE, MACHINE_DEPLOYMENT};
    use crate::model::Effect;

    fn rollout(group: &str, kind: &str, name: &str, course: Course, unavailable: u64) -> Rollout {
        let owner = Key::of(group, kind, Some("fleet".to_owned()), name);
        let plain = Rollout::plain(&owner, "demo", Effect::Rollout, Vec::new(), 3);
        let causes = vec!["spec.version".to_owned()];
        Rollout { course: Some(course), max_unavailable: Some(unavailable), causes, ..plain }
    }

    fn course(now: u64, lowest: u64, peak: u64) -> Course {
        Course { lowest, peak, more: peak - now, ..Course::default() }
    }

    #[test]
    fn owners_that_roll_at_once_are_counted_together() {
        let plane = rollout(CONTROL_PLANE, "DemoControlPlane", "cp", course(3, 2, 3), 1);
        let workers =
            |name: &str, lowest, peak, room| rollout(CORE, MACHINE_DEPLOYMENT, name, course(4, lowest, peak), room);
        let (gentle, harsh) = (workers("md-a", 4, 6, 0), workers("md-b", 3, 4, 1));
        let at = |rollouts: &[&Rollout]| together(&|_| None, &[None, None], rollouts);
        let all = at(&[&plane, &gentle, &harsh]).expect("three roll");
        assert_eq!((all.machines, all.lowest, all.peak, all.owners.len()), (11, 9, 13, 3));
        assert_eq!(all.waits.len(), 1, "{:?}", all.waits);
        // A near miss: workers that make Machines first wait for nobody, and one owner alone has its own course.
        assert!(at(&[&plane, &gentle]).expect("two roll").waits.is_empty());
        assert_eq!(at(&[&plane]), None);
        assert_eq!(at(&[&plane, &Rollout { course: None, ..harsh }]), None);
    }
}
