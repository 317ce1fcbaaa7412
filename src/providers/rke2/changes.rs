//! What changed in Cluster API Provider RKE2, by the version that brought it.

use super::CONTROL_PLANE_KIND;
use crate::kinds::versions::{Later, Since};
use crate::model::Effect;

/// Gzip without ignition.
pub(crate) static GZIP: Since = Since::new("gzip", "rke2", (0, 15), "gzip is refused only with the ignition format")
    .judging(&[Later {
        kind: CONTROL_PLANE_KIND,
        path: "spec.files[].encoding",
        effect: Effect::Rejected,
        says: "is refused with gzip where the format is ignition",
    }]);
/// Control planes need a Machine.
pub(crate) static REPLICAS_POSITIVE: Since =
    Since::new("replicas-positive", "rke2", (0, 18), "the webhook refuses a control plane without Machines").judging(
        &[Later {
            kind: CONTROL_PLANE_KIND,
            path: "spec.replicas",
            effect: Effect::Rejected,
            says: "is refused where it is 0",
        }],
    );
/// User data is read.
pub(crate) static USER_DATA_READ: Since = Since::new(
    "user-data-read",
    "rke2",
    (0, 20),
    "user data is compared as its webhook leaves it; empty lists of the owner count in 0.20.0",
)
.judging(&[Later {
    kind: CONTROL_PLANE_KIND,
    path: "spec",
    effect: Effect::Rollout,
    says: "replaces Machines for ever where it holds an empty list, in 0.20.0",
}]);
/// Empty lists do not count.
pub(crate) static EMPTY_LISTS_DROPPED: Since =
    Since::new("empty-lists-dropped", "rke2", (0, 21), "empty lists of the owner are dropped before they are compared")
        .patched(&[(0, 20, 1)]);
/// The reference to the infrastructure has one place.
pub(crate) static ONE_REFERENCE: Since = Since::new(
    "one-reference",
    "rke2",
    (0, 22),
    "the reference to the infrastructure template stands in `machineTemplate` alone",
);
/// Versions are compared as texts.
pub(crate) static EXACT_VERSION: Since =
    Since::new("exact-version", "rke2", (0, 25), "versions are compared as they are written").judging(&[Later {
        kind: CONTROL_PLANE_KIND,
        path: "spec.version",
        effect: Effect::Rollout,
        says: "replaces Machines whose version does not name the RKE2 release as the control plane does",
    }]);

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] =
    &[&GZIP, &REPLICAS_POSITIVE, &USER_DATA_READ, &EMPTY_LISTS_DROPPED, &ONE_REFERENCE, &EXACT_VERSION];
