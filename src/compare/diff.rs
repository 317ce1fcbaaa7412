//! The places where two trees of one object differ, smallest places first named, whole subtrees where one side has none.
//! Every difference is found: what is left out is only what `noise` names, and `null` equals absent as Kubernetes has it.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::lists::identities;
use super::noise::{is_mark_noise, is_metadata_noise, is_top_level_noise};
use super::semantic::Meaning;
use super::within::{self, Layers};
use crate::hashed::{HashMap, HashSet};
use crate::model::Change;
use crate::object::{Path, Segment};
use crate::schema::SchemaNode;
use crate::tree::{Map, Value};

/// Every place where `after` differs from `before`, in the order of `after`; nobody has judged them yet.
///
/// Both are whole objects. What the API server and the host write by themselves is left out.
#[must_use]
pub fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut walk = Walk { meaning: Meaning::of(after), ..Walk::default() };
    walk.object(before, after);
    // Most have one change, and keep it to the end.
    walk.found.shrink_to_fit();
    walk.found
}

/// Every place where two parts of objects differ, with paths that start at these parts; nothing is left out.
#[must_use]
pub(crate) fn part_changes(before: &Value, after: &Value) -> Vec<Change> {
    part_changes_within(before, after, Layers::default())
}

/// Every place where two parts of objects differ that stand inside of these layers of documents.
pub(super) fn part_changes_within(before: &Value, after: &Value, layers: Layers) -> Vec<Change> {
    let mut walk = Walk { layers, ..Walk::default() };
    walk.values(before, after);
    walk.found
}

/// A walk through both trees at once.
#[derive(Default)]
struct Walk {
    /// Where the walk is, in `after`.
    path: Path,
    /// The steps into items of lists that stand elsewhere in `before`: which step, and the place there.
    shifts: Vec<(usize, usize)>,
    /// Identity of the innermost list item that the walk is in.
    item: Option<String>,
    /// What is known about the kind.
    meaning: Meaning,
    /// Schema of the place.
    node: Option<&'static SchemaNode>,
    /// What may be read of documents in strings.
    layers: Layers,
    /// What differs so far.
    found: Vec<Change>,
}

