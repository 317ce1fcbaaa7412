//! What a person approved: holds of the very change, cluster, release and gates that an approval names become warnings. It lifts
//! nothing that is undecided, and no gate that was not failing when it was given.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;

use super::Judged;
use crate::approval::{Approval, ClusterId, Flaw, FoundLedger, ReleaseId};
use crate::compare::redact;
use crate::impact::counted;
use crate::kinds::contract;
use crate::model::{Decision, Effect, Reason, Rollout};
use crate::object::{Inventory, Key};
use crate::policy::{self, ApprovalPlace, Policy, Profile};
use crate::report::{self, ApprovalReport, Report, Standing, plural};
use crate::tree::Value;

/// Gates that no approval lifts: what they say is not about what the change does.
const NEVER: [&str; 9] =
    ["read", "release", "late", "late-value", "pin", "placeholder", "approval", "policy", "break-glass"];

/// Gates whose sentence is about the change alone, which the digest names.
const OF_THE_CHANGE: [&str; 8] =
    ["in-place", "scale", "latent", "rollout", "rejected", "delete", "unknown", "infrastructure"];

/// What an approval is compared with.
pub(crate) struct ToApprove<'a> {
    /// Hash of what affects Machines.
    pub digest: &'a str,
    /// The key that its marks were made with, where it has some.
    pub key: Option<&'a str>,
    /// The clusters that the change touches.
    pub clusters: &'a [ClusterId],
    /// A sentence as the report shows it.
    pub shown: &'a dyn Fn(&str) -> String,
}

impl std::fmt::Debug for ToApprove<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToApprove")
            .field("digest", &self.digest)
            .field("clusters", &self.clusters)
            .finish_non_exhaustive()
    }
}

/// What became of the approvals.
#[derive(Debug, Clone, Default)]
pub(crate) struct Approved {
    /// How each of them stands to this run.
    pub reports: Vec<ApprovalReport>,
    /// Those that let it through, with their places as the policy names them.
    pub used: Vec<(String, Approval)>,
}

/// Whether a hold of this gate can be approved at all.
#[must_use]
pub(crate) fn can_lift(gate: &str) -> bool {
    !NEVER.contains(&gate)
}

/// Whether an approval alone would let through what a report holds, and the policy names a place for one.
#[must_use]
pub(crate) fn is_approvable(report: &Report, policy: &Policy) -> bool {
    let held = |one: &Reason| one.decision < Decision::Undecided || can_lift(&one.gate);
    let is_undecided = report.reasons.iter().any(|one| one.decision == Decision::Undecided);
    let holds = report.reasons.iter().any(|one| one.decision == Decision::Hold);
    holds && !is_undecided && !policy.approvals.is_nowhere() && report.reasons.iter().all(held)
}

/// A hold where the stream itself writes an object in which approvals are kept, or the policy of this run (`source`): whoever writes a
/// chart would approve it.
#[must_use]
pub(crate) fn written(policy: &Policy, source: &str, rendered: &Inventory, home: Option<&str>) -> Vec<Reason> {
    let names: Vec<&str> = policy.approvals.from.iter().filter_map(ApprovalPlace::config_map).collect();
    let is_here =
        |key: &Key, home: Option<&str>| key.namespace.is_none() || home.is_none() || key.namespace.as_deref() == home;
    let own = source.strip_prefix("configmap/").and_then(|rest| rest.split_once('/'));
    let decision = if policy.profile == Profile::Observe { Decision::Warn } else { Decision::Hold };
    let objects = rendered.objects().iter().map(|object| &object.key);
    let maps = objects.filter(|key| key.group.is_empty() && key.kind == contract::CONFIG_MAP);
    let reason = |key: &Key| {
        let (gate, message, next) = if names.contains(&key.name.as_str()) && is_here(key, home) {
            let message = format!("{key}: the policy keeps approvals there, and the stream writes it");
            ("approval", message, "take it out of the chart; rollgate approve writes it")
        } else if own.is_some_and(|(namespace, name)| key.name == name && is_here(key, Some(namespace))) {
            let message = format!("{key}: the policy of this run is kept there, and the stream writes it");
            ("policy", message, "take it out of the chart, and keep it where those who render cannot write")
        } else {
            return None;
        };
        Some(Reason::new(gate, decision, message).with_remedy(next.to_owned()).of(key))
    };
    maps.filter_map(reason).collect()
}

