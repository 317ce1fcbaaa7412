//! One read through the library, as `plan --live cluster` makes it, and what came of it in a form that can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rollgate::facade::cluster::{self, Online, WorldRead};
use rollgate::facade::host::{Detected, Host};
use rollgate::facade::object::Stream;
use rollgate::facade::policy::Policy;

use crate::bench::{NAMESPACE, RELEASE};

/// Reads what the stream needs by a kubeconfig.
pub(crate) async fn look(stream: &str, kubeconfig: &Path, deadline: Duration) -> WorldRead {
    look_for(RELEASE, stream, kubeconfig, deadline).await
}

/// Reads what the stream of this release needs by a kubeconfig.
pub(crate) async fn look_for(release: &str, stream: &str, kubeconfig: &Path, deadline: Duration) -> WorldRead {
    let bytes = bytes::Bytes::copy_from_slice(stream.as_bytes());
    let rendered = Stream::load(&bytes).expect("a stream");
    let env = BTreeMap::from([("KUBECONFIG".to_owned(), kubeconfig.display().to_string())]);
    let host = Host { release: Some(release.to_owned()), namespace: Some(NAMESPACE.to_owned()), ..Host::default() };
    let online = Online {
        rendered: &rendered.objects,
        policy: &Policy::default(),
        late: &BTreeSet::new(),
        detected: Detected { host, ..Detected::default() },
        env: &env,
        base: None,
        storage_namespace: None,
        deadline,
        now: Timestamp::UNIX_EPOCH,
        owners: None,
    };
    cluster::read(online, None).await.expect("the stream is good")
}

/// Everything that a judgement could see, in a stable order; the way it was read left out.
pub(crate) fn essence(outcome: &WorldRead) -> String {
    let mut world = serde_json::to_value(&outcome.world).expect("JSON");
    world["source"] = serde_json::Value::Null;
    // Whether pools were listed matters only where something names one, which nothing here does.
    if let Some(kinds) = world.pointer_mut("/coverage/asked/kinds").and_then(serde_json::Value::as_object_mut) {
        kinds.retain(|kind, _| kind != "MachinePool.cluster.x-k8s.io");
    }
    for pointer in ["/live", "/base/objects", "/absent"] {
        if let Some(list) = world.pointer_mut(pointer).and_then(serde_json::Value::as_array_mut) {
            list.sort_by_key(ToString::to_string);
        }
    }
    world.to_string()
}

/// What a read came to, beside a read without faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// An equal World.
    Right,
    /// Another World, and it says what is missing: exit 4.
    Undecided,
    /// An equal World but for the provider versions, with a warning: the newest known ones count.
    Assumed,
    /// Another World that looks whole. Never.
    Wrong,
}

/// Compares a read with the one without faults.
pub(crate) fn verdict(clean: &WorldRead, found: &WorldRead) -> Verdict {
    if !found.world.unread.is_empty() {
        return Verdict::Undecided;
    }
    if essence(clean) == essence(found) {
        return Verdict::Right;
    }
    let mut without = clean.clone();
    without.world.providers.clear();
    if found.world.providers.is_empty() && essence(&without) == essence(found) && !found.warnings.is_empty() {
        return Verdict::Assumed;
    }
    Verdict::Wrong
}
