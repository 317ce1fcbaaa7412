//! Cluster API Provider RKE2.

pub mod mirror;
pub mod webhook;
