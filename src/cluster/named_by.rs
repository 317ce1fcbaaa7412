//! Objects that a policy or the host names: sources of late values, pins, approvals, the history of a budget, the Application.

use super::needs::PlannedFrom;
use super::plan::{GroupKind, ObjectRead, ReadPlan, Use};
use crate::host::HostKind;
use crate::kinds::contract::CONFIG_MAP;
use crate::object::ApiVersion;
use crate::policy::{HistoryPlace, Policy};

/// Asks for all of them.
pub(super) fn policy_and_host(asked: &PlannedFrom<'_>, home: Option<&str>, plan: &mut ReadPlan) {
    late_sources(asked, home, plan);
    pins(asked.policy, home, plan);
    approvals(asked.policy, home, plan);
    history(asked.policy, home, plan);
    application(asked, plan);
}

/// Asks for the objects that needed late values come from.
fn late_sources(asked: &PlannedFrom<'_>, home: Option<&str>, plan: &mut ReadPlan) {
    let names = asked.policy.with_origins(asked.late);
    for value in asked.policy.late_values.iter().filter(|value| names.contains(&value.name)) {
        for (place, source) in value.from.iter().enumerate() {
            let Some(object) = &source.object else { continue };
            let api = ApiVersion::parse(&object.api_version);
            plan.objects.push(ObjectRead {
                kind: GroupKind::new(api.group, &object.kind),
                version: Some(api.version.to_owned()),
                namespace: object.namespace.clone().or_else(|| home.map(str::to_owned)),
                name: object.name.clone(),
                used: Use::Late(value.name.clone(), place, object.selector.clone()),
            });
        }
    }
}

/// Asks for the object with the pins.
fn pins(policy: &Policy, home: Option<&str>, plan: &mut ReadPlan) {
    if let Some((kind, name)) = policy.pins.in_cluster() {
        plan.objects.push(ObjectRead {
            kind: GroupKind::new("", crate::pin::cluster::word(kind)),
            version: Some("v1".to_owned()),
            namespace: home.map(str::to_owned),
            name: name.to_owned(),
            used: Use::Pins,
        });
    }
}

/// Asks for the objects with approvals.
fn approvals(policy: &Policy, home: Option<&str>, plan: &mut ReadPlan) {
    for (place, from) in policy.approvals.from.iter().enumerate() {
        let Some(name) = from.config_map() else { continue };
        plan.objects.push(ObjectRead {
            kind: GroupKind::new("", CONFIG_MAP),
            version: Some("v1".to_owned()),
            namespace: home.map(str::to_owned),
            name: name.to_owned(),
            used: Use::Approvals(place),
        });
    }
}

/// Asks for the object with the history.
fn history(policy: &Policy, home: Option<&str>, plan: &mut ReadPlan) {
    let Some((told, name)) = policy.gates.budget.history.as_ref().and_then(HistoryPlace::config_map) else { return };
    plan.objects.push(ObjectRead {
        kind: GroupKind::new("", CONFIG_MAP),
        version: Some("v1".to_owned()),
        namespace: told.or(home).map(str::to_owned),
        name: name.to_owned(),
        used: Use::History,
    });
}

/// Where Applications of Argo CD are, unless something else is told.
const ARGOCD: &str = "argocd";

/// Asks for the Application that writes: its sync options say how, its `ignoreDifferences` what stays as it is.
fn application(asked: &PlannedFrom<'_>, plan: &mut ReadPlan) {
    let host = &asked.host.host;
    let (Some(HostKind::Argocd), Some(name), false) = (host.kind, &host.release, plan.kinds.is_empty()) else { return };
    plan.objects.push(ObjectRead {
        kind: GroupKind::new("argoproj.io", "Application"),
        version: None,
        namespace: Some(asked.storage_namespace.unwrap_or(ARGOCD).to_owned()),
        name: name.clone(),
        used: Use::Application,
    });
}
