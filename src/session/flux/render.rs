//! One HelmRelease through Helm and kustomize themselves, as helm-controller has both do it. Where a Secret is among its values
//! nothing that they say is handed on, as it may quote it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use tempfile::TempDir;
use tokio::process::Command;

use super::{Tools, given::Given};
use crate::flux::release::{Hooks, Release};
use crate::flux::values::{self, Values};
use crate::kinds::contract::SECRET;
use crate::kinds::fields::text;
use crate::session::asks::{Heard, Rendering, Unseen};
use crate::session::process::Ended;
use crate::session::{Observer, Stop, Tree, Unobserved, input, runtime, source, tool};
use crate::tree::{Value, json};
use crate::yaml;

/// What a HelmRelease comes to.
#[derive(Debug, Clone)]
pub(crate) struct Rendered {
    /// The stream.
    pub bytes: Bytes,
    /// The stream without the definitions of its chart's `crds`, which are no part of the release.
    pub manifests: Bytes,
    /// Those definitions, where Flux writes any, by their names.
    pub definitions: BTreeMap<String, Bytes>,
    /// The name of its chart.
    pub chart: Option<String>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// What is not seen of what Flux will write, as its chart asks a cluster that Helm does not ask here.
    pub unseen: Option<Unseen>,
}

/// How it is rendered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'r> {
    /// What renders.
    pub tools: &'r Tools,
    /// What it refers to.
    pub given: &'r Given,
    /// The tree that its chart is in.
    pub tree: Tree<'r>,
    /// The root of the repository in that tree.
    pub root: &'r Path,
    /// Whether it is installed for the first time.
    pub first: bool,
}

/// What came of a program, hidden where it could tell a secret.
struct Hidden<'h>(Option<&'h str>);

impl Hidden<'_> {
    fn said(&self, stderr: &[u8]) -> String {
        match self.0 {
            None => tool::said(stderr),
            Some(secret) => {
                // The place in a template is none.
                let text = String::from_utf8_lossy(stderr);
                let is_place = |word: &&str| word.contains("/templates/") && !word.contains(['"', '\'', '=']);
                let places: Vec<&str> = text.split_whitespace().filter(is_place).take(3).collect();
                format!("what it said is not shown, as values come from Secret {secret} {}", places.join(" "))
            }
        }
    }
}

