//! What changed in Metal3, by the version that brought it.

use crate::kinds::versions::Since;

/// A procedure of one's own.
pub(crate) static CUSTOM_DEPLOY: Since =
    Since::new("custom-deploy", "metal3", (1, 9), "`customDeploy.method` takes the place of the image");
/// Two words for the cloud provider.
pub(crate) static TWO_WORDS: Since =
    Since::new("two-words", "metal3", (1, 10), "`cloudProviderEnabled` and `noCloudProvider` are both filled in");
/// Secrets of other namespaces.
pub(crate) static SECRETS_HERE: Since = Since::new(
    "secrets-here",
    "metal3",
    (1, 11),
    "a Metal3Machine takes no Secret of another namespace (in the last patches of 1.11 and 1.12, and since 1.13)",
);
/// Data is called as the template that it names.
pub(crate) static DATA_NAME: Since = Since::new(
    "data-name",
    "metal3",
    (1, 11),
    "a Metal3Data takes its name from the template in `template.name`; `templateReference` no longer counts",
);
/// Templates of other namespaces.
pub(crate) static TEMPLATES_HERE: Since = Since::new(
    "templates-here",
    "metal3",
    (1, 12),
    "a Metal3DataClaim takes no template of another namespace (in the last patches of 1.12, and since 1.13)",
);
/// Pools that an annotation names.
pub(crate) static POOL_ANNOTATION: Since = Since::new(
    "pool-annotation",
    "metal3",
    (1, 12),
    "a network of a Metal3DataTemplate may find its pool by an annotation (`fromPoolAnnotation`)",
);
/// The cloud provider may be turned on or off.
pub(crate) static WORDS_TURN: Since =
    Since::new("words-turn", "metal3", (1, 13), "a Metal3Cluster may turn its cloud provider on or off")
        .patched(&[(1, 11, 4), (1, 12, 1)]);
/// One word again, and no webhook that writes anew.
pub(crate) static V1BETA2: Since = Since::new(
    "v1beta2",
    "metal3",
    (1, 13),
    "v1beta2 is served: `noCloudProvider` is no longer filled in, and only a Metal3Cluster is written again",
);
/// Images from registries.
pub(crate) static OCI_IMAGES: Since =
    Since::new("oci-images", "metal3", (1, 14), "images can come from a registry, and then have no checksum");

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[
    &CUSTOM_DEPLOY,
    &TWO_WORDS,
    &SECRETS_HERE,
    &DATA_NAME,
    &TEMPLATES_HERE,
    &POOL_ANNOTATION,
    &WORDS_TURN,
    &V1BETA2,
    &OCI_IMAGES,
];
