//! Shapes: which fields a kind has in one provider version, of which type and within which limits. A kind that the table of schemas does
//! not have is judged without a shape.

mod check;
mod fill;

pub(crate) use fill::POINTERS;

use crate::kinds::versions::Versions;
use crate::schema::table::{CrdNode, Root, node, roots};

/// The shape of `spec` of one kind in one version.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    root: &'static CrdNode,
}

impl Shape {
    /// Whether two shapes are one.
    #[must_use]
    pub fn is(self, other: Self) -> bool {
        std::ptr::eq(self.root, other.root)
    }

    /// The shape of a kind under an `apiVersion`, in the newest recorded version that is no later than the provider's, else the first of its
    /// minor; the oldest one where the provider is older than all.
    #[must_use]
    pub fn of(kind: &str, api_version: &str, versions: &Versions) -> Option<Self> {
        let mut best: Option<&Root> = None;
        let mut told: Option<(&str, (u64, u64, u64))> = None;
        for root in roots(api_version, kind)? {
            let wanted = match told {
                Some((provider, wanted)) if provider == root.provider => wanted,
                _ => {
                    let version = versions.known_or_newest(root.provider);
                    told.insert((root.provider, (version.major, version.minor, version.patch))).1
                }
            };
            // They stand from the oldest to the newest. Most fields come with minor versions, so any patch of the same one fits best; one that
            // came with a later patch is recorded beside.
            let is_first = best.is_none_or(|best| best.minor() < root.minor());
            if best.is_none() || root.version <= wanted || is_first && root.minor() == (wanted.0, wanted.1) {
                best = Some(root);
            }
        }
        Some(Self { root: node(best?.node)? })
    }
}

/// The provider that has a kind under an `apiVersion`.
#[must_use]
pub(crate) fn provider_of(kind: &str, api_version: &str) -> Option<&'static str> {
    roots(api_version, kind)?.first().map(|root| root.provider)
}

/// What is known of an `apiVersion` that a kind had once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Former {
    /// The definition of the kind still has it, or nothing is known of that.
    There,
    /// It has it no more, as far as is known.
    MayBeGone,
    /// It has it no more in the version of the provider that runs.
    Gone,
}

/// Whether the definition of a kind that is written under one `apiVersion` still has another one, as the recorded releases of its provider
/// say: whether it is served counts for nothing.
#[must_use]
pub(crate) fn former(kind: &str, (written, other): (&str, &str), versions: &Versions) -> Former {
    let [(group, own), (others, asked)] = [written, other].map(|version| version.rsplit_once('/').unwrap_or_default());
    let place = |version: &str| EARLIER.iter().position(|known| *known == version);
    let is_earlier = place(asked).zip(place(own)).is_some_and(|(asked, own)| asked < own);
    let Some(all) = roots(written, kind).filter(|_| group == others && is_earlier) else { return Former::There };
    let Some(provider) = all.first().map(|root| root.provider) else { return Former::There };
    let version = versions.known_or_newest(provider);
    let runs = (version.major, version.minor);
    let newest = all.iter().filter(|root| root.minor() <= runs).map(Root::minor).max();
    let had = roots(other, kind).into_iter().flatten().map(Root::minor).max();
    match (newest, had) {
        (Some(newest), Some(had)) if had >= newest => Former::There,
        (Some(newest), _) if newest == runs && versions.is_known(provider) => Former::Gone,
        _ => Former::MayBeGone,
    }
}

/// When a provider began to serve a kind under an `apiVersion`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came {
    /// The provider.
    pub(crate) provider: &'static str,
    /// The newest recorded minor version that has the kind under another `apiVersion` alone.
    pub(crate) not_in: (u64, u64),
    /// The oldest recorded minor version that has it.
    pub(crate) first: (u64, u64),
}

/// When a kind came under an `apiVersion`; `None` where no recorded release was without it, so that older ones may have it too.
#[must_use]
pub(crate) fn came_with(kind: &str, api_version: &str) -> Option<Came> {
    let first = roots(api_version, kind)?.first()?;
    let (group, own) = api_version.rsplit_once('/')?;
    let earlier = EARLIER.iter().take_while(|version| **version != own);
    let others = earlier.filter_map(|version| roots(&format!("{group}/{version}"), kind)).flatten();
    let before = others.filter(|root| root.provider == first.provider && root.version < first.version);
    let not_in = before.map(Root::minor).max()?;
    Some(Came { provider: first.provider, not_in, first: first.minor() })
}

