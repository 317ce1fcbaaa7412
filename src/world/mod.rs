//! Everything that is known about the cluster for one run, as one value.
//! A snapshot is a World in a file, so every online run can be replayed offline.

pub(crate) mod compared;
mod coverage;
pub mod files;
pub mod history;
mod host;
pub mod images;
mod model;
pub mod providers;
pub mod release;
pub mod remote;
pub mod rights;
pub mod snapshot;
mod standing;
mod uncover;
mod view;
mod whole;
pub mod workload;

pub(crate) use whole::whole;

pub use coverage::{Asked, Coverage, Extent};
pub use host::{Host, HostKind, ReleaseName, ServerAnswer, ServerSaid};
pub use model::{
    Absent, Base, BaseKind, Gap, LiveKind, LiveSource, Provider, Release, ReleaseStatus, SourceReading, Unread, World,
    WriteMethod,
};
pub use standing::{Marks, Standing, There};
pub use view::InMemory;
