//! What of a pool of AWS its controller takes for the same, or does not read. Read beside `pkg/cloud/services/ec2/launchtemplate.go`
//! (LaunchTemplateNeedsUpdate, DiscoverLaunchTemplateAMI), `pkg/cloud/services/eks/nodegroup.go` (reconcileNodegroupVersion) and
//! `exp/controllers/awsmachinepool_controller.go` (updatePool) of cluster-api-provider-aws 2.13.

use crate::kinds::fields::{list, text};
use crate::object::{Path, Segment};
use crate::tree::Value;

/// Lists of which the order counts for nothing.
const IN_ANY_ORDER: [&str; 3] =
    ["/spec/awsLaunchTemplate/additionalSecurityGroups", "/spec/subnets", "/spec/availabilityZones"];
/// What finds an image where its id is not told.
const LOOK_UP: [&str; 3] = ["imageLookupFormat", "imageLookupOrg", "imageLookupBaseOS"];

/// Whether both sides are the same to the controller at a place.
pub(super) fn takes_as_same(old: &Value, new: &Value, path: &Path) -> bool {
    let keys: Vec<&str> = path.segments().iter().map_while(key).collect();
    match keys.as_slice() {
        ["spec", "awsLaunchTemplate", "ami", "eksLookupType"] => has_image(old) && has_image(new),
        ["spec", "awsLaunchTemplate", key] if LOOK_UP.contains(key) => has_image(old) && has_image(new),
        ["spec", ..] => {
            let at = format!("/{}", keys.join("/"));
            IN_ANY_ORDER.contains(&at.as_str()) && sorted(old, &at) == sorted(new, &at)
        }
        _ => false,
    }
}

fn key(segment: &Segment) -> Option<&str> {
    if let Segment::Key(key) = segment { Some(key.as_str()) } else { None }
}

fn sorted(side: &Value, at: &str) -> Vec<String> {
    let mut all: Vec<String> = list(side, at).map(Value::to_string).collect();
    all.sort_unstable();
    all
}

/// Whether the image is told by its id.
fn has_image(pool: &Value) -> bool {
    text(pool, "/spec/awsLaunchTemplate/ami/id").is_some()
}

/// Whether the nodes of a group of EKS come to differ by the version of their pool. EKS knows minor versions; an image that the launch
/// template looks up by a name of its own has the whole version in it.
pub(super) fn reads_version(pool: &Value, plane: Option<&Value>, was: &str, is: Option<&str>) -> bool {
    let is_found = pool.pointer("/spec/awsLaunchTemplate").is_some_and(Value::is_object) && !has_image(pool);
    let looks_up = |side: &Value, at: &str| LOOK_UP.iter().any(|key| text(side, &format!("{at}/{key}")).is_some());
    let by_name = || looks_up(pool, "/spec/awsLaunchTemplate") || plane.is_none_or(|plane| looks_up(plane, "/spec"));
    match is {
        None => is_found,
        Some(is) => minor(was).is_none() || minor(was) != minor(is) || is_found && by_name(),
    }
}

/// Major and minor number of a version.
fn minor(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_patch_version_reaches_nodes_only_by_an_image_that_has_it_in_its_name() {
        let pool = |template: Value| json!({"spec": {"awsLaunchTemplate": template}});
        let plane = json!({"spec": {"version": "v1.33"}});
        let own = json!({"spec": {"imageLookupFormat": "capa-{{.K8sVersion}}"}});
        let reads = |pool: &Value, plane: Option<&Value>, is: Option<&str>| reads_version(pool, plane, "v1.33.1", is);
        for (template, plane, is, expected) in [
            (json!({"name": "a"}), Some(&plane), Some("v1.33.5"), false),
            (json!({"name": "a"}), Some(&plane), Some("v1.34.0"), true),
            (json!({"name": "a"}), Some(&own), Some("v1.33.5"), true),
            (json!({"name": "a"}), None, Some("v1.33.5"), true),
            (json!({"imageLookupOrg": "1234"}), Some(&plane), Some("v1.33.5"), true),
            (json!({"imageLookupOrg": "1234", "ami": {"id": "ami-a"}}), Some(&own), Some("v1.33.5"), false),
            (json!({"name": "a"}), Some(&plane), None, true),
            (json!({"ami": {"id": "ami-a"}}), Some(&plane), None, false),
        ] {
            assert_eq!(reads(&pool(template.clone()), plane, is), expected, "{template} {is:?}");
        }
        assert!(!reads(&json!({"spec": {}}), None, Some("v1.33.5")), "without a launch template EKS finds the image");
    }

    #[test]
    fn the_order_of_groups_and_subnets_counts_for_nothing() {
        let side =
            |ids: &[&str]| json!({"spec": {"subnets": ids.iter().map(|id| json!({"id": *id})).collect::<Vec<_>>()}});
        let path = Path::parse("spec.subnets[0].id").expect("a path");
        assert!(takes_as_same(&side(&["a", "b"]), &side(&["b", "a"]), &path));
        assert!(!takes_as_same(&side(&["a", "b"]), &side(&["b", "c"]), &path));
        let with = |image: Value, kind: &str| json!({"spec": {"awsLaunchTemplate": {"ami": {"id": image, "eksLookupType": kind}}}});
        let path = Path::parse("spec.awsLaunchTemplate.ami.eksLookupType").expect("a path");
        assert!(takes_as_same(&with(json!("ami-a"), "a"), &with(json!("ami-b"), "b"), &path));
        assert!(!takes_as_same(&with(Value::Null, "a"), &with(json!("ami-b"), "b"), &path));
    }
}
