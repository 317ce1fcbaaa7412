//! From what was found about an owner to what is said of it: values hidden, writers and revisions looked up.

use super::Read;
use crate::compare::redact::Redactor;
use crate::host::writers;
use crate::judge::why::{self, Difference, Move, OwnerState, RevisionStep, ToldBy};
use crate::kinds::Versions;
use crate::kinds::contract::{CLUSTER, CLUSTER_CLASS, MACHINE, TOPOLOGY_OWNED};
use crate::kinds::fields::{annotation, controller, is_in, label, text};
use crate::model::Change;
use crate::object::{Key, Path};
use crate::providers::machines;
use crate::report::sentence;
use crate::report::why::{
    WhyDue, WhyField, WhyMachines, WhyMove, WhyOwner, WhyRevision, WhyRollout, WhyWriter, headline,
};
use crate::tree::Value;
use crate::world::ReleaseStatus;

/// So many changes of a revision are told.
const CHANGES: usize = 6;
/// So many revisions of a field or a Cluster are told.
const REVISIONS: usize = 8;

/// What tells of one owner.
pub(super) struct Teller<'a> {
    pub(super) read: &'a Read,
    pub(super) redactor: &'a Redactor,
    pub(super) versions: &'a Versions,
}

impl Teller<'_> {
    /// What is said of one owner.
    pub(super) fn owner(&self, state: &OwnerState, is_replaced: bool) -> WhyOwner {
        let live = self.read.world.live.get(&state.key).and_then(|object| object.value().ok());
        let live = live.as_deref().unwrap_or(&Value::Null);
        let fields = |all: &[Difference]| self.fields(state, all, live, false);
        let mut outdated: Vec<WhyMachines> = Vec::new();
        for machines in &state.outdated {
            let fields = fields(&machines.differences);
            match outdated.iter_mut().find(|one| one.fields == fields) {
                Some(same) => same.names.extend(machines.names.iter().cloned()),
                None => outdated.push(WhyMachines { names: machines.names.clone(), is_replaced, fields }),
            }
        }
        let due = state.soon.as_ref().map(|due| WhyDue {
            at: due.at.to_string(),
            names: due.names.clone(),
            fields: fields(&due.differences),
        });
        let rollouts = state.rollouts.iter().map(|rollout| WhyRollout {
            since: rollout.since.to_string(),
            replaced: rollout.replaced,
            made: rollout.made.iter().map(|(_, name)| name.clone()).collect(),
            until: rollout.made.last().map(|(time, _)| time.to_string()).unwrap_or_default(),
            told_by: told_by(&rollout.told_by),
            fields: self.fields(state, &rollout.differences, live, true),
        });
        let mut owner = WhyOwner {
            headline: String::new(),
            owner: state.key.clone(),
            cluster: state.cluster.as_ref().map(|cluster| cluster.name.clone()),
            machines: state.machines,
            held: state.held.clone().filter(|_| !outdated.is_empty() && !is_replaced),
            never_matches: fields(&state.perpetual),
            due,
            rollouts: rollouts.collect(),
            remediation: self.remediation(state, live),
            managed_by: managed_by(live),
            topology: Vec::new(),
            gaps: Vec::new(),
            outdated,
        };
        if !owner.outdated.is_empty() || !owner.rollouts.is_empty() {
            owner.topology = self.topology(state, live, &owner);
            owner.gaps = self.gaps(&owner, live);
        }
        owner.headline = headline(&owner);
        owner
    }

    /// Each difference once, and whether what was there before is known where nothing was: a Machine may be compared with two forms of one configuration.
    fn fields(&self, state: &OwnerState, all: &[Difference], live: &Value, knows: bool) -> Vec<WhyField> {
        let mut out: Vec<WhyField> = Vec::new();
        for field in all.iter().map(|one| self.field(state, one, live, knows)) {
            if !out.contains(&field) {
                out.push(field);
            }
        }
        out
    }

    /// A field with both sides as they may be shown, and who wrote it.
    fn field(&self, state: &OwnerState, one: &Difference, live: &Value, knows: bool) -> WhyField {
        let key = &state.key;
        let mut further: Vec<WhyMove> = Vec::new();
        let mut first = None;
        if knows || one.before.is_some() {
            let places = why::places(key, &state.wanted, &one.path, one.before.as_ref(), one.after.as_ref());
            let mut told = places.into_iter().map(|place| self.moved(key, place));
            first = told.next();
            further.extend(told);
        }
        further.extend(self.templates(one).into_iter().map(|place| self.moved(key, place)));
        let first = first.unwrap_or_else(|| {
            let change = Change::unjudged(one.path.clone(), one.before.clone(), one.after.clone());
            self.moved(key, Move { key: key.clone(), renamed_from: None, change })
        });
        let histories = &self.read.world.histories;
        let steps = why::revisions(histories, key, &state.wanted, &one.path, self.versions);
        WhyField {
            path: one.path.to_string(),
            place: first.place,
            before: first.before,
            after: first.after,
            is_before_known: knows || one.before.is_some(),
            detail: one.detail.clone(),
            further,
            rule: one.rule.to_owned(),
            writers: wrote(live, &one.path),
            revisions: steps.into_iter().take(REVISIONS).map(|step| self.revision(key, step)).collect(),
            strays: self.strays(state, one),
        }
    }

    /// What differs between the template that a reference meant and the one that it means, where both are there.
    fn templates(&self, one: &Difference) -> Vec<Move> {
        let (Some(was), Some(is)) = (&one.was, &one.is) else { return Vec::new() };
        let live = &self.read.world.live;
        let before = self.read.before.as_ref().and_then(|before| before.live.get(was));
        match live.get(was).or(before).zip(live.get(is)).filter(|_| was != is) {
            Some((before, after)) => why::apart(before, after),
            None => Vec::new(),
        }
    }

    /// A change as it may be shown.
    fn moved(&self, owner: &Key, one: Move) -> WhyMove {
        let Move { key, renamed_from, mut change } = one;
        self.redactor.change(&key, &mut change);
        let object = match renamed_from {
            Some(old) => Some(format!("{} {old} -> {}", key.kind, key.name)),
            None => (key != *owner).then(|| key.to_string()),
        };
        WhyMove { object, place: sentence::place(&change), before: change.before, after: change.after }
    }

    /// A revision as it may be shown.
    fn revision(&self, owner: &Key, step: RevisionStep) -> WhyRevision {
        let (was, is) = step.charts;
        let all = step.moves.len();
        WhyRevision {
            release: step.release,
            revision: step.number,
            previous: step.previous,
            status: status(step.status),
            time: step.written.map(|time| time.to_string()),
            // Of a write that failed Helm repeats what the API server said, which may quote what was written.
            description: self.redactor.quoted(&step.description),
            chart: (was != is).then(|| format!("{was} -> {is}")),
            changes: step.moves.into_iter().take(CHANGES).map(|one| self.moved(owner, one)).collect(),
            more: all.saturating_sub(CHANGES),
        }
    }

    /// What the newest revision has at a place, where it is another value than the one that stands there.
    fn strays(&self, state: &OwnerState, one: &Difference) -> Option<String> {
        let now = one.after.as_ref().filter(|value| !value.is_object() && !value.is_array())?;
        self.read.world.histories.iter().find_map(|history| {
            let newest = history.revisions.last()?;
            let owner = machines::read(history.at(history.revisions.len() - 1, &state.key)?, self.versions)?;
            let value = why::like(&owner, &state.wanted, &one.path);
            let bare = |value: &Value| value.as_str().map(|text| text.trim_start_matches('v').trim_end().to_owned());
            let is_same = value.is_some_and(|value| value == now || bare(value).is_some() && bare(value) == bare(now));
            (!is_same).then(|| {
                let change = Change::unjudged(one.path.clone(), None, value.cloned());
                let told = self.moved(&state.key, Move { key: state.key.clone(), renamed_from: None, change });
                let number = newest.number;
                let has = sentence::short(told.after.as_ref());
                format!(
                    "revision {number} of {}, the newest, has {has} here: what stands there was not written by it",
                    history.name
                )
            })
        })
    }

    /// The revisions that changed the Cluster, or its class, of an owner that a topology writes; those first, and alone where there
    /// are some, that brought a value which the owner got.
    fn topology(&self, state: &OwnerState, live: &Value, owner: &WhyOwner) -> Vec<WhyRevision> {
        if label(live, TOPOLOGY_OWNED).is_none() {
            return Vec::new();
        }
        let Some(cluster) = &state.cluster else { return Vec::new() };
        let histories = &self.read.world.histories;
        let mut steps = why::below(histories, cluster, &["spec", "topology"], self.versions);
        for class in self.read.world.live.of_kind(CLUSTER_CLASS) {
            steps.extend(why::below(histories, &class.key, &["spec"], self.versions));
        }
        steps.sort_by_key(|step| std::cmp::Reverse(step.written));
        let all: Vec<WhyRevision> =
            steps.into_iter().take(REVISIONS).map(|step| self.revision(&state.key, step)).collect();
        let fields = owner.outdated.iter().flat_map(|one| &one.fields);
        let wanted: Vec<&Value> = fields
            .chain(owner.rollouts.iter().flat_map(|one| &one.fields))
            .filter_map(|field| field.after.as_ref())
            .collect();
        let brings = |step: &&WhyRevision| {
            step.changes.iter().any(|one| one.after.as_ref().is_some_and(|after| wanted.contains(&after)))
        };
        let exact: Vec<WhyRevision> = all.iter().filter(brings).cloned().collect();
        if exact.is_empty() { all } else { exact }
    }

    /// What the histories do not tell of an owner that Helm writes.
    fn gaps(&self, owner: &WhyOwner, live: &Value) -> Vec<String> {
        let fields = owner.outdated.iter().flat_map(|one| &one.fields);
        let mut fields = fields.chain(owner.rollouts.iter().flat_map(|one| &one.fields));
        if !owner.topology.is_empty() || fields.any(|field| !field.revisions.is_empty()) {
            return Vec::new();
        }
        let Some(name) = annotation(live, "meta.helm.sh/release-name") else { return Vec::new() };
        let place = annotation(live, "meta.helm.sh/release-namespace");
        let is_own = |history: &&crate::world::history::History| {
            history.name == name && place.is_none_or(|place| history.namespace == place)
        };
        let own = self.read.world.histories.iter().filter(is_own);
        own.filter(|history| !history.revisions.is_empty())
            .map(|history| {
                let first = history.revisions.first().map_or(0, |first| first.number);
                let last = history.revisions.last().map_or(0, |last| last.number);
                format!("no revision of release {name} from {first} to {last} changed this; older ones are not read")
            })
            .collect()
    }

    /// Remediations of an owner's Machines that go on: what its annotation says, and how often it was tried.
    fn remediation(&self, state: &OwnerState, live: &Value) -> Vec<String> {
        let tried = |text: &str| {
            let value: Value = serde_json::from_str(text).ok()?;
            let machine = value.get("machine").and_then(Value::as_str)?.to_owned();
            Some((machine, value.get("retryCount").and_then(Value::as_u64).unwrap_or(0)))
        };
        let note = |object: &Value, name: &str| annotation(object, name).and_then(tried);
        let mut out: Vec<String> = Vec::new();
        if let Some((machine, count)) = note(live, REMEDIATING) {
            out.push(format!("being remediated: {machine}, tried {count} times before"));
        }
        let world = &self.read.world;
        for machine in world.live.of_kind(MACHINE).filter(|object| is_in(object, state.key.namespace.as_deref())) {
            let Ok(value) = machine.value() else { continue };
            if !self.is_of(state, &machine.key, &value) {
                continue;
            }
            let name = &machine.key.name;
            if let Some((old, count)) = note(&value, REMEDIATED_FOR) {
                out.push(format!("{name} was made in the place of {old}, which was unhealthy; try {}", count + 1));
            }
            if let Some(why) = unhealthy(&value) {
                out.push(format!("{name} is to be replaced by a health check: {why}"));
            }
        }
        out
    }

    /// Whether a Machine belongs to an owner, by itself or by its MachineSet.
    fn is_of(&self, state: &OwnerState, key: &Key, machine: &Value) -> bool {
        let Some(owner) = controller(key, machine).or_else(|| first_owner(key, machine)) else { return false };
        let same = |one: &Key| one.kind == state.key.kind && one.name == state.key.name;
        let above = || {
            let set = self.read.world.live.get(&owner)?;
            let value = set.value().ok()?;
            controller(&set.key, &value).or_else(|| first_owner(&set.key, &value))
        };
        same(&owner) || above().is_some_and(|above| same(&above))
    }
}

