//! References to templates, identities and Secrets that nobody has: neither the release, nor what was read. The controller that follows one stops
//! with an error, or makes no Machine any more, and no webhook says so.

use std::collections::BTreeSet;

use crate::compare::{Action, Pair};
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::contract::{INFRASTRUCTURE, SECRET, is_infrastructure};
use crate::kinds::references::{Reference, named, references};
use crate::model::Finding;
use crate::object::Key;
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
        if is_new && !target.group.is_empty() && stage.written_after(&target).is_none() {
            let message = format!(
                "{} refers to {target} at {}, which is neither in this release nor among what was read: without it no Machine can be made",
                pair.key, reference.path
            );
            out.push(Finding::new("dangling-reference", pair.key.clone(), message).at(&reference.path));
        }
    }
    out.extend(of_infrastructure(stage, pair, predicted));
    out
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

/// Whether Machines are made of what a reference means: a template, or the config and the infrastructure of a pool (cluster-api
/// `core/reconcilers/machinepool/machinepool_controller_phases.go` reconcileExternal, v1.14).
fn is_made_of(owner: Role, reference: &Reference) -> bool {
    let role = kind_of(reference.group.as_deref().unwrap_or_default(), &reference.kind).role;
    role == Role::Template || owner == Role::Pool && matches!(role, Role::Config | Role::InfraPool)
}
