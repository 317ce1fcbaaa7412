//! What keeps a controller from acting on an owner of Machines, and what would let it go.

use super::RuleId;
use crate::object::{Key, Path};

/// Objects and fields in them.
pub(crate) type Places = Vec<(Key, Option<Path>)>;

/// What a controller does to the Machines of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Makes missing Machines.
    Make,
    /// Deletes Machines that are too many.
    Fewer,
    /// Replaces Machines that are out of date.
    Replace,
    /// Deletes all of them with their owner.
    Delete,
    /// Replaces Machines that are unhealthy.
    Remedy,
}

/// Why a controller does not act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// `spec.paused` of the Cluster, or the annotation on the owner: its controllers do nothing at all.
    Paused,
    /// `spec.paused` of a MachineDeployment: nothing is replaced, but it is scaled and deleted.
    RolloutPaused,
    /// An annotation of a Cluster that holds an upgrade back: its controller leaves the group alone until then.
    UpgradeHeld,
    /// The strategy OnDelete.
    OnDelete,
    /// A control plane that replaces a Machine only once somebody deletes it.
    ByHand,
    /// A control plane whose rollout strategy has no type: its controller does not know how to replace Machines.
    NoStrategy,
    /// A strategy that left no room for the rollout, or less than now.
    LittleRoom,
    /// An object that a control plane names is not there: its controller stops with an error.
    Stopped,
    /// An object that new Machines are made of is not there.
    NothingToMakeOf,
    /// The preflight checks of MachineSets let no new Machine be made.
    Preflight,
    /// More Machines are unhealthy than a health check allows.
    TooManySick,
    /// A Machine is not unhealthy for long enough.
    NotYet,
    /// The only Machine of a control plane.
    LastOne,
    /// A MachineSet that the rollout empties anyway.
    OldRevision,
    /// As many unhealthy Machines are being replaced as the owner allows.
    InFlight,
}

impl Why {
    /// Whether it keeps the controller from an act.
    #[must_use]
    pub const fn stops(self, act: Act) -> bool {
        match self {
            Self::Paused => true,
            Self::RolloutPaused | Self::OnDelete | Self::ByHand | Self::NoStrategy | Self::LittleRoom => {
                matches!(act, Act::Replace)
            }
            Self::Stopped | Self::UpgradeHeld => !matches!(act, Act::Delete),
            Self::NothingToMakeOf | Self::Preflight => matches!(act, Act::Replace | Act::Make),
            Self::TooManySick | Self::NotYet | Self::LastOne | Self::OldRevision | Self::InFlight => {
                matches!(act, Act::Remedy)
            }
        }
    }

    /// The rule under which what it held back is told when it is let go.
    #[must_use]
    pub const fn rule(self) -> RuleId {
        match self {
            Self::Paused => RuleId::of("waiting/unpaused"),
            Self::UpgradeHeld => RuleId::of("waiting/topology"),
            Self::RolloutPaused => RuleId::of("md/unpaused"),
            Self::OnDelete => RuleId::of("md/leaving-on-delete"),
            Self::ByHand => RuleId::of("waiting/by-hand"),
            Self::NoStrategy => RuleId::of("waiting/strategy"),
            Self::LittleRoom => RuleId::of("waiting/room"),
            Self::Stopped | Self::NothingToMakeOf => RuleId::of("waiting/arrived"),
            Self::Preflight => RuleId::of("waiting/preflight"),
            Self::TooManySick | Self::NotYet | Self::LastOne | Self::OldRevision | Self::InFlight => {
                RuleId::of("waiting/unhealthy")
            }
        }
    }
}

/// One thing that keeps a controller from acting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// What kind of thing.
    pub why: Why,
    /// Where it stands: objects, and fields in them; a change of any of them may let go what waits.
    pub places: Places,
    /// What holds, as a clause: `the Cluster demo is paused`.
    pub says: String,
    /// What it is when it is over, as a clause: `the Cluster demo is no longer paused`.
    pub over: String,
}

impl Hold {
    /// How an effect that waits is told: what it is, what holds it back, and when it happens.
    #[must_use]
    pub(crate) fn tells(&self, effect: &str) -> String {
        format!("{}; this waits, as {}, and happens when {}", effect.trim_end_matches('.'), self.says, self.over)
    }

    /// What was done, where a write of a field is known to have ended it, and no hand.
    #[must_use]
    pub(crate) fn ended(&self) -> &str {
        self.over.split_once(" or somebody ").map_or(self.over.as_str(), |(written, _)| written)
    }

    /// What a sentence of [`Self::tells`] or [`Self::tells_of`] says: what happens, and when.
    #[must_use]
    pub(crate) fn told(sentence: &str) -> Option<(&str, &str)> {
        let (effect, rest) = sentence.rsplit_once("; this waits, as ")?;
        match rest.rsplit_once(", and happens when ") {
            Some((_, over)) => Some((effect.rsplit("; ").next().unwrap_or(effect), over)),
            None => rest.split_once(": ")?.1.rsplit_once(" when "),
        }
    }

    /// How an effect that waits is told, with what it is that happens then.
    #[must_use]
    pub(crate) fn tells_of(&self, effect: &str, then: &str) -> String {
        format!("{}; this waits, as {}: {then} when {}", effect.trim_end_matches('.'), self.says, self.over)
    }
}

/// What holds an act back, among all that holds an owner.
#[must_use]
pub(crate) fn hold_of(holds: &[Hold], act: Act) -> Option<&Hold> {
    holds.iter().find(|hold| hold.why.stops(act))
}
