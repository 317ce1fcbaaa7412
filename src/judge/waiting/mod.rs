//! Work that waits in the cluster, what holds it back, and what a write lets go: the cluster after the write is asked the same
//! questions as the cluster before it, and what would now be replaced, deleted or made is the effect of the write.

pub(super) mod adoption;
mod apply;
mod control_plane;
mod ended;
mod endpoint;
mod handed;
mod hanging;
mod health;
pub(crate) mod hosts;
mod lifted;
mod machines;
mod past_owner;
pub(super) mod pause;
mod preflight;
mod references;
mod released;
mod returned;
pub(super) mod side;
mod strays;
mod surplus;
mod taken;
mod touched;

pub(super) use apply::apply;
pub(super) use lifted::{Lifted, by_owner};

use self::side::Side;
use super::stage::Stage;
use super::topology;
use crate::kinds::{Mirror, Typed};
use crate::model::Hold;
use crate::object::Key;
use crate::parallel;
use crate::tree::Value;

/// Everything that keeps the controllers of an owner from acting on its Machines.
#[must_use]
pub(super) fn holds(
    side: Side<'_>,
    key: &Typed<'_>,
    mirror: &'static dyn Mirror,
    owner: &Value,
    cluster: Option<&Key>,
) -> Vec<Hold> {
    let mut out = pause::of_object(side, key, owner, cluster);
    out.extend(mirror.holds(key, owner));
    out.extend(references::missing(side, key, owner));
    out.extend(control_plane::waits(side, key, (mirror, owner), cluster));
    if key.known.role.is_workers() {
        out.extend(preflight::of_workers(side, key, owner, cluster));
    }
    out
}

/// Why no Machine can be made for an owner, although some may go before.
#[must_use]
pub(super) fn makes_none(side: Side<'_>, key: &Typed<'_>, owner: &Value, cluster: Option<&Key>) -> Option<String> {
    key.known.role.is_workers().then(|| preflight::makes_none(side, key, owner, cluster)).flatten()
}

/// Why no Machine is made for a new owner of workers for now.
#[must_use]
pub(super) fn of_new(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> Option<String> {
    let cluster = key.known.role.is_workers().then(|| stage.cluster_of(key, new))?;
    preflight::of_new(Side::after(stage), key, new, cluster.as_ref())
}

/// What this write lets go beside what the owners in it do themselves.
#[must_use]
pub(super) fn elsewhere(stage: &Stage<'_>) -> Vec<Lifted> {
    let of_cluster = |cluster: &Key| -> Vec<Lifted> {
        let mut out: Vec<Lifted> = Vec::new();
        out.extend(hanging::lifted(stage, cluster));
        out.extend(topology::pending::lifted(stage, cluster));
        out.extend(health::lifted(stage, cluster));
        out
    };
    let parts: [&(dyn Fn() -> Vec<Lifted> + Sync); 10] = [
        &|| touched::owners(stage),
        &|| released::lifted(stage).into_iter().collect(),
        &|| {
            let clusters = Vec::from_iter(touched::clusters(stage));
            parallel::map(&clusters, of_cluster).into_iter().flatten().collect()
        },
        &|| touched::sets(stage),
        &|| strays::lifted(stage),
        &|| surplus::lifted(stage),
        &|| returned::lifted(stage).into_iter().chain(ended::lifted(stage)).collect(),
        &|| handed::lifted(stage),
        &|| endpoint::lost(stage).into_iter().collect(),
        &|| past_owner::lifted(stage),
    ];
    parallel::pieces(&parts, stage.pairs.len(), |part| part()).into_iter().flatten().collect()
}
