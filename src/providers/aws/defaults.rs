//! What the mutating webhooks of the AWS provider fill in.
//! Read beside `api/v1beta2/defaults.go`, `webhooks/aws{cluster,clustertemplate,machine}_webhook.go`,
//! `controlplane/eks/webhooks/awsmanagedcontrolplane{,template}_webhook.go`, `exp/webhooks/aws*pool_webhook.go` and
//! `pkg/eks/eks.go` of cluster-api-provider-aws 2.13.

use super::changes::BASTION_IPV6;
use crate::kinds::Versions;
use crate::kinds::fields::map_at;
use crate::object::go_seconds;
use crate::tree::{Map, Value, json};

/// Kinds with a mutating webhook.
pub(crate) const HAVE_WEBHOOKS: &[&str] = &[
    "AWSCluster",
    "AWSClusterTemplate",
    "AWSFargateProfile",
    "AWSMachine",
    "AWSMachinePool",
    "AWSManagedControlPlane",
    "AWSManagedControlPlaneTemplate",
    "AWSManagedMachinePool",
    "ROSAControlPlane",
];

/// Fields of the provider's types whose values are no pointers: Go writes them where they are empty.
pub(crate) const BLOCKS: &[&str] =
    &["ami", "bastion", "cloudInit", "controlPlaneEndpoint", "endpointAccess", "kubeProxy", "network", "vpc", "vpcCni"];

/// Fields that get a name made of the object's own, by kind, and its greatest length.
const NAMES: &[(&str, &str, usize)] = &[
    ("AWSManagedControlPlane", "eksClusterName", 100),
    ("AWSManagedMachinePool", "eksNodegroupName", 64),
    ("AWSFargateProfile", "profileName", 100),
];

/// Fills in what the webhook of a kind fills in.
pub(crate) fn fill_in(kind: &str, object: &mut Value, versions: &Versions) {
    let word = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, namespace) = (word("/metadata/name"), word("/metadata/namespace"));
    let Some(spec) = object.as_object_mut().and_then(|map| map_at(map, "spec")) else { return };
    let spec = if kind.ends_with("Template") {
        map_at(spec, "template").and_then(|template| map_at(template, "spec"))
    } else {
        Some(spec)
    };
    let Some(spec) = spec else { return };
    for (_, key, longest) in NAMES.iter().filter(|(own, ..)| *own == kind) {
        // A longer name becomes a hash, which is not computed here.
        let own = format!("{namespace}_{}", name.replace('.', "_"));
        if is_blank(spec, key) && own.len() < *longest {
            spec.insert((*key).to_owned(), json!(own));
        }
    }
    match kind {
        "AWSCluster" | "AWSClusterTemplate" => {
            identity(spec);
            load_balancers(spec);
            network(spec);
            bastion(spec, versions);
        }
        "AWSMachine" => machine(spec),
        "AWSMachinePool" => pool(spec),
        "AWSManagedMachinePool" if !spec.get("updateConfig").is_some_and(Value::is_object) => {
            spec.insert("updateConfig".to_owned(), json!({"maxUnavailable": 1}));
        }
        "AWSManagedControlPlane" | "AWSManagedControlPlaneTemplate" => {
            identity(spec);
            network(spec);
            bastion(spec, versions);
            if kind == "AWSManagedControlPlane" {
                spec.insert("bootstrapSelfManagedAddons".to_owned(), json!(true));
            }
        }
        "ROSAControlPlane" => identity(spec),
        _ => {}
    }
}

/// Whether a text is empty or absent.
fn is_blank(map: &Map, key: &str) -> bool {
    map.get(key).is_none_or(|value| value.is_null() || value == "")
}

/// The identity that the controller itself has.
fn identity(spec: &mut Map) {
    if !spec.get("identityRef").is_some_and(Value::is_object) {
        spec.insert("identityRef".to_owned(), json!({"kind": "AWSClusterControllerIdentity", "name": "default"}));
    }
}

/// The load balancers of the API server.
fn load_balancers(spec: &mut Map) {
    if !spec.get("controlPlaneLoadBalancer").is_some_and(Value::is_object) {
        spec.insert("controlPlaneLoadBalancer".to_owned(), json!({"scheme": "internet-facing"}));
    }
    for (key, own) in [("controlPlaneLoadBalancer", "classic"), ("secondaryControlPlaneLoadBalancer", "nlb")] {
        let Some(balancer) = spec.get_mut(key).and_then(Value::as_object_mut) else { continue };
        if is_blank(balancer, "loadBalancerType") {
            balancer.insert("loadBalancerType".to_owned(), json!(own));
        }
        if own == "nlb" && !balancer.contains_key("scheme") {
            balancer.insert("scheme".to_owned(), json!("internal"));
        }
    }
}

