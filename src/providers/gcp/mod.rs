//! Cluster API Provider GCP, with clusters that GKE manages: its webhooks were run.

pub(crate) mod changes;
mod created;
mod fixed;
mod reach;
pub(crate) mod webhook;

use semver::Version;

use self::webhook::Gcp;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::fields::text;
use crate::kinds::fixed::OWN_WAY;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};
use crate::tree::Value;

static RELEASE: Release = Release { name: "gcp", newest: Version::new(1, 13, 0), aliases: &["capg"] };

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Gcp), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// Zones of a region of which nobody says how many count.
const ZONES: u64 = 3;

/// In how many zones a pool of GKE stands (`cloud/services/container/nodepools/reconcile.go` checkDiffAndPrepareUpdateSize, v1.13).
fn zones(pool: &Value, control_plane: Option<&Value>) -> u64 {
    let told = pool.pointer("/spec/nodeLocations").and_then(Value::as_array).map(Vec::len).filter(|told| *told > 0);
    // A zone has a letter behind its region: europe-west1-b.
    let is_zone = |place: &str| place.split('-').count() > 2;
    let place = control_plane.and_then(|plane| text(plane, "/spec/location").or_else(|| text(plane, "/spec/zone")));
    match told {
        Some(told) => told as u64,
        None if place.is_some_and(is_zone) => 1,
        None => ZONES,
    }
}

/// Whether nodes of a pool of GKE come to differ by the version of their pool: without one nothing is compared, and what stands behind a
/// dash is left out on both sides (`cloud/services/container/nodepools/reconcile.go` checkDiffAndPrepareUpdateConfig and
/// `exp/api/v1beta1/types.go` ConvertFromSdkNodeVersion, v1.13).
fn reads_version(_: &Value, _: Option<&Value>, (old, new): (&Value, &Value)) -> bool {
    let version = |pool| text(pool, "/spec/template/spec/version").and_then(|told| told.split('-').next());
    let bare = |told: &str| told.trim_start_matches('v').to_owned();
    version(new).is_some_and(|is| version(old).map(bare) != Some(bare(is)))
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind { pools: Some(&reach::POOLS), ..known("GCPCluster", Role::InfraCluster) },
    Kind { fixed: Some(&OWN_WAY), ..known("GCPClusterTemplate", Role::Template) },
    Kind { fixed: Some(&fixed::MACHINE), ..known("GCPMachine", Role::InfraMachine) },
    Kind {
        fixed: Some(&fixed::TEMPLATE),
        images: &["spec.template.spec.image"],
        ..known("GCPMachineTemplate", Role::Template)
    },
    // Nothing of cluster-api-provider-gcp 1.13 reads the annotation.
    Kind { scales_itself: Some(|_, _| false), ..Kind::new(INFRASTRUCTURE, reach::POOL, Role::InfraPool) },
    known("GCPManagedCluster", Role::InfraCluster),
    known("GCPManagedControlPlane", Role::ControlPlane),
    Kind {
        // `cloud/services/container/nodepools/reconcile.go` checkDiffAndPrepareUpdateSize of 1.13, and `exp/api/v1beta1/types.go`
        // ConvertToSdkAutoscaling: a pool that says nothing is scaled by GKE, and nobody reads the annotation.
        scales_itself: Some(|pool, _| pool.pointer("/spec/scaling/enableAutoscaling") != Some(&Value::Bool(false))),
        most: Some("/spec/scaling/maxCount"),
        zones: Some(zones),
        reads_version: Some(reads_version),
        ..known("GCPManagedMachinePool", Role::InfraPool)
    },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "gcp",
    title: "Cluster API Provider GCP, with clusters that GKE manages: its webhooks were run.",
    release: Some(&RELEASE),
    kinds: KINDS,
    changes: changes::ALL,
    packs: &["gcp", "gcp-networks", "gcp-templates", "gcp-cluster-templates", "gcp-managed", "gcp-managed-pools"],
    ..Provider::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_version_reaches_nodes_of_gke_by_what_stands_before_its_dash() {
        let pool = |version: Option<&str>| json!({"spec": {"template": {"spec": {"version": version}}}});
        let reads = |old, new| reads_version(&Value::Null, None, (&pool(old), &pool(new)));
        assert!(
            !reads(Some("v1.32.4-gke.100"), Some("v1.32.4-gke.200")) && !reads(Some("v1.32.4"), Some("1.32.4-gke.100"))
        );
        assert!(!reads(Some("v1.32.4"), None));
        assert!(reads(Some("v1.32.4-gke.100"), Some("v1.32.5-gke.100")) && reads(None, Some("v1.32.4")));
        assert!(reads(Some("v1.32.4"), Some("v1.31.4")), "GKE itself decides about a lower one");
    }
}
