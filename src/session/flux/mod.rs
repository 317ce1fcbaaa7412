//! HelmReleases rendered as Flux renders them: where their charts and values are found, and how Helm and kustomize are run for them. A
//! command line and a controller render the same way.

pub(crate) mod artifact;
pub(crate) mod chart;
pub(crate) mod given;
pub(crate) mod render;
mod served;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::bail;

pub(crate) use self::chart::{Charts, Nowhere};
pub(crate) use self::given::{Given, Live};
pub(crate) use self::render::{Rendered, Run, Scratch};
use crate::flux::release::{self, Release};

/// What renders, and where it finds charts.
#[derive(Debug)]
pub(crate) struct Tools {
    /// Where charts are.
    pub charts: Charts,
    /// The Helm that renders them.
    pub helm: PathBuf,
    /// What runs post-renderers; the first of kustomize and kubectl on the path where nothing is said.
    pub kustomize: Option<PathBuf>,
    /// Further arguments of `helm template`.
    pub helm_args: Vec<String>,
    /// Where everything is put that programs read.
    pub scratch: Scratch,
}

/// A HelmRelease, or its name with why it is none that can be rendered.
pub(crate) type Read = Result<Release, (String, String)>;

/// The HelmReleases that were given.
///
/// # Errors
/// Where one was given twice: which one counts is not known.
pub(crate) fn releases(given: &Given) -> anyhow::Result<Vec<Read>> {
    let mut names = BTreeSet::new();
    let mut out = Vec::new();
    for object in given.objects.iter().filter(|object| release::is_one(object)) {
        let title = format!("{}/{}", given.namespace(&object.key), object.key.name);
        if !names.insert(title.clone()) {
            bail!("HelmRelease {title} was given twice, and which one counts is not known");
        }
        out.push(Release::of(object, &given.home).map_err(|why| (title, why)));
    }
    Ok(out)
}
