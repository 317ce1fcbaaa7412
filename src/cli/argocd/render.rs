//! Renders the sources of an Application as Argo CD's repository server does (Argo CD `reposerver/repository/repository.go`), as far as
//! they are in this repository. What would be rendered otherwise there is an error that names it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail, ensure};
use bytes::Bytes;
use tempfile::NamedTempFile;

use super::application::Application;
use crate::kinds::fields::{list, text};
use crate::object::{Files, Object};
use crate::session::flux::chart::{Whose, address, below, whose};
use crate::session::{Chart, Observer, Source, Tree, Unseen, reach};
use crate::tree::Value;
use crate::world::files;

/// What a source of a chart may say and is done here.
const OF_HELM: [&str; 15] = [
    "releaseName",
    "valueFiles",
    "values",
    "valuesObject",
    "parameters",
    "fileParameters",
    "ignoreMissingValueFiles",
    "skipCrds",
    "skipTests",
    "skipSchemaValidation",
    "passCredentials",
    "version",
    "namespace",
    "kubeVersion",
    "apiVersions",
];
/// What a file of a folder says that Argo CD leaves out.
const LEFT_OUT: &str = "+argocd:skip-file-rendering";

/// Why a source cannot be rendered: it is nowhere here, so only the Application itself says what changes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Nowhere(String);

/// What renders, and what is known of this repository.
pub(super) struct Tools {
    pub(super) helm: PathBuf,
    pub(super) helm_args: Vec<String>,
    pub(super) kustomize: Option<PathBuf>,
    /// The addresses under which this repository is known.
    pub(super) remotes: Vec<String>,
    /// Applications whose sources are this repository whatever their address is.
    pub(super) own: Vec<String>,
    /// The branches of this repository.
    pub(super) branches: Vec<String>,
    /// The branch that the change is for: `HEAD` and it are the tree that is rendered.
    pub(super) base: Option<String>,
}

impl Tools {
    /// Whether what an object renders from may be this repository, by the addresses that stand in it; where none does, by all that is known.
    pub(super) fn may_be_own(&self, object: &Object) -> bool {
        let Ok(value) = object.value() else { return true };
        let urls = reach::addresses(&value);
        urls.is_empty() || urls.iter().any(|url| whose(&self.remotes, url) != Whose::Other)
    }

    fn is_told(&self, app: &Application) -> bool {
        let title = app.title();
        self.own.iter().any(|own| *own == title || *own == app.name)
    }
}

/// One rendering: with which tools, in which tree.
pub(super) struct Run<'r> {
    pub(super) tools: &'r Tools,
    pub(super) tree: Tree<'r>,
    /// The root of the repository there.
    pub(super) root: &'r Path,
    pub(super) observer: &'r dyn Observer,
    /// What was not seen of what its charts render.
    pub(super) unseen: RefCell<Vec<Unseen>>,
}

