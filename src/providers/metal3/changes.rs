//! What changed in Metal3, by the version that brought it.

use crate::kinds::versions::Since;

/// A procedure of one's own.
pub static CUSTOM_DEPLOY: Since =
    Since::new("custom-deploy", "metal3", (1, 9), "`customDeploy.method` takes the place of the image");
/// Two words for the cloud provider.
pub static TWO_WORDS: Since =
    Since::new("two-words", "metal3", (1, 10), "`cloudProviderEnabled` and `noCloudProvider` are both filled in");
/// One word again, and no webhook that writes anew.
pub static V1BETA2: Since = Since::new(
    "v1beta2",
    "metal3",
    (1, 13),
    "v1beta2 is served: `noCloudProvider` is gone from what is filled in, and only a Metal3Cluster is written anew",
);
/// Images from registries.
pub static OCI_IMAGES: Since =
    Since::new("oci-images", "metal3", (1, 14), "images can come from a registry, and then have no checksum");

/// All of them, from the oldest to the newest.
pub static ALL: &[&Since] = &[&CUSTOM_DEPLOY, &TWO_WORDS, &V1BETA2, &OCI_IMAGES];
