//! The packs that are built into the program, and the order in which they are asked.

use super::pack::Pack;
use crate::yaml;

/// Name and text of each pack, the narrow ones first.
const TEXTS: &[(&str, &str)] = &[
    ("kubeadm-control-plane", include_str!("../providers/kubeadm/packs/kubeadm-control-plane.yaml")),
    ("rke2", include_str!("../providers/rke2/packs/rke2.yaml")),
    ("k0smotron", include_str!("../providers/k0smotron/packs/k0smotron.yaml")),
    ("ck8s", include_str!("../providers/ck8s/packs/ck8s.yaml")),
    ("rke2-templates", include_str!("../providers/rke2/packs/rke2-templates.yaml")),
    ("workers", include_str!("../providers/core/packs/workers.yaml")),
    ("waiting", include_str!("../providers/core/packs/waiting.yaml")),
    ("machine-set", include_str!("../providers/core/packs/machine-set.yaml")),
    ("machine-pool", include_str!("../providers/core/packs/machine-pool.yaml")),
    ("machine-health-check", include_str!("../providers/core/packs/machine-health-check.yaml")),
    ("cluster", include_str!("../providers/core/packs/cluster.yaml")),
    ("cluster-class", include_str!("../providers/core/packs/cluster-class.yaml")),
    ("config-templates", include_str!("../providers/core/packs/config-templates.yaml")),
    ("bootstrap-configs", include_str!("../providers/core/packs/bootstrap-configs.yaml")),
    ("openstack", include_str!("../providers/openstack/packs/openstack.yaml")),
    ("openstack-machines", include_str!("../providers/openstack/packs/openstack-machines.yaml")),
    ("metal3", include_str!("../providers/metal3/packs/metal3.yaml")),
    ("metal3-machines", include_str!("../providers/metal3/packs/metal3-machines.yaml")),
    ("vsphere", include_str!("../providers/vsphere/packs/vsphere.yaml")),
    ("vsphere-zones", include_str!("../providers/vsphere/packs/vsphere-zones.yaml")),
    ("vsphere-machines", include_str!("../providers/vsphere/packs/vsphere-machines.yaml")),
    ("vsphere-supervisor-machines", include_str!("../providers/vsphere/packs/vsphere-supervisor-machines.yaml")),
    ("vsphere-supervisor-clusters", include_str!("../providers/vsphere/packs/vsphere-supervisor-clusters.yaml")),
    ("eks", include_str!("../providers/aws/packs/eks.yaml")),
    ("eks-others", include_str!("../providers/aws/packs/eks-others.yaml")),
    ("eks-fargate", include_str!("../providers/aws/packs/eks-fargate.yaml")),
    ("eks-pools", include_str!("../providers/aws/packs/eks-pools.yaml")),
    ("aws-clusters", include_str!("../providers/aws/packs/aws-clusters.yaml")),
    ("aws-machines", include_str!("../providers/aws/packs/aws-machines.yaml")),
    ("aws-pools", include_str!("../providers/aws/packs/aws-pools.yaml")),
    ("aws-own-identity", include_str!("../providers/aws/packs/aws-own-identity.yaml")),
    ("aws-identities", include_str!("../providers/aws/packs/aws-identities.yaml")),
    ("hetzner", include_str!("../providers/hetzner/packs/hetzner.yaml")),
    ("docker", include_str!("../providers/docker/packs/docker.yaml")),
    ("docker-machines", include_str!("../providers/docker/packs/docker-machines.yaml")),
    ("openstack-templates", include_str!("../providers/openstack/packs/openstack-templates.yaml")),
    ("whole-templates", include_str!("../providers/core/packs/whole-templates.yaml")),
    ("vsphere-supervisor", include_str!("../providers/vsphere/packs/vsphere-supervisor.yaml")),
    ("machine-templates", include_str!("../providers/core/packs/machine-templates.yaml")),
    ("harmless", include_str!("../providers/core/packs/harmless.yaml")),
    ("references", include_str!("../providers/core/packs/references.yaml")),
    ("others", include_str!("../providers/core/packs/others.yaml")),
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
