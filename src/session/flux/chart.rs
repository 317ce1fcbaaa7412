//! The chart of a HelmRelease: a path that was told, or a folder of the Git repository that its source stands for. A chart that is
//! nowhere here is named, never left out.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::given::Given;
use super::render::Run;
use super::served::Served;
use crate::flux::SOURCES;
use crate::flux::release::{self, Release, Source};
use crate::kinds::fields::text;
use crate::session::{Tree, reach};
use crate::tree::Value;
use crate::yaml::{self, Span};

/// Where charts are looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Charts {
    /// A chart for all, or for one HelmRelease, by its name with or without its namespace.
    pub told: Vec<(Option<String>, PathBuf)>,
    /// GitRepositories that are this repository, by name with or without namespace.
    pub own: Vec<String>,
    /// The addresses under which this repository is known.
    pub remotes: Vec<String>,
    /// Whether a GitRepository that nobody gave is this repository.
    pub trusts_unseen: bool,
}

/// Why a chart cannot be rendered: it is nowhere here.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Nowhere(String);

/// A chart as Helm is to render it.
#[derive(Debug)]
pub(crate) struct Chart {
    /// Its folder or archive.
    pub path: PathBuf,
    /// Its own name, by which Flux knows whether it is another one; `None` of an archive.
    pub name: Option<String>,
    /// The folder that a changed copy lies in, as long as it is needed.
    _copy: Option<TempDir>,
}

/// Whether a name with or without a namespace is that of an object.
fn is_called(told: &str, namespace: &str, name: &str) -> bool {
    told == name || told.split_once('/') == Some((namespace, name))
}

/// An address of a Git repository without what does not count: `git@host:a/b.git` is `ssh://git@host/a/b` is `https://host/a/b`.
pub(crate) fn address(url: &str) -> String {
    let bare = url.trim().trim_end_matches('/');
    let bare = bare.strip_suffix(".git").unwrap_or(bare);
    let (scheme, rest) = bare.split_once("://").unwrap_or(("", bare));
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    let (host, path) = match (scheme, rest.split_once(':')) {
        // `host:path` of scp, where no port follows.
        ("", Some((host, path))) => (host, path),
        _ => rest.split_once('/').unwrap_or((rest, "")),
    };
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    format!("{}/{}", host.to_ascii_lowercase(), path.trim_matches('/'))
}

/// Whether an address is this repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A remote has it.
    Own,
    /// It is another repository of a host where this one is, too.
    Other,
    /// It may be this one by another way: a mirror, an alias of the host, a clone without remotes.
    Unknown,
}

/// Whether an address is this repository, as far as its remotes tell.
pub(crate) fn whose(remotes: &[String], url: &str) -> Whose {
    let host = |address: &str| address.split('/').next().unwrap_or_default().to_owned();
    let (url, mut known) = (address(url), remotes.iter().map(|remote| address(remote)));
    if known.clone().any(|remote| remote == url) {
        return Whose::Own;
    }
    if known.any(|remote| host(&remote) == host(&url)) { Whose::Other } else { Whose::Unknown }
}

/// Why a source is not taken for this repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Why.
    pub why: String,
    /// Whether it is known to be another tree; else it may be this one.
    pub is_known: bool,
}

impl From<String> for Foreign {
    fn from(why: String) -> Self {
        Self { why, is_known: false }
    }
}

impl Charts {
    /// Whether somebody said that a source is this repository.
    pub(crate) fn is_told(&self, namespace: &str, name: &str) -> bool {
        self.own.iter().any(|told| is_called(told, namespace, name))
    }

    /// Whether a GitRepository is this repository, at the revision that is rendered.
    pub(crate) fn is_own(&self, namespace: &str, name: &str, given: &Given) -> Result<(), Foreign> {
        let title = format!("GitRepository {namespace}/{name}");
        if self.is_told(namespace, name) {
            return Ok(());
        }
        let remedy = format!("pass --repo-source {namespace}/{name} where it is");
        let Some(object) = given.object(SOURCES, "GitRepository", namespace, name)? else {
            let why = format!("{title} was not given, so whether it is this repository is not known; {remedy}");
            return if self.trusts_unseen { Ok(()) } else { Err(why.into()) };
        };
        let known = |why: String| Err(Foreign { why, is_known: true });
        let pinned = ["tag", "semver", "commit", "name"]
            .into_iter()
            .find(|field| text(&object, &format!("/spec/ref/{field}")).is_some_and(|text| !text.is_empty()));
        if let Some(field) = pinned {
            return known(format!(
                "{title} is pinned by ref.{field}, which is not the tree that is rendered here; {remedy}"
            ));
        }
        let whose = whose(&self.remotes, text(&object, "/spec/url").unwrap_or_default());
        if object.pointer("/spec/include").and_then(Value::as_array).is_some_and(|include| !include.is_empty()) {
            return Err(Foreign {
                why: format!("{title} includes other repositories"),
                is_known: whose == Whose::Other,
            });
        }
        let why = || format!("{title} is at an address that no remote of this repository has; {remedy}");
        match whose {
            Whose::Own => Ok(()),
            Whose::Other => known(why()),
            Whose::Unknown => Err(why().into()),
        }
    }

