//! Mirror of what the webhook of Tinkerbell machine templates refuses of new ones.
//! Read beside `api/v1beta1/tinkerbellmachinetemplate_webhook.go` of cluster-api-provider-tinkerbell 0.6 and 0.7; by reading.

use crate::kinds::Webhook;
use crate::kinds::fields::text;
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("capt/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub struct Tinkerbell;

impl Webhook for Tinkerbell {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        if write.is_new { template(write.new) } else { Vec::new() }
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
    use crate::tree::json;

    #[test]
    fn a_template_names_no_hardware() {
        let refused = |spec: Value| template(&json!({"spec": {"template": {"spec": spec}}})).len();
        assert_eq!(refused(json!({"hardwareName": "a", "providerID": "b"})), 2);
        assert_eq!(refused(json!({"hardwareName": "", "templateOverride": "x"})), 0);
    }
}
