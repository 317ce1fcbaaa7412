//! Mirror of what webhooks and schema of the Proxmox provider refuse beside what the packs say.
//! Read beside `api/v1alpha1/proxmoxmachine_types.go` of cluster-api-provider-proxmox 0.7 and `internal/webhook/` of 0.9; by
//! reading.

use super::changes::FIXED_TEMPLATES;
use crate::kinds::Webhook;
use crate::kinds::fields::text;
use crate::kinds::webhook::{Refusal, Write, refuse, refuse_by_schema};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("capmox/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub struct Proxmox;

impl Webhook for Proxmox {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        match write.kind_name() {
            "ProxmoxCluster" => cluster(write.past(), write.new, &mut out),
            "ProxmoxMachineTemplate" => {
                disks(write.past(), write.new, &mut out);
                if write.is_new && write.versions.has(&FIXED_TEMPLATES) && says(write.new, "providerID") {
                    refuse(&mut out, RULE, &inner(), "providerID", "a template cannot say it");
                }
            }
            _ => {}
        }
        out
    }
}

/// The place of the content of a template.
fn inner() -> Path {
    Path::root().key("spec").key("template").key("spec")
}

/// Whether a template says something.
fn says(template: &Value, field: &str) -> bool {
    text(template, &format!("/spec/template/spec/{field}")).is_some()
}

/// Format and storage are those of a full clone, and the disk that is booted stays as long as it is told.
fn disks(old: Option<&Value>, new: &Value, out: &mut Vec<Refusal>) {
    let content = |side: &Value| side.pointer("/spec/template/spec").cloned();
    // What was there already and does not change is let through.
    if old.is_some_and(|old| content(old) == content(new)) {
        return;
    }
    // The schema fills in a full clone.
    if new.pointer("/spec/template/spec/full").is_some_and(|full| *full == false) {
        for field in ["format", "storage"].into_iter().filter(|field| says(new, field)) {
            refuse_by_schema(out, RULE, &inner(), field, "only a full clone can have it");
        }
    }
    let disk = |side: &Value, field: &str| {
        side.pointer(&format!("/spec/template/spec/disks/bootVolume/{field}")).filter(|value| !value.is_null()).cloned()
    };
    for field in ["disk", "sizeGb"] {
        let before = old.and_then(|old| disk(old, field));
        if before.zip(disk(new, field)).is_some_and(|(before, after)| before != after) {
            refuse_by_schema(out, RULE, &inner(), &format!("disks.bootVolume.{field}"), "the boot disk cannot change");
        }
    }
}

/// A new cluster has addresses of one family at least, and every cluster a name server.
fn cluster(old: Option<&Value>, new: &Value, out: &mut Vec<Refusal>) {
    let spec = Path::root().key("spec");
    let has = |field: &str| new.pointer(&format!("/spec/{field}")).is_some_and(Value::is_object);
    if old.is_none() && !has("ipv4Config") && !has("ipv6Config") {
        refuse(out, RULE, &spec, "ipv4Config", "a cluster needs addresses");
    }
    let is_empty = |side: &Value| side.pointer("/spec/dnsServers").and_then(Value::as_array).is_some_and(Vec::is_empty);
    if is_empty(new) && !old.is_some_and(is_empty) {
        refuse_by_schema(out, RULE, &spec, "dnsServers", "a cluster needs a name server");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(ask: impl Fn(&mut Vec<Refusal>)) -> Vec<String> {
        let mut out = Vec::new();
        ask(&mut out);
        out.into_iter().map(|refusal| refusal.path.to_string().replace("spec.template.spec.", "")).collect()
    }

    fn template(spec: Value) -> Value {
        json!({"spec": {"template": {"spec": spec}}})
    }

    #[test]
    fn the_boot_disk_stays() {
        let told =
            |size: i64| template(json!({"numCores": size, "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": size}}}));
        let asked = |old: Value, new: Value| refused(|out| disks(Some(&old), &new, out));
        assert_eq!(asked(told(100), told(200)), ["disks.bootVolume.sizeGb"]);
        assert_eq!(asked(told(100), template(json!({}))), [""; 0], "one that goes is not compared");
        assert_eq!(asked(template(json!({})), told(100)), [""; 0]);
    }

    #[test]
    fn a_format_needs_a_full_clone() {
        let asked = |spec: Value| refused(|out| disks(None, &template(spec.clone()), out));
        assert_eq!(asked(json!({"full": false, "format": "qcow2", "storage": "a"})), ["format", "storage"]);
        assert_eq!(asked(json!({"full": true, "format": "qcow2"})), [""; 0]);
        assert_eq!((asked(json!({"format": "qcow2"})), asked(json!({"full": false}))), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_cluster_has_addresses_and_name_servers() {
        let told = |spec: Value| json!({ "spec": spec });
        let asked = |old: Option<Value>, new: Value| refused(|out| cluster(old.as_ref(), &new, out));
        let whole = || told(json!({"ipv4Config": {}, "dnsServers": ["1.1.1.1"]}));
        assert_eq!(asked(None, told(json!({"dnsServers": ["1.1.1.1"]}))), ["spec.ipv4Config"]);
        assert_eq!(asked(Some(whole()), told(json!({"dnsServers": []}))), ["spec.dnsServers"]);
        assert_eq!((asked(None, whole()), asked(Some(whole()), whole())), (Vec::new(), Vec::new()));
    }
}
