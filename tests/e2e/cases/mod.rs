//! One change each: the objects of a small cluster, and what is done to them. What happens then is not written here:
//! rollgate forecasts it and the controllers show it.

pub(crate) mod kubeadm;
pub(crate) mod rke2;
pub(crate) mod states;
pub(crate) mod topology;

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The objects of a release, by a short name.
pub(crate) type Objects = BTreeMap<&'static str, Value>;

/// A change to the objects.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Machines are replaced twice, by the change and when it is taken back, or it cannot be: not for every run.
    pub(crate) long: bool,
    /// What brings the cluster into the state in which the change is made.
    first: &'static [Edit],
    edits: &'static [Edit],
}

/// One step of a change: the object by its short name, then a JSON pointer into it.
enum Edit {
    /// Sets a value, written as JSON, and makes the objects on the way; `-` appends to a list.
    Set(&'static str, &'static str, &'static str),
    /// Takes a field away.
    Unset(&'static str, &'static str),
    /// Turns a list round.
    Reverse(&'static str, &'static str),
    /// Adds a copy of an object under a short name of its own; `-b` is added to its name.
    Copy(&'static str, &'static str),
    /// Takes an object away.
    Remove(&'static str),
}

use Edit::{Copy, Remove, Reverse, Set, Unset};

impl Case {
    /// The objects of the state in which the change is made; `None` where that is the base.
    pub(crate) fn state(&self, base: &Objects) -> Option<Objects> {
        (!self.first.is_empty()).then(|| edited(base, self.first))
    }

    /// The objects after the change. What the state took away and the change speaks of is there again.
    pub(crate) fn apply(&self, base: &Objects) -> Objects {
        let mut objects = edited(base, self.first);
        for edit in self.edits {
            if let Set(object, ..) = edit
                && let Some(value) = base.get(object)
            {
                objects.entry(object).or_insert_with(|| value.clone());
            }
            edit.apply(&mut objects);
        }
        objects
    }
}

/// Some objects after some steps.
fn edited(base: &Objects, edits: &[Edit]) -> Objects {
    let mut objects = base.clone();
    edits.iter().for_each(|edit| edit.apply(&mut objects));
    objects
}

impl Edit {
    fn apply(&self, objects: &mut Objects) {
        match *self {
            Set(object, pointer, json) => {
                let value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
                set(objects.get_mut(object).expect("the object is there"), pointer, value);
            }
            Unset(object, pointer) => {
                let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
                let parent = at(objects, object, parent).as_object_mut().expect("the parent is an object");
                parent.remove(key).expect("the field is there");
            }
            Reverse(object, pointer) => at(objects, object, pointer).as_array_mut().expect("it is a list").reverse(),
            Copy(object, copy) => {
                let mut value = objects[object].clone();
                value["metadata"]["name"] = format!("{}-b", value["metadata"]["name"].as_str().expect("a name")).into();
                objects.insert(copy, value);
            }
            Remove(object) => drop(objects.remove(object).expect("the object is there")),
        }
    }
}

fn at<'o>(objects: &'o mut Objects, object: &str, pointer: &str) -> &'o mut Value {
    objects
        .get_mut(object)
        .and_then(|value| value.pointer_mut(pointer))
        .unwrap_or_else(|| panic!("{object} has no {pointer}"))
}

fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for step in pointer.split('/').skip(1) {
        if at.is_null() {
            *at = if step == "-" { json!([]) } else { json!({}) };
        }
        if let Value::Array(list) = at {
            let place = if step == "-" { list.len() } else { step.parse().expect("a list has numbers") };
            if place == list.len() {
                list.push(Value::Null);
            }
            at = &mut list[place];
        } else {
            let map = at.as_object_mut().unwrap_or_else(|| panic!("{pointer}: no object to hold {step}"));
            at = map.entry(step).or_insert(Value::Null);
        }
    }
    *at = value;
}

const fn case(name: &'static str, edits: &'static [Edit]) -> Case {
    Case { name, first: &[], edits, long: false }
}

const fn long(name: &'static str, edits: &'static [Edit]) -> Case {
    Case { name, first: &[], edits, long: true }
}

const fn after(name: &'static str, first: &'static [Edit], edits: &'static [Edit]) -> Case {
    Case { name, first, edits, long: false }
}

/// A machine template whose Machines start at once.
fn machine_template(name: &str) -> Value {
    let second = json!({"provisioning": {"startupDuration": "1s"}});
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate", "metadata": {"name": name},
        "spec": {"template": {"spec": {"backend": {"inMemory": {"vm": second, "node": second, "apiServer": second, "etcd": second}}}}},
    })
}