/// Turns holds that were approved into warnings. Where nothing is held, nothing is said of approvals, and none is used.
pub(crate) fn lift(judged: &Judged<'_>, reasons: &mut [Reason], asked: &ToApprove<'_>) -> Approved {
    let mut approved = Approved::default();
    let policy = judged.policy;
    if policy.approvals.is_nowhere() || !reasons.iter().any(|reason| reason.decision == Decision::Hold) {
        return approved;
    }
    for place in &policy.approvals.from {
        let name = place.to_string();
        match judged.world.approvals.iter().find(|found| found.place == name) {
            Some(found) => at(judged, reasons, asked, found, &mut approved),
            None if place.trailer().is_some() => {
                approved
                    .reports
                    .push(unread(place, "trailers count where two revisions are compared (plan --base-ref)"));
            }
            None => approved.reports.push(unread(place, "it was not read; only a run with the cluster reads it")),
        }
    }
    approved
}

/// The approvals of one place.
fn at(
    judged: &Judged<'_>,
    reasons: &mut [Reason],
    asked: &ToApprove<'_>,
    found: &FoundLedger,
    approved: &mut Approved,
) {
    let blank = |standing, message: String| ApprovalReport { place: found.name.clone(), ..plain(standing, message) };
    approved.reports.extend(found.unread.iter().map(|why| blank(Standing::Unread, why.clone())));
    let malformed = found.malformed.iter().map(|one| {
        let standing = match one.flaw {
            Flaw::Form => Standing::Malformed,
            Flaw::OwnChange => Standing::OwnChange,
            Flaw::Unproven => Standing::Unproven,
        };
        blank(standing, format!("{}: {}", one.at, one.why))
    });
    approved.reports.extend(malformed);
    // One that may be used again spares one that may not.
    let mut approvals: Vec<&Approval> = found.approvals.iter().collect();
    approvals.sort_by_key(|one| one.once);
    for approval in approvals {
        match standing(judged, approval, asked) {
            Some((standing, why)) => {
                if is_about(judged, approval, asked, standing) {
                    approved.reports.push(of(found, approval, standing, why));
                }
            }
            None => {
                let (lifts, left) = lifted(reasons, approval, asked);
                let mut report = of(found, approval, Standing::Counts, left);
                if !lifts.is_empty() {
                    approved.used.push((found.place.clone(), approval.clone()));
                }
                report.lifts = lifts.into_iter().collect();
                approved.reports.push(report);
            }
        }
    }
}

/// Lifts what an approval names; gives the gates, and a sentence about those that it does not lift.
fn lifted(reasons: &mut [Reason], approval: &Approval, asked: &ToApprove<'_>) -> (BTreeSet<String>, String) {
    let (mut lifts, mut left) = (BTreeSet::new(), BTreeMap::new());
    for reason in reasons.iter_mut().filter(|reason| reason.decision == Decision::Hold && can_lift(&reason.gate)) {
        let held = approval.gates.iter().find(|held| held.gate == reason.gate);
        let says = comparable(&(asked.shown)(&reason.message));
        match held {
            None => drop(left.insert(reason.gate.clone(), "did not hold when it was given, or was left out")),
            Some(held)
                if OF_THE_CHANGE.contains(&reason.gate.as_str())
                    || held.says.iter().any(|said| comparable(said) == says) =>
            {
                reason.decision = Decision::Warn;
                (reason.next, reason.remedy) = (None, None);
                lifts.insert(reason.gate.clone());
            }
            Some(_) => drop(left.insert(reason.gate.clone(), "says something else now")),
        }
    }
    let left: Vec<String> = left.into_iter().map(|(gate, why)| format!("{gate} {why}")).collect();
    let message = if left.is_empty() { String::new() } else { format!("not lifted: {}", left.join("; ")) };
    (lifts, message)
}

