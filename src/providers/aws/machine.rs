//! Mirror of what the AWS provider's webhooks refuse about Machines and their templates beside another content.
//! Read beside `webhooks/aws{machine,machinetemplate}_webhook.go` of cluster-api-provider-aws 2.13; the checks of hosts came
//! with 2.10. A template is only looked at when it is new, because its content cannot change later.

use crate::kinds::fields::text;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::refuse;
use crate::object::Path;
use crate::providers::aws::ignition;
use crate::providers::aws::webhook::{RULE, elastic_pool, key_name, list, tags};

use crate::tree::Value;

/// What is refused about a Machine; the old side is `None` where it is new.
#[must_use]
pub(crate) fn machine(old: Option<&Value>, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let at = Path::root().key("spec");
    let Some(spec) = new.get("spec") else { return out };
    cloud_init(spec, &at, &mut out);
    groups(spec, &at, &mut out);
    tags(spec, &at, &mut out);
    hosts(old.and_then(|old| old.get("spec")), spec, &at, &mut out);
    if old.is_none() {
        ignition::refusals(spec, &at, &mut out);
        ignition::versions(spec, &at, &mut out);
        volumes(spec, (&at, ""), true, &mut out);
        key_name(spec, &at, &mut out);
        market(spec, &at, &mut out);
        let is_spot =
            text(spec, "/marketType") == Some("Spot") || spec.get("spotMarketOptions").is_some_and(Value::is_object);
        if is_spot && text(spec, "/capacityReservationPreference") == Some("CapacityReservationsOnly") {
            refuse(
                &mut out,
                RULE,
                &at,
                "capacityReservationPreference",
                "reserved capacity is never for spot instances",
            );
        }
        let pool = spec.get("elasticIpPool");
        if pool.is_some_and(Value::is_object) && spec.get("publicIP") != Some(&Value::Bool(true)) {
            refuse(&mut out, RULE, &at, "elasticIpPool", "a pool of public addresses needs publicIP: true");
        }
        elastic_pool(pool, &at.key("elasticIpPool"), &mut out);
    }
    out
}

/// What is refused about a template that is new.
#[must_use]
pub(crate) fn template(new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let at = Path::root().key("spec").key("template").key("spec");
    let Some(spec) = new.pointer("/spec/template/spec") else { return out };
    let is_set =
        |pointer: &str| spec.pointer(pointer).is_some_and(|value| *value != "" && *value != 0 && !value.is_null());
    for (pointer, below) in [
        ("/cloudInit/secretPrefix", "cloudInit.secretPrefix"),
        ("/cloudInit/secretCount", "cloudInit.secretCount"),
        ("/providerID", "providerID"),
    ] {
        if is_set(pointer) {
            refuse(&mut out, RULE, &at, below, "it is the Machine's own and has no place in a template");
        }
    }
    cloud_init(spec, &at, &mut out);
    ignition::refusals(spec, &at, &mut out);
    volumes(spec, (&at, ""), false, &mut out);
    key_name(spec, &at, &mut out);
    groups(spec, &at, &mut out);
    tags(spec, &at, &mut out);
    hosts(None, spec, &at, &mut out);
    if text(spec, "/hostAffinity") == Some("host")
        && text(spec, "/hostID").is_none()
        && !spec.get("dynamicHostAllocation").is_some_and(Value::is_object)
    {
        refuse(&mut out, RULE, &at, "hostID", "a Machine that stays on its host needs to know which");
    }
    out
}

/// Where the user data is kept: its prefix and its count come together, and neither without a keeper.
fn cloud_init(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let cloud = spec.get("cloudInit").unwrap_or(&Value::Null);
    let prefix = text(cloud, "/secretPrefix").is_some();
    let count = cloud.get("secretCount").and_then(Value::as_i64).unwrap_or(0) != 0;
    if cloud.get("insecureSkipSecretsManager") == Some(&Value::Bool(true)) {
        let backend = text(cloud, "/secureSecretsBackend").is_some();
        for (is_set, key) in [(prefix, "secretPrefix"), (count, "secretCount"), (backend, "secureSecretsBackend")] {
            if is_set {
                for key in [key, "insecureSkipSecretsManager"] {
                    let below = format!("cloudInit.{key}");
                    refuse(out, RULE, at, &below, "nothing is kept where insecureSkipSecretsManager is true");
                }
            }
        }
    }
    if prefix != count {
        for key in ["cloudInit.secretPrefix", "cloudInit.secretCount"] {
            refuse(out, RULE, at, key, "the prefix and the count of the secrets come together");
        }
    }
}

/// A security group is named by its id or by filters.
fn groups(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for (place, group) in list(spec, "/additionalSecurityGroups") {
        let by_filters = group.get("filters").and_then(Value::as_array).is_some_and(|filters| !filters.is_empty());
        if by_filters && group.get("id").is_some_and(|id| !id.is_null()) {
            let below = format!("additionalSecurityGroups[{place}]");
            refuse(out, RULE, at, &below, "a security group is named by its id or by filters, not by both");
        }
    }
}

