//! Mirrors of the controllers' own decisions: which Machines are outdated, and why.
//! One file a controller, readable beside the Go file that it names.

pub mod cause;
mod classify;
mod deletions;
pub mod diff;
pub mod hub;
mod judge;
pub mod kcp;
pub mod kcp_admission;
pub mod kcp_config;
pub mod machine_deployment;
pub mod machines;
mod owner;
pub mod replicas;
pub mod rke2;
mod scene;
mod stage;
mod templates;
mod verdict;

pub use cause::Cause;
pub use classify::{classify, classify_with};
pub use owner::{Assessment, Mirror, Unit};
pub use replicas::wanted as replicas_wanted;
pub use scene::{Classified, Scene};
