//! Mirror of what the webhooks of Cluster and ClusterClass refuse because of other objects and of versions.
//! Read beside `core/webhooks/admission/{cluster,clusterclass}.go` of Cluster API 1.14 (`validateTopology`,
//! `validateTopologyVersionUpdate`, `ValidateDelete`) and `internal/webhooks/cluster.go` of 1.6 to 1.13.

use std::borrow::Cow;
use std::sync::Arc;

use semver::{BuildMetadata, Prerelease, Version};

use crate::compare::Action;
use crate::host::HostKind;
use crate::judge::stage::Stage;
use crate::judge::topology::blueprint::class_of;
use crate::judge::topology::pending::PENDING_HOOKS;
use crate::judge::topology::values::list;
use crate::judge::topology::variables;
use crate::kinds::Role;
use crate::kinds::contract::{CORE, TOPOLOGY_OWNED};
use crate::kinds::fields::{AUTOSCALER, annotation, label, number, target, text};
use crate::kinds::labels;
use crate::kinds::webhook::Refusal;
use crate::model::RuleId;
use crate::object::{Key, Path};
use crate::providers::core::changes::{UPGRADE_PLANS, UPGRADES_WAIT, V1BETA2};
use crate::providers::core::checks::is_described;
use crate::providers::core::class::kept_kinds;
use crate::providers::core::in_hub;
use crate::providers::kind;
use crate::tree::Value;

/// How each refusal begins.
pub(super) const REFUSES: &str = "the webhook refuses it: ";
/// Where a Cluster says its version, and a class those that it allows.
const VERSION: &str = "/spec/topology/version";
const VERSIONS: &str = "/spec/kubernetesVersions";
/// What refuses the version of a Cluster.
const OF_VERSION: RuleId = RuleId::of("cluster/version-refused");

/// What the webhooks refuse about an update of a Cluster or a class because of other objects and of its own versions.
#[must_use]
pub(crate) fn refusals(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    if kind(key).role == Role::Cluster {
        if let Some(class) = class_when_written(stage, key, new) {
            of_class(stage, new, &class, &mut out);
            rebased(stage, key, (old, new), &class, &mut out);
        }
        if class_of(key, old).is_some() {
            missing_class(stage, key, new, &mut out);
            version(stage, key, old, new, &mut out);
        }
        return out;
    }
    for lists in ["machineDeployments", "machinePools"] {
        workers_in_use(stage, key, old, new, lists, &mut out);
    }
    beside_its_clusters(stage, key, old, new, &mut out);
    if list(old, VERSIONS).ne(list(new, VERSIONS)) {
        versions_of_class(stage, key, new, &mut out);
    }
    out
}

/// What a Cluster with a class must be like because of that. Variables are looked at only where the class's controller has seen it.
fn of_class(stage: &Stage<'_>, new: &Value, class: &Value, out: &mut Vec<Refusal>) {
    for lists in ["machineDeployments", "machinePools"] {
        workers_without(class, new, lists, out);
    }
    if is_seen(class) {
        variables::refusals(new, class, out);
    }
    beside_its_class(stage, new, class, out);
    unlisted(stage, class, text(new, VERSION).unwrap_or_default(), out);
}

/// A Cluster takes another class only where both make the same kinds of objects (`ClusterClassesAreCompatible`), and leaves one that is
/// there.
fn rebased(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value), class: &Value, out: &mut Vec<Refusal>) {
    const AT: &str = "/spec/topology/classRef";
    let (Some(was), Some(is)) = (class_of(key, old), class_of(key, new)) else { return };
    if was == is {
        return;
    }
    let Some(left) = stage.written_before(&was) else {
        if stage.is_absent(&was) {
            let message = format!("the class {} that it leaves is not there to be compared", was.name);
            refuse(out, RuleId::of("class/rejected"), AT, message);
        }
        return;
    };
    let [left, class] = [&*left, class].map(|side| in_hub(Role::Class, side, &stage.versions));
    let mut kinds = Vec::new();
    kept_kinds(&left, &class, &stage.versions, &Path::root().key("spec"), &mut kinds);
    if let Some(first) = kinds.first() {
        let message = format!("the class {} makes another kind of object than {}: {}", is.name, was.name, first.path);
        refuse(out, RuleId::of("class/rejected"), AT, message);
    }
}

