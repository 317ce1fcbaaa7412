//! What Flux finds in a folder of a repository: its manifests, and what the Kustomizations among them render, and so on. What of it
//! cannot be rendered here is named.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;

use super::variables::{self, filled, variables};
use crate::flux::KUSTOMIZATIONS;
use crate::kinds::fields::{list, text};
use crate::object::{Key, Object, Stream};
use crate::session::flux::chart::{Foreign, below};
use crate::session::flux::{Given, Tools};
use crate::session::tool::NotStarted;
use crate::session::{Tree, reach};
use crate::tree::{Map, Value};

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
    /// Those of this repository as streams, each with the Kustomization that brings it; none where the folder itself does.
    pub(in crate::cli) streams: Vec<(Option<Key>, Vec<u8>)>,
    /// The Kustomizations that are rendered.
    pub(in crate::cli) rendered: BTreeSet<Key>,
    /// Those that are not, and why.
    pub(in crate::cli) undone: BTreeMap<Key, Undone>,
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

/// Why a Kustomization was not rendered.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Undone {
    pub(super) why: String,
    /// Whether it renders from this repository.
    is_own: bool,
    /// What it may be rendered from, as a digest, where that is of this repository or may be.
    reads: Option<String>,
}

impl Undone {
    /// Nothing of this repository changes what it renders.
    fn elsewhere(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_own: false, reads: None }
    }

    /// Whether nothing changes that it may be rendered from, the object itself being the same.
    pub(super) fn stays(&self, before: &Self) -> bool {
        match self.reads {
            Some(_) => self.reads == before.reads && self.is_own == before.is_own,
            None => [self, before].iter().all(|one| !one.is_own && one.reads.is_none()) && self.why == before.why,
        }
    }
}

/// Why a Kustomization gives nothing.
enum Failed {
    /// It cannot be rendered here.
    Undone(Undone),
    /// A tool cannot be started.
    Tool(anyhow::Error),
}

impl From<Undone> for Failed {
    fn from(undone: Undone) -> Self {
        Self::Undone(undone)
    }
}

