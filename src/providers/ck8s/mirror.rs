//! Mirror of the control plane of Canonical Kubernetes: which Machines are out of date, and what happens to them.
//! Read beside `pkg/ck8s/control_plane.go` (MachinesNeedingRollout) and `pkg/machinefilters/machine_filters.go`
//! (MatchesKCPConfiguration) of cluster-api-k8s 0.6, and recorded. A config or infrastructure Machine that is not there never makes a
//! Machine out of date there, nor here.

use jiff::Timestamp;

use super::config::{held, prune};
use crate::kinds::Versions;
use crate::kinds::fields::{map_at, number, text};
use crate::kinds::mirror::{Mirror, MirrorRules};
use crate::model::{Cause, Hold, Member, RuleId, Strategy, Why};
use crate::object::{Key, Path};
use crate::providers::kubeadm::mirror::{
    Cloned, clone_of, cloned_from, configured, derived_creation_by, one_at_a_time,
};
use crate::tree::{Value, json};

/// The mirror of the control plane.
#[derive(Debug)]
pub(crate) struct Ck8s;

/// A time after which Machines are replaced.
const AFTER: RuleId = RuleId::of("ck8s/rollout-after");

static RULES: MirrorRules = MirrorRules {
    later: RuleId::of("ck8s/later-config"),
    after: Some(AFTER),
    equal: Some(RuleId::of("ck8s/equal-config")),
    later_says: None,
};

/// Where the reference to the infrastructure template stands.
const REFERENCE: &[&str] = &["spec", "machineTemplate", "infrastructureTemplate"];
/// Where the configuration of Machines stands.
const CONFIG: &str = "/spec/spec";
/// Where the time stands after which Machines are replaced.
const CLOCK: &str = "/spec/rolloutAfter";

static CLONED: Cloned =
    Cloned { name: RuleId::of("ck8s/infrastructure"), kind: RuleId::of("ck8s/infrastructure-kind") };

impl Mirror for Ck8s {
    fn rules(&self) -> &'static MirrorRules {
        &RULES
    }

    fn fill_in(&self, owner: &mut Value, _versions: &Versions) {
        default(owner);
    }

    fn outdated(&self, member: &Member, owner: &Value, _versions: &Versions, now: Timestamp) -> Vec<Cause> {
        let mut causes = Vec::new();
        causes.extend(rollout_after(member, owner, now));
        causes.extend(version(member, owner));
        causes.extend(config(member, owner));
        causes.extend(cloned_from(member, owner, REFERENCE, &CLONED));
        causes
    }

    fn derived(&self, owner: &Value, _versions: &Versions, now: Timestamp) -> Vec<(Member, u64)> {
        let replicas = number(owner, "/spec/replicas").unwrap_or(1);
        let machine = json!({
            "metadata": {"creationTimestamp": derived_creation_by(owner, CLOCK, now)},
            "spec": {"version": owner.pointer("/spec/version"), "bootstrap": {"configRef": {"kind": "CK8sConfig"}}},
        });
        let reference = REFERENCE.iter().try_fold(owner, |value, key| value.get(*key)).cloned().unwrap_or_default();
        let mut written = owner.pointer(CONFIG).filter(|spec| spec.is_object()).cloned().unwrap_or_else(|| json!({}));
        prune(&mut written);
        let config = Some(json!({"spec": written}));
        let member = Member { name: String::new(), machine, config, infra: Some(clone_of(&reference)) };
        (replicas > 0).then_some((member, replicas)).into_iter().collect()
    }

    fn clock(&self) -> &'static [&'static str] {
        &["spec", "rolloutAfter"]
    }

    /// A block of the strategy without a number: nothing fills it in, and the controller reads what is not there
    /// (`ck8scontrolplane_controller.go` upgradeControlPlane).
    fn holds(&self, key: &Key, owner: &Value) -> Vec<Hold> {
        if has_surge(owner) {
            return Vec::new();
        }
        let place = Path::root().key("spec").key("rolloutStrategy").key("rollingUpdate").key("maxSurge");
        vec![Hold {
            why: Why::NoStrategy,
            places: vec![(key.clone(), Some(place))],
            says: NO_SURGE.to_owned(),
            over: "the rollout strategy has a maxSurge".to_owned(),
        }]
    }

    fn is_config(&self, field: &str) -> bool {
        field == "spec"
    }

    /// `ck8scontrolplane_controller.go` upgradeControlPlane. Which Machines are there it asks a cache: what it calls uncached is given
    /// the client that caches (same file, SetupWithManager).
    fn strategy(&self, owner: &Value, wanted: u64) -> Strategy {
        if has_surge(owner) {
            return Strategy::OneByOne { surge: self.room(owner, wanted).0, sick_first: false, is_late: true };
        }
        Strategy::Stopped { why: NO_SURGE.to_owned() }
    }

    fn room(&self, owner: &Value, _wanted: u64) -> (u64, u64) {
        one_at_a_time(owner)
    }

    /// `scale.go` preflightChecks.
    fn preflight(&self) -> &'static [&'static str] {
        &["AgentHealthy"]
    }

    /// Machines get the timeouts when they are made and keep them (`scale.go` generateMachine).
    fn deletion<'o>(&self, _owner: &'o Value) -> Option<&'o Value> {
        None
    }
}

