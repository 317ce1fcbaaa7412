//! Mirror of what the webhooks of the RKE2 provider refuse.
//! Read beside `controlplane/api/v1beta1/rke2controlplane_webhook.go` and `bootstrap/api/v1beta1/rke2config_webhook.go`
//! of cluster-api-provider-rke2 0.21. An RKE2ConfigTemplate is not validated at all.

use super::changes::{GZIP, ONE_REFERENCE, REPLICAS_POSITIVE};
use super::{CONTROL_PLANE_KIND, CONTROL_PLANE_TEMPLATE, butane, mirror};
use crate::kinds::Versions;
use crate::kinds::fields::{map_at, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::kinds::webhook::{Write, Written};
use crate::kinds::{POINTERS, Webhook};
use crate::model::RuleId;
use crate::object::{Path, go_duration};

use crate::tree::{Value, json};

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("rke2cp/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Rke2Webhooks;

impl Webhook for Rke2Webhooks {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        // A config without a spec has an empty one in Go.
        if written.key.kind.starts_with("RKE2Config")
            && let Some(map) = object.as_object_mut()
        {
            map.entry("spec").or_insert_with(|| json!({}));
        }
        if written.versions.has(&ONE_REFERENCE) && !written.api_version.ends_with("v1beta2") {
            if written.is_past && written.key.kind == CONTROL_PLANE_KIND {
                bring_reference(object);
            }
            lose(&written.key.kind, object);
        }
        if let Some(spec) = object.get_mut("spec") {
            written.shape.round_trip(spec, POINTERS);
            empty_user_data(spec);
        }
    }

    fn refuses_negative_replicas(&self) -> bool {
        true
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut new = write.new.clone();
        if write.kind_name() == CONTROL_PLANE_KIND {
            mirror::default(&mut new, write.versions);
        }
        refusals(write.kind_name(), write.past(), &new, write.versions)
    }
}

/// Brings a reference to the place that it has since 0.22. What stood there before and names its template in the old place alone was written
/// before that, and its Machines were made of that template.
fn bring_reference(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let Some(reference) = spec.get("infrastructureRef").filter(|reference| reference.is_object()).cloned() else {
        return;
    };
    if let Some(template) = map_at(spec, "machineTemplate") {
        template.entry("infrastructureRef").or_insert(reference);
    }
}

/// Takes away what a write as v1beta1 loses, since v1beta2 is stored and has no such fields: the old places of a reference and of a
/// timeout, and what a template says of numbers and versions (`controlplane/api/v1beta1/conversion.go` of 0.22 to 0.25; by reading).
/// A value of another type stays: the schema refuses it.
fn lose(kind: &str, object: &mut Value) {
    let (content, is_template) = match kind {
        CONTROL_PLANE_KIND => ("/spec", false),
        CONTROL_PLANE_TEMPLATE => ("/spec/template/spec", true),
        _ => return,
    };
    let Some(spec) = object.pointer_mut(content).and_then(Value::as_object_mut) else { return };
    spec.retain(|key, value| match key.as_str() {
        "infrastructureRef" => !value.is_object(),
        "nodeDrainTimeout" => value.as_str().and_then(go_duration).is_none(),
        "replicas" => !(is_template && value.is_i64()),
        "version" => !(is_template && value.is_string()),
        _ => true,
    });
}

/// Takes away an empty map of user data, which Go does not write: beside other user data it would be refused.
fn empty_user_data(spec: &mut Value) {
    for place in ["/agentConfig/additionalUserData", "/template/spec/agentConfig/additionalUserData"] {
        if let Some(user_data) = spec.pointer_mut(place).and_then(Value::as_object_mut)
            && user_data.get("data") == Some(&json!({}))
        {
            user_data.shift_remove("data");
        }
    }
}

/// What is refused about an object; both sides in the superset form, the new one with defaults, the old one `None` where it
/// is new.
#[must_use]
fn refusals(kind: &str, old: Option<&Value>, new: &Value, versions: &Versions) -> Vec<Refusal> {
    let mut out = Vec::new();
    let spec = Path::root().key("spec");
    match kind {
        CONTROL_PLANE_KIND => {
            config(new.get("spec"), &spec, versions, &mut out);
            server(new.get("spec"), &spec, &mut out);
            if text(new, "/spec/machineTemplate/spec/infrastructureRef/name").is_none() {
                let place = "machineTemplate.spec.infrastructureRef";
                refuse(&mut out, RULE, &spec, place, "the control plane names no infrastructure template");
            }
            for key in ["nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds", "nodeDeletionTimeoutSeconds"] {
                let pointer = format!("/spec/machineTemplate/spec/deletion/{key}");
                if new.pointer(&pointer).and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
                    let place = format!("machineTemplate.spec.deletion.{key}");
                    refuse(&mut out, RULE, &spec, &place, "a timeout cannot be negative");
                }
            }
            // Up to 0.17 nobody looked at the number.
            if versions.has(&REPLICAS_POSITIVE)
                && new.pointer("/spec/replicas").and_then(Value::as_i64).is_some_and(|count| count <= 0)
            {
                refuse(&mut out, RULE, &spec, "replicas", "a control plane cannot have 0 replicas");
            }
            registration(old, new, "/spec", &spec, &mut out);
        }
        CONTROL_PLANE_TEMPLATE => {
            let at = spec.key("template").key("spec");
            config(new.pointer("/spec/template/spec"), &at, versions, &mut out);
            server(new.pointer("/spec/template/spec"), &at, &mut out);
            registration(old, new, "/spec/template/spec", &at, &mut out);
        }
        "RKE2Config" => config(new.get("spec"), &spec, versions, &mut out),
        _ => {}
    }
    out
}