/// Which dedicated host a Machine runs on. What was wrong before stays allowed.
fn hosts(old: Option<&Value>, spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let has_id = text(spec, "/hostID").is_some();
    let is_dynamic = spec.get("dynamicHostAllocation").is_some_and(Value::is_object);
    let on_host = |side: &Value| text(side, "/tenancy") == Some("host");
    let stays = |side: &Value| text(side, "/hostAffinity") == Some("host");
    if has_id && is_dynamic {
        for key in ["hostID", "dynamicHostAllocation"] {
            refuse(out, RULE, at, key, "a host is named or found, not both");
        }
    }
    let was_so = old.is_some_and(|old| stays(old) && !on_host(old));
    for (is_set, key) in
        [(has_id, "hostID"), (stays(spec) && !was_so, "hostAffinity"), (is_dynamic, "dynamicHostAllocation")]
    {
        if is_set && !on_host(spec) {
            refuse(out, RULE, at, key, "it needs the tenancy host");
        }
    }
    if is_dynamic && !stays(spec) {
        refuse(out, RULE, at, "dynamicHostAllocation", "a host that is found needs the affinity host");
    }
}

/// Volumes that promise a speed say which. Of a Machine's and a group's root volume AWS's limits are asked, of a template's
/// they are not.
pub(crate) fn volumes(spec: &Value, (at, below): (&Path, &str), has_limits: bool, out: &mut Vec<Refusal>) {
    let others = list(spec, "/nonRootVolumes").map(|(place, volume)| (format!("nonRootVolumes[{place}]"), volume));
    let root =
        spec.get("rootVolume").filter(|volume| volume.is_object()).map(|volume| ("rootVolume".to_owned(), volume));
    for (place, volume) in others.chain(root) {
        let (is_root, place) = (place == "rootVolume", format!("{below}{place}"));
        let kind = text(volume, "/type").unwrap_or_default();
        if matches!(kind, "io1" | "io2") && volume.get("iops").and_then(Value::as_i64).unwrap_or(0) == 0 {
            refuse(out, RULE, at, &format!("{place}.iops"), "a volume of this type needs its iops");
        }
        if let Some(throughput) = volume.get("throughput").and_then(Value::as_i64) {
            let place = format!("{place}.throughput");
            if kind != "gp3" || throughput < 0 {
                refuse(out, RULE, at, &place, "only gp3 has a throughput, and none below 0");
            }
            if is_root && has_limits && !(125..=2000).contains(&throughput) {
                refuse(out, RULE, at, &place, "the throughput lies between 125 and 2000 MiB/s");
            }
        }
        if !is_root && text(volume, "/deviceName").is_none() {
            refuse(out, RULE, at, &format!("{place}.deviceName"), "a further volume needs the name of its device");
        }
    }
}

/// How the instance is bought.
pub(crate) fn market(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let kind = text(spec, "/marketType").unwrap_or_default();
    let is_spot = spec.get("spotMarketOptions").is_some_and(Value::is_object);
    let reserved = spec.get("capacityReservationId").is_some_and(|id| !id.is_null());
    if is_spot && matches!(kind, "CapacityBlock" | "OnDemand") {
        refuse(out, RULE, at, "marketType", "spotMarketOptions want another market");
    }
    if kind == "CapacityBlock" && !reserved {
        refuse(out, RULE, at, "capacityReservationId", "a block of capacity needs its reservation");
    }
    let preference = text(spec, "/capacityReservationPreference").unwrap_or_default();
    if reserved && !matches!(preference, "" | "CapacityReservationsOnly") {
        refuse(out, RULE, at, "capacityReservationPreference", "reserved capacity is used alone");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(old: Option<Value>, new: Value) -> Vec<String> {
        let object = |spec: Value| json!({"spec": spec});
        let found = machine(old.map(object).as_ref(), &object(new));
        found.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn secrets_of_user_data_come_together() {
        let told = |cloud: Value| refused(Some(json!({})), json!({"cloudInit": cloud}));
        assert_eq!(told(json!({"secretPrefix": "a", "secretCount": 2})), [""; 0]);
        assert_eq!(told(json!({"secretPrefix": "a"})).len(), 2);
        assert_eq!(told(json!({"insecureSkipSecretsManager": true})), [""; 0]);
        assert_eq!(told(json!({"insecureSkipSecretsManager": true, "secureSecretsBackend": "x"})).len(), 2);
    }

    #[test]
    fn a_host_that_was_wrong_before_stays_allowed() {
        let wrong = json!({"hostAffinity": "host", "tenancy": "default"});
        assert_eq!(refused(Some(wrong.clone()), wrong.clone()), [""; 0]);
        assert_eq!(refused(Some(json!({})), wrong), ["spec.hostAffinity"]);
        let right = json!({"hostAffinity": "host", "tenancy": "host", "dynamicHostAllocation": {}});
        assert_eq!(refused(None, right), [""; 0]);
    }

    #[test]
    fn a_new_machine_has_whole_volumes() {
        let volume = |volume: Value| json!({"rootVolume": volume});
        assert_eq!(refused(None, volume(json!({"size": 20, "type": "gp3", "throughput": 200}))), [""; 0]);
        assert_eq!(refused(None, volume(json!({"size": 20, "type": "io1"}))), ["spec.rootVolume.iops"]);
        let object = |cloud: Value| json!({"spec": {"template": {"spec": {"ignition": {}, "cloudInit": cloud}}}});
        assert_eq!(template(&object(json!({"secureSecretsBackend": "x"}))).len(), 1);
        assert_eq!(template(&object(json!({}))).len(), 0);
    }
}
