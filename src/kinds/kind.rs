//! One kind: its name, its role, and what its provider knows of it. A kind that no provider claims has what Cluster API's
//! contract says of its group and name.

use std::sync::LazyLock;

use super::contract::{BOOTSTRAP, CONTROL_PLANE, is_infrastructure};
use super::fixed::Fixed;
use super::mirror::Mirror;
use super::pools::Pools;
use super::superset::Superset;
use super::webhook::Webhook;
use crate::model::{Effect, RuleId};
use crate::object::{Key, Path};
use crate::tree::Value;

/// What a kind is to Cluster API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The Cluster.
    Cluster,
    /// The class of clusters with a topology.
    Class,
    /// What owns the Machines of a control plane, or stands for a control plane without Machines.
    ControlPlane,
    /// MachineDeployment.
    Deployment,
    /// MachineSet.
    Set,
    /// MachinePool.
    Pool,
    /// Machine.
    Machine,
    /// MachineHealthCheck.
    HealthCheck,
    /// The infrastructure of a cluster.
    InfraCluster,
    /// The infrastructure of a Machine.
    InfraMachine,
    /// The infrastructure of a pool.
    InfraPool,
    /// What one Machine is bootstrapped with.
    Config,
    /// What others are made from.
    Template,
    /// An address, or a claim of one.
    Address,
    /// A Secret or a ConfigMap.
    Data,
    /// A host of bare metal.
    Host,
    /// Nothing that is known.
    Other,
}

impl Role {
    /// Its word, as pages show it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Class => "class",
            Self::ControlPlane => "control plane",
            Self::Deployment | Self::Set | Self::Pool => "workers",
            Self::Machine => "Machine",
            Self::HealthCheck => "health check",
            Self::InfraCluster => "infrastructure of a cluster",
            Self::InfraMachine => "infrastructure of a Machine",
            Self::InfraPool => "infrastructure of a pool",
            Self::Config => "bootstrap config",
            Self::Template => "template",
            Self::Address => "address",
            Self::Data => "data",
            Self::Host => "host",
            Self::Other => "other",
        }
    }

    /// Whether objects of this role own Machines.
    #[must_use]
    pub const fn owns_machines(self) -> bool {
        matches!(self, Self::ControlPlane | Self::Deployment | Self::Set | Self::Pool)
    }

    /// Whether a Cluster has objects of this role for its Machines: a MachineSet belongs to a MachineDeployment.
    #[must_use]
    pub const fn is_part_of_cluster(self) -> bool {
        matches!(self, Self::ControlPlane | Self::Deployment | Self::Pool)
    }

    /// Whether objects of this role are workers: they need nothing but `spec.replicas` to make Machines.
    #[must_use]
    pub const fn is_workers(self) -> bool {
        matches!(self, Self::Deployment | Self::Set | Self::Pool)
    }

    /// Whether Machines hang on what an object of this role says: owners, and what owners are made for.
    #[must_use]
    pub const fn decides_about_machines(self) -> bool {
        self.owns_machines() || matches!(self, Self::Cluster | Self::Class | Self::InfraPool)
    }

    /// Whether controllers make objects of this role, so that one found in an old render was not rendered.
    #[must_use]
    pub const fn is_made_by_controllers(self) -> bool {
        matches!(self, Self::Machine | Self::Set | Self::Config | Self::InfraMachine | Self::Address)
    }
}

/// The ids under which what happens to an owner of Machines is explained.
#[derive(Debug, Clone, Copy)]
pub struct OwnerRules {
    /// Another number of Machines.
    pub replicas: RuleId,
    /// A selector that finds other Machines; its two near misses. `None` where the owner has no selector.
    pub selector: Option<SelectorRules>,
}

/// The ids of a selector.
#[derive(Debug, Clone, Copy)]
pub struct SelectorRules {
    /// Machines are lost.
    pub lost: RuleId,
    /// Every Machine is still found.
    pub kept: RuleId,
    /// The controllers cannot read it.
    pub unreadable: RuleId,
    /// No Machine that is made has the labels that it asks for.
    pub runs_away: RuleId,
}

/// Says of the infrastructure of a pool, and of the annotation by which the pool says who chooses its number, whether the cloud does.
type ScalesItself = fn(&Value, Option<&str>) -> bool;

