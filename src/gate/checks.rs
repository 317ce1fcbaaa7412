//! MachineHealthChecks of a cluster that rolls: unhealthy Machines that they replace meanwhile, or are too many for them to replace.
//! Read from what the checks say of themselves, so also where a condition of a Node is known to nobody else.

use std::sync::OnceLock;

use super::health::{describe, remedy};
use super::{Judged, decision};
use crate::hashed::{HashMap, HashSet};
use crate::impact::Rollout;
use crate::kinds::contract::{self, CORE, MACHINE_HEALTH_CHECK};
use crate::kinds::fields::{number, text};
use crate::kinds::standing::condition;
use crate::model::{Decision, Effect, Reason, is};
use crate::object::{Key, View};
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

/// The live health checks that have looked, by the Cluster that they are about.
#[derive(Debug, Default)]
pub(crate) struct Checks(OnceLock<HashMap<String, Vec<(Key, Value)>>>);

impl Checks {
    /// Those of a Cluster; `view` is the same each time.
    fn of<'c>(&'c self, view: &dyn View, cluster: &Key) -> impl Iterator<Item = &'c (Key, Value)> + use<'c> {
        let found = self.0.get_or_init(|| {
            let mut found: HashMap<String, Vec<(Key, Value)>> = HashMap::default();
            let checks = view.of_kind(MACHINE_HEALTH_CHECK).filter(|check| check.key.group == CORE);
            for check in checks.filter(|check| check.may_have_key(SELECTED)) {
                let Ok(value) = check.value() else { continue };
                if let Some(cluster) = text(&value, "/spec/clusterName") {
                    found.entry(cluster.to_owned()).or_default().push((check.key.clone(), value.clone().into_owned()));
                }
            }
            found
        });
        let namespace = cluster.namespace.clone();
        let named = found.get(&cluster.name).into_iter().flatten();
        named.filter(move |(key, _)| namespace.is_none() || key.namespace.is_none() || key.namespace == namespace)
    }
}

/// The health checks of the cluster of a rollout that have looked.
fn of_rollout<'j>(judged: &Judged<'j>, rollout: &Rollout) -> impl Iterator<Item = &'j (Key, Value)> + use<'j> {
    judged.checks.of(judged.view, &contract::cluster(rollout.owner.namespace.as_deref(), &rollout.cluster))
}

fn of_cluster(judged: &Judged<'_>, rollout: &Rollout, answer: Decision) -> Vec<Reason> {
    of_rollout(judged, rollout).filter_map(|(check, value)| Some(reason(check, &acts(value)?, answer))).collect()
}

/// How many Machines of the cluster of a rollout its health checks call unhealthy; each may be selected by several of them.
pub(super) fn unhealthy(judged: &Judged<'_>, rollout: &Rollout) -> u64 {
    of_rollout(judged, rollout).filter_map(|(_, check)| Some(bad(check)?.0)).max().unwrap_or(0)
}

/// How many Machines a check calls unhealthy, of how many; `None` where it has not looked yet.
fn bad(check: &Value) -> Option<(u64, u64)> {
    let (selected, healthy) =
        (number(check, "/status/expectedMachines")?, number(check, "/status/currentHealthy").unwrap_or(0));
    Some((selected.saturating_sub(healthy), selected))
}

fn reason(check: &Key, acts: &str, answer: Decision) -> Reason {
    let reason = Reason::new("health.remediation", answer, format!("{check}: {acts}"));
    reason.with_remedy(remedy("remediation", answer)).with_next(describe(check)).of(check)
}

/// What a check does about unhealthy Machines now; `None` where all that it selects are healthy, or it has not looked yet.
///
/// `RemediationAllowed` is False where more Machines are unhealthy than `triggerIf` (before v1beta2 `maxUnhealthy`) allows (Cluster API 1.14
/// `internal/controllers/machinehealthcheck/machinehealthcheck_controller.go`, reconcile).
fn acts(check: &Value) -> Option<String> {
    let (bad, selected) = bad(check).filter(|(bad, _)| *bad > 0)?;
    let count = format!("{bad} of the {} that it selects {} not healthy", plural(selected, "Machine"), is(bad));
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
        _ => format!(
            "{count}, and it replaces {}; a rollout now would compete with it",
            if bad == 1 { "it" } else { "them" }
        ),
    })
}
