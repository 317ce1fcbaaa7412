//! Versions: which one a Cluster may take next, and what a class may list. Read beside `validateTopologyVersionUpdate`,
//! `validateTopologyControlPlaneVersion`, `validateTopologyMachineDeploymentVersions` (`core/webhooks/admission/cluster.go`) and
//! `validateKubernetesVersions` (`clusterclass.go`) of Cluster API 1.14.

use semver::{BuildMetadata, Prerelease, Version};

use super::order::{class_when_written, cluster_when_written};
use super::refuse;
use crate::judge::stage::Stage;
use crate::judge::topology::pending::PENDING_HOOKS;
use crate::judge::topology::values::list;
use crate::kinds::contract::{CORE, TOPOLOGY_OWNED};
use crate::kinds::fields::{annotation, label, target, text};
use crate::kinds::labels;
use crate::kinds::webhook::Refusal;
use crate::model::RuleId;
use crate::object::Key;
use crate::providers::core::changes::{UPGRADE_PLANS, UPGRADES_WAIT, V1BETA2};
use crate::tree::Value;

/// Where a Cluster says its version, and a class those that it allows.
pub(in crate::judge::topology) const VERSION: &str = "/spec/topology/version";
pub(in crate::judge::topology) const VERSIONS: &str = "/spec/kubernetesVersions";
/// What refuses the version of a Cluster.
pub(super) const OF_VERSION: RuleId = RuleId::of("cluster/version-refused");

/// Versions of a class are ordered and leave out no minor, and the version of each of its clusters is among them
/// (`validateKubernetesVersions`, `validateKubernetesVersionsOfClusters`).
pub(super) fn versions_of_class(stage: &Stage<'_>, key: &Key, new: &Value, out: &mut Vec<Refusal>) {
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

/// Versions of a topology go up, one minor at a time, to one that the class allows, and not while another change of version
/// is under way.
pub(super) fn version(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, out: &mut Vec<Refusal>) {
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
pub(super) fn unlisted(stage: &Stage<'_>, class: &Value, version: &str, out: &mut Vec<Refusal>) {
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
pub(in crate::judge::topology) fn parse(text: &str) -> Option<Version> {
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