impl Walk<'_> {
    /// Everything below some folders.
    ///
    /// # Errors
    /// When a folder or a manifest cannot be read.
    pub(in crate::cli) fn side(&self, paths: &[PathBuf], given: Given) -> anyhow::Result<Side> {
        let mut side = Side { given, streams: Vec::new(), rendered: BTreeSet::new(), undone: BTreeMap::new() };
        let (mut queue, mut seen) = (VecDeque::new(), BTreeSet::new());
        for path in paths {
            let there = self.tree.there(path);
            if !there.exists() {
                continue;
            }
            self.tree.keeps(&there, path)?;
            let bytes = self.printed(self.parts(path, &there)?).with_context(|| path.display().to_string())?;
            let (count, length, waiting) = (side.given.objects.len(), side.streams.len(), queue.len());
            side.take(None, &bytes, &mut queue)?;
            let Some(object) = self.itself(&queue, &there) else { continue };
            // The Kustomization that applies this very folder, as `flux bootstrap` makes one: what it says counts.
            let key = side.whole(&object.key);
            match self.one(&key, &object, &side.given)? {
                Ok(bytes) => {
                    side.given.objects.truncate(count);
                    side.streams.truncate(length);
                    queue.truncate(waiting);
                    side.take(Some(&key), &bytes, &mut queue)?;
                    side.rendered.insert(object.key.clone());
                }
                Err(why) => drop(side.undone.insert(key.clone(), why)),
            }
            queue.retain(|one| one.key != object.key);
            seen.insert(key);
        }
        self.follow(&mut side, queue, seen)?;
        Ok(side)
    }

    /// Renders the Kustomizations that wait, and those that they bring. One that lacks what another one may bring is tried again after the
    /// others, as Flux does.
    fn follow(&self, side: &mut Side, mut queue: VecDeque<Object>, mut seen: BTreeSet<Key>) -> anyhow::Result<()> {
        let mut late: Vec<(Key, Object, Undone)> = Vec::new();
        let mut again = BTreeSet::new();
        loop {
            let mut has_moved = false;
            while let Some(object) = queue.pop_front() {
                let key = side.whole(&object.key);
                if !again.remove(&key) && !seen.insert(key.clone()) {
                    bail!("{key} stands there twice, and which one counts is not known");
                }
                if seen.len() > MOST {
                    bail!("there are more than {MOST} Kustomizations");
                }
                match self.one(&key, &object, &side.given)? {
                    Ok(bytes) => {
                        let taken = side.take(Some(&key), &bytes, &mut queue);
                        taken.with_context(|| format!("what {key} renders"))?;
                        side.rendered.insert(object.key.clone());
                        has_moved = true;
                    }
                    Err(why) if why.is_own => late.push((key, object, why)),
                    Err(why) => drop(side.undone.insert(key, why)),
                }
            }
            if !has_moved || late.is_empty() {
                side.undone.extend(late.into_iter().map(|(key, _, why)| (key, why)));
                return Ok(());
            }
            again.extend(late.iter().map(|(key, ..)| key.clone()));
            queue.extend(late.drain(..).map(|(_, object, _)| object));
        }
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

    /// What a Kustomization renders, where the other side renders it too. A tool that cannot be started is an error of the run.
    fn one(&self, key: &Key, object: &Object, given: &Given) -> anyhow::Result<Result<Vec<u8>, Undone>> {
        if self.without.contains(key) {
            return Ok(Err(Undone::elsewhere(LEFT_OUT)));
        }
        match self.kustomization(key, object, given) {
            Err(Failed::Tool(error)) => Err(error),
            Err(Failed::Undone(undone)) => Ok(Err(undone)),
            Ok(bytes) => Ok(Ok(bytes)),
        }
    }

    /// What a Kustomization renders.
    fn kustomization(&self, key: &Key, object: &Object, given: &Given) -> Result<Vec<u8>, Failed> {
        let value = object.value().map_err(|error| Undone { why: error.to_string(), is_own: true, reads: None })?;
        let spec = value.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
        if spec.get("suspend") == Some(&Value::Bool(true)) {
            return Err(Undone::elsewhere("it is suspended").into());
        }
        if spec.get("kubeConfig").is_some_and(Value::is_object) {
            return Err(Undone::elsewhere("it writes into another cluster (spec.kubeConfig)").into());
        }
        let namespace = key.namespace.clone().unwrap_or_default();
        let reads = || reach::digest(self.root, reach::of_object(object));
        self.is_own(&value, &namespace, given).map_err(|foreign| Undone {
            reads: if foreign.is_known { None } else { reads() },
            ..Undone::elsewhere(foreign.why)
        })?;
        self.own(&spec, &value, &namespace, given).map_err(|error| match error.is::<NotStarted>() {
            true => Failed::Tool(error),
            false => Failed::Undone(Undone {
                why: format!("{error:#}"),
                is_own: true,
                reads: reads().map(|digest| digest + &variables::data(&value, &namespace, given)),
            }),
        })
    }

    /// Whether a Kustomization renders from this repository.
    fn is_own(&self, value: &Value, namespace: &str, given: &Given) -> Result<(), Foreign> {
        let word = |pointer: &str| text(value, pointer).filter(|text| !text.is_empty());
        let (kind, name) = (word("/spec/sourceRef/kind"), word("/spec/sourceRef/name").unwrap_or_default());
        let of = word("/spec/sourceRef/namespace").unwrap_or(namespace);
        if kind == Some("GitRepository") {
            return self.tools.charts.is_own(of, name, given);
        }
        if self.tools.charts.is_told(of, name) {
            return Ok(());
        }
        // The root of an artifact is nothing that tells where it comes from.
        let is_root = word("/spec/path").is_none_or(|path| below(path).is_ok_and(|path| path == Path::new(".")));
        let why = format!(
            "its source is {} {name}, which is not read here; pass --repo-source {of}/{name} where it is pushed from this repository",
            kind.unwrap_or("none")
        );
        Err(Foreign { why, is_known: is_root })
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
}

impl Side {
    /// The whole name of an object.
    pub(super) fn whole(&self, key: &Key) -> Key {
        key.in_namespace(Some(self.given.namespace(key).to_owned()))
    }

    /// Takes over a stream: its objects are given from now on, and its Kustomizations are still to be rendered.
    fn take(&mut self, by: Option<&Key>, bytes: &[u8], queue: &mut VecDeque<Object>) -> anyhow::Result<()> {
        let stream = Stream::load(&Bytes::from(bytes.to_vec()))?;
        for object in stream.objects.objects() {
            if object.key.group == KUSTOMIZATIONS && object.key.kind == "Kustomization" {
                queue.push_back(object.clone());
            }
            self.given.objects.push(object.clone());
        }
        self.streams.push((by.cloned(), bytes.to_vec()));
        Ok(())
    }

    /// The sources of the variables of its Kustomizations, kind and name, and whether what takes them was rendered.
    pub(super) fn variables(&self) -> Vec<(Key, bool, (String, String))> {
        let is_one = |object: &&Object| object.key.group == KUSTOMIZATIONS && object.key.kind == "Kustomization";
        let mut out = Vec::new();
        for object in self.given.objects.iter().filter(is_one) {
            let Ok(value) = object.value() else { continue };
            let is_rendered = self.rendered.contains(&object.key);
            for source in list(&value, "/spec/postBuild/substituteFrom") {
                let [kind, name] = ["/kind", "/name"].map(|at| text(source, at).unwrap_or_default().to_owned());
                out.push((self.whole(&object.key), is_rendered, (kind, name)));
            }
        }
        out
    }

    /// All of it as one stream.
    pub(super) fn stream(&self) -> Vec<u8> {
        self.streams.iter().flat_map(|(_, bytes)| [b"---\n", bytes.as_slice(), b"\n"].concat()).collect()
    }
}