/// The first owner of an object, where none of them controls it.
fn first_owner(key: &Key, object: &Value) -> Option<Key> {
    crate::kinds::fields::owned_by(key, object).next()
}

/// Why a health check wants a Machine replaced, where its owner has not done so yet (Cluster API `machine_types.go`:
/// conditions OwnerRemediated and, in v1beta1, HealthCheckSucceeded).
fn unhealthy(machine: &Value) -> Option<String> {
    if crate::object::is_deleting(machine) {
        return None;
    }
    let lists = ["/status/conditions", "/status/v1beta2/conditions", "/status/deprecated/v1beta1/conditions"];
    let conditions = || lists.iter().flat_map(|list| crate::kinds::fields::list(machine, list));
    let is_false =
        |name: &str| conditions().find(|one| text(one, "/type") == Some(name) && text(one, "/status") == Some("False"));
    let found = is_false("HealthCheckSucceeded")?;
    is_false("OwnerRemediated")?;
    let reason = text(found, "/reason").unwrap_or("unhealthy");
    let since = text(found, "/lastTransitionTime").map(|time| format!(" since {time}")).unwrap_or_default();
    Some(format!("{reason}{since}"))
}

/// Annotation of a control plane whose remediation runs (Cluster API `controlplane/kubeadm/api/v1beta1`, RKE2 alike).
const REMEDIATING: &str = "controlplane.cluster.x-k8s.io/remediation-in-progress";
/// Annotation of a Machine that was made in the place of an unhealthy one.
const REMEDIATED_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";

