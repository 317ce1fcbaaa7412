//! The side before the write with the items of its lists at the places where they stand after it, so that one path leads to both sides of an
//! item: an item is known by its key, and a new one before it changes its place and nothing else.

use std::collections::BTreeMap;

use crate::object::{Path, Segment};
use crate::tree::Value;

/// Where the items of lists on the way to a place stood before the write and stand after it.
pub(super) struct Shift {
    /// The place before it.
    pub(super) was: Path,
    /// The place after it.
    pub(super) is: Path,
    /// Whether the place is an item that was not there.
    pub(super) is_new: bool,
}

/// A list by its place, and which of its items stands where: by the place after the write the one before it, `None` for a new one.
type Lists = BTreeMap<Vec<Segment>, BTreeMap<usize, Option<usize>>>;

/// The old side with all these items where they stand now, and null where there was none; `None` where each stands where it stood.
/// Items of which nothing is said take the places that are left.
pub(super) fn old(old: &Value, shifts: impl Iterator<Item = Shift>) -> Option<Value> {
    let mut lists = Lists::new();
    for Shift { was, is, is_new } in shifts {
        let last = is.segments().len().checked_sub(1);
        for (step, pair) in was.segments().iter().zip(is.segments()).enumerate() {
            if let (Segment::Index(was), Segment::Index(at)) = pair {
                let from = Some(*was).filter(|_| !is_new || Some(step) != last);
                lists.entry(is.segments()[..step].to_vec()).or_default().insert(*at, from);
            }
        }
    }
    lists.retain(|_, items| items.iter().any(|(at, from)| *from != Some(*at)));
    if lists.is_empty() {
        return None;
    }
    let mut out = old.clone();
    // A list comes before those in its items, whose places are those after the write.
    for (place, items) in lists {
        if let Some(Value::Array(list)) = at(&mut out, &place) {
            *list = arranged(list, &items).into();
        }
    }
    Some(out)
}

fn arranged(list: &[Value], items: &BTreeMap<usize, Option<usize>>) -> Vec<Value> {
    let mut left: Vec<Option<&Value>> = list.iter().map(Some).collect();
    let mut take = |from: usize| left.get_mut(from).and_then(Option::take);
    let taken: BTreeMap<usize, Option<&Value>> =
        items.iter().map(|(at, from)| (*at, from.and_then(&mut take))).collect();
    let mut rest = left.into_iter().flatten();
    let length = taken.last_key_value().map_or(0, |(last, _)| last + 1);
    let mut out: Vec<Value> = (0..length)
        .map(|at| taken.get(&at).copied().unwrap_or_else(|| rest.next()).cloned().unwrap_or_default())
        .collect();
    out.extend(rest.cloned());
    while out.last().is_some_and(Value::is_null) {
        out.pop();
    }
    out
}

/// What stands at a place, to be changed.
fn at<'v>(value: &'v mut Value, place: &[Segment]) -> Option<&'v mut Value> {
    place.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key.as_str()),
        Segment::Index(index) => value.get_mut(*index),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::changes;
    use crate::model::Change;
    use crate::tree::json;

    fn shift(change: &Change) -> Shift {
        let was = change.was.clone().unwrap_or_else(|| change.path.clone());
        Shift { was, is: change.path.clone(), is_new: change.is_new_item() }
    }

    /// The old side beside the new one.
    fn beside(before: &Value, after: &Value) -> Option<Value> {
        let found = changes(before, after);
        old(before, found.iter().filter(|change| !change.is_gone_item()).map(shift))
    }

    #[test]
    fn an_item_is_found_at_its_new_place_and_a_new_one_was_nowhere() {
        let pools = |pools: Value| json!({"spec": {"machinePools": pools}});
        let (a, b) = (json!({"name": "a", "replicas": 1}), json!({"name": "b", "replicas": 20}));
        let less = json!({"name": "b", "replicas": 2});
        let new = json!({"name": "n", "replicas": 20});
        let of = |before: &[&Value], after: &[&Value]| {
            let list = |items: &[&Value]| pools(items.iter().map(|item| (*item).clone()).collect::<Vec<_>>().into());
            beside(&list(before), &list(after))
                .map(|old| old.pointer("/spec/machinePools").cloned().unwrap_or_default())
        };
        assert_eq!(of(&[&a, &b], &[&a, &less]), None);
        assert_eq!(of(&[&b], &[&new, &less]), Some(json!([null, b])));
        assert_eq!(of(&[&a, &b], &[&new, &a, &less]), Some(json!([null, a, b])));
        assert_eq!(of(&[&a, &b], &[&less, &a]), Some(json!([b, a])));
        assert_eq!(of(&[&a, &b], &[&less]), Some(json!([b, a])));
        // Behind the old ones no other item stands at its place.
        assert_eq!(of(&[&a], &[&a, &new]), Some(json!([a])));
    }

    #[test]
    fn items_of_items_are_found_too() {
        let groups = |groups: Value| json!({"spec": {"machineDeployments": groups}});
        let old = groups(json!([{"name": "a", "overrides": [{"name": "x", "value": 1}, {"name": "y", "value": 2}]}]));
        let new = groups(json!([{"name": "n"}, {"name": "a", "overrides": [{"name": "y", "value": 3}]}]));
        let found = beside(&old, &new).expect("another order");
        assert_eq!(found.pointer("/spec/machineDeployments/1/overrides/0/value"), Some(&json!(2)));
        assert_eq!(found.pointer("/spec/machineDeployments/0"), Some(&Value::Null));
    }
}
