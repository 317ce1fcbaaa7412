//! How many Machines, in which order, with what room: the weight of a change, per owner.

mod count;
mod course;
mod rollout;
pub(crate) mod simulate;
mod together;

pub(crate) use count::counted;
pub(crate) use course::has_more_room;
pub(crate) use rollout::{Weighed, of};
pub(crate) use rollout::{deletes_all, fewer, gone};
pub(crate) use together::{at_once, together};

pub(crate) use crate::model::Rollout;
