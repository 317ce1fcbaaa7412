use proptest::prelude::*;

use super::*;

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
        (-1e12..1e12).prop_map(serde_json::Value::from),
        "[a-c~/é]{0,40}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 64, 24, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::vec(("[a-e/~]{0,2}", inner), 0..24)
                .prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// What can be done to a map, as the test tells both.
#[derive(Debug, Clone)]
enum Step {
    Insert(String, i64),
    Remove(String),
    Shift(String),
    Entry(String, i64),
    Retain(i64),
}

fn any_step() -> impl Strategy<Value = Step> {
    // Some have their length, first and last letter in common.
    let key = "[a-d][0-9]{0,1}|a[0-9]z";
    prop_oneof![
        3 => (key, any::<i64>()).prop_map(|(key, value)| Step::Insert(key, value)),
        1 => key.prop_map(Step::Remove),
        1 => key.prop_map(Step::Shift),
        2 => (key, any::<i64>()).prop_map(|(key, value)| Step::Entry(key, value)),
        1 => (2..5_i64).prop_map(Step::Retain),
    ]
}

proptest! {
    #[test]
    fn it_holds_what_serde_json_holds(json in any_json(), other in any_json()) {
        let (tree, beside) = (Value::from(json.clone()), Value::from(other.clone()));
        prop_assert_eq!(&serde_json::Value::from(&tree), &json);
        prop_assert_eq!(tree.to_string(), json.to_string());
        prop_assert_eq!(format!("{tree:#}"), format!("{json:#}"));
        prop_assert_eq!(&serde_json::from_str::<Value>(&json.to_string()).expect("JSON"), &tree);
        prop_assert_eq!(tree == beside, json == other);
        prop_assert!(tree == tree.clone() && tree.is_same(&tree.clone()));
    }

    #[test]
    fn trees_of_a_pool_say_what_they_said_and_share_what_is_equal(all in prop::collection::vec(any_json(), 1..6)) {
        let mut pool = Pool::default();
        for json in all.iter().chain(&all) {
            let mut tree = Value::from(json.clone());
            pool.share(&mut tree);
            prop_assert_eq!(tree.to_string(), json.to_string(), "the order of keys is one's own");
            let mut again = Value::from(json.clone());
            pool.share(&mut again);
            prop_assert!(tree.is_same(&again));
        }
    }

    #[test]
    fn it_finds_what_serde_json_finds(json in any_json(), pointer in "(/[a-c0-2~/]{0,2}){0,3}|[a-c]") {
        let tree = Value::from(json.clone());
        prop_assert_eq!(tree.pointer(&pointer).map(serde_json::Value::from), json.pointer(&pointer).cloned());
        let mut mine = tree.clone();
        let mut theirs = json.clone();
        if let (Some(a), Some(b)) = (mine.pointer_mut(&pointer), theirs.pointer_mut(&pointer)) {
            *a = "changed".into();
            *b = "changed".into();
        }
        prop_assert_eq!(&serde_json::Value::from(&mine), &theirs);
        prop_assert_eq!(&serde_json::Value::from(&tree), &json, "the copy is one's own");
    }

    #[test]
    fn trees_differ_at_a_place_where_what_stands_there_does(
        json in any_json(),
        changed in "(/[a-c0-2]{1,2}){0,3}",
        gone in "[a-c]",
        pointer in "(/[a-c0-2]{1,2}){0,3}",
    ) {
        let one = Value::from(json);
        let mut other = one.clone();
        if let Some(place) = other.pointer_mut(&changed) {
            *place = "changed".into();
        }
        if let Some(map) = other.as_object_mut() {
            map.remove(&gone);
        }
        prop_assert_eq!(one.differs_at(&other, &pointer), one.pointer(&pointer) != other.pointer(&pointer));
    }

    #[test]
    fn a_map_keeps_the_order_that_serde_json_keeps(steps in prop::collection::vec(any_step(), 0..80)) {
        let (mut mine, mut theirs) = (Map::new(), serde_json::Map::new());
        for step in steps {
            let before = mine.clone();
            let kept = before.iter().map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>();
            match step {
                Step::Insert(key, value) => {
                    let a = mine.insert(key.clone(), value.into()).map(serde_json::Value::from);
                    prop_assert_eq!(a, theirs.insert(key, value.into()));
                }
                Step::Remove(key) => {
                    prop_assert_eq!(mine.remove(&key).map(serde_json::Value::from), theirs.remove(&key));
                }
                Step::Shift(key) => {
                    prop_assert_eq!(mine.shift_remove(&key).map(serde_json::Value::from), theirs.shift_remove(&key));
                }
                Step::Entry(key, value) => {
                    *mine.entry(key.clone()).or_insert(0.into()) = value.into();
                    *theirs.entry(key).or_insert(0.into()) = value.into();
                }
                Step::Retain(parts) => {
                    mine.retain(|_, value| value.as_i64().is_some_and(|value| value % parts != 0));
                    theirs.retain(|_, value| value.as_i64().is_some_and(|value| value % parts != 0));
                }
            }
            prop_assert_eq!(Value::Object(mine.clone()).to_string(), serde_json::Value::Object(theirs.clone()).to_string());
            for key in theirs.keys() {
                prop_assert!(mine.contains_key(key));
            }
            prop_assert!(before.iter().eq(kept.iter().map(|(key, value)| (key, value))), "a copy moves with nobody");
        }
    }
}

#[test]
fn it_is_small() {
    assert_eq!(size_of::<Value>(), 24);
}

#[test]
fn json_in_the_source_takes_trees() {
    let labels = json!({"a": "b"});
    assert_eq!(
        json!({"metadata": {"labels": labels, "n": 1 + 1}}).to_string(),
        r#"{"metadata":{"labels":{"a":"b"},"n":2}}"#
    );
    let mut value = Value::Null;
    value["spec"]["replicas"] = 3.into();
    assert_eq!(value["spec"]["replicas"], 3);
    assert_eq!(value["no"]["such"][7], Value::Null);
}
