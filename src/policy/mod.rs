//! The policy file: which values come late, where pins live, and what each gate does.
//! Read by the same reader as manifests, so that a message can name the line.

mod check;
mod cron;
mod duration;
mod expected;
mod file;
pub mod freeze;
mod looser;
mod origins;
mod places;
mod read;
mod reference;
mod schema;
mod selector;

pub(crate) use crate::yaml::nearest;
pub use duration::{DurationError, duration};
pub use file::{FILE_NAME, LoadError, Loaded, digest, find};
pub use looser::{Moved, moved};
pub use origins::origins;
pub use places::{Places, Resolve};
pub use read::{PolicyError, PolicyErrors, line_of, parse};
pub use reference::reference;
#[cfg(test)]
pub(crate) use schema::fresh_schema;
pub use schema::{
    ApprovalFile, ApprovalPlace, ApprovalTrailer, Approvals, BreakGlass, Budget, ClusterGates, Doubt, EndpointSource,
    Expectation, FieldPin, FirstInstall, Flux, FluxValues, Forecasts, Freeze, GateAnswer, Gates, HealthGates,
    HeatSource, HistoryFile, HistoryPlace, HttpSource, Ignore, Images, LateValue, Later, ListedRelease, NamedSource,
    Networks, ObjectSource, PinMode, Pins, Policy, Profile, ReleaseSource, Revision, SCHEMA, SetBack, Source,
    StoreKind, Unseen, UserRule, ValueType, Window, Workload, schema_json,
};
pub use selector::Selector;