/// What a webhook may refuse about a new Cluster, and nobody computes: variables under rules in CEL.
#[must_use]
pub(crate) fn doubts_of_new(stage: &Stage<'_>, key: &Key, new: &Value) -> Vec<Refusal> {
    let class = class_when_written(stage, key, new).filter(|class| is_seen(class));
    let name = class.and_then(|class| variables::uncomputed(&Value::Null, new, &class));
    let doubt = |name: String| Refusal {
        rule: RuleId::of("topology/variable-rule"),
        path: ["spec", "topology", "variables"].into_iter().fold(Path::root(), |path, key| path.key(key)),
        message: format!("the class checks the variable {name} with a rule in CEL, which is not computed"),
    };
    name.map(doubt).into_iter().collect()
}

/// What the webhooks refuse about a new Cluster or class because of other objects. A Cluster whose class is not there yet, or was
/// not looked at by its controller, is let through with a warning.
#[must_use]
pub(crate) fn refusals_of_new(stage: &Stage<'_>, key: &Key, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    if kind(key).role == Role::Class {
        versions_of_class(stage, key, new, &mut out);
    } else if class_of(key, new).is_some() {
        let version = text(new, VERSION).unwrap_or_default();
        if parse(version).is_none() {
            refuse(&mut out, OF_VERSION, VERSION, format!("{version:?} is not a semantic version"));
        }
        if let Some(class) = class_when_written(stage, key, new) {
            of_class(stage, new, &class, &mut out);
        }
    }
    out
}

/// Versions of a class are ordered and leave out no minor, and the version of each of its clusters is among them
/// (`validateKubernetesVersions`, `validateKubernetesVersionsOfClusters`).
fn versions_of_class(stage: &Stage<'_>, key: &Key, new: &Value, out: &mut Vec<Refusal>) {
    let mut refuse = |message: String| refuse(out, RuleId::of("class/rejected"), VERSIONS, message);
    let told: Vec<&str> = list(new, VERSIONS).filter_map(Value::as_str).collect();
    if told.is_empty() || !stage.versions.has(&UPGRADE_PLANS) {
        return;
    }
    let mut last: Option<Version> = None;
    for text in &told {
        let Some(version) = parse(text) else {
            refuse(format!("{text:?} is not a semantic version"));
            continue;
        };
        if let Some(last) = last {
            if version <= last {
                refuse(format!("{text} does not come after v{last}"));
            }
            if version.minor != last.minor && version.minor != last.minor + 1 {
                refuse(format!("between v{last} and {text} a minor version is missing"));
            }
        }
        last = Some(version);
    }
    for cluster in stage.clusters_of_class(key) {
        let value = cluster_when_written(stage, &cluster, key);
        let used = value.as_ref().and_then(|cluster| text(cluster, VERSION));
        if let Some(used) = used.filter(|used| !told.contains(used)) {
            refuse(format!("the version {used} of the cluster {} is not among them", cluster.name));
        }
    }
}

/// The clusters that keep a class from being deleted: those that have it and stay, and those that are only now deleted.
#[must_use]
pub(crate) fn users_of_deleted(stage: &Stage<'_>, class: &Key) -> Vec<String> {
    let mut out: Vec<String> = stage.clusters_of_class(class).into_iter().map(|cluster| cluster.name).collect();
    let leaving =
        stage.pairs.iter().filter(|pair| kind(&pair.key).role == Role::Cluster && pair.action == Action::Delete);
    for pair in leaving {
        let had = stage.before(&pair.key).and_then(|cluster| class_of(&pair.key, &cluster));
        if had.is_some_and(|had| had.name == class.name && (had.namespace == class.namespace)) {
            out.push(pair.key.name.clone());
        }
    }
    out
}

