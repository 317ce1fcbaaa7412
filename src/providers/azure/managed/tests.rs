use super::*;
use crate::tree::json;

fn valid(with: Value) -> Value {
    let mut spec = json!({"version": "v1.31.0",
        "virtualNetwork": {"cidrBlock": "10.0.0.0/8", "subnet": {"cidrBlock": "10.240.0.0/16"}}});
    for (key, value) in with.as_object().expect("a map") {
        spec[key.as_str()] = value.clone();
    }
    json!({"metadata": {"name": "demo"}, "spec": spec})
}

fn told(old: Option<Value>, new: Value) -> Vec<String> {
    let mut out = Vec::new();
    refusals(old.map(valid).as_ref(), &valid(new), &Path::root().key("spec"), &mut out);
    out.into_iter().map(|refusal| refusal.path.to_string()).collect()
}

fn made(with: Value) -> Vec<String> {
    told(None, with)
}

#[test]
fn a_version_is_one_and_does_not_go_down() {
    for good in ["v1.31.0", "v1.31.0-rc.1+build"] {
        assert_eq!(made(json!({"version": good})), [""; 0], "{good}");
    }
    for bad in ["1.31.0", "v1.31", "v1.01.0", "v1.31.0 "] {
        assert_eq!(made(json!({"version": bad})), ["spec.version"], "{bad}");
    }
    let at = |version: &str| json!({"version": version});
    assert_eq!(told(Some(at("v1.31.0")), at("v1.32.0")), [""; 0]);
    assert_eq!(told(Some(at("v1.31.0")), at("v1.30.9")), ["spec.version"]);
    let upgraded = |version: &str| {
        let mut out = Vec::new();
        let mut old = valid(at("v1.31.0"));
        old["status"] = json!({"autoUpgradeVersion": "v1.32.0"});
        refusals(Some(&old), &valid(at(version)), &Path::root().key("spec"), &mut out);
        out.len()
    };
    assert_eq!((upgraded("v1.31.0"), upgraded("v1.31.1"), upgraded("v1.32.1")), (0, 1, 0));
}

#[test]
fn a_network_fits_together() {
    assert_eq!(made(json!({"networkPluginMode": "overlay", "networkPlugin": "azure"})), [""; 0]);
    assert_eq!(made(json!({"networkPluginMode": "overlay", "networkPlugin": "kubenet"})), ["spec.networkPluginMode"]);
    let cilium = json!({"networkDataplane": "cilium", "networkPolicy": "cilium", "networkPluginMode": "overlay"});
    assert_eq!(made(cilium), [""; 0]);
    assert_eq!(made(json!({"networkDataplane": "cilium"})), ["spec.networkDataplane"]);
    assert_eq!(made(json!({"networkDataplane": "azure", "networkPolicy": "cilium"})), ["spec.networkPolicy"]);
    let ranges = json!({"virtualNetwork": {"cidrBlock": "192.168.0.0/16", "subnet": {"cidrBlock": "10.240.0.0/16"}}});
    assert_eq!(made(ranges), ["spec.virtualNetwork.cidrBlock"]);
}

#[test]
fn a_private_zone_is_one_of_a_private_cluster() {
    let zone = |private: bool, zone: &str| {
        made(json!({"apiServerAccessProfile": {"enablePrivateCluster": private, "privateDNSZone": zone}}))
    };
    let id = |name: &str| format!("/subscriptions/a/privateDnsZones/{name}");
    assert_eq!(zone(false, "System"), [""; 0]);
    for good in ["privatelink.westeurope.azmk8s.io", "sub-a.private.westeurope.azmk8s.io"] {
        assert_eq!(zone(true, &id(good)), [""; 0], "{good}");
        assert_eq!(zone(false, &id(good)).len(), 1, "{good}");
    }
    for bad in ["westeurope.azmk8s.io", "a.b.private.westeurope.azmk8s.io", "private.west-europe.azmk8s.io"] {
        assert_eq!(zone(true, &id(bad)).len(), 1, "{bad}");
    }
    assert_eq!(zone(true, "mine").len(), 1);
    assert_eq!(made(json!({"apiServerAccessProfile": {"authorizedIPRanges": ["192.0.2.1"]}})).len(), 1);
}

