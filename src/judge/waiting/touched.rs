//! Which owners, clusters and MachineSets a write reaches without standing in it: through their Cluster, through what they
//! name, through the labels that they select.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::lifted::{Lifted, by_owner};
use super::machines::has_labels;
use super::side::Side;
use super::{adoption, control_plane, hosts, machines, pause, preflight};
use crate::apiserver::admission::Sides;
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::judge::topology::woken::is_of_topology;
use crate::kinds::Role;
use crate::kinds::contract;
use crate::kinds::contract::BOOTSTRAP;
use crate::kinds::contract::CLUSTER_CLASS;
use crate::kinds::contract::CONTROL_PLANE;
use crate::kinds::contract::CORE;
use crate::kinds::contract::MACHINE;
use crate::kinds::contract::MACHINE_SET;
use crate::kinds::fields;
use crate::kinds::fields::annotation;
use crate::kinds::fields::text;
use crate::model::Rollout;
use crate::model::RuleId;
use crate::model::{Action, Effect, Pair};
use crate::object::{Key, Path};
use crate::parallel;
use crate::providers::kind;
use crate::tree::Value;

/// Where an owner says which Machines are its own.
const SELECTOR: &str = "/spec/selector";
/// The label by which the MachineSets of one MachineDeployment are told apart.
const TEMPLATE_HASH: &str = "machine-template-hash";

/// What starts among the Machines of owners that do not stand in the write.
pub(super) fn owners(stage: &Stage<'_>) -> Vec<Lifted> {
    let mut reached = Reached::default();
    for pair in stage.pairs.iter().filter(|pair| matches!(pair.action, Action::Create | Action::Update)) {
        reached.add(stage, pair);
    }
    let mut keys = reached.owners(stage);
    keys.extend(hosts::reached(stage));
    keys.retain(|key| stage.pair(key).is_none());
    let assess = |key: &Key| {
        let mirror = kind(key).mirror?;
        let own = |side: Side<'_>| Some(Arc::unwrap_or_clone(side.get(key)?));
        let sides = Sides { old: own(Side::before(stage))?, new: own(Side::after(stage))? };
        by_owner(key, &Assessment::of(stage, key, mirror, sides))
    };
    let keys: Vec<Key> = keys.into_iter().collect();
    parallel::map(&keys, assess).into_iter().flatten().collect()
}

/// The owners that objects of a write may let go.
#[derive(Default)]
struct Reached {
    /// By themselves.
    owners: BTreeSet<Key>,
    /// All owners of these Clusters.
    clusters: BTreeSet<Key>,
    /// The MachineDeployments of these Clusters. Many writes may reach one Cluster, which is asked once.
    deployments: BTreeSet<Key>,
    /// The control planes of these Clusters.
    planes: BTreeSet<Key>,
}

impl Reached {
    /// Adds the owners that an object of the write may let go.
    fn add(&mut self, stage: &Stage<'_>, pair: &Pair) {
        let key = &pair.key;
        match kind(key).role {
            // A topology hands annotations to its owners.
            Role::Cluster
                if changes_pause(pair)
                    || ["/spec/topology", "/spec/controlPlaneEndpoint"].iter().any(|place| differs(pair, place)) =>
            {
                self.clusters.insert(key.clone());
            }
            Role::Class if differs(pair, "/spec") => self.clusters.extend(stage.clusters_of_class(key)),
            _ if key.group == CONTROL_PLANE => {
                self.deployments.extend(stage.after(key).and_then(|owner| stage.cluster_of(key, &owner)));
            }
            Role::Template | Role::Data => {
                self.add_referrers(stage, pair);
                self.planes.extend(control_plane::reached(pair));
            }
            _ => {}
        }
    }

    /// Adds who refers to a template or to data: what these say of preflight checks counts for them.
    fn add_referrers(&mut self, stage: &Stage<'_>, pair: &Pair) {
        if pair.action == Action::Update && !skips_otherwise(pair) {
            return;
        }
        for reference in stage.referrers(&pair.key) {
            self.owners.insert(reference.from.clone());
            if is_config_template(&reference.from) {
                self.owners.extend(stage.referrers(&reference.from).into_iter().map(|above| above.from.clone()));
            }
        }
    }

    /// All of them.
    fn owners(self, stage: &Stage<'_>) -> BTreeSet<Key> {
        let Self { mut owners, clusters, deployments, planes } = self;
        owners.extend(clusters.iter().flat_map(|cluster| stage.owners_of(cluster)).cloned());
        let of_clusters = deployments.iter().flat_map(|cluster| stage.owners_of(cluster));
        owners.extend(of_clusters.filter(|owner| kind(owner).role == Role::Deployment).cloned());
        let of_clusters = planes.iter().flat_map(|cluster| stage.owners_of(cluster));
        owners.extend(of_clusters.filter(|owner| owner.group == CONTROL_PLANE).cloned());
        owners
    }
}

/// Whether a key is that of a template of bootstrap configs.
fn is_config_template(key: &Key) -> bool {
    kind(key).role == Role::Template && key.group == BOOTSTRAP
}

