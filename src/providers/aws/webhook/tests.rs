use super::*;
use crate::tree::json;

fn refused(old: Option<Value>, new: Value) -> Vec<String> {
    let object = |spec: Value| json!({"spec": spec});
    refused_by("v2.13.0", old.map(object).as_ref(), &object(new))
}

fn refused_by(version: &str, old: Option<&Value>, new: &Value) -> Vec<String> {
    let found = cluster(old, new, &Versions::told("aws", version));
    found.into_iter().map(|refusal| refusal.path.to_string()).collect()
}

#[test]
fn a_load_balancer_keeps_what_it_was_made_with() {
    let with = |balancer: Value| json!({"controlPlaneLoadBalancer": balancer});
    let old = with(json!({"loadBalancerType": "nlb", "name": "a", "scheme": "internal"}));
    let told = |new: Value| refused(Some(old.clone()), with(new));
    assert_eq!(told(json!({"loadBalancerType": "alb", "name": "a", "scheme": "internal"})), [""; 0]);
    assert_eq!(
        told(json!({"loadBalancerType": "disabled", "name": "b", "scheme": "internal"})),
        ["spec.controlPlaneLoadBalancer.loadBalancerType", "spec.controlPlaneLoadBalancer.name"]
    );
    assert_eq!(refused(Some(old.clone()), json!({})), ["spec.controlPlaneLoadBalancer"]);
    let classic = with(json!({"loadBalancerType": "classic"}));
    let checked = with(json!({"loadBalancerType": "classic", "healthCheckProtocol": "TCP"}));
    assert_eq!(refused(Some(classic.clone()), checked.clone()), [""; 0], "only a classic one changes its check");
    let (classic, checked) = (json!({"spec": classic}), json!({"spec": checked}));
    assert_eq!(refused_by("v2.8.1", Some(&classic), &checked), [""; 0]);
    assert_eq!(
        refused_by("v2.7.2", Some(&classic), &checked),
        ["spec.controlPlaneLoadBalancer.healthCheckProtocol"],
        "since 2.8"
    );
    let second = json!({"secondaryControlPlaneLoadBalancer": {"scheme": "internal", "name": "x"}});
    assert_eq!(refused(Some(json!({})), second), ["spec.secondaryControlPlaneLoadBalancer.scheme"]);
}

#[test]
fn an_endpoint_and_a_vpc_are_set_once() {
    let endpoint = |host: &str| json!({"controlPlaneEndpoint": {"host": host, "port": 6443}});
    assert_eq!(refused(Some(json!({"controlPlaneEndpoint": {}})), endpoint("a")), [""; 0]);
    assert_eq!(refused(Some(endpoint("a")), endpoint("b")), ["spec.controlPlaneEndpoint"]);
    let vpc = |id: &str| json!({"network": {"vpc": {"id": id}}});
    assert_eq!(refused(Some(vpc("")), vpc("vpc-a")), [""; 0]);
    assert_eq!(refused(Some(vpc("vpc-a")), json!({})), ["spec.network.vpc.id"]);
}

#[test]
fn an_account_names_its_namespaces_by_a_selector() {
    let selected = |selector: Value| {
        let object = json!({"spec": {"allowedNamespaces": {"selector": selector}}});
        account("AWSClusterStaticIdentity", false, &object).len()
    };
    let told = |expression: Value| selected(json!({"matchExpressions": [expression]}));
    assert_eq!((selected(json!({"matchLabels": {"a-b": "c"}})), selected(json!({"matchLabels": {"-a": "c"}}))), (0, 1));
    assert_eq!(told(json!({"key": "a", "operator": "In", "values": ["b"]})), 0);
    assert_eq!(told(json!({"key": "a", "operator": "In"})), 1);
    assert_eq!(told(json!({"key": "a", "operator": "Equals", "values": ["b"]})), 1);
}

#[test]
fn a_new_account_has_its_name_and_its_source() {
    let own = |name: &str, is_new| {
        account("AWSClusterControllerIdentity", is_new, &json!({"metadata": {"name": name}, "spec": {}})).len()
    };
    assert_eq!((own("default", true), own("other", true), own("other", false)), (0, 1, 0));
    let role = |spec: Value, is_new| account("AWSClusterRoleIdentity", is_new, &json!({"spec": spec})).len();
    let source = json!({"sourceIdentityRef": {"kind": "AWSClusterControllerIdentity", "name": "default"}});
    assert_eq!((role(source, true), role(json!({}), true), role(json!({}), false)), (0, 1, 0));
}

#[test]
fn tags_and_ranges_are_what_aws_takes() {
    let tags = |key: &str| json!({"additionalTags": {key: "x"}});
    assert_eq!(refused(Some(json!({})), tags("team/one")), [""; 0]);
    assert_eq!(refused(Some(json!({})), tags("aws:x")).len(), 1);
    assert_eq!(refused(Some(json!({})), tags("a;b")).len(), 1);
    let bastion = json!({"bastion": {"allowedCIDRBlocks": ["192.0.2.1"]}});
    assert_eq!(refused(None, bastion), ["spec.bastion.allowedCIDRBlocks[0]"]);
    assert_eq!(refused(None, json!({"s3Bucket": {"name": "a"}})).len(), 2);
}
