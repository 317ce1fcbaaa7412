//! What an API server holds after an update: a patch applied, a whole object in the place of another, and what it and its webhooks
//! put back.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::fields::{FieldSet, Ownership, Step, owners};
use super::merge;
use crate::schema;
use crate::tree::{Map, Value};

/// `live` with a patch applied.
pub(crate) fn patched(live: &Value, patch: Value) -> Value {
    let mut result = live.clone();
    merge::apply(&mut result, patch);
    result
}

/// What the API server makes of the object before it keeps it.
pub(crate) fn kept(predicted: &mut Value, live: &Value) {
    let text = |key: &str| predicted.get(key).and_then(Value::as_str).unwrap_or_default();
    let Some(node) = schema::builtin(text("apiVersion"), text("kind")) else { return };
    if let Some(spec) = predicted.get_mut("spec") {
        schema::refilled(spec, live.get("spec"), node);
    }
}

/// The whole object is put in the place of the live one. The server keeps what only it writes and the status (apiserver
/// `pkg/registry/rest/update.go`, `BeforeUpdate`; apiextensions-apiserver `customResourceStrategy.PrepareForUpdate`); labels
/// and annotations that are not sent go, and so do finalizers and owners until their controllers put them back, so that
/// those stand here as they were; of an object that is being deleted no finalizer comes back (`ValidateObjectMetaUpdate`). What nobody but the host owns and the host never sent was filled in by a defaulting
/// webhook, which fills it in again.
pub(crate) fn replaced(live: &Value, last: Option<&Value>, rendered: &Value, manager: &str) -> Value {
    let mut predicted = merge::pruned(rendered.clone());
    for key in ["metadata", "status"] {
        let Some(old) = live.get(key) else { continue };
        match (predicted.get_mut(key).and_then(Value::as_object_mut), old.as_object()) {
            (Some(new), Some(old)) if key == "metadata" => {
                let goes = |key: &str| {
                    matches!(key, "labels" | "annotations")
                        || key == "finalizers" && old.get("deletionTimestamp").is_some_and(|time| !time.is_null())
                };
                for (key, value) in old.iter().filter(|(key, _)| !goes(key)) {
                    new.insert(key.clone(), value.clone());
                }
            }
            _ => predicted[key] = old.clone(),
        }
    }
    let entries = owners(live);
    let version = rendered.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let foreign = entries.iter().any(|entry| entry.subresource.is_empty() && entry.api_version != version);
    if let (Some(last), false, Some(spec)) = (last, foreign, predicted.get_mut("spec")) {
        let spec_of = |entry: &Ownership| entry.fields.below.get(&Step::Field("spec".to_owned())).cloned();
        let (mut mine, mut others) = (FieldSet::default(), FieldSet::default());
        for entry in &entries {
            let own = entry.manager == manager && entry.subresource.is_empty();
            let set = if own { &mut mine } else { &mut others };
            spec_of(entry).iter().for_each(|fields| set.add(fields));
        }
        defaulted_again(spec, live.get("spec"), last.get("spec"), &mine, &others);
    }
    predicted
}

/// Puts back what only the host owns and never sent.
fn defaulted_again(
    predicted: &mut Value,
    live: Option<&Value>,
    sent: Option<&Value>,
    mine: &FieldSet,
    others: &FieldSet,
) {
    let (Value::Object(predicted), Some(Value::Object(live))) = (predicted, live) else { return };
    let nothing = FieldSet::default();
    for (key, value) in live {
        let step = Step::Field(key.to_string());
        let sent = sent.and_then(|sent| sent.get(key));
        let (mine, others) = (mine.below.get(&step), others.below.get(&step).unwrap_or(&nothing));
        let Some(mine) = mine else { continue };
        match predicted.get_mut(key) {
            Some(inner) => defaulted_again(inner, Some(value), sent, mine, others),
            None if sent.is_none() && others.is_empty() => {
                predicted.insert(key.clone(), value.clone());
            }
            None => {}
        }
    }
}

/// Puts back what the apply removed although it was never sent. Managed fields count what a defaulting webhook added to an
/// apply as applied by the host (apiserver `endpoints/handlers/fieldmanager/admission.go`), so the next apply removes it,
/// and the same webhook adds it again.
/// What is sent now is never put back: a list without items may be gone because another version of the object leaves it out.
pub(crate) fn restored(predicted: &mut Value, live: &Value, (last, rendered): (Option<&Value>, Option<&Value>)) {
    let (Value::Object(predicted), Value::Object(live)) = (predicted, live) else { return };
    for (key, value) in live {
        let [last, rendered] = [last, rendered].map(|sent| sent.and_then(|sent| sent.get(key)));
        match predicted.get_mut(key) {
            Some(inner) => restored(inner, value, (last, rendered)),
            None if last.is_none() && rendered.is_none_or(Value::is_null) => {
                predicted.insert(key.clone(), value.clone());
            }
            None => {}
        }
    }
}

/// The API server keeps `stringData` of a Secret as `data` (kubernetes `pkg/apis/core/v1/conversion.go`).
pub(crate) fn fold_string_data(secret: &mut Value) {
    let Some(Value::Object(plain)) = secret.as_object_mut().and_then(|map| map.shift_remove("stringData")) else {
        return;
    };
    let data = &mut secret["data"];
    if !data.is_object() {
        *data = Value::Object(Map::new());
    }
    for (key, value) in plain {
        data[key] = Value::from(BASE64_STANDARD.encode(value.as_str().unwrap_or_default()));
    }
}
