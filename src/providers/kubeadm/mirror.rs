//! Mirror of the kubeadm control plane provider: which Machines are out of date, and why.
//! Read beside `controlplane/kubeadm/pkg/filters.go` (UpToDate) of Cluster API 1.14; up to 1.13 it is
//! `controlplane/kubeadm/internal/filters.go`. Missing data never makes a Machine out of date there, nor here.

use jiff::{Span, Timestamp};

use crate::kinds::Versions;
use crate::kinds::diff;
use crate::kinds::fields::{annotation, number, plain_number, text};
use crate::kinds::mirror::{Compared, Comparison, Doubt, Mirror, MirrorRules};
use crate::model::Member;
use crate::model::RuleId;
use crate::model::{Basis, Cause, Effect};
use crate::object::{ApiVersion, Path};
use crate::providers::core::changes::V1BETA2;
use crate::providers::kubeadm::{ARGUMENTS, config as kcp_config};
use crate::tree::{Value, json};

/// The mirror of the control plane.
#[derive(Debug)]
pub(crate) struct Kubeadm;

/// Where the owner names the template of its infrastructure Machines.
const INFRASTRUCTURE_REF: &str = "/spec/machineTemplate/spec/infrastructureRef";

static RULES: MirrorRules = MirrorRules {
    later: RuleId::of("kcp/later-config"),
    after: Some(RuleId::of("kcp/rollout-after")),
    equal: Some(RuleId::of("kcp/equal-config")),
    later_says: None,
};

impl Mirror for Kubeadm {
    fn rules(&self) -> &'static MirrorRules {
        &RULES
    }

    fn fill_in(&self, owner: &mut Value, _versions: &Versions) {
        default(owner);
    }

    fn outdated(&self, member: &Member, owner: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause> {
        outdated(member, owner, versions, now)
    }

    /// Most Machines of a control plane were made with one config.
    fn against<'c>(
        &'c self,
        owner: &'c Value,
        versions: &'c Versions,
        now: Timestamp,
        compared: &'c Compared,
    ) -> Comparison<'c> {
        const FEW: usize = 4;
        let mut known: Vec<(&Member, Vec<Cause>)> = Vec::new();
        Box::new(move |member| {
            let alike = known.iter().find(|(other, _)| kcp_config::is_alike(other, member));
            let config = alike.map_or_else(
                || kcp_config::outdated_once(member, owner, versions, compared),
                |(_, found)| found.clone(),
            );
            if alike.is_none() && known.len() < FEW {
                known.push((member, config.clone()));
            }
            outdated_by(member, owner, config, now)
        })
    }

    fn compared(&self) -> &'static [&'static str] {
        &["/spec/version", "/spec/rollout", "/spec/kubeadmConfigSpec", INFRASTRUCTURE_REF]
    }

    fn derived(&self, owner: &Value, versions: &Versions, now: Timestamp) -> Vec<(Member, u64)> {
        derived(owner, versions, now)
    }

    /// The Machine by init lasts until the first upgrade; whichever takes its place has joined.
    fn replacement(&self, owner: &Value, versions: &Versions, now: Timestamp) -> Option<Member> {
        Some(made(owner, true, versions, now))
    }

    /// One Machine by init and one joined stand for all of them, however many there are.
    fn of_specs(&self, old: &Value, new: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause> {
        let both = [false, true].iter();
        both.flat_map(|join| outdated(&made(old, *join, versions, now), new, versions, now)).collect()
    }

    /// Since 1.12 a template that is not there stops the controller before anything is compared (`desired_state.go`
    /// ComputeDesiredInfraMachine); before, it stops at the next Machine.
    fn needed<'o>(&self, owner: &'o Value) -> Option<&'o Value> {
        owner.pointer(INFRASTRUCTURE_REF)
    }

    fn doubt(&self, path: &Path, basis: Basis, new: &Value) -> Option<Doubt> {
        let is_unread = basis == Basis::Specs
            && path.is(&["spec", "rollout", "before", "certificatesExpiryDays"])
            && path.get(new).is_some();
        is_unread.then_some(Doubt { effect: Effect::Unknown, rule: RuleId::of("kcp/rollout-before-unread") })
    }

    /// An older version of the API shows arguments as a map: in which order they are stored only the Machines tell.
    fn shown_by(&self, member: &Member, owner: &Value, api_version: &str, versions: &Versions) -> Option<Value> {
        let hides_order = versions.has(&V1BETA2) && ApiVersion::is_before_v1beta2(api_version);
        if hides_order { in_order_of(member, owner) } else { None }
    }

    fn is_config(&self, field: &str) -> bool {
        field == "kubeadmConfigSpec"
    }

    /// `preflight.go` checkHealthiness.
    fn preflight(&self) -> &'static [&'static str] {
        &[
            "APIServerPodHealthy",
            "ControllerManagerPodHealthy",
            "SchedulerPodHealthy",
            "EtcdPodHealthy",
            "EtcdMemberHealthy",
        ]
    }
}

