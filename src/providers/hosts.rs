//! Hosts of bare metal, whichever provider makes Machines of them: which are free, and which a template chooses.

pub(crate) use super::metal3::free::{chooses, free, is_free, is_on_its_way, selector, template};
pub(crate) use super::metal3::{HOST, HOST_OF_MACHINE, MACHINE as METAL3_MACHINE};
