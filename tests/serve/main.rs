//! `rollgate serve` as an API server meets it: real TLS, real reviews, and everything that goes wrong around them.
//!
//! `cargo test --release --test serve -- --ignored --nocapture load` measures it.

mod client;
mod faults;
mod load;
mod manifests;
mod server;