impl Run<'_> {
    /// Renders a release.
    ///
    /// # Errors
    /// Where helm-controller would not install or upgrade, or what it needs is not here.
    pub(crate) fn render(self, release: &Release) -> anyhow::Result<Rendered> {
        let mut notes = Vec::new();
        if release.value.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
            notes.push("it is suspended: Flux does this when it is resumed".to_owned());
        }
        let references = values::references(&release.value)?;
        let look = |one: &values::Reference| self.given.data(&one.kind, &release.namespace, &one.name);
        let composed = values::compose(&release.value, &references, look)?;
        let chart = self.tools.charts.find(release, self)?;
        if values::are_dropped(&release.value) {
            notes.push("its spec.values is no map, so Flux installs without it".to_owned());
        }
        let secret = references.iter().find(|one| one.kind == SECRET).map(|one| one.name.as_str());
        let hidden = Hidden(secret);
        let writes = release.writes_definitions(self.first);
        let bytes = self.template(release, (&chart.path, &[], writes), &composed, &hidden)?;
        let (own, values) = (release.content().to_string(), Value::Object(composed.to_map()).to_string());
        let (told, heard) = ([own.as_bytes(), values.as_bytes()], Heard::by(&self.tools.helm_args));
        let rendering = Rendering { chart: &chart.path, told: &told, stream: &bytes, heard };
        let again = |chart: &Path, args: &[String]| self.template(release, (chart, args, writes), &composed, &hidden);
        let unseen = Unseen::of(rendering, again);
        let mut definitions = Vec::new();
        let mut manifests = bytes;
        if writes {
            // Helm prints them before everything else.
            let plain = self.template(release, (&chart.path, &[], false), &composed, &hidden)?;
            if let Some(crds) = manifests.strip_suffix(plain.as_slice()).map(<[u8]>::to_vec) {
                (definitions, manifests) = (self.labelled(release, only_definitions(&crds)?, &hidden)?, plain);
            }
        }
        let manifests = self.post_render(release, &manifests, &hidden)?;
        let bytes = match input::is_empty(&definitions) {
            true => manifests.clone(),
            false => [definitions.as_slice(), b"\n---\n", manifests.as_slice()].concat(),
        };
        let (bytes, manifests, definitions) = (bytes.into(), manifests.into(), by_name(&definitions)?);
        Ok(Rendered { bytes, manifests, definitions, chart: chart.name, notes, unseen })
    }

    /// What Helm prints.
    fn template(
        self,
        release: &Release,
        (chart, args, with_definitions): (&Path, &[String], bool),
        composed: &Values,
        hidden: &Hidden<'_>,
    ) -> anyhow::Result<Vec<u8>> {
        let folder = self.tools.scratch.folder()?;
        let file = folder.path().join("values.json");
        write(&file, Value::Object(composed.to_map()).to_string().as_bytes())?;
        let tools = self.tools;
        let mut command = Command::new(&tools.helm);
        command.args(["template", &release.release]).arg(chart).args(["--namespace", &release.target]);
        command.arg("--values").arg(&file);
        for integer in composed.integers() {
            command.args(["--set", &integer]);
        }
        if release.skips_schema {
            command.arg("--skip-schema-validation");
        }
        if !self.first {
            command.arg("--is-upgrade");
        }
        if with_definitions {
            command.arg("--include-crds");
        }
        command.args(&tools.helm_args).args(args);
        let what = format!("{} template {}", tools.helm.display(), release.release);
        let Ended { status, stdout, stderr } =
            tool::ran(command, self.tree.folder, (&what, source::NO_HELM), &Unobserved::default())?;
        if !status.success() {
            bail!("{what} failed ({status}): {}", hidden.said(&stderr));
        }
        Ok(stdout)
    }

    /// What Flux does to it: the post-renderers in their order, and the labels of its origin last.
    fn post_render(self, release: &Release, stream: &[u8], hidden: &Hidden<'_>) -> anyhow::Result<Vec<u8>> {
        let (manifests, hooks) = match release.hooks {
            Hooks::Combined => (stream.to_vec(), Vec::new()),
            Hooks::Left | Hooks::Separate => apart(stream)?,
        };
        let mut out = self.transformed(release, manifests, hidden)?;
        let hooks = if release.hooks == Hooks::Separate { self.transformed(release, hooks, hidden)? } else { hooks };
        if !input::is_empty(&hooks) {
            out.extend_from_slice(b"\n---\n");
            out.extend_from_slice(&hooks);
        }
        Ok(out)
    }

    fn transformed(self, release: &Release, stream: Vec<u8>, hidden: &Hidden<'_>) -> anyhow::Result<Vec<u8>> {
        if input::is_empty(&stream) {
            return Ok(stream);
        }
        let mut stream = stream;
        for kustomization in release.kustomizations(INPUT) {
            stream = self.built(&kustomization, &stream, &[], "its post-renderer", hidden)?;
        }
        self.labelled(release, stream, hidden)
    }

    /// A stream with the labels of its origin.
    fn labelled(self, release: &Release, stream: Vec<u8>, hidden: &Hidden<'_>) -> anyhow::Result<Vec<u8>> {
        if input::is_empty(&stream) {
            return Ok(stream);
        }
        let files: Vec<(String, Value)> =
            release.metadata().into_iter().enumerate().map(|(at, one)| (format!("metadata-{at}.yaml"), one)).collect();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let kustomization = json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
            "resources": [INPUT], "transformers": names});
        self.built(&kustomization, &stream, &files, "the labels of its origin", hidden)
    }

    /// What kustomize builds of a stream.
    fn built(
        self,
        kustomization: &Value,
        stream: &[u8],
        files: &[(String, Value)],
        what: &str,
        hidden: &Hidden<'_>,
    ) -> anyhow::Result<Vec<u8>> {
        let folder = self.tools.scratch.folder()?;
        write(&folder.path().join(INPUT), stream)?;
        write(&folder.path().join("kustomization.yaml"), kustomization.to_string().as_bytes())?;
        for (name, value) in files {
            write(&folder.path().join(name), value.to_string().as_bytes())?;
        }
        let (mut command, verb) = source::kustomize(self.tools.kustomize.as_deref());
        command.arg(folder.path());
        let ended = tool::ran(command, folder.path(), (&verb, source::NO_KUSTOMIZE), &Unobserved::default())?;
        if !ended.status.success() {
            bail!("{what}: {verb} failed ({}): {}", ended.status, hidden.said(&ended.stderr));
        }
        Ok(ended.stdout)
    }
}

