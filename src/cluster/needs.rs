//! From what is rendered to what must be read. Pure: a stream, a policy and a host go in, a read plan comes out.
//! What a kind needs stands in one table, so that a right in the least-rights role can be traced to its reason.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{GroupKind, KindRead, ObjectRead, ReadPlan, ReleaseRead, Scope, Use};
use super::{Owners, named_by};
use crate::host::{Detected, HostKind, ReleaseName, controllers, hook, inside, kinds};
pub(crate) use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE, CORE, INFRASTRUCTURE};
use crate::kinds::contract::{CLUSTER, MACHINE, MACHINE_DEPLOYMENT, MACHINE_HEALTH_CHECK, MACHINE_POOL, MACHINE_SET};
use crate::kinds::gates::Gate;
use crate::kinds::{Role, Versions, reads, references};
use crate::object::{ApiVersion, Inventory, Key, LoadError, Object};
use crate::policy::{GateAnswer, Policy};
use crate::providers::{PROVIDERS, gates, kind_of, lost_with_a_namespace};
use crate::world::Base;

/// Up to so many namespaces are read one by one; above that a cluster-wide list is the smaller read.
const NARROW: usize = 3;
/// Up to so many Secrets or ConfigMaps are read by name.
const BY_NAME: usize = 32;

/// What the plan is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedFrom<'a> {
    /// The rendered objects.
    pub rendered: &'a Inventory,
    /// The policy.
    pub policy: &'a Policy,
    /// Names of the late values that the stream needs; sources of others are not read.
    pub late: &'a BTreeSet<String>,
    /// The host and what came to light with it.
    pub host: &'a Detected,
    /// Whether the base is given as a file, so that no release record is needed.
    pub base_given: bool,
    /// Namespace where Flux keeps the record, or Argo CD the Application, where it was told.
    pub storage_namespace: Option<&'a str>,
}

/// Says what must be read.
///
/// # Errors
/// When a rendered CAPI object is not what Kubernetes reads.
pub(crate) fn needs(asked: &PlannedFrom<'_>) -> Result<ReadPlan, LoadError> {
    let mut plan = ReadPlan::default();
    let home = asked.host.host.namespace.as_deref();
    let mut namespaces = BTreeSet::new();
    kinds_of(asked.rendered, asked.policy, &mut plan);
    pruned(asked, &mut plan, &mut namespaces);
    for object in asked.rendered.objects().iter().filter(|object| kinds::is_compared(&object.key)) {
        match object.key.namespace.as_deref().or(home) {
            Some(namespace) => drop(namespaces.insert(namespace.to_owned())),
            None if kinds::is_cluster_wide(&object.key) => {}
            None => plan.homeless.push(object.key.clone()),
        }
    }
    let references = named_data(asked.rendered)?;
    referenced(asked.rendered, &references, home, &mut plan);
    named_by::policy_and_host(asked, home, &mut plan);
    plan.release = release(asked);
    kin(asked, home, &mut plan);
    plan.providers = !plan.kinds.is_empty();
    // Whether new workers are held back by their version is up to a gate.
    let workers =
        [MACHINE_DEPLOYMENT, MACHINE_SET].iter().any(|name| plan.kinds.contains_key(&GroupKind::new(CORE, name)));
    plan.gates = workers || asked.rendered.objects().iter().any(needs_gate);
    plan.scope = scope(namespaces, plan.kinds.values().any(|read| read.everywhere));
    Ok(plan)
}

/// Says what must be read to ask all owners of Machines in these namespaces, or everywhere, how they stand: no stream names them.
/// Where a list of everything is forbidden, that of the namespace of the context is read.
#[must_use]
pub(crate) fn of_owners(policy: &Policy, owners: &Owners<'_>, home: &str) -> ReadPlan {
    let mut plan = ReadPlan::default();
    let claimed = PROVIDERS.iter().flat_map(|provider| provider.kinds).filter(|kind| kind.mirror.is_some());
    for kind in claimed {
        plan.list(GroupKind::new(kind.group, kind.name), "owners of Machines").keep.managed_fields = true;
        for (group, name, reason) in kind.reads(kind.group) {
            plan.list(GroupKind::new(group, name), format!("{reason} {}", kind.name));
        }
    }
    // Who wrote what is asked of these, too.
    for name in [CLUSTER, MACHINE_DEPLOYMENT] {
        plan.list(GroupKind::new(CORE, name), "who wrote them").keep.managed_fields = true;
    }
    health(policy, &BTreeMap::new(), &mut plan);
    (plan.providers, plan.gates) = (true, true);
    // A new version counts whether there is something of its provider or not.
    plan.only_there = !owners.with_pools;
    if owners.with_pools {
        plan.list(GroupKind::new(CORE, MACHINE_POOL), "pools, which their providers roll");
        // A new version acts on all of them, so what of them may not be read is doubt.
        plan.kinds.values_mut().for_each(|read| read.everywhere = owners.namespace.is_none());
    }
    plan.scope = match owners.namespace {
        Some(namespace) => Scope::Only(BTreeSet::from([namespace.to_owned()])),
        None => Scope::Everywhere(BTreeSet::from([home.to_owned()])),
    };
    plan
}

