//! A World from files: a snapshot, a manifest, or a folder of either. What is in them decides what they are: Machines,
//! uids or managed fields make them a cluster, anything else is an earlier render that is its own base.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use super::folder::{Found, dumps};
pub(crate) use super::folder::{manifests, not_read};
use super::snapshot::{self, Snapshot};
use super::{Base, BaseKind, LiveKind, LiveSource, Unread, World};
use super::{Host, dump};
use crate::kinds::contract::MACHINE;
use crate::model;
use crate::object::{Inventory, Key, LoadError, MetadataKey, Object, Stream, StreamText};
use crate::parallel;
use crate::tree::Value;

/// Why files could not be taken for a cluster.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A file or folder cannot be read.
    #[error("{path} cannot be read: {why}")]
    Read {
        /// Path, as it was given or found.
        path: String,
        /// Why.
        why: std::io::Error,
    },
    /// A document is not what Kubernetes reads.
    #[error("{path}:{}", why.in_file())]
    Load {
        /// Path.
        path: String,
        /// Why, with its line.
        why: LoadError,
    },
    /// A list that says itself that it is not whole.
    #[error(
        "{path}:{line}: the list {what}, so it is a part of the cluster and no more; read it to its end (kubectl get -o yaml does)"
    )]
    Part {
        /// Path.
        path: String,
        /// Line.
        line: usize,
        /// What it says of itself.
        what: String,
    },
    /// Metadata in the place of objects.
    #[error(
        "{path}:{line}: {kind} {name} is an answer about an object and not the object; dump whole objects (kubectl get -o yaml)"
    )]
    NoObject {
        /// Path.
        path: String,
        /// Line.
        line: usize,
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// An object that stands twice, in two states.
    #[error("{key} stands twice, in two states: {first} and {second}; give one dump of the cluster, taken at one time")]
    Twice {
        /// The object.
        key: Key,
        /// Where the first one is.
        first: String,
        /// Where the other one is.
        second: String,
    },
    /// There is nothing to read.
    #[error(
        "{path} holds no object; give a file, or a folder with .yaml, .yml or .json files, or none where nothing is there yet"
    )]
    Empty {
        /// Path.
        path: String,
    },
    /// A snapshot that cannot be used.
    #[error("{path} is not a snapshot that this version reads: {what}")]
    Snapshot {
        /// Path.
        path: String,
        /// What is wrong.
        what: String,
    },
}

/// What a path holds.
#[derive(Clone)]
pub struct Opened {
    /// The World.
    pub world: World,
    /// Which key its marks were made with, where it is a snapshot: its readings and pins are then those of the recorded run.
    pub key_id: Option<String>,
    /// Places that the policy of that snapshot names as secret.
    pub redact: Vec<String>,
    /// Files of a folder that seem to hold objects, and were not read for their names.
    pub passed_over: Vec<PathBuf>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("world", &self.world).finish_non_exhaustive()
    }
}

/// Loads the World of a file or folder.
///
/// # Errors
/// As [`open`].
pub(crate) fn load(path: &Path, host: &Host, now: Timestamp) -> Result<World, FileError> {
    Ok(open(path, host, now)?.world)
}

/// Loads a file or folder.
///
/// # Errors
/// When something cannot be read, or is not what Kubernetes reads; nothing is skipped for that.
pub fn open(path: &Path, host: &Host, now: Timestamp) -> Result<Opened, FileError> {
    open_beside(path, host, now, None)
}

/// Loads a file or folder; what stands in a stream beside it, too, is not read twice.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_beside(
    path: &Path,
    host: &Host,
    now: Timestamp,
    beside: Option<&StreamText>,
) -> Result<Opened, FileError> {
    let name = path.display().to_string();
    let mut live = Inventory::default();
    let Found { files, passed_over } = dumps(path)?;
    let mut ends = Vec::with_capacity(files.len());
    // Of many files none has the documents of the stream at their places.
    let beside = beside.filter(|_| files.len() == 1);
    for file in &files {
        let bytes = read(file)?;
        if snapshot::is_snapshot(&bytes) {
            if files.len() > 1 {
                let what = "it lies among other files; give the snapshot alone".to_owned();
                return Err(FileError::Snapshot { path: file.display().to_string(), what });
            }
            return saved(file, &bytes, host);
        }
        let stream = match beside {
            Some(beside) => Stream::load_beside(&bytes, beside),
            None => Stream::load(&bytes),
        };
        let stream = stream.map_err(|why| FileError::Load { path: file.display().to_string(), why })?;
        if live.is_empty() {
            live = stream.objects;
        } else {
            Vec::from(stream.objects).into_iter().for_each(|object| live.push(object));
        }
        ends.push(live.len());
    }
    // A render that failed leaves an empty file, beside which everything would look new.
    if live.is_empty() {
        return Err(FileError::Empty { path: name });
    }
    let mut world = world(live, name, host, now);
    if world.source.kind == LiveKind::Cluster {
        let place = |object: &Object, at: usize| {
            let file = ends.iter().position(|end| at < *end).and_then(|file| files.get(file));
            (file.map(|file| file.display().to_string()).unwrap_or_default(), object.line)
        };
        world.live = dump::checked(std::mem::take(&mut world.live), &place)?;
    }
    Ok(Opened { world, key_id: None, redact: Vec::new(), passed_over })
}

