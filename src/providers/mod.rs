//! All that is known of one provider, a folder each: mirror, webhook, defaults, packs.

pub mod aws;
pub mod core;
pub mod docker;
pub mod kubeadm;
pub mod metal3;
pub mod openstack;
pub mod rke2;
pub mod vsphere;