/// The versions of an API that others follow, in their order.
const EARLIER: [&str; 9] =
    ["v1alpha1", "v1alpha2", "v1alpha3", "v1alpha4", "v1alpha5", "v1alpha6", "v1alpha7", "v1beta1", "v1beta2"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Path;

    use crate::tree::{Value, json};

    fn shape() -> Shape {
        let versions = Versions::told("cluster-api", "v1.14.2");
        Shape::of("KubeadmControlPlane", "controlplane.cluster.x-k8s.io/v1beta2", &versions).expect("a shape")
    }

    #[test]
    fn a_kind_came_after_the_last_release_that_lacked_it() {
        let came = |kind: &str, api_version: &str| came_with(kind, api_version).map(|came| (came.not_in, came.first));
        assert_eq!(came("Cluster", "cluster.x-k8s.io/v1beta2"), Some(((1, 10), (1, 11))));
        // The oldest recorded release has it, so that nobody knows since when it is there.
        assert_eq!(came("GCPMachineTemplate", "infrastructure.cluster.x-k8s.io/v1beta1"), None);
        assert_eq!(came("Cluster", "cluster.x-k8s.io/v1beta1"), None);
        // One release was recorded without what the one before it had served.
        assert_eq!(came("VSphereCluster", "infrastructure.cluster.x-k8s.io/v1alpha3"), None);
    }

    #[test]
    fn a_version_is_gone_where_no_later_release_has_it() {
        let told = |provider: &str, version: &str, kind: &str, (written, other): (&str, &str)| {
            former(kind, (written, other), &Versions::told(provider, version))
        };
        let core = |version: &str, other: &str| {
            told("cluster-api", version, "MachineDeployment", ("cluster.x-k8s.io/v1beta2", other))
        };
        assert_eq!(core("v1.14.0", "cluster.x-k8s.io/v1alpha4"), Former::Gone);
        // Not served any more, but there to be converted to.
        assert_eq!(core("v1.12.3", "cluster.x-k8s.io/v1alpha4"), Former::There);
        assert_eq!(core("v1.14.0", "cluster.x-k8s.io/v1beta1"), Former::There);
        assert_eq!(core("v1.14.0", "apps/v1beta1"), Former::There);
        // One release was recorded without what others before and after it have.
        let vsphere = ("infrastructure.cluster.x-k8s.io/v1beta1", "infrastructure.cluster.x-k8s.io/v1alpha4");
        assert_eq!(told("vsphere", "v1.9.0", "VSphereCluster", vsphere), Former::There);
        // Of this release nothing was recorded.
        assert_eq!(told("gcp", "v1.10.0", "GCPCluster", vsphere), Former::MayBeGone);
        assert_eq!(told("gcp", "v1.13.1", "GCPCluster", vsphere), Former::Gone);
        assert_eq!(told("cluster-api", "v1.14.0", "GCPCluster", vsphere), Former::MayBeGone);
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        let mut spec =
            json!({"version": "v1.30.0", "nonsense": 1, "machineTemplate": {"metadata": {"labels": {"a": "b"}}}});
        let dropped = shape().prune(&mut spec, &Path::root().key("spec"));
        assert_eq!(dropped.iter().map(ToString::to_string).collect::<Vec<_>>(), ["spec.nonsense"]);
        assert_eq!(spec["machineTemplate"]["metadata"]["labels"]["a"], json!("b"));
    }

    #[test]
    fn limits_are_kept() {
        let spec = json!({"version": "", "kubeadmConfigSpec": {"files": []}});
        let found: Vec<String> = shape()
            .faults(&spec, None, &Path::root().key("spec"))
            .into_iter()
            .map(|(path, _)| path.to_string())
            .collect();
        assert!(found.contains(&"spec.version".to_owned()), "{found:?}");
        assert!(found.contains(&"spec.kubeadmConfigSpec.files".to_owned()), "{found:?}");
        assert!(found.contains(&"spec.machineTemplate".to_owned()), "{found:?}");
    }

    #[test]
    fn both_sides_at_once_come_out_as_each_alone() {
        let at = Path::root().key("spec");
        let plain = json!({"version": "v1.30.0", "kubeadmConfigSpec": {"files": [{"path": "/a", "content": "b"}], "users": null}});
        let mut named = plain.clone();
        named["kubeadmConfigSpec"]["format"] = json!("ignition");
        let mut unknown = named.clone();
        unknown["kubeadmConfigSpec"]["nonsense"] = json!({"a": 1});
        for (old, new) in
            [(&plain, &named), (&named, &plain), (&plain, &unknown), (&unknown, &named), (&unknown, &unknown)]
        {
            let alone = |side: &Value| {
                let mut side = side.clone();
                let gone = shape().prune(&mut side, &at);
                shape().fill(&mut side);
                (side, gone)
            };
            let (mut before, mut after) = (old.clone(), new.clone());
            let gone = shape().prune_and_fill((&mut before, &mut after), &at);
            assert_eq!(((before, gone.0), (after, gone.1)), (alone(old), alone(new)));
        }
    }

    #[test]
    fn what_is_one_memory_on_both_sides_is_no_fault_of_the_new_one() {
        let at = Path::root().key("spec");
        let old = json!({"version": "v1.30.0", "kubeadmConfigSpec": {"files": []}, "machineTemplate": {}});
        let mut new = old.clone();
        new["version"] = json!("");
        let places =
            |other| shape().faults(&new, other, &at).into_iter().map(|(path, _)| path.to_string()).collect::<Vec<_>>();
        assert!(places(None).contains(&"spec.kubeadmConfigSpec.files".to_owned()));
        let found = places(Some(&old));
        assert!(found.contains(&"spec.version".to_owned()), "{found:?}");
        assert!(!found.contains(&"spec.kubeadmConfigSpec.files".to_owned()), "{found:?}");
    }
}