impl Walk {
    /// Compares two whole objects.
    fn object(&mut self, before: &Value, after: &Value) {
        let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
            return self.values(before, after);
        };
        self.keys(old, new, |walk, key, old, new| {
            if is_top_level_noise(key) {
                return;
            }
            match (key, old, new) {
                ("metadata", Value::Object(old), Value::Object(new)) => walk.metadata(old, new),
                ("spec", ..) => {
                    walk.node = walk.meaning.spec;
                    walk.values(old, new);
                }
                _ => walk.values(old, new),
            }
        });
    }

    /// Compares the metadata of two whole objects.
    fn metadata(&mut self, before: &Map, after: &Map) {
        self.keys(before, after, |walk, key, old, new| {
            if is_metadata_noise(key) {
                return;
            }
            if matches!(key, "labels" | "annotations") {
                walk.marks(key, old, new);
            } else {
                walk.values(old, new);
            }
        });
    }

    /// Compares labels or annotations of two whole objects, one by one even where one side has none at all.
    fn marks(&mut self, marks: &str, before: &Value, after: &Value) {
        let empty = Map::new();
        let old = before.as_object().unwrap_or(&empty);
        let new = after.as_object().unwrap_or(&empty);
        self.keys(old, new, |walk, key, old, new| {
            if !is_mark_noise(marks, key) {
                walk.values(old, new);
            }
        });
    }

    /// Visits every key of two maps, absent ones as `null`: first those of `after`, then those that are gone.
    fn keys(&mut self, before: &Map, after: &Map, mut visit: impl FnMut(&mut Self, &str, &Value, &Value)) {
        for (key, new) in after {
            let old = before.get(key).unwrap_or(&Value::Null);
            // Most keys say the same, and need no place of their own.
            if old.is_same(new) {
                continue;
            }
            self.below(Segment::Key(key.to_string()), |walk| visit(walk, key, old, new));
        }
        for (key, old) in before.iter().filter(|(key, _)| !after.contains_key(key)) {
            self.below(Segment::Key(key.to_string()), |walk| visit(walk, key, old, &Value::Null));
        }
    }

    /// Compares two values of one place.
    fn values(&mut self, before: &Value, after: &Value) {
        if self.meaning.same(&self.path, self.node, before, after) {
            return;
        }
        match (before, after) {
            (Value::Object(old), Value::Object(new)) => self.keys(old, new, |walk, _, old, new| walk.values(old, new)),
            (Value::Array(old), Value::Array(new)) => self.lists(old, new),
            (Value::String(old), Value::String(new)) => {
                match within::changes(&self.path, self.item.as_deref(), old, new, &self.layers) {
                    Some(inside) => {
                        let was = self.was();
                        self.found.extend(inside.into_iter().map(|change| Change { was: was.clone(), ..change }));
                    }
                    None => self.note(Some(before), Some(after)),
                }
            }
            _ => self.note(Some(before), Some(after)),
        }
    }

    /// Compares two lists.
    fn lists(&mut self, before: &[Value], after: &[Value]) {
        let field = match self.path.segments().last() {
            Some(Segment::Key(key)) => key.clone(),
            _ => String::new(),
        };
        match identities(&field, self.node, before, after) {
            Some((old, new)) => self.keyed(before, &old, after, &new),
            None => self.places(before, after),
        }
    }

    /// Compares two lists whose items have identities.
    fn keyed(&mut self, before: &[Value], old: &[String], after: &[Value], new: &[String]) {
        let was_at: HashMap<&str, usize> = old.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let stays: HashSet<&str> = new.iter().map(String::as_str).collect();
        let mut last = None;
        let mut moved = false;
        for (place, (value, name)) in after.iter().zip(new).enumerate() {
            match was_at.get(name.as_str()).copied() {
                Some(was) => {
                    moved |= last.is_some_and(|last| was < last);
                    last = Some(was);
                    self.shifted(was, place, |walk| walk.in_item(place, name, |walk| walk.values(&before[was], value)));
                }
                None => self.in_item(place, name, |walk| walk.note(None, Some(value))),
            }
        }
        for (place, (value, name)) in before.iter().zip(old).enumerate() {
            if !stays.contains(name.as_str()) {
                self.in_item(place, name, |walk| walk.note(Some(value), None));
            }
        }
        if moved {
            let names = |names: &[String]| Value::from(names.to_vec());
            self.note(Some(&names(old)), Some(&names(new)));
        }
    }

    /// Compares two lists whose items are known by their place only: what is equal in order is aligned first.
    fn places(&mut self, before: &[Value], after: &[Value]) {
        for op in capture_diff_slices(Algorithm::Myers, before, after) {
            let (old, new) = match op {
                DiffOp::Equal { .. } => continue,
                DiffOp::Delete { old_index, old_len, new_index } => {
                    (old_index..old_index + old_len, new_index..new_index)
                }
                DiffOp::Insert { old_index, new_index, new_len } => {
                    (old_index..old_index, new_index..new_index + new_len)
                }
                DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                    (old_index..old_index + old_len, new_index..new_index + new_len)
                }
            };
            let shared = old.len().min(new.len());
            for (was, is) in old.clone().zip(new.clone()) {
                self.shifted(was, is, |walk| {
                    walk.below(Segment::Index(is), |walk| walk.values(&before[was], &after[is]));
                });
            }
            for is in new.skip(shared) {
                self.below(Segment::Index(is), |walk| walk.note(None, after.get(is)));
            }
            for was in old.skip(shared) {
                self.below(Segment::Index(was), |walk| walk.note(before.get(was), None));
            }
        }
    }

    /// Looks into an item that stood at one place of a list and stands at another.
    fn shifted(&mut self, was: usize, is: usize, visit: impl FnOnce(&mut Self)) {
        if was == is {
            return visit(self);
        }
        self.shifts.push((self.path.segments().len(), was));
        visit(self);
        self.shifts.pop();
    }

    /// Where the walk is in `before`, where that is another place.
    fn was(&self) -> Option<Path> {
        if self.shifts.is_empty() {
            return None;
        }
        let mut segments = self.path.segments().to_vec();
        for (step, place) in &self.shifts {
            if let Some(segment) = segments.get_mut(*step) {
                *segment = Segment::Index(*place);
            }
        }
        Some(segments.into())
    }

    /// Steps into a list item that has an identity.
    fn in_item(&mut self, place: usize, name: &str, visit: impl FnOnce(&mut Self)) {
        let outer = self.item.replace(name.to_owned());
        self.below(Segment::Index(place), visit);
        self.item = outer;
    }

    /// Steps one segment down.
    fn below(&mut self, segment: Segment, visit: impl FnOnce(&mut Self)) {
        let node = self.node;
        self.node = match &segment {
            Segment::Key(key) => node.and_then(|node| node.field(key)),
            Segment::Index(_) => node.and_then(SchemaNode::items),
        };
        self.path.push(segment);
        visit(self);
        self.path.pop();
        self.node = node;
    }

    /// Writes down that this place differs.
    fn note(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let there = |value: Option<&Value>| value.filter(|value| !value.is_null()).cloned();
        let mut change = Change::unjudged(self.path.clone(), there(before), there(after));
        change.item.clone_from(&self.item);
        change.was = self.was();
        self.found.push(change);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree::json;

    /// Each change as `path before -> after`.
    fn told(before: &Value, after: &Value) -> Vec<String> {
        let side = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
        changes(before, after)
            .iter()
            .map(|change| format!("{} {} -> {}", change.path, side(&change.before), side(&change.after)))
            .collect()
    }

    #[test]
    fn a_changed_leaf_is_named_by_its_path() {
        let told = told(
            &json!({"spec": {"version": "v1.30.4", "replicas": 3}}),
            &json!({"spec": {"version": "v1.31.0", "replicas": 3}}),
        );
        assert_eq!(told, [r#"spec.version "v1.30.4" -> "v1.31.0""#]);
    }

    #[test]
    fn a_subtree_that_comes_or_goes_is_one_change_at_its_top() {
        let with = json!({"spec": {"a": {"b": 1, "c": 2}}});
        let without = json!({"spec": {}});
        assert_eq!(told(&without, &with), [r#"spec.a - -> {"b":1,"c":2}"#]);
        assert_eq!(told(&with, &without), [r#"spec.a {"b":1,"c":2} -> -"#]);
    }

    #[test]
    fn list_items_are_known_by_their_key_and_reported_by_the_predicted_place() {
        let before = json!({"spec": {"files": [{"path": "/a", "content": "1"}, {"path": "/b", "content": "2"}]}});
        let after = json!({"spec": {"files": [{"path": "/n"}, {"path": "/a", "content": "1"}, {"path": "/b", "content": "3"}]}});
        assert_eq!(
            told(&before, &after),
            [r#"spec.files[0] - -> {"path":"/n"}"#, r#"spec.files[2].content "2" -> "3""#]
        );
        assert_eq!(changes(&before, &after)[1].item.as_deref(), Some("/b"));
    }

    #[test]
    fn an_item_that_stands_elsewhere_says_where_it_stood() {
        let was = |before: Value, after: Value| -> Vec<Option<String>> {
            changes(&before, &after).iter().map(|change| change.was.as_ref().map(ToString::to_string)).collect()
        };
        let groups = |groups: Value| json!({"spec": {"machinePools": groups}});
        let old =
            groups(json!([{"name": "a", "taints": [1]}, {"name": "b", "variables": [{"name": "x", "value": 1}]}]));
        let new = groups(json!([{"name": "n"}, {"name": "a", "taints": [2]},
            {"name": "b", "variables": [{"name": "w"}, {"name": "x", "value": 2}]}]));
        let at = |place: &str| Some(format!("spec.machinePools{place}"));
        let expected = [None, at("[0].taints[0]"), at("[1].variables[0]"), at("[1].variables[0].value")];
        assert_eq!(was(old, new), expected);
        let commands = |commands: Value| json!({"spec": {"preKubeadmCommands": commands}});
        let expected = [None, Some("spec.preKubeadmCommands[1]".to_owned())];
        assert_eq!(was(commands(json!(["a", "b"])), commands(json!(["x", "a", "c"]))), expected);
    }

    #[test]
    fn a_removed_item_is_reported_by_its_live_place() {
        let before = json!({"spec": {"users": [{"name": "a"}, {"name": "b"}]}});
        assert_eq!(told(&before, &json!({"spec": {"users": [{"name": "a"}]}})), [r#"spec.users[1] {"name":"b"} -> -"#]);
    }

    #[test]
    fn a_new_order_of_the_same_items_is_a_change_of_its_own() {
        let before = json!({"spec": {"extraArgs": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}});
        let after = json!({"spec": {"extraArgs": [{"name": "b", "value": "2"}, {"name": "a", "value": "1"}]}});
        assert_eq!(told(&before, &after), [r#"spec.extraArgs ["a","b"] -> ["b","a"]"#]);
    }

    #[test]
    fn an_inserted_command_does_not_change_those_after_it() {
        let before = json!({"spec": {"preKubeadmCommands": ["a", "b", "c"]}});
        let after = json!({"spec": {"preKubeadmCommands": ["a", "x", "b", "d"]}});
        assert_eq!(
            told(&before, &after),
            [r#"spec.preKubeadmCommands[1] - -> "x""#, r#"spec.preKubeadmCommands[3] "c" -> "d""#]
        );
    }

    #[test]
    fn what_the_server_and_the_host_write_is_no_change() {
        let before = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "uid": "1", "generation": 3,
            "annotations": {"meta.helm.sh/release-name": "r"}, "labels": {"app.kubernetes.io/managed-by": "Helm"}},
            "status": {"ready": true}});
        let after = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a",
            "annotations": {"postrenderer.helm.sh/postrender-filename": "x"}}});
        assert!(changes(&before, &after).is_empty());
    }

    #[test]
    fn labels_below_the_spec_always_count() {
        let mark = |value: &str| json!({"spec": {"template": {"metadata": {"labels": {"app.kubernetes.io/managed-by": value}}}}});
        assert_eq!(changes(&mark("Helm"), &mark("x")).len(), 1);
    }

    #[test]
    fn null_is_absent() {
        assert!(changes(&json!({"spec": {"a": null}}), &json!({"spec": {}})).is_empty());
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..4i64).prop_map(Value::from),
            "[ab]{1,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[a-c]|name", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn there_is_a_change_exactly_where_the_trees_differ(before in tree(), after in tree()) {
            let (before, after) = (json!({"spec": before}), json!({"spec": after}));
            prop_assert_eq!(changes(&before, &after).is_empty(), before == after);
            prop_assert!(changes(&before, &before).is_empty());
        }

        #[test]
        fn every_change_quotes_what_stands_at_its_place(before in tree(), after in tree()) {
            let (before, after) = (json!({"spec": before}), json!({"spec": after}));
            for change in changes(&before, &after) {
                let whole_list = change.after.as_ref().is_some_and(Value::is_array) && change.before.as_ref().is_some_and(Value::is_array);
                if let (Some(value), false) = (&change.after, whole_list) {
                    prop_assert_eq!(change.path.get(&after), Some(value));
                }
            }
        }
    }
}
