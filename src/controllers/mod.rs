//! Mirrors of the controllers' own decisions: which Machines are outdated, and why.
//! One file a controller, readable beside the Go file that it names.

mod scene;

pub use scene::{Classified, Scene};
