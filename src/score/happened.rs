//! What came of one forecast about one owner, as far as the Machines, their sets and the records of who wrote tell it.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::forecast::{Foretold, machines, members};
use super::{Forecast, matrix::ScoreScope};
use crate::kinds::Role;
use crate::kinds::contract::{self, MACHINE};
use crate::kinds::fields::{annotation, list, number, text};
use crate::object::{GroupKind, is_deleting};
use crate::providers::kind;
use crate::report::score::Fate;
use crate::tree::Value;
use crate::world::history::Recorded;
use crate::world::{Coverage, HostKind, ReleaseStatus, World};

/// Annotation of a Machine that was made in the place of an unhealthy one (Cluster API
/// `api/controlplane/kubeadm/v1beta2/kubeadm_control_plane_types.go`, `RemediationForAnnotation`).
const REMEDIATED_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";
/// Clocks differ, and the API server keeps whole seconds.
const GRACE: SignedDuration = SignedDuration::from_secs(2);
/// So long a host may take from what is let out to its last write: hooks and waits stand between.
const WRITES: SignedDuration = SignedDuration::from_mins(15);

/// What became of it.
pub(super) enum Became {
    /// This, with the Machines that went and those that came.
    Came { fate: Fate, gone: Vec<String>, made: Vec<String>, why: Option<String> },
    /// Something that nobody asked about, for this reason.
    Unforeseen { came: Fate, gone: Vec<String>, made: Vec<String>, why: String },
    /// It is not over.
    Settling(String),
    /// Nothing tells.
    Untold(String),
}

/// One forecast about one owner, and the next one about it.
pub(super) struct ForecastCase<'a> {
    pub(super) world: &'a World,
    pub(super) asked: &'a ScoreScope,
    pub(super) forecast: &'a Forecast,
    pub(super) own: &'a Foretold,
    pub(super) next: Option<(&'a Forecast, &'a Foretold)>,
}

