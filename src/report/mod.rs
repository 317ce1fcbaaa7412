//! What a run says: one model, one file a format. Nothing here decides anything.

mod about;
mod build;
mod differ;
mod dry_run;
pub(crate) mod escape;
pub(crate) mod fold;
mod format;
pub(crate) mod github;
pub(crate) mod gitlab;
pub(crate) mod html;
pub(crate) mod human;
mod ignore;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod markdown;
mod model;
mod notice;
pub(crate) mod sarif;
pub(crate) mod score;
pub(crate) mod sentence;
mod several;
mod template;
pub(crate) mod why;

pub(crate) use crate::model::plural;
pub(crate) use crate::model::{Finding, Reason};
pub(crate) use about::complete;
pub(crate) use build::said_once;
pub(crate) use build::{Digest, Marks, Parts, build, cluster, digest, hash, is_along, leads_to};
pub(crate) use dry_run::DryRunReport;
pub use format::{Format, FormatOptions};
pub(crate) use ignore::ignore;
pub(crate) use model::Standing;
pub(crate) use model::{
    ApprovalReport, AttemptReport, BreakGlassReport, ChangeReport, HostReport, IgnoredReport, LateState,
    LateValueReport, LiveReport, ObjectReport, PlaceReport, SourceState,
};
pub use model::{PolicyReport, Report};
pub(crate) use several::{ReportList, decision, effect};
