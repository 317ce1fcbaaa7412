//! How many Machines, in which order, with what room: the weight of a change, per owner.

mod count;
mod course;
mod rollout;
pub mod simulate;

pub use count::counted;
pub use rollout::{Weighed, of};
pub(crate) use rollout::{fewer, gone};

pub use crate::model::Rollout;
