//! Objects that go from one Kustomization to another. Both are woken by the same revision and run beside each other: the first one deletes
//! what it no longer brings where the second one has not applied it yet (kustomize-controller
//! `internal/controller/kustomization_controller.go`, `prune`, v1.9.4: what still has its owner labels goes).

use std::collections::BTreeMap;

use super::walk::Side;
use crate::flux::{KUSTOMIZATIONS, RELEASES};
use crate::host::{kinds, kustomized};
use crate::object::{Key, Object, Stream};
use crate::tree::Value;
use crate::world::Unread;

/// What of a change may be deleted before it is applied again.
pub(super) fn between(old: &Side, new: &Side) -> Vec<Unread> {
    let (before, after) = (brought(old), brought(new));
    let mut out = Vec::new();
    for (key, (by, object)) in &before {
        let Some((now, _)) = after.get(key).filter(|(now, _)| now != by) else { continue };
        if !reaches_machines(key) || is_kept(object) || by.as_ref().is_some_and(|by| !prunes(by, old, new)) {
            continue;
        }
        let name = |by: &Option<Key>| by.as_ref().map_or_else(|| "what applies the folder".to_owned(), Key::to_string);
        out.push(Unread {
            what: format!("whether {key} stays"),
            why: format!(
                "it goes from {} to {}, and Flux deletes it where the first one is done before the second one has applied it",
                name(by),
                name(now)
            ),
            remedy: "annotate it with kustomize.toolkit.fluxcd.io/prune: disabled in a change before this one, or say `unseen: {inside: warn}` in the policy"
                .to_owned(),
            keys: vec![object.key.clone()],
        });
    }
    out
}

/// Every object with the Kustomization that brings it.
fn brought(side: &Side) -> BTreeMap<Key, (Option<Key>, Object)> {
    let mut out = BTreeMap::new();
    for (by, bytes) in &side.streams {
        let Ok(stream) = Stream::load(&bytes.clone().into()) else { continue };
        let objects = stream.objects.objects().iter();
        out.extend(objects.map(|object| (side.whole(&object.key), (by.clone(), object.clone()))));
    }
    out
}

/// Whether Machines may hang on an object: one that is compared, or that brings such ones.
pub(super) fn reaches_machines(key: &Key) -> bool {
    kinds::is_compared(key) || [RELEASES, KUSTOMIZATIONS].contains(&key.group.as_str())
}

fn is_kept(object: &Object) -> bool {
    object.value().is_ok_and(|value| kustomized::keeps(&value))
}

/// Whether the Kustomization that applied an object deletes it once nothing renders it any more: while it is there `prune` says it, and when
/// it goes `deletionPolicy` does (kustomize-controller `internal/controller/kustomization_controller.go`, `finalize`, v1.9.4). One that is not
/// known counts as one that does.
pub(super) fn prunes(by: &Key, old: &Side, new: &Side) -> bool {
    let found = |side: &Side| {
        let found = side.given.objects.iter().find(|object| side.whole(&object.key) == *by)?;
        found.value().ok().map(|value| value.into_owned())
    };
    let is_on = |value: &Value, place: &str| value.pointer(place) == Some(&Value::Bool(true));
    let goes = |value: Value| match value.pointer("/spec/deletionPolicy").and_then(Value::as_str) {
        None | Some("" | "MirrorPrune") => is_on(&value, "/spec/prune"),
        Some(policy) => matches!(policy, "Delete" | "WaitForTermination"),
    };
    match found(new) {
        Some(value) => is_on(&value, "/spec/prune"),
        None => found(old).is_none_or(goes),
    }
}
