//! Charts of a Git repository that Flux takes up only with another version (source-controller `internal/helm/chart/builder_local.go`,
//! `Build`, v1.9.1: a chart of the same name and version stays as it was packaged). What runs is then the chart as it was when its
//! version first stood there, which may be older than the base.

use std::path::Path;

use crate::kinds::fields::text;
use crate::session::flux::chart::Version;
use crate::session::{Trees, revisions};
use crate::yaml::{self, Span};

/// Why what runs is older than the base: its chart was changed there without another version. Nothing where it is the same.
pub(super) fn older(trees: &Trees, chart: &Version, base: &str) -> Option<String> {
    let below = if chart.path == Path::new(".") { String::new() } else { chart.path.display().to_string() };
    // What a merge brought counts as one, as Flux saw it as one.
    let place = format!(":(top,literal){below}");
    let args = ["log", "--first-parent", "-1", "--format=%H", trees.start(), "--", &place];
    let last = revisions::git(&args).ok().filter(|last| !last.is_empty())?;
    let version = version_at(&format!("{last}^"), &below)?;
    (version == chart.version).then(|| {
        format!(
            "its chart was changed in {base} by {} without another version than {version}, and only now Flux takes that up \
             (reconcileStrategy ChartVersion): what runs is older than {base}",
            last.get(..12).unwrap_or(&last)
        )
    })
}

/// The version of a chart in a commit; nothing where that has none.
fn version_at(commit: &str, below: &str) -> Option<String> {
    let file = if below.is_empty() { "Chart.yaml".to_owned() } else { format!("{below}/Chart.yaml") };
    let bytes = revisions::git(&["show", &format!("{commit}:{file}")]).ok()?.into_bytes();
    let about = yaml::read_json(&bytes, Span { start: 0, end: bytes.len() }).ok()?;
    text(&about, "/version").map(str::to_owned)
}
