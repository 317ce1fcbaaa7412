//! What a kind is: its names in every API version, its Machines, its feature gates, the versions that decide.
//! Nothing here names a provider.

pub mod diff;
pub mod gates;
pub mod hub;
pub mod labels;
pub mod machines;
pub mod versions;