impl Run<'_> {
    /// Everything that the Application renders, its sources in their order.
    ///
    /// # Errors
    /// When one cannot be rendered as Argo CD would.
    pub(super) fn render(&self, app: &Application) -> anyhow::Result<Bytes> {
        let mut parts = Vec::new();
        for source in &app.sources {
            self.is_here(app, source)?;
            let path = text(source, "/path");
            if path.is_none() && text(source, "/ref").is_some() {
                continue;
            }
            let path = below(path.context("a source names no path")?)?;
            parts.push((String::new(), self.part(app, source, &path).with_context(|| path.display().to_string())?));
        }
        Ok(Files::joined(parts).1)
    }

    /// A digest of what of this repository it may be rendered from, where that cannot be done here; nothing where that is none.
    pub(super) fn reads(&self, app: &Application) -> Option<String> {
        let is_other = |source: &&Value| {
            text(source, "/chart").is_none()
                && (self.tools.is_told(app)
                    || whose(&self.tools.remotes, text(source, "/repoURL").unwrap_or_default()) != Whose::Other)
        };
        // A plugin may read all of it.
        let paths = |source: &Value| match source.pointer("/plugin") {
            Some(_) => vec![PathBuf::from(".")],
            None => reach::of_source(source),
        };
        reach::digest(self.root, app.sources.iter().filter(is_other).flat_map(paths))
    }

    /// Which repositories and revisions its sources are.
    pub(super) fn origins(&self, app: &Application) -> BTreeSet<String> {
        let of = |source: &Value| {
            let revision = text(source, "/targetRevision").filter(|text| !text.is_empty()).unwrap_or("HEAD");
            let revision = if self.tools.base.as_deref() == Some(revision) { "HEAD" } else { revision };
            let address = address(text(source, "/repoURL").unwrap_or_default());
            if self.tools.is_told(app) { revision.to_owned() } else { format!("{address} at {revision}") }
        };
        app.sources.iter().filter(|source| text(source, "/chart").is_none()).map(of).collect()
    }

    /// Whether a source is this repository, at the revision that is rendered.
    fn is_here(&self, app: &Application, source: &Value) -> anyhow::Result<()> {
        if let Some(chart) = text(source, "/chart") {
            bail!(Nowhere(format!("chart {chart} of a registry is not read here")));
        }
        let url = text(source, "/repoURL").unwrap_or_default();
        let (title, is_told) = (app.title(), self.tools.is_told(app));
        if !is_told && whose(&self.tools.remotes, url) != Whose::Own {
            bail!(Nowhere(format!(
                "no remote of this repository is {url}; pass --repo-source {title} where it is this repository"
            )));
        }
        let revision = text(source, "/targetRevision").filter(|text| !text.is_empty()).unwrap_or("HEAD");
        let is_branch = revision == "HEAD" || self.tools.branches.iter().any(|branch| branch == revision);
        ensure!(
            is_branch || is_told,
            "targetRevision {revision} is no branch of this repository, so it is another tree"
        );
        Ok(())
    }

    fn part(&self, app: &Application, source: &Value, path: &Path) -> anyhow::Result<Bytes> {
        let folder = self.root.join(path);
        self.tree.holds(&folder, path)?;
        ensure!(folder.is_dir(), "there is no such folder");
        for file in [".argocd-source.yaml".to_owned(), format!(".argocd-source-{}.yaml", app.name)] {
            ensure!(!folder.join(&file).exists(), "{file} changes what the Application says");
        }
        ensure!(source.pointer("/plugin").is_none(), "a config management plugin renders it");
        let says = |field: &str| source.get(field).and_then(Value::as_object).is_some_and(|map| !map.is_empty());
        let is_kustomization = files_of(&["kustomization.yaml", "kustomization.yml", "Kustomization"], &folder);
        match (says("helm"), says("kustomize"), says("directory")) {
            (true, ..) => self.chart(app, source, &folder),
            (_, true, _) => self.kustomization(source, &folder),
            (.., true) => self.directory(source, &folder),
            // Of both the kustomization counts, whose name is found later (argo-cd `util/app/discovery/discovery.go`, `Discover`, v3.5.1).
            _ if is_kustomization => self.kustomization(source, &folder),
            _ if folder.join("Chart.yaml").exists() => self.chart(app, source, &folder),
            _ => self.directory(source, &folder),
        }
    }

    fn source(&self, source: &Source) -> anyhow::Result<Bytes> {
        let input = source.render(self.tree, true, self.observer)?;
        self.unseen.borrow_mut().extend(input.unseen);
        Ok(input.text.bytes().clone())
    }

    fn kustomization(&self, source: &Value, folder: &Path) -> anyhow::Result<Bytes> {
        let said = source.get("kustomize").and_then(Value::as_object).into_iter().flat_map(|map| map.iter());
        if let Some((field, _)) =
            said.filter(|(_, value)| !value.is_null()).find(|(name, _)| name.as_str() != "version")
        {
            bail!("kustomize.{field} changes what the kustomization builds to; write it into the kustomization");
        }
        self.source(&Source::Paths { paths: vec![folder.to_owned()], kustomize: self.tools.kustomize.clone() })
    }

    fn directory(&self, source: &Value, folder: &Path) -> anyhow::Result<Bytes> {
        for field in ["include", "exclude"] {
            ensure!(text(source, &format!("/directory/{field}")).is_none(), "directory.{field} is not computed here");
        }
        let jsonnet =
            source.pointer("/directory/jsonnet").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
        ensure!(!jsonnet, "directory.jsonnet is not computed here");
        let is_deep = source.pointer("/directory/recurse").and_then(Value::as_bool) == Some(true);
        if let Some(file) = jsonnet_in(folder, is_deep)? {
            bail!("{file} is Jsonnet, which is not computed here");
        }
        let found = files::manifests(folder)?;
        let paths: Vec<PathBuf> = found.into_iter().filter(|file| is_deep || file.parent() == Some(folder)).collect();
        if paths.is_empty() {
            return Ok(Bytes::new());
        }
        let bytes = self.source(&Source::Paths { paths, kustomize: None })?;
        ensure!(memchr::memmem::find(&bytes, LEFT_OUT.as_bytes()).is_none(), "{LEFT_OUT} leaves a file out");
        Ok(bytes)
    }

    fn chart(&self, app: &Application, source: &Value, folder: &Path) -> anyhow::Result<Bytes> {
        let nothing = Value::Null;
        let helm = source.get("helm").unwrap_or(&nothing);
        let said = helm.as_object().into_iter().flat_map(|map| map.iter());
        if let Some((field, _)) =
            said.filter(|(_, value)| !value.is_null()).find(|(name, _)| !OF_HELM.contains(&name.as_str()))
        {
            bail!("helm.{field} is not computed here");
        }
        let is = |field: &str| helm.get(field).and_then(Value::as_bool) == Some(true);
        let mut values = Vec::new();
        for file in list(helm, "/valueFiles").filter_map(Value::as_str) {
            let path = self.values(app, file, folder)?;
            if path.is_file() || !is("ignoreMissingValueFiles") {
                values.push(path.display().to_string());
            }
        }
        // Kept until Helm has read it.
        let inline = inline(helm)?;
        values.extend(inline.iter().map(|file| file.path().display().to_string()));
        let mut args = Vec::new();
        if is("skipSchemaValidation") {
            args.push("--skip-schema-validation".to_owned());
        }
        if !is("skipCrds") {
            args.push("--include-crds".to_owned());
        }
        for parameter in list(helm, "/parameters") {
            let (name, value) = (plain(parameter, "/name")?, plain(parameter, "/value")?);
            let forced = parameter.get("forceString").and_then(Value::as_bool) == Some(true);
            let option = if forced { "--set-string" } else { "--set" };
            args.extend([option.to_owned(), format!("{name}={}", escaped(value))]);
        }
        for parameter in list(helm, "/fileParameters") {
            let (name, path) = (plain(parameter, "/name")?, plain(parameter, "/path")?);
            args.extend(["--set-file".to_owned(), format!("{name}={}", self.values(app, path, folder)?.display())]);
        }
        if let Some(version) = text(helm, "/kubeVersion") {
            args.extend(["--kube-version".to_owned(), version.to_owned()]);
        }
        for version in list(helm, "/apiVersions").filter_map(Value::as_str) {
            args.extend(["--api-versions".to_owned(), version.to_owned()]);
        }
        args.extend(self.tools.helm_args.iter().cloned());
        let namespace = text(helm, "/namespace").map(str::to_owned).or_else(|| app.target.clone());
        self.source(&Source::Chart(Chart {
            helm: self.tools.helm.clone(),
            chart: folder.display().to_string(),
            is_remote: false,
            values,
            builds_dependencies: false,
            args,
            release: text(helm, "/releaseName").unwrap_or(&app.name).to_owned(),
            namespace,
            context: None,
            // Argo CD only ever renders: every time is the first one to a chart.
            first: true,
            is_alone: true,
        }))
    }

    /// A file with values: beside the chart, from the root of the repository, or of another source by its `ref`.
    fn values(&self, app: &Application, file: &str, folder: &Path) -> anyhow::Result<PathBuf> {
        ensure!(!file.contains("://"), "{file} is not read here");
        ensure!(!file.contains(['*', '?', '[']), "{file} is a pattern, which is not computed here");
        let path = if let Some(rest) = file.strip_prefix('$') {
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            // That source was looked at as all are: it is this repository.
            let is_named = app.sources.iter().any(|source| text(source, "/ref") == Some(name));
            ensure!(is_named, "{file}: no source has ref {name}");
            self.root.join(below(rest)?)
        } else {
            ensure!(!file.contains('$'), "{file} holds a variable, which is not computed here");
            match file.strip_prefix('/') {
                Some(rest) => self.root.join(below(rest)?),
                None => folder.join(file),
            }
        };
        self.tree.holds(&path, Path::new(file))?;
        Ok(path)
    }
}

