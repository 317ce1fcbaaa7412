//! Mirror of what the webhooks of Cluster and ClusterClass refuse because of other objects and of versions.
//! Read beside `core/webhooks/admission/{cluster,clusterclass}.go` of Cluster API 1.14 (`validateTopology`,
//! `validateTopologyVersionUpdate`, `ValidateDelete`) and `internal/webhooks/cluster.go` of 1.6 to 1.13.

mod order;
mod versions;

use self::order::{class_when_written, cluster_when_written, is_by_alphabet};
use self::versions::{OF_VERSION, unlisted, version, versions_of_class};
pub(super) use self::versions::{VERSION, VERSIONS, parse};
use crate::compare::Action;
use crate::judge::stage::Stage;
use crate::judge::topology::blueprint::class_of;
use crate::judge::topology::values::list;
use crate::judge::topology::variables;
use crate::kinds::Role;
use crate::kinds::fields::{AUTOSCALER, annotation, number, text};
use crate::kinds::webhook::Refusal;
use crate::model::RuleId;
use crate::object::{Key, Path};
use crate::providers::core::changes::ONE_COUNTS;
use crate::providers::core::checks::is_described;
use crate::providers::core::class::kept_kinds;
use crate::providers::core::in_hub;
use crate::providers::kind;
use crate::tree::Value;

/// How each refusal begins.
pub(super) const REFUSES: &str = "the webhook refuses it: ";
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

/// The clusters that keep a class from being deleted: those that have it and stay, and those that are only now deleted.
#[must_use]
pub(crate) fn users_of_deleted(stage: &Stage<'_>, class: &Key) -> Vec<String> {
    let mut out: Vec<String> = stage.clusters_of_class(class).into_iter().map(|cluster| cluster.name.clone()).collect();
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
    if stage.versions.has(&ONE_COUNTS) && counted_by_both(&new, &class) {
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
        if stage.versions.has(&ONE_COUNTS) && counted_by_both(&cluster, &new) {
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
