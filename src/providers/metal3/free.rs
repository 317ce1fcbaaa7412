//! Which hosts a Machine that is made may take: those that are free, that its template chooses, and that no other owner waits for.
//! Read beside `baremetal/metal3machine_manager.go` (chooseHost, hostIsAvailable, hostLabelSelectorForHost) of CAPM3 1.10.

use super::{HOST, MACHINE_TEMPLATE, REUSE, SHUT};
use crate::kinds::contract::{INFRASTRUCTURE, MACHINE_DEPLOYMENT};
use crate::kinds::references::references;
use crate::object::{Key, View, is_deleting};
use crate::tree::Value;

/// The template of Metal3 that an owner names; `None` where its Machines are of another provider.
#[must_use]
pub(crate) fn template(owner: &Key, value: &Value) -> Option<Key> {
    let template = references(value).into_iter().find(|reference| reference.kind == MACHINE_TEMPLATE)?;
    Some(Key::of(INFRASTRUCTURE, MACHINE_TEMPLATE, owner.namespace.clone(), template.name))
}

/// The hosts that an owner's new Machines choose from, as the `hostSelector` of its template; `None` where they are not of Metal3, or
/// the template was not read.
#[must_use]
pub(crate) fn selector(owner: &Key, get: impl Fn(&Key) -> Option<Value>) -> Option<Value> {
    let template = template(owner, &get(owner)?)?;
    Some(get(&template)?.pointer("/spec/template/spec/hostSelector").cloned().unwrap_or_default())
}

/// How many hosts are free for the next Machines of an owner; `None` where they are not of Metal3, or no host was read.
#[must_use]
pub(crate) fn free(live: &dyn View, owner: &Key, has_all: bool, get: impl Fn(&Key) -> Option<Value>) -> Option<u64> {
    let mut here = live.of_kind(HOST.1).filter(|host| host.key.namespace == owner.namespace).peekable();
    if here.peek().is_none() && !has_all {
        return None;
    }
    let selector = selector(owner, get)?;
    let fits = |host: &Value| is_free(host, owner) && chooses(&selector, host);
    Some(here.filter(|host| host.value().is_ok_and(|host| fits(&host))).count() as u64)
}

/// Whether the owner's next Machine may take a host (CAPM3 `baremetal/metal3machine_manager.go`, v1.10, chooseHost and hostIsAvailable).
#[must_use]
pub(crate) fn is_free(host: &Value, owner: &Key) -> bool {
    let text = |pointer: &str| host.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let annotation = |name: &str| host.pointer("/metadata/annotations").is_some_and(|all| all.get(name).is_some());
    let reuse = host.pointer("/metadata/labels").and_then(|labels| labels.get(REUSE)).and_then(Value::as_str);
    host.pointer("/spec/consumerRef").is_none_or(Value::is_null)
        && !is_deleting(host)
        && text("/status/errorMessage").is_empty()
        && matches!(text("/status/provisioning/state"), "available" | "ready")
        && !SHUT.iter().any(|name| annotation(name))
        && reuse.is_none_or(|name| is_kept_for(name, owner))
}

/// Whether the label for node reuse names an owner (same file, getControlPlaneName and getMachineDeploymentName; `kcp-` up to 1.4).
fn is_kept_for(label: &str, owner: &Key) -> bool {
    let prefixes: &[&str] = if owner.kind == MACHINE_DEPLOYMENT { &["md-"] } else { &["cp-", "kcp-"] };
    prefixes.iter().any(|prefix| label.strip_prefix(prefix) == Some(owner.name.as_str()))
}

/// Whether a host that nobody uses is still being looked at before it may be taken (baremetal-operator
/// `apis/metal3.io/v1alpha1/baremetalhost_types.go`, ProvisioningState).
#[must_use]
pub(crate) fn is_on_its_way(host: &Value) -> bool {
    let text = |pointer: &str| host.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    host.pointer("/spec/consumerRef").is_none_or(Value::is_null)
        && !is_deleting(host)
        && text("/status/errorMessage").is_empty()
        && matches!(
            text("/status/provisioning/state"),
            "" | "registering" | "match profile" | "inspecting" | "preparing"
        )
}

