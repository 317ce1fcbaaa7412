//! References to templates, identities and Secrets that nobody has: neither the release, nor what was read. The controller that follows one stops
//! with an error, or makes no Machine any more, and no webhook says so.

use std::collections::BTreeSet;

use crate::compare::{Action, Pair};
use crate::judge::stage::Stage;
use crate::judge::topology;
use crate::kinds::Role;
use crate::kinds::contract::{INFRASTRUCTURE, SECRET, cluster, is_infrastructure};
use crate::kinds::fields::{class_named, cluster_name};
use crate::kinds::references::{Reference, named, references};
use crate::model::Finding;
use crate::object::{Key, Path};
use crate::parallel;
use crate::providers::{kind, kind_of};
use crate::tree::Value;
use crate::world::{Coverage, LiveKind};

/// A finding for each object to make Machines of that a written one refers to anew and that is not there.
#[must_use]
pub(crate) fn findings(stage: &Stage<'_>) -> Vec<Finding> {
    // With nothing to look at nothing can be missed.
    if stage.scene.world.source.kind == LiveKind::None {
        return Vec::new();
    }
    parallel::map(stage.pairs, |pair| of_pair(stage, pair)).into_iter().flatten().collect()
}

/// The findings about one object.
fn of_pair(stage: &Stage<'_>, pair: &Pair) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    let is_written = matches!(pair.action, Action::Create | Action::Update);
    let Some(predicted) = pair.predicted.as_ref().filter(|_| is_written) else { return out };
    let old = pair.live.as_ref().map(references).unwrap_or_default();
    let owner = kind(&pair.key).role;
    for reference in references(predicted).into_iter().filter(|reference| is_made_of(owner, reference)) {
        let is_new = !old.iter().any(|old| (&old.kind, &old.name) == (&reference.kind, &reference.name));
        let target = Key::of(
            reference.group.clone().unwrap_or_default(),
            &reference.kind,
            reference.namespace.clone().or_else(|| pair.key.namespace.clone()),
            &reference.name,
        );
        // Another release may hold what a Cluster is made of.
        let is_missing =
            if owner == Role::Cluster { is_missing(stage, &target) } else { stage.written_after(&target).is_none() };
        if is_new && is_missing && !target.group.is_empty() {
            let message = format!(
                "{} refers to {target} at {}, which is neither in this release nor among what was read: without it no Machine can be made",
                pair.key, reference.path
            );
            out.push(Finding::new("dangling-reference", pair.key.clone(), message).at(&reference.path));
        }
    }
    out.extend(homeless(stage, pair, predicted));
    out.extend(of_infrastructure(stage, pair, predicted));
    out
}

/// Whether an object is neither written nor among what was read, where somebody looked for it. An old render shows its own release alone.
fn is_missing(stage: &Stage<'_>, key: &Key) -> bool {
    let is_looked_for = match stage.scene.world.coverage {
        // Who dumps a cluster often leaves kinds out.
        Coverage::Whole => {
            let is_shown =
                stage.pairs_of_kind(&key.kind).next().is_some() || stage.scene.view.of_kind(&key.kind).next().is_some();
            is_shown && !stage.is_of_renders()
        }
        Coverage::Asked(_) => stage.is_absent(key),
    };
    is_looked_for && stage.written_after(key).is_none()
}

/// The findings about new owners of workers whose Cluster is not there, and about a new Cluster whose class, or a template of that, is not.
fn homeless(stage: &Stage<'_>, pair: &Pair, predicted: &Value) -> Vec<Finding> {
    if pair.action != Action::Create {
        return Vec::new();
    }
    let role = kind(&pair.key).role;
    let (homes, path, why) = if role == Role::Cluster {
        let Some(class_key) = class_named(&pair.key, predicted) else { return Vec::new() };
        let templates = stage.written_after(&class_key).map(|class| topology::templates(&class_key, &class));
        (templates.unwrap_or_else(|| vec![class_key]), ["spec", "topology"], "nothing of the cluster is made")
    } else if role.is_workers() {
        let Some(name) = cluster_name(predicted) else { return Vec::new() };
        (vec![cluster(pair.key.namespace.as_deref(), name)], ["spec", "clusterName"], "no Machine can be made")
    } else {
        return Vec::new();
    };
    let path = path.into_iter().fold(Path::root(), |path, key| path.key(key));
    let missing: BTreeSet<Key> = homes.into_iter().filter(|home| is_missing(stage, home)).collect();
    missing
        .into_iter()
        .map(|home| {
            let message = format!(
                "{} needs {home} ({path}), which is neither in this release nor among what was read: without it {why}",
                pair.key
            );
            Finding::new("dangling-reference", pair.key.clone(), message).at(&path)
        })
        .collect()
}

/// The findings about Secrets and identities that an object of infrastructure names anew and that are known not to be there: its provider
/// reads them at each reconcile, and stops with an error (cluster-api-provider-aws `pkg/cloud/scope/session.go` buildProvidersForRef, v2.13;
/// cluster-api-provider-openstack `pkg/scope/provider.go` getCloudFromSecret, v0.14).
fn of_infrastructure(stage: &Stage<'_>, pair: &Pair, predicted: &Value) -> Vec<Finding> {
    if !is_infrastructure(&pair.key.group) && kind(&pair.key).role != Role::Host {
        return Vec::new();
    }
    let names = |side: &Value| {
        let mut all: BTreeSet<Key> = BTreeSet::new();
        named(side, &mut |named| {
            let group = if named.kind == SECRET { "" } else { INFRASTRUCTURE };
            let known = kind_of(group, named.kind);
            if named.kind == SECRET || known.by_reference && known.role == Role::Other {
                let namespace = named.namespace.map(str::to_owned).or_else(|| pair.key.namespace.clone());
                all.insert(Key::of(group, named.kind, namespace, named.name));
            }
        });
        all
    };
    let old = pair.live.as_ref().map(names).unwrap_or_default();
    let is_missing = |key: &Key| {
        let is_looked_for = match stage.scene.world.coverage {
            // Who dumps a cluster often leaves Secrets out.
            Coverage::Whole => stage.scene.view.of_kind(&key.kind).next().is_some(),
            Coverage::Asked(_) => stage.is_absent(key),
        };
        is_looked_for && stage.written_after(key).is_none()
    };
    let anew = names(predicted).into_iter().filter(|key| !old.contains(key));
    let missing = anew.filter(|key| !stage.is_of_renders() && is_missing(key));
    missing
        .map(|key| {
            let message = format!(
                "{} refers to {key}, which is neither in this release nor among what was read: its controller stops with an error until it is there",
                pair.key
            );
            Finding::new("dangling-reference", pair.key.clone(), message)
        })
        .collect()
}

/// Whether Machines are made of what a reference means: a template, the config and the infrastructure of a pool (cluster-api
/// `core/reconcilers/machinepool/machinepool_controller_phases.go` reconcileExternal, v1.14), or the control plane and the infrastructure of
/// a Cluster, for which its controller waits (`core/reconcilers/cluster/cluster_controller_phases.go` reconcileExternal).
fn is_made_of(owner: Role, reference: &Reference) -> bool {
    let role = kind_of(reference.group.as_deref().unwrap_or_default(), &reference.kind).role;
    match owner {
        Role::Pool => matches!(role, Role::Template | Role::Config | Role::InfraPool),
        Role::Cluster => matches!(role, Role::Template | Role::ControlPlane | Role::InfraCluster),
        _ => role == Role::Template,
    }
}
