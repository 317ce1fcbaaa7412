//! Judges one owner of Machines: which Machines are out of date before the write, and which after it.

use std::cell::OnceCell;

use jiff::Timestamp;
use serde_json::Value;

use crate::compare::Basis;
use crate::judge::admission::Sides;
use crate::judge::stage::Stage;
use crate::judge::waiting;
use crate::judge::waiting::hold::{self, Act, Hold};
use crate::judge::waiting::side::Side;
use crate::kinds::machines;
use crate::kinds::machines::{Member, number, text};
use crate::model::cause::Cause;
use crate::object::Key;
use crate::providers::core::machine_deployment;
use crate::providers::kubeadm::mirror as kcp;
use crate::providers::rke2::mirror as rke2;
use crate::rules::Versions;
use crate::world::Coverage;
use crate::world::plan::GroupKind;

/// The owners whose controllers are mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mirror {
    /// KubeadmControlPlane.
    Kubeadm,
    /// RKE2ControlPlane.
    Rke2,
    /// MachineDeployment.
    Workers,
}

impl Mirror {
    /// The mirror of a kind.
    #[must_use]
    pub fn of(key: &Key) -> Option<Self> {
        match (key.group.as_str(), key.kind.as_str()) {
            ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane") => Some(Self::Kubeadm),
            ("controlplane.cluster.x-k8s.io", "RKE2ControlPlane") => Some(Self::Rke2),
            ("cluster.x-k8s.io", "MachineDeployment") => Some(Self::Workers),
            _ => None,
        }
    }

    /// First word of the ids of its causes and rules.
    #[must_use]
    pub const fn family(self) -> &'static str {
        match self {
            Self::Kubeadm => "kcp",
            Self::Rke2 => "rke2cp",
            Self::Workers => "md",
        }
    }

    /// Fills in what webhooks and controllers fill in.
    pub fn default(self, owner: &mut Value, versions: &Versions) {
        match self {
            Self::Kubeadm => kcp::default(owner),
            Self::Rke2 => rke2::default(owner, versions),
            Self::Workers => machine_deployment::default(owner),
        }
    }
}

/// Machines that are judged together: one of a control plane, or all of a MachineSet.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Names of the Machines, where they could be read.
    pub names: Vec<String>,
    /// How many Machines it is.
    pub count: u64,
    /// Why they are out of date before the write.
    pub before: Vec<Cause>,
    /// Why they are out of date after it.
    pub after: Vec<Cause>,
}

/// What was found about one owner.
pub struct Assessment {
    /// Its mirror.
    pub mirror: Mirror,
    /// Which comparison was possible.
    pub basis: Basis,
    /// Whether all Machines were read and none is its own: it never made one.
    pub is_bare: bool,
    /// Its Machines.
    pub units: Vec<Unit>,
    /// What Machines made of the old spec would be out of date for, once it was asked for.
    of_specs: OnceCell<Vec<Cause>>,
    /// The Cluster it belongs to.
    pub cluster: Option<Key>,
    /// What keeps its controllers from acting after the write.
    pub held: Vec<Hold>,
    /// What kept them from it before.
    pub was_held: Vec<Hold>,
    /// What a Machine made by the new spec is out of date for at once.
    pub perpetual: Vec<Cause>,
    /// The infrastructure template that a control plane names and that is known not to be there.
    pub missing: Option<Key>,
    /// The owner before the write, in the superset form with defaults.
    pub old: Value,
    /// The owner after it.
    pub new: Value,
}

impl std::fmt::Debug for Assessment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { mirror, basis, units, cluster, .. } = self;
        let mut shown = f.debug_struct("Assessment");
        shown.field("mirror", mirror).field("basis", basis).field("units", units).field("cluster", cluster);
        shown.finish_non_exhaustive()
    }
}

impl Assessment {
    /// Judges an owner that is there before and after the write.
    #[must_use]
    pub(crate) fn of(stage: &Stage<'_>, key: &Key, mirror: Mirror, sides: Sides) -> Self {
        let (versions, now) = (&stage.versions, stage.scene.world.now);
        let Sides { mut old, mut new } = sides;
        mirror.default(&mut old, versions);
        mirror.default(&mut new, versions);
        let cluster = stage.cluster_of(key, &new);
        let (basis, units) = units(stage, key, mirror, &old, &new, cluster.as_ref());
        let [before, after] = Side::both(stage);
        Self {
            mirror,
            basis,
            is_bare: basis == Basis::Specs && has_whole_list(stage, key, mirror),
            units,
            of_specs: OnceCell::new(),
            // Only the RKE2 provider can want what no Machine can have.
            perpetual: if mirror == Mirror::Rke2 { by_specs(mirror, &new, &new, versions, now) } else { Vec::new() },
            held: waiting::holds(after, key, mirror, &new, cluster.as_ref()),
            was_held: waiting::holds(before, key, mirror, &old, cluster.as_ref()),
            missing: missing_template(stage, key, mirror, &new),
            cluster,
            old,
            new,
        }
    }

