//! Tests of what the kinds of the providers say about their forms: what moved, and what is compared as a whole.

use super::{kind, kind_of};
use crate::kinds::contract::{CONTROL_PLANE, CORE};
use crate::kinds::fixed::Fixed;
use crate::kinds::gates::State;
use crate::kinds::webhook::Write;
use crate::kinds::{Versions, superset};
use crate::object::{Key, Path};
use crate::tree::{Value, json};

fn fixed(api_version: &str, name: &str) -> Option<&'static Fixed> {
    kind(&Key::new(api_version, name, None, "x")).fixed
}

fn newest() -> Versions {
    Versions::told("cluster-api", "v1.14.2")
}

#[test]
fn an_old_control_plane_gets_the_new_names_and_its_paths_follow() {
    let old = json!({"spec": {
        "machineTemplate": {"nodeDrainTimeout": "5m0s", "infrastructureRef":
            {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "T", "name": "a", "namespace": "n"}},
        "remediationStrategy": {"retryPeriod": "20m"},
        "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraArgs": {"v": "2", "a": "1"}}},
            "initConfiguration": {"bootstrapTokens": [{"ttl": "1m"}]}}}});
    let new = superset::value(
        kind_of(CONTROL_PLANE, "KubeadmControlPlane"),
        "controlplane.cluster.x-k8s.io/v1beta1",
        &old,
        &newest(),
    );
    assert_eq!(
        new,
        json!({"spec": {
            "machineTemplate": {"spec": {"deletion": {"nodeDrainTimeoutSeconds": 300}, "infrastructureRef":
                {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "T", "name": "a", "namespace": "n"}}},
            "remediation": {"retryPeriodSeconds": 1200},
            "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraArgs":
                [{"name": "a", "value": "1"}, {"name": "v", "value": "2"}]}},
                "initConfiguration": {"bootstrapTokens": [{"ttlSeconds": 60}]}}}})
    );
    for (from, to) in [
        ("spec.machineTemplate.nodeDrainTimeout", "spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds"),
        ("spec.machineTemplate.infrastructureRef.apiVersion", "spec.machineTemplate.spec.infrastructureRef.apiGroup"),
        ("spec.remediationStrategy.retryPeriod", "spec.remediation.retryPeriodSeconds"),
        (
            "spec.kubeadmConfigSpec.initConfiguration.bootstrapTokens[3].ttl",
            "spec.kubeadmConfigSpec.initConfiguration.bootstrapTokens[3].ttlSeconds",
        ),
        ("spec.version", "spec.version"),
    ] {
        let from = Path::parse(from).expect("a path");
        assert_eq!(
            superset::path(
                kind_of(CONTROL_PLANE, "KubeadmControlPlane"),
                "controlplane.cluster.x-k8s.io/v1beta1",
                &from,
                &newest()
            )
            .to_string(),
            to
        );
    }
}

#[test]
fn a_new_object_stays_as_it_is() {
    let new = json!({"spec": {"rollout": {"after": "x"}, "rolloutAfter": "y"}});
    assert_eq!(superset::value(kind_of(CORE, "MachineDeployment"), "cluster.x-k8s.io/v1beta2", &new, &newest()), new);
}

fn places(api_version: &str, kind: &str, old: Value, new: Value) -> Vec<String> {
    let told = fixed(api_version, kind).expect("a kind that is compared");
    let versions = Versions::told("vsphere", "v1.14.0");
    let found = told.differences(&old, &new, &versions).expect("a version that compares");
    found.iter().map(ToString::to_string).collect()
}

fn template(spec: Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

#[test]
fn what_go_cannot_tell_apart_is_the_same() {
    let told = |old: Value, new: Value| {
        places("infrastructure.cluster.x-k8s.io/v1beta1", "VSphereMachineTemplate", template(old), template(new))
    };
    let old = json!({"guestSoftPowerOffTimeout": "10m0s", "network": {"devices": [{"networkName": "a"}]}});
    let new = json!({"guestSoftPowerOffTimeout": "10m", "thumbprint": "",
        "network": {"devices": [{"networkName": "a", "dhcp4": false}]}});
    assert_eq!(told(old.clone(), new), [""; 0]);
    let lists = json!({"guestSoftPowerOffTimeout": "10m0s", "tagIDs": [], "failureDomain": "",
        "network": {"devices": [{"networkName": "a"}]}});
    assert_eq!(told(old, lists), ["spec.template.spec.tagIDs", "spec.template.spec.failureDomain"]);
}

#[test]
fn a_machine_keeps_all_but_what_is_free() {
    let group = "infrastructure.cluster.x-k8s.io/v1beta2";
    let machine = |spec: Value| json!({"spec": spec});
    let old = machine(json!({"instanceType": "a", "cloudInit": {"secretPrefix": "p", "secretCount": 1}}));
    let new =
        machine(json!({"instanceType": "a", "providerID": "x", "networkInterfaces": [], "subnet": {"filters": []}}));
    assert_eq!(places(group, "AWSMachine", old.clone(), new), ["spec.subnet"]);
    let other = machine(json!({"instanceType": "b", "privateDnsName": {"enableResourceNameDnsARecord": true}}));
    assert_eq!(places(group, "AWSMachine", old, other), ["spec.instanceType", "spec.privateDnsName"]);
}

#[test]
fn only_what_is_named_is_fixed_in_supervisor_mode() {
    let group = "vmware.infrastructure.cluster.x-k8s.io/v1beta1";
    let old = json!({"spec": {"imageName": "a", "network": {"interfaces": {"primary": {"mtu": 1500}}}}});
    let new = json!({"spec": {"imageName": "a", "powerOffMode": "soft"}});
    assert_eq!(places(group, "VSphereMachine", old, new), ["spec.network"]);
    let told = fixed(group, "VSphereMachine").expect("a kind that is compared");
    let covers = |text: &str| told.covers(&Path::parse(text).expect("a path"));
    assert!(covers("spec.network.interfaces.primary.mtu") && !covers("spec.powerOffMode"));
    assert!(fixed("x.dev/v1", "VSphereMachine").is_none());
}

#[test]
fn options_of_metadata_come_once() {
    let told = |old: Value, new: Value| {
        places("infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachineTemplate", template(old), template(new))
    };
    let options = json!({"instanceMetadataOptions": {"httpTokens": "required"}});
    assert_eq!(told(json!({}), options.clone()), [""; 0]);
    assert_eq!(told(options, json!({})), ["spec.template.spec.instanceMetadataOptions"]);
}

#[test]
fn durations_are_compared_by_what_they_mean() {
    let side = |text: &str| json!({"spec": {"template": {"spec": {"bootstrapTimeout": text}}}});
    let key = Key::new("infrastructure.cluster.x-k8s.io/v1beta2", "DockerMachineTemplate", None, "x");
    let found = |text: &str| {
        let (old, new) = (side("1m0s"), side(text));
        let write = Write {
            key: &key,
            kind: kind(&key),
            api_version: "g/v1beta2",
            is_new: false,
            live: None,
            old: &old,
            new: &new,
            versions: &Versions::told("docker", "v1.14.0"),
            gate: &|_| State::Open,
        };
        kind(&key).webhook.expect("a webhook").differences(&write).expect("compared").len()
    };
    assert_eq!((found("60s"), found("61s")), (0, 1));
}
