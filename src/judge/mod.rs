//! The effects of pairs on the cluster after the write: which Machines are replaced, deleted or made, and why.

mod aligned;
mod around;
mod arrival;
mod beside;
mod bounds;
mod changed;
mod claimed;
mod classify;
mod dangling;
mod deletions;
mod deselected;
mod due;
mod half_applied;
mod indifferent;
mod later;
mod looks_at;
mod mirrored;
mod no_duration;
mod once;
mod open;
mod outcome;
mod owner;
mod plain_owner;
mod reached;
mod replicas;
mod scene;
mod selector;
mod stage;
mod subject;
mod taken_along;
mod taken_key;
mod templates;
mod topology;
mod update;
pub(crate) mod upgrade;
mod verdict;
mod waiting;
mod weigh;
pub(crate) mod why;

pub use classify::classify;
pub(crate) use once::Once;
pub(crate) use topology::made::patched as patched_templates;
pub(crate) use topology::templates_with_own_image;
pub(crate) use waiting::hosts;

pub use scene::Scene;
