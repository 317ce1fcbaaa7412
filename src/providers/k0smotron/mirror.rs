//! Mirror of the control plane of Machines of k0smotron: which Machines are out of date, and what happens to them.
//! Read beside `internal/controller/controlplane` (`k0s_controlplane_controller.go` calculateMachineState, `helper.go`, `inplace.go`,
//! `scale.go`, `status.go`) of k0smotron 2.1. An infrastructure Machine that is not there makes a Machine out of date
//! there, and so does one that does not say what it was cloned from.

use jiff::Timestamp;

use super::{config, version};
use crate::kinds::Versions;
use crate::kinds::fields::{annotation, list, number, text};
use crate::kinds::mirror::{Doubt, Mirror, MirrorRules};
use crate::model::{Basis, Cause, Effect, Member, RuleId, Strategy};
use crate::object::Path;
use crate::providers::kubeadm::mirror::{clone_of, derived_creation, group_kind_of};
use crate::tree::{Value, json};

/// The mirror of the control plane.
#[derive(Debug)]
pub(crate) struct K0sControlPlane;

static RULES: MirrorRules = MirrorRules {
    later: RuleId::of("k0s/later-config"),
    after: None,
    equal: Some(RuleId::of("k0s/equal-config")),
    later_says: None,
};

/// Where the reference to the infrastructure template stands.
const REFERENCE: &[&str] = &["spec", "machineTemplate", "infrastructureRef"];
/// The strategy that brings a version to the Machines that run; it is the default.
const IN_PLACE: &str = "InPlace";
/// What the controller puts in the place of no version, and behind a version without a suffix (Reconcile).
const DEFAULT_VERSION: &str = "v1.27.9+k0s.0";
/// See `DEFAULT_VERSION`.
const SUFFIX: &str = "+k0s.0";

impl Mirror for K0sControlPlane {
    fn rules(&self) -> &'static MirrorRules {
        &RULES
    }

    fn fill_in(&self, owner: &mut Value, _versions: &Versions) {
        default(owner);
    }

    fn outdated(&self, member: &Member, owner: &Value, versions: &Versions, _now: Timestamp) -> Vec<Cause> {
        let mut causes = cloned_from(member, owner);
        causes.extend(config::outdated(member, owner, versions));
        if !has_version(&member.machine, owner) {
            causes.extend(by_version(&member.machine, owner));
        }
        causes
    }

    fn derived(&self, owner: &Value, _versions: &Versions, now: Timestamp) -> Vec<(Member, u64)> {
        let replicas = number(owner, "/spec/replicas").unwrap_or(1);
        let machine = json!({
            "metadata": {
                "creationTimestamp": derived_creation(owner, now),
                "annotations": {config::MADE_OF: config::written(owner)},
            },
            "spec": {"version": owner.pointer("/spec/version"), "bootstrap": {"configRef": {"kind": super::CONFIG}}},
        });
        let config = Some(json!({"spec": owner.pointer(config::PLACE)}));
        let reference = REFERENCE.iter().try_fold(owner, |value, key| value.get(*key)).cloned().unwrap_or_default();
        let member = Member { name: String::new(), machine, config, infra: Some(clone_of(&reference)) };
        (replicas > 0).then_some((member, replicas)).into_iter().collect()
    }

    /// An empty list stays in the control plane and cannot stand in what a Machine remembers of it.
    fn perpetual(&self, owner: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause> {
        self.of_specs(owner, owner, versions, now)
    }

    fn doubt(&self, path: &Path, basis: Basis, new: &Value) -> Option<Doubt> {
        let doubt = |rule| Some(Doubt { effect: Effect::Unknown, rule });
        if path.is(&["spec", "version"]) && version::read(text(new, "/spec/version").unwrap_or_default()).is_none() {
            return doubt(RuleId::of("k0s/version-unreadable"));
        }
        let is_compared =
            config::PARTS.iter().any(|part| path.starts_with(&["spec", "k0sConfigSpec", "k0s", "spec", part]));
        if is_compared && basis == Basis::Specs {
            return doubt(RuleId::of("k0s/api-config-unread"));
        }
        None
    }

    fn is_config(&self, field: &str) -> bool {
        field == "k0sConfigSpec"
    }

    /// `scale.go` reconcileMachines; Machines are listed from a cache (`k0s_controlplane_controller.go` retrieveControlPlaneState).
    fn strategy(&self, owner: &Value, wanted: u64) -> Strategy {
        Strategy::OneByOne { surge: self.room(owner, wanted).0, sick_first: false, is_late: true }
    }

    /// `scale.go` calculateMaxSurge.
    fn room(&self, owner: &Value, wanted: u64) -> (u64, u64) {
        let deletes_first = text(owner, "/spec/updateStrategy") == Some("RecreateDeleteFirst") && wanted >= 3;
        (u64::from(!deletes_first), u64::from(deletes_first))
    }

    /// There are no timeouts in the control plane.
    fn deletion<'o>(&self, _owner: &'o Value) -> Option<&'o Value> {
        None
    }
}

