//! Who writes, and what the API server will hold after the write.

mod model;

pub use model::{Host, HostKind};
