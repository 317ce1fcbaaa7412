//! Cluster API Provider AWS, with EKS.

pub mod defaults;
pub mod eks;
pub mod machine;
pub mod pool;
pub mod webhook;
