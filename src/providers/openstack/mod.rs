//! Cluster API Provider OpenStack.

pub mod webhook;
