//! One forecast as it is kept: which Machines each owner had, and what was said of them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::approval::to_the_second;
use crate::kinds::Role;
use crate::kinds::fields::{cluster_name, is_in, text};
use crate::model::{Decision, Effect};
use crate::object::{Key, Object};
use crate::providers::kind;
use crate::report::Report;
use crate::report::score::Fate;
use crate::tree::json;
use crate::world::{HostKind, LiveKind, World};

/// Most owners of one forecast.
const MOST_OWNERS: usize = 64;
/// Most names of Machines of one forecast.
const MOST_NAMES: usize = 512;

/// Where a forecast was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Front {
    /// In a post-renderer: what it lets out is written.
    PostRender,
    /// In a plan: somebody else writes, or nobody.
    Plan,
}

/// One forecast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Forecast {
    /// Its name.
    pub id: String,
    /// When it was made.
    pub time: Timestamp,
    /// Where.
    pub by: Front,
    /// What was decided.
    pub decision: Decision,
    /// The worst effect of it.
    pub effect: Effect,
    /// The digest of its report.
    pub digest: String,
    /// The release that was to be written, with its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The program that was to write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<HostKind>,
    /// The owners of Machines of the clusters that it is about.
    pub owners: Vec<Foretold>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Where the World that was judged is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<String>,
}

/// What was foretold of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Foretold {
    /// The owner.
    pub owner: Key,
    /// Its uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Its cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// What was foretold.
    pub fate: Fate,
    /// How many Machines were to go; `None` where that was not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<u64>,
    /// The Machines that there were; `None` where they are too many to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<Vec<String>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so.")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Forecast {
    /// What a report foretells of a cluster; `None` where it is about no cluster that was read, or about no Machines.
    #[must_use]
    pub(crate) fn of(report: &Report, world: &World, by: Front) -> Option<Self> {
        if world.source.kind != LiveKind::Cluster {
            return None;
        }
        let about = About::of(report);
        let mut owners: Vec<&Object> = world.live.objects().iter().filter(|object| about.has(object)).collect();
        owners.sort_by(|one, other| one.key.cmp(&other.key));
        let more = owners.len().saturating_sub(MOST_OWNERS);
        owners.truncate(MOST_OWNERS);
        let mut room = MOST_NAMES;
        let owners: Vec<Foretold> = owners.into_iter().map(|owner| foretold(report, world, owner, &mut room)).collect();
        if owners.is_empty() {
            return None;
        }
        let release = report.host.release.as_ref().zip(report.host.namespace.as_ref());
        let mut forecast = Self {
            id: String::new(),
            time: to_the_second(world.now),
            by,
            decision: report.decision,
            effect: report.effect,
            digest: report.digest.clone(),
            release: release.map(|(name, namespace)| format!("{namespace}/{name}")),
            writer: world.host.kind,
            owners,
            more,
            world: None,
        };
        let content = json!([world.now, forecast.digest, forecast.release, forecast.by]).to_string();
        forecast.id = Sha256::digest(content.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Some(forecast)
    }

    /// Whether what it is about was let out to be written.
    #[must_use]
    pub(crate) fn is_let_out(&self) -> bool {
        self.by == Front::PostRender && matches!(self.decision, Decision::Allow | Decision::Warn)
    }
}

/// Which clusters a report is about.
struct About {
    clusters: BTreeSet<(Option<String>, String)>,
    /// Namespaces in which something changes of which nobody says whose it is.
    namespaces: BTreeSet<Option<String>>,
}

impl About {
    fn of(report: &Report) -> Self {
        let told = report.clusters.iter().map(|cluster| (cluster.namespace.clone(), cluster.name.clone()));
        let rolled = report.rollouts.iter().map(|rollout| (rollout.owner.namespace.clone(), rollout.cluster.clone()));
        let changed = report.objects.iter().map(|object| object.key());
        let shared = changed.filter(|key| !kind(key).role.is_part_of_cluster());
        Self { clusters: told.chain(rolled).collect(), namespaces: shared.map(|key| key.namespace.clone()).collect() }
    }

    /// Whether an object is an owner of Machines of one of them.
    fn has(&self, object: &Object) -> bool {
        if !matches!(kind(&object.key).role, Role::ControlPlane | Role::Deployment) {
            return false;
        }
        let Ok(value) = object.value() else { return false };
        let of = (object.key.namespace.clone(), cluster_of(&value).unwrap_or_default());
        self.clusters.contains(&of) || self.namespaces.contains(&object.key.namespace)
    }
}

/// The cluster of an owner, by its label or its spec.
pub(super) fn cluster_of(owner: &crate::tree::Value) -> Option<String> {
    cluster_name(owner).map(str::to_owned)
}

/// What is foretold of one owner.
fn foretold(report: &Report, world: &World, owner: &Object, room: &mut usize) -> Foretold {
    let value = owner.value().ok();
    let own: Vec<_> = report.rollouts.iter().filter(|rollout| rollout.owner == owner.key).collect();
    let worst = own.iter().map(|rollout| rollout.effect).max();
    let counted: Option<u64> = own.iter().map(|rollout| rollout.machines).try_fold(0, |sum, one| Some(sum + one?));
    let fate = match (report.effect, worst) {
        (Effect::Rejected, _) => Fate::Rejected,
        (_, Some(Effect::Rollout)) => Fate::Rollout,
        (_, Some(Effect::Delete)) => Fate::Delete,
        (_, Some(Effect::Scale)) if counted != Some(0) => Fate::Delete,
        (_, Some(Effect::Unknown)) | (Effect::Unknown, None) => Fate::Unknown,
        _ => Fate::None,
    };
    let names = machines(world, &owner.key);
    let fits = names.len() <= *room;
    *room = room.saturating_sub(names.len());
    Foretold {
        owner: owner.key.clone(),
        uid: value.as_ref().and_then(|value| text(value, "/metadata/uid")).map(str::to_owned),
        cluster: value.as_ref().and_then(|value| cluster_of(value)),
        fate,
        machines: counted,
        present: fits.then(|| names.into_iter().collect()),
    }
}

/// The Machines of an owner, its own or those of its sets, that are not being deleted.
pub(super) fn machines(world: &World, owner: &Key) -> BTreeSet<String> {
    members(world, owner)
        .filter(|(object, _)| !object.value().is_ok_and(|value| crate::object::is_deleting(&value)))
        .map(|(object, _)| object.key.name.clone())
        .collect()
}

/// The Machines of an owner, each with the set that it belongs to.
pub(super) fn members<'w>(world: &'w World, owner: &'w Key) -> impl Iterator<Item = (&'w Object, Option<&'w Object>)> {
    let own = move |key: &'w Key| {
        let all = world.live.owned_by(&key.kind, &key.name);
        all.filter(move |object| is_in(object, owner.namespace.as_deref()))
    };
    own(owner).flat_map(move |object| match kind(&object.key).role {
        Role::Machine => vec![(object, None)],
        Role::Set => {
            let inside = own(&object.key).filter(|one| kind(&one.key).role == Role::Machine);
            inside.map(|machine| (machine, Some(object))).collect()
        }
        _ => Vec::new(),
    })
}