/// Why an approval does not count for this run; `None` where it does.
fn standing(judged: &Judged<'_>, approval: &Approval, asked: &ToApprove<'_>) -> Option<(Standing, String)> {
    let world = judged.world;
    if let Some(why) = approval.ended(world.now) {
        let standing = match (&approval.revoked, approval.once && !approval.uses.is_empty()) {
            (Some(_), _) => Standing::Revoked,
            (None, true) => Standing::Used,
            (None, false) => Standing::Expired,
        };
        return Some((standing, why));
    }
    let release = ReleaseId::of(world.host.namespace.as_deref(), world.host.release.as_deref());
    if approval.release != release {
        let word = |release: &Option<ReleaseId>| release.as_ref().map_or("no release".to_owned(), ToString::to_string);
        let why = format!("it is for {}, and this is {}", word(&approval.release), word(&release));
        return Some((Standing::OtherRelease, why));
    }
    if let Some(cluster) = asked.clusters.iter().find(|cluster| !approval.clusters.contains(cluster)) {
        let same_name = |one: &&ClusterId| one.name == cluster.name && one.namespace == cluster.namespace;
        let why = match approval.clusters.iter().find(same_name) {
            Some(other) => format!("it is for the cluster {other}, and this is {cluster}"),
            None => format!("it is not for the cluster {cluster}"),
        };
        return Some((Standing::OtherCluster, why));
    }
    if approval.key.as_deref() != asked.key && asked.key.is_some() && approval.key.is_some() {
        let why =
            "the hidden values of the change were marked with another key; give the same ROLLGATE_KEY to every run";
        return Some((Standing::OtherKey, why.to_owned()));
    }
    if approval.digest != asked.digest {
        let why = format!("it is for another change ({}), and this is {}", approval.digest, asked.digest);
        return Some((Standing::OtherChange, why));
    }
    by_policy(judged.policy, approval, world.now).or_else(|| more(judged, approval))
}

/// Why the policy does not count an approval, whatever it is for. One that says it is of tomorrow is as long as if it were of now.
#[must_use]
pub(crate) fn by_policy(policy: &Policy, approval: &Approval, now: Timestamp) -> Option<(Standing, String)> {
    let by = approval.by.as_deref().unwrap_or("nobody");
    // A name may stand with the job that it was given in: `anna (https://ci/job/7)`.
    let name = by.split(" (").next().unwrap_or(by);
    let wanted = &policy.approvals.by;
    if !wanted.is_empty() && !wanted.iter().any(|one| one == by || one == name) {
        let why = format!("it is by {by}, and the policy counts those of {}", wanted.join(", "));
        return Some((Standing::NotBy, why));
    }
    let longest = policy.approvals.longest.as_deref().and_then(|text| policy::duration(text).ok())?;
    let given = approval.time.min(now);
    let length = std::time::Duration::try_from(approval.expires.duration_since(given)).unwrap_or_default();
    (length > longest).then(|| {
        let most = policy.approvals.longest.as_deref().unwrap_or_default();
        (Standing::TooLong, format!("it is good for longer than the policy allows ({most})"))
    })
}

/// More Machines than were counted when it was given.
fn more(judged: &Judged<'_>, approval: &Approval) -> Option<(Standing, String)> {
    let approved = approval.machines?;
    let now = machines(&judged.classified.rollouts);
    let why = match now {
        Some(now) if now <= approved => return None,
        Some(now) => format!("it is for {}, and now it would be {now}", plural(approved, "Machine")),
        None => format!("it is for {}, and now they cannot be counted", plural(approved, "Machine")),
    };
    Some((Standing::MoreMachines, why))
}