    /// The folder of this repository that a source's chart is, as Flux calls it; an error where it is not in this repository.
    fn of_source(&self, source: &Source, given: &Given) -> Result<Source, Foreign> {
        let source = match source.kind.as_str() {
            "HelmChart" => {
                let found = given.object(SOURCES, "HelmChart", &source.namespace, &source.name)?;
                let chart = found.ok_or_else(|| format!("{source} was not given"))?;
                release::of_helm_chart(&chart, source)?
            }
            _ => source.clone(),
        };
        if source.kind != "GitRepository" {
            let why = format!(
                "its chart is in {source}, which is not read here; give it by --chart, in a plan by --flux-chart"
            );
            // A bucket holds a tree, perhaps one that is pushed from here.
            return Err(Foreign { why, is_known: source.kind != "Bucket" });
        }
        self.is_own(&source.namespace, &source.name, given).map(|()| source)
    }

    /// The chart of a HelmRelease.
    ///
    /// # Errors
    /// Where it is nowhere here, or not what Helm reads.
    pub(crate) fn find(&self, release: &Release, run: Run<'_>) -> anyhow::Result<Chart> {
        let Run { given, tree, root, .. } = run;
        let source = &release.source;
        if let Some(path) = self.told(release) {
            if !source.values_files.is_empty() {
                bail!("its valuesFiles are in {source}, and not read beside a chart that was told");
            }
            let chart = open(&tree.there(path), path, tree)?;
            return match source.chart {
                // What a registry serves is marked with its digest (helm-controller `mutateChartWithSourceRevision`).
                None if source.kind != "HelmChart" => chart.marked(&revision(source, given), tree),
                _ => Ok(chart),
            };
        }
        let source = match self.of_source(source, given) {
            Ok(source) => source,
            Err(foreign) => return served(release, run, foreign.why),
        };
        let inside = source.chart.as_deref().unwrap_or_default();
        let path = below(inside)?;
        let chart = open(&root.join(&path), &path, tree)?;
        if source.values_files.is_empty() {
            return if source.by_revision { chart.marked(&None, tree) } else { Ok(chart) };
        }
        chart.with_values(&source, root, tree)
    }
}

impl Charts {
    /// The chart that was told for a HelmRelease.
    fn told(&self, release: &Release) -> Option<&Path> {
        let is_of = |of: &str| is_called(of, &release.namespace, &release.name);
        self.told.iter().find(|(of, _)| of.as_deref().is_none_or(is_of)).map(|(_, path)| path.as_path())
    }

    /// A digest of the chart that was told for a HelmRelease; nothing where none was.
    pub(crate) fn told_digest(&self, release: &Release, run: Run<'_>) -> Option<String> {
        let there = run.tree.there(self.told(release)?);
        let of_folder = copied(&there, run.tree).map(|(_, digest)| digest);
        Some(of_folder.unwrap_or_else(|_| {
            let bytes = std::fs::read(&there).unwrap_or_default();
            Sha256::digest(bytes).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
        }))
    }

    /// A digest of the chart of a HelmRelease with what it is made of, where it is a folder of this repository or may be one: values
    /// files of the source, and charts beside it that it depends on.
    pub(crate) fn digest(&self, release: &Release, run: Run<'_>) -> Option<String> {
        let own = self.of_source(&release.source, run.given);
        if own.as_ref().is_err_and(|foreign| foreign.is_known) {
            return None;
        }
        let source = own.unwrap_or_else(|_| release.source.clone());
        let paths = source.chart.iter().chain(&source.values_files).filter_map(|path| below(path).ok());
        reach::digest(run.root, paths)
    }
}

/// A chart by which version Flux knows whether it is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    /// Its folder in this repository.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
}

