//! Mirror of the Talos control plane provider: which Machines are out of date, and what happens to them.
//! Read beside `controllers/controlplane.go` (MachinesNeedingRollout) of cluster-api-control-plane-provider-talos 0.5; by reading.
//! A config or infrastructure Machine that is not there never makes a Machine out of date there, nor here.

use jiff::Timestamp;

use super::config::held;
use crate::kinds::Versions;
use crate::kinds::fields::{number, text, wanted};
use crate::kinds::mirror::{Mirror, MirrorRules};
use crate::model::{Cause, Hold, Member, RuleId, Strategy, Why};
use crate::object::{Key, Path};
use crate::providers::kubeadm::mirror::{
    Cloned, clone_of, cloned_from, configured, derived_creation, one_at_a_time, with_v,
};
use crate::tree::{Value, json};

/// The mirror of the control plane.
#[derive(Debug)]
pub(crate) struct Talos;

static RULES: MirrorRules = MirrorRules {
    later: RuleId::of("talos/later-config"),
    after: None,
    equal: Some(RuleId::of("talos/equal-config")),
    later_says: None,
};

/// Where the reference to the infrastructure template stands.
const REFERENCE: &[&str] = &["spec", "infrastructureTemplate"];
/// Where the configuration of Machines stands.
const CONFIG: &str = "/spec/controlPlaneConfig/controlplane";

static CLONED: Cloned =
    Cloned { name: RuleId::of("talos/infrastructure-template"), kind: RuleId::of("talos/infrastructure-kind") };

impl Mirror for Talos {
    fn rules(&self) -> &'static MirrorRules {
        &RULES
    }

    fn fill_in(&self, owner: &mut Value, _versions: &Versions) {
        default(owner);
    }

    fn outdated(&self, member: &Member, owner: &Value, _versions: &Versions, _now: Timestamp) -> Vec<Cause> {
        let mut causes = Vec::new();
        causes.extend(version(member, owner));
        causes.extend(cloned_from(member, owner, REFERENCE, &CLONED));
        causes.extend(config(member, owner));
        causes
    }

    fn derived(&self, owner: &Value, _versions: &Versions, now: Timestamp) -> Vec<(Member, u64)> {
        let replicas = number(owner, "/spec/replicas").unwrap_or(1);
        let machine = json!({
            "metadata": {"creationTimestamp": derived_creation(owner, now)},
            "spec": {"version": owner.pointer("/spec/version"), "bootstrap": {"configRef": {"kind": "TalosConfig"}}},
        });
        let reference = owner.pointer("/spec/infrastructureTemplate").cloned().unwrap_or_default();
        let config = Some(json!({"spec": written(owner)}));
        let member = Member { name: String::new(), machine, config, infra: Some(clone_of(&reference)) };
        (replicas > 0).then_some((member, replicas)).into_iter().collect()
    }

    /// An empty list stays in the control plane and cannot stand in a TalosConfig that is made from it.
    fn perpetual(&self, owner: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause> {
        self.of_specs(owner, owner, versions, now)
    }

    fn holds(&self, key: &Key, owner: &Value) -> Vec<Hold> {
        let at = Path::root().key("spec").key("rolloutStrategy");
        let (why, path, says, over) = if is_on_delete(owner) {
            let over = "the strategy is no longer OnDelete or somebody deletes a Machine";
            (Why::ByHand, at.key("type"), "the strategy is OnDelete", over)
        } else if keeps_the_last(owner) {
            let over = "maxSurge is 1 or there are more Machines";
            (Why::LittleRoom, at.key("rollingUpdate"), "the last Machine is never deleted, and maxSurge is 0", over)
        } else {
            return Vec::new();
        };
        vec![Hold { why, places: vec![(key.clone(), Some(path))], says: says.to_owned(), over: over.to_owned() }]
    }

    fn is_config(&self, field: &str) -> bool {
        field == "controlPlaneConfig"
    }

    /// `upgrade.go` upgradeControlPlane; Machines are listed from a cache (`taloscontrolplane_controller.go`
    /// getControlPlaneMachinesForCluster).
    fn strategy(&self, owner: &Value, wanted: u64) -> Strategy {
        if is_on_delete(owner) {
            return Strategy::Stopped {
                why: "its strategy is OnDelete, so its controller replaces nothing".to_owned(),
            };
        }
        if keeps_the_last(owner) {
            let why =
                "its only Machine is never deleted, and maxSurge is 0, so its controller replaces nothing".to_owned();
            return Strategy::Stopped { why };
        }
        Strategy::OneByOne { surge: self.room(owner, wanted).0, sick_first: false, is_late: true }
    }

    fn room(&self, owner: &Value, _wanted: u64) -> (u64, u64) {
        one_at_a_time(owner)
    }

    /// There are no timeouts in the control plane.
    fn deletion<'o>(&self, _owner: &'o Value) -> Option<&'o Value> {
        None
    }
}

/// Whether no second Machine is made and the only one is never deleted (`scale.go` scaleDownControlPlane).
fn keeps_the_last(owner: &Value) -> bool {
    one_at_a_time(owner).0 == 0 && wanted(owner, None) <= 1
}

/// Whether Machines are replaced by hand only.
fn is_on_delete(owner: &Value) -> bool {
    text(owner, "/spec/rolloutStrategy/type") == Some("OnDelete")
}

/// Whether the versions differ, as texts (`util/collections/machine_filters.go` MatchesKubernetesVersion of Cluster API).
fn version(member: &Member, owner: &Value) -> Option<Cause> {
    let have = text(&member.machine, "/spec/version").unwrap_or_default();
    let want = text(owner, "/spec/version").unwrap_or_default();
    (have != want).then(|| Cause::at(RuleId::of("talos/version"), &["spec", "version"], format!("{have} to {want}")))
}

