//! Mirror of what the AWS provider's webhooks refuse about machine pools and node groups beside what `fixed_infra` compares.
//! Read beside `exp/webhooks/aws{machinepool,managedmachinepool}_webhook.go` and `validation.go` of cluster-api-provider-aws 2.13.

use crate::kinds::fields::text;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::refuse;
use crate::object::Path;
use crate::object::{go_duration, go_seconds};
use crate::providers::aws::machine::{market, volumes};
use crate::providers::aws::webhook::{RULE, list, tags};

use crate::tree::Value;

/// How long a hook may wait for its answer, in nanoseconds.
const HEARTBEAT: std::ops::RangeInclusive<i64> = 30_000_000_000..=172_800_000_000_000;

/// What is refused about a pool; the old side is `None` where it is new.
#[must_use]
pub(crate) fn refusals(kind: &str, old: Option<&Value>, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let at = Path::root().key("spec");
    let Some(spec) = new.get("spec") else { return out };
    tags(spec, &at, &mut out);
    match kind {
        "AWSMachinePool" => {
            group(spec, &at, &mut out);
            if old.is_none() {
                new_group(spec, &at, &mut out);
            }
        }
        "AWSManagedMachinePool" => {
            match old.and_then(|old| old.get("spec")) {
                Some(old) => set_once(old, spec, &at, &mut out),
                None => remote_access(spec, &at, &mut out),
            }
            node_group(spec, &at, &mut out);
        }
        _ => {
            if let Some(old) = old.and_then(|old| old.get("spec")) {
                role(old, spec, &at, &mut out);
            }
            return out;
        }
    }
    hooks(spec, &at, &mut out);
    out
}

/// The role of a Fargate profile stays; where none was told, it may be told which one it has got (`pkg/eks/eks.go` GenerateEKSName).
fn role(old: &Value, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let (was, is) = (text(old, "/roleName"), text(spec, "/roleName"));
    let own = |key: &str| text(spec, key).unwrap_or_default().to_owned();
    let made = format!("{}-{}_fargate", own("/clusterName"), own("/profileName").replace('.', "_"));
    let is_made = |name: &str| name == "eks-fargate.cluster-api-provider-aws.sigs.k8s.io" || name == made;
    if was != is && !(was.is_none() && is.is_some_and(is_made)) {
        refuse(out, RULE, at, "roleName", "a profile keeps its role");
    }
}

/// What a group of instances must keep to.
fn group(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for (key, least) in [("defaultCoolDown", 0), ("defaultInstanceWarmup", i64::MIN)] {
        let told = spec.get(key).and_then(Value::as_str);
        if told.is_some_and(|told| go_seconds(told).is_none_or(|seconds| seconds < least)) {
            refuse(out, RULE, at, key, "it must be a duration such as 5m0s");
        }
    }
    let has = |value: &Value, key: &str| value.get(key).is_some_and(|value| !value.is_null());
    for (pointer, below) in [
        ("/subnets", "subnets"),
        ("/awsLaunchTemplate/additionalSecurityGroups", "awsLaunchTemplate.additionalSecurityGroups"),
    ] {
        for (place, item) in list(spec, pointer) {
            if has(item, "id") && has(item, "filters") {
                let message = "it is named by its id or by filters, not by both";
                refuse(out, RULE, at, &format!("{below}[{place}]"), message);
            }
        }
    }
    let is_spot = spec.pointer("/awsLaunchTemplate/spotMarketOptions").is_some_and(Value::is_object);
    if is_spot && has(spec, "mixedInstancesPolicy") {
        for key in ["awsLaunchTemplate.spotMarketOptions", "mixedInstancesPolicy"] {
            refuse(out, RULE, at, key, "spot instances and a mixture exclude each other");
        }
    }
    let percentage =
        |key: &str| spec.pointer(&format!("/refreshPreferences/{key}HealthyPercentage")).and_then(Value::as_i64);
    if let Some(most) = percentage("max")
        && percentage("min").is_none_or(|least| most - least > 100)
    {
        for key in ["refreshPreferences.maxHealthyPercentage", "refreshPreferences.minHealthyPercentage"] {
            refuse(out, RULE, at, key, "the most needs the least, and lies at most 100 above it");
        }
    }
}