impl ForecastCase<'_> {
    /// What became of it.
    pub(super) fn became(&self) -> Became {
        let Self { world, own, .. } = self;
        let Some(present) = &own.present else {
            return Became::Untold("it had too many Machines for their names to be kept".to_owned());
        };
        let before: BTreeSet<String> = present.iter().cloned().collect();
        let owner = world.live.get(&own.owner).and_then(|object| object.value().ok());
        if owner.is_none() && !self.is_read(&GroupKind::new(&own.owner.group, &own.owner.kind)) {
            return Became::Untold("the owner was not read".to_owned());
        }
        if !self.is_read(&GroupKind::new(contract::CORE, MACHINE)) {
            return Became::Untold("its Machines were not read".to_owned());
        }
        let uid = owner.as_ref().and_then(|owner| text(owner, "/metadata/uid"));
        if uid.is_some() && own.uid.is_some() && uid != own.uid.as_deref() {
            return Became::Untold("it was deleted and made again since".to_owned());
        }
        let after = match self.next {
            Some((_, Foretold { present: Some(present), .. })) => present.iter().cloned().collect(),
            Some(_) => return Became::Untold("the next forecast did not keep the names of its Machines".to_owned()),
            None => machines(world, &own.owner),
        };
        let gone: Vec<String> = before.difference(&after).cloned().collect();
        let made: Vec<String> = after.difference(&before).cloned().collect();
        let is_refused = self.revision().is_some_and(was_refused);
        let fate = match (gone.is_empty(), made.is_empty()) {
            (true, _) if is_refused => Fate::Rejected,
            (true, _) => Fate::None,
            (false, true) => Fate::Delete,
            (false, false) => Fate::Rollout,
        };
        if let Some(why) = self.is_open(owner.as_deref(), fate) {
            return why;
        }
        if fate != own.fate
            && let Some(why) = self.others(owner.as_deref(), &made, fate)
        {
            return Became::Unforeseen { came: fate, gone, made, why };
        }
        if fate == Fate::None && self.revision().is_some_and(|one| one.status == ReleaseStatus::Failed) {
            return Became::Untold("Helm says that the release failed, for a reason that is no refusal".to_owned());
        }
        let is_tried = own.fate == Fate::None || self.forecast.release.is_none() || self.revision().is_some();
        if fate == Fate::None && !is_tried && self.history().is_some() {
            return Became::Untold("the record of the release has no revision since: nothing was written".to_owned());
        }
        let expected = own.machines.filter(|_| fate == own.fate && fate == Fate::Rollout);
        let why = expected.filter(|count| *count != gone.len() as u64);
        let why = why.map(|count| format!("{count} were foretold, {} went", gone.len()));
        Became::Came { fate, gone, made, why }
    }

    /// Why it cannot be told, or not yet.
    fn is_open(&self, owner: Option<&Value>, fate: Fate) -> Option<Became> {
        let Self { world, asked, forecast, own, next } = self;
        if let Some((next, _)) = next {
            let apart = next.time.duration_since(forecast.time);
            return (apart < asked.settle && fate != own.fate)
                .then(|| Became::Untold(format!("another write was let out {} later", said(apart))));
        }
        let elapsed = world.taken.duration_since(forecast.time);
        if elapsed < asked.settle {
            return Some(Became::Settling(format!(
                "it is {} old, and {} are given",
                said(elapsed),
                said(asked.settle)
            )));
        }
        let owner = owner?;
        for (machine, _) in members(world, &own.owner) {
            let Ok(value) = machine.value() else { continue };
            if is_deleting(&value) {
                return Some(Became::Settling(format!("Machine {} is being deleted", machine.key.name)));
            }
            let outdated = list(&value, "/status/conditions").any(|condition| {
                let says = |field: &str| condition.get(field).and_then(Value::as_str);
                says("type") == Some("UpToDate") && says("status") == Some("False")
            });
            if outdated {
                return Some(Became::Settling(format!("Machine {} is out of date", machine.key.name)));
            }
        }
        let (has, wanted) = (machines(world, &own.owner).len() as u64, number(owner, "/spec/replicas"));
        let wanted = wanted.filter(|wanted| *wanted != has)?;
        Some(Became::Settling(format!("it has {has} Machines and wants {wanted}")))
    }

    /// Why Machines went that has nothing to do with what was let out.
    fn others(&self, owner: Option<&Value>, made: &[String], fate: Fate) -> Option<String> {
        let Self { world, own, forecast, .. } = self;
        if !matches!(fate, Fate::Rollout | Fate::Delete) {
            return None;
        }
        let cluster = own.cluster.as_ref().map(|name| contract::cluster(own.owner.namespace.as_deref(), name));
        let of_cluster = cluster.and_then(|key| world.live.get(&key)).and_then(|object| object.value().ok());
        for object in [owner, of_cluster.as_deref()].into_iter().flatten() {
            if let Some((manager, time)) = self.written(object) {
                let (kind, name) = (text(object, "/kind")?, text(object, "/metadata/name")?);
                return Some(format!("{manager} wrote {kind} {name} at {time}, past rollgate"));
            }
        }
        let new: Vec<_> = members(world, &own.owner).filter(|(machine, _)| made.contains(&machine.key.name)).collect();
        let remedied = new
            .iter()
            .any(|(machine, _)| machine.value().is_ok_and(|value| annotation(&value, REMEDIATED_FOR).is_some()));
        if remedied {
            return Some("a health check had them replaced".to_owned());
        }
        let is_new = |set: &Value| {
            text(set, "/metadata/creationTimestamp")
                .and_then(|time| time.parse::<Timestamp>().ok())
                .is_none_or(|made| made + GRACE >= forecast.time)
        };
        let sets: Vec<_> = new.iter().filter_map(|(_, set)| set.as_ref()?.value().ok()).collect();
        let same = !sets.is_empty() && sets.len() == new.len() && !sets.iter().any(|set| is_new(set));
        (same && kind(&own.owner).role == Role::Deployment)
            .then(|| "its MachineSet is the same: a health check or somebody deleted them".to_owned())
    }

    /// Who else wrote the spec of an object while this forecast stood, and when.
    fn written(&self, object: &Value) -> Option<(String, Timestamp)> {
        let from = self.forecast.time + GRACE;
        let until = self.next.map_or(Timestamp::MAX, |(next, _)| next.time);
        let mut found = list(object, "/metadata/managedFields").filter_map(|entry| {
            let (manager, time) = (text(entry, "/manager")?, text(entry, "/time")?.parse::<Timestamp>().ok()?);
            let spec = entry.get("fieldsV1")?.get("f:spec")?.as_object()?;
            // The address of the control plane is filled in by controllers.
            let writes = spec.iter().any(|(field, _)| field != "f:controlPlaneEndpoint");
            let is_own = is_writer(manager, self.forecast.writer) && time < from + self.asked.settle.max(WRITES);
            (writes && !is_own && !is_controller(manager) && (from..until).contains(&time))
                .then(|| (manager.to_owned(), time))
        });
        found.next()
    }

    /// The history of the release, where it was read whole.
    fn history(&self) -> Option<&crate::world::history::History> {
        let release = self.forecast.release.as_deref()?;
        let mut all = self.world.histories.iter();
        all.find(|one| format!("{}/{}", one.namespace, one.name) == release && one.unread.is_empty())
    }

    /// The revision of the release that was written by what was let out.
    fn revision(&self) -> Option<&Recorded> {
        let until = self.next.map_or(Timestamp::MAX, |(next, _)| next.time);
        let mut all = self.history()?.revisions.iter();
        all.find(|one| one.written.is_some_and(|time| time + GRACE >= self.forecast.time && time < until))
    }

    /// Whether all objects of a kind in the namespace of the owner were read.
    fn is_read(&self, kind: &GroupKind) -> bool {
        let namespace = self.own.owner.namespace.as_deref().unwrap_or_default();
        matches!(self.world.coverage, Coverage::Whole) || self.world.coverage.has_list(kind, namespace)
    }
}

/// Whether Helm says of a revision that the API server refused it.
fn was_refused(revision: &Recorded) -> bool {
    let said = revision.description.to_lowercase();
    let is_waiting = ["timed out", "deadline exceeded", "context canceled", "not ready", "hooks failed"];
    revision.status == ReleaseStatus::Failed && !is_waiting.iter().any(|words| said.contains(words))
}

/// Whether a field manager is the program that a forecast was made for.
fn is_writer(manager: &str, writer: Option<HostKind>) -> bool {
    match writer {
        Some(HostKind::Kubectl) => manager.starts_with("kubectl"),
        Some(HostKind::Argocd) => manager.starts_with("argocd"),
        Some(HostKind::Flux) => matches!(manager, "helm-controller" | "kustomize-controller"),
        Some(HostKind::Helm3 | HostKind::Helm4) | None => manager == "helm",
    }
}

/// Whether a field manager is a controller of Cluster API: what it writes comes of what somebody else wrote. Their programs are all
/// called `manager` (Dockerfiles of Cluster API and its providers), and apply as `capi-...`.
fn is_controller(manager: &str) -> bool {
    manager == "manager" || manager.starts_with("capi-")
}

/// A length of time in words.
fn said(length: SignedDuration) -> String {
    let seconds = length.as_secs().max(0);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}