/// Where the TalosConfig of a Machine differs from the one in the owner (MatchesControlPlaneConfig).
fn config(member: &Member, owner: &Value) -> Vec<Cause> {
    let at = Path::root().key("spec").key("controlPlaneConfig").key("controlplane");
    configured(member, (owner.pointer(CONFIG), &at), RuleId::of("talos/config"), held)
}

/// The configuration as it is written into a TalosConfig: Go leaves empty lists out there.
fn written(owner: &Value) -> Value {
    let mut out = owner.pointer(CONFIG).filter(|spec| spec.is_object()).cloned().unwrap_or_else(|| json!({}));
    if let Some(spec) = out.as_object_mut() {
        spec.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
    }
    out
}

/// The owner with what the webhook fills in (`taloscontrolplane_webhook.go` Default).
pub(super) fn default(owner: &mut Value) {
    let Some(spec) = owner.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("replicas").is_none_or(Value::is_null) {
        spec.insert("replicas".to_owned(), json!(1));
    }
    with_v(spec.get_mut("version"));
    let Some(strategy) = crate::kinds::fields::map_at(spec, "rolloutStrategy") else { return };
    if strategy.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        strategy.insert("type".to_owned(), json!("RollingUpdate"));
    }
    if strategy.get("type") == Some(&json!("RollingUpdate"))
        && let Some(update) = crate::kinds::fields::map_at(strategy, "rollingUpdate")
        && update.get("maxSurge").is_none_or(Value::is_null)
    {
        update.insert("maxSurge".to_owned(), json!(1));
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
            "version": "v1.33.4",
            "infrastructureTemplate": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "T", "name": "a"},
            "controlPlaneConfig": {"controlplane": {"generateType": "controlplane", "strategicPatches": ["a: 1"]}},
        })
    }

    /// The rules and places for which Machines of `plain` are out of date where `change` was made.
    fn found(change: impl Fn(&mut Value)) -> Vec<String> {
        let mut new = plain();
        change(&mut new);
        let versions = Versions::told("cluster-api", "v1.10.10");
        let causes = Talos.of_specs(&owner(plain()), &owner(new), &versions, Timestamp::UNIX_EPOCH);
        causes.into_iter().map(|cause| format!("{} {}", cause.rule, cause.path)).collect()
    }

    #[test]
    fn version_template_and_config_are_compared_and_nothing_else() {
        assert_eq!(found(|_| {}), [""; 0]);
        assert_eq!(found(|spec| spec["version"] = json!("v1.34.0")), ["talos/version spec.version"]);
        assert_eq!(found(|spec| spec["version"] = json!("1.33.4")), [""; 0]);
        assert_eq!(
            found(|spec| spec["infrastructureTemplate"]["name"] = json!("b")),
            ["talos/infrastructure-template spec.infrastructureTemplate.name"]
        );
        assert_eq!(found(|spec| spec["infrastructureTemplate"]["namespace"] = json!("n")), [""; 0]);
        let newer = json!("infrastructure.cluster.x-k8s.io/v1beta2");
        assert_eq!(found(|spec| spec["infrastructureTemplate"]["apiVersion"] = newer.clone()), [""; 0]);
        assert_eq!(
            found(|spec| spec["controlPlaneConfig"]["controlplane"]["strategicPatches"][0] = json!("a: 2")),
            ["talos/config spec.controlPlaneConfig.controlplane.strategicPatches[0]"]
        );
        assert_eq!(found(|spec| spec["controlPlaneConfig"]["init"] = json!({"generateType": "init"})), [""; 0]);
        assert_eq!(found(|spec| spec["rolloutStrategy"] = json!({"type": "OnDelete"})).len(), 0);
    }

    #[test]
    fn an_empty_list_can_never_match() {
        let place = ["talos/config spec.controlPlaneConfig.controlplane.configPatches"];
        assert_eq!(found(|spec| spec["controlPlaneConfig"]["controlplane"]["configPatches"] = json!([])), place);
        let mut spec = plain();
        spec["controlPlaneConfig"]["controlplane"]["configPatches"] = json!([]);
        let versions = Versions::told("cluster-api", "v1.10.10");
        assert_eq!(Talos.perpetual(&owner(spec), &versions, Timestamp::UNIX_EPOCH).len(), 1);
        assert_eq!(Talos.perpetual(&owner(plain()), &versions, Timestamp::UNIX_EPOCH).len(), 0);
    }

    #[test]
    fn on_delete_waits_for_a_hand() {
        let key = Key::of("", "TalosControlPlane", None, "x");
        let mut spec = plain();
        assert!(Talos.holds(&key, &owner(spec.clone())).is_empty());
        spec["rolloutStrategy"] = json!({"type": "OnDelete"});
        assert_eq!(Talos.holds(&key, &owner(spec)).len(), 1);
    }

    #[test]
    fn the_last_machine_goes_only_behind_a_second_one() {
        let key = Key::of("", "TalosControlPlane", None, "x");
        let holds = |replicas: u64, surge: Value| {
            let mut spec = plain();
            spec["replicas"] = json!(replicas);
            spec["rolloutStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}});
            Talos.holds(&key, &owner(spec)).len()
        };
        assert_eq!((holds(1, json!(0)), holds(1, json!("100%"))), (1, 1), "a percentage counts as none");
        assert_eq!((holds(1, json!(1)), holds(3, json!(0))), (0, 0));
    }
}
