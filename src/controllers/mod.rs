//! Mirrors of the controllers' own decisions: which Machines are outdated, and why.
//! One file a controller, readable beside the Go file that it names.

mod admission;
pub mod cause;
mod classify;
mod convert;
mod coredns;
mod dangling;
mod deletions;
pub mod diff;
pub mod gates;
mod half_applied;
pub mod hub;
mod judge;
pub mod kcp;
pub mod kcp_config;
pub mod kcp_config_old;
pub mod labels;
pub mod machine_deployment;
pub mod machines;
mod owner;
mod plain_owner;
pub mod replicas;
pub mod rke2;
mod scene;
mod selector;
mod stage;
mod templates;
mod topology;
mod verdict;
mod weigh;

pub use cause::Cause;
pub use classify::classify;
pub use owner::{Assessment, Mirror, Unit};
pub use replicas::wanted as replicas_wanted;
pub use scene::{Classified, Scene};
