//! The pins of late values, wherever the policy keeps them: read, changed and recorded, for every question the same way.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::anyhow;

use super::{Stop, runtime};
use crate::pin::{Book, BookError, ClusterStore, FileStore, Keys, Pin, cluster as in_cluster};
use crate::policy::Policy;
use crate::world::World;

/// A place that pins are kept in.
pub(super) enum PinPlace {
    /// A file beside the policy.
    File(FileStore),
    /// An object of the cluster.
    Object(ClusterStore),
}

impl PinPlace {
    pub(super) fn read(&self) -> Result<Book, Stop> {
        match self {
            Self::File(file) => file.read().map_err(Stop::undecided),
            Self::Object(object) => runtime()?.block_on(object.read()).map_err(Stop::undecided),
        }
    }

    pub(super) fn update<T>(&self, change: impl Fn(&mut Book) -> Result<T, BookError>) -> Result<T, Stop> {
        match self {
            Self::File(file) => file.update(change).map_err(Stop::undecided),
            Self::Object(object) => runtime()?.block_on(object.update(change)).map_err(Stop::undecided),
        }
    }
}

/// The file with the pins, where the policy names one.
pub(super) fn file(policy: &Policy, folder: &Path) -> Option<FileStore> {
    Some(FileStore::new(folder.join(policy.pins.file.as_ref()?)))
}

/// The pins in an object that lies among files.
pub(super) fn among(policy: &Policy, world: &World, namespace: Option<&str>) -> Result<Book, Stop> {
    let Some((kind, name)) = policy.pins.in_cluster() else { return Ok(Book::default()) };
    let found = world.live.objects().iter().find(|object| {
        let key = &object.key;
        let here = key.namespace.is_none() || namespace.is_none() || key.namespace.as_deref() == namespace;
        key.group.is_empty() && key.kind == in_cluster::word(kind) && key.name == name && here
    });
    let Some(object) = found else { return Ok(Book::default()) };
    let value = object.value().map_err(Stop::usage)?;
    in_cluster::from_object(&value, kind).map_err(Stop::undecided)
}

/// Pins as they are written: with who used them under which policy, and encrypted to whom the policy names.
pub(super) fn signed(
    pins: impl Iterator<Item = Pin>,
    by: Option<String>,
    digest: &str,
    encrypt_to: &[String],
) -> Result<Vec<Pin>, Stop> {
    let sign = |pin: Pin| pin.signed(by.clone(), digest).encrypted_to(encrypt_to);
    pins.map(sign).collect::<Result<_, _>>().map_err(|why| Stop::usage(anyhow!(why)))
}

/// The keys that open encrypted pins, where there is one.
pub(super) fn keys(pins: &[Pin], env: &BTreeMap<String, String>) -> Result<Keys, Stop> {
    match pins.iter().any(|pin| pin.encrypted.is_some()) {
        true => Keys::of(env).map_err(|why| Stop::undecided(anyhow!(why))),
        false => Ok(Keys::default()),
    }
}
