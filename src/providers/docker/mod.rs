//! The Docker provider that Cluster API tests itself with.

pub mod webhook;
