//! A fleet on disk: what was rendered, what is rendered now, and the World around it.

use std::path::{Path, PathBuf};

use rollgate::facade::compare::redact::MarkKey;
use rollgate::facade::host::Host;
use rollgate::facade::object::{Inventory, Object};
use rollgate::facade::world::snapshot::Snapshot;
use rollgate::facade::world::{Base, BaseKind, LiveKind, files};
use serde_json::Value;

use crate::objects::{self, Layout};

/// What was in place, and what takes its place.
pub(crate) const ADDRESSES: (&str, &str) = ("55.55.55.55", "10.0.3.7");

/// One fleet on disk.
pub(crate) struct Fleet {
    pub(crate) layout: Layout,
    pub(crate) clusters: usize,
    /// The stream as it was written last.
    pub(crate) old: PathBuf,
    /// The stream that is planned.
    pub(crate) new: PathBuf,
    /// The World.
    pub(crate) world: PathBuf,
}

/// Writes both streams and the World of a fleet.
pub(crate) fn write(folder: &Path, layout: Layout, clusters: usize) -> Fleet {
    let write = |name: &str, text: &[u8]| -> PathBuf {
        let file = folder.join(format!("{}-{clusters}-{name}", layout.word()));
        std::fs::write(&file, text).expect("the temporary folder can be written");
        file
    };
    let old = layout.rendered(clusters, ADDRESSES.0);
    let stream = objects::stream(&old);
    let new = objects::stream(&layout.rendered(clusters, ADDRESSES.1));
    let mut world = files::nothing(&Host::default(), jiff::Timestamp::now());
    world.source.kind = LiveKind::Cluster;
    world.live = inventory(layout.live(clusters, ADDRESSES.0));
    world.base = Base { kind: BaseKind::File, objects: inventory(old), ..Base::default() };
    let key = MarkKey::fresh();
    let world = Snapshot::of(world, &key, &[]);
    let world = serde_json::to_vec(&world).expect("a World is JSON");
    // Beside its World, as `rollgate snapshot` leaves it.
    write("world.json.key", key.hex().as_bytes());
    Fleet {
        layout,
        clusters,
        old: write("old.yaml", stream.as_bytes()),
        new: write("new.yaml", new.as_bytes()),
        world: write("world.json", &world),
    }
}

fn inventory(objects: Vec<Value>) -> Inventory {
    let objects = objects.into_iter().map(|object| Object::from_value(object.into(), 0).expect("an object"));
    objects.collect::<Vec<_>>().into()
}