/// The class of a Cluster as it stands when the Cluster is written; `None` where it is not there.
fn class_when_written<'s>(stage: &Stage<'s>, key: &Key, new: &Value) -> Option<Cow<'s, Value>> {
    let class = class_of(key, new)?;
    if comes_first(stage, &class, key) { stage.written_after(&class) } else { stage.written_before(&class) }
}

/// A Cluster as it stands when its class is written.
fn cluster_when_written(stage: &Stage<'_>, cluster: &Key, class: &Key) -> Option<Arc<Value>> {
    if comes_first(stage, cluster, class) { stage.after(cluster) } else { stage.before(cluster) }
}

/// Whether the host has written one object when it comes to another one: Helm takes kinds that it does not know by the alphabet, others
/// take them in the order of the stream.
fn comes_first(stage: &Stage<'_>, one: &Key, other: &Key) -> bool {
    let line = |key: &Key| stage.pair(key).map(|pair| pair.line).filter(|line| *line > 0);
    if is_by_alphabet(stage) { one.kind < other.kind } else { line(one).zip(line(other)).is_none_or(|(a, b)| a < b) }
}

/// Whether the host writes by kinds.
fn is_by_alphabet(stage: &Stage<'_>) -> bool {
    matches!(stage.scene.world.host.kind, None | Some(HostKind::Helm3 | HostKind::Helm4 | HostKind::Flux))
}

/// Whether the controller of a class has seen it as it is.
fn is_seen(class: &Value) -> bool {
    let seen = number(class, "/metadata/generation").zip(number(class, "/status/observedGeneration"));
    seen.is_none_or(|(generation, seen)| generation == seen)
}

/// A refusal at a place that is written with slashes.
pub(super) fn refuse(out: &mut Vec<Refusal>, rule: RuleId, at: &str, message: String) {
    let path = at.trim_start_matches('/').split('/').fold(Path::root(), |path, key| path.key(key));
    out.push(Refusal { rule, path, message: format!("{REFUSES}{message}") });
}

/// Whether a class has workers of a class of their own.
fn has(class: &Value, lists: &str, name: &str) -> bool {
    list(class, &format!("/spec/workers/{lists}")).any(|own| text(own, "/class") == Some(name))
}

/// A group of workers of a class that is not there.
fn workers_without(class: &Value, new: &Value, lists: &str, out: &mut Vec<Refusal>) {
    let in_cluster = format!("/spec/topology/workers/{lists}");
    for group in list(new, &in_cluster) {
        let own = text(group, "/class").unwrap_or_default();
        if !has(class, lists, own) {
            let message = format!("the class of the cluster has no workers of the class {own}");
            refuse(out, RuleId::of("class/rejected"), &in_cluster, message);
        }
    }
}

/// A class of workers that goes while a cluster uses it.
fn workers_in_use(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, lists: &str, out: &mut Vec<Refusal>) {
    let in_class = format!("/spec/workers/{lists}");
    let in_cluster = format!("/spec/topology/workers/{lists}");
    let names = list(old, &in_class).filter_map(|own| text(own, "/class"));
    for gone in names.filter(|own| !has(new, lists, own)) {
        for cluster in stage.clusters_of_class(key) {
            let used = cluster_when_written(stage, &cluster, key)
                .is_some_and(|cluster| list(&cluster, &in_cluster).any(|group| text(group, "/class") == Some(gone)));
            if used {
                let message = format!("the class of workers {gone} goes while the cluster {} uses it", cluster.name);
                refuse(out, RuleId::of("class/rejected"), &in_class, message);
            }
        }
    }
}

/// Where numbers of Machines and health checks of workers stand in a topology and in a class.
const OF_WORKERS: &str = "/spec/topology/workers/machineDeployments";
const IN_CLASS: &str = "/spec/workers/machineDeployments";

