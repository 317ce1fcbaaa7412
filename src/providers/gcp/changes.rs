//! What changed in Cluster API Provider GCP, by the version that brought it.

use crate::kinds::versions::Since;

/// Labels and tags of templates.
pub(crate) static FREE_LABELS: Since =
    Since::new("free-labels", "gcp", (1, 13), "labels and network tags of a machine template may change");

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[&FREE_LABELS];
