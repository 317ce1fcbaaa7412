//! Mirror of what webhooks and schema of the Proxmox provider refuse beside what the packs say.
//! Read beside `api/v1alpha1/proxmox{machine,cluster}_types.go` of cluster-api-provider-proxmox 0.7 and `internal/webhook/` of 0.9; by
//! reading, but for what is said of clusters, which was run.

use super::changes::FIXED_TEMPLATES;
use super::endpoint;
use crate::kinds::Webhook;
use crate::kinds::fields::text;
use crate::kinds::webhook::{Refusal, Write, refuse, refuse_by_schema};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("capmox/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Proxmox;

impl Webhook for Proxmox {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        match write.kind_name() {
            "ProxmoxCluster" => cluster(write.past(), write.new, (write.is_new, &Path::root().key("spec")), &mut out),
            // Its webhook came with v1alpha2, and is shown what is written in that version alone.
            "ProxmoxClusterTemplate" if write.api_version.ends_with("v1alpha2") => {
                let [old, new] =
                    [write.past(), Some(write.new)].map(|side| side.and_then(|side| side.pointer("/spec/template")));
                cluster(old, new.unwrap_or(&Value::Null), (write.is_new, &inner()), &mut out);
            }
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

/// A new cluster has addresses of one family at least, and every cluster a name server, an endpoint and addresses that it can have. What
/// the schema refuses is let through where it was there already. Both sides hold the spec of the cluster, which stands at a place.
fn cluster(old: Option<&Value>, new: &Value, (is_new, spec): (bool, &Path), out: &mut Vec<Refusal>) {
    let has = |field: &str| new.pointer(&format!("/spec/{field}")).is_some_and(Value::is_object);
    if is_new && !has("ipv4Config") && !has("ipv6Config") {
        refuse(out, RULE, spec, "ipv4Config", "a cluster needs addresses");
    }
    let is_empty = |side: &Value, field: &str| list_at(side, field).is_some_and(Vec::is_empty);
    for (field, message) in [
        ("dnsServers", "a cluster needs a name server"),
        ("ipv4Config/addresses", "there is an address at least"),
        ("ipv6Config/addresses", "there is an address at least"),
    ] {
        if is_empty(new, field) && !old.is_some_and(|old| is_empty(old, field)) {
            refuse_by_schema(out, RULE, spec, &field.replace('/', "."), message);
        }
    }
    let port = |side: &Value| side.pointer("/spec/controlPlaneEndpoint/port").and_then(Value::as_i64);
    if port(new).is_some_and(|told| !(1..=65535).contains(&told)) && old.and_then(port) != port(new) {
        refuse_by_schema(out, RULE, spec, "controlPlaneEndpoint.port", "it must be a number from 1 to 65535");
    }
    endpoint::refusals(new.get("spec"), spec, out);
}

/// A list in the spec of a cluster.
fn list_at<'v>(cluster: &'v Value, field: &str) -> Option<&'v Vec<Value>> {
    cluster.pointer(&format!("/spec/{field}")).and_then(Value::as_array)
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
        let at = Path::root().key("spec");
        let asked =
            |old: Option<Value>, new: Value| refused(|out| cluster(old.as_ref(), &new, (old.is_none(), &at), out));
        let with = |more: Value| {
            let mut all = json!({"controlPlaneEndpoint": {"host": "api", "port": 6443}, "ipv4Config": {"addresses": ["192.0.2.9"]},
                "dnsServers": ["1.1.1.1"]});
            more.as_object().expect("a map").iter().for_each(|(key, value)| all[key] = value.clone());
            told(all)
        };
        let whole = || with(json!({}));
        assert_eq!(asked(None, with(json!({"ipv4Config": null}))), ["spec.ipv4Config"]);
        assert_eq!(asked(Some(whole()), with(json!({"dnsServers": []}))), ["spec.dnsServers"]);
        assert_eq!(asked(None, with(json!({"ipv4Config": {"addresses": []}}))), ["spec.ipv4Config.addresses"]);
        let port = |port: i64| with(json!({"controlPlaneEndpoint": {"host": "api", "port": port}}));
        assert_eq!(asked(None, port(0)), ["spec.controlPlaneEndpoint.port"]);
        assert_eq!((asked(None, port(65535)), asked(Some(port(0)), port(0))), (Vec::new(), Vec::new()));
        assert_eq!((asked(None, whole()), asked(Some(whole()), whole())), (Vec::new(), Vec::new()));
    }

    /// What the webhooks of 0.9 said of clusters and their templates.
    #[test]
    fn recorded_answers_are_those_of_the_webhooks() {
        let (asked, others) = crate::providers::recorded::others("proxmox.jsonl", &["0.9"], |_, kind, old, new| {
            let api_version = "infrastructure.cluster.x-k8s.io/v1alpha2";
            let key = crate::object::Key::new(api_version, kind, Some("fleet"), "one");
            let webhook = crate::providers::kind(&key).webhook?;
            let found = crate::providers::on_write(&key, api_version, (old, new), |write| webhook.refusals(write));
            Some(found.into_iter().map(|refusal| refusal.path.to_string()).collect())
        });
        assert!(asked > 1_500, "{asked}");
        assert!(others.is_empty(), "{} of {asked} are answered otherwise:\n{}", others.len(), others.join("\n"));
    }
}