/// Says of the infrastructure of a pool, of the control plane of its cluster, and of the pool before and after whether hosts come to differ
/// by its version.
type ReadsVersion = fn(&Value, Option<&Value>, (&Value, &Value)) -> bool;

/// What waits for an object that its controller is kept from: the effect, and what happens.
type Waiting = fn(&Value) -> Option<(Effect, &'static str)>;

/// What is known of one kind.
#[derive(Clone, Copy)]
pub struct Kind {
    /// API group.
    pub group: &'static str,
    /// Name; empty for a kind that only the contract knows.
    pub name: &'static str,
    /// Role.
    pub role: Role,
    /// What happens to its Machines, where it owns some.
    pub owner: Option<&'static OwnerRules>,
    /// How its controller decides which Machines are out of date.
    pub mirror: Option<&'static dyn Mirror>,
    /// What its webhooks fill in and refuse.
    pub webhook: Option<&'static dyn Webhook>,
    /// The fields that moved between its versions.
    pub superset: Option<&'static LazyLock<Superset>>,
    /// What its webhook compares as a whole.
    pub fixed: Option<&'static Fixed>,
    /// The feature gates that it may need, each with a word that its text then holds.
    pub gates: &'static [(&'static str, &'static str)],
    /// Whether its objects refer to others, although their role does not say so.
    pub refers: bool,
    /// Whether Machines feel the removal of its objects only through what refers to them, although their role does not say so.
    pub by_reference: bool,
    /// The kind of host that its Machines run on, as group and name, where hosts are objects.
    pub hosts: Option<(&'static str, &'static str)>,
    /// Where the image of new Machines stands in it, where it is a template with one.
    pub images: &'static [&'static str],
    /// Whether it is read in the version in which it is stored, because an older one shows less of it.
    pub is_read_as_stored: bool,
    /// Whether providers refer to its objects by their name alone, each in a field of its own that says no kind.
    pub named_alone: bool,
    /// Annotations that keep its controller from an object, where they are not those of the contract.
    pub pauses: &'static [&'static str],
    /// What waits for an object whose controller is kept from it, where its own status tells: the effect and what happens.
    pub waiting: Option<Waiting>,
    /// Whether its controller makes no Machine before its Cluster has an address, and certificates that were taken away are back.
    pub waits_for_cluster: bool,
    /// How a host of a pool says that it is up to date, where the provider replaces none while something else manages how many there are.
    pub rests_when_managed: Option<fn(&Value) -> bool>,
    /// Whether the cloud chooses how many hosts a pool with this infrastructure has, whatever the pool says.
    pub scales_itself: Option<ScalesItself>,
    /// What of it its controller takes for the same on both sides of a change, where it is the infrastructure of a pool.
    pub takes_as_same: Option<fn(&Value, &Value, &Path) -> bool>,
    /// Whether another version of a pool with this infrastructure reaches its hosts.
    pub reads_version: Option<ReadsVersion>,
    /// In how many zones its hosts stand, where its controller gives each as many, and rounds down: of the infrastructure of a pool and
    /// of the control plane of its cluster.
    pub zones: Option<fn(&Value, Option<&Value>) -> u64>,
    /// Whether its controller, where it changes anything, also writes the number that the pool says, although something else chooses it.
    pub writes_number_along: bool,
    /// Whether its controller never replaces a Machine for being unhealthy.
    pub leaves_sick: bool,
    /// How many Machines its controller never goes below once there are as many, whatever number its objects say.
    pub keeps: u64,
    /// Where its objects say how many hosts they may have at most, as a pointer.
    pub most: Option<&'static str>,
    /// Between which numbers the cloud takes the one that its controller asks for, where it is the infrastructure of a pool.
    pub bounds: Option<&'static Bounds>,
    /// What its controller takes for one of its objects alone.
    pub claim: Option<&'static Claim>,
    /// Whether a word inside of the credentials that its objects name, replaced by another one or not, makes the provider look elsewhere.
    pub looks_at: Option<fn(&str, bool) -> bool>,
    /// The pools that its fields reach, where it is the infrastructure of a cluster.
    pub pools: Option<&'static Pools>,
    /// Fields of its spec whose parts are on where they are there, if empty: an empty block there is not as none.
    pub switches: &'static [&'static str],
    /// Where its objects say which clusters have what they install, by labels: it is taken out of one that they select no more.
    pub installs_into: Option<&'static str>,
    /// What its controller writes into its spec, in blocks that a render may have.
    pub made: &'static [Made],
}

