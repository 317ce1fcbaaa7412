//! MachineHealthChecks of a cluster that rolls: unhealthy Machines that they replace meanwhile, or are too many for them to replace.
//! Read from what the checks say of themselves, so also where a condition of a Node is known to nobody else.

use super::health::describe;
use super::{Judged, decision};
use crate::hashed::HashSet;
use crate::impact::Rollout;
use crate::kinds::contract::{CORE, MACHINE_HEALTH_CHECK};
use crate::kinds::fields::{is_in, number, text};
use crate::kinds::standing::condition;
use crate::model::{Decision, Effect, Reason};
use crate::object::Key;
use crate::report::plural;
use crate::tree::Value;

/// The key of `status` without which a check has not looked yet, so that it says nothing here: no tree is made of such a one.
const SELECTED: &str = "expectedMachines";

/// One reason a check, however many owners of its cluster roll.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.health.remediation);
    if answer == Decision::Allow {
        return Vec::new();
    }
    let rollouts = judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout);
    let mut seen: HashSet<(Option<&str>, &str)> = HashSet::default();
    let clusters =
        rollouts.filter(|rollout| seen.insert((rollout.owner.namespace.as_deref(), rollout.cluster.as_str())));
    clusters.flat_map(|rollout| of_cluster(judged, rollout, answer)).collect()
}

fn of_cluster(judged: &Judged<'_>, rollout: &Rollout, answer: Decision) -> Vec<Reason> {
    let checks = judged.view.of_kind(MACHINE_HEALTH_CHECK);
    let own = checks.filter(|check| check.key.group == CORE && is_in(check, rollout.owner.namespace.as_deref()));
    let found = own.filter(|check| check.may_have_key(SELECTED)).filter_map(|check| {
        let value = check.value().ok()?;
        (text(&value, "/spec/clusterName") == Some(rollout.cluster.as_str())).then_some(())?;
        Some(reason(&check.key, &acts(&value)?, answer))
    });
    found.collect()
}

/// How many Machines of the cluster of a rollout its health checks call unhealthy; each may be selected by several of them.
pub(super) fn unhealthy(judged: &Judged<'_>, rollout: &Rollout) -> u64 {
    let own = |check: &Value| text(check, "/spec/clusterName") == Some(rollout.cluster.as_str());
    let checks = judged
        .view
        .of_kind(MACHINE_HEALTH_CHECK)
        .filter(|check| check.key.group == CORE && is_in(check, rollout.owner.namespace.as_deref()))
        .filter(|check| check.may_have_key(SELECTED));
    let counts =
        checks.filter_map(|check| check.value().ok().filter(|check| own(check)).and_then(|check| Some(bad(&check)?.0)));
    counts.max().unwrap_or(0)
}

/// How many Machines a check calls unhealthy, of how many; `None` where it has not looked yet.
fn bad(check: &Value) -> Option<(u64, u64)> {
    let (selected, healthy) =
        (number(check, "/status/expectedMachines")?, number(check, "/status/currentHealthy").unwrap_or(0));
    Some((selected.saturating_sub(healthy), selected))
}

fn reason(check: &Key, acts: &str, answer: Decision) -> Reason {
    Reason::new("health.remediation", answer, format!("{check}: {acts}")).with_next(describe(check)).of(check)
}

/// What a check does about unhealthy Machines now; `None` where all that it selects are healthy, or it has not looked yet.
///
/// `RemediationAllowed` is False where more Machines are unhealthy than `triggerIf` (before v1beta2 `maxUnhealthy`) allows (Cluster API 1.14
/// `internal/controllers/machinehealthcheck/machinehealthcheck_controller.go`, reconcile).
fn acts(check: &Value) -> Option<String> {
    let (bad, selected) = bad(check).filter(|(bad, _)| *bad > 0)?;
    let count = format!("{bad} of the {} that it selects not healthy", plural(selected, "Machine"));
    let limit = ["/spec/remediation/triggerIf/unhealthyLessThanOrEqualTo", "/spec/maxUnhealthy"];
    let limit = limit.iter().find_map(|at| check.pointer(at)).map(|limit| match limit {
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    });
    Some(match condition(check, "RemediationAllowed") {
        Some("False") => format!("{count}, more than it may replace; it replaces none until there are fewer"),
        _ if limit.as_deref() == Some("100%") => {
            format!("{count}, and it may replace all of them at once (100%); a rollout now would compete with it")
        }
        _ => format!("{count}, and it replaces them; a rollout now would compete with it"),
    })
}
