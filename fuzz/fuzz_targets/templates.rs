//! Any Go template of a class comes to an end: with a value, or with a word for why it has none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rollgate::facade::gotemplate;
use serde_json::json;

fuzz_target!(|template: &str| {
    let values = json!({"image": "a/b:v1", "count": 3, "on": true, "empty": "", "list": ["x", "y"], "map": {"k": "v", "deep": {"n": 1}},
        "builtin": {"controlPlane": {"version": "v1.31.4", "replicas": 3}}});
    let values = values.as_object().expect("a map").iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    drop(gotemplate::render(template, &values));
});