/// Whether an object needs a feature gate that is off unless somebody turned it on.
fn needs_gate(object: &Object) -> bool {
    let newest = Versions::of(&[]);
    let may = |gate: &Gate| gates::may_need(gate.name, object) && !gates::is_usually_on(gate.name, &newest);
    if !gates::all().any(may) {
        return false;
    }
    object.value().is_ok_and(|value| {
        gates::needs(&object.key, &value, true, &newest).iter().any(|need| !gates::is_usually_on(need.gate, &newest))
    })
}

/// One place for the choice between a cluster-wide list and one a namespace.
pub(super) fn scope(namespaces: BTreeSet<String>, everywhere: bool) -> Scope {
    match (namespaces.len(), everywhere) {
        (_, true) => Scope::Everywhere(namespaces),
        (0, false) => Scope::Nowhere,
        (1..=NARROW, false) => Scope::Only(namespaces),
        (_, false) => Scope::Everywhere(namespaces),
    }
}

/// Adds what `kubectl apply --prune` may delete: whatever it applied once to a namespace that it writes to, of kinds of which the stream
/// may have none any more (kubectl `pkg/cmd/apply/prune.go`, `pruneAll`).
fn pruned(asked: &PlannedFrom<'_>, plan: &mut ReadPlan, namespaces: &mut BTreeSet<String>) {
    let host = &asked.host.host;
    if host.kind != Some(HostKind::Kubectl) || !host.prune {
        return;
    }
    for (group, name) in lost_with_a_namespace() {
        plan.list(GroupKind::new(group, name), "kubectl apply --prune may delete it");
    }
    let home = host.namespace.as_deref();
    let objects = asked.rendered.objects().iter().filter(|object| !kinds::is_cluster_wide(&object.key));
    namespaces.extend(objects.filter_map(|object| object.key.namespace.as_deref().or(home)).map(str::to_owned));
}

/// Adds the kinds that rendered (or last written) objects call for.
pub(super) fn kinds_of(objects: &Inventory, policy: &Policy, plan: &mut ReadPlan) {
    let versions = versions(objects);
    let mut seen = BTreeSet::new();
    for object in objects.objects().iter().filter(|object| kinds::is_compared(&object.key)) {
        let kind = GroupKind::new(&object.key.group, &object.key.kind);
        if !seen.insert(kind.clone()) {
            continue;
        }
        let version = ApiVersion::parse(&object.api_version).version.to_owned();
        let known = kind_of(&kind.group, &kind.kind);
        let reasons = known.reads(&kind.group);
        let read = plan.list(kind.clone(), "rendered");
        read.version.get_or_insert(version);
        read.keep.managed_fields = true;
        for (group, name, reason) in reasons {
            let read = plan.list(GroupKind::new(group, name), format!("{reason} {}", kind.kind));
            if read.version.is_none() {
                read.version = versions.get(*group).cloned();
            }
        }
        for (group, name, reason) in known.may_read() {
            let read = plan.may_list(GroupKind::new(group, name), format!("{reason} {}", kind.kind));
            if read.version.is_none() {
                read.version = versions.get(*group).cloned();
            }
        }
        if known.role == Role::Class {
            of_a_class(plan);
        }
    }
    health(policy, &versions, plan);
}

/// Adds the clusters of a class, with what makes their Machines.
pub(super) fn of_a_class(plan: &mut ReadPlan) {
    const ANYWHERE: &str = "clusters of the class may be in any namespace";
    for name in [CLUSTER, MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE] {
        plan.list(GroupKind::new(CORE, name), ANYWHERE).everywhere = true;
    }
    plan.may_list(GroupKind::new(CORE, MACHINE_POOL), ANYWHERE).everywhere = true;
}

/// Whether an object says that there may be MachinePools.
pub(super) fn may_have_pools(object: &Object) -> bool {
    let role = kind_of(&object.key.group, &object.key.kind).role;
    matches!(role, Role::Cluster | Role::Class) && object.value().is_ok_and(|value| reads::may_have_pools(&value))
}