/// Where the infrastructure Machine was not cloned from the template that the owner names (`helper.go` isInfraMachineUpToDate).
fn cloned_from(member: &Member, owner: &Value) -> Vec<Cause> {
    let said = |name| member.infra.as_ref().and_then(|infra| annotation(infra, name)).unwrap_or_default();
    let reference = REFERENCE.iter().try_fold(owner, |value, key| value.get(*key)).unwrap_or(&Value::Null);
    let mut causes = Vec::new();
    let mut check = |rule, keys: &[&str], have: &str, want: &str| {
        if have != want {
            let have = if have.is_empty() { "nothing that is known" } else { have };
            let cause = |key: &&str| Cause::at(rule, &[REFERENCE, &[*key]].concat(), format!("{have} to {want}"));
            causes.extend(keys.iter().map(cause));
        }
    };
    let want = text(reference, "/name").unwrap_or_default();
    check(RuleId::of("k0s/infrastructure"), &["name"], said("cluster.x-k8s.io/cloned-from-name"), want);
    let want = group_kind_of(reference);
    let have = said("cluster.x-k8s.io/cloned-from-groupkind");
    check(RuleId::of("k0s/infrastructure-kind"), &["kind", "apiVersion"], have, &want);
    causes
}

/// Whether a Machine has the version of its owner (`status.go` versionMatches): it takes the suffix that it lacks from there.
fn has_version(machine: &Value, owner: &Value) -> bool {
    let Some(have) = text(machine, "/spec/version") else { return false };
    let want = text(owner, "/spec/version").unwrap_or_default();
    let suffix = want.split('+').nth(1).unwrap_or_default();
    let have = if have.contains('+') { have.to_owned() } else { format!("{have}+{suffix}") };
    have == want || version::read(&have).is_some_and(|have| version::read(want) == Some(have))
}

/// What replaces a Machine of another version: nothing where the version is brought to it in place (`inplace.go`
/// reconcileInplaceK0sVersionUpdate).
fn by_version(machine: &Value, owner: &Value) -> Vec<Cause> {
    let have = text(machine, "/spec/version").unwrap_or_default();
    let detail = format!("{have} to {}", text(owner, "/spec/version").unwrap_or_default());
    let at = |rule, path: &[&str]| Cause::at(rule, path, detail.clone());
    if text(owner, "/spec/updateStrategy") != Some(IN_PLACE) {
        let strategy = at(RuleId::of("k0s/strategy-replaces"), &["spec", "updateStrategy"]);
        return vec![at(RuleId::of("k0s/version"), &["spec", "version"]), strategy];
    }
    if is_available(owner) {
        return Vec::new();
    }
    vec![at(RuleId::of("k0s/version-unavailable"), &["spec", "version"])]
}

/// Whether the control plane says that it is available. What a render says of it counts as healthy; one that was read says so itself.
fn is_available(owner: &Value) -> bool {
    let is =
        |condition: &Value| text(condition, "/type") == Some("Available") && text(condition, "/status") == Some("True");
    let is_render = owner.get("status").is_none() && owner.pointer("/metadata/uid").is_none();
    is_render || list(owner, "/status/conditions").any(is)
}

