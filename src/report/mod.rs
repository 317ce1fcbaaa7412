//! What a run says: one model, one file a format. Nothing here decides anything.

mod model;

pub use model::{
    ChangeReport, Finding, HostReport, LateState, LateValueReport, LiveReport, ObjectReport, PolicyReport, Reason,
    Report,
};