/// What a Cluster says of health checks and numbers beside what its class says.
fn beside_its_class(stage: &Stage<'_>, new: &Value, class: &Value, out: &mut Vec<Refusal>) {
    let new = in_hub(Role::Cluster, new, &stage.versions);
    let class = in_hub(Role::Class, class, &stage.versions);
    health_checks(&new, &class, out);
    if counted_by_both(&new, &class) {
        let message = "the class lets an autoscaler count the Machines of a group whose replicas are set".to_owned();
        refuse(out, RuleId::of("class/rejected"), OF_WORKERS, message);
    }
}

/// What a class takes away that one of its clusters needs, and what it says beside the numbers of its clusters
/// (`validateUpdatesToMachineHealthCheckClasses`, `validateAutoscalerAnnotationsForClusterClass`).
fn beside_its_clusters(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, out: &mut Vec<Refusal>) {
    const RULE: RuleId = RuleId::of("class/rejected");
    let (old, new) = (in_hub(Role::Class, old, &stage.versions), in_hub(Role::Class, new, &stage.versions));
    let has = |side: &Value, at: &str| is_described(side.pointer(at).and_then(|holder| holder.get("healthCheck")));
    let of_class = |side: &Value, name: Option<&str>| {
        list(side, IN_CLASS).find(|own| text(own, "/class") == name).map(|own| is_described(own.get("healthCheck")))
    };
    let lost_by_plane = has(&old, "/spec/controlPlane") && !has(&new, "/spec/controlPlane");
    for user in stage.clusters_of_class(key) {
        let Some(cluster) = cluster_when_written(stage, &user, key) else { continue };
        let cluster = in_hub(Role::Cluster, &cluster, &stage.versions);
        let needs = |group: &Value| {
            group.pointer("/healthCheck/enabled") == Some(&Value::Bool(true)) && !is_described(group.get("healthCheck"))
        };
        let name = &user.name;
        if lost_by_plane && cluster.pointer("/spec/topology/controlPlane").is_some_and(needs) {
            let message = format!("the health check goes while the cluster {name} has it turned on");
            refuse(out, RULE, "/spec/controlPlane/healthCheck", message);
        }
        let lost = list(&cluster, OF_WORKERS).filter(|group| needs(group)).find(|group| {
            let class = text(group, "/class");
            of_class(&old, class) == Some(true) && of_class(&new, class) == Some(false)
        });
        if let Some(group) = lost {
            let class = text(group, "/class").unwrap_or_default();
            let message =
                format!("the health check of the workers {class} goes while the cluster {name} has it turned on");
            refuse(out, RULE, IN_CLASS, message);
        }
        if counted_by_both(&cluster, &new) {
            let message = format!("an autoscaler is to count Machines whose number the cluster {name} sets");
            refuse(out, RULE, IN_CLASS, message);
        }
    }
}

/// Whether a group has a number of its own and a class that lets an autoscaler count (`validateAutoscalerAnnotationsForCluster`).
fn counted_by_both(cluster: &Value, class: &Value) -> bool {
    list(cluster, OF_WORKERS).filter(|group| group.get("replicas").is_some_and(|count| !count.is_null())).any(|group| {
        let own = list(class, IN_CLASS).find(|own| text(own, "/class") == text(group, "/class"));
        own.is_some_and(|own| AUTOSCALER.iter().any(|name| annotation(own, name).is_some()))
    })
}

/// A health check that is turned on must be described by the topology or its class, and one of a control plane needs Machines that the
/// class makes (`validateMachineHealthChecks`).
fn health_checks(new: &Value, class: &Value, out: &mut Vec<Refusal>) {
    const RULE: RuleId = RuleId::of("class/rejected");
    const OF_PLANE: &str = "/spec/topology/controlPlane/healthCheck";
    let of = |holder: &Value| holder.pointer("/healthCheck").cloned().unwrap_or_default();
    let lacks = |own: &Value, of_class: &Value| {
        own.get("enabled") == Some(&Value::Bool(true)) && !is_described(Some(own)) && !is_described(Some(of_class))
    };
    let plane = |side: &Value, at: &str| side.pointer(at).map(of).unwrap_or_default();
    let own = plane(new, "/spec/topology/controlPlane");
    let makes_machines = class.pointer("/spec/controlPlane/machineInfrastructure").is_some_and(Value::is_object);
    if is_described(Some(&own)) && !makes_machines {
        refuse(out, RULE, OF_PLANE, "the class has no machineInfrastructure for its control plane".to_owned());
    }
    let nobody = || "the health check is enabled, and neither the topology nor the class describes it".to_owned();
    if lacks(&own, &plane(class, "/spec/controlPlane")) {
        refuse(out, RULE, OF_PLANE, nobody());
    }

    for group in list(new, OF_WORKERS) {
        let class = list(class, IN_CLASS).find(|item| text(item, "/class") == text(group, "/class"));
        if class.is_some_and(|class| lacks(&of(group), &of(class))) {
            refuse(out, RULE, OF_WORKERS, nobody());
        }
    }
}

