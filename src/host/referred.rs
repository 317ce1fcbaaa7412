//! Secrets and ConfigMaps that compared objects name: their change is looked at too, because nodes are made from them.

use std::collections::HashSet;

use serde_json::Value;

use super::kinds;
use super::predict::Run;
use super::stream::same_text;
use crate::object::{Body, Inventory, LoadError, Object};

/// Adds the pairs of changed or removed Secrets and ConfigMaps whose name stands in a compared object of either side.
pub(super) fn add(run: &mut Run<'_>) -> Result<(), LoadError> {
    let referable = std::mem::take(&mut run.sorted.referable);
    let total = referable.len();
    let changed: Vec<&Object> = referable
        .into_iter()
        .filter(|object| {
            !run.locator.anywhere(&run.world.live, &object.key).is_some_and(|live| same_text(object, live))
        })
        .collect();
    let old = if run.out.way.is_none() { &run.world.live } else { &run.world.base.objects };
    let gone: Vec<&Object> = old
        .objects()
        .iter()
        .filter(|object| kinds::is_compared_when_referred(&object.key) && !run.is_rendered(&object.key))
        .collect();
    let names: HashSet<&str> = changed.iter().chain(&gone).map(|object| object.key.name.as_str()).collect();
    let mut compared = 0;
    if !names.is_empty() {
        let mut referred = HashSet::new();
        collect(run.rendered, &names, &mut referred)?;
        if let Err(error) = collect(&run.world.live, &names, &mut referred) {
            run.out
                .warnings
                .push(format!("which Secrets and ConfigMaps the live objects name cannot be seen: {error}"));
        }
        for object in changed.into_iter().filter(|object| referred.contains(object.key.name.as_str())) {
            compared += 1;
            run.write(object)?;
        }
        for object in gone.into_iter().filter(|object| referred.contains(object.key.name.as_str())) {
            run.remove(object)?;
        }
    }
    run.out.compared += compared;
    run.out.not_compared += total - compared;
    Ok(())
}

/// Collects those of `names` that are a whole string inside the `spec` of a compared object.
fn collect<'n>(objects: &Inventory, names: &HashSet<&'n str>, found: &mut HashSet<&'n str>) -> Result<(), LoadError> {
    for object in objects.objects().iter().filter(|object| kinds::is_compared(&object.key)) {
        if found.len() == names.len() {
            break;
        }
        if !may_name(object, names) {
            continue;
        }
        if let Some(spec) = object.value()?.get("spec") {
            strings(spec, names, found);
        }
    }
    Ok(())
}

/// Whether the text of an object holds one of the names as a whole word; trees always may.
pub(super) fn may_name(object: &Object, names: &HashSet<&str>) -> bool {
    match &object.body {
        Body::Text(bytes, span) => holds_a_name(&bytes[span.start..span.end], names),
        Body::Value(_) => true,
    }
}

/// Whether a text holds one of the names as a whole word.
fn holds_a_name(text: &[u8], names: &HashSet<&str>) -> bool {
    let of_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    text.split(|byte| !of_name(byte))
        .filter(|word| !word.is_empty())
        .any(|word| std::str::from_utf8(word).is_ok_and(|word| names.contains(word)))
}

/// Collects those of `names` that are a whole string below a value.
fn strings<'n>(value: &Value, names: &HashSet<&'n str>, found: &mut HashSet<&'n str>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text.as_str()) {
                found.insert(name);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| strings(item, names, found)),
        // The name of the cluster is the commonest name of all and refers to no Secret.
        Value::Object(map) => {
            map.iter().filter(|(key, _)| *key != "clusterName").for_each(|(_, value)| strings(value, names, found));
        }
        _ => {}
    }
}