/// What a strategy without a number comes to.
const NO_SURGE: &str =
    "its rollout strategy has a rollingUpdate without maxSurge, at which its controller fails each time";

/// Whether the strategy says how many Machines there may be more, or leaves it to the webhook.
fn has_surge(owner: &Value) -> bool {
    let update = owner.pointer("/spec/rolloutStrategy/rollingUpdate");
    update.is_none_or(|update| update.is_null() || update.get("maxSurge").is_some_and(|surge| !surge.is_null()))
}

/// Whether the time to roll after lies between the making of the Machine and now (`util/collections/machine_filters.go`
/// ShouldRolloutAfter of Cluster API 1.9).
fn rollout_after(member: &Member, owner: &Value, now: Timestamp) -> Option<Cause> {
    let after: Timestamp = text(owner, CLOCK)?.parse().ok()?;
    let created: Timestamp = text(&member.machine, "/metadata/creationTimestamp")?.parse().ok()?;
    (created < after && after < now).then(|| Cause::at(AFTER, &["spec", "rolloutAfter"], format!("{after} is over")))
}

/// Whether the versions differ; one `v` before them does not count (MatchesKubernetesVersion).
fn version(member: &Member, owner: &Value) -> Option<Cause> {
    let bare = |version: &str| version.strip_prefix('v').unwrap_or(version).to_owned();
    let said = |side: &'_ Value| side.pointer("/spec/version").and_then(Value::as_str).map(str::to_owned);
    let (have, want) = (said(&member.machine), said(owner).unwrap_or_default());
    let differs = have.as_deref().is_none_or(|have| bare(have) != bare(&want));
    let detail = format!("{} to {want}", have.as_deref().unwrap_or("nothing"));
    differs.then(|| Cause::at(RuleId::of("ck8s/version"), &["spec", "version"], detail))
}

/// Where the CK8sConfig of a Machine differs from the configuration in the owner (MatchesCK8sBootstrapConfig).
fn config(member: &Member, owner: &Value) -> Vec<Cause> {
    let at = Path::root().key("spec").key("spec");
    configured(member, (owner.pointer(CONFIG), &at), RuleId::of("ck8s/config"), held)
}

