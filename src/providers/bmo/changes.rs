//! What changed in the operator of Metal3's hosts, by the version that brought it.

use crate::kinds::versions::Since;

/// Images are looked at whole.
pub(crate) static CHECKSUM: Since =
    Since::new("checksum", "baremetal-operator", (0, 11), "the webhook refuses a host whose image has no checksum");
/// A host that others set up stays one.
pub(crate) static EXTERNAL_FIXED: Since =
    Since::new("external-fixed", "baremetal-operator", (0, 11), "`externallyProvisioned` cannot change");
/// Images from registries.
pub(crate) static OCI_IMAGES: Since = Since::new(
    "oci-images",
    "baremetal-operator",
    (0, 12),
    "images can come from a registry, and then need no checksum",
);
/// Their scheme in any letters.
pub(crate) static OCI_ANY_CASE: Since = Since::new(
    "oci-any-case",
    "baremetal-operator",
    (0, 13),
    "an image is from a registry whatever the case of the scheme (`OCI://`)",
);
/// A field says how hosts are inspected.
pub(crate) static INSPECTION_MODE: Since = Since::new(
    "inspection-mode",
    "baremetal-operator",
    (0, 12),
    "`inspectionMode` and the annotation that says the same must not contradict each other, and a host that is not inspected needs its boot address",
);
/// Boot addresses are compared without their case, and virtual media finds them.
pub(crate) static BOOT_ADDRESSES: Since = Since::new(
    "boot-addresses",
    "baremetal-operator",
    (0, 12),
    "a boot address may change its case, and a host that boots from virtual media needs none",
);
/// Older iLOs go.
pub(crate) static WITHOUT_ILO: Since = Since::new(
    "without-ilo",
    "baremetal-operator",
    (0, 12),
    "addresses that begin with ilo4 and ilo5 are no longer known",
);
/// iRMC goes.
pub(crate) static WITHOUT_IRMC: Since =
    Since::new("without-irmc", "baremetal-operator", (0, 13), "addresses that begin with irmc are no longer known");
/// A free host can be given to somebody else.
pub(crate) static EXTERNAL_ONCE: Since = Since::new(
    "external-once",
    "baremetal-operator",
    (0, 13),
    "`externallyProvisioned` can be turned on while the host is available",
);
/// It can be taken back too.
pub(crate) static EXTERNAL_BACK: Since =
    Since::new("external-back", "baremetal-operator", (0, 14), "`externallyProvisioned` can be turned off");
/// Firmware is set elsewhere.
pub(crate) static WITHOUT_FIRMWARE: Since = Since::new(
    "without-firmware",
    "baremetal-operator",
    (0, 14),
    "the webhook refuses every host with `firmware`, whatever its controller",
);
/// Redfish finds boot addresses.
pub(crate) static REDFISH_FINDS: Since =
    Since::new("redfish-finds", "baremetal-operator", (0, 14), "a host behind Redfish needs no boot address");
/// Images and volumes are looked at more closely.
pub(crate) static CLOSER_LOOK: Since = Since::new(
    "closer-look",
    "baremetal-operator",
    (0, 14),
    "the webhook looks at the scheme of an image, at the volume that a host boots from, and at its interfaces",
);
/// Other kinds are looked at too.
pub(crate) static MORE_WEBHOOKS: Since = Since::new(
    "more-webhooks",
    "baremetal-operator",
    (0, 14),
    "the addresses of a DataImage and of HostFirmwareComponents, and what a HostClaim asks for, are looked at by webhooks of their own",
);

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[
    &CHECKSUM,
    &EXTERNAL_FIXED,
    &OCI_IMAGES,
    &INSPECTION_MODE,
    &BOOT_ADDRESSES,
    &WITHOUT_ILO,
    &WITHOUT_IRMC,
    &OCI_ANY_CASE,
    &EXTERNAL_ONCE,
    &EXTERNAL_BACK,
    &WITHOUT_FIRMWARE,
    &REDFISH_FINDS,
    &CLOSER_LOOK,
    &MORE_WEBHOOKS,
];