/// The rules that Calico needs, where nobody named others.
fn network(spec: &mut Map) {
    if let Some(network) = map_at(spec, "network")
        && !network.get("cni").is_some_and(Value::is_object)
    {
        let rule = |description: &str, protocol: &str, from: i64, to: i64| json!({"description": description, "protocol": protocol, "fromPort": from, "toPort": to});
        let rules = [rule("bgp (calico)", "tcp", 179, 179), rule("IP-in-IP (calico)", "4", -1, 65535)];
        network.insert("cni".to_owned(), json!({"cniIngressRules": rules}));
    }
}

/// Everybody may reach a bastion host whose networks nobody named.
fn bastion(spec: &mut Map, versions: &Versions) {
    let Some(bastion) = map_at(spec, "bastion") else { return };
    let is_empty = bastion.get("allowedCIDRBlocks").and_then(Value::as_array).is_none_or(Vec::is_empty);
    if is_empty && bastion.get("disableIngressRules") != Some(&Value::Bool(true)) {
        let all = if versions.has(&BASTION_IPV6) { json!(["0.0.0.0/0", "::/0"]) } else { json!(["0.0.0.0/0"]) };
        bastion.insert("allowedCIDRBlocks".to_owned(), all);
    }
    // Go writes it whatever it is (`api/v1beta2/awscluster_types.go`, Bastion).
    if bastion.get("enabled").is_none_or(Value::is_null) {
        bastion.insert("enabled".to_owned(), json!(false));
    }
}

/// How Ignition gets its user data; whether there is Ignition.
fn ignition(spec: &mut Map, storage: &str) -> bool {
    let Some(ignition) = spec.get_mut("ignition").and_then(Value::as_object_mut) else { return false };
    if is_blank(ignition, "storageType") {
        ignition.insert("storageType".to_owned(), json!(storage));
    }
    let plain = ignition.get("storageType").is_some_and(|kind| kind == "UnencryptedUserData");
    if is_blank(ignition, "version") && !plain {
        ignition.insert("version".to_owned(), json!("2.3"));
    }
    true
}

/// How long a group waits.
fn pool(spec: &mut Map) {
    for key in ["defaultCoolDown", "defaultInstanceWarmup"] {
        let told = spec.get(key).filter(|told| !told.is_null());
        if told.is_none_or(|told| told.as_str().and_then(go_seconds) == Some(0)) {
            spec.insert(key.to_owned(), json!("5m0s"));
        }
    }
    ignition(spec, "UnencryptedUserData");
}

/// Where the user data of a Machine is kept.
fn machine(spec: &mut Map) {
    if ignition(spec, "ClusterObjectStore") {
        return;
    }
    let Some(cloud) = map_at(spec, "cloudInit") else { return };
    if cloud.get("insecureSkipSecretsManager") != Some(&Value::Bool(true)) && is_blank(cloud, "secureSecretsBackend") {
        cloud.insert("secureSecretsBackend".to_owned(), json!("secrets-manager"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(kind: &str, spec: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a.b", "namespace": "n"}, "spec": spec});
        fill_in(kind, &mut object, &Versions::told("aws", "v2.13.0"));
        object["spec"].take()
    }

    #[test]
    fn a_cluster_gets_its_load_balancer_and_its_rules() {
        let spec = filled("AWSCluster", json!({"secondaryControlPlaneLoadBalancer": {}}));
        assert_eq!(
            spec["controlPlaneLoadBalancer"],
            json!({"scheme": "internet-facing", "loadBalancerType": "classic"})
        );
        assert_eq!(spec["secondaryControlPlaneLoadBalancer"], json!({"loadBalancerType": "nlb", "scheme": "internal"}));
        assert_eq!(spec["network"]["cni"]["cniIngressRules"].as_array().map(Vec::len), Some(2));
        assert_eq!(spec["bastion"]["allowedCIDRBlocks"], json!(["0.0.0.0/0", "::/0"]));
        let closed = filled("AWSCluster", json!({"bastion": {"disableIngressRules": true}}));
        assert_eq!(closed["bastion"].get("allowedCIDRBlocks"), None);
    }

    #[test]
    fn an_eks_cluster_gets_its_name() {
        let spec = filled("AWSManagedControlPlane", json!({}));
        assert_eq!(spec["eksClusterName"], json!("n_a_b"));
        assert_eq!(spec["bootstrapSelfManagedAddons"], json!(true));
    }

    #[test]
    fn a_machine_gets_a_keeper_of_its_secrets_unless_it_wants_none() {
        assert_eq!(filled("AWSMachine", json!({}))["cloudInit"]["secureSecretsBackend"], json!("secrets-manager"));
        let skipped = json!({"cloudInit": {"insecureSkipSecretsManager": true}});
        assert_eq!(filled("AWSMachine", skipped.clone()), skipped);
        let ignition = filled("AWSMachine", json!({"ignition": {}}));
        assert_eq!(ignition, json!({"ignition": {"storageType": "ClusterObjectStore", "version": "2.3"}}));
    }
}
