//! What of a pool of AWS its controller takes for the same, or does not read. Read beside `pkg/cloud/services/ec2/launchtemplate.go`
//! (LaunchTemplateNeedsUpdate, DiscoverLaunchTemplateAMI), `pkg/cloud/services/eks/nodegroup.go` (reconcileNodegroupVersion) and
//! `exp/controllers/awsmachinepool_controller.go` (updatePool) of cluster-api-provider-aws 2.13.

use crate::kinds::fields::{list, text};
use crate::object::{Path, Segment};
use crate::tree::Value;

/// Lists of which the order counts for nothing.
const IN_ANY_ORDER: [&str; 2] = ["/spec/awsLaunchTemplate/additionalSecurityGroups", "/spec/subnets"];
/// A list of a group of instances in which the order counts for nothing; the webhook of a node group compares it in order.
const ZONES: &str = "/spec/availabilityZones";
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
            IN_ANY_ORDER.contains(&at.as_str()) && is_reordered(old, new, &at)
        }
        _ => false,
    }
}

/// Whether both sides are the same to the controller of a group of instances at a place.
pub(super) fn takes_as_same_in_a_group(old: &Value, new: &Value, path: &Path) -> bool {
    takes_as_same(old, new, path) || path.starts_with(&["spec", "availabilityZones"]) && is_reordered(old, new, ZONES)
}

/// Whether a list has the same items on both sides.
fn is_reordered(old: &Value, new: &Value, at: &str) -> bool {
    sorted(old, at) == sorted(new, at)
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

/// Configs that make the same user data whatever the version of their pool (`bootstrap/eks/controllers`).
const WITHOUT_VERSION: [&str; 2] = ["EKSConfig", "NodeadmConfig"];

/// Whether the nodes of a group of EKS come to differ by the version of their pool. EKS knows minor versions; an image that the launch
/// template looks up by a name of its own has the whole version in it, and so may the user data of another provider's config.
pub(super) fn reads_version(group: &Value, plane: Option<&Value>, (old, new): (&Value, &Value)) -> bool {
    let at = "/spec/template/spec/version";
    let template = group.pointer("/spec/awsLaunchTemplate").filter(|template| template.is_object());
    let is_found = template.is_some() && !has_image(group);
    let looks_up = |side: &Value, at: &str| LOOK_UP.iter().any(|key| text(side, &format!("{at}/{key}")).is_some());
    let by_name = || looks_up(group, "/spec/awsLaunchTemplate") || plane.is_none_or(|plane| looks_up(plane, "/spec"));
    let config = text(new, "/spec/template/spec/bootstrap/configRef/kind");
    let is_in_the_config = template.is_some() && config.is_some_and(|kind| !WITHOUT_VERSION.contains(&kind));
    let Some(was) = text(old, at).and_then(minor) else { return true };
    let reaches = match text(new, at) {
        None => is_found,
        // EKS never goes back, but an image that is looked up may.
        Some(is) => minor(is).is_none_or(|is| is > was || is != was && is_found) || is_found && by_name(),
    };
    reaches || is_in_the_config
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
    fn a_patch_version_reaches_nodes_only_by_an_image_or_a_config_that_has_it() {
        let group = |template: Value| json!({"spec": {"awsLaunchTemplate": template}});
        let pool = |version: Option<&str>, config: &str| json!({"spec": {"template": {"spec": {"version": version, "bootstrap": {"configRef": {"kind": config}}}}}});
        let plane = json!({"spec": {"version": "v1.33"}});
        let own = json!({"spec": {"imageLookupFormat": "capa-{{.K8sVersion}}"}});
        let old = pool(Some("v1.33.1"), "EKSConfig");
        let (patch, minor) = (pool(Some("v1.33.5"), "EKSConfig"), pool(Some("v1.34.0"), "EKSConfig"));
        let older = pool(Some("v1.32.9"), "EKSConfig");
        let (none, other) = (pool(None, "EKSConfig"), pool(Some("v1.33.5"), "KubeadmConfig"));
        for (template, plane, new, expected) in [
            (json!({"name": "a"}), Some(&plane), &patch, false),
            (json!({"name": "a"}), Some(&plane), &minor, true),
            (json!({"name": "a"}), Some(&plane), &older, true),
            (json!({"ami": {"id": "ami-a"}}), Some(&plane), &older, false),
            (json!({"ami": {"id": "ami-a"}}), Some(&plane), &minor, true),
            (json!({"name": "a"}), Some(&plane), &other, true),
            (json!({"name": "a"}), Some(&own), &patch, true),
            (json!({"name": "a"}), None, &patch, true),
            (json!({"imageLookupOrg": "1234"}), Some(&plane), &patch, true),
            (json!({"imageLookupOrg": "1234", "ami": {"id": "ami-a"}}), Some(&own), &patch, false),
            (json!({"name": "a"}), Some(&plane), &none, true),
            (json!({"ami": {"id": "ami-a"}}), Some(&plane), &none, false),
        ] {
            assert_eq!(reads_version(&group(template.clone()), plane, (&old, new)), expected, "{template} {new}");
        }
        let bare = json!({"spec": {}});
        assert!(!reads_version(&bare, None, (&old, &patch)), "without a launch template EKS finds the image");
        assert!(!reads_version(&bare, None, (&old, &older)) && reads_version(&bare, None, (&old, &minor)));
    }

    #[test]
    fn the_order_of_groups_and_subnets_counts_for_nothing() {
        let side =
            |ids: &[&str]| json!({"spec": {"subnets": ids.iter().map(|id| json!({"id": *id})).collect::<Vec<_>>()}});
        let path = Path::parse("spec.subnets[0].id").expect("a path");
        assert!(takes_as_same(&side(&["a", "b"]), &side(&["b", "a"]), &path));
        assert!(!takes_as_same(&side(&["a", "b"]), &side(&["b", "c"]), &path));
        let zones = |names: &[&str]| json!({"spec": {"availabilityZones": names}});
        let (old, new) = (zones(&["a", "b"]), zones(&["b", "a"]));
        let path = Path::parse("spec.availabilityZones[0]").expect("a path");
        assert!(takes_as_same_in_a_group(&old, &new, &path));
        assert!(!takes_as_same(&old, &new, &path), "the webhook of a node group refuses it");
        let with = |image: Value, kind: &str| json!({"spec": {"awsLaunchTemplate": {"ami": {"id": image, "eksLookupType": kind}}}});
        let path = Path::parse("spec.awsLaunchTemplate.ami.eksLookupType").expect("a path");
        assert!(takes_as_same(&with(json!("ami-a"), "a"), &with(json!("ami-b"), "b"), &path));
        assert!(!takes_as_same(&with(Value::Null, "a"), &with(json!("ami-b"), "b"), &path));
    }
}
