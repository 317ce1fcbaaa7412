//! A release that somebody else is writing at this moment is nothing to build a prediction on.

use super::Judged;
use crate::model::Decision;
use crate::model::Reason;
use crate::world::ReleaseStatus;

/// A hold while the newest revision is pending.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let Some(release) = &judged.world.release else { return Vec::new() };
    let word = match release.status {
        ReleaseStatus::PendingInstall => "pending-install",
        ReleaseStatus::PendingUpgrade => "pending-upgrade",
        ReleaseStatus::PendingRollback => "pending-rollback",
        ReleaseStatus::Uninstalling => "uninstalling",
        _ => return Vec::new(),
    };
    let (name, namespace) = (&release.name, &release.namespace);
    let message = format!(
        "release {namespace}/{name}: revision {} is {word}; somebody else is at work, or was interrupted",
        release.newest
    );
    vec![Reason::new("release", Decision::Hold, message).with_next(format!("helm history {name} -n {namespace}"))]
}