/// Whether a pair changes a pause of its object, or which controllers look at it.
fn changes_pause(pair: &Pair) -> bool {
    // The annotation of a Cluster pauses less than its spec, so one does not stand for the other.
    let pauses = |value: &Option<Value>| {
        value.as_ref().map(|value| (pause::is_paused_cluster(value), pause::is_annotated(value))).unwrap_or_default()
    };
    pauses(&pair.live) != pauses(&pair.predicted) || pause::is_handed_on(pair)
}

/// The clusters whose Machines may be judged otherwise: by a health check, a pause, or what a template gives to them.
pub(super) fn clusters(stage: &Stage<'_>) -> BTreeSet<Key> {
    let mut out = BTreeSet::new();
    for rule in stage.pairs_of_kind(contract::MACHINE_DRAIN_RULE) {
        let here = Side::before(stage).all(CORE, contract::CLUSTER, rule.key.namespace.as_deref());
        out.extend(here.into_iter().map(|(key, _)| key));
    }
    let is_of_check = |pair: &Pair| pair.action == Action::Delete && kind(&pair.key).role == Role::HealthCheck;
    let is_written = |pair: &&Pair| matches!(pair.action, Action::Create | Action::Update) || is_of_check(pair);
    for pair in stage.pairs.iter().filter(is_written) {
        let key = &pair.key;
        match kind(key).role {
            Role::HealthCheck => {
                let check = pair.predicted.as_ref().or(pair.live.as_ref());
                out.extend(check.and_then(|check| cluster_of_check(key, check)));
            }
            Role::Cluster if pair.action == Action::Update => {
                // Whatever is written to a Cluster with a class makes the topology controller look.
                let has_class = pair.predicted.as_ref().is_some_and(|value| value.pointer("/spec/topology").is_some());
                if has_class || changes_pause(pair) {
                    out.insert(key.clone());
                }
            }
            Role::Class => out.extend(stage.clusters_of_class(key)),
            _ if is_of_topology(pair) => out.extend(cluster_of(stage, pair)),
            Role::Template if pair.action == Action::Create || skips_otherwise(pair) => {
                for user in stage.referrers(key).into_iter().map(|reference| &reference.from) {
                    if user.kind == CLUSTER_CLASS {
                        out.extend(stage.clusters_of_class(user));
                    } else if kind(user).role == Role::HealthCheck {
                        out.extend(stage.after(user).and_then(|check| cluster_of_check(user, &check)));
                    } else if pair.action == Action::Update {
                        out.extend(stage.after(user).and_then(|owner| stage.cluster_of(user, &owner)));
                    }
                }
            }
            Role::Machine if differs(pair, "/metadata") || differs(pair, "/spec") => {
                out.extend(cluster_of(stage, pair));
            }
            role if role.owns_machines() && pair.action == Action::Update => {
                let places = [
                    "/metadata/annotations",
                    "/metadata/labels",
                    "/spec/paused",
                    "/spec/version",
                    "/spec/template",
                    "/spec/rollout",
                    "/spec/machineTemplate/metadata",
                    "/spec/machineTemplate/spec/deletion",
                    "/spec/machineTemplate/nodeDrainTimeout",
                    "/spec/machineTemplate/nodeVolumeDetachTimeout",
                    "/spec/remediation",
                    "/spec/remediationStrategy",
                    "/spec/strategy",
                    "/spec/replicas",
                ];
                if places.iter().any(|place| differs(pair, place)) {
                    out.extend(cluster_of(stage, pair));
                }
            }
            _ => {}
        }
    }
    out
}

/// Whether a pair says otherwise which preflight checks to skip.
fn skips_otherwise(pair: &Pair) -> bool {
    let told =
        |value: &Option<Value>| value.as_ref().and_then(|value| annotation(value, preflight::SKIP).map(str::to_owned));
    told(&pair.live) != told(&pair.predicted)
}

/// The Cluster that a health check looks after.
fn cluster_of_check(key: &Key, check: &Value) -> Option<Key> {
    text(check, "/spec/clusterName").map(|name| contract::cluster(key.namespace.as_deref(), name))
}

/// Whether both sides of a pair differ at a place.
pub(super) fn differs(pair: &Pair, place: &str) -> bool {
    match (&pair.live, &pair.predicted) {
        (Some(old), Some(new)) => old.differs_at(new, place),
        (Some(one), None) | (None, Some(one)) => one.pointer(place).is_some(),
        (None, None) => false,
    }
}

/// The Cluster of a pair.
fn cluster_of(stage: &Stage<'_>, pair: &Pair) -> Option<Key> {
    stage.cluster_of(&pair.key, &*stage.after(&pair.key)?)
}

