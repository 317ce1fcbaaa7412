//! What IONOS Cloud asks beside its schemas: nothing, for it has no webhook (`config/` of cluster-api-provider-ionoscloud 0.6).

use crate::kinds::Webhook;

/// What stands for the webhooks of the provider.
#[derive(Debug)]
pub struct IonosCloud;

impl Webhook for IonosCloud {
    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }
}
