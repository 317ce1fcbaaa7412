//! What MicroK8s asks beside its schemas: nothing, for its deployment has no webhook (`config/` of its providers 0.6).

use crate::kinds::Webhook;

/// What stands for the webhooks of the provider.
#[derive(Debug)]
pub struct MicroK8s;

impl Webhook for MicroK8s {
    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }
}
