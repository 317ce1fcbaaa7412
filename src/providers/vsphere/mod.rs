//! Cluster API Provider vSphere.

pub mod webhook;
