//! What the webhooks of the Azure provider fill into clusters and their templates.
//! Read beside `internal/api/v1beta1/azurecluster_default.go`, `azureclustertemplate_default.go` and `class_defaults.go` of
//! cluster-api-provider-azure 1.26.

use super::changes::SHARED_TABLE;
use crate::kinds::Versions;
use crate::kinds::as_go::{blank, give, is_blank, list_of};
use crate::kinds::fields::{child, text};
use crate::tree::{Map, Value, json};

/// Roles of subnets.
const CLUSTER: &str = "cluster";
const CONTROL_PLANE: &str = "control-plane";
const NODE: &str = "node";
/// How load balancers are reached.
const INTERNAL: &str = "Internal";
/// Address that a load balancer inside the network gets.
const INTERNAL_ADDRESS: &str = "10.0.0.100";
/// Minutes after which a load balancer forgets an idle connection.
const IDLE_MINUTES: u64 = 4;

/// Fills in a cluster (SetDefaultsAzureCluster).
pub(super) fn cluster(spec: &mut Map, name: &str, versions: &Versions) {
    give(spec, "azureEnvironment", || json!("AzurePublicCloud"));
    give(spec, "resourceGroup", || json!(name));
    let group = spec.get("resourceGroup").cloned().unwrap_or_default();
    let has_control_plane = spec.get("controlPlaneEnabled") != Some(&json!(false));
    bastion(spec, Some(name));
    let network = child(spec, "networkSpec");
    let vnet = child(network, "vnet");
    give(vnet, "resourceGroup", || group.clone());
    give(vnet, "name", || json!(format!("{name}-vnet")));
    give(vnet, "cidrBlocks", || json!(["10.0.0.0/8"]));
    for peering in list_of(vnet, "peerings") {
        give(peering, "resourceGroup", || group.clone());
    }
    subnets(network, name, has_control_plane);
    if has_control_plane && versions.has(&SHARED_TABLE) {
        share_table(network);
    }
    list_of(network, "subnets").for_each(as_go);
    if has_control_plane {
        api_server(child(network, "apiServerLB"), name);
    } else {
        network.shift_remove("apiServerLB");
    }
    if is_nodes_balancer_made(network, has_control_plane) {
        child(network, "nodeOutboundLB");
    }
    if let Some(balancer) = network.get_mut("nodeOutboundLB").and_then(Value::as_object_mut) {
        outbound(balancer, name, &format!("pip-{name}-node-outbound"), None);
    }
    if let Some(balancer) = network.get_mut("controlPlaneOutboundLB").and_then(Value::as_object_mut)
        && has_control_plane
    {
        let own = format!("{name}-outbound-lb");
        outbound(balancer, &own, &format!("pip-{name}-controlplane-outbound"), Some(&own));
    }
}

/// Fills in the spec of a template of clusters (SetDefaultsAzureClusterTemplate).
pub(super) fn template(spec: &mut Map) {
    give(spec, "azureEnvironment", || json!("AzurePublicCloud"));
    bastion(spec, None);
    let network = child(spec, "networkSpec");
    give(child(network, "vnet"), "cidrBlocks", || json!(["10.0.0.0/8"]));
    subnet_templates(network);
    let api_server = child(network, "apiServerLB");
    balancer_class(api_server);
    if is_nodes_balancer_made(network, true) {
        child(network, "nodeOutboundLB");
    }
    for key in ["nodeOutboundLB", "controlPlaneOutboundLB"] {
        if let Some(balancer) = network.get_mut(key).and_then(Value::as_object_mut) {
            outbound_class(balancer);
        }
    }
}

/// Fills in the bastion; only that of a cluster has names.
fn bastion(spec: &mut Map, name: Option<&str>) {
    let Some(host) = spec.get_mut("bastionSpec").and_then(|bastion| bastion.get_mut("azureBastion")) else { return };
    let Some(host) = host.as_object_mut() else { return };
    let subnet = child(host, "subnet");
    give(subnet, "cidrBlocks", || json!(["10.255.255.224/27"]));
    give(subnet, "role", || json!("bastion"));
    if let Some(name) = name {
        give(subnet, "name", || json!("AzureBastionSubnet"));
        as_go(subnet);
        give(host, "name", || json!(format!("{name}-azure-bastion")));
        give(child(host, "publicIP"), "name", || json!(format!("{name}-azure-bastion-pip")));
    }
}

/// What Go writes of every subnet of a cluster, also where it says nothing: names that the schema asks for.
fn as_go(subnet: &mut Map) {
    blank(subnet, "name", json!(""));
    blank(subnet, "role", json!(""));
    for block in ["securityGroup", "routeTable", "natGateway"] {
        blank(child(subnet, block), "name", json!(""));
    }
    blank(child(child(subnet, "natGateway"), "ip"), "name", json!(""));
}

