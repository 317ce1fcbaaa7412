//! The HelmReleases of one side of a change, and what they render.

use std::collections::BTreeMap;
use std::path::Path;

use super::walk::Side;
use crate::flux::SOURCES;
use crate::flux::release::Release;
use crate::kinds::fields::text;
use crate::object::{Key, Object, Stream};
use crate::session::flux::chart::Version;
use crate::session::flux::{Nowhere, Rendered, Run, Tools, releases};
use crate::session::tool::NotStarted;
use crate::session::{Tree, reach};

/// The HelmReleases of one side, by namespace and name.
pub(super) type Found = BTreeMap<String, One>;

/// A HelmRelease of one side.
pub(super) struct One {
    /// What it says; why it is none that can be rendered where it is none.
    pub(super) release: Result<Release, String>,
    /// What it renders.
    pub(super) rendered: Option<Result<Rendered, Failed>>,
    /// A digest of its chart with what it is made of, where that is of this repository or may be.
    pub(super) chart: Option<String>,
    /// The version by which Flux knows whether that chart is another one, where it goes by that alone.
    pub(super) version: Option<Version>,
    /// A digest of the chart that was told for it, where one was.
    pub(super) told: Option<String>,
    /// What it renders that renders from this repository in turn, with a digest of what is read for it.
    pub(super) brings: BTreeMap<Key, Option<String>>,
}

/// Why it was not rendered.
pub(super) struct Failed {
    pub(super) why: String,
    /// Whether its chart is elsewhere, so that only the object itself says what changes.
    pub(super) is_elsewhere: bool,
}

/// What the HelmReleases of a side render.
pub(super) fn rendered(
    side: &Side,
    tools: &Tools,
    tree: Tree<'_>,
    root: &Path,
    is_first: impl Fn(&str) -> bool,
) -> anyhow::Result<Found> {
    let mut out = Found::new();
    for one in releases(&side.given)? {
        let release = match one {
            Ok(release) => release,
            Err((title, why)) => {
                let (rendered, chart, version, told) = (None, None, None, None);
                out.insert(title, One { release: Err(why), rendered, chart, version, told, brings: BTreeMap::new() });
                continue;
            }
        };
        let title = release.title();
        let run = Run { tools, given: &side.given, tree, root, first: is_first(&title) };
        let rendered = match run.render(&release) {
            Err(error) if error.is::<NotStarted>() => return Err(error),
            rendered => {
                rendered.map_err(|error| Failed { is_elsewhere: error.is::<Nowhere>(), why: format!("{error:#}") })
            }
        };
        let (chart, version) = (tools.charts.digest(&release, run), tools.charts.version(&release, run));
        let brings = rendered.as_ref().map(|rendered| brings(rendered, &release, run)).unwrap_or_default();
        let told = tools.charts.told_digest(&release, run);
        out.insert(title, One { release: Ok(release), rendered: Some(rendered), chart, version, told, brings });
    }
    Ok(out)
}

/// The objects of a render that render from this repository in turn, as far as they are not known to render from elsewhere.
fn brings(rendered: &Rendered, release: &Release, run: Run<'_>) -> BTreeMap<Key, Option<String>> {
    let Ok(stream) = Stream::load(&rendered.bytes) else { return BTreeMap::new() };
    let one = |object: &Object| {
        let mut paths = reach::of_object(object);
        if !may_be_own(object, release, run)? {
            // The root of an artifact that is no repository tells nothing of where it comes from.
            paths.retain(|path| path != Path::new("."));
        }
        (!paths.is_empty()).then(|| (object.key.clone(), reach::digest(run.root, paths)))
    };
    stream.objects.objects().iter().filter_map(one).collect()
}

/// Whether an object renders from a Git repository; nothing where that is known to be another tree.
fn may_be_own(object: &Object, release: &Release, run: Run<'_>) -> Option<bool> {
    let value = object.value().ok()?;
    let source = ["/spec/chart/spec/sourceRef", "/spec/sourceRef"].into_iter().find_map(|at| value.pointer(at));
    let Some(source) = source else { return Some(object.key.group != SOURCES) };
    if text(source, "/kind") != Some("GitRepository") {
        return Some(false);
    }
    let home = object.key.namespace.as_deref().unwrap_or(&release.target);
    let (namespace, name) = (text(source, "/namespace").unwrap_or(home), text(source, "/name").unwrap_or_default());
    let own = run.tools.charts.is_own(namespace, name, run.given);
    (!own.is_err_and(|foreign| foreign.is_known)).then_some(true)
}
