//! Cluster API itself: its workers, webhooks and MachineDeployments.

pub mod checks;
pub mod machine_deployment;
pub mod webhook;