/// The reasons why a Machine is out of date, in the controller's order; none where it is up to date.
///
/// `owner` is the KubeadmControlPlane in the superset form, with the webhook's defaults.
#[must_use]
fn outdated(member: &Member, owner: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause> {
    outdated_by(member, owner, kcp_config::outdated(member, owner, versions), now)
}

/// The reasons why a Machine is out of date, where those of its config are known.
fn outdated_by(member: &Member, owner: &Value, config: Vec<Cause>, now: Timestamp) -> Vec<Cause> {
    let mut causes = Vec::new();
    causes.extend(rollout_before(member, owner, now));
    causes.extend(rollout_after(member, owner, now));
    causes.extend(version(member, owner));
    causes.extend(config);
    causes.extend(cloned_from(member, owner, &["spec", "machineTemplate", "spec", "infrastructureRef"], &CLONED));
    causes
}

/// Whether the certificates of the Machine end within the days that `rollout.before` asks for.
fn rollout_before(member: &Member, owner: &Value, now: Timestamp) -> Option<Cause> {
    let days = number(owner, "/spec/rollout/before/certificatesExpiryDays").filter(|days| *days > 0)?;
    let expiry: Timestamp = text(&member.machine, "/status/certificatesExpiryDate")?.parse().ok()?;
    let hours = i64::try_from(days).ok()?.checked_mul(24)?;
    let horizon = now.checked_add(Span::new().try_hours(hours).ok()?).ok()?;
    (horizon > expiry).then(|| {
        Cause::at(
            RuleId::of("kcp/rollout-before"),
            &["spec", "rollout", "before"],
            format!("certificates end at {expiry}"),
        )
    })
}

/// Whether `rollout.after` lies between the making of the Machine and now.
fn rollout_after(member: &Member, owner: &Value, now: Timestamp) -> Option<Cause> {
    let after: Timestamp = text(owner, "/spec/rollout/after")?.parse().ok()?;
    let created: Timestamp = text(&member.machine, "/metadata/creationTimestamp")?.parse().ok()?;
    (created < after && after < now)
        .then(|| Cause::at(RuleId::of("kcp/rollout-after"), &["spec", "rollout", "after"], format!("{after} is over")))
}

/// Whether the versions differ, as texts.
fn version(member: &Member, owner: &Value) -> Option<Cause> {
    let have = text(&member.machine, "/spec/version").unwrap_or_default();
    let want = text(owner, "/spec/version").unwrap_or_default();
    (have != want).then(|| Cause::at(RuleId::of("kcp/version"), &["spec", "version"], format!("{have} to {want}")))
}

/// The ids of a template that is another one.
pub(crate) struct Cloned {
    /// It has another name.
    pub(crate) name: RuleId,
    /// It is of another kind or group.
    pub(crate) kind: RuleId,
}

static CLONED: Cloned =
    Cloned { name: RuleId::of("kcp/infrastructure-template"), kind: RuleId::of("kcp/infrastructure-kind") };

/// Where the config of a Machine differs from what the owner says at a place; `held` reads both. A config that is not there makes no
/// Machine out of date.
pub(crate) fn configured(
    member: &Member,
    (want, at): (Option<&Value>, &Path),
    rule: RuleId,
    held: fn(Option<&Value>) -> Value,
) -> Vec<Cause> {
    let has_reference = member.machine.pointer("/spec/bootstrap/configRef").is_some_and(Value::is_object);
    let (true, Some(config)) = (has_reference, &member.config) else { return Vec::new() };
    let cause = |path| Cause { rule, path, detail: String::new() };
    diff::places(Some(&held(config.get("spec"))), Some(&held(want)), at).into_iter().map(cause).collect()
}

/// The room of a control plane that changes one Machine at a time: one more, or with `maxSurge: 0` one fewer.
pub(crate) fn one_at_a_time(owner: &Value) -> (u64, u64) {
    let surge = owner.pointer("/spec/rolloutStrategy/rollingUpdate/maxSurge").map_or(1, plain_number);
    (surge, u64::from(surge == 0))
}

/// Whether the infrastructure Machine was cloned from another template than the one that the owner names.
pub(crate) fn cloned_from(member: &Member, owner: &Value, at: &[&str], rules: &Cloned) -> Vec<Cause> {
    let Some(infra) = &member.infra else { return Vec::new() };
    let (Some(name), Some(group_kind)) = (
        annotation(infra, "cluster.x-k8s.io/cloned-from-name"),
        annotation(infra, "cluster.x-k8s.io/cloned-from-groupkind"),
    ) else {
        return Vec::new();
    };
    let reference = at.iter().try_fold(owner, |value, key| value.get(*key)).unwrap_or(&Value::Null);
    let want_name = text(reference, "/name").unwrap_or_default();
    let want_group_kind = group_kind_of(reference);
    let mut causes = Vec::new();
    if name != want_name {
        let path = [at, &["name"]].concat();
        causes.push(Cause::at(rules.name, &path, format!("{name} to {want_name}")));
    }
    if group_kind != want_group_kind {
        let detail = format!("{group_kind} to {want_group_kind}");
        let group = if reference.get("apiGroup").is_some() { "apiGroup" } else { "apiVersion" };
        for key in ["kind", group] {
            causes.push(Cause::at(rules.kind, &[at, &[key]].concat(), detail.clone()));
        }
    }
    causes
}

/// A group and kind as Go prints them: `Kind.group`.
pub(crate) fn group_kind_of(reference: &Value) -> String {
    let kind = text(reference, "/kind").unwrap_or_default();
    let of_version = || text(reference, "/apiVersion").and_then(|version| version.split_once('/'));
    match text(reference, "/apiGroup").or_else(|| of_version().map(|(group, _)| group)) {
        Some(group) => format!("{kind}.{group}"),
        None => kind.to_owned(),
    }
}

/// The owner with its arguments in the order in which a Machine got them, where they are the same ones; `None` where they stand so.
#[must_use]
fn in_order_of(member: &Member, owner: &Value) -> Option<Value> {
    let config = member.config.as_ref()?.get("spec")?;
    let wanted = owner.pointer("/spec/kubeadmConfigSpec")?;
    let mut out = None;
    for place in ARGUMENTS {
        let (Some(have), Some(list)) = (config.pointer(place), wanted.pointer(place)) else { continue };
        if list == have || !has_same_items(list, have) {
            continue;
        }
        let spec = out.get_or_insert_with(|| owner.clone()).pointer_mut("/spec/kubeadmConfigSpec");
        if let Some(list) = spec.and_then(|spec| spec.pointer_mut(place)) {
            list.clone_from(have);
        }
    }
    out
}

/// Whether two values are lists of the same items, in whatever order.
fn has_same_items(one: &Value, other: &Value) -> bool {
    let lists = one.as_array().zip(other.as_array());
    lists.is_some_and(|(one, other)| one.len() == other.len() && other.iter().all(|item| one.contains(item)))
}

/// The owner with what the webhook and the schema fill in (`kubeadmcontrolplane.go` Default).
pub(super) fn default(owner: &mut Value) {
    let Some(spec) = owner.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("replicas").is_none_or(Value::is_null) {
        spec.insert("replicas".to_owned(), json!(1));
    }
    with_v(spec.get_mut("version"));
}

/// Puts the `v` before a version that lacks it.
pub(crate) fn with_v(version: Option<&mut Value>) {
    if let Some(Value::String(version)) = version
        && !version.is_empty()
        && !version.starts_with('v')
    {
        *version = format!("v{version}").into();
    }
}

/// The Machines that the owner would have made, and how many are alike: one by `kubeadm init`, the rest joined.
#[must_use]
fn derived(owner: &Value, versions: &Versions, now: Timestamp) -> Vec<(Member, u64)> {
    let replicas = number(owner, "/spec/replicas").unwrap_or(1);
    let by_join = [(false, replicas.min(1)), (true, replicas.saturating_sub(1))];
    by_join
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(join, count)| (made(owner, join, versions, now), count))
        .collect()
}

