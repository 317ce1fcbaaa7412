//! Mirror of the RKE2 control plane provider: what its controller does with Machines, and what it fills in first. When a Machine is
//! out of date stands in `outdated.rs`.

use jiff::Timestamp;

use super::changes::ONE_REFERENCE;
use super::outdated::{CONFIG, SERVER_CONFIGURATION, config_of, outdated};
use crate::kinds::Versions;
use crate::kinds::fields::annotation;
use crate::kinds::fields::number;
use crate::kinds::fields::text;
use crate::kinds::fields::{map_at, plain_number};
use crate::kinds::mirror::{Doubt, Mirror, MirrorRules, one_by_one};
use crate::model::Member;
use crate::model::RuleId;
use crate::model::{Basis, Cause, Effect};
use crate::model::{Hold, Strategy, Why};
use crate::object::Key;
use crate::object::Path;
use crate::providers::kubeadm::mirror::{clone_of, derived_creation};
use crate::tree::{Value, json};

/// The mirror of the control plane.
#[derive(Debug)]
pub(crate) struct Rke2;

static RULES: MirrorRules = MirrorRules {
    later: RuleId::of("rke2cp/later-config"),
    after: None,
    equal: Some(RuleId::of("rke2cp/equal-config")),
    later_says: None,
};

impl Mirror for Rke2 {
    fn rules(&self) -> &'static MirrorRules {
        &RULES
    }

    fn fill_in(&self, owner: &mut Value, versions: &Versions) {
        default(owner, versions);
    }

    fn outdated(&self, member: &Member, owner: &Value, versions: &Versions, _now: Timestamp) -> Vec<Cause> {
        outdated(member, owner, versions)
    }

    fn derived(&self, owner: &Value, _versions: &Versions, now: Timestamp) -> Vec<(Member, u64)> {
        derived(owner, now).into_iter().collect()
    }

    /// Only this provider can want what no Machine can have.
    fn perpetual(&self, owner: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause> {
        self.of_specs(owner, owner, versions, now)
    }

    /// A strategy without a type: nothing fills it in, and the controller replaces nothing
    /// (`rke2controlplane_controller.go` upgradeControlPlane).
    fn holds(&self, key: &Key, owner: &Value) -> Vec<Hold> {
        if has_strategy(owner) {
            return Vec::new();
        }
        vec![Hold {
            why: Why::NoStrategy,
            places: vec![(key.clone(), Some(Path::root().key("spec").key("rolloutStrategy").key("type")))],
            says: NO_TYPE.to_owned(),
            over: "the rollout strategy has a type".to_owned(),
        }]
    }

    fn carried(&self, member: &Member, path: &Path) -> Option<Value> {
        let below = path.starts_with(&["spec", "serverConfig"]).then(|| path.segments().get(2..))??;
        let stored = serde_json::from_str::<Value>(annotation(&member.machine, SERVER_CONFIGURATION)?).ok()?;
        Path::from(below.to_vec()).get(&stored).cloned()
    }

    fn doubt(&self, path: &Path, _basis: Basis, new: &Value) -> Option<Doubt> {
        (path.is(&["spec", "version"]) && path.get(new).is_none_or(|version| version == ""))
            .then_some(Doubt { effect: Effect::Unknown, rule: RuleId::of("rke2cp/version-missing") })
    }

    /// The drain timeout of Machines stays, whatever its old place says.
    fn is_overruled(&self, path: &Path, old: &Value, new: &Value) -> bool {
        let told = |side: &Value| side.pointer("/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds").cloned();
        path.is(&["spec", "nodeDrainTimeout"]) && told(old) == told(new)
    }

    fn is_config(&self, field: &str) -> bool {
        field == "serverConfig" || CONFIG.contains(&field)
    }

    /// Without a type it does nothing (`rke2controlplane_controller.go` upgradeControlPlane). Which Machines are there it asks a cache:
    /// what it calls uncached is given the client that caches (same file, SetupWithManager, 0.21; Cluster API asks the API server).
    fn strategy(&self, owner: &Value, wanted: u64) -> Strategy {
        if has_strategy(owner) {
            return Strategy::OneByOne { surge: self.room(owner, wanted).0, sick_first: false, is_late: true };
        }
        Strategy::Stopped { why: NO_TYPE.to_owned() }
    }

    fn steps(&self, each: &str, counts: (u64, u64), (surge, _): (u64, u64)) -> Vec<String> {
        let mut out = one_by_one(each, counts, surge);
        out.push(
            "may make more than 1 at once while its cache lags (4 more were seen), and deletes them at the end"
                .to_owned(),
        );
        out
    }

    /// `scale.go` preflightChecks.
    fn preflight(&self) -> &'static [&'static str] {
        &["AgentHealthy", "EtcdMemberHealthy"]
    }

    fn room(&self, owner: &Value, _wanted: u64) -> (u64, u64) {
        let surge = owner
            .pointer("/spec/rolloutStrategy/rollingUpdate/maxSurge")
            .or_else(|| owner.pointer("/spec/rollout/strategy/rollingUpdate/maxSurge"));
        let surge = surge.map_or(1, plain_number);
        (surge, u64::from(surge == 0))
    }
}

