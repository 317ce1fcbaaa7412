//! The configuration of a Machine of Canonical Kubernetes as Go holds and writes it (`bootstrap/api/v1beta2/ck8sconfig_types.go`
//! of cluster-api-k8s 0.6).

use crate::kinds::diff::{self, Style};
use crate::tree::{Value, json};

/// Pointers of Go: an empty one is not none. Plain values that say nothing are left out.
const STYLE: Style = Style {
    keep_empty: &["bootstrapConfig", "contentFrom", "remediationStrategy", "rolloutStrategy", "rollingUpdate"],
    drop_zero: &["airGapped", "etcdPort", "etcdPeerPort"],
    // A time that says nothing is none that Go can read.
    keep_blank: &[
        "minHealthyPeriod",
        "nodeDeletionTimeout",
        "nodeDrainTimeout",
        "nodeVolumeDetachTimeout",
        "retryPeriod",
        "rolloutAfter",
    ],
};

/// Maps with names of one's own: each entry stays.
const MAPS: &[&str] = &[
    "ExtraK8sAPIServerProxyArgs",
    "additionalUserData",
    "annotations",
    "extraContainerdArgs",
    "extraKubeAPIServerArgs",
    "extraKubeControllerManagerArgs",
    "extraKubeProxyArgs",
    "extraKubeSchedulerArgs",
    "extraKubeletArgs",
    "labels",
];

/// Takes away what Go does not write.
pub(super) fn prune(value: &mut Value) {
    diff::prune_beside(value, STYLE, MAPS);
}

/// A configuration as both sides are compared (`pkg/machinefilters/machine_filters.go` MatchesCK8sBootstrapConfig): without its own
/// version, and with what the schema fills in.
pub(super) fn held(spec: Option<&Value>) -> Value {
    let mut out = spec.filter(|spec| spec.is_object()).cloned().unwrap_or_else(|| json!({}));
    prune(&mut out);
    if let Some(map) = out.as_object_mut() {
        map.shift_remove("version");
        map.entry("snapstoreProxyScheme").or_insert_with(|| json!("http"));
    }
    out
}