/// Whether a `hostSelector` chooses a host, by its labels (same file, hostLabelSelectorForHost). An operator that is not
/// known chooses nothing.
#[must_use]
pub(crate) fn chooses(selector: &Value, host: &Value) -> bool {
    let label = |key: &str| host.pointer("/metadata/labels")?.get(key)?.as_str();
    let equal = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .is_none_or(|wanted| wanted.iter().all(|(key, value)| label(key) == value.as_str()));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    equal
        && expressions.into_iter().flatten().all(|expression| {
            let found = label(expression.get("key").and_then(Value::as_str).unwrap_or_default());
            let listed = || {
                let values = expression.get("values").and_then(Value::as_array);
                values.into_iter().flatten().any(|value| found.is_some() && value.as_str() == found)
            };
            let operator = expression.get("operator").and_then(Value::as_str).unwrap_or_default();
            match operator.to_ascii_lowercase().as_str() {
                "in" | "=" | "==" => listed(),
                "notin" | "!=" => !listed(),
                "exists" => found.is_some(),
                "doesnotexist" | "!" => found.is_none(),
                _ => false,
            }
        })
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::tree::json;

    fn host(state: &str, more: Value) -> Value {
        let mut host = json!({"metadata": {"labels": {"rack": "a"}}, "status": {"provisioning": {"state": state}}});
        for (key, value) in more.as_object().expect("a map") {
            host[key] = value.clone();
        }
        host
    }

    #[test]
    fn a_host_is_free_when_metal3_would_choose_it() {
        let owner = |kind: &str| Key::of("", kind, None, "a");
        let free = |state, more| is_free(&host(state, more), &owner("KubeadmControlPlane"));
        assert!(free("available", json!({})) && free("ready", json!({})));
        assert!(is_on_its_way(&host("inspecting", json!({}))) && !is_on_its_way(&host("available", json!({}))));
        assert!(!is_on_its_way(&host("inspecting", json!({"spec": {"consumerRef": {"name": "m"}}}))));
        let kept = |label: &str| json!({"metadata": {"labels": {REUSE: label}}});
        assert!(free("available", kept("cp-a")) && free("available", kept("kcp-a")));
        assert!(is_free(&host("available", kept("md-a")), &owner("MachineDeployment")));
        assert!(!is_free(&host("available", kept("cp-a")), &owner("MachineDeployment")));
        for (state, more) in [
            ("provisioned", json!({})),
            ("available", json!({"spec": {"consumerRef": {"name": "m"}}})),
            ("available", kept("a")),
            ("available", kept("cp-b")),
            ("available", kept("md-a")),
            ("available", json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": ""}}})),
            ("available", json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}})),
            ("available", json!({"status": {"errorMessage": "no power", "provisioning": {"state": "available"}}})),
        ] {
            assert!(!free(state, more.clone()), "{state} {more}");
        }
    }

    #[test]
    fn a_selector_chooses_as_kubernetes_labels_do() {
        let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "rack", "operator": operator, "values": values}]});
        let host = host("available", json!({}));
        for (selector, expected) in [
            (Value::Null, true),
            (json!({"matchLabels": {"rack": "a"}}), true),
            (json!({"matchLabels": {"rack": "b"}}), false),
            (expression("In", json!(["a", "b"])), true),
            (expression("in", json!(["b"])), false),
            (expression("NotIn", json!(["b"])), true),
            (expression("Exists", json!([])), true),
            (expression("DoesNotExist", json!([])), false),
            (expression("Near", json!(["a"])), false),
        ] {
            assert_eq!(chooses(&selector, &host), expected, "{selector}");
        }
    }
}
