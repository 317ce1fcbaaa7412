//! `rollgate serve` as an API server meets it: real TLS, real reviews, and everything that goes wrong around them.
//!
//! `make load` measures it.

mod client;
mod faults;
#[path = "../../benches/fleet/fill.rs"]
mod fill;
mod load;
mod manifests;
#[expect(dead_code, reason = "the bench of fleets has layouts and files that nobody needs here.")]
#[path = "../../benches/fleet/objects.rs"]
mod objects;
mod online;
mod server;
#[path = "../bench/starter.rs"]
mod starter;