/// Machines of several owners, each counted once; `None` where the number of one owner's is not known.
#[must_use]
pub(crate) fn machines<R: Borrow<Rollout>>(rollouts: &[R]) -> Option<u64> {
    counted(rollouts).try_fold(0_u64, |sum, rollout| Some(sum.saturating_add(rollout.machines?)))
}

/// Whether an approval that does not count is of interest: one of the same change, or one that is still good and is for the same
/// release and a cluster of these.
fn is_about(judged: &Judged<'_>, approval: &Approval, asked: &ToApprove<'_>, standing: Standing) -> bool {
    if approval.digest == asked.digest {
        return true;
    }
    let over = matches!(standing, Standing::Revoked | Standing::Used | Standing::Expired);
    let host = &judged.world.host;
    let same_release = approval.release == ReleaseId::of(host.namespace.as_deref(), host.release.as_deref());
    let named = |cluster: &ClusterId| {
        asked.clusters.iter().any(|one| one.name == cluster.name && one.namespace == cluster.namespace)
    };
    !over && same_release && (asked.clusters.is_empty() || approval.clusters.iter().any(named))
}

fn plain(standing: Standing, message: String) -> ApprovalReport {
    ApprovalReport { standing, message, ..ApprovalReport::default() }
}

fn unread(place: &ApprovalPlace, why: &str) -> ApprovalReport {
    ApprovalReport { place: place.to_string(), ..plain(Standing::Unread, why.to_owned()) }
}

fn of(found: &FoundLedger, approval: &Approval, standing: Standing, message: String) -> ApprovalReport {
    ApprovalReport {
        place: found.name.clone(),
        id: Some(approval.id.clone()),
        standing,
        message,
        reason: Some(approval.reason.clone()),
        by: approval.by.clone(),
        time: Some(approval.time.to_string()),
        expires: Some(approval.expires.to_string()),
        once: approval.once,
        lifts: Vec::new(),
    }
}

/// A sentence without what is another one each time: the clock, and marks of hidden values, which the digest covers.
fn comparable(message: &str) -> String {
    static TIME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").ok());
    let text = redact::remarked(message, |_| "<redacted>".to_owned());
    TIME.as_ref().map_or_else(|| text.clone(), |time| time.replace_all(&text, "<time>").into_owned())
}

/// The clusters that a change touches, with their uids.
#[must_use]
pub(crate) fn clusters(judged: &Judged<'_>) -> Vec<ClusterId> {
    let of_rollouts = judged.classified.rollouts.iter();
    let of_rollouts = of_rollouts.map(|rollout| (rollout.owner.namespace.clone(), rollout.cluster.clone()));
    let of_pairs = judged.pairs.iter().filter(|pair| pair.effect > Effect::None);
    let of_pairs = of_pairs.filter_map(|pair| Some((pair.key.namespace.clone(), report::cluster(pair)?)));
    let names: BTreeSet<(Option<String>, String)> =
        of_rollouts.chain(of_pairs).filter(|(_, name)| !name.is_empty()).collect();
    let uid = |key: &Key| {
        let object = judged.view.get(key).object()?.value().ok()?;
        object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned)
    };
    names
        .into_iter()
        .map(|(namespace, name)| {
            let uid = uid(&contract::cluster(namespace.as_deref(), &name));
            ClusterId { namespace, name, uid }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_and_the_marks_of_a_sentence_are_no_other_sentence() {
        let one = comparable("2026-11-21T12:00:00Z is outside; <redacted:00000000000000000000000000000000> waits");
        assert_eq!(
            one,
            comparable("2026-12-01T02:03:04.5Z is outside; <redacted:11111111111111111111111111111111> waits")
        );
        assert_ne!(comparable("1 of 3 Machines not ok: a"), comparable("2 of 3 Machines not ok: a"));
    }

    #[test]
    fn gates_that_are_not_about_the_change_cannot_be_approved() {
        for gate in ["read", "release", "late-value", "pin", "placeholder"] {
            assert!(!can_lift(gate), "{gate}");
        }
        assert!(["rollout", "delete", "health.etcd", "windows", "maxMachines"].into_iter().all(can_lift));
    }
}