/// The class must be there when the Cluster is written. Helm writes kinds that it does not know by the alphabet, so a class
/// that comes in the same release comes after the Cluster that is to use it.
fn missing_class(stage: &Stage<'_>, key: &Key, new: &Value, out: &mut Vec<Refusal>) {
    let Some(class) = class_of(key, new) else { return };
    if stage.is_live(&class) {
        return;
    }
    let name = &class.name;
    if stage.written_after(&class).is_some() {
        if is_by_alphabet(stage) {
            let message = format!(
                "the class {name} is new in this release, and Helm writes the Cluster before it; install the class one release earlier"
            );
            refuse(out, RuleId::of("cluster/class-missing"), "/spec/topology/classRef", message);
        }
    } else if stage.is_absent(&class) {
        refuse(
            out,
            RuleId::of("cluster/class-missing"),
            "/spec/topology/classRef",
            format!("there is no class {name}"),
        );
    }
}

/// Versions of a topology go up, one minor at a time, to one that the class allows, and not while another change of version
/// is under way.
fn version(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, out: &mut Vec<Refusal>) {
    const AT: &str = VERSION;
    const RULE: RuleId = OF_VERSION;
    let (Some(before), Some(after)) = (text(old, AT), text(new, AT)) else { return };
    if before == after {
        return;
    }
    let versions = &stage.versions;
    let class = class_when_written(stage, key, new).unwrap_or_default();
    let has_list = lists_versions(stage, &class);
    let (Some(from), Some(to)) = (parse(before), parse(after)) else {
        refuse(out, RULE, AT, format!("{after:?} is not a semantic version"));
        return;
    };
    if annotation(new, "unsafe.topology.cluster.x-k8s.io/disable-update-version-check").is_some() {
        return;
    }
    // Since 1.11 a pre-release counts as its release; up to 1.10 the build counts as well.
    let seen = |version: &Version| match versions.has(&V1BETA2) {
        true => Version { pre: Prerelease::EMPTY, build: BuildMetadata::EMPTY, ..version.clone() },
        false => version.clone(),
    };
    if seen(&to) < seen(&from) {
        refuse(out, RULE, AT, format!("the version cannot go down from {before} to {after}"));
        return;
    }
    let planned = text(&class, "/spec/upgrade/external/generateUpgradePlanExtension").is_some();
    let ceiling = Version::new(from.major, from.minor + 2, 0);
    if !(versions.has(&UPGRADE_PLANS) && (has_list || planned)) && seen(&to) >= ceiling {
        refuse(out, RULE, AT, format!("the version cannot go up by more than one minor, from {before} to {after}"));
        return;
    }
    let hooks = annotation(new, PENDING_HOOKS).unwrap_or_default();
    if versions.has(&UPGRADE_PLANS) && hooks.split(',').any(|hook| hook == "AfterClusterUpgrade") {
        refuse(out, RULE, AT, "a hook of the last upgrade is still to be answered".to_owned());
        return;
    }
    // Up to 1.8 only another minor had to wait.
    if (versions.has(&UPGRADES_WAIT) || to >= Version::new(from.major, from.minor + 1, 0))
        && let Some(who) = unfinished(stage, key, old, &from)
    {
        refuse(out, RULE, AT, format!("{who} has not arrived at {before} yet"));
    }
}

