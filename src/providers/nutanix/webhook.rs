//! What Cluster API Provider Nutanix asks beside its schemas: nothing. Its one webhook (`api/v1beta1/nutanixmachinetemplate_webhook.go`
//! of 1.10) fills in names of images, behind feature gates that are off.

use crate::kinds::Webhook;

/// The webhooks of the provider.
#[derive(Debug)]
pub struct Nutanix;

impl Webhook for Nutanix {
    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }
}
