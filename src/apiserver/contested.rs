//! Who owns a field to which an apply gives another value (structured-merge-diff v6 `merge/update.go`, `update`), and what `kubectl apply` may
//! take all the same.

use super::apply::{Applied, noted, places_of};
use super::fields::{FieldSet, Ownership, Step};
use super::place::{Merging, Place};
use crate::object::Path;
use crate::tree::Value;

/// The field manager of `kubectl apply --server-side`.
pub(super) const KUBECTL: &str = "kubectl";

/// What `kubectl apply` applied last without the server: where live still is so, an apply under the name of kubectl takes the
/// field without a conflict (apimachinery `managedfields/internal/lastappliedmanager.go`, since 1.21).
pub(super) fn last_applied(live: &Value, rendered: &Value, manager: &str) -> Option<Value> {
    if manager != KUBECTL {
        return None;
    }
    let last = noted(live)?;
    (last.get("apiVersion") == rendered.get("apiVersion")).then_some(last)
}

/// The first other manager that owns a field to which another value is given; `last` is what may be taken all the same.
pub(super) fn conflict<'e, 'm>(
    (live, last): (&Value, Option<&Value>),
    written: impl Fn(&Ownership) -> &'m Value,
    mut others: impl Iterator<Item = &'e Ownership>,
    root: Place<'_>,
) -> Option<Applied> {
    others.find_map(|entry| {
        let mut paths = Vec::new();
        contested((Some(live), last), written(entry), entry, &entry.fields, (root, &Path::root()), &mut paths);
        (!paths.is_empty()).then(|| Applied::Conflict { manager: entry.manager.clone(), paths })
    })
}

/// Collects the places that a set owns and whose value becomes another one. A place that is not there may be owned all the same: what a
/// webhook or a conversion leaves out of an object stays with whoever sent it (structured-merge-diff v6 `merge/update.go`, `update`, which
/// compares with what is modified and what is added).
fn contested(
    (live, last): (Option<&Value>, Option<&Value>),
    merged: &Value,
    entry: &Ownership,
    owned: &FieldSet,
    (place, path): (Place<'_>, &Path),
    found: &mut Vec<String>,
) {
    if live == Some(merged) {
        return;
    }
    match (place.merging(merged), live, merged) {
        (Merging::Granular, Some(Value::Object(_)) | None, Value::Object(merged))
            if live.is_some() || !merged.is_empty() =>
        {
            for (key, value) in merged {
                let step = Step::Field(key.to_string());
                // The types of the other version leave an empty text out, and what is left out is neither modified nor added. Under a free
                // key, as of a label, it stays.
                if entry.is_converted && value.as_str() == Some("") && place.is_named(&step) {
                    continue;
                }
                if let Some(owned) = owned.below.get(&step) {
                    let both = (live.and_then(|live| live.get(key)), last.and_then(|last| last.get(key)));
                    contested(both, value, entry, owned, (place.field(key), &path.key(key.as_str())), found);
                }
            }
        }
        (Merging::Items(how), Some(Value::Array(_)) | None, Value::Array(merged))
            if live.is_some() || !merged.is_empty() =>
        {
            let steps = |items: &[Value]| items.iter().map(|item| place.step_to(&how, item)).collect::<Vec<_>>();
            let live = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let live_steps = steps(live);
            let was_at = places_of(&live_steps);
            let last = last.and_then(Value::as_array);
            let last_steps = last.map(|last| steps(last)).unwrap_or_default();
            let last_at = places_of(&last_steps);
            for (at, item) in merged.iter().enumerate() {
                let step = place.step_to(&how, item);
                let before = was_at.get(&step).map(|at| &live[*at]);
                let last = last_at.get(&step).and_then(|at| last?.get(*at));
                if let Some(owned) = owned.below.get(&step) {
                    contested((before, last), item, entry, owned, (place.item(), &path.index(at)), found);
                }
            }
        }
        // A map or a list that is sent as null is merged as an empty one; what is replaced as a whole is added.
        (_, None, Value::Null) if !place.is_whole() => {}
        (_, Some(live), Value::Null) if !matches!(place.merging(live), Merging::Whole) => {}
        _ if owned.owned && (live.is_none() || last != live) => found.push(path.to_string()),
        _ => {}
    }
}