/// What Go writes of the front ends of a load balancer, also where it says nothing.
fn fronts_as_go(balancer: &mut Map) {
    for front in list_of(balancer, "frontendIPs") {
        blank(front, "name", json!(""));
        if let Some(address) = front.get_mut("publicIP").and_then(Value::as_object_mut) {
            blank(address, "name", json!(""));
        }
    }
}

/// Whether a subnet holds addresses of the sixth version (IsIPv6Enabled).
fn has_long_addresses(subnet: &Map) -> bool {
    let blocks = subnet.get("cidrBlocks").and_then(Value::as_array).into_iter().flat_map(|blocks| blocks.iter());
    blocks.filter_map(Value::as_str).any(|block| block.contains(':'))
}

fn role(subnet: &Map) -> &str {
    subnet.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// Adds the subnets that are missing and gives each what it lacks (setDefaultAzureClusterSubnets).
fn subnets(network: &mut Map, name: &str, has_control_plane: bool) {
    let has = |network: &mut Map, wanted: &str| list_of(network, "subnets").any(|subnet| role(subnet) == wanted);
    let is_shared = has(network, CLUSTER);
    if has_control_plane && !is_shared && !has(network, CONTROL_PLANE) {
        add(network, json!({"role": CONTROL_PLANE}));
    }
    let needs_nodes = !is_shared && !has(network, NODE);
    // Of each of these roles only the first one is looked for.
    for (wanted, prefix) in [(CLUSTER, String::new()), (CONTROL_PLANE, "controlplane-".to_owned())] {
        if (wanted == CLUSTER || has_control_plane)
            && let Some(subnet) = list_of(network, "subnets").find(|subnet| role(subnet) == wanted)
        {
            own_subnet(subnet, name, &prefix, wanted == CLUSTER);
        }
    }
    let mut count = 0;
    for subnet in list_of(network, "subnets").filter(|subnet| role(subnet) == NODE) {
        count += 1;
        node_subnet(subnet, name, count);
    }
    if needs_nodes {
        add(
            network,
            json!({
                "role": NODE, "cidrBlocks": ["10.1.0.0/16"], "name": format!("{name}-node-subnet"),
                "securityGroup": {"name": format!("{name}-node-nsg")}, "routeTable": {"name": format!("{name}-node-routetable")},
                "natGateway": {"name": format!("{name}-node-natgw")},
            }),
        );
    }
}

/// Gives the subnet of the control plane the route table of the nodes.
fn share_table(network: &mut Map) {
    let first = list_of(network, "subnets").find(|subnet| [NODE, CLUSTER].contains(&role(subnet)));
    let table = first.map(|subnet| child(subnet, "routeTable").get("name").cloned().unwrap_or_default());
    if let Some(table) = table.filter(|table| !is_blank(Some(table)))
        && let Some(subnet) = list_of(network, "subnets").find(|subnet| role(subnet) == CONTROL_PLANE)
    {
        give(child(subnet, "routeTable"), "name", || table);
    }
}

fn add(network: &mut Map, subnet: Value) {
    match network.get_mut("subnets").and_then(Value::as_array_mut) {
        Some(subnets) => subnets.push(subnet),
        None => drop(network.insert("subnets".to_owned(), json!([subnet]))),
    }
}

/// A subnet of the control plane, or of the whole cluster.
fn own_subnet(subnet: &mut Map, name: &str, prefix: &str, is_shared: bool) {
    give(subnet, "name", || json!(format!("{name}-{prefix}subnet")));
    give(child(subnet, "securityGroup"), "name", || json!(format!("{name}-{prefix}nsg")));
    if is_shared {
        give(child(subnet, "routeTable"), "name", || json!(format!("{name}-routetable")));
        if is_blank(subnet.get("id")) {
            let is_short = !has_long_addresses(subnet);
            gateway(child(subnet, "natGateway"), &format!("{name}-natgw"), is_short);
        }
    }
    give(subnet, "cidrBlocks", || json!(["10.0.0.0/16"]));
    rules(child(subnet, "securityGroup"));
}

/// A subnet of nodes, with its number among them.
fn node_subnet(subnet: &mut Map, name: &str, number: u32) {
    give(subnet, "name", || json!(format!("{name}-node-subnet-{number}")));
    give(subnet, "cidrBlocks", || json!([format!("10.{number}.0.0/16")]));
    give(child(subnet, "securityGroup"), "name", || json!(format!("{name}-node-nsg")));
    rules(child(subnet, "securityGroup"));
    give(child(subnet, "routeTable"), "name", || json!(format!("{name}-node-routetable")));
    if !has_long_addresses(subnet) && is_blank(subnet.get("id")) {
        gateway(child(subnet, "natGateway"), &format!("{name}-node-natgw-{number}"), true);
    }
}

fn gateway(gateway: &mut Map, name: &str, has_address: bool) {
    give(gateway, "name", || json!(name));
    if has_address {
        let named = gateway.get("name").and_then(Value::as_str).unwrap_or_default();
        let address = json!(format!("pip-{named}"));
        give(child(gateway, "ip"), "name", || address);
    }
}

/// Rules of a security group are for what comes in, where they do not say (SecurityGroupClassSetDefaults).
fn rules(group: &mut Map) {
    for rule in list_of(group, "securityRules") {
        give(rule, "direction", || json!("Inbound"));
    }
}

/// Adds the subnets that a template lacks (setDefaultAzureClusterTemplateSubnetsTemplate).
fn subnet_templates(network: &mut Map) {
    let has = |network: &mut Map, wanted: &str| list_of(network, "subnets").any(|subnet| role(subnet) == wanted);
    let is_shared = has(network, CLUSTER);
    if !is_shared && !has(network, CONTROL_PLANE) {
        add(network, json!({"role": CONTROL_PLANE}));
    }
    if !is_shared && !has(network, NODE) {
        add(network, json!({"role": NODE}));
    }
    let mut count = 0;
    for wanted in [CLUSTER, CONTROL_PLANE] {
        if let Some(subnet) = list_of(network, "subnets").find(|subnet| role(subnet) == wanted) {
            give(subnet, "cidrBlocks", || json!(["10.0.0.0/16"]));
            rules_of(subnet);
        }
    }
    for subnet in list_of(network, "subnets").filter(|subnet| role(subnet) == NODE) {
        count += 1;
        give(subnet, "cidrBlocks", || json!([format!("10.{count}.0.0/16")]));
        rules_of(subnet);
    }
}

/// The rules of a subnet's group, where it has one; and the name of its gateway, which Go always writes.
fn rules_of(subnet: &mut Map) {
    blank(child(subnet, "natGateway"), "name", json!(""));
    if let Some(group) = subnet.get_mut("securityGroup").and_then(Value::as_object_mut) {
        rules(group);
    }
}

/// The load balancer before the API server (setDefaultAzureClusterAPIServerLB), with the gate APIServerILB off, as it is where nobody
/// turns it on.
fn api_server(balancer: &mut Map, cluster: &str) {
    balancer_class(balancer);
    let is_internal = balancer.get("type").and_then(Value::as_str) == Some(INTERNAL);
    let kind = if is_internal { "internal" } else { "public" };
    give(balancer, "name", || json!(format!("{cluster}-{kind}-lb")));
    let name = balancer.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let front = format!("{name}-frontEnd");
    give(balancer, "frontendIPs", || {
        if is_internal {
            json!([{"name": front, "privateIP": INTERNAL_ADDRESS}])
        } else {
            json!([{"name": front, "publicIP": {"name": format!("pip-{cluster}-apiserver")}}])
        }
    });
    fronts_as_go(balancer);
    give(child(balancer, "backendPool"), "name", || json!(format!("{name}-backendPool")));
}

/// What every load balancer before an API server has (setDefaultLoadBalancerClassSpecAPIServerLB).
fn balancer_class(balancer: &mut Map) {
    give(balancer, "type", || json!("Public"));
    give(balancer, "sku", || json!("Standard"));
    minutes(balancer);
}

/// A pointer in Go: only where nothing is written.
fn minutes(balancer: &mut Map) {
    blank(balancer, "idleTimeoutInMinutes", json!(IDLE_MINUTES));
}

/// What every load balancer towards the outside has, whatever was written (setDefaultLoadBalancerClassSpecOutboundLB).
fn outbound_class(balancer: &mut Map) {
    balancer.insert("type".to_owned(), json!("Public"));
    balancer.insert("sku".to_owned(), json!("Standard"));
    minutes(balancer);
}

/// A load balancer towards the outside: its addresses are made from their number, whatever was written.
fn outbound(balancer: &mut Map, name: &str, address: &str, pool: Option<&str>) {
    outbound_class(balancer);
    give(balancer, "name", || json!(name));
    blank(balancer, "frontendIPsCount", json!(1));
    let name = balancer.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let front =
        |end: &str| json!({"name": format!("{name}-frontEnd{end}"), "publicIP": {"name": format!("{address}{end}")}});
    // What the provider allows is 16; a number far above it is refused, and nobody needs its addresses.
    let count = balancer.get("frontendIPsCount").and_then(Value::as_u64).unwrap_or(0).min(64);
    let fronts: Vec<Value> = match count {
        1 => vec![front("")],
        _ => (1..=count).map(|number| front(&format!("-{number}"))).collect(),
    };
    if fronts.is_empty() {
        balancer.shift_remove("frontendIPs");
    } else {
        balancer.insert("frontendIPs".to_owned(), json!(fronts));
    }
    give(child(balancer, "backendPool"), "name", || json!(format!("{}-outboundBackendPool", pool.unwrap_or(&name))));
}

/// Whether nodes get a load balancer towards the outside although none is written: addresses of the sixth version need one.
fn is_nodes_balancer_made(network: &mut Map, has_control_plane: bool) -> bool {
    let internal = network.get("apiServerLB").and_then(|balancer| text(balancer, "/type")) == Some(INTERNAL);
    network.get("nodeOutboundLB").is_none_or(Value::is_null)
        && has_control_plane
        && !internal
        && list_of(network, "subnets")
            .any(|subnet| [NODE, CLUSTER].contains(&role(subnet)) && has_long_addresses(subnet))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(spec: Value, fill: impl Fn(&mut Map)) -> Value {
        let mut spec = spec;
        fill(spec.as_object_mut().expect("a map"));
        spec
    }

    fn newest() -> Versions {
        Versions::of(&[])
    }

    #[test]
    fn the_control_plane_shares_the_table_of_the_nodes_since_some_patches() {
        let table = |version: &str| {
            let versions = Versions::told("azure", version);
            let made = filled(json!({}), |spec| cluster(spec, "demo", &versions));
            made["networkSpec"]["subnets"][0]["routeTable"]["name"].clone()
        };
        for version in ["v1.23.3", "v1.24.2", "v1.25.0", "v1.26.0"] {
            assert_eq!(table(version), json!("demo-node-routetable"), "{version}");
        }
        assert!(["v1.22.4", "v1.23.2", "v1.24.1"].into_iter().all(|version| table(version) == json!("")));
    }

    #[test]
    fn an_empty_network_becomes_that_of_the_cluster() {
        let made = filled(json!({}), |spec| cluster(spec, "demo", &newest()));
        assert_eq!(made["resourceGroup"], json!("demo"));
        let network = &made["networkSpec"];
        assert_eq!(
            network["vnet"],
            json!({"resourceGroup": "demo", "name": "demo-vnet", "cidrBlocks": ["10.0.0.0/8"]})
        );
        assert_eq!(network["subnets"][0]["name"], json!("demo-controlplane-subnet"));
        assert_eq!(network["subnets"][0]["routeTable"]["name"], json!("demo-node-routetable"), "that of the nodes");
        let gateway = json!({"name": "demo-node-natgw", "ip": {"name": ""}});
        assert_eq!(network["subnets"][1]["natGateway"], gateway, "its address comes with the next write");
        assert_eq!(network["apiServerLB"]["backendPool"]["name"], json!("demo-public-lb-backendPool"));
        assert!(network.get("nodeOutboundLB").is_none());
        let again = filled(made, |spec| cluster(spec, "demo", &newest()));
        assert_eq!(again["networkSpec"]["subnets"][1]["natGateway"]["ip"]["name"], json!("pip-demo-node-natgw"));
    }

    #[test]
    fn a_written_value_stays_and_the_addresses_of_outbound_balancers_do_not() {
        let spec = json!({"networkSpec": {
            "apiServerLB": {"type": INTERNAL},
            "nodeOutboundLB": {"type": INTERNAL, "frontendIPsCount": 2, "frontendIPs": [{"name": "own"}]},
        }});
        let network = &filled(spec, |spec| cluster(spec, "demo", &newest()))["networkSpec"];
        assert_eq!(network["apiServerLB"]["name"], json!("demo-internal-lb"));
        assert_eq!(network["apiServerLB"]["frontendIPs"][0]["privateIP"], json!(INTERNAL_ADDRESS));
        assert_eq!(network["nodeOutboundLB"]["type"], json!("Public"));
        assert_eq!(network["nodeOutboundLB"]["frontendIPs"][1]["name"], json!("demo-frontEnd-2"));
    }

    #[test]
    fn a_cluster_whose_control_plane_is_elsewhere_has_no_balancer_before_it() {
        let spec = json!({"controlPlaneEnabled": false, "networkSpec": {"apiServerLB": {"name": "own"}}});
        let made = filled(spec, |spec| cluster(spec, "demo", &newest()));
        assert!(made["networkSpec"].get("apiServerLB").is_none());
        assert_eq!(made["networkSpec"]["subnets"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_template_gets_its_subnets_and_no_names() {
        let made = filled(json!({}), template);
        assert_eq!(
            made["networkSpec"]["subnets"],
            json!([
                {"role": "control-plane", "cidrBlocks": ["10.0.0.0/16"], "natGateway": {"name": ""}},
                {"role": "node", "cidrBlocks": ["10.1.0.0/16"], "natGateway": {"name": ""}},
            ])
        );
        assert_eq!(
            made["networkSpec"]["apiServerLB"],
            json!({"type": "Public", "sku": "Standard", "idleTimeoutInMinutes": 4})
        );
    }
}
