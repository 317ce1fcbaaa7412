//! What owners of one cluster come to that roll at the same time, said once for all clusters of which the same is true.

use crate::model::Together;

/// The first cluster of each sort, and of how many clusters the same is true. One that has something to wait for stands for itself.
#[must_use]
pub(crate) fn together(all: &[Together]) -> Vec<(&Together, u64)> {
    let counts = |one: &Together| (one.machines, one.lowest, one.peak);
    let mut alike: Vec<(&Together, u64)> = Vec::new();
    for one in all {
        let same = |other: &Together| counts(one) == counts(other) && one.waits.is_empty() && other.waits.is_empty();
        match alike.iter_mut().find(|(other, _)| same(other)) {
            Some((_, clusters)) => *clusters += 1,
            None => alike.push((one, 1)),
        }
    }
    alike
}
