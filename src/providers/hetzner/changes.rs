//! What changed in Cluster API Provider Hetzner, by the version that brought it.

use crate::kinds::versions::Since;

/// Templates of servers are asked about their image.
pub(crate) static IMAGE_ASKED: Since =
    Since::new("image-asked", "hetzner", (1, 1), "a template of servers needs one image, and a URL its command");

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[&IMAGE_ASKED];