/// What the instances of a new group must keep to; nobody asks this of one that changes.
fn new_group(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let template = spec.get("awsLaunchTemplate").unwrap_or(&Value::Null);
    volumes(template, (at, "awsLaunchTemplate."), true, out);
    let at = at.key("awsLaunchTemplate");
    market(template, &at, out);
    let kind = text(template, "/marketType").unwrap_or_default();
    let is_spot = template.get("spotMarketOptions").is_some_and(Value::is_object);
    let reserved = template.get("capacityReservationId").is_some_and(|id| !id.is_null());
    if !matches!(kind, "" | "OnDemand" | "Spot" | "CapacityBlock") {
        refuse(out, RULE, &at, "marketType", "it must be OnDemand, Spot or CapacityBlock");
    }
    if reserved && (is_spot || kind == "Spot") {
        refuse(out, RULE, &at, "capacityReservationId", "reserved capacity is never for spot instances");
    }
}

/// Who may reach the nodes of a new node group: everybody, or the groups that are named.
fn remote_access(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let access = spec.get("remoteAccess").unwrap_or(&Value::Null);
    if access.get("public") == Some(&Value::Bool(true)) && list(access, "/sourceSecurityGroups").next().is_some() {
        let message = "nodes that everybody may reach name no groups";
        refuse(out, RULE, at, "remoteAccess.sourceSecurityGroups", message);
    }
}

/// What can be set once.
fn set_once(old: &Value, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for key in ["eksNodegroupName", "roleName", "capacityType"] {
        let pointer = format!("/{key}");
        if text(old, &pointer).is_some() && text(old, &pointer) != text(new, &pointer) {
            refuse(out, RULE, at, key, "a node group keeps what it was made with");
        }
    }
    let has_template = |side: &Value| side.get("awsLaunchTemplate").is_some_and(Value::is_object);
    if has_template(old) != has_template(new) {
        refuse(out, RULE, at, "awsLaunchTemplate", "a node group has a launch template for ever or never");
    }
}

/// What a node group of EKS must keep to.
fn node_group(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let number = |pointer: &str| spec.pointer(pointer).and_then(Value::as_i64);
    let (least, most) = (number("/scaling/minSize"), number("/scaling/maxSize"));
    if least.is_some_and(|least| least < 0) || most.is_some_and(|most| most < least.unwrap_or(0)) {
        for key in ["scaling.minSize", "scaling.maxSize"] {
            refuse(out, RULE, at, key, "the sizes are not below 0, and the most is not below the least");
        }
    }
    if let Some(update) = spec.get("updateConfig").filter(|update| update.is_object()) {
        let ways = ["maxUnavailable", "maxUnavailablePercentage"];
        if ways.iter().filter(|way| update.get(**way).is_some_and(|value| !value.is_null())).count() != 1 {
            for way in ways {
                refuse(out, RULE, at, &format!("updateConfig.{way}"), "exactly one of both must be set");
            }
        }
    }
    let Some(template) = spec.get("awsLaunchTemplate").filter(|template| template.is_object()) else { return };
    for key in ["instanceType", "diskSize"] {
        if spec.get(key).is_some_and(|value| !value.is_null()) {
            refuse(out, RULE, at, key, "the launch template says it");
        }
    }
    if text(template, "/iamInstanceProfile").is_some() {
        let key = "awsLaunchTemplate.iamInstanceProfile";
        refuse(out, RULE, at, key, "EKS gives the nodes of a group their profile");
    }
}

