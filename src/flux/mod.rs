//! What Flux makes of its own objects before Helm and kustomize render: the values of a HelmRelease, the names of what it installs,
//! its post-renderers, and the variables of a Kustomization.

pub(crate) mod helm_chart;
pub(crate) mod patches;
pub(crate) mod published;
#[cfg(test)]
mod recorded;
pub(crate) mod release;
pub(crate) mod sourceignore;
pub(crate) mod strvals;
pub(crate) mod substitute;
pub(crate) mod tree;
pub(crate) mod values;

/// The group of HelmReleases.
pub(crate) const RELEASES: &str = "helm.toolkit.fluxcd.io";
/// The group of Kustomizations.
pub(crate) const KUSTOMIZATIONS: &str = "kustomize.toolkit.fluxcd.io";
/// The group of what both are made from.
pub(crate) const SOURCES: &str = "source.toolkit.fluxcd.io";