/// The registration method stays once it is set. Only a new object is asked for the address that one method needs.
fn registration(old: Option<&Value>, new: &Value, pointer: &str, at: &Path, out: &mut Vec<Refusal>) {
    let told = |side: &Value, key: &str| text(side, &format!("{pointer}/{key}")).map(str::to_owned);
    let method = told(new, "registrationMethod");
    let Some(old) = old else {
        if method.as_deref() == Some("address") && told(new, "registrationAddress").is_none() {
            refuse(out, RULE, at, "registrationAddress", "the registration method address needs an address");
        }
        return;
    };
    let before = told(old, "registrationMethod");
    if before.is_some() && before != method {
        refuse(out, RULE, at, "registrationMethod", "the registration method cannot change once it is set");
    }
}

/// Multus needs another network plugin beside it.
fn server(spec: Option<&Value>, at: &Path, out: &mut Vec<Refusal>) {
    let server = spec.and_then(|spec| spec.get("serverConfig")).unwrap_or(&Value::Null);
    if server.get("cniMultusEnable") == Some(&Value::Bool(true)) && text(server, "/cni").is_none() {
        for below in ["serverConfig.cni", "serverConfig.cniMultusEnable"] {
            refuse(out, RULE, at, below, "cni must be set where cniMultusEnable is true");
        }
    }
}

/// Whether a value is more than what Go's types hold where nothing was said.
fn says(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.values().any(says),
        Value::Null | Value::Bool(false) => false,
        other => other != "",
    }
}

/// Registries need credentials or TLS settings, and Ignition knows no gzip.
fn config(spec: Option<&Value>, at: &Path, versions: &Versions, out: &mut Vec<Refusal>) {
    let spec = spec.unwrap_or(&Value::Null);
    let registries = spec.pointer("/privateRegistriesConfig/configs").and_then(Value::as_object);
    for (name, registry) in registries.into_iter().flatten() {
        if !["authSecret", "tls"].iter().any(|key| registry.get(key).is_some_and(says)) {
            let path = at.key("privateRegistriesConfig").key("configs").key(name.as_str());
            refuse(out, RULE, &path, "", format!("the registry {name} has neither credentials nor TLS settings"));
        }
    }
    let ignition = text(spec, "/agentConfig/format") == Some("ignition");
    let user_data = spec.pointer("/agentConfig/additionalUserData").unwrap_or(&Value::Null);
    if ignition {
        user_data_of(user_data, at, out);
    }
    // Up to 0.14 gzip was refused whatever the format.
    if ignition || !versions.has(&GZIP) {
        for (place, file) in spec.get("files").and_then(Value::as_array).into_iter().flatten().enumerate() {
            if text(file, "/encoding").is_some_and(|encoding| encoding.starts_with("gzip")) {
                for below in [format!("files[{place}].encoding"), "agentConfig.format".to_owned()] {
                    refuse(out, RULE, at, &below, "gzip cannot be used with the ignition format");
                }
            }
        }
    }
}

