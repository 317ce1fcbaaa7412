//! What a run says: one model, one file a format. Nothing here decides anything.

mod about;
mod build;
mod dry_run;
pub mod escape;
pub mod fold;
pub mod human;
mod ignore;
mod model;
pub mod sentence;
pub mod why;

pub use crate::model::{Finding, Reason};
pub use about::complete;
pub use build::{Parts, build, digest, hash};
pub use dry_run::{DryRunAnswer, DryRunDifference, DryRunObject, DryRunReport};
pub use ignore::ignore;
pub use model::{
    AttemptReport, ChangeReport, HostReport, IgnoredReport, LateState, LateValueReport, LiveReport, ObjectReport,
    PlaceReport, PolicyReport, Report, SourceState,
};

/// A count with its noun: `1 Machine`, `3 Machines`.
#[must_use]
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
