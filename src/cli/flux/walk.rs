//! What Flux finds in a folder of a repository: its manifests, and what the Kustomizations among them render, and so on. What of it
//! cannot be rendered here is named.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;

use crate::flux::{KUSTOMIZATIONS, substitute};
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::kinds::fields::{annotation, label, list, text};
use crate::object::{Key, Object, Stream};
use crate::session::flux::chart::below;
use crate::session::flux::{Given, Tools, render};
use crate::session::input;
use crate::session::process::Ended;
use crate::session::{Tree, Unobserved, source, tool};
use crate::tree::{Map, Value, json};
use crate::world::files;
use crate::yaml;

/// Most Kustomizations of one repository: more is a mistake.
const MOST: usize = 10_000;

/// Fields of a Kustomization that decide nothing about what it renders, or are rendered here.
const KNOWN: [&str; 22] = [
    "commonMetadata",
    "deletionPolicy",
    "dependsOn",
    "force",
    "healthCheckExprs",
    "healthChecks",
    "images",
    "interval",
    "kubeConfig",
    "namePrefix",
    "nameSuffix",
    "patches",
    "path",
    "postBuild",
    "prune",
    "retryInterval",
    "serviceAccountName",
    "sourceRef",
    "suspend",
    "targetNamespace",
    "timeout",
    "wait",
];

/// What one side of a change holds.
#[derive(Debug)]
pub(in crate::cli) struct Side {
    /// Every object, beside those that were given from elsewhere.
    pub(in crate::cli) given: Given,
    /// The same as one stream.
    pub(in crate::cli) stream: Vec<u8>,
    /// The Kustomizations that are rendered.
    pub(in crate::cli) rendered: BTreeSet<Key>,
    /// Those that are not, and why; and whether this repository may have changed what they render.
    pub(in crate::cli) undone: BTreeMap<Key, (String, bool)>,
}

/// A look through one side.
#[derive(Debug)]
pub(in crate::cli) struct Walk<'w> {
    pub(in crate::cli) tools: &'w Tools,
    pub(in crate::cli) tree: Tree<'w>,
    /// The root of the repository in that tree.
    pub(in crate::cli) root: &'w Path,
    /// Kustomizations that are left out, as the other side could not render them.
    pub(in crate::cli) without: &'w BTreeSet<Key>,
}

/// What is said of a Kustomization that the other side does not render.
pub(super) const LEFT_OUT: &str = "the other side of the change does not render it";

/// Why a Kustomization was not rendered, and whether this repository may have changed what it renders.
type Undone = (String, bool);