    /// What Machines made of the old spec would be out of date for.
    #[must_use]
    pub fn of_specs(&self, versions: &Versions, now: Timestamp) -> &[Cause] {
        self.of_specs.get_or_init(|| by_specs(self.mirror, &self.old, &self.new, versions, now))
    }

    /// Every reason why a Machine is out of date after the write.
    pub fn causes(&self) -> impl Iterator<Item = &Cause> {
        self.units.iter().filter(|unit| unit.count > 0).flat_map(|unit| &unit.after)
    }

    /// The Machines that this write makes out of date.
    pub fn newly(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| unit.count > 0 && unit.before.is_empty() && !unit.after.is_empty())
    }

    /// The Machines that were out of date already and still are.
    pub fn pending(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| unit.count > 0 && !unit.before.is_empty() && !unit.after.is_empty())
    }

    /// The Machines that stop being out of date.
    pub fn cancelled(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| unit.count > 0 && !unit.before.is_empty() && unit.after.is_empty())
    }

    /// Whether Machines that are out of date are left alone for now.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.held(Act::Replace).is_some()
    }

    /// What keeps the controllers from an act after the write.
    #[must_use]
    pub fn held(&self, act: Act) -> Option<&Hold> {
        hold::of(&self.held, act)
    }

    /// Whether the write lets go what waited before.
    #[must_use]
    pub fn is_released(&self) -> bool {
        hold::of(&self.was_held, Act::Replace).is_some() && !self.waits()
    }

    /// How many Machines there are, as they were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.units.iter().map(|unit| unit.count).sum()
    }
}

/// Whether every Machine in the namespace of an owner was read.
fn has_whole_list(stage: &Stage<'_>, key: &Key, mirror: Mirror) -> bool {
    let coverage = &stage.scene.world.coverage;
    let has = |kind: &str| {
        let kind = GroupKind::new("cluster.x-k8s.io", kind);
        key.namespace.as_deref().is_some_and(|namespace| coverage.has_list(&kind, namespace))
    };
    matches!(coverage, Coverage::Asked(_)) && has("Machine") && (mirror != Mirror::Workers || has("MachineSet"))
}

/// The infrastructure template of a kubeadm control plane, where it is known not to be there. Since 1.12 that stops its
/// controller before anything is compared (`desired_state.go` ComputeDesiredInfraMachine); before, it stops at the next Machine.
fn missing_template(stage: &Stage<'_>, key: &Key, mirror: Mirror, new: &Value) -> Option<Key> {
    if mirror != Mirror::Kubeadm {
        return None;
    }
    let reference = new.pointer("/spec/machineTemplate/spec/infrastructureRef")?;
    let target = machines::target(reference, key.namespace.as_deref())?;
    (stage.is_absent(&target) && stage.after(&target).is_none()).then_some(target)
}

/// What Machines made of `old` are out of date for when `new` is wanted.
fn by_specs(mirror: Mirror, old: &Value, new: &Value, versions: &Versions, now: Timestamp) -> Vec<Cause> {
    let causes = |member: &Member| member_causes(mirror, member, new, versions, now);
    match mirror {
        // One by init and one joined stand for all of them.
        Mirror::Kubeadm => {
            [false, true].iter().flat_map(|join| causes(&kcp::made(old, *join, versions, now))).collect()
        }
        Mirror::Rke2 => rke2::derived(old, now).map(|(member, _)| causes(&member)).unwrap_or_default(),
        Mirror::Workers => {
            let sets = machine_deployment::derived(old, now);
            machine_deployment::outdated(&sets, new, versions, now).into_iter().flatten().collect()
        }
    }
}