/// Whether a class lists the versions that its clusters may have.
fn lists_versions(stage: &Stage<'_>, class: &Value) -> bool {
    stage.versions.has(&UPGRADE_PLANS) && list(class, VERSIONS).next().is_some()
}

/// Refuses a version that its class does not list.
fn unlisted(stage: &Stage<'_>, class: &Value, version: &str, out: &mut Vec<Refusal>) {
    let is_listed = list(class, VERSIONS).any(|allowed| allowed.as_str() == Some(version));
    if lists_versions(stage, class) && !is_listed {
        refuse(out, OF_VERSION, VERSION, format!("the class of the cluster does not list the version {version}"));
    }
}

/// What of a cluster still has another version than its topology had before the write, as far as it was read
/// (`validateTopologyControlPlaneVersion`, `validateTopologyMachineDeploymentVersions`).
fn unfinished(stage: &Stage<'_>, key: &Key, old: &Value, version: &Version) -> Option<String> {
    let differs = |told: Option<&str>| told.and_then(parse).is_some_and(|told| told != *version);
    let plane = old.pointer("/spec/controlPlaneRef").and_then(|reference| target(reference, key.namespace.as_deref()));
    // A Cluster that was rendered and not read has no reference yet.
    if plane.is_none() && old.pointer("/metadata/uid").is_some() {
        return Some("its control plane, which is not made yet,".to_owned());
    }
    if let Some((object, key)) = plane.and_then(|key| Some((stage.before(&key)?, key)))
        && (differs(text(&object, "/spec/version")) || is_behind(&object, version))
    {
        return Some(key.to_string());
    }
    stage.owners_of(key).into_iter().find_map(|owner| {
        let object = stage.before(owner).filter(|_| owner.group == CORE)?;
        label(&object, TOPOLOGY_OWNED)?;
        let is_done = !differs(text(&object, "/spec/template/spec/version"));
        (!is_done || is_rolling(stage, key, &object)).then(|| owner.to_string())
    })
}

/// Whether a control plane is still made, or runs an older version somewhere (`internal/contract/controlplane.go` IsProvisioning,
/// IsUpgrading). One that was read without its status says nothing.
fn is_behind(plane: &Value, version: &Version) -> bool {
    let Some(status) = plane.get("status").filter(|status| status.is_object()) else { return false };
    let listed = list(status, "/versions").filter_map(|one| text(one, "/version"));
    let mut runs = listed.chain(text(status, "/version")).peekable();
    runs.peek().is_none() || runs.any(|runs| parse(runs).is_some_and(|runs| runs < *version))
}

/// Whether a Machine of a MachineDeployment has another version than that says, or its Node does
/// (`internal/topology/check/upgrade.go` IsMachineDeploymentUpgrading).
fn is_rolling(stage: &Stage<'_>, cluster: &Key, deployment: &Value) -> bool {
    let wanted = text(deployment, "/spec/template/spec/version");
    let selector = deployment.pointer("/spec/selector").unwrap_or(&Value::Null);
    let differs = |told: Option<&str>| told.zip(wanted).is_some_and(|(told, wanted)| told != wanted);
    let mut machines = stage.scene.view.machines_of_cluster(&cluster.name, cluster.namespace.as_deref());
    machines.any(|object| {
        let Ok(machine) = object.value() else { return false };
        let is_own = labels::selects(selector, |name| label(&machine, name)) == Some(true);
        is_own
            && (differs(text(&machine, "/spec/version")) || differs(text(&machine, "/status/nodeInfo/kubeletVersion")))
    })
}

/// A version as Go's tolerant reader reads it.
fn parse(text: &str) -> Option<Version> {
    Version::parse(text.trim().trim_start_matches('v')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_with_their_build() {
        let version = |text: &str| parse(text).expect("a version");
        assert!(version("v1.30.1+rke2r1") < version("v1.30.1+rke2r2"));
        assert!(version("v1.30.0-rc.1") < version("v1.30.0"));
        assert!(parse("latest").is_none());
    }
}