/// What MachineSets delete because a label or a selector gives them Machines that are too many for them.
pub(super) fn sets(stage: &Stage<'_>) -> Vec<Lifted> {
    let moves = |pair: &&Pair| match (kind(&pair.key).role, pair.action) {
        (Role::Machine, Action::Update) => {
            differs(pair, "/metadata/labels") || differs(pair, "/metadata/ownerReferences")
        }
        (Role::Machine, Action::Create) => true,
        (Role::Set | Role::Deployment, Action::Update) => differs(pair, SELECTOR),
        _ => false,
    };
    let namespaces: BTreeSet<Option<String>> =
        stage.pairs.iter().filter(moves).map(|pair| pair.key.namespace.clone()).collect();
    let mut out = Vec::new();
    for namespace in namespaces {
        let [before, after] = Side::both(stage);
        for (key, mut set) in after.all(CORE, MACHINE_SET, namespace.as_deref()) {
            hand_selector(stage, &key, Arc::make_mut(&mut set));
            // Of both sides it counts what is selected: whoever wants fewer has asked for it.
            let old = before.get(&key).unwrap_or_else(|| Arc::clone(&set));
            let surplus = |side, set: &Value, wanted| adoption::selected(side, &key, set).saturating_sub(wanted);
            let wanted = adoption::wanted(&set);
            let (was, now) = (surplus(before, &old, wanted), surplus(after, &set, wanted));
            let cluster = stage.cluster_of(&key, &set);
            let held = pause::of_object(after, &key, &set, cluster.as_ref());
            if now > was && held.is_empty() {
                out.push(too_many(stage, &key, &set, now - was));
            }
        }
    }
    out
}

/// Puts the selector into a MachineSet that its MachineDeployment hands to it, where that changes; so its Machines from before
/// another selector come back (`machinedeployment_rollout_planner.go` computeDesiredMS).
fn hand_selector(stage: &Stage<'_>, key: &Key, set: &mut Value) {
    let Some(owner) = machines::controller(key, set).filter(|owner| kind(owner).role == Role::Deployment) else {
        return;
    };
    if !stage.pair(&owner).is_some_and(|pair| pair.action == Action::Update && differs(pair, SELECTOR)) {
        return;
    }
    let Some(deployment) = stage.after(&owner) else { return };
    // The one set that has all Machines of its MachineDeployment grows with it; that it shrinks is counted as the change that it is.
    let (was, wanted) = (fields::wanted(set, None), fields::wanted(&deployment, None));
    if wanted > was
        && stage.before(&owner).is_some_and(|before| fields::wanted(&before, None) == was)
        && let Some(spec) = set.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.insert("replicas".to_owned(), wanted.into());
    }
    let hash = fields::label(set, TEMPLATE_HASH).map(str::to_owned);
    let Some(Value::Object(selector)) = set.pointer_mut(SELECTOR) else { return };
    let Some(Value::Object(handed)) = deployment.pointer(SELECTOR) else { return };
    *selector = handed.clone();
    if let (Some(hash), Some(labels)) = (hash, selector.get_mut("matchLabels").and_then(Value::as_object_mut)) {
        labels.insert(TEMPLATE_HASH.to_owned(), hash.into());
    }
}

/// The Machines that a MachineSet deletes because they are too many. Nobody asked for fewer, so this is no scale.
fn too_many(stage: &Stage<'_>, key: &Key, set: &Value, count: u64) -> Lifted {
    let noun = if count == 1 { "Machine" } else { "Machines" };
    let wanted = adoption::wanted(set);
    let labels = Path::root().key("metadata").key("labels");
    let selector = set.pointer(SELECTOR).unwrap_or(&Value::Null);
    let is_selected = |pair: &Pair| pair.predicted.as_ref().is_some_and(|machine| has_labels(selector, machine));
    let machines = stage
        .pairs
        .iter()
        .filter(|pair| pair.key.kind == MACHINE && pair.key.namespace == key.namespace && is_selected(pair));
    let mut places: Vec<(Key, Option<Path>)> = machines.map(|pair| (pair.key.clone(), Some(labels.clone()))).collect();
    let owner = machines::controller(key, set).unwrap_or_else(|| key.clone());
    let selectors = [key, &owner].map(|key| (key.clone(), Some(Path::root().key("spec").key("selector"))));
    let is_moved = |key: &Key| stage.pair(key).is_some_and(|pair| differs(pair, SELECTOR));
    let cause = if is_moved(key) || is_moved(&owner) { "spec.selector" } else { "metadata.labels" };
    places.extend(selectors);
    Lifted {
        owner,
        effect: Effect::Delete,
        waits: None,
        rule: RuleId::of("waiting/adopted"),
        because: format!("{key} selects {count} {noun} more than the {wanted} that it wants and deletes as many"),
        places,
        rollouts: vec![Rollout {
            replicas: Some(wanted),
            present: Some(wanted + count),
            steps: vec![format!(
                "selects Machines that it did not select, and deletes {count} {noun} that are too many"
            )],
            causes: vec![cause.to_owned()],
            ..Rollout::plain(
                key,
                &stage.cluster_of(key, set).map_or_else(String::new, |cluster| cluster.name.clone()),
                Effect::Delete,
                Vec::new(),
                count,
            )
        }],
    }
}