impl Charts {
    /// The version of the chart of a HelmRelease, where it is a folder of this repository that Flux packages anew only with another
    /// version (source-controller `internal/controller/helmchart_controller.go`, `buildFromTarballArtifact`, v1.9.1).
    pub(crate) fn version(&self, release: &Release, run: Run<'_>) -> Option<Version> {
        let source = self.of_source(&release.source, run.given).ok().filter(|_| self.told(release).is_none())?;
        if source.by_revision || !source.values_files.is_empty() {
            return None;
        }
        let path = below(source.chart.as_deref()?).ok()?;
        let version = text(&about(&run.root.join(&path)).ok()?, "/version")?.to_owned();
        Some(Version { path, version })
    }
}

/// The chart as source-controller serves it, where the cluster may be asked; `why` it is not here.
fn served(release: &Release, run: Run<'_>, why: String) -> anyhow::Result<Chart> {
    let Some(live) = &run.given.cluster else { return Err(Nowhere(why).into()) };
    let nowhere = |also: String| Nowhere(format!("{why}; and the cluster does not serve it: {also}"));
    let Served { artifact, mark } = Served::of(release, run.given, live).map_err(nowhere)?;
    let artifact = match &live.artifacts {
        Some(address) => artifact.at(address),
        None => artifact,
    };
    let fetched = crate::session::runtime().map_err(|stop| stop.error)?.block_on(artifact.fetch());
    let bytes = fetched.map_err(|error| nowhere(format!("{error:#}")))?;
    let folder = run.tools.scratch.folder()?;
    let unpacked = super::artifact::unpack(&bytes, folder.path())?;
    let chart = open(&unpacked, &unpacked, Tree::here())?;
    match mark {
        Some(mark) => chart.marked(&Some(mark), Tree::here()),
        None => Ok(Chart { _copy: Some(folder), ..chart }),
    }
}

/// A path of a source as one below its root, however it is written.
pub(crate) fn below(path: &str) -> anyhow::Result<PathBuf> {
    let mut out = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => out.push(part),
            Component::ParentDir if out.pop() => {}
            Component::ParentDir => bail!("{path} leads out of its source"),
            _ => {}
        }
    }
    Ok(if out.as_os_str().is_empty() { PathBuf::from(".") } else { out })
}

/// The revision that the source itself says it has, where it was read from a cluster.
fn revision(source: &Source, given: &Given) -> Option<String> {
    let object = given.object(SOURCES, &source.kind, &source.namespace, &source.name).ok()??;
    let revision = text(&object, "/status/artifact/revision")?;
    let (_, digest) = revision.rsplit_once(':')?;
    digest.get(..12).map(str::to_owned)
}

fn open(there: &Path, path: &Path, tree: Tree<'_>) -> anyhow::Result<Chart> {
    tree.keeps(there, path)?;
    let data = std::fs::metadata(there).with_context(|| format!("cannot read chart {}", path.display()))?;
    let there = std::path::absolute(there).with_context(|| format!("cannot read chart {}", path.display()))?;
    if !data.is_dir() {
        return Ok(Chart { path: there, name: None, _copy: None });
    }
    let about = about(&there).with_context(|| format!("chart {}", path.display()))?;
    let name = text(&about, "/name").map(str::to_owned);
    Ok(Chart { path: there, name, _copy: None })
}

/// What a chart says of itself.
fn about(chart: &Path) -> anyhow::Result<Value> {
    let bytes = std::fs::read(chart.join("Chart.yaml")).context("cannot read Chart.yaml")?;
    Ok(yaml::read_json(&bytes, Span { start: 0, end: bytes.len() })?)
}

impl Chart {
    /// This chart with a mark behind its version, as Flux adds one. Where the true mark is not known it is made from what the chart holds:
    /// another one whenever that changes, as the true one would be.
    fn marked(self, known: &Option<String>, tree: Tree<'_>) -> anyhow::Result<Self> {
        let Some(name) = self.name.clone() else {
            bail!("Flux changes the version of this chart, which an archive cannot be given here; unpack it");
        };
        let (copy, digest) = copied(&self.path, tree)?;
        let path = copy.path().join("chart");
        let mut about = about(&path)?;
        let version = text(&about, "/version").unwrap_or_default();
        let bare = version.split_once('+').map_or(version, |(bare, _)| bare);
        let version = format!("{bare}+{}", known.as_deref().unwrap_or(&digest));
        if let Some(map) = about.as_object_mut() {
            map.insert("version", version.into());
        }
        std::fs::write(path.join("Chart.yaml"), about.to_string()).context("cannot write a copy of the chart")?;
        Ok(Self { path, name: Some(name), _copy: Some(copy) })
    }

