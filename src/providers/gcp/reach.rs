//! What fields of a GCP cluster do to its pools of instances: their instance template is made of both.
//! Read beside `cloud/scope/machinepool.go` (InstanceGroupTemplateSpec, ResourceManagerTags) of cluster-api-provider-gcp 1.13.

use crate::kinds::contract::{CORE, INFRASTRUCTURE, MACHINE_POOL};
use crate::kinds::pools::{Pools, Reach, Reached};
use crate::model::{Effect, RuleId};
use crate::object::Segment;

/// A pool of instances.
pub(super) const POOL: &str = "GCPMachinePool";

const REACHES: RuleId = RuleId::of("capg/reaches-pools");

/// What reaches pools.
pub(super) static POOLS: Pools = Pools {
    kinds: &[(CORE, MACHINE_POOL, "pools of the cluster of"), (INFRASTRUCTURE, POOL, "pools that are built from")],
    reads: |path| ["additionalLabels", "resourceManagerTags"].iter().any(|field| path.starts_with(&["spec", *field])),
    reached,
};

/// What a field does to a pool: a label that the pool says itself stays as it is.
fn reached(reached: &Reached<'_>) -> Option<Reach> {
    let Reached { path, pool, .. } = *reached;
    let label = match path.segments().get(1..3) {
        Some([Segment::Key(field), Segment::Key(label)]) if field == "additionalLabels" => Some(label),
        _ => None,
    };
    let own = label.and_then(|label| pool.pointer("/spec/additionalLabels")?.get(label.as_str()));
    own.is_none().then_some((Effect::Unknown, REACHES))
}
