//! In which order a host writes a Cluster and its class, and how the one stands when the other is written.

use std::borrow::Cow;
use std::sync::Arc;

use crate::host::HostKind;
use crate::judge::stage::Stage;
use crate::judge::topology::blueprint::class_of;
use crate::object::Key;
use crate::tree::Value;

/// The class of a Cluster as it stands when the Cluster is written; `None` where it is not there.
pub(super) fn class_when_written<'s>(stage: &Stage<'s>, key: &Key, new: &Value) -> Option<Cow<'s, Value>> {
    let class = class_of(key, new)?;
    if comes_first(stage, &class, key) { stage.written_after(&class) } else { stage.written_before(&class) }
}

/// A Cluster as it stands when its class is written.
pub(super) fn cluster_when_written(stage: &Stage<'_>, cluster: &Key, class: &Key) -> Option<Arc<Value>> {
    if comes_first(stage, cluster, class) { stage.after(cluster) } else { stage.before(cluster) }
}

/// Whether the host has written one object when it comes to another one: Helm takes kinds that it does not know by the alphabet, others
/// take them in the order of the stream.
fn comes_first(stage: &Stage<'_>, one: &Key, other: &Key) -> bool {
    let line = |key: &Key| stage.pair(key).map(|pair| pair.line).filter(|line| *line > 0);
    if is_by_alphabet(stage) { one.kind < other.kind } else { line(one).zip(line(other)).is_none_or(|(a, b)| a < b) }
}

/// Whether the host writes by kinds.
pub(super) fn is_by_alphabet(stage: &Stage<'_>) -> bool {
    matches!(stage.scene.world.host.kind, None | Some(HostKind::Helm3 | HostKind::Helm4 | HostKind::Flux))
}
