//! rollgate says what an install will do to Cluster API Machines before the host writes it.
//!
//! The data flow: a rendered stream and a policy say what must be known; one read makes a [`world::World`];
//! [`pipeline::judge`] turns both into a judgement; the judgement is committed. Only the two ends do I/O.

mod alike;
mod apiserver;
pub mod approval;
pub mod cli;
pub mod cluster;
pub mod compare;
mod contract;
pub mod exit;
pub mod flux;
pub mod gate;
pub mod gotemplate;
mod hashed;
pub mod history;
pub mod host;
pub mod impact;
pub mod judge;
pub mod kinds;
pub mod late;
mod memory;
pub mod model;
pub mod object;
mod parallel;
pub mod pin;
pub mod pipeline;
pub mod policy;
pub mod providers;
pub mod report;
pub mod rules;
pub mod schema;
pub mod score;
#[cfg(feature = "serve")]
pub mod serve;
pub mod session;
pub mod store;
pub mod tree;
pub mod verdict;
pub mod world;
pub mod yaml;
