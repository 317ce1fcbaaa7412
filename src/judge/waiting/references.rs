//! Objects that an owner of Machines names and that are not there: templates, bootstrap configs, Secrets, ConfigMaps.
//! Read beside `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/helpers.go` (reconcileExternalReference),
//! `core/reconcilers/machinedeployment/machinedeployment_{controller,rollout_planner}.go` (getTemplatesAndSetOwner, init) and
//! `bootstrap/kubeadm/internal/controllers/kubeadmconfig_controller.go` (resolveFiles) of Cluster API 1.14.

use super::side::Side;
use crate::kinds::contract::BOOTSTRAP;
use crate::kinds::contract::CONFIG_MAP;
use crate::kinds::contract::SECRET;
use crate::kinds::fields::target;
use crate::kinds::{Typed, references};
use crate::model::{Hold, Why};
use crate::object::Key;
use crate::tree::{Map, Value};

/// Where the superset form of an owner names its templates.
const TEMPLATES: [&str; 4] = [
    "/spec/machineTemplate/spec/infrastructureRef",
    "/spec/machineTemplate/infrastructureRef",
    "/spec/template/spec/infrastructureRef",
    "/spec/template/spec/bootstrap/configRef",
];

/// What an owner names and does not find.
pub(super) fn missing(side: Side<'_>, key: &Typed<'_>, owner: &Value) -> Vec<Hold> {
    let (namespace, is_workers) = (key.namespace.as_deref(), key.known.role.is_workers());
    let templates: Vec<Key> = TEMPLATES.iter().filter_map(|place| target(owner.pointer(place)?, namespace)).collect();
    let why = if is_workers { Why::NothingToMakeOf } else { Why::Stopped };
    let mut out: Vec<Hold> =
        templates.iter().filter(|template| side.is_missing(template)).map(|template| hold(why, template)).collect();
    // Data that a new Machine boots with: of a control plane it stands in its own spec, of workers in the bootstrap template.
    let named = templates.iter().find(|template| is_workers && template.group == BOOTSTRAP);
    let named = named.filter(|config| side.may(config, references::may_name_data)).and_then(|config| side.get(config));
    let config = if is_workers { named.as_deref() } else { Some(owner) };
    if let Some(spec) = config.and_then(|config| config.get("spec")) {
        out.extend(
            data(side, spec, namespace)
                .iter()
                .filter(|data| side.is_missing(data))
                .map(|data| hold(Why::NothingToMakeOf, data)),
        );
    }
    out
}

/// The Secrets and ConfigMaps that a spec names.
fn data(side: Side<'_>, spec: &Value, namespace: Option<&str>) -> Vec<Key> {
    let mut out = Vec::new();
    let of = |kind: &str, at: Option<&str>, name: &str| Key::of("", kind, at.or(namespace).map(str::to_owned), name);
    // Of two sides of an owner most parts are the same.
    references::named_here(spec, &mut |named| {
        if matches!(named.kind, SECRET | CONFIG_MAP) {
            out.push(of(named.kind, named.namespace, named.name));
        }
    });
    for part in spec.as_object().into_iter().flat_map(Map::values) {
        let named = side.stage.named(part);
        out.extend(named.iter().map(|(kind, at, name)| of(kind, at.as_deref(), name)));
    }
    out.sort();
    out.dedup();
    out
}

/// The hold of one object that is not there.
pub(super) fn hold(why: Why, missing: &Key) -> Hold {
    Hold {
        why,
        places: vec![(missing.clone(), None)],
        says: format!("{missing} is not there"),
        over: format!("{missing} is there"),
    }
}