/// How a rollout is known, in words.
fn told_by(how: &ToldBy) -> String {
    match how {
        ToldBy::Sets(old, new) => format!("MachineSet {old}, which is empty, and {new}, which took its place"),
        ToldBy::Revision(release, number) => {
            format!("revision {number} of release {release}, and when the Machines were made")
        }
    }
}

/// Helm's word for the state of a revision.
fn status(status: ReleaseStatus) -> String {
    crate::tree::to_value(status).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Who owns a place; where the object holds it under another name, who owns what is around it.
fn wrote(live: &Value, path: &Path) -> Vec<WhyWriter> {
    let told = |writer: writers::Writer, around: Option<String>| WhyWriter {
        manager: writer.manager,
        operation: writer.operation,
        time: writer.time.map(|time| time.to_string()),
        around,
    };
    let exact = writers::writers(live, path);
    if !exact.is_empty() || path.get(live).is_some() {
        return exact.into_iter().map(|writer| told(writer, None)).collect();
    }
    let mut above = path.clone();
    while above.pop().is_some() && above.segments().len() > 1 {
        let found = writers::writers(live, &above);
        if !found.is_empty() {
            return found.into_iter().map(|writer| told(writer, Some(above.to_string()))).collect();
        }
    }
    Vec::new()
}

/// Labels and annotations that say who manages an object, each with what it means.
const MANAGERS: [(&str, &str); 6] = [
    ("meta.helm.sh/release-name", "of the Helm release"),
    ("helm.toolkit.fluxcd.io/name", "of the HelmRelease of Flux"),
    ("kustomize.toolkit.fluxcd.io/name", "of the Kustomization of Flux"),
    ("argocd.argoproj.io/tracking-id", "of the Application of Argo CD"),
    ("argocd.argoproj.io/instance", "of the Application of Argo CD"),
    (TOPOLOGY_OWNED, "written by the topology of its Cluster: look there and at its class"),
];

/// Who manages an object, as its labels and annotations say, with the namespace where they say that.
fn managed_by(object: &Value) -> Vec<String> {
    let of = |name: &str| annotation(object, name).or_else(|| label(object, name));
    let told = |(name, what): &(&str, &str)| {
        let value = of(name)?;
        let namespace = name.strip_suffix("name").and_then(|start| of(&format!("{start}namespace")));
        let value = namespace.map_or_else(|| value.to_owned(), |namespace| format!("{namespace}/{value}"));
        Some(format!("{what} {value}").trim_end().to_owned())
    };
    let mut out: Vec<String> = MANAGERS.iter().filter_map(told).collect();
    out.dedup();
    out
}

/// The Cluster of an owner, as a key of its kind.
pub(super) fn cluster_of(owner: &WhyOwner) -> Option<Key> {
    let name = owner.cluster.as_ref()?;
    Some(owner.owner.sibling(CLUSTER, name.as_str()))
}
