use super::*;
use crate::tree::json;

/// A cluster as the defaults leave it.
fn cluster() -> Value {
    json!({"metadata": {"name": "demo"}, "spec": {"networkSpec": {
        "vnet": {"resourceGroup": "demo", "name": "demo-vnet", "cidrBlocks": ["10.0.0.0/8"]},
        "subnets": [
            {"name": "a", "role": "control-plane", "cidrBlocks": ["10.0.0.0/16"]},
            {"name": "b", "role": "node", "cidrBlocks": ["10.1.0.0/16"]},
        ],
        "apiServerLB": {"name": "lb", "type": "Public", "sku": "Standard", "frontendIPs": [{"publicIP": {"name": "a"}}]},
    }}})
}

fn told(old: Option<&Value>, change: impl Fn(&mut Value)) -> Vec<String> {
    let mut new = cluster();
    change(&mut new);
    let mut out = Vec::new();
    refusals(old, &new, &mut out);
    out.into_iter().map(|refusal| refusal.path.to_string().replace("spec.networkSpec.", "")).collect()
}

#[test]
fn a_cluster_as_the_defaults_leave_it_is_taken() {
    assert_eq!(told(None, |_| ()), [""; 0]);
    assert_eq!(told(Some(&cluster()), |_| ()), [""; 0]);
}

#[test]
fn names_are_ones_that_azure_takes() {
    for bad in ["a", "Demo", "demo-", "aro.cluster"] {
        assert_eq!(told(None, |new| new["metadata"]["name"] = json!(bad)), ["metadata.name"], "{bad}");
    }
    let group = |name: &str| told(None, |new| new["spec"]["networkSpec"]["vnet"]["resourceGroup"] = json!(name));
    assert_eq!((group("a_(b).c").len(), group("a b").len()), (0, 1));
}

#[test]
fn subnets_lie_in_their_network_and_have_roles() {
    let change =
        |key: &str, value: Value| told(None, |new| new["spec"]["networkSpec"]["subnets"][1][key] = value.clone());
    assert_eq!(change("cidrBlocks", json!(["192.168.0.0/16"])), ["subnets[1].cidrBlocks"]);
    assert_eq!(change("role", json!("bastion")), ["subnets"]);
    assert_eq!(change("role", json!("cluster")), [""; 0]);
    assert_eq!(change("name", json!("a")), ["subnets"]);
    let rule = |priority: i64| change("securityGroup", json!({"securityRules": [{"priority": priority}]})).len();
    assert_eq!((rule(100), rule(99), rule(4097)), (0, 1, 1));
    let peers = |group: &str| {
        told(None, |new| {
            let peer = |group: &str| json!({"resourceGroup": group, "remoteVnetName": "x"});
            new["spec"]["networkSpec"]["vnet"]["peerings"] = json!([peer("a"), peer(group)]);
        })
    };
    assert_eq!((peers("b").len(), peers("a").len()), (0, 1));
}

#[test]
fn endpoints_are_whole() {
    let services = |service: &str, locations: Value| {
        let endpoint = json!({"service": service, "locations": locations});
        told(None, |new| new["spec"]["networkSpec"]["subnets"][1]["serviceEndpoints"] = json!([endpoint])).len()
    };
    assert_eq!(services("Microsoft.Storage", json!(["westeurope", "eastus2", "*"])), 0);
    assert_eq!(services("Azure.Storage", json!(["*"])), 1);
    assert_eq!(services("Microsoft.Storage", json!(["*", "*"])), 1);
    assert_eq!(services("Microsoft.Storage", json!(["West Europe"])), 1);
    let private = |id: &str, address: &str| {
        let endpoint = json!({"name": "a", "privateIPAddresses": [address], "privateLinkServiceConnections": [{"privateLinkServiceID": id}]});
        told(None, |new| new["spec"]["networkSpec"]["subnets"][1]["privateEndpoints"] = json!([endpoint])).len()
    };
    let id = "/subscriptions/a/resourceGroups/b/providers/Microsoft.Storage/storageAccounts/c";
    assert_eq!((private(id, "10.1.0.4"), private(id, "10.2.0.4"), private("/subscriptions/a", "10.1.0.4")), (0, 1, 1));
}

