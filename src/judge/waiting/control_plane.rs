//! What a control plane waits for in its Cluster before it makes a Machine: certificates that somebody took away, and an address.
//! Read beside `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/{preflight,kubeadmcontrolplane_controller}.go` (preflightChecks,
//! initControlPlaneScope) of Cluster API 1.14. It makes certificates itself only as long as it is not initialized, and then says that they are there.

use super::references;
use super::side::Side;
use crate::kinds::contract::{self, SECRET};
use crate::kinds::fields::{text, wanted};
use crate::kinds::standing::condition;
use crate::kinds::{Mirror, Typed};
use crate::model::{Hold, Pair, Why};
use crate::object::{Key, Path};
use crate::tree::Value;

/// What the names of the Secrets with the certificates of a cluster end with (`util/secret/consts.go`).
const CERTIFICATES: [&str; 4] = ["-ca", "-etcd", "-proxy", "-sa"];
/// Where a Cluster says the address of its control plane.
const ADDRESS: &str = "/spec/controlPlaneEndpoint/host";

/// What keeps a control plane from going on. One that takes a Machine before it makes another does so without certificates too.
pub(super) fn waits(
    side: Side<'_>,
    key: &Typed<'_>,
    (mirror, owner): (&dyn Mirror, &Value),
    cluster: Option<&Key>,
) -> Vec<Hold> {
    let Some(cluster) = cluster.filter(|_| key.known.waits_for_cluster) else { return Vec::new() };
    let mut out: Vec<Hold> = address(side, cluster).into_iter().collect();
    let takes_first = mirror.room(owner, wanted(owner, None)).0 == 0;
    if condition(owner, "CertificatesAvailable") == Some("False") && !(side.is_after() && takes_first) {
        let secrets =
            CERTIFICATES.map(|end| Key::of("", SECRET, cluster.namespace.clone(), format!("{}{end}", cluster.name)));
        out.extend(
            secrets
                .iter()
                .filter(|secret| side.is_missing(secret))
                .map(|secret| references::hold(Why::Stopped, secret)),
        );
    }
    out
}

/// An address that comes with this write. One that nobody has yet is no hold: a render never has it.
fn address(side: Side<'_>, cluster: &Key) -> Option<Hold> {
    let stage = side.stage;
    stage.pair(cluster).filter(|_| !side.is_after())?;
    let has = |value: &Value| text(value, ADDRESS).is_some();
    let comes = stage.before(cluster).is_some_and(|was| !has(&was)) && stage.after(cluster).is_some_and(|is| has(&is));
    comes.then(|| Hold {
        why: Why::Stopped,
        places: vec![(cluster.clone(), Some(Path::root().key("spec").key("controlPlaneEndpoint")))],
        says: format!("{cluster} has no address of its control plane"),
        over: format!("{cluster} has an address of its control plane"),
    })
}

/// The Cluster whose control plane may wait for what a pair writes.
pub(super) fn reached(pair: &Pair) -> Option<Key> {
    let key = &pair.key;
    let ends = || CERTIFICATES.iter().find_map(|end| key.name.strip_suffix(end));
    let name = (key.group.is_empty() && key.kind == SECRET).then(ends).flatten()?;
    Some(contract::cluster(key.namespace.as_deref(), name))
}
