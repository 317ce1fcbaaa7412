//! The kubeadm bootstrap and control plane providers.

pub mod config;
pub mod config_old;
pub mod config_webhook;
pub mod convert;
pub mod coredns;
pub mod mirror;
pub mod webhook;
