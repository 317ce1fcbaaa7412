//! The owners of Machines of a cluster, read with what they are made from: for who asks what is there and not what would be written.

use std::collections::BTreeSet;
use std::io::Write;

use super::{Observer, Setup, Stop, detect, runtime};

use crate::cluster::{self, Online, Owners, WorldRead};
use crate::object::{Inventory, Key};
use crate::world::Base;

/// Reads all owners of Machines of the namespace that was told, or everywhere.
///
/// # Errors
/// When there is no runtime to read with; what the cluster does not answer is a doubt.
pub(crate) fn owners(setup: &Setup, observer: &dyn Observer) -> Result<WorldRead, Stop> {
    let mut detected = detect(&setup.told, None, &setup.env);
    // Nobody writes: which release it would be is no doubt.
    detected.doubts.clear();
    let (nothing, none) = (Inventory::default(), BTreeSet::new());
    let online = Online {
        rendered: &nothing,
        policy: &setup.policy,
        late: &none,
        base: Some(Base::default()),
        detected,
        env: &setup.env,
        storage_namespace: None,
        deadline: setup.deadline,
        now: setup.now,
        owners: Some(Owners { namespace: setup.told.namespace.as_deref(), with_pools: false }),
    };
    let mut progress = observer.progress();
    let progress = progress.as_mut().map(|to| &mut **to as &mut (dyn Write + Send));
    runtime()?.block_on(cluster::read(online, progress)).map_err(Stop::usage)
}

/// Whether an object is called so: by its name, with its namespace or with its kind before it.
#[must_use]
pub(crate) fn is_called(key: &Key, what: &str) -> bool {
    match what.rsplit_once('/') {
        None => key.name == what,
        Some((first, name)) => {
            key.name == name && (key.namespace.as_deref() == Some(first) || key.kind.eq_ignore_ascii_case(first))
        }
    }
}
