//! Kinds that are no part of Cluster API and have its objects written all the same: releases, bundles, and clusters of other
//! projects that are made of Cluster API's.

/// The group of the add-ons of Azimuth, which install into the Cluster that they name (stackhpc/capi-addon-provider).
pub(crate) const ADD_ONS: &str = "addons.stackhpc.com";

/// Group and kind of each; every kind of the group where there is no name.
static CARRIERS: &[(&str, &str)] = &[
    ("helm.toolkit.fluxcd.io", ""),
    ("kustomize.toolkit.fluxcd.io", ""),
    ("source.toolkit.fluxcd.io", ""),
    ("fluxcd.controlplane.io", "FluxInstance"),
    ("fluxcd.controlplane.io", "ResourceSet"),
    ("fluxcd.controlplane.io", "ResourceSetInputProvider"),
    ("helm.cattle.io", ""),
    ("fleet.cattle.io", ""),
    ("provisioning.cattle.io", "Cluster"),
    ("rke-machine-config.cattle.io", ""),
    ("argoproj.io", "Application"),
    ("argoproj.io", "ApplicationSet"),
    ("k0rdent.mirantis.com", ""),
    ("hmc.mirantis.com", ""),
    ("helm.crossplane.io", "Release"),
    ("helm.m.crossplane.io", "Release"),
    ("kubernetes.crossplane.io", "Object"),
    ("kubernetes.m.crossplane.io", "Object"),
    ("kro.run", ""),
    ("gitops.kluctl.io", "KluctlDeployment"),
    ("packaging.carvel.dev", "PackageInstall"),
    ("kappctrl.k14s.io", "App"),
    ("application.giantswarm.io", "App"),
    ("anywhere.eks.amazonaws.com", ""),
    ("run.tanzu.vmware.com", "TanzuKubernetesCluster"),
    // Control planes in Pods: their Machines only know the address, but all of them hang on it.
    ("kamaji.clastix.io", "DataStore"),
    ("kamaji.clastix.io", "TenantControlPlane"),
    ("hypershift.openshift.io", "HostedCluster"),
    ("hypershift.openshift.io", "HostedControlPlane"),
    ("hypershift.openshift.io", "NodePool"),
    (ADD_ONS, ""),
];

/// Whether objects of a kind are there to have others written.
#[must_use]
pub(crate) fn is_carrier(group: &str, kind: &str) -> bool {
    CARRIERS.iter().any(|(own, name)| *own == group && (name.is_empty() || *name == kind))
}

/// Whether objects of a kind only say where manifests or charts come from: what was written from one stays when it goes, since it is not
/// ready from then on and nothing is rendered any more (source-controller, `api/v1`, v1.6).
#[must_use]
pub(crate) fn is_source(group: &str) -> bool {
    group == "source.toolkit.fluxcd.io"
}
