//! Metal3.

pub mod webhook;