impl Walk<'_> {
    /// Everything below some folders.
    ///
    /// # Errors
    /// When a folder or a manifest cannot be read.
    pub(in crate::cli) fn side(&self, paths: &[PathBuf], given: Given) -> anyhow::Result<Side> {
        let mut side = Side { given, stream: Vec::new(), rendered: BTreeSet::new(), undone: BTreeMap::new() };
        let (mut queue, mut seen) = (VecDeque::new(), BTreeSet::new());
        for path in paths {
            let there = self.tree.there(path);
            if !there.exists() {
                continue;
            }
            self.tree.keeps(&there, path)?;
            let parts = self.parts(path, &there)?.concat();
            let (count, length, waiting) = (side.given.objects.len(), side.stream.len(), queue.len());
            side.take(&parts, &mut queue)?;
            let Some(object) = self.itself(&queue, &there) else { continue };
            // The Kustomization that applies this very folder, as `flux bootstrap` makes one: what it says counts.
            let key = side.whole(&object.key);
            match self.one(&key, &object, &side.given) {
                Ok(bytes) => {
                    side.given.objects.truncate(count);
                    side.stream.truncate(length);
                    queue.truncate(waiting);
                    side.take(&bytes, &mut queue)?;
                    side.rendered.insert(object.key.clone());
                }
                Err(why) => drop(side.undone.insert(key.clone(), why)),
            }
            queue.retain(|one| one.key != object.key);
            seen.insert(key);
        }
        while let Some(object) = queue.pop_front() {
            let key = side.whole(&object.key);
            if !seen.insert(key.clone()) {
                bail!("{key} stands there twice, and which one counts is not known");
            }
            if seen.len() > MOST {
                bail!("there are more than {MOST} Kustomizations");
            }
            match self.one(&key, &object, &side.given) {
                Ok(bytes) => {
                    side.take(&bytes, &mut queue).with_context(|| format!("what {key} renders"))?;
                    side.rendered.insert(object.key.clone());
                }
                Err(why) => drop(side.undone.insert(key, why)),
            }
        }
        Ok(side)
    }

    /// The Kustomization of this folder itself, if it is among those that it holds.
    fn itself(&self, queue: &VecDeque<Object>, there: &Path) -> Option<Object> {
        let folder = there.strip_prefix(self.root).ok()?;
        let is_it = |object: &&Object| {
            let value = object.value().ok();
            let path = value.as_ref().and_then(|value| text(value, "/spec/path").map(below)).and_then(Result::ok);
            path.is_some_and(|path| path == folder || (path == Path::new(".") && folder.as_os_str().is_empty()))
        };
        queue.iter().find(is_it).cloned()
    }

    /// What a Kustomization renders, where the other side renders it too.
    fn one(&self, key: &Key, object: &Object, given: &Given) -> Result<Vec<u8>, Undone> {
        match self.without.contains(key) {
            true => Err((LEFT_OUT.to_owned(), false)),
            false => self.kustomization(key, object, given),
        }
    }

    /// The manifests of a folder, as kustomize-controller puts them together: what is a kustomization is built, and where the folder
    /// is none every manifest below it counts (fluxcd/pkg `kustomize/kustomize_generator.go`).
    fn parts(&self, path: &Path, there: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
        if there.is_file() {
            return Ok(vec![self.file(path, there)?]);
        }
        if source::is_kustomization(there) {
            return Ok(vec![self.build(path, there)?]);
        }
        let mut out = Vec::new();
        let mut built: Vec<PathBuf> = Vec::new();
        for file in files::manifests(there)? {
            if file.extension().is_none_or(|extension| extension != "yaml" && extension != "yml")
                || built.iter().any(|folder| file.starts_with(folder))
            {
                continue;
            }
            let below = file.strip_prefix(there).unwrap_or(&file);
            let folders = below.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
            let outer: Vec<&Path> = folders.collect();
            match outer.into_iter().rev().find(|folder| source::is_kustomization(&there.join(folder))) {
                Some(folder) => {
                    out.push(self.build(&path.join(folder), &there.join(folder))?);
                    built.push(there.join(folder));
                }
                None => out.push(self.file(&path.join(below), &file)?),
            }
        }
        Ok(out)
    }

    fn file(&self, path: &Path, there: &Path) -> anyhow::Result<Vec<u8>> {
        self.tree.keeps(there, path)?;
        let mut bytes = b"---\n".to_vec();
        bytes.extend(std::fs::read(there).with_context(|| format!("cannot read {}", path.display()))?);
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// What kustomize builds of a folder.
    fn build(&self, path: &Path, there: &Path) -> anyhow::Result<Vec<u8>> {
        self.tree.keeps(there, path)?;
        let (mut command, verb) = source::kustomize(self.tools.kustomize.as_deref());
        command.arg(there);
        let what = format!("{verb} {}", path.display());
        let Ended { status, stdout, stderr } =
            tool::ran(command, self.tree.folder, (&what, source::NO_KUSTOMIZE), &Unobserved::default())?;
        if !status.success() {
            bail!("{what} failed ({status}): {}", tool::said(&stderr));
        }
        Ok([b"---\n", stdout.as_slice(), b"\n"].concat())
    }

    /// What a Kustomization renders.
    fn kustomization(&self, key: &Key, object: &Object, given: &Given) -> Result<Vec<u8>, Undone> {
        let value = object.value().map_err(|error| (error.to_string(), true))?;
        let spec = value.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
        let elsewhere = |why: &str| Err((why.to_owned(), false));
        if spec.get("suspend") == Some(&Value::Bool(true)) {
            return elsewhere("it is suspended");
        }
        if spec.get("kubeConfig").is_some_and(Value::is_object) {
            return elsewhere("it writes into another cluster (spec.kubeConfig)");
        }
        let namespace = key.namespace.clone().unwrap_or_default();
        let word = |pointer: &str| text(&value, pointer).filter(|text| !text.is_empty());
        let (kind, name) = (word("/spec/sourceRef/kind"), word("/spec/sourceRef/name").unwrap_or_default());
        if kind != Some("GitRepository") {
            return Err((format!("its source is {} {name}, which is not read here", kind.unwrap_or("none")), false));
        }
        let of = word("/spec/sourceRef/namespace").unwrap_or(&namespace);
        self.tools.charts.is_own(of, name, given).map_err(|why| (why, false))?;
        self.own(&spec, &value, &namespace, given).map_err(|error| (format!("{error:#}"), true))
    }

    /// What a Kustomization of this repository renders.
    fn own(&self, spec: &Map, value: &Value, namespace: &str, given: &Given) -> anyhow::Result<Vec<u8>> {
        if let Some(field) = spec.keys().find(|field| !KNOWN.contains(&field.as_str()) && *field != "decryption") {
            bail!("its field {field} is not rendered here");
        }
        let path = below(text(value, "/spec/path").unwrap_or_default())?;
        let there = self.root.join(&path);
        if !there.is_dir() {
            bail!("{} is no folder of this repository", path.display());
        }
        self.tree.keeps(&there, &path)?;
        let parts = self.parts(&path, &there)?;
        let bytes = self.layered(spec, value, parts)?;
        filled(&bytes, &variables(value, namespace, given)?)
    }

    /// The fields of a Kustomization that change what its folder holds, by a kustomization over it.
    fn layered(&self, spec: &Map, value: &Value, parts: Vec<Vec<u8>>) -> anyhow::Result<Vec<u8>> {
        let is_set = |field: &str| match spec.get(field) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(_) => true,
        };
        let fields = [
            ("targetNamespace", "namespace"),
            ("namePrefix", "namePrefix"),
            ("nameSuffix", "nameSuffix"),
            ("images", "images"),
            ("patches", "patches"),
        ];
        if !fields.iter().any(|(field, _)| is_set(field)) && !is_set("commonMetadata") {
            return Ok(parts.concat());
        }
        let mut kustomization = json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"});
        for (field, name) in fields.into_iter().filter(|(field, _)| is_set(field)) {
            kustomization[name] = spec[field].clone();
        }
        if list(value, "/spec/patches").any(|patch| patch.get("path").is_some()) {
            bail!("a patch of it names a file, which Flux does not read");
        }
        let mut files = Vec::new();
        for (at, part) in parts.into_iter().filter(|part| !input::is_empty(part)).enumerate() {
            files.push((format!("part-{at}.yaml"), part));
        }
        kustomization["resources"] = files.iter().map(|(name, _)| json!(name)).collect();
        let metadata = |kind: &str, field: &str| {
            let map = value.pointer(&format!("/spec/commonMetadata/{field}")).filter(|map| map.is_object())?;
            let one = json!({"apiVersion": "builtin", "kind": kind, "metadata": {"name": field}, field: map,
                "fieldSpecs": [{"path": format!("metadata/{field}"), "create": true}]});
            Some((format!("{field}.json"), one.to_string().into_bytes()))
        };
        let added: Vec<_> = [metadata("LabelTransformer", "labels"), metadata("AnnotationsTransformer", "annotations")]
            .into_iter()
            .flatten()
            .collect();
        kustomization["transformers"] = added.iter().map(|(name, _)| json!(name)).collect();
        let folder = self.tools.scratch.folder()?;
        for (name, bytes) in files.iter().chain(&added) {
            render::write(&folder.path().join(name), bytes)?;
        }
        render::write(&folder.path().join("kustomization.yaml"), kustomization.to_string().as_bytes())?;
        let (mut command, verb) = source::kustomize(self.tools.kustomize.as_deref());
        command.arg(folder.path());
        let ended = tool::ran(command, folder.path(), (&verb, source::NO_KUSTOMIZE), &Unobserved::default())?;
        if !ended.status.success() {
            bail!("{verb} failed ({}): {}", ended.status, tool::said(&ended.stderr));
        }
        Ok(ended.stdout)
    }
}

