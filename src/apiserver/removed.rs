//! What an apply takes away: what its manager applied before, does not send any more, and nobody else owns (structured-merge-diff v6
//! `merge/update.go`, `prune`; `typed/remove.go`).

use super::apply::sent_fields;
use super::fields::{FieldSet, Step};
use super::place::{Merging, Place};
use crate::hashed::{HashMap, HashSet};
use crate::object::{Path, Segment};
use crate::tree::{List, Map, Value};

/// Removes what was applied before and is in no set any more, and says whether nothing is left. What loses its last key
/// becomes `null` (structured-merge-diff `typed/remove.go`): the API server fills in the default, drops it from `metadata`, and
/// refuses it in a `spec` that has another type for it; what holds it stays.
pub(super) fn remove(
    value: &mut Value,
    last: &FieldSet,
    kept: &FieldSet,
    (place, path): (Place<'_>, &Path),
    nulls: &mut Vec<Path>,
) -> bool {
    let nothing = FieldSet::default();
    let (mut dropped, mut nulled) = (false, false);
    let items = Items::of(value, place);
    let above = nulls.len();
    let mut gone: HashSet<&Step> = HashSet::default();
    for (step, last) in &last.below {
        let named = place.is_named(step);
        let Some(inner) = items.child(value, step) else { continue };
        // An empty list that is merged by item is no field of its own.
        if is_empty(inner) && matches!(place.step(step).merging(inner), Merging::Items(_)) {
            continue;
        }
        let covered = kept.below.get(step).filter(|kept| named || kept.owned);
        if covered.is_none() && (named || last.owned) {
            gone.insert(step);
            dropped = true;
            continue;
        }
        let kept = covered.or_else(|| kept.below.get(step)).unwrap_or(&nothing);
        let below = place.step(step);
        let held = !sent_fields(inner, below).is_empty();
        let at = match (step.field(), items.0.get(step)) {
            (Some(key), _) => path.key(key),
            (None, Some(at)) => path.index(*at),
            (None, None) => path.clone(),
        };
        if remove(inner, last, kept, (below, &at), nulls) {
            gone.insert(step);
            nulled = true;
            if below.refuses_null() {
                nulls.push(at);
            }
        } else if held && (named || last.owned) && sent_fields(inner, below).is_empty() {
            // What is left holds no field, only lists without items: the server finds it gone.
            gone.insert(step);
            dropped = true;
        }
    }
    items.move_up(&mut nulls[above..], path, &gone);
    items.drop(value, &gone);
    dropped && !nulled && is_empty(value)
}

/// Whether a map or a list has nothing in it.
fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// Where the items of a list stand by the step that leads to each; nothing where the value is no such list.
struct Items(HashMap<Step, usize>);

impl Items {
    fn of(value: &Value, place: Place<'_>) -> Self {
        let (Value::Array(items), Merging::Items(how)) = (value, place.merging(&Value::Array(List::default()))) else {
            return Self(HashMap::default());
        };
        // The first one is meant where a step stands twice.
        Self(items.iter().enumerate().rev().map(|(at, item)| (place.step_to(&how, item), at)).collect())
    }

    /// The value at one step.
    fn child<'v>(&self, value: &'v mut Value, step: &Step) -> Option<&'v mut Value> {
        match (value, step) {
            (Value::Object(map), Step::Field(key)) => map.get_mut(key),
            (Value::Array(items), _) => self.0.get(step).and_then(|at| items.get_mut(*at)),
            _ => None,
        }
    }

    /// Gives paths below items the places that these have once the values at some steps are gone.
    fn move_up(&self, below: &mut [Path], path: &Path, gone: &HashSet<&Step>) {
        let places: Vec<usize> = gone.iter().filter_map(|step| self.0.get(*step).copied()).collect();
        for one in below {
            if let Some(Segment::Index(at)) = one.segments().get(path.segments().len()) {
                let now = at - places.iter().filter(|place| *place < at).count();
                let rest = one.segments()[path.segments().len() + 1..].iter().cloned();
                *one = rest.fold(path.index(now), |path, segment| path.with(segment));
            }
        }
    }

    /// Takes the values at some steps away.
    fn drop(&self, value: &mut Value, gone: &HashSet<&Step>) {
        if gone.is_empty() {
            return;
        }
        match value {
            Value::Object(map) => {
                let keys: HashSet<&str> = gone.iter().filter_map(|step| step.field()).collect();
                map.retain(|key, _| !keys.contains(key.as_str()));
            }
            Value::Array(items) => {
                let places: HashSet<usize> = gone.iter().filter_map(|step| self.0.get(*step).copied()).collect();
                let mut at = 0;
                items.retain(|_| {
                    at += 1;
                    !places.contains(&(at - 1))
                });
            }
            _ => {}
        }
    }
}