/// A text of a parameter. Argo CD fills variables into it, of which not all are known here.
fn plain<'v>(parameter: &'v Value, place: &str) -> anyhow::Result<&'v str> {
    let text = text(parameter, place).unwrap_or_default();
    ensure!(!text.contains('$'), "parameter {text} holds a variable, which is not computed here");
    Ok(text)
}

/// A value as Argo CD hands it to `--set` (`util/helm/helm.go`, `cleanSetParameters`): a comma is one of the value, but for lists.
fn escaped(value: &str) -> String {
    if value.starts_with('{') && value.ends_with('}') {
        return value.to_owned();
    }
    let mut out = String::new();
    for letter in value.chars() {
        if letter == ',' && !out.ends_with('\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Values that stand in the Application itself, in a file; `valuesObject` stands before `values`.
fn inline(helm: &Value) -> anyhow::Result<Option<NamedTempFile>> {
    let object = helm.get("valuesObject").filter(|value| !value.is_null()).map(ToString::to_string);
    let Some(values) = object.or_else(|| text(helm, "/values").map(str::to_owned)) else { return Ok(None) };
    ensure!(
        !values.contains("$ARGOCD_") && !values.contains("${ARGOCD_"),
        "values hold a variable, which is not computed here"
    );
    let mut file = NamedTempFile::with_suffix(".yaml").context("no temporary file can be made")?;
    file.write_all(values.as_bytes()).context("a temporary file cannot be written")?;
    Ok(Some(file))
}

fn files_of(names: &[&str], folder: &Path) -> bool {
    names.iter().any(|name| folder.join(name).exists())
}

/// A file of a folder that is Jsonnet.
fn jsonnet_in(folder: &Path, is_deep: bool) -> anyhow::Result<Option<String>> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| anyhow!("it cannot be read: {error}"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "jsonnet") {
                return Ok(Some(path.file_name().unwrap_or_default().to_string_lossy().into_owned()));
            }
            if is_deep && path.is_dir() && !path.is_symlink() {
                folders.push(path);
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_of_a_value_is_no_end_of_it() {
        for (value, wanted) in [("a,b", "a\\,b"), ("a\\,b", "a\\,b"), ("{a,b}", "{a,b}"), ("", "")] {
            assert_eq!(escaped(value), wanted);
        }
    }
}