/// The causes of one Machine of a control plane.
pub(crate) fn member_causes(
    mirror: Mirror,
    member: &Member,
    owner: &Value,
    versions: &Versions,
    now: Timestamp,
) -> Vec<Cause> {
    match mirror {
        Mirror::Kubeadm => kcp::outdated(member, owner, versions, now),
        Mirror::Rke2 => rke2::outdated(member, owner, versions),
        Mirror::Workers => Vec::new(),
    }
}

/// The Machines of an owner, real where they were read, derived from the old spec otherwise.
fn units(
    stage: &Stage<'_>,
    key: &Key,
    mirror: Mirror,
    old: &Value,
    new: &Value,
    cluster: Option<&Key>,
) -> (Basis, Vec<Unit>) {
    let (versions, now) = (&stage.versions, stage.scene.world.now);
    if mirror == Mirror::Workers {
        let real = machine_deployment::sets(stage.scene, key, versions);
        let (basis, sets) = match real.is_empty() && !has_no_machines(old) {
            true => (Basis::Specs, machine_deployment::derived(old, now)),
            false => (Basis::Machines, real),
        };
        let before = match basis {
            Basis::Specs => vec![Vec::new(); sets.len()],
            Basis::Machines => machine_deployment::outdated(&sets, old, versions, now),
        };
        let after = machine_deployment::outdated(&sets, new, versions, now);
        let units = sets.into_iter().zip(before.into_iter().zip(after)).map(|(set, (before, after))| Unit {
            names: set.machines,
            count: set.count,
            before,
            after,
        });
        return (basis, units.collect());
    }
    let mut members =
        machines::of_control_plane(stage.scene, key, cluster.map_or("", |key| key.name.as_str()), versions);
    members.retain(|member| !member.is_deleting());
    let derived = || match mirror {
        Mirror::Rke2 => rke2::derived(old, now).into_iter().collect(),
        _ => kcp::derived(old, versions, now),
    };
    let causes = |member: &Member, owner: &Value| member_causes(mirror, member, owner, versions, now);
    if members.is_empty() && !has_no_machines(old) {
        let alike = derived().into_iter().map(|(member, count)| Unit {
            names: Vec::new(),
            count,
            before: Vec::new(),
            after: causes(&member, new),
        });
        return (Basis::Specs, alike.collect());
    }
    fill_unread(stage, &mut members, derived);
    // An older version of the API shows arguments as a map: in which order they are stored only the Machines tell.
    let hides_order = mirror == Mirror::Kubeadm
        && stage.versions.capi(11)
        && stage.pair(key).is_some_and(|pair| pair.api_version.ends_with("v1beta1"));
    let units = members.iter().map(|member| Unit {
        names: Some(member.name.clone()).filter(|name| !name.is_empty()).into_iter().collect(),
        count: 1,
        before: if hides_order { causes(member, &kcp::in_order_of(member, old)) } else { causes(member, old) },
        after: causes(member, new),
    });
    (Basis::Machines, units.collect())
}

/// Whether the controller said, for this very spec, that there are no Machines yet.
fn has_no_machines(owner: &Value) -> bool {
    let observed = number(owner, "/status/observedGeneration");
    number(owner, "/status/replicas") == Some(0)
        && observed.is_some()
        && observed == number(owner, "/metadata/generation")
}

/// Where bootstrap configs or infrastructure Machines were not read at all, takes what the old spec would have made:
/// an object that is known to be missing counts as matching, one that nobody looked for does not.
fn fill_unread(stage: &Stage<'_>, members: &mut [Member], derived: impl FnOnce() -> Vec<(Member, u64)>) {
    if members.iter().all(|member| member.config.is_some() && member.infra.is_some()) {
        return;
    }
    let Some((last, _)) = derived().pop() else { return };
    // Another object of the kind shows that the kind was read; an absence is one of this very object or kind.
    let read = |reference: &Value, machine: &Value| {
        let Some(key) = machines::target(reference, text(machine, "/metadata/namespace")) else { return false };
        stage.scene.view.of_kind(&key.kind).next().is_some() || stage.is_absent(&key)
    };
    for member in members {
        let config = member.machine.pointer("/spec/bootstrap/configRef").cloned().unwrap_or_default();
        if member.config.is_none() && !read(&config, &member.machine) {
            member.config.clone_from(&last.config);
        }
        let infra = member.machine.pointer("/spec/infrastructureRef").cloned().unwrap_or_default();
        if member.infra.is_none() && !read(&infra, &member.machine) {
            member.infra.clone_from(&last.infra);
        }
    }
}
