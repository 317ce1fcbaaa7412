//! What changed in Cluster API Provider Nutanix, by the version that brought it.

use crate::kinds::versions::Since;

/// The schema asks what names something.
pub static NAMES_ASKED: Since =
    Since::new("names-asked", "nutanix", (1, 8), "what is named by name or uuid has that one of the two, and no other");

/// All of them, from the oldest to the newest.
pub static ALL: &[&Since] = &[&NAMES_ASKED];
