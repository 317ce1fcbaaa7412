//! Mirror of what the webhooks of Canonical Kubernetes write. They refuse only what Go cannot read.
//! Read beside `controlplane/api/v1beta2/ck8scontrolplane_webhook.go` and `bootstrap/api/v1beta2/ck8sconfig{,template}_webhook.go` of
//! cluster-api-k8s 0.6, and recorded: what is written anew is written as Go has it.

use super::{CONTROL_PLANE_KIND, config, mirror};
use crate::kinds::Webhook;
use crate::kinds::as_go::give;
use crate::kinds::webhook::{Refusal, Write, Written, refuse};
use crate::model::RuleId;
use crate::object::{Path, go_duration};
use crate::tree::{Value, json};

/// Blocks that Go cannot leave out.
const BLOCKS: &[&str] = &[
    "controlPlane",
    "datastoreServersSecretRef",
    "infrastructureTemplate",
    "initConfig",
    "machineTemplate",
    "metadata",
    "spec",
    "template",
];
/// Durations of a control plane.
const DURATIONS: [&str; 5] = [
    "machineTemplate.nodeDrainTimeout",
    "machineTemplate.nodeVolumeDetachTimeout",
    "machineTemplate.nodeDeletionTimeout",
    "remediationStrategy.minHealthyPeriod",
    "remediationStrategy.retryPeriod",
];
/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("ck8s/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Ck8sWebhooks;

impl Webhook for Ck8sWebhooks {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        let Some(map) = object.as_object_mut() else { return };
        let spec = map.entry("spec").or_insert_with(|| json!({}));
        config::prune(spec);
        written.shape.write_zeros(spec, BLOCKS);
        if written.key.kind != CONTROL_PLANE_KIND {
            return;
        }
        mirror::default(object);
        let reference =
            object.pointer_mut("/spec/machineTemplate/infrastructureTemplate").and_then(Value::as_object_mut);
        if let (Some(reference), Some(namespace)) = (reference, &written.key.namespace) {
            give(reference, "namespace", || json!(namespace));
        }
    }

    fn is_normalised(&self, _name: &str) -> bool {
        true
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        for place in DURATIONS.into_iter().filter(|_| write.kind_name() == CONTROL_PLANE_KIND) {
            let told = write.new.pointer(&format!("/spec/{}", place.replace('.', "/"))).and_then(Value::as_str);
            if told.is_some_and(|told| go_duration(told).is_none()) {
                refuse(&mut out, RULE, &spec, place, "it is no duration such as 10m");
            }
        }
        out
    }
}
