//! The packs that are built into the program, and the order in which they are asked.

use super::pack::Pack;
use crate::yaml;

/// Name and text of each pack, the narrow ones first.
const TEXTS: &[(&str, &str)] = &[
    ("kubeadm-control-plane", include_str!("packs/kubeadm-control-plane.yaml")),
    ("rke2", include_str!("packs/rke2.yaml")),
    ("k0smotron", include_str!("packs/k0smotron.yaml")),
    ("ck8s", include_str!("packs/ck8s.yaml")),
    ("rke2-templates", include_str!("packs/rke2-templates.yaml")),
    ("workers", include_str!("packs/workers.yaml")),
    ("machine-set", include_str!("packs/machine-set.yaml")),
    ("machine-pool", include_str!("packs/machine-pool.yaml")),
    ("machine-health-check", include_str!("packs/machine-health-check.yaml")),
    ("cluster", include_str!("packs/cluster.yaml")),
    ("cluster-class", include_str!("packs/cluster-class.yaml")),
    ("config-templates", include_str!("packs/config-templates.yaml")),
    ("bootstrap-configs", include_str!("packs/bootstrap-configs.yaml")),
    ("openstack", include_str!("packs/openstack.yaml")),
    ("openstack-machines", include_str!("packs/openstack-machines.yaml")),
    ("metal3", include_str!("packs/metal3.yaml")),
    ("metal3-machines", include_str!("packs/metal3-machines.yaml")),
    ("vsphere", include_str!("packs/vsphere.yaml")),
    ("vsphere-zones", include_str!("packs/vsphere-zones.yaml")),
    ("vsphere-machines", include_str!("packs/vsphere-machines.yaml")),
    ("vsphere-supervisor-machines", include_str!("packs/vsphere-supervisor-machines.yaml")),
    ("vsphere-supervisor-clusters", include_str!("packs/vsphere-supervisor-clusters.yaml")),
    ("eks", include_str!("packs/eks.yaml")),
    ("eks-others", include_str!("packs/eks-others.yaml")),
    ("eks-fargate", include_str!("packs/eks-fargate.yaml")),
    ("eks-pools", include_str!("packs/eks-pools.yaml")),
    ("aws-clusters", include_str!("packs/aws-clusters.yaml")),
    ("aws-machines", include_str!("packs/aws-machines.yaml")),
    ("aws-pools", include_str!("packs/aws-pools.yaml")),
    ("aws-own-identity", include_str!("packs/aws-own-identity.yaml")),
    ("aws-identities", include_str!("packs/aws-identities.yaml")),
    ("hetzner", include_str!("packs/hetzner.yaml")),
    ("docker", include_str!("packs/docker.yaml")),
    ("docker-machines", include_str!("packs/docker-machines.yaml")),
    ("openstack-templates", include_str!("packs/openstack-templates.yaml")),
    ("whole-templates", include_str!("packs/whole-templates.yaml")),
    ("vsphere-supervisor", include_str!("packs/vsphere-supervisor.yaml")),
    ("machine-templates", include_str!("packs/machine-templates.yaml")),
    ("harmless", include_str!("packs/harmless.yaml")),
    ("references", include_str!("packs/references.yaml")),
    ("others", include_str!("packs/others.yaml")),
];

/// Reads them.
///
/// # Panics
/// Never in a program that was tested: a test reads each pack.
pub(super) fn packs() -> Vec<Pack> {
    TEXTS
        .iter()
        .map(|(name, text)| {
            let span = yaml::Span { start: 0, end: text.len() };
            let value = yaml::read_json(text.as_bytes(), span).expect("a test reads each pack that is built in");
            Pack::from_value(name, value).expect("a test reads each pack that is built in")
        })
        .collect()
}
