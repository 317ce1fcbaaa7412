//! Mirror of what the webhooks of Cluster and ClusterClass refuse because of other objects and of versions.
//! Read beside `core/webhooks/admission/{cluster,clusterclass}.go` of Cluster API 1.14 (`validateTopology`,
//! `validateTopologyVersionUpdate`, `ValidateDelete`) and `internal/webhooks/cluster.go` of 1.6 to 1.13.

use std::borrow::Cow;

use semver::{BuildMetadata, Prerelease, Version};

use crate::compare::Action;
use crate::host::HostKind;
use crate::judge::stage::Stage;
use crate::judge::topology::blueprint::class_of;
use crate::judge::topology::values::list;
use crate::judge::topology::variables;
use crate::kinds::Role;
use crate::kinds::contract::CORE;
use crate::kinds::fields::{AUTOSCALER, annotation, label, number, target, text};
use crate::kinds::webhook::Refusal;
use crate::model::RuleId;
use crate::object::{Key, Path};
use crate::providers::core::changes::{UPGRADE_PLANS, UPGRADES_WAIT, V1BETA2};
use crate::providers::core::checks::is_described;
use crate::providers::core::in_hub;
use crate::providers::kind;
use crate::tree::Value;

/// Where a Cluster says its version, and a class those that it allows.
const VERSION: &str = "/spec/topology/version";
const VERSIONS: &str = "/spec/kubernetesVersions";
/// What refuses the version of a Cluster.
const OF_VERSION: RuleId = RuleId::of("cluster/version-refused");

/// What the webhooks refuse about an update of a Cluster or a class because of other objects and of its own versions.
#[must_use]
pub(crate) fn refusals(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let is_cluster = kind(key).role == Role::Cluster;
    for lists in ["machineDeployments", "machinePools"] {
        if is_cluster {
            workers_of_no_class(stage, key, new, lists, &mut out);
        } else {
            workers_in_use(stage, key, old, new, lists, &mut out);
        }
    }
    if is_cluster && class_of(key, old).is_some() {
        missing_class(stage, key, new, &mut out);
        if let Some(class) = class_when_written(stage, key, new) {
            variables::refusals(new, &class, &mut out);
            beside_its_class(stage, new, &class, &mut out);
        }
        version(stage, key, old, new, &mut out);
    }
    if !is_cluster {
        beside_its_clusters(stage, key, old, new, &mut out);
    }
    if !is_cluster && list(old, VERSIONS).ne(list(new, VERSIONS)) {
        versions_of_class(stage, key, new, &mut out);
    }
    out
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
            for lists in ["machineDeployments", "machinePools"] {
                workers_without(&class, new, lists, &mut out);
            }
            variables::refusals(new, &class, &mut out);
            beside_its_class(stage, new, &class, &mut out);
            unlisted(stage, &class, version, &mut out);
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
        let value = stage.after(&cluster);
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

/// The class of a Cluster as it stands when the Cluster is written: Helm writes Clusters before classes, by the alphabet.
/// `None` where it is not there or its controller has not seen it yet, and the webhook looks at nothing.
fn class_when_written<'s>(stage: &Stage<'s>, key: &Key, new: &Value) -> Option<Cow<'s, Value>> {
    let class = class_of(key, new)?;
    let by_alphabet =
        matches!(stage.scene.world.host.kind, None | Some(HostKind::Helm3 | HostKind::Helm4 | HostKind::Flux));
    let found = if by_alphabet { stage.written_before(&class)? } else { stage.written_after(&class)? };
    let is_behind = number(&found, "/metadata/generation").zip(number(&found, "/status/observedGeneration"));
    is_behind.is_none_or(|(generation, seen)| generation == seen).then_some(found)
}

/// A refusal at a place that is written with slashes.
pub(super) fn refuse(out: &mut Vec<Refusal>, rule: RuleId, at: &str, message: String) {
    let path = at.trim_start_matches('/').split('/').fold(Path::root(), |path, key| path.key(key));
    out.push(Refusal { rule, path, message: format!("the webhook refuses it: {message}") });
}

/// Whether a class has workers of a class of their own.
fn has(class: &Value, lists: &str, name: &str) -> bool {
    list(class, &format!("/spec/workers/{lists}")).any(|own| text(own, "/class") == Some(name))
}

/// A group of workers of a class that is not there.
fn workers_of_no_class(stage: &Stage<'_>, key: &Key, new: &Value, lists: &str, out: &mut Vec<Refusal>) {
    if let Some(class) = class_of(key, new).and_then(|class| stage.written_after(&class)) {
        workers_without(&class, new, lists, out);
    }
}

/// The same where the class is known.
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
            let used = stage
                .after(&cluster)
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
        let Some(cluster) = stage.after(&user) else { continue };
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
    let by_alphabet =
        matches!(stage.scene.world.host.kind, None | Some(HostKind::Helm3 | HostKind::Helm4 | HostKind::Flux));
    let name = &class.name;
    if stage.written_after(&class).is_some() {
        if by_alphabet {
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
    let class = class_of(key, new).and_then(|class| stage.written_after(&class)).unwrap_or_default();
    let has_list = unlisted(stage, &class, after, out);
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
    let hooks = annotation(new, "runtime.cluster.x-k8s.io/pending-hooks").unwrap_or_default();
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

/// Refuses a version that its class does not list; says whether the class has such a list.
fn unlisted(stage: &Stage<'_>, class: &Value, version: &str, out: &mut Vec<Refusal>) -> bool {
    let mut allowed = list(class, VERSIONS).filter_map(Value::as_str).peekable();
    let has_list = stage.versions.has(&UPGRADE_PLANS) && allowed.peek().is_some();
    if has_list && !allowed.any(|allowed| allowed == version) {
        refuse(out, OF_VERSION, VERSION, format!("the class of the cluster does not list the version {version}"));
    }
    has_list
}

/// What of a cluster still has another version than its topology had before the write, as far as it was read.
fn unfinished(stage: &Stage<'_>, key: &Key, old: &Value, version: &Version) -> Option<String> {
    let differs = |told: Option<&str>| told.and_then(parse).is_some_and(|told| told != *version);
    let control_plane = old
        .pointer("/spec/controlPlaneRef")
        .and_then(|reference| target(reference, key.namespace.as_deref()))
        .and_then(|key| Some((stage.before(&key)?, key)));
    if let Some((object, key)) = control_plane {
        let (wanted, runs) = (text(&object, "/spec/version"), text(&object, "/status/version"));
        let is_behind = runs.and_then(parse).is_some_and(|runs| runs < *version);
        if differs(wanted) || is_behind {
            return Some(key.to_string());
        }
    }
    stage.owners_of(key).into_iter().find_map(|owner| {
        let object = stage.before(owner).filter(|_| owner.group == CORE)?;
        label(&object, "topology.cluster.x-k8s.io/owned")?;
        differs(text(&object, "/spec/template/spec/version")).then(|| owner.to_string())
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