/// Hooks of the instances' life.
fn hooks(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for (place, hook) in list(spec, "/lifecycleHooks") {
        let below = |key: &str| format!("lifecycleHooks[{place}].{key}");
        let has = |key: &str| hook.get(key).is_some_and(|value| !value.is_null());
        if text(hook, "/name").is_none() {
            refuse(out, RULE, at, &below("name"), "a hook needs a name");
        }
        if has("notificationTargetARN") != has("roleARN") {
            refuse(out, RULE, at, &below("roleARN"), "a target and the role to reach it come together");
        }
        let transition = text(hook, "/lifecycleTransition").unwrap_or_default();
        if !matches!(transition, "autoscaling:EC2_INSTANCE_LAUNCHING" | "autoscaling:EC2_INSTANCE_TERMINATING") {
            refuse(out, RULE, at, &below("lifecycleTransition"), "it must be one of launching and terminating");
        }
        if has("defaultResult") && !matches!(text(hook, "/defaultResult"), Some("CONTINUE" | "ABANDON")) {
            refuse(out, RULE, at, &below("defaultResult"), "it must be CONTINUE or ABANDON");
        }
        let timeout = hook.get("heartbeatTimeout").and_then(Value::as_str);
        if timeout.is_some_and(|told| go_duration(told).is_none_or(|length| !HEARTBEAT.contains(&length))) {
            refuse(out, RULE, at, &below("heartbeatTimeout"), "it must lie between 30s and 48h");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(kind: &str, old: Value, new: Value) -> Vec<String> {
        let found = refusals(kind, Some(&json!({"spec": old})), &json!({"spec": new}));
        found.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_node_group_keeps_what_it_was_made_with() {
        let told = |old: Value, new: Value| refused("AWSManagedMachinePool", old, new);
        assert_eq!(told(json!({}), json!({"roleName": "a"})), [""; 0]);
        assert_eq!(told(json!({"roleName": "a"}), json!({"roleName": "b"})), ["spec.roleName"]);
        assert_eq!(told(json!({}), json!({"awsLaunchTemplate": {}})), ["spec.awsLaunchTemplate"]);
        assert_eq!(told(json!({}), json!({"updateConfig": {}})).len(), 2);
        assert_eq!(told(json!({}), json!({"scaling": {"minSize": 2, "maxSize": 1}})).len(), 2);
    }

    #[test]
    fn a_new_group_has_whole_volumes_and_one_market() {
        let told = |template: Value| {
            let spec = json!({"spec": {"awsLaunchTemplate": template}});
            refusals("AWSMachinePool", None, &spec).len()
        };
        let volume = |throughput: i64| json!({"rootVolume": {"type": "gp3", "throughput": throughput}});
        assert_eq!((told(volume(125)), told(volume(124)), told(volume(2001))), (0, 1, 1));
        assert_eq!(told(json!({"marketType": "CapacityBlock", "capacityReservationId": "cr-a"})), 0);
        assert_eq!(told(json!({"marketType": "CapacityBlock"})), 1);
        assert_eq!(told(json!({"marketType": "Other"})), 1);
        assert_eq!(told(json!({"marketType": "Spot", "capacityReservationId": "cr-a"})), 1);
        let group = json!({"spec": {"remoteAccess": {"public": true, "sourceSecurityGroups": ["sg-a"]}}});
        assert_eq!(refusals("AWSManagedMachinePool", None, &group).len(), 1);
        assert_eq!(refusals("AWSManagedMachinePool", Some(&group), &group).len(), 0, "a live one is not asked");
    }

    #[test]
    fn a_group_is_refreshed_within_bounds() {
        let told = |new: Value| refused("AWSMachinePool", json!({}), new);
        assert_eq!(
            told(json!({"defaultCoolDown": "5m0s", "refreshPreferences": {"minHealthyPercentage": 90}})),
            [""; 0]
        );
        assert_eq!(told(json!({"refreshPreferences": {"maxHealthyPercentage": 90}})).len(), 2);
        assert_eq!(told(json!({"defaultCoolDown": "soon"})), ["spec.defaultCoolDown"]);
        let beats = |told: &str| {
            let hook = json!({"name": "a", "lifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING", "heartbeatTimeout": told});
            refused("AWSMachinePool", json!({}), json!({"lifecycleHooks": [hook]})).len()
        };
        assert_eq!((beats("30s"), beats("48h"), beats("29.5s"), beats("48h0.5s")), (0, 0, 1, 1));
        let hook = json!({"lifecycleHooks": [{"name": "a", "lifecycleTransition": "x", "heartbeatTimeout": "1s"}]});
        assert_eq!(told(hook).len(), 2);
    }
}