/// The owner with what the schema and the controller fill in.
fn default(owner: &mut Value) {
    let Some(spec) = owner.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("replicas").is_none_or(Value::is_null) {
        spec.insert("replicas".to_owned(), json!(1));
    }
    if spec.get("updateStrategy").and_then(Value::as_str).is_none_or(str::is_empty) {
        spec.insert("updateStrategy".to_owned(), json!(IN_PLACE));
    }
    let version = spec.get("version").and_then(Value::as_str).unwrap_or_default();
    let version = if version.is_empty() { DEFAULT_VERSION } else { version };
    let version = if version.contains("+k0s.") { version.to_owned() } else { format!("{version}{SUFFIX}") };
    spec.insert("version".to_owned(), json!(version));
    spec.entry("k0sConfigSpec").or_insert_with(|| json!({}));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(spec: Value, status: Value) -> Value {
        let mut owner = json!({"spec": spec, "status": status});
        default(&mut owner);
        owner
    }

    fn plain() -> Value {
        json!({
            "version": "v1.30.1+k0s.0",
            "updateStrategy": "Recreate",
            "machineTemplate": {"infrastructureRef": {"apiVersion": "x.io/v1beta1", "kind": "T", "name": "a"}},
            "k0sConfigSpec": {"args": ["--enable-worker"], "k0s": {"spec": {"api": {"port": 6443}}}},
        })
    }

    fn available(status: &str) -> Value {
        json!({"conditions": [{"type": "Available", "status": status}]})
    }

    /// The rules and places for which Machines of `plain` are out of date where `change` was made.
    fn found(status: &Value, change: impl Fn(&mut Value)) -> Vec<String> {
        let mut new = plain();
        change(&mut new);
        let versions = Versions::told("cluster-api", "v1.14.0");
        let new = owner(new, status.clone());
        let causes = K0sControlPlane.of_specs(&owner(plain(), status.clone()), &new, &versions, Timestamp::UNIX_EPOCH);
        causes.into_iter().map(|cause| format!("{} {}", cause.rule, cause.path)).collect()
    }

    #[test]
    fn a_version_replaces_machines_or_is_brought_to_them() {
        let version = |strategy: &str, version: &str, status: &str| {
            let (strategy, version) = (json!(strategy), json!(version));
            found(&available(status), |spec| {
                spec["updateStrategy"] = strategy.clone();
                spec["version"] = version.clone();
            })
        };
        let replaced = ["k0s/version spec.version", "k0s/strategy-replaces spec.updateStrategy"];
        assert_eq!(version("Recreate", "v1.31.2+k0s.0", "True"), replaced);
        assert_eq!(version("RecreateDeleteFirst", "v1.30.1+k0s.1", "True"), replaced);
        assert_eq!(version("InPlace", "v1.31.2+k0s.0", "True"), [""; 0]);
        assert_eq!(version("InPlace", "v1.31.2+k0s.0", "False"), ["k0s/version-unavailable spec.version"]);
        assert_eq!(version("Recreate", "v1.30.1", "True"), [""; 0]);
        assert_eq!(version("Recreate", "v1.30.1+k0s.0", "False"), [""; 0]);
    }

    #[test]
    fn the_template_is_compared_by_name_kind_and_group() {
        let reference = |key: &str, value: &str| {
            let value = json!(value);
            found(&available("True"), |spec| spec["machineTemplate"]["infrastructureRef"][key] = value.clone())
        };
        let at = "spec.machineTemplate.infrastructureRef";
        assert_eq!(reference("apiVersion", "x.io/v1beta2"), [""; 0]);
        assert_eq!(reference("name", "b"), [format!("k0s/infrastructure {at}.name")]);
        let kind = [format!("k0s/infrastructure-kind {at}.kind"), format!("k0s/infrastructure-kind {at}.apiVersion")];
        assert_eq!(reference("apiVersion", "y.io/v1beta1"), kind);
        let gone = Member { name: String::new(), machine: json!({}), config: None, infra: None };
        assert_eq!(cloned_from(&gone, &owner(plain(), json!({}))).len(), 3);
    }

    #[test]
    fn a_machine_takes_the_suffix_that_it_lacks_from_its_owner() {
        let has = |machine: &str, wanted: &str| {
            has_version(&json!({"spec": {"version": machine}}), &json!({"spec": {"version": wanted}}))
        };
        assert!(has("v1.30.1", "v1.30.1+k0s.1") && has("1.30.1+k0s.0", "v1.30.1+k0s.0"));
        assert!(!has("v1.30.1+k0s.0", "v1.30.1+k0s.1") && !has("", "v1.30.1+k0s.0"));
    }

    #[test]
    fn only_three_machines_leave_room_for_the_one_that_goes_first() {
        let room = |wanted| K0sControlPlane.room(&json!({"spec": {"updateStrategy": "RecreateDeleteFirst"}}), wanted);
        assert_eq!((room(3), room(1)), ((0, 1), (1, 0)));
        assert_eq!(K0sControlPlane.room(&json!({}), 3), (1, 0));
    }
}