/// Says what must be read beside `plan` once the last manifest is known: the kinds that it holds, and what goes with a
/// namespace, a definition or a release of Flux that goes away or that a hook makes anew.
pub(super) fn removed(
    rendered: &Inventory,
    base: &Base,
    policy: &Policy,
    home: Option<&str>,
    plan: &ReadPlan,
) -> ReadPlan {
    let mut more = ReadPlan::default();
    kinds_of(&base.objects, policy, &mut more);
    kinds_of(&base.hooks, policy, &mut more);
    let all = || base.objects.objects().iter().chain(base.hooks.objects());
    let of_base = all().filter(|object| kinds::is_compared(&object.key));
    let mut namespaces: BTreeSet<String> = of_base
        .filter(|object| !kinds::is_cluster_wide(&object.key))
        .filter_map(|object| object.key.namespace.clone().or_else(|| home.map(str::to_owned)))
        .collect();
    let stays = |key: &Key| rendered.get(key).is_some_and(|object| !hook::may_be_hook(object));
    let gone = all().filter(|object| !stays(&object.key));
    let hooks = rendered.objects().iter().filter(|object| hook::may_be_hook(object));
    for object in gone.chain(hooks).filter(|object| kinds::may_take_others(&object.key)) {
        taken_with(object, &mut namespaces, &mut more);
    }
    let is_more =
        |read: &KindRead, had: &KindRead| read.everywhere && !had.everywhere || had.optional && !read.optional;
    more.kinds.retain(|kind, read| plan.kinds.get(kind).is_none_or(|had| is_more(read, had)));
    more.scope = scope(namespaces, false);
    more
}

/// Adds what the deletion of an object takes with it: what is in a namespace, what is of a kind, what Flux wrote.
fn taken_with(gone: &Object, namespaces: &mut BTreeSet<String>, plan: &mut ReadPlan) {
    match gone.key.kind.as_str() {
        "Namespace" => {
            namespaces.insert(gone.key.name.clone());
            for (group, kind) in lost_with_a_namespace() {
                plan.list(GroupKind::new(group, kind), format!("goes with {}", gone.key));
            }
        }
        "CustomResourceDefinition" => {
            let kind =
                gone.value().ok().and_then(|value| Some(value.pointer("/spec/names/kind")?.as_str()?.to_owned()));
            let group = gone.key.name.split_once('.').map_or("", |(_, group)| group);
            if let Some(kind) = kind.filter(|_| crate::providers::is_compared(group)) {
                plan.list(GroupKind::new(group, &kind), format!("goes with {}", gone.key)).everywhere = true;
            }
        }
        _ => {
            for (group, kind) in lost_with_a_namespace() {
                plan.list(GroupKind::new(group, kind), format!("goes with {}", gone.key)).everywhere = true;
            }
        }
    }
}

/// The health checks, where there are Machines that they may have replaced, and the hosts that a gate looks at.
fn health(policy: &Policy, versions: &BTreeMap<String, String>, plan: &mut ReadPlan) {
    let machines = plan.kinds.contains_key(&GroupKind::new(CORE, MACHINE));
    if machines {
        let read = plan.list(GroupKind::new(CORE, MACHINE_HEALTH_CHECK), "which Machines they have replaced");
        if read.version.is_none() {
            read.version = versions.get(CORE).cloned();
        }
    }
    if let Some(hosts) = hosts_of(plan.kinds.keys().map(|kind| (kind.group.as_str(), kind.kind.as_str())), policy) {
        plan.list(hosts, "gate health.hosts");
    }
}

/// The hosts that Machines of these kinds run on, where a gate looks at them.
pub(super) fn hosts_of<'k>(kinds: impl IntoIterator<Item = (&'k str, &'k str)>, policy: &Policy) -> Option<GroupKind> {
    let (group, name) = kinds.into_iter().find_map(|(group, kind)| kind_of(group, kind).hosts)?;
    let is_asked = policy.all_gates().any(|gates| gates.health.hosts != GateAnswer::Allow);
    is_asked.then(|| GroupKind::new(group, name))
}

/// The version that the chart renders for each group; where it renders two, the first.
fn versions(objects: &Inventory) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    for object in objects.objects() {
        let api = ApiVersion::parse(&object.api_version);
        versions.entry(api.group.to_owned()).or_insert_with(|| api.version.to_owned());
    }
    versions
}

