//! What Flux makes of its own objects before Helm and kustomize render: the values of a HelmRelease, the names of what it installs,
//! its post-renderers, and the variables of a Kustomization.

pub mod helm_chart;
pub mod patches;
pub mod published;
#[cfg(test)]
mod recorded;
pub mod release;
pub mod strvals;
pub mod substitute;
pub mod tree;
pub mod values;

/// The group of HelmReleases.
pub const RELEASES: &str = "helm.toolkit.fluxcd.io";
/// The group of Kustomizations.
pub const KUSTOMIZATIONS: &str = "kustomize.toolkit.fluxcd.io";
/// The group of what both are made from.
pub const SOURCES: &str = "source.toolkit.fluxcd.io";
