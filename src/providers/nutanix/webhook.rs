//! Mirror of what the schema of Nutanix machine templates refuses; they have no webhook.
//! Read beside `config/crd/bases/infrastructure.cluster.x-k8s.io_nutanixmachinetemplates.yaml` of
//! cluster-api-provider-nutanix 1.7 to 1.10; by reading.

use super::changes::NAMES_ASKED;
use crate::kinds::Webhook;
use crate::kinds::fields::list;
use crate::kinds::webhook::{Refusal, Write, refuse_by_schema};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("capx/rejected");

/// What stands for the webhooks of the provider.
#[derive(Debug)]
pub struct Nutanix;

impl Webhook for Nutanix {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let names_asked = write.versions.has(&NAMES_ASKED);
        let mut out = faults(write.new, names_asked);
        // What was wrong already and does not change is let through.
        let before = write.past().map(|old| faults(old, names_asked)).unwrap_or_default();
        out.retain(|refusal| {
            let same = refusal.path.get(write.old) == refusal.path.get(write.new);
            !(same && before.contains(refusal))
        });
        out
    }
}

/// Everything that the schema refuses of a template.
fn faults(template: &Value, names_asked: bool) -> Vec<Refusal> {
    let mut out = Vec::new();
    let at = Path::root().key("spec").key("template").key("spec");
    let Some(spec) = template.pointer("/spec/template/spec").filter(|spec| spec.is_object()) else { return out };
    match (has(spec, "image"), has(spec, "imageLookup")) {
        (true, true) => {
            refuse_by_schema(&mut out, RULE, &at, "imageLookup", "image and imageLookup exclude each other");
        }
        (false, false) => refuse_by_schema(&mut out, RULE, &at, "image", "image or imageLookup is needed"),
        _ => {}
    }
    for field in ["vcpuSockets", "vcpusPerSocket"] {
        if spec.get(field).and_then(Value::as_i64).is_some_and(|number| number < 1) {
            refuse_by_schema(&mut out, RULE, &at, field, "it is at least 1");
        }
    }
    if names_asked {
        for (place, named) in named(spec) {
            name(named, &at, &place, &mut out);
        }
    }
    out
}

/// Whether a field is there.
fn has(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|value| !value.is_null())
}

/// What is named by name or uuid, with its place.
fn named(spec: &Value) -> Vec<(String, &Value)> {
    let mut out: Vec<(String, &Value)> = ["cluster", "image", "project"]
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), spec.get(field)?)))
        .collect();
    out.extend(list(spec, "/subnet").enumerate().map(|(place, subnet)| (format!("subnet[{place}]"), subnet)));
    for (place, disk) in list(spec, "/dataDisks").enumerate() {
        for field in ["dataSource", "storageConfig.storageContainer"] {
            let source = disk.pointer(&format!("/{}", field.replace('.', "/")));
            out.extend(source.map(|source| (format!("dataDisks[{place}].{field}"), source)));
        }
    }
    out.retain(|(_, named)| named.is_object());
    out
}

/// What is named by its name has one and no uuid, and the other way round.
fn name(named: &Value, at: &Path, place: &str, out: &mut Vec<Refusal>) {
    let by = named.get("type").and_then(Value::as_str).unwrap_or_default();
    if has(named, "name") != (by == "name") {
        refuse_by_schema(out, RULE, at, &format!("{place}.name"), "a name stands beside the type name alone");
    }
    let uuid = named.get("uuid").and_then(Value::as_str);
    let fits = if by == "uuid" { uuid.is_some_and(|uuid| uuid.contains('-')) } else { !has(named, "uuid") };
    if !fits {
        refuse_by_schema(out, RULE, at, &format!("{place}.uuid"), "a uuid stands beside the type uuid alone");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(spec: Value, names_asked: bool) -> Vec<String> {
        let out = faults(&json!({"spec": {"template": {"spec": spec}}}), names_asked);
        out.into_iter().map(|refusal| refusal.path.to_string().replace("spec.template.spec.", "")).collect()
    }

    #[test]
    fn a_template_has_an_image_or_looks_one_up() {
        let image = json!({"type": "name", "name": "a"});
        assert_eq!(refused(json!({"image": image, "imageLookup": {"baseOS": "a"}}), true), ["imageLookup"]);
        assert_eq!(refused(json!({}), false), ["image"]);
        assert_eq!(refused(json!({ "image": image }), true), [""; 0]);
        assert_eq!(refused(json!({"imageLookup": {"baseOS": "a"}, "image": null}), true), [""; 0]);
    }

    #[test]
    fn what_is_named_has_what_its_type_says() {
        let uuid = "7f9c1c34-0b6e-4c38-8f2e-2d3c5f8a9b10";
        let with = |image: Value| json!({ "image": image });
        assert_eq!(refused(with(json!({"type": "uuid", "uuid": "abc"})), true), ["image.uuid"]);
        assert_eq!(refused(with(json!({"type": "uuid", "uuid": "abc"})), false), [""; 0], "up to 1.7 nobody asks");
        assert_eq!(refused(with(json!({"type": "name", "name": "a", "uuid": uuid})), true), ["image.uuid"]);
        assert_eq!(refused(with(json!({"type": "uuid", "uuid": uuid})), true), [""; 0]);
        let disk = json!({"dataSource": {"type": "name"}});
        let image = json!({"type": "name", "name": "a"});
        assert_eq!(refused(json!({"image": image, "dataDisks": [disk]}), true), ["dataDisks[0].dataSource.name"]);
    }

    #[test]
    fn a_machine_has_a_socket() {
        let with = |sockets: i64| json!({"imageLookup": {}, "vcpuSockets": sockets, "vcpusPerSocket": 1});
        assert_eq!((refused(with(0), true), refused(with(1), true)), (vec!["vcpuSockets".to_owned()], Vec::new()));
    }
}
