//! The pins of late values, wherever the policy keeps them: read, changed and recorded.

use std::collections::BTreeMap;

use anyhow::anyhow;

use super::Known;
use crate::cli::Stop;
use crate::cli::args::Commit;
use crate::late::Settled;
use crate::pin::{Book, BookError, ClusterStore, FileStore, Keys, Pin, cluster as in_cluster};

impl Known<'_> {
    /// The pins as they stand, from wherever the policy keeps them.
    pub(in crate::cli) fn pins(&mut self) -> Result<Book, Stop> {
        self.connect(false)?;
        self.book()
    }

    pub(super) fn book(&self) -> Result<Book, Stop> {
        let book = match (self.pin_file(), self.pin_object()?) {
            (Some(file), _) => file.read().map_err(Stop::undecided),
            (None, Some(store)) => self.runtime.block_on(store.read()).map_err(Stop::undecided),
            (None, None) => self.pins_among_files(),
        }?;
        let keys = keys(book.pins(), &self.env)?;
        Ok(book.opened(&keys))
    }

    /// Changes the pins where the policy keeps them; `None` where it names no place, or that place is in a cluster that is not asked.
    pub(in crate::cli) fn update<T>(
        &mut self,
        change: impl Fn(&mut Book) -> Result<T, BookError>,
    ) -> Result<Option<T>, Stop> {
        self.connect(false)?;
        self.write(change)
    }

    fn write<T>(&self, change: impl Fn(&mut Book) -> Result<T, BookError>) -> Result<Option<T>, Stop> {
        match (self.pin_file(), self.pin_object()?) {
            (Some(file), _) => file.update(change).map(Some).map_err(Stop::undecided),
            (None, Some(store)) => self.runtime.block_on(store.update(change)).map(Some).map_err(Stop::undecided),
            (None, None) => Ok(None),
        }
    }

    fn pin_file(&self) -> Option<FileStore> {
        Some(FileStore::new(self.folder.join(self.policy.pins.file.as_ref()?)))
    }

    /// The object with the pins, where the policy names one and there is a cluster.
    fn pin_object(&self) -> Result<Option<ClusterStore>, Stop> {
        let (Some(_), Some(cluster)) = (self.policy.pins.in_cluster(), &self.cluster) else { return Ok(None) };
        let namespace = self.detected.host.namespace.as_deref().filter(|_| !self.unnamed);
        let namespace = namespace.ok_or_else(|| {
            Stop::usage(anyhow!(
                "no namespace is known for the pins: neither an option nor the context of the kubeconfig names one, and default is \
                 nobody's word; give --namespace"
            ))
        })?;
        Ok(in_cluster::store(&self.policy.pins, cluster.client().clone(), namespace))
    }

    /// The pins in an object that lies among the files of `--live`.
    fn pins_among_files(&self) -> Result<Book, Stop> {
        let (Some((kind, name)), Some(world)) = (self.policy.pins.in_cluster(), &self.files) else {
            return Ok(Book::default());
        };
        let namespace = self.detected.host.namespace.as_deref();
        let found = world.live.objects().iter().find(|object| {
            let key = &object.key;
            let here = key.namespace.is_none() || namespace.is_none() || key.namespace.as_deref() == namespace;
            key.group.is_empty() && key.kind == in_cluster::word(kind) && key.name == name && here
        });
        let Some(object) = found else { return Ok(Book::default()) };
        let value = object.value().map_err(Stop::usage)?;
        in_cluster::from_object(&value, kind).map_err(Stop::undecided)
    }

    /// Records the pins of values that are used.
    pub(in crate::cli) fn commit<'s>(
        &self,
        wish: Commit,
        settled: impl Iterator<Item = &'s Settled>,
    ) -> Result<(), Stop> {
        let sign = |pin: Pin| pin.signed(self.author(), &self.digest).encrypted_to(&self.policy.pins.encrypt_to);
        let pins: Vec<Pin> = settled
            .filter_map(|one| one.pin.clone())
            .map(sign)
            .collect::<Result<_, _>>()
            .map_err(|why| Stop::usage(anyhow!(why)))?;
        let writes = match wish {
            Commit::Always => true,
            Commit::Never => false,
            Commit::Auto => !self.detected.host.writes_nothing,
        };
        if writes && !pins.is_empty() {
            let _: Option<bool> = self.write(|book| book.record(&pins))?;
        }
        Ok(())
    }
}

/// The keys that open encrypted pins, where there is one.
pub(in crate::cli) fn keys(pins: &[Pin], env: &BTreeMap<String, String>) -> Result<Keys, Stop> {
    match pins.iter().any(|pin| pin.encrypted.is_some()) {
        true => Keys::of(env).map_err(|why| Stop::undecided(anyhow!(why))),
        false => Ok(Keys::default()),
    }
}
