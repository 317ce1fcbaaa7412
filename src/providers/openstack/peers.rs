//! Mirror of what the webhook of an OpenStackCluster refuses about the rules of its security groups.
//! Read beside `pkg/webhooks/openstackcluster_webhook.go` (ValidateCreate, validateManagedSecurityGroupRules) of
//! cluster-api-provider-openstack 0.11 to 0.15.

use super::changes::RULES_ASKED;
use super::webhook::RULE;
use crate::kinds::Versions;
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// The rules for all nodes.
const ALL_NODES: &str = "allNodesSecurityGroupRules";

/// The rules for all nodes under their name of v1beta2.
const CLUSTER_NODES: &str = "clusterNodesSecurityGroupRules";

/// Whom a rule of the security groups is about: managed groups, another group, or addresses. Up to 0.14 only the rules for all
/// nodes of a new cluster are asked for it, since then (validateManagedSecurityGroupRules) all rules at each write.
pub(super) fn refusals(spec: &Value, is_new: bool, versions: &Versions, at: &Path, out: &mut Vec<Refusal>) {
    let is_asked = versions.has(&RULES_ASKED);
    let lists: &[&str] = match (is_asked, is_new) {
        (true, _) => {
            &[ALL_NODES, CLUSTER_NODES, "controlPlaneNodesSecurityGroupRules", "workerNodesSecurityGroupRules"]
        }
        (false, true) => &[ALL_NODES],
        (false, false) => &[],
    };
    for key in lists {
        let rules = spec.pointer(&format!("/managedSecurityGroups/{key}")).and_then(Value::as_array);
        for (place, rule) in rules.into_iter().flatten().enumerate() {
            let is_set = |key: &&str| rule.get(*key).is_some_and(|value| !value.is_null());
            if ["remoteManagedGroups", "remoteGroupID", "remoteIPPrefix"].iter().filter(|key| is_set(key)).count() > 1 {
                let below = format!("managedSecurityGroups.{key}[{place}]");
                let message = "remoteManagedGroups, remoteGroupID and remoteIPPrefix exclude each other";
                refuse(out, RULE, at, &below, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_rule_for_all_nodes_is_about_one_side() {
        let told = |version: &str, key: &str, is_new: bool, rule: Value| {
            let mut spec = json!({"managedSecurityGroups": {}});
            spec["managedSecurityGroups"][key] = json!([rule]);
            let mut out = Vec::new();
            refusals(&spec, is_new, &Versions::told("openstack", version), &Path::root(), &mut out);
            out.len()
        };
        let both = || json!({"remoteManagedGroups": ["worker"], "remoteGroupID": "a"});
        assert_eq!(told("v0.11.3", ALL_NODES, true, json!({"remoteManagedGroups": ["worker"]})), 0);
        assert_eq!((told("v0.11.3", ALL_NODES, true, both()), told("v0.14.0", ALL_NODES, false, both())), (1, 0));
        assert_eq!(told("v0.15.0", ALL_NODES, false, both()), 1);
        assert_eq!(
            (told("v0.15.0", CLUSTER_NODES, false, both()), told("v0.15.0", CLUSTER_NODES, true, both())),
            (1, 1)
        );
        assert_eq!(told("v0.15.0", CLUSTER_NODES, false, json!({"remoteIPPrefix": "10.0.0.0/8"})), 0);
        assert_eq!(told("v0.15.0", "workerNodesSecurityGroupRules", false, both()), 1);
    }
}
