//! Who else writes: another program that takes the release over, and people who change its objects by hand, through either version of
//! the API.

use serde_json::{Value, json};

use crate::objects::{Shape, text};
use crate::seed::Seed;
use crate::stage::Writer;
use crate::steps::{Act, Draw};

/// Somebody else writes to what the release writes.
pub(crate) fn others(draw: &Draw<'_>, seed: &mut Seed) -> Option<Act> {
    if seed.chance(25) {
        return Some(Act::TakenOver(*seed.pick(&Writer::ALL)));
    }
    let names: Vec<&String> = draw.objects.keys().filter(|name| resource(name).is_some()).collect();
    if names.is_empty() {
        return None;
    }
    let name = *seed.pick(&names);
    let (group, resource, versions) = resource(name)?;
    let (kind, own) = name.split_once('/')?;
    let by = |version: &str, patch: Value| {
        Some(Act::Patch(format!("{group}/{version}"), resource.to_owned(), own.to_owned(), patch))
    };
    let version = seed.pick(versions);
    match seed.below(6) {
        // A mark that nobody reads: what the version makes of the rest is what counts.
        0 => by(version, json!({"metadata": {"labels": {"hand": *seed.pick(&["a", "b"])}}})),
        // Nobody owns anything any more.
        1 => by(version, json!({"metadata": {"managedFields": [{}]}})),
        2 => by(
            version,
            json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": null}}}),
        ),
        _ => by(versions[0], drift(draw, seed, kind, name)?),
    }
}

/// What is written as what: API group, resource and the versions that the hunt writes through.
fn resource(name: &str) -> Option<(&'static str, &'static str, &'static [&'static str])> {
    const BOTH: &[&str] = &["v1beta2", "v1beta1"];
    Some(match name.split('/').next()? {
        "Cluster" => ("cluster.x-k8s.io", "clusters", BOTH),
        "ClusterClass" => ("cluster.x-k8s.io", "clusterclasses", BOTH),
        "MachineDeployment" => ("cluster.x-k8s.io", "machinedeployments", BOTH),
        "MachineHealthCheck" => ("cluster.x-k8s.io", "machinehealthchecks", BOTH),
        "KubeadmControlPlane" => ("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes", BOTH),
        "KubeadmConfigTemplate" => ("bootstrap.cluster.x-k8s.io", "kubeadmconfigtemplates", BOTH),
        "RKE2ControlPlane" => ("controlplane.cluster.x-k8s.io", "rke2controlplanes", &["v1beta1"]),
        "RKE2ConfigTemplate" => ("bootstrap.cluster.x-k8s.io", "rke2configtemplates", &["v1beta1"]),
        "DevMachineTemplate" => ("infrastructure.cluster.x-k8s.io", "devmachinetemplates", BOTH),
        _ => return None,
    })
}

/// What somebody changes by hand in an object, as a merge patch.
fn drift(draw: &Draw<'_>, seed: &mut Seed, kind: &str, name: &str) -> Option<Value> {
    let version = *seed.pick(&["v1.34.0", "v1.34.1"]);
    Some(match kind {
        "KubeadmControlPlane" => match seed.below(4) {
            0 => json!({"spec": {"version": version}}),
            1 => json!({"spec": {"kubeadmConfigSpec": {"preKubeadmCommands": ["hostname", "date"]}}}),
            2 => {
                let place = "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs";
                let list = turned(draw.objects.get(name)?.pointer(place)?)?;
                json!({"spec": {"kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraArgs": list}}}}})
            }
            _ => json!({"spec": {"rollout": {"after": "2020-01-01T00:00:00Z"}}}),
        },
        "KubeadmConfigTemplate" => {
            json!({"spec": {"template": {"spec": {"preKubeadmCommands": [*seed.pick(&["hostname", "date"])]}}}})
        }
        "RKE2ControlPlane" => match seed.below(4) {
            0 => json!({"spec": {"version": *seed.pick(&["v1.34.1+rke2r1", "v1.34.2+rke2r1"])}}),
            1 => json!({"spec": {"preRKE2Commands": ["hostname", "date"]}}),
            2 => json!({"spec": {"serverConfig": {"cni": *seed.pick(&["calico", "canal"])}}}),
            _ => json!({"spec": {"agentConfig": {"nodeLabels": ["a=b"]}}}),
        },
        "RKE2ConfigTemplate" => {
            json!({"spec": {"template": {"spec": {"preRKE2Commands": [*seed.pick(&["hostname", "date"])]}}}})
        }
        "MachineDeployment" => match seed.below(3) {
            0 => json!({"spec": {"template": {"spec": {"version": version}}}}),
            1 => json!({"spec": {"template": {"metadata": {"labels": {"hand": *seed.pick(&["a", "b"])}}}}}),
            _ => json!({"spec": {"template": {"spec": {"deletion": {"nodeDrainTimeoutSeconds": 30}}}}}),
        },
        "Cluster" if matches!(draw.shape, Shape::Topology(_)) => match seed.below(3) {
            0 => json!({"spec": {"topology": {"version": version}}}),
            1 => {
                json!({"spec": {"topology": {"variables": [{"name": "motd", "value": "hand"}, {"name": "issue", "value": "two"}]}}})
            }
            _ => json!({"spec": {"topology": {"controlPlane": {"metadata": {"annotations": {"hand": "a"}}}}}}),
        },
        "Cluster" => json!({"metadata": {"annotations": {"hand": "a"}}}),
        "ClusterClass" => json!({"metadata": {"annotations": {"hand": "a"}}}),
        "MachineHealthCheck" => json!({"spec": {"checks": {"nodeStartupTimeoutSeconds": 300}}}),
        _ => return None,
    })
}

/// Arguments in the order of their names turned round.
pub(super) fn turned(arguments: &Value) -> Option<Vec<Value>> {
    let mut list = match arguments {
        Value::Array(list) => list.clone(),
        Value::Object(map) => map.iter().map(|(name, value)| json!({"name": name, "value": value})).collect(),
        _ => return None,
    };
    list.sort_by_key(|argument| std::cmp::Reverse(text(&argument["name"])));
    Some(list)
}