/// What a strategy without a type comes to.
const NO_TYPE: &str = "its rollout strategy has no type, so its controller replaces nothing";

/// Whether the strategy, where there is one, has a type.
fn has_strategy(owner: &Value) -> bool {
    owner.pointer("/spec/rolloutStrategy").is_none_or(|strategy| text(strategy, "/type").is_some())
}

/// The owner with what the webhook and the controller fill in (`rke2controlplane_webhook.go` Default).
pub(super) fn default(owner: &mut Value, versions: &Versions) {
    let Some(spec) = owner.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("replicas").is_none_or(Value::is_null) {
        spec.insert("replicas".to_owned(), json!(1));
    }
    if let Some(agent) = spec.entry("agentConfig").or_insert_with(|| json!({})).as_object_mut()
        && agent.get("format").and_then(Value::as_str).is_none_or(str::is_empty)
    {
        agent.insert("format".to_owned(), json!("cloud-config"));
    }
    let old_reference = spec.get("infrastructureRef").filter(|reference| text(reference, "/name").is_some()).cloned();
    let old_drain = spec.get("nodeDrainTimeout").cloned();
    let Some(inner) = map_at(spec, "machineTemplate").and_then(|template| map_at(template, "spec")) else { return };
    if let Some(mut reference) = old_reference.filter(|_| !versions.has(&ONE_REFERENCE))
        && inner.get("infrastructureRef").is_none_or(|reference| text(reference, "/name").is_none())
    {
        let group = text(&reference, "/apiVersion").and_then(|version| version.split_once('/')).map(|(group, _)| group);
        if let (Some(group), Some(map)) = (group.map(str::to_owned), reference.as_object_mut()) {
            map.insert("apiGroup".to_owned(), json!(group));
        }
        inner.insert("infrastructureRef".to_owned(), reference);
    }
    let Some(timeouts) = map_at(inner, "deletion") else { return };
    for (key, seconds) in
        [("nodeDrainTimeoutSeconds", 120), ("nodeVolumeDetachTimeoutSeconds", 300), ("nodeDeletionTimeoutSeconds", 10)]
    {
        if timeouts.get(key).is_none_or(Value::is_null) {
            let old = old_drain.clone().filter(|_| key == "nodeDrainTimeoutSeconds");
            timeouts.insert(key.to_owned(), old.unwrap_or_else(|| json!(seconds)));
        }
    }
}

/// The Machines that the owner would have made.
#[must_use]
fn derived(owner: &Value, now: Timestamp) -> Option<(Member, u64)> {
    let replicas = number(owner, "/spec/replicas").unwrap_or(1);
    let server = owner.pointer("/spec/serverConfig").cloned().unwrap_or_else(|| json!({}));
    let reference = owner.pointer("/spec/machineTemplate/spec/infrastructureRef").cloned().unwrap_or_default();
    let machine = json!({
        "metadata": {
            "creationTimestamp": derived_creation(owner, now),
            "annotations": {SERVER_CONFIGURATION: server.to_string()},
        },
        "spec": {"version": owner.pointer("/spec/version"), "bootstrap": {"configRef": {"kind": "RKE2Config"}}},
    });
    let config = Some(json!({"spec": config_of(owner)}));
    let member = Member { name: String::new(), machine, config, infra: Some(clone_of(&reference)) };
    (replicas > 0).then_some((member, replicas))
}
