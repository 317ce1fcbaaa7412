//! Mirror of what the webhooks of both Talos providers fill in and refuse.
//! Read beside `api/v1alpha3/taloscontrolplane_webhook.go` of cluster-api-control-plane-provider-talos 0.5, by reading, and
//! `api/v1alpha3/talosconfig{,template}_webhook.go` of cluster-api-bootstrap-provider-talos 0.6, recorded.

use super::config::held;
use super::{CONTROL_PLANE_KIND, mirror};
use crate::kinds::Webhook;
use crate::kinds::diff::{self, Style};
use crate::kinds::fields::text;
use crate::kinds::fixed::Fixed;
use crate::kinds::versions::parse;
use crate::kinds::webhook::{Refusal, Write, Written, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::{Value, json};

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("talos/rejected");

/// Where host names may come from; the second one since 0.6.11.
const OF_MACHINE: &str = "MachineName";
const OF_HOST: &str = "InfrastructureName";

/// The spec of a config.
pub(super) static CONFIG: Fixed = Fixed::spec(RULE, Style { keep_empty: &[], drop_zero: &[], keep_blank: &[] });

/// The webhooks of the providers.
#[derive(Debug)]
pub(crate) struct TalosWebhooks;

impl Webhook for TalosWebhooks {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        if written.key.kind != CONTROL_PLANE_KIND {
            return;
        }
        mirror::default(object);
        let reference = object.pointer_mut("/spec/infrastructureTemplate").and_then(Value::as_object_mut);
        if let (Some(reference), Some(namespace)) = (reference, &written.key.namespace)
            && reference.get("namespace").and_then(Value::as_str).is_none_or(str::is_empty)
        {
            reference.insert("namespace".to_owned(), json!(namespace));
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        match write.kind_name() {
            CONTROL_PLANE_KIND => control_plane(write.new, &spec, &mut out),
            "TalosConfig" if !matches!(text(write.new, "/spec/hostname/source"), None | Some(OF_MACHINE | OF_HOST)) => {
                refuse(&mut out, RULE, &spec, "hostname.source", "it is MachineName or InfrastructureName");
            }
            _ => {}
        }
        out
    }

    fn differences(&self, write: &Write<'_>) -> Option<Vec<Path>> {
        let at = Path::root().key("spec");
        let (pointer, at) = match write.kind_name() {
            "TalosConfig" => ("/spec", at),
            "TalosConfigTemplate" => ("/spec/template/spec", at.key("template").key("spec")),
            _ => return None,
        };
        let side = |side: &Value| held(side.pointer(pointer));
        Some(diff::places(Some(&side(write.old)), Some(&side(write.new)), &at))
    }
}

/// What the webhook and the schema of a control plane refuse.
fn control_plane(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let strategy = text(new, "/spec/rolloutStrategy/type").unwrap_or_default();
    if !matches!(strategy, "" | "RollingUpdate" | "OnDelete") {
        refuse(out, RULE, spec, "rolloutStrategy.type", "it is RollingUpdate or OnDelete");
    }
    let version = text(new, "/spec/version").unwrap_or_default();
    let numbers = version.trim_start_matches('v').split(['-', '+', '_']).next().unwrap_or_default();
    if parse(version).is_none() || numbers.split('.').count() != 3 {
        refuse(out, RULE, spec, "version", "it must be a version such as v1.33.4");
    }
}