/// What Butane must be able to read, and what it must know where it is strict (validateIgnition).
fn user_data_of(user_data: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let place = "agentConfig.additionalUserData.config";
    let config = butane::read(text(user_data, "/config").unwrap_or_default());
    if let Some(why) = butane::fatal(&config) {
        refuse(out, RULE, at, place, format!("Butane cannot use it: {why}"));
    }
    if user_data.get("strict") == Some(&Value::Bool(true)) {
        for key in butane::unknown(&config) {
            refuse(out, RULE, at, place, format!("strict user data cannot have {key}, which Butane does not know"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn only_a_new_object_is_asked_for_its_address() {
        let plane = |address: &str| {
            json!({"spec": {"registrationMethod": "address", "registrationAddress": address, "replicas": 1,
                "machineTemplate": {"spec": {"infrastructureRef": {"name": "m"}}}}})
        };
        let versions = Versions::told("rke2", "v0.21.0");
        let told = |old: Option<&Value>, new: &Value| -> Vec<String> {
            let found = refusals("RKE2ControlPlane", old, new, &versions);
            found.into_iter().map(|refusal| refusal.path.to_string()).collect()
        };
        assert_eq!(told(None, &plane("")), ["spec.registrationAddress"]);
        assert_eq!(told(None, &plane("10.0.0.1")), [""; 0]);
        assert_eq!(told(Some(&plane("")), &plane("")), [""; 0]);
        let template = json!({"spec": {"template": {"spec": {"registrationMethod": "address"}}}});
        let found = refusals("RKE2ControlPlaneTemplate", None, &template, &versions);
        assert_eq!(found[0].path.to_string(), "spec.template.spec.registrationAddress");
    }

    #[test]
    fn a_registry_with_empty_blocks_says_nothing() {
        let versions = Versions::told("rke2", "v0.21.0");
        let told = |registry: Value| {
            let new = json!({"spec": {"privateRegistriesConfig": {"configs": {"r": registry}}}});
            refusals("RKE2Config", None, &new, &versions).len()
        };
        assert_eq!(told(json!({"tls": {"tlsConfigSecret": {}, "insecureSkipVerify": false}})), 1);
        assert_eq!(told(json!({"authSecret": {"name": ""}, "tls": {"tlsConfigSecret": {"name": ""}}})), 1);
        assert_eq!(told(json!({"tls": {"tlsConfigSecret": {"name": "s"}}})), 0);
    }

    #[test]
    fn strict_user_data_has_only_what_butane_knows() {
        let versions = Versions::told("rke2", "v0.21.0");
        let told = |format: &str, strict: bool, config: &str| {
            let new = json!({"spec": {"agentConfig": {"format": format,
                "additionalUserData": {"strict": strict, "config": config}}}});
            refusals("RKE2Config", None, &new, &versions).len()
        };
        assert_eq!(told("ignition", true, "bootcmd: []\n"), 1);
        assert_eq!(told("ignition", false, "bootcmd: []\n"), 0);
        assert_eq!(told("cloud-config", true, "bootcmd: []\n"), 0);
        assert_eq!(told("ignition", true, "systemd: {}\n"), 0);
        let file = "storage: {files: [{path: etc/hello}]}\n";
        assert_eq!((told("ignition", false, file), told("cloud-config", false, file)), (1, 0));
    }

    #[test]
    fn what_v1beta2_does_not_have_is_lost() {
        let told = |kind: &str, mut object: Value| {
            lose(kind, &mut object);
            object
        };
        let spec = || {
            json!({"version": "v1.32.1", "replicas": 3, "nodeDrainTimeout": "2m", "infrastructureRef": {"name": "a"},
            "serverConfig": {}})
        };
        assert_eq!(
            told(CONTROL_PLANE_KIND, json!({"spec": spec()})),
            json!({"spec": {"version": "v1.32.1", "replicas": 3, "serverConfig": {}}})
        );
        let template = json!({"spec": {"template": {"spec": spec()}}});
        assert_eq!(
            told(CONTROL_PLANE_TEMPLATE, template),
            json!({"spec": {"template": {"spec": {"serverConfig": {}}}}})
        );
        let wrong = json!({"spec": {"nodeDrainTimeout": "soon"}});
        assert_eq!(told(CONTROL_PLANE_KIND, wrong.clone()), wrong, "nobody can convert it");
    }

    #[test]
    fn an_owner_that_stood_before_keeps_the_only_reference_it_had() {
        let held = |mut object: Value| {
            bring_reference(&mut object);
            lose(CONTROL_PLANE_KIND, &mut object);
            object
        };
        let new = |name: &str| json!({"spec": {"machineTemplate": {"infrastructureRef": {"name": name}}}});
        assert_eq!(held(json!({"spec": {"infrastructureRef": {"name": "a"}}})), new("a"));
        let mut both = new("b");
        both["spec"]["infrastructureRef"] = json!({"name": "a"});
        assert_eq!(held(both), new("b"));
    }
}
