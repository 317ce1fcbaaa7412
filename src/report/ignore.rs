//! Changes that a policy leaves out of the report. They are counted with their reason, and everything was decided before:
//! nothing here reaches a gate. What touches Machines or infrastructure is shown whatever a policy says.

use super::{ChangeReport, IgnoredReport, Report};
use crate::model::Effect;
use crate::object::Path;
use crate::policy::Ignore;
use crate::rules::Pattern;

/// Takes the changes that the policy names out of a report, and counts them.
pub(crate) fn ignore(report: &mut Report, rules: &[Ignore]) {
    for rule in rules {
        // A policy with a path that cannot be read was refused when it was read.
        let Ok(pattern) = Pattern::parse(&rule.path) else { continue };
        let mut changes = 0;
        for object in &mut report.objects {
            if !rule.kinds.is_empty() && !rule.kinds.contains(&object.kind) {
                continue;
            }
            let before = object.changes.len();
            object.changes.retain(|change| !is_idle(change) || !is_at(&pattern, change));
            changes += (before - object.changes.len()) as u64;
        }
        if changes > 0 {
            report.ignored.push(IgnoredReport { path: rule.path.clone(), reason: rule.reason.clone(), changes });
        }
    }
}

/// Whether a change does nothing to Machines or to what is around them.
fn is_idle(change: &ChangeReport) -> bool {
    change.effect <= Effect::InPlace && change.touches.is_none()
}

/// Whether a change stands where a pattern says.
fn is_at(pattern: &Pattern, change: &ChangeReport) -> bool {
    Path::parse(&change.path).is_ok_and(|path| pattern.matches(&path))
}