/// The owner with what the webhook fills in (`ck8scontrolplane_webhook.go` Default).
pub(super) fn default(owner: &mut Value) {
    let Some(spec) = owner.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("replicas").is_none_or(Value::is_null) {
        spec.insert("replicas".to_owned(), json!(1));
    }
    let Some(strategy) = map_at(spec, "rolloutStrategy") else { return };
    if strategy.get("rollingUpdate").is_none_or(Value::is_null) {
        strategy.insert("rollingUpdate".to_owned(), json!({"maxSurge": 1}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(spec: Value) -> Value {
        let mut owner = json!({"spec": spec});
        default(&mut owner);
        owner
    }

    fn plain() -> Value {
        json!({
            "version": "v1.31.4",
            "machineTemplate": {"infrastructureTemplate": {"apiVersion": "x.io/v1beta1", "kind": "T", "name": "a"}},
            "spec": {"channel": "1.31-classic/stable", "files": [{"path": "/a", "content": "a"}]},
        })
    }

    /// The rules and places for which Machines of `plain` are out of date where `change` was made.
    fn found(change: impl Fn(&mut Value)) -> Vec<String> {
        let mut new = plain();
        change(&mut new);
        let versions = Versions::told("cluster-api", "v1.9.6");
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let causes = Ck8s.of_specs(&owner(plain()), &owner(new), &versions, now);
        causes.into_iter().map(|cause| format!("{} {}", cause.rule, cause.path)).collect()
    }

    #[test]
    fn version_template_and_configuration_are_compared_and_nothing_else() {
        assert_eq!(found(|_| {}), [""; 0]);
        assert_eq!(found(|spec| spec["version"] = json!("v1.32.0")), ["ck8s/version spec.version"]);
        assert_eq!(found(|spec| spec["version"] = json!("1.31.4")), [""; 0]);
        let at = "spec.machineTemplate.infrastructureTemplate";
        let reference = |key: &str, value: &str| {
            found(|spec| spec["machineTemplate"]["infrastructureTemplate"][key] = json!(value))
        };
        assert_eq!(reference("name", "b"), [format!("ck8s/infrastructure {at}.name")]);
        assert_eq!(reference("namespace", "n"), [""; 0]);
        assert_eq!(reference("apiVersion", "x.io/v1beta2"), [""; 0]);
        assert_eq!(found(|spec| spec["spec"]["channel"] = json!("c")), ["ck8s/config spec.spec.channel"]);
        assert_eq!(found(|spec| spec["spec"]["version"] = json!("v2")), [""; 0]);
        assert_eq!(found(|spec| spec["machineTemplate"]["nodeDrainTimeout"] = json!("1m")), [""; 0]);
    }

    #[test]
    fn what_go_does_not_write_is_no_difference_and_a_pointer_is_one() {
        for (field, value) in [
            ("airGapped", json!(false)),
            ("preRunCommands", json!([])),
            ("httpProxy", json!("")),
            ("initConfig", json!({})),
            ("snapstoreProxyScheme", json!("http")),
            ("controlPlane", json!({"datastoreServersSecretRef": {"name": ""}, "etcdPort": 0})),
        ] {
            assert_eq!(found(|spec| spec["spec"][field] = value.clone()), [""; 0], "{field}");
        }
        let dns = json!({"enableDefaultDNS": false});
        assert_eq!(found(|spec| spec["spec"]["initConfig"] = dns.clone()), ["ck8s/config spec.spec.initConfig"]);
        assert_eq!(
            found(|spec| spec["spec"]["bootstrapConfig"] = json!({})),
            ["ck8s/config spec.spec.bootstrapConfig"]
        );
    }

    #[test]
    fn a_time_counts_once_it_is_over_and_a_machine_is_older() {
        let after = |time: &str| found(|spec| spec["rolloutAfter"] = json!(time));
        assert_eq!(after("2025-06-01T00:00:00Z"), ["ck8s/rollout-after spec.rolloutAfter"]);
        assert_eq!(after("2027-06-01T00:00:00Z"), [""; 0]);
    }

    #[test]
    fn a_strategy_without_a_number_stops_its_controller() {
        let key = Key::of("", "", None, "x");
        let holds = |strategy: Value| Ck8s.holds(&key, &owner(json!({"rolloutStrategy": strategy}))).len();
        assert_eq!((holds(json!({})), holds(json!({"rollingUpdate": {}}))), (0, 1));
        assert_eq!(holds(json!({"rollingUpdate": {"maxSurge": 0}})), 0);
    }
}
