//! Everything that is known about the cluster for one run, as one value.
//! A snapshot is a World in a file, so every online run can be replayed offline.

mod model;

pub use model::{
    Absent, Base, BaseKind, LiveKind, LiveSource, Provider, Release, ReleaseStatus, SourceReading, Unread, World,
    WriteMethod,
};
