//! The policy file: which values come late, where pins live, and what each gate does.
//! Read by the same reader as manifests, so that a message can name the line.

mod check;
pub(crate) mod cron;
mod duration;
mod expected;
mod file;
pub(crate) mod freeze;
mod looser;
mod origins;
mod places;
mod read;
mod reference;
mod schema;
mod selector;

pub(crate) use crate::yaml::nearest;
pub(crate) use duration::duration;
pub(crate) use file::{FILE_NAME, LoadError, Loaded, digest, find};
pub(crate) use looser::{Moved, moved};
pub(crate) use origins::origins;
pub(crate) use places::{Places, Resolve};
pub(crate) use read::PolicyErrors;
pub(crate) use read::line_of;
pub use read::parse;
pub use reference::reference;
#[cfg(test)]
pub(crate) use schema::Networks;
#[cfg(test)]
pub(crate) use schema::fresh_schema;
pub(crate) use schema::{
    ApprovalPlace, ApprovalTrailer, Approvals, BreakGlass, Budget, Doubt, Expectation, FieldPin, FirstInstall, Flux,
    FluxValues, Freeze, GateAnswer, Gates, HealthGates, HistoryPlace, HttpSource, Ignore, LateValue, Later,
    ObjectSource, PinMode, Revision, Source, SourceKind, Unseen, UserRule, ValueType, Window,
};
pub(crate) use schema::{ClusterGates, Images, ListedRelease, Profile, SCHEMA, Workload};
pub use schema::{Pins, Policy, StoreKind};
pub(crate) use selector::Selector;