/// The definitions among the files of `crds`; whatever else lies there is not written (helm-controller `internal/action/crds.go`,
/// `applyCRDs`, v1.6.3).
fn only_definitions(stream: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut out = Vec::new();
    for section in yaml::split(stream).map_err(|error| anyhow!("crds of the chart: {error}"))? {
        if section.is_blank(stream) {
            continue;
        }
        let value = yaml::read_json(stream, section.document).map_err(|error| anyhow!("crds of the chart: {error}"))?;
        if text(&value, "/kind") == Some("CustomResourceDefinition") {
            out.extend_from_slice(b"---\n");
            out.extend_from_slice(section.document.of(stream));
            out.push(b'\n');
        }
    }
    Ok(out)
}

/// The documents of a stream by the names of their objects.
fn by_name(stream: &[u8]) -> anyhow::Result<BTreeMap<String, Bytes>> {
    let mut out = BTreeMap::new();
    for section in yaml::split(stream).map_err(|error| anyhow!("crds of the chart: {error}"))? {
        if section.is_blank(stream) {
            continue;
        }
        let document = section.document.of(stream);
        let value = yaml::read_json(stream, section.document).map_err(|error| anyhow!("crds of the chart: {error}"))?;
        let name = text(&value, "/metadata/name").unwrap_or_default().to_owned();
        out.insert(name, Bytes::from([b"---\n", document, b"\n"].concat()));
    }
    Ok(out)
}

/// The file that a post-renderer reads.
const INPUT: &str = "helm-output.yaml";

/// Where everything is put that programs read; it goes with the program, even where a signal ends that.
#[derive(Debug)]
pub(crate) struct Scratch(TempDir);

impl Scratch {
    /// A folder for folders.
    pub(crate) fn new(observer: &dyn Observer) -> Result<Self, Stop> {
        let folder = tempfile::Builder::new().prefix("rollgate-flux-").tempdir();
        let folder = folder.context("no temporary folder can be made").map_err(Stop::internal)?;
        let _guard = runtime()?.enter();
        observer.starts(Some(folder.path())).context("signals cannot be listened to").map_err(Stop::internal)?;
        Ok(Self(folder))
    }

    /// One more folder.
    pub(crate) fn folder(&self) -> anyhow::Result<TempDir> {
        tempfile::tempdir_in(&self.0).context("no temporary folder can be made")
    }
}

pub(crate) fn write(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Manifests and hooks of a stream, each as a stream (helm `pkg/release/v1/util/manifest_sorter.go`: an annotation makes a hook).
fn apart(stream: &[u8]) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
    let (mut manifests, mut hooks) = (Vec::new(), Vec::new());
    for section in yaml::split(stream).map_err(|error| anyhow!("what Helm printed: {error}"))? {
        if section.is_blank(stream) {
            continue;
        }
        let value = yaml::read_json(stream, section.document).map_err(|error| anyhow!("what Helm printed: {error}"))?;
        let is_hook = value.pointer("/metadata/annotations/helm.sh~1hook").is_some();
        let out = if is_hook { &mut hooks } else { &mut manifests };
        out.extend_from_slice(b"---\n");
        out.extend_from_slice(section.document.of(stream));
        out.push(b'\n');
    }
    Ok((manifests, hooks))
}