    /// This chart with other files of the source for its values (source-controller `internal/helm/chart/builder_local.go`).
    fn with_values(self, source: &Source, root: &Path, tree: Tree<'_>) -> anyhow::Result<Self> {
        let mut merged = crate::flux::tree::map();
        for file in &source.values_files {
            let path = below(file)?;
            let there = root.join(&path);
            if !there.exists() && source.ignores_missing_files {
                continue;
            }
            tree.keeps(&there, &path)?;
            let bytes = std::fs::read(&there).with_context(|| format!("cannot read values file {file}"))?;
            let read = yaml::read_first(&bytes, 0, 1).and_then(|tree| tree.to_json());
            let read = match read.with_context(|| format!("values file {file}"))? {
                Value::Object(map) => crate::flux::tree::of_map(&map),
                Value::Null => continue,
                _ => bail!("values file {file} is no map"),
            };
            merged = crate::flux::tree::merged(&merged, &read);
        }
        let marked = self.marked(&None, tree)?;
        let values = Value::Object(crate::flux::tree::to_map(&merged));
        std::fs::write(marked.path.join("values.yaml"), values.to_string())
            .context("cannot write a copy of the chart")?;
        Ok(marked)
    }
}

/// A copy of a chart in a folder of its own, and a digest of what it holds. No link of a reviewed tree may lead out of it.
fn copied(chart: &Path, tree: Tree<'_>) -> anyhow::Result<(TempDir, String)> {
    let copy =
        tempfile::Builder::new().prefix("rollgate-chart-").tempdir().context("no temporary folder can be made")?;
    let mut hasher = Sha256::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let to = copy.path().join("chart").join(&folder);
        std::fs::create_dir_all(&to).context("cannot copy the chart")?;
        let mut entries: Vec<PathBuf> = std::fs::read_dir(chart.join(&folder))
            .and_then(|entries| entries.map(|entry| entry.map(|entry| folder.join(entry.file_name()))).collect())
            .context("cannot read the chart")?;
        entries.sort();
        for entry in entries {
            let from = chart.join(&entry);
            tree.keeps(&from, &entry)?;
            if from.is_dir() {
                folders.push(entry);
                continue;
            }
            let bytes = std::fs::read(&from).with_context(|| format!("cannot read {}", entry.display()))?;
            hasher.update(entry.as_os_str().as_encoded_bytes());
            hasher.update(bytes.len().to_le_bytes());
            hasher.update(&bytes);
            std::fs::write(copy.path().join("chart").join(&entry), bytes).context("cannot copy the chart")?;
        }
    }
    let digest: String = hasher.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Ok((copy, digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_several_addresses() {
        let one = "git.example.com/telco/fleet";
        for url in [
            "https://git.example.com/telco/fleet.git",
            "https://git.example.com/telco/fleet/",
            "https://user:token@Git.Example.com/telco/fleet",
            "ssh://git@git.example.com/telco/fleet.git",
            "ssh://git@git.example.com:2222/telco/fleet.git",
            "git@git.example.com:telco/fleet.git",
        ] {
            assert_eq!(address(url), one, "{url}");
        }
        assert_ne!(address("https://git.example.com/telco/other"), one);
        assert_ne!(address("https://git.example.org/telco/fleet"), one);
        let remotes = ["git@git.example.com:telco/fleet.git".to_owned()];
        for (remotes, url, is) in [
            (&remotes[..], "https://git.example.com/telco/fleet", Whose::Own),
            (&remotes, "https://git.example.com/telco/other", Whose::Other),
            (&remotes, "git@alias:telco/fleet.git", Whose::Unknown),
            (&[], "https://git.example.com/telco/fleet", Whose::Unknown),
        ] {
            assert_eq!(whose(remotes, url), is, "{url}");
        }
    }

    #[test]
    fn no_path_leads_out_of_its_source() {
        assert_eq!(below("./charts/demo").expect("a path"), Path::new("charts/demo"));
        assert_eq!(below("/charts/./a/../demo/").expect("a path"), Path::new("charts/demo"));
        assert_eq!(below("./").expect("a path"), Path::new("."));
        assert!(below("../charts").is_err() && below("charts/../../x").is_err());
    }
}
