//! What a run says: one model, one file a format. Nothing here decides anything.

mod about;
mod build;
mod differ;
mod dry_run;
pub mod escape;
pub mod fold;
mod format;
pub mod github;
pub mod gitlab;
pub mod html;
pub mod human;
mod ignore;
pub mod json;
pub mod junit;
pub mod markdown;
mod model;
mod notice;
pub mod sarif;
pub mod score;
pub mod sentence;
mod several;
mod template;
pub mod why;

pub use crate::model::{Finding, Reason, plural};
pub use about::complete;
pub(crate) use build::said_once;
pub use build::{Digest, Marks, Parts, build, cluster, digest, hash, is_along, leads_to};
pub use dry_run::{DryRunAnswer, DryRunDifference, DryRunObject, DryRunReport};
pub use format::{Format, FormatOptions};
pub use ignore::ignore;
pub use model::{
    ApprovalReport, AttemptReport, BreakGlassReport, ChangeReport, HostReport, IgnoredReport, LateState,
    LateValueReport, LiveReport, ObjectReport, PlaceReport, PolicyReport, Report, SourceState, Standing,
};
pub use several::{ReportList, decision, effect};
