//! `helm template` through the gate and with late values, with both majors: a held and an allowed run each.

use crate::bench::{Space, bench, say};
use crate::helm::{Helm, Release};

const ADDRESS: &str = "10.0.3.7";

/// A policy without a source that needs the cluster.
const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
  - {name: cluster_virtual_ip, placeholders: [unknown.example], type: ip, from: [{env: CLUSTER_VIP}], pin: follow}
";

fn release<'a>(space: &'a Space, helm: Helm) -> Release<'a> {
    let policy = space.file("rollgate.yaml", POLICY);
    let release = Release { space, helm, name: "demo", chart: "kubeadm", values: Vec::new(), policy };
    say(&format!("{} is {}", helm.name(), release.version()));
    release
}

fn judged(helm: Helm) {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, &format!("template-{}", helm.name()));
    let release = release(&space, helm);
    let before = release.template(&[]).succeeded().stdout;
    let live = space.file("before.yaml", &before);

    let allowed = release.template_against(&live, &[]).succeeded();
    assert_eq!(documents(&allowed.stdout), documents(&before), "an allowed render must come out whole");

    let held = release.template_against(&live, &[&format!("vip={ADDRESS}")]).refused("KubeadmControlPlane");
    assert!(held.stderr.contains(ADDRESS), "the reason must name the value: {held:#?}");
    assert!(!held.stdout.contains("kind:"), "a held render must not come out: {held:#?}");
}

/// Documents that hold an object.
fn documents(stream: &str) -> usize {
    stream.lines().filter(|line| line.starts_with("kind:")).count()
}

fn values(helm: Helm) {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, &format!("values-{}", helm.name()));
    let release = release(&space, helm);
    space.file("values.yaml.j2", "vip: {{ late(\"cluster_virtual_ip\") }}\n");

    let known = release.template_with_values("rollgate://values.yaml.j2", &[("CLUSTER_VIP", ADDRESS)]).succeeded();
    assert!(known.stdout.contains(ADDRESS), "{known:#?}");
    release.template_with_values("rollgate://values.yaml.j2", &[]).refused("cluster_virtual_ip");
}

#[test]
fn a_render_is_held_or_allowed_with_helm3() {
    judged(Helm::V3);
}

#[test]
fn a_render_is_held_or_allowed_with_helm4() {
    judged(Helm::V4);
}

#[test]
fn late_values_reach_the_chart_with_helm3() {
    values(Helm::V3);
}

#[test]
fn late_values_reach_the_chart_with_helm4() {
    values(Helm::V4);
}