#[test]
fn the_api_server_is_reached_from_one_side() {
    let balancer = |fronts: Value, kind: &str| {
        told(None, |new| {
            new["spec"]["networkSpec"]["apiServerLB"]["frontendIPs"] = fronts.clone();
            new["spec"]["networkSpec"]["apiServerLB"]["type"] = json!(kind);
        })
    };
    assert_eq!(balancer(json!([{"privateIP": "10.0.0.100"}]), "Internal"), [""; 0]);
    assert_eq!(balancer(json!([{"privateIP": "10.1.0.100"}]), "Internal"), ["apiServerLB.frontendIPs[0].privateIP"]);
    assert_eq!(balancer(json!([]), "Public"), ["apiServerLB.frontendIPs"]);
    assert_eq!(balancer(json!([{"publicIP": {}}]), "Other"), ["apiServerLB.type"]);
    let outside = |kind: &str, minutes: i64| {
        told(None, |new| {
            new["spec"]["networkSpec"]["apiServerLB"]["type"] = json!(kind);
            let fronts =
                if kind == "Public" { json!([{"publicIP": {}}]) } else { json!([{"privateIP": "10.0.0.100"}]) };
            new["spec"]["networkSpec"]["apiServerLB"]["frontendIPs"] = fronts;
            new["spec"]["networkSpec"]["controlPlaneOutboundLB"] = json!({"idleTimeoutInMinutes": minutes});
        })
    };
    assert_eq!((outside("Internal", 30).len(), outside("Internal", 31).len(), outside("Public", 4).len()), (0, 1, 1));
}

#[test]
fn zones_of_names_need_a_cluster_within() {
    let zone = |name: &str, kind: &str| {
        told(None, |new| {
            new["spec"]["networkSpec"]["apiServerLB"]["type"] = json!(kind);
            new["spec"]["networkSpec"]["apiServerLB"]["frontendIPs"] = match kind {
                "Public" => json!([{"publicIP": {}}]),
                _ => json!([{"privateIP": "10.0.0.100"}]),
            };
            new["spec"]["networkSpec"]["privateDNSZoneName"] = json!(name);
        })
    };
    assert_eq!(zone("my_zone.example.com", "Internal"), [""; 0]);
    assert_eq!(zone("my_zone.example.com", "Public"), ["privateDNSZoneName"]);
    assert_eq!(zone("wrong@name", "Internal"), ["privateDNSZoneName"]);
}

#[test]
fn ranges_and_zones_stay() {
    let mut old = cluster();
    let change = |new: &mut Value| new["spec"]["networkSpec"]["subnets"][1]["cidrBlocks"] = json!(["10.2.0.0/16"]);
    assert_eq!(told(Some(&old), change), [""; 0], "a network of somebody else");
    old["spec"]["networkSpec"]["vnet"]["tags"] =
        json!({"sigs.k8s.io_cluster-api-provider-azure_cluster_demo": "owned"});
    assert_eq!(told(Some(&old), change), ["subnets[1].cidrBlocks"]);
    let zones = |zones: Value| {
        told(Some(&cluster()), |new| new["spec"]["networkSpec"]["apiServerLB"]["availabilityZones"] = zones.clone())
    };
    assert_eq!((zones(json!([])).len(), zones(json!(["1"])).len()), (0, 1));
    let tunnels = |sku: &str| {
        told(None, |new| new["spec"]["bastionSpec"] = json!({"azureBastion": {"sku": sku, "enableTunneling": true}}))
    };
    assert_eq!((tunnels("Standard").len(), tunnels("Basic").len()), (0, 1));
}
