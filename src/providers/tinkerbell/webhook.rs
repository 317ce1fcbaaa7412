//! Mirror of what the webhooks of Tinkerbell fill in and refuse beside what the packs say.
//! Read beside `api/v1beta1/tinkerbell{cluster,machine,machinetemplate}_webhook.go` of cluster-api-provider-tinkerbell 0.6 and 0.7;
//! those of 0.7 were run.

use crate::kinds::Webhook;
use crate::kinds::as_go::give;
use crate::kinds::fields::text;
use crate::kinds::immutable::Immutable;
use crate::kinds::webhook::{Refusal, Write, Written, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::{Value, json};

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("capt/rejected");

/// Where images are looked up where nothing is said.
const FORMAT: &str = "{{.BaseRegistry}}/{{.OSDistro}}-{{.OSVersion}}:{{.KubernetesVersion}}.gz";

/// The version of Ubuntu where none is said.
const UBUNTU: &str = "20.04";

/// What a Machine keeps once it has it.
static MACHINE: Immutable = Immutable { once: &["hardwareName", "providerID"], ..Immutable::NONE };

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Tinkerbell;

impl Webhook for Tinkerbell {
    /// What a cluster gets that does not say how images are found (TinkerbellCluster.Default).
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        if written.key.kind == "TinkerbellCluster" {
            cluster(object);
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        match (write.kind_name(), write.past()) {
            ("TinkerbellMachineTemplate", None) => return template(write.new),
            ("TinkerbellMachine", Some(old)) => {
                MACHINE.refusals(RULE, (old, write.new), &Path::root().key("spec"), &mut out);
            }
            _ => {}
        }
        out
    }
}

/// Gives a cluster the place of its images, and a version of Ubuntu.
fn cluster(object: &mut Value) {
    let Some(object) = object.as_object_mut() else { return };
    let spec = object.entry("spec").or_insert_with(|| json!({}));
    if spec.is_null() {
        *spec = json!({});
    }
    let Some(spec) = spec.as_object_mut() else { return };
    give(spec, "imageLookupFormat", || json!(FORMAT));
    let is_ubuntu =
        spec.get("imageLookupOSDistro").and_then(Value::as_str).is_some_and(|system| system.to_lowercase() == "ubuntu");
    if is_ubuntu {
        give(spec, "imageLookupOSVersion", || json!(UBUNTU));
    }
}

/// What a template cannot say, because it is of one machine (ValidateCreate).
fn template(new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let at = Path::root().key("spec").key("template").key("spec");
    for field in ["providerID", "hardwareName"] {
        if text(new, &format!("/spec/template/spec/{field}")).is_some() {
            refuse(&mut out, RULE, &at, field, "a template cannot say it");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_names_no_hardware() {
        let refused = |spec: Value| template(&json!({"spec": {"template": {"spec": spec}}})).len();
        assert_eq!(refused(json!({"hardwareName": "a", "providerID": "b"})), 2);
        assert_eq!(refused(json!({"hardwareName": "", "templateOverride": "x"})), 0);
    }

    #[test]
    fn a_cluster_gets_a_place_of_images() {
        let filled = |spec: Value| {
            let mut object = json!({ "spec": spec });
            cluster(&mut object);
            object["spec"].clone()
        };
        assert_eq!(filled(Value::Null), json!({ "imageLookupFormat": FORMAT }));
        let ubuntu = filled(json!({"imageLookupOSDistro": "Ubuntu", "imageLookupFormat": "a"}));
        assert_eq!(ubuntu["imageLookupOSVersion"], UBUNTU);
        assert_eq!(ubuntu["imageLookupFormat"], "a");
        assert!(filled(json!({"imageLookupOSDistro": "rhel"})).get("imageLookupOSVersion").is_none());
    }
}
