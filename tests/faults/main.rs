//! The read from a cluster under faults, under missing rights, and at the size of a fleet: a real API server, with a proxy
//! in front of it that breaks one kind of request in one way.
//!
//! Needs the programs of the bench (`make bench`). Where they are missing the tests say so and pass, except in CI.

#![expect(clippy::print_stderr, reason = "a test says why it was skipped, and what it measured")]

mod bench;
mod commit;
mod emptied;
mod killed;
mod login;
mod look;
mod matrix;
mod proxy;
mod rights;
#[cfg(feature = "serve")]
mod rotation;
#[cfg(feature = "serve")]
mod serve;
#[path = "../bench/starter.rs"]
mod starter;
mod tokens;
mod workload;
