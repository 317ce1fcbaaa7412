//! rollgate says what an install will do to Cluster API Machines before the host writes it.
//!
//! The data flow: a rendered stream and a policy say what must be known; one read makes a World; `pipeline::judge` turns both into a
//! judgement; the judgement is committed. The two ends do all I/O, `pipeline::judge` and what it calls none. [`facade`] names what can be
//! reached from outside.

mod alike;
mod apiserver;
mod approval;
pub mod cli;
mod cluster;
mod compare;
mod contract;
pub mod exit;
pub mod facade;
mod flux;
mod gate;
mod gotemplate;
mod hashed;
mod history;
mod host;
mod impact;
mod judge;
mod kinds;
mod late;
mod memory;
mod model;
mod object;
mod parallel;
mod pin;
mod pipeline;
mod policy;
mod providers;
mod report;
mod rules;
mod schema;
mod score;
#[cfg(feature = "serve")]
mod serve;
mod session;
mod store;
mod tree;
mod verdict;
mod world;
mod yaml;
