//! Mirror of what the webhook of the Azure provider refuses about pools of virtual machines.
//! Read beside `internal/exp/webhooks/azuremachinepool_webhook.go` of cluster-api-provider-azure 1.26.

use super::machine;
use super::webhook::RULE;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// What a pool of virtual machines cannot be; the old side is `None` where it is new.
pub(super) fn refusals(old: Option<&Value>, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    if let Some(template) = new.pointer("/spec/template") {
        let at = spec.key("template");
        machine::image(template, &at, out);
        machine::disk(template, &at, out);
        machine::diagnostics(template, &at, out);
        if text(template, "/sshPublicKey").is_some_and(|key| !machine::is_key(key)) {
            refuse(out, RULE, &at, "sshPublicKey", "it is no public key in base64");
        }
    }
    machine::users(new.get("spec").unwrap_or(&Value::Null), spec, out);
    let told = |side: &Value| side.pointer("/spec/template/disableVMBootstrapExtension").and_then(Value::as_bool);
    if let Some(old) = old
        && told(old).is_some()
        && told(old) != told(new)
    {
        refuse(out, RULE, spec, "template.disableVMBootstrapExtension", "it cannot change once it is set");
    }
    role(old, new, spec, out);
    let minutes = new.pointer("/spec/template/terminateNotificationTimeout").and_then(Value::as_i64);
    if minutes.is_some_and(|minutes| !(5..=15).contains(&minutes)) {
        refuse(out, RULE, spec, "template.terminateNotificationTimeout", "it lies between 5 and 15 minutes");
    }
    let room = |key: &str| new.pointer(&format!("/spec/strategy/rollingUpdate/{key}")).and_then(Value::as_i64);
    if text(new, "/spec/strategy/type") == Some("RollingUpdate")
        && room("maxSurge") == Some(0)
        && room("maxUnavailable") == Some(0)
    {
        for key in ["maxSurge", "maxUnavailable"] {
            let below = format!("strategy.rollingUpdate.{key}");
            refuse(out, RULE, spec, &below, "maxSurge and maxUnavailable cannot both be 0");
        }
    }
    if list(new, "/spec/template/networkInterfaces").next().is_some()
        && text(new, "/spec/template/subnetName").is_some()
    {
        for key in ["template.networkInterfaces", "template.subnetName"] {
            refuse(out, RULE, spec, key, "networkInterfaces and subnetName exclude each other");
        }
    }
}

/// A role is of a pool with the identity of its system, and a pool that was made without one takes none: the webhook reads the old
/// one without asking whether it is there, and a webhook that panics refuses (`validateSystemAssignedIdentity`).
fn role(old: Option<&Value>, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    const PLACE: &str = "systemAssignedIdentityRole";
    let told = |side: &Value| side.pointer("/spec/systemAssignedIdentityRole").is_some_and(Value::is_object);
    if !told(new) {
        return;
    }
    if text(new, "/spec/identity") != Some("SystemAssigned") {
        refuse(out, RULE, spec, PLACE, "a role needs the identity SystemAssigned");
    } else if old.is_some_and(|old| !told(old)) {
        refuse(out, RULE, spec, PLACE, "the webhook fails where a pool without a role gets one");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn told(old: Option<Value>, new: Value) -> Vec<String> {
        let mut out = Vec::new();
        let object = |spec: Value| json!({"spec": spec});
        refusals(old.map(object).as_ref(), &object(new), &Path::root().key("spec"), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    fn refused(old: Value, new: Value) -> Vec<String> {
        told(Some(old), new)
    }

    #[test]
    fn the_extension_of_a_pool_is_chosen_once() {
        let chosen = |value: Value| json!({"template": {"disableVMBootstrapExtension": value}});
        assert_eq!(refused(json!({}), chosen(json!(true))), [""; 0]);
        let place = ["spec.template.disableVMBootstrapExtension"];
        assert_eq!(refused(chosen(json!(true)), chosen(json!(false))), place);
        assert_eq!(refused(chosen(json!(false)), json!({})), place);
    }

    #[test]
    fn a_role_of_a_pool_is_refused_where_the_webhook_does_not_find_the_old_one() {
        let role = |identity: &str| json!({"identity": identity, "systemAssignedIdentityRole": {}});
        let place = ["spec.systemAssignedIdentityRole"];
        assert_eq!(refused(json!({}), role("None")), place);
        assert_eq!(refused(json!({}), role("SystemAssigned")), place, "the webhook panics");
        assert_eq!(refused(role("SystemAssigned"), role("SystemAssigned")), [""; 0]);
    }

    #[test]
    fn a_new_pool_is_asked_what_a_live_one_is_asked() {
        let new = |spec: Value| told(None, spec);
        let template = |template: Value| new(json!({"template": template}));
        assert_eq!(template(json!({"terminateNotificationTimeout": 5})), [""; 0]);
        assert_eq!(
            template(json!({"terminateNotificationTimeout": 16})),
            ["spec.template.terminateNotificationTimeout"]
        );
        assert_eq!(template(json!({"sshPublicKey": "no key"})), ["spec.template.sshPublicKey"]);
        let boot = |boot: Value| template(json!({"diagnostics": {"boot": boot}})).len();
        assert_eq!(boot(json!({"storageAccountType": "Managed"})), 0);
        assert_eq!(boot(json!({"storageAccountType": "UserManaged"})), 1);
        assert_eq!(new(json!({"identity": "UserAssigned"})), ["spec.userAssignedIdentities"]);
        let users = json!([{"providerID": "azure:///subscriptions/a"}]);
        assert_eq!(new(json!({"identity": "UserAssigned", "userAssignedIdentities": users})), [""; 0]);
        assert_eq!(new(json!({"identity": "SystemAssigned", "systemAssignedIdentityRole": {}})), [""; 0]);
    }
}
