//! How an owner replaces its Machines, and its Machines as its controllers' loops see them.
//! Data only: `impact::simulate` plays it.

/// What an owner's controller does with Machines that are out of date; numbers, not percentages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// One operation at a time, and none while a Machine is not healthy: control planes.
    OneByOne {
        /// Machines above the wanted number at one time.
        surge: u64,
        /// Whether those that are not healthy go first among those that are out of date; else they do where none is.
        sick_first: bool,
        /// Whether its controller makes more while its cache does not show yet which Machines it made.
        is_late: bool,
    },
    /// So many at a time, by a new MachineSet that grows while the old ones shrink.
    Rolling {
        /// Machines above the wanted number at one time.
        surge: u64,
        /// Machines that may be missing at one time.
        unavailable: u64,
        /// Which Machines of a MachineSet go first.
        order: DeletionOrder,
    },
    /// None, until somebody deletes a Machine.
    OnDelete {
        /// Which Machines of a MachineSet go first where there are too many.
        order: DeletionOrder,
    },
    /// The controller stops before it does anything.
    Stopped {
        /// Why, as the end of a sentence about the owner.
        why: String,
    },
}

/// Which Machines of a MachineSet go first, among those that are as healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DeletionOrder {
    /// By name: what the API calls random.
    #[default]
    Random,
    /// The newest first.
    Newest,
    /// The oldest first.
    Oldest,
}

/// A Machine as its owner's loop sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its name; empty where it is derived.
    pub name: String,
    /// Its MachineSet; empty for control planes.
    pub set: String,
    /// When that MachineSet was made, in seconds.
    pub set_born: i64,
    /// When it was made, in seconds.
    pub born: i64,
    /// Whether it is healthy or available, whichever the loop asks.
    pub is_ready: bool,
    /// Whether its MachineSet gives it up before others.
    pub is_sick: bool,
    /// Whether it is being deleted.
    pub is_going: bool,
    /// Whether somebody asked for it to be deleted first.
    pub is_marked: bool,
    /// Whether a health check handed it to its owner, who deletes it and makes another one.
    pub is_condemned: bool,
    /// Where it stands; empty where no failure domain is told.
    pub domain: String,
}
