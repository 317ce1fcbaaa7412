//! Everything that is known about the cluster for one run, as one value.
//! A snapshot is a World in a file, so every online run can be replayed offline.

pub(crate) mod compared;
mod coverage;
mod dump;
pub(crate) mod files;
mod folder;
pub(crate) mod history;
mod host;
pub(crate) mod images;
mod model;
pub(crate) mod providers;
pub(crate) mod release;
pub(crate) mod remote;
pub(crate) mod rights;
pub(crate) mod snapshot;
mod standing;
mod uncover;
mod view;
mod whole;
pub(crate) mod workload;

pub(crate) use whole::{whole, widen};

pub(crate) use coverage::{Asked, Coverage, Extent};
pub use host::{Host, HostKind, ServerSaid};
pub(crate) use host::{ReleaseName, ServerAnswer};
pub use model::{
    Absent, Base, BaseKind, LiveKind, LiveSource, Provider, Release, ReleaseStatus, Unread, World, WriteMethod,
};
pub(crate) use model::{Gap, SourceReading};
pub(crate) use standing::Standing;
pub use standing::{Marks, There};
