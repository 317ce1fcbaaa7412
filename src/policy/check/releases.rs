//! What a list of releases may not say: nothing to render, two things at once, or one release twice.

use super::{PolicyFault, fault};
use crate::object::Path;
use crate::policy::ListedRelease;

/// Looks through the list.
pub(super) fn releases(at: &Path, list: &[ListedRelease]) -> Vec<Result<(), PolicyFault>> {
    list.iter().enumerate().map(|(place, release)| one(&at.index(place), release, &list[..place])).collect()
}

fn one(at: &Path, release: &ListedRelease, earlier: &[ListedRelease]) -> Result<(), PolicyFault> {
    if release.name.is_empty() {
        return fault(&at.key("name"), "a release has a name");
    }
    match (&release.chart, release.paths.is_empty()) {
        (None, true) => return fault(at, "nothing says what it is rendered from; give chart or paths"),
        (Some(_), false) => return fault(&at.key("paths"), "it has a chart already; give chart or paths"),
        (Some(chart), true) if chart.is_empty() => return fault(&at.key("chart"), "the chart has no name"),
        _ => {}
    }
    for (field, given) in [("values", &release.values), ("set", &release.set)] {
        if release.chart.is_none() && !given.is_empty() {
            return fault(&at.key(field), "only a chart takes values");
        }
    }
    if earlier.iter().any(|other| other.is_same(release)) {
        let title = release.title();
        return fault(
            at,
            format!("release {title} is listed twice; tell them apart by namespace, kubeContext or live"),
        );
    }
    Ok(())
}