/// A field that a controller writes into the spec of an object, and that its webhook lets nobody take away.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    /// Where it stands, as a pointer.
    pub pointer: &'static str,
    /// The rule under which its loss is told.
    pub rule: RuleId,
}

/// Between which numbers the cloud takes the number of a pool; it refuses any other one, and the controller stops with an error.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Where the infrastructure of the pool says the least, as a pointer.
    pub least: &'static str,
    /// Where it says the most, as a pointer.
    pub most: &'static str,
    /// What counts where it says nothing; the cloud refuses nothing where that is `None`.
    pub unsaid: Option<u64>,
    /// When the controller asks the cloud for a number.
    pub asks: Asks,
}

/// When the controller of a pool asks the cloud for a number of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Whenever it changes the pool; of one that something else scales it asks for the number that the cloud has.
    Always,
    /// Whenever it changes the pool, unless something else scales it.
    UnlessManaged,
    /// Only when it makes the pool.
    Once,
}

/// A Secret in the namespace of an object that its controller takes for this object alone; it stops with an error at one that another has.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// The name of that Secret in an object.
    pub of: fn(&Value) -> Option<&str>,
    /// Where the object says it, as keys.
    pub at: &'static [&'static str],
    /// The rule under which a Secret of another object is told.
    pub rule: RuleId,
}

/// The key of an object with what is known of its kind, looked up once for all who ask.
#[derive(Debug)]
pub(crate) struct Typed<'a> {
    key: &'a Key,
    /// What is known of its kind.
    pub known: &'static Kind,
}

impl<'a> Typed<'a> {
    /// A key with its kind.
    #[must_use]
    pub(crate) const fn new(key: &'a Key, known: &'static Kind) -> Self {
        Self { key, known }
    }
}

impl std::ops::Deref for Typed<'_> {
    type Target = Key;

    fn deref(&self) -> &Key {
        self.key
    }
}

impl std::fmt::Display for Typed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.key.fmt(f)
    }
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { group, name, role, .. } = self;
        f.debug_struct("Kind").field("group", group).field("name", name).field("role", role).finish_non_exhaustive()
    }
}

impl Kind {
    /// A kind of which only the role is known.
    #[must_use]
    pub const fn new(group: &'static str, name: &'static str, role: Role) -> Self {
        Self {
            group,
            name,
            role,
            owner: None,
            mirror: None,
            webhook: None,
            superset: None,
            fixed: None,
            gates: &[],
            refers: false,
            by_reference: false,
            hosts: None,
            images: &[],
            is_read_as_stored: false,
            named_alone: false,
            pauses: &[],
            waiting: None,
            waits_for_cluster: false,
            rests_when_managed: None,
            scales_itself: None,
            takes_as_same: None,
            reads_version: None,
            zones: None,
            writes_number_along: false,
            leaves_sick: false,
            keeps: 0,
            most: None,
            bounds: None,
            claim: None,
            looks_at: None,
            pools: None,
            switches: &[],
            installs_into: None,
            made: &[],
        }
    }

    /// Whether its objects own Machines and no mirror knows which of them are out of date.
    #[must_use]
    pub const fn is_plain_owner(&self) -> bool {
        self.role.owns_machines() && self.mirror.is_none()
    }

    /// Whether Machines feel the removal of its objects only through what refers to them.
    #[must_use]
    pub const fn is_felt_by_reference(&self) -> bool {
        self.by_reference || matches!(self.role, Role::Template | Role::Data | Role::Config | Role::Class)
    }

    /// Whether its objects in this group refer to others whose change or absence they feel.
    #[must_use]
    pub fn refers(&self, group: &str) -> bool {
        match self.role {
            Role::Cluster | Role::Class | Role::HealthCheck => true,
            role if role.owns_machines() => true,
            Role::InfraMachine | Role::Config => false,
            Role::Host | Role::Address => true,
            _ => self.refers || group == CONTROL_PLANE || group == BOOTSTRAP || is_infrastructure(group),
        }
    }
}