/// A Machine that the owner would have made.
#[must_use]
fn made(owner: &Value, join: bool, versions: &Versions, now: Timestamp) -> Member {
    let reference = owner.pointer(INFRASTRUCTURE_REF).unwrap_or(&Value::Null);
    let mut machine = json!({
        "metadata": {"creationTimestamp": derived_creation(owner, now)},
        "spec": {"version": owner.pointer("/spec/version"), "bootstrap": {"configRef": {"kind": "KubeadmConfig"}}},
    });
    let config = Some(kcp_config::made_from(owner, join, versions, &mut machine));
    Member { name: String::new(), machine, config, infra: Some(clone_of(reference)) }
}

/// When a derived Machine was made: no later than needed, so that the `rollout.after` that stands now has done its work.
pub(crate) fn derived_creation(owner: &Value, now: Timestamp) -> String {
    derived_creation_by(owner, "/spec/rollout/after", now)
}

/// When a derived Machine was made, where the time to roll after stands at the pointer `clock`.
pub(crate) fn derived_creation_by(owner: &Value, clock: &str, now: Timestamp) -> String {
    let own = text(owner, "/metadata/creationTimestamp").and_then(|stamp| stamp.parse::<Timestamp>().ok());
    let after = text(owner, clock).and_then(|stamp| stamp.parse::<Timestamp>().ok());
    let done = after.filter(|after| *after < now);
    own.max(done).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

/// An infrastructure Machine that was cloned from the template behind a reference.
pub(crate) fn clone_of(reference: &Value) -> Value {
    json!({"metadata": {"annotations": {
        "cluster.x-k8s.io/cloned-from-name": text(reference, "/name").unwrap_or_default(),
        "cluster.x-k8s.io/cloned-from-groupkind": group_kind_of(reference),
    }}})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The owner of these tests, with something at each place.
    fn owner() -> Value {
        json!({
            "metadata": {"annotations": {"a": "1"}},
            "spec": {
                "replicas": 3, "version": "v1.33.4", "rollout": {"before": {"certificatesExpiryDays": 30}},
                "machineTemplate": {
                    "metadata": {"labels": {"a": "1"}},
                    "spec": {
                        "deletion": {"nodeDrainTimeoutSeconds": 10},
                        "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "A", "name": "a"},
                    },
                },
                "kubeadmConfigSpec": {"files": [{"path": "/a", "content": "a"}], "clusterConfiguration": {"imageRepository": "a"}},
                "remediation": {"maxRetry": 1},
            },
        })
    }

    #[test]
    fn machines_that_are_looked_at_together_are_told_as_each_alone() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        for version in ["v1.14.2", "v1.11.0", "v1.9.6"] {
            let versions = Versions::told("cluster-api", version);
            let member = |change: &dyn Fn(&mut Member)| {
                let mut member = made(&owner(), true, &versions, now);
                change(&mut member);
                member
            };
            let set = |value: &mut Value, place: &str, other: Value| {
                *value.pointer_mut(place).expect("a place of it") = other;
            };
            let content = |content: &'static str| {
                move |member: &mut Member| {
                    set(member.config.as_mut().expect("a config"), "/spec/files/0/content", json!(content));
                }
            };
            let members = [
                member(&|_| {}),
                member(&|_| {}),
                member(&content("b")),
                member(&content("c")),
                member(&|member| set(&mut member.machine, "/spec/bootstrap", json!({}))),
                member(&|member| member.config = None),
                member(&|member| member.machine["metadata"] = json!({})),
                member(&|member| set(&mut member.machine, "/spec/version", json!("v1.32.0"))),
                member(&content("b")),
                member(&|_| {}),
            ];
            let owners = ["a", "b"].map(|wanted| {
                let mut owner = owner();
                set(&mut owner, "/spec/kubeadmConfigSpec/files/0/content", json!(wanted));
                owner
            });
            // The first one is asked for twice, and known the second time.
            let compared = Compared::default();
            for owner in [&owners[0], &owners[1], &owners[0]] {
                let told = |causes: Vec<Cause>| causes.iter().map(|cause| format!("{cause:?}")).collect::<Vec<_>>();
                let mut together = Kubeadm.against(owner, &versions, now, &compared);
                let all: Vec<_> = members.iter().map(|member| told(together(member))).collect();
                let alone: Vec<_> =
                    members.iter().map(|member| told(outdated(member, owner, &versions, now))).collect();
                assert_eq!(all, alone, "{version} wants {}", owner["spec"]["kubeadmConfigSpec"]["files"]);
                assert!(all[0] != all[2] && all[1] == all[0] && all[7] != all[0], "{all:?}");
            }
        }
    }

    #[test]
    fn machines_are_out_of_date_for_what_is_compared_and_for_nothing_else() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        for version in ["v1.14.2", "v1.11.0", "v1.9.6"] {
            let versions = Versions::told("cluster-api", version);
            let mut member = made(&owner(), true, &versions, now);
            member.machine["status"] = json!({"certificatesExpiryDate": "2026-03-01T00:00:00Z"});
            let causes = |place: &str, value: Value| {
                let mut owner = owner();
                *owner.pointer_mut(place).expect("a place of it") = value;
                outdated(&member, &owner, &versions, now)
            };
            for (place, value) in [
                ("/spec/version", json!("v1.34.0")),
                ("/spec/rollout/before/certificatesExpiryDays", json!(90)),
                ("/spec/kubeadmConfigSpec/files/0/content", json!("b")),
                ("/spec/kubeadmConfigSpec/clusterConfiguration/imageRepository", json!("b")),
                ("/spec/machineTemplate/spec/infrastructureRef/name", json!("b")),
            ] {
                assert!(Kubeadm.compared().iter().any(|compared| place.starts_with(compared)), "{place}");
                assert!(!causes(place, value).is_empty(), "{place} of {version}");
            }
            for (place, value) in [
                ("/metadata/annotations/a", json!("2")),
                ("/spec/replicas", json!(5)),
                ("/spec/machineTemplate/metadata/labels/a", json!("2")),
                ("/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds", json!(20)),
                ("/spec/remediation/maxRetry", json!(2)),
            ] {
                assert!(causes(place, value).is_empty(), "{place} of {version}");
            }
        }
    }
}
