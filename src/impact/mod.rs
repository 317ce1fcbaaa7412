//! How many Machines, in which order, with what room: the weight of a change, per owner.

mod count;
mod course;
mod rollout;
pub mod simulate;
mod together;

pub use count::counted;
pub use course::has_more_room;
pub use rollout::{Weighed, of};
pub(crate) use rollout::{fewer, gone};
pub use together::{Live, at_once, together};

pub use crate::model::Rollout;
