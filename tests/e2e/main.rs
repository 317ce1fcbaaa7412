//! Tests against a real management cluster with the real controllers, Helm 3, Helm 4 and Flux (see tests/bench).
//!
//! Each test has a namespace of its own; the bench is started once. Without a bench they say so and pass, except in CI.

mod api;
mod approvals;
mod argocd;
mod bench;
mod budget;
mod carried;
mod cases;
#[cfg(feature = "serve")]
mod chart;
mod doubts;
mod dry_run;
mod emptied;
mod flux;
mod flux_patches;
mod flux_render;
#[cfg(feature = "serve")]
mod gate_releases;
mod gates;
mod helm;
mod helmfile;
mod inputs;
#[cfg(feature = "serve")]
mod lines;
mod matrix;
mod names;
mod observe;
mod pins;
mod policy;
#[cfg(feature = "forecasts")]
mod predict;
#[cfg(feature = "forecasts")]
mod predict_adopted;
#[cfg(feature = "forecasts")]
mod predict_flux;
#[cfg(feature = "forecasts")]
mod predict_objects;
#[cfg(feature = "forecasts")]
mod predict_others;
mod readme;
mod rollback;
#[cfg(feature = "forecasts")]
mod rollouts;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "forecasts")]
mod servers;
mod set_back;
mod sources;
mod standing;
#[path = "../bench/starter.rs"]
mod starter;
mod story;
mod template;
mod terraform;
#[cfg(feature = "forecasts")]
#[path = "../rollouts/trace.rs"]
mod trace;
mod why;