#[test]
fn profiles_are_in_bounds() {
    let balancer = |key: &str, value: Value| made(json!({"loadBalancerProfile": {key: value}})).len();
    assert_eq!((balancer("managedOutboundIPs", json!(100)), balancer("managedOutboundIPs", json!(101))), (0, 1));
    assert_eq!(made(json!({"loadBalancerProfile": {"managedOutboundIPs": 1, "outboundIPs": ["a"]}})).len(), 1);
    let scaler = |key: &str, value: &str| made(json!({"autoscalerProfile": {key: value}})).len();
    assert_eq!((scaler("scanInterval", "10s"), scaler("scanInterval", "10m"), scaler("scanInterval", "")), (0, 1, 0));
    assert_eq!((scaler("scaleDownUnneededTime", "10m"), scaler("scaleDownUnneededTime", "10")), (0, 1));
    assert_eq!((scaler("scaleDownUtilizationThreshold", "0.5"), scaler("scaleDownUtilizationThreshold", "2")), (0, 1));
    assert_eq!((scaler("maxEmptyBulkDelete", "0"), scaler("maxEmptyBulkDelete", "-1")), (0, 1));
}

#[test]
fn identities_and_keys_come_together() {
    assert_eq!(made(json!({"identity": {"type": "UserAssigned", "userAssignedIdentityResourceID": "/a"}})), [""; 0]);
    assert_eq!(made(json!({"identity": {"type": "UserAssigned"}})).len(), 1);
    assert_eq!(made(json!({"identity": {"type": "SystemAssigned", "userAssignedIdentityResourceID": "/a"}})).len(), 1);
    let vault = |identity: Value, access: &str| {
        let keys = json!({"keyVaultNetworkAccess": access, "keyVaultResourceID": "/b"});
        made(json!({"identity": identity, "securityProfile": {"azureKeyVaultKms": keys}})).len()
    };
    let user = json!({"type": "UserAssigned", "userAssignedIdentityResourceID": "/a"});
    assert_eq!((vault(user.clone(), "Private"), vault(user, "Public"), vault(json!(null), "Private")), (0, 1, 1));
    assert_eq!(made(json!({"securityProfile": {"workloadIdentity": {}}})).len(), 1);
    assert_eq!(made(json!({"disableLocalAccounts": true})), ["spec.disableLocalAccounts"]);
}

#[test]
fn what_is_there_stays() {
    let channel = json!({"autoUpgradeProfile": {"upgradeChannel": "stable"}});
    assert_eq!(told(Some(channel.clone()), channel.clone()), [""; 0]);
    assert_eq!(told(Some(channel), json!({})), ["spec.autoUpgradeProfile.upgradeChannel"]);
    let addons =
        |names: &[&str]| json!({"addonProfiles": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});
    assert_eq!(told(Some(addons(&["a"])), addons(&["b", "a"])), [""; 0]);
    assert_eq!(told(Some(addons(&["a"])), addons(&["b"])), ["spec.addonProfiles"]);
    let policy = |mode: Value| json!({"networkPolicy": "azure", "networkPluginMode": mode});
    assert_eq!(told(Some(policy(json!(null))), policy(json!("overlay"))), ["spec.networkPluginMode"]);
    let issuer = |on: bool| json!({"oidcIssuerProfile": {"enabled": on}});
    assert_eq!(told(Some(issuer(true)), issuer(false)), ["spec.oidcIssuerProfile.enabled"]);
    let groups =
        |managed: bool, groups: Value| json!({"aadProfile": {"managed": managed, "adminGroupObjectIDs": groups}});
    assert_eq!(told(Some(groups(true, json!(["a"]))), groups(true, json!(["b"]))), [""; 0]);
    assert_eq!(told(Some(groups(true, json!(["a"]))), groups(false, json!([]))).len(), 2);
}

#[test]
fn an_extension_keeps_what_it_was_made_with() {
    let extension = |with: Value| {
        let mut one = json!({"name": "a", "autoUpgradeMinorVersion": false});
        for (key, value) in with.as_object().expect("a map") {
            one[key.as_str()] = value.clone();
        }
        json!({"extensions": [one]})
    };
    let plain = extension(json!({"version": "1"}));
    assert_eq!(told(Some(plain.clone()), plain.clone()), [""; 0]);
    assert_eq!(told(Some(plain), extension(json!({"version": "2"}))), ["spec.extensions[0].version"]);
    let scoped = extension(json!({"scope": {"scopeType": "Cluster", "releaseNamespace": "a"}}));
    assert_eq!(made(scoped.clone()), [""; 0]);
    assert_eq!(told(Some(scoped.clone()), scoped), ["spec.extensions[0].scope"], "pointers are compared");
    assert_eq!(made(extension(json!({"scope": {"scopeType": "Namespace", "releaseNamespace": "a"}}))).len(), 2);
    assert_eq!(made(json!({"extensions": [{"name": "a", "version": "1"}]})), ["spec.extensions[0].version"]);
}