/// Names of Secrets and ConfigMaps that CAPI objects refer to, whatever the field is called.
fn named_data(rendered: &Inventory) -> Result<BTreeSet<(String, String)>, LoadError> {
    let mut found = BTreeSet::new();
    let held = rendered.objects().iter().any(|object| is_data(&object.key));
    if held {
        for object in rendered.objects().iter().filter(|object| kinds::is_compared(&object.key)) {
            references::named(object.value()?.as_ref(), &mut |named| {
                found.insert((named.kind.to_owned(), named.name.to_owned()));
            });
        }
    }
    Ok(found)
}

/// Whether a key is that of a Secret or a ConfigMap.
fn is_data(key: &Key) -> bool {
    kind_of(&key.group, &key.kind).role == Role::Data
}

/// Asks for the rendered Secrets and ConfigMaps that CAPI objects refer to.
fn referenced(rendered: &Inventory, references: &BTreeSet<(String, String)>, home: Option<&str>, plan: &mut ReadPlan) {
    let wanted: Vec<&Object> = rendered
        .objects()
        .iter()
        .filter(|object| is_data(&object.key))
        .filter(|object| references.contains(&(object.key.kind.clone(), object.key.name.clone())))
        .collect();
    if wanted.len() > BY_NAME {
        for object in wanted {
            let read: &mut KindRead =
                plan.list(GroupKind::new("", &object.key.kind), "CAPI objects refer to rendered ones");
            read.keep.managed_fields = true;
            read.version.get_or_insert_with(|| "v1".to_owned());
        }
        return;
    }
    for object in wanted {
        let Some(namespace) = object.key.namespace.as_deref().or(home) else {
            plan.homeless.push(object.key.clone());
            continue;
        };
        plan.objects.push(ObjectRead {
            kind: GroupKind::new("", &object.key.kind),
            version: Some("v1".to_owned()),
            namespace: Some(namespace.to_owned()),
            name: object.key.name.clone(),
            used: Use::Referenced,
        });
    }
}

/// So many objects are asked which release they belong to, and so many that carry others whether they change.
const KIN: usize = 8;

/// Asks for rendered objects that nothing compares: where nothing else names the release, what is there may; and where the
/// last manifest is not known, only what is there shows whether an object that carries others changes, or one beside objects of Cluster API
/// that is immutable.
fn kin(asked: &PlannedFrom<'_>, home: Option<&str>, plan: &mut ReadPlan) {
    let nameless = plan.kinds.is_empty() && plan.release.as_ref().is_some_and(|release| release.known.is_none());
    let no_record = plan.release.is_none() && !asked.base_given;
    let asked_for: BTreeSet<Key> = plan.objects.iter().map(super::read::key).collect();
    let is_not_asked_for = |object: &Object| {
        let namespace = object.key.namespace.as_deref().or(home);
        let full = object.key.in_namespace(namespace.map(str::to_owned));
        let is_listed = plan.kinds.contains_key(&GroupKind::new(&object.key.group, &object.key.kind));
        !plan.kinds.is_empty() && namespace.is_some() && !is_listed && !asked_for.contains(&full)
    };
    let tells = |object: &Object| {
        inside::is_carrier(object) || controllers::is_one(object) || is_data(&object.key) && is_not_asked_for(object)
    };
    let wanted = |object: &&Object| nameless || no_record && tells(object);
    let limit = if nameless { KIN } else { BY_NAME };
    for object in asked.rendered.objects().iter().filter(wanted).take(limit) {
        let api = ApiVersion::parse(&object.api_version);
        let namespace = object.key.namespace.as_deref().or(home).map(str::to_owned);
        plan.objects.push(ObjectRead {
            kind: GroupKind::new(&object.key.group, &object.key.kind),
            version: Some(api.version.to_owned()),
            namespace,
            name: object.key.name.clone(),
            used: Use::Kin,
        });
    }
}

/// Asks for the release record, where the host keeps one.
fn release(asked: &PlannedFrom<'_>) -> Option<ReleaseRead> {
    let host = &asked.host.host;
    if asked.base_given || matches!(host.kind, Some(HostKind::Argocd | HostKind::Kubectl)) {
        return None;
    }
    let known = match (&host.release, &host.namespace) {
        (Some(name), Some(namespace)) => Some(ReleaseName { name: name.clone(), namespace: namespace.clone() }),
        _ => None,
    };
    Some(ReleaseRead {
        known,
        driver: asked.host.driver,
        storage_namespace: asked.storage_namespace.map(str::to_owned),
    })
}

#[cfg(test)]
#[path = "needs_tests.rs"]
mod tests;