/// The World that a snapshot holds. What the host of this run says wins over what was recorded.
fn saved(path: &Path, bytes: &[u8], host: &Host) -> Result<Opened, FileError> {
    let path = path.display().to_string();
    let snapshot =
        Snapshot::read(bytes).map_err(|error| FileError::Snapshot { path: path.clone(), what: error.to_string() })?;
    let Snapshot { mut world, key_id, resource_versions, redact, .. } = snapshot;
    world.source.name = path;
    world.source.resource_versions = resource_versions;
    let told = |slot: &mut Option<String>, told: &Option<String>| {
        if told.is_some() {
            slot.clone_from(told);
        }
    };
    told(&mut world.host.release, &host.release);
    told(&mut world.host.namespace, &host.namespace);
    if host.kind.is_some() {
        world.host.kind = host.kind;
        world.host.evidence.clone_from(&host.evidence);
        world.host.method = host.method.or(world.host.method);
        world.host.force = host.force;
        world.host.in_one_namespace |= host.in_one_namespace;
        world.host.replace = host.replace;
        world.host.prune |= host.prune;
        world.host.take_ownership = host.take_ownership;
    }
    world.host.post_rendered = host.post_rendered;
    world.host.no_hooks = host.no_hooks;
    world.host.rolls_back |= host.rolls_back;
    if host.method.is_some() {
        world.host.method = host.method;
    }
    Ok(Opened { world, key_id: Some(key_id), redact, passed_over: Vec::new() })
}

/// A World that knows nothing: every object is new, as far as can be told.
#[must_use]
pub fn nothing(host: &Host, now: Timestamp) -> World {
    let mut world = world(Inventory::default(), "none".to_owned(), host, now);
    world.source.kind = LiveKind::None;
    world.base = Base::default();
    world
}

/// A World in which what was written last time is all that is known: two renders are compared.
///
/// # Errors
///
/// As [`load`].
pub(crate) fn old_render(path: &Path, host: &Host, now: Timestamp) -> Result<World, FileError> {
    let mut world = load(path, host, now)?;
    world.source.kind = LiveKind::OldRender;
    world.base = Base { kind: BaseKind::Live, objects: world.live.clone(), ..Base::default() };
    Ok(world)
}

/// A World in which exactly these objects were written before, of which no controller has made anything yet.
#[must_use]
pub(crate) fn rendered(objects: Inventory, host: &Host, now: Timestamp) -> World {
    world(objects, "this render".to_owned(), host, now)
}

/// How old a snapshot may be before its reader is warned, where nothing is said.
pub(crate) const FRESH: Duration = Duration::from_secs(60 * 60);

/// How old a World is.
#[must_use]
pub(crate) fn age(world: &World, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(world.taken)).unwrap_or_default()
}

/// How far the clocks of two machines may differ.
const CLOCKS: Duration = Duration::from_secs(5 * 60);

/// Why nobody knows how old a World is: it was taken after the time that it is here.
#[must_use]
pub(crate) fn is_to_come(world: &World, now: Timestamp) -> Option<String> {
    let ahead = Duration::try_from(world.taken.duration_since(now)).unwrap_or_default();
    (ahead > CLOCKS).then(|| {
        format!(
            "it says that it was taken at {}, and here it is {now}, so that nobody knows how old it is",
            world.taken
        )
    })
}

/// A sentence about a World that is older than it should be; `None` for one that is fresh.
#[must_use]
pub(crate) fn stale(world: &World, age: Duration) -> Option<String> {
    (world.source.kind == LiveKind::Cluster && age > FRESH).then(|| {
        format!(
            "{} was taken at {}, {} ago; what changed in the cluster since is not known (--max-age)",
            world.source.name,
            world.taken,
            model::age(age.as_secs())
        )
    })
}

