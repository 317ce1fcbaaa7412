//! What fields of an AWS cluster do to its pools: their launch template is made of both, and a new version of it replaces hosts.
//! Read beside `pkg/cloud/services/ec2/launchtemplate.go` (ReconcileLaunchTemplate, LaunchTemplateNeedsUpdate,
//! DiscoverLaunchTemplateAMI), `pkg/cloud/services/ec2/instances.go` (GetCoreNodeSecurityGroups),
//! `exp/controllers/awsmachinepool_controller.go` (reconcileNormal, updatePool) and `pkg/cloud/services/eks/nodegroup.go`
//! (reconcileNodegroupVersion) of cluster-api-provider-aws 2.13.

use crate::kinds::contract::{CORE, INFRASTRUCTURE, MACHINE_POOL};
use crate::kinds::fields::{list, text};
use crate::kinds::pools::{Pools, Reach, Reached};
use crate::model::{Effect, RuleId};
use crate::object::{Path, Segment};
use crate::tree::Value;

/// A group of instances, and one that EKS manages.
const GROUP: &str = "AWSMachinePool";
const NODE_GROUP: &str = "AWSManagedMachinePool";

const REPLACED: RuleId = RuleId::of("capa/reaches-pools");
const REFRESH_OFF: RuleId = RuleId::of("capa/reaches-pools-later");
const ANOTHER_IMAGE: RuleId = RuleId::of("capa/reaches-pools-image");

/// What reaches pools.
pub(super) static POOLS: Pools = Pools {
    kinds: &[
        (CORE, MACHINE_POOL, "pools of the cluster of"),
        (INFRASTRUCTURE, GROUP, "pools that are built from"),
        (INFRASTRUCTURE, NODE_GROUP, "pools that are built from"),
    ],
    reads: |path| field(path).is_some(),
    reached,
};

/// A field that pools read.
#[derive(Clone, Copy)]
enum Field<'a> {
    /// A tag by its name, or all of them.
    Tag(Option<&'a str>),
    /// What finds the image.
    Image(&'a str),
    /// The security groups of nodes.
    Groups,
    /// The subnets.
    Subnets,
}

/// The field at a place.
fn field(path: &Path) -> Option<Field<'_>> {
    let mut keys = path.segments().iter().map(|segment| match segment {
        Segment::Key(key) => key.as_str(),
        _ => "*",
    });
    match (keys.next()?, keys.next()?, keys.next(), keys.next(), keys.next()) {
        ("spec", "additionalTags", tag, ..) => Some(Field::Tag(tag)),
        ("spec", key @ ("imageLookupFormat" | "imageLookupOrg" | "imageLookupBaseOS"), ..) => Some(Field::Image(key)),
        ("spec", "network", Some("securityGroupOverrides"), None | Some("node" | "lb" | "node-eks-additional"), _) => {
            Some(Field::Groups)
        }
        ("spec", "network", Some("subnets"), _, None | Some("id" | "availabilityZone" | "isPublic" | "zoneType")) => {
            Some(Field::Subnets)
        }
        _ => None,
    }
}

/// What a field does to a pool.
fn reached(reached: &Reached<'_>) -> Option<Reach> {
    let Reached { path, old, new, kind, pool } = *reached;
    let template = pool.pointer("/spec/awsLaunchTemplate").filter(|template| template.is_object());
    // EKS makes the launch template of a node group that has none.
    let template = if kind == NODE_GROUP { template? } else { template.unwrap_or(&Value::Null) };
    let (effect, rule) = match field(path)? {
        Field::Tag(tag) => {
            let own = pool.pointer("/spec/additionalTags");
            let is_own = tag.is_some_and(|tag| own.is_some_and(|own| own.get(tag).is_some()));
            (!is_own).then_some((Effect::Rollout, REPLACED))?
        }
        Field::Image(key) => {
            let is_own = text(template, "/ami/id").is_some() || text(template, &format!("/{key}")).is_some();
            (!is_own).then_some((Effect::Unknown, ANOTHER_IMAGE))?
        }
        Field::Groups => (Effect::Rollout, REPLACED),
        Field::Subnets => {
            // A node group keeps its subnets, and the refresh has no part in where a group lies.
            let is_own = kind == NODE_GROUP || list(pool, "/spec/subnets").next().is_some();
            return (!is_own && subnets(old) != subnets(new)).then_some((Effect::Rollout, REPLACED));
        }
    };
    let is_off = pool.pointer("/spec/refreshPreferences/disable").and_then(Value::as_bool) == Some(true);
    Some(if kind == GROUP && is_off { (Effect::Latent, REFRESH_OFF) } else { (effect, rule) })
}

/// The subnets of a cluster as far as they say where a group lies, whatever their order.
fn subnets(cluster: &Value) -> Vec<[Option<&Value>; 4]> {
    let of = |subnet| ["id", "availabilityZone", "isPublic", "zoneType"].map(|key| Value::get(subnet, key));
    let mut all: Vec<_> = list(cluster, "/spec/network/subnets").map(of).collect();
    all.sort_by_key(|subnet| subnet[0].and_then(Value::as_str).map(str::to_owned));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    /// What a field does to a pool.
    fn told(path: &str, kind: &str, pool: Value) -> Option<Effect> {
        let path = Path::parse(path).expect("a path");
        let cluster = |ids: &[&str]| {
            let subnets: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
            json!({"spec": {"network": {"subnets": subnets}}})
        };
        let (old, new) = (cluster(&["a", "b"]), cluster(&["a"]));
        let pool = json!({ "spec": pool });
        reached(&Reached { path: &path, old: &old, new: &new, kind, pool: &pool }).map(|(effect, _)| effect)
    }

    #[test]
    fn tags_of_the_cluster_are_tags_of_its_pools() {
        let tag = "spec.additionalTags.team";
        assert_eq!(told(tag, GROUP, json!({})), Some(Effect::Rollout));
        assert_eq!(told(tag, GROUP, json!({"additionalTags": {"team": "own"}})), None);
        assert_eq!(told(tag, GROUP, json!({"refreshPreferences": {"disable": true}})), Some(Effect::Latent));
        assert_eq!(told(tag, NODE_GROUP, json!({})), None);
        assert_eq!(told(tag, NODE_GROUP, json!({"awsLaunchTemplate": {}})), Some(Effect::Rollout));
    }

    #[test]
    fn an_image_is_looked_up_where_none_is_named() {
        let image = |template: Value| told("spec.imageLookupOrg", GROUP, json!({ "awsLaunchTemplate": template }));
        assert_eq!(image(json!({})), Some(Effect::Unknown));
        assert_eq!(image(json!({"ami": {"id": "ami-1"}})), None);
        assert_eq!(image(json!({"imageLookupOrg": "1"})), None);
        assert_eq!(image(json!({"imageLookupBaseOS": "ubuntu"})), Some(Effect::Unknown));
    }

    #[test]
    fn groups_and_subnets_reach_those_without_their_own() {
        assert_eq!(told("spec.network.securityGroupOverrides.node", GROUP, json!({})), Some(Effect::Rollout));
        assert_eq!(told("spec.network.securityGroupOverrides.bastion", GROUP, json!({})), None);
        let subnet = "spec.network.subnets[1].id";
        assert_eq!(told(subnet, GROUP, json!({})), Some(Effect::Rollout));
        assert_eq!(told(subnet, GROUP, json!({"subnets": [{"id": "a"}]})), None);
        assert_eq!(told(subnet, NODE_GROUP, json!({"awsLaunchTemplate": {}})), None);
        assert_eq!(told("spec.network.subnets[1].tags", GROUP, json!({})), None);
    }
}