impl Side {
    /// The whole name of an object.
    fn whole(&self, key: &Key) -> Key {
        key.in_namespace(Some(self.given.namespace(key).to_owned()))
    }

    /// Takes over a stream: its objects are given from now on, and its Kustomizations are still to be rendered.
    fn take(&mut self, bytes: &[u8], queue: &mut VecDeque<Object>) -> anyhow::Result<()> {
        let stream = Stream::load(&Bytes::from(bytes.to_vec()))?;
        for object in stream.objects.objects() {
            if object.key.group == KUSTOMIZATIONS && object.key.kind == "Kustomization" {
                queue.push_back(object.clone());
            }
            self.given.objects.push(object.clone());
        }
        self.stream.extend_from_slice(b"---\n");
        self.stream.extend_from_slice(bytes);
        self.stream.push(b'\n');
        Ok(())
    }
}

/// The variables of a Kustomization: those of its sources in their order, its own last, without line breaks (fluxcd/pkg
/// `kustomize/kustomize_varsub.go`).
fn variables(value: &Value, namespace: &str, given: &Given) -> anyhow::Result<BTreeMap<String, String>> {
    let mut out = BTreeMap::new();
    for source in list(value, "/spec/postBuild/substituteFrom") {
        let (kind, name) = (text(source, "/kind").unwrap_or_default(), text(source, "/name").unwrap_or_default());
        if !matches!(kind, CONFIG_MAP | SECRET) {
            bail!("substituteFrom names no ConfigMap or Secret");
        }
        let data = given.data(kind, namespace, name).map_err(|why| anyhow!("{kind} {name} {why}"))?;
        let Some(data) = data else {
            if source.get("optional") == Some(&Value::Bool(true)) {
                continue;
            }
            bail!("{kind} {name} is not there, so Flux does not apply it");
        };
        for (key, bytes) in data {
            let text = String::from_utf8(bytes).map_err(|_| anyhow!("key {key} of {kind} {name} is no text"))?;
            out.insert(key, text.replace('\n', ""));
        }
    }
    for (name, text) in value.pointer("/spec/postBuild/substitute").and_then(Value::as_object).into_iter().flatten() {
        let text = text.as_str().ok_or_else(|| anyhow!("its variable {name} is no text"))?;
        out.insert(name.to_string(), text.replace('\n', ""));
    }
    Ok(out)
}

/// Fills variables into each object of a stream that does not forbid it.
fn filled(stream: &[u8], variables: &BTreeMap<String, String>) -> anyhow::Result<Vec<u8>> {
    const FORBIDS: &str = "kustomize.toolkit.fluxcd.io/substitute";
    if variables.is_empty() {
        return Ok(stream.to_vec());
    }
    let mut out = Vec::with_capacity(stream.len());
    for section in yaml::split(stream)? {
        if section.is_blank(stream) {
            continue;
        }
        let document = section.document.of(stream);
        let value = yaml::read_json(stream, section.document)?;
        let is_forbidden = [label(&value, FORBIDS), annotation(&value, FORBIDS)].contains(&Some("disabled"));
        out.extend_from_slice(b"---\n");
        if is_forbidden {
            out.extend_from_slice(document);
        } else {
            let text = std::str::from_utf8(document)?;
            let name = text_of(&value);
            out.extend(substitute::fill(text, variables).with_context(|| name)?.into_bytes());
        }
        out.push(b'\n');
    }
    Ok(out)
}

/// How an error calls an object.
fn text_of(value: &Value) -> String {
    format!("{} {}", text(value, "/kind").unwrap_or("an object"), text(value, "/metadata/name").unwrap_or_default())
}