/// The doubt about a dump of a cluster where a greatest age was told.
#[must_use]
pub(crate) fn ageless(world: &World) -> Option<Unread> {
    (world.source.kind == LiveKind::Cluster).then(|| Unread {
        what: world.source.name.clone(),
        why: "nothing in it says when it was taken, and --max-age asks how old it is".to_owned(),
        remedy: "use a snapshot, or leave --max-age out".to_owned(),
        keys: Vec::new(),
    })
}

/// The doubt about a snapshot of which nobody knows how old it is.
#[must_use]
pub(crate) fn doubtful(world: &World, why: String) -> Unread {
    Unread {
        what: format!("the snapshot {}", world.source.name),
        why,
        remedy: "set the clock, or take the snapshot again".to_owned(),
        keys: Vec::new(),
    }
}

/// The doubt about a snapshot that is older than was told.
#[must_use]
pub(crate) fn too_old(world: &World, age: Duration, oldest: Duration) -> Option<Unread> {
    (age > oldest).then(|| Unread {
        what: format!("the snapshot {}", world.source.name),
        why: format!(
            "it was taken at {}, {} ago, and may be {} old (--max-age)",
            world.taken,
            model::age(age.as_secs()),
            model::age(oldest.as_secs())
        ),
        remedy: format!(
            "take it again where the cluster is reached: rollgate snapshot RENDERED -o {}",
            world.source.name
        ),
        keys: Vec::new(),
    })
}

/// The World that a set of objects makes.
fn world(live: Inventory, name: String, host: &Host, now: Timestamp) -> World {
    let kind = kind(&live);
    let base = match kind {
        LiveKind::OldRender => Base { kind: BaseKind::Live, objects: live.clone(), ..Base::default() },
        LiveKind::Cluster | LiveKind::None => Base::default(),
    };
    World { base, host: host.clone(), ..World::new(LiveSource::new(kind, name), live, now) }
}

/// Whether objects come from a cluster: one that a controller made, or one with the API server's marks on it.
fn kind(live: &Inventory) -> LiveKind {
    // What comes from a cluster shows it at once; only an old render is looked through to its end.
    let Some((first, rest)) = live.objects().split_first() else { return LiveKind::OldRender };
    let is_of_cluster = of_cluster(first) || parallel::any(rest, of_cluster);
    if is_of_cluster { LiveKind::Cluster } else { LiveKind::OldRender }
}

/// Labels that controllers put on the Machines that they make. That of a control plane is none of them: a Machine without an owner needs it
/// too, so that charts render it.
const MADE: [&str; 3] =
    ["cluster.x-k8s.io/control-plane-name", "cluster.x-k8s.io/deployment-name", "cluster.x-k8s.io/set-name"];

/// Whether a controller has left its marks on an object, so that no chart rendered it.
#[must_use]
pub(crate) fn bears_marks(value: &Value) -> bool {
    let labels = value.pointer("/metadata/labels").and_then(Value::as_object);
    let has = |pointer: &str| {
        value.pointer(pointer).is_some_and(|mark| match mark {
            Value::Null => false,
            Value::Object(map) => !map.is_empty(),
            _ => true,
        })
    };
    ["/metadata/ownerReferences", "/metadata/uid", "/metadata/creationTimestamp", "/status"]
        .iter()
        .any(|mark| has(mark))
        || labels.is_some_and(|labels| MADE.iter().any(|name| labels.contains_key(name)))
}

/// Whether one object bears the marks of a cluster.
fn of_cluster(object: &Object) -> bool {
    let machine = object.key.group == crate::kinds::contract::CORE && object.key.kind == MACHINE;
    // An old render of thousands of documents is never parsed for a field that it cannot hold.
    let possible =
        [MetadataKey::Uid, MetadataKey::ManagedFields].into_iter().any(|key| object.may_have_in_metadata(key));
    // A chart may render a Machine too: one that names its infrastructure and bears no mark of a controller.
    let made =
        || object.value().is_ok_and(|value| bears_marks(&value) || value.pointer("/spec/infrastructureRef").is_none());
    machine && made()
        || possible
            && object.value().is_ok_and(|value| {
                let text =
                    |pointer: &str| value.pointer(pointer).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
                let fields = value.pointer("/metadata/managedFields").and_then(Value::as_array);
                text("/metadata/uid") || fields.is_some_and(|fields| !fields.is_empty())
            })
}

/// The bytes of a file.
fn read(path: &Path) -> Result<Bytes, FileError> {
    File::open(path).and_then(super::whole).map_err(|why| FileError::Read { path: path.display().to_string(), why })
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
