//! Mirror of what the webhooks of the Docker test provider refuse on an update.
//! Read beside `test/infrastructure/docker/internal/webhooks/{dev,docker}{cluster,machine}.go` of Cluster API 1.14.

use crate::kinds::Webhook;
use crate::kinds::diff::Style;
use crate::kinds::fields::map_at;
use crate::kinds::fields::text;
use crate::kinds::fixed::Fixed;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::refuse;
use crate::kinds::webhook::{Write, Written};
use crate::model::RuleId;
use crate::object::go_seconds;
use crate::object::{ApiVersion, Path};

use crate::tree::{Map, Value, json};

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("capd/rejected");

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Docker;

impl Webhook for Docker {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        if matches!(written.key.kind.as_str(), "DockerCluster" | "DevCluster") {
            cluster(&written.key.kind, object);
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        if write.kind_name().ends_with("Template") {
            Vec::new()
        } else {
            refusals(write.kind_name(), write.old, write.new)
        }
    }

    fn differences(&self, write: &Write<'_>) -> Option<Vec<Path>> {
        let fixed = write.kind.fixed?;
        let style = if ApiVersion::is_before_v1beta2(write.api_version) { CONVERTED } else { WRITTEN };
        Fixed { style, ..*fixed }.differences(write.old, write.new, write.versions)
    }
}

/// What the types of a machine template keep apart.
const CONVERTED: Style = Style {
    keep_empty: &["docker", "inMemory", "vm", "node", "apiServer", "etcd"],
    drop_zero: &["readOnly"],
    keep_blank: &[],
};

/// What the types keep apart where the template was written in the version that the webhook reads.
const WRITTEN: Style = Style {
    keep_empty: &["docker", "inMemory", "vm", "node", "apiServer", "etcd", "preLoadImages", "extraMounts"],
    ..CONVERTED
};

/// The endpoint's port and the backend of a cluster of the test provider (`defaultDevClusterSpec`).
fn cluster(kind: &str, object: &mut Value) {
    let Some(spec) = object.as_object_mut().and_then(|map| map_at(map, "spec")) else { return };
    if kind == "DevCluster" {
        let Some(backend) = map_at(spec, "backend") else { return };
        let is_none = |backend: &Map, name: &str| backend.get(name).is_none_or(Value::is_null);
        if is_none(backend, "docker") && is_none(backend, "inMemory") {
            backend.insert("docker".to_owned(), json!({}));
        }
        if is_none(backend, "docker") {
            return;
        }
    }
    if let Some(endpoint) = map_at(spec, "controlPlaneEndpoint")
        && endpoint.get("port").is_none_or(|port| port.as_i64() == Some(0))
    {
        endpoint.insert("port".to_owned(), json!(6443));
    }
}

/// What is refused about an update.
#[must_use]
fn refusals(kind: &str, old: &Value, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let spec = Path::root().key("spec");
    let below = if kind.starts_with("Dev") { "backend.docker." } else { "" };
    let pointer = |field: &str| format!("/spec/{}{field}", below.replace('.', "/"));
    if kind.ends_with("Cluster") {
        let names = |side: &Value| -> Vec<String> {
            let list = side.pointer(&pointer("failureDomains")).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(|domain| text(domain, "/name")).map(str::to_owned).collect()
        };
        if !names(new).is_sorted() {
            refuse(&mut out, RULE, &spec, &format!("{below}failureDomains"), "failure domains must be sorted by name");
        }
        return out;
    }
    let image = |side: &Value| text(side, &pointer("customImage")).map(str::to_owned);
    // A DevMachine may leave the Docker backend for another one; without any it has that one.
    let is_docker = |side: &Value| {
        side.pointer("/spec/backend/docker").is_some() || side.pointer("/spec/backend/inMemory").is_none()
    };
    let has_both = below.is_empty() || (is_docker(old) && is_docker(new));
    if has_both && image(old) != image(new) {
        refuse(&mut out, RULE, &spec, &format!("{below}customImage"), "the image cannot change");
    }
    let timeout = new.pointer(&pointer("bootstrapTimeout")).and_then(Value::as_str);
    if timeout.is_some_and(|told| go_seconds(told).is_none()) {
        refuse(&mut out, RULE, &spec, &format!("{below}bootstrapTimeout"), "it must be a duration such as 3m0s");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn an_image_cannot_change_while_the_backend_stays() {
        let docker = |image: &str| json!({"spec": {"backend": {"docker": {"customImage": image}}}});
        assert_eq!(refusals("DevMachine", &docker("a"), &docker("b")).len(), 1);
        assert_eq!(refusals("DevMachine", &docker("a"), &docker("a")).len(), 0);
        assert_eq!(refusals("DevMachine", &docker("a"), &json!({"spec": {"backend": {"docker": {}}}})).len(), 1);
        assert_eq!(refusals("DevMachine", &docker("a"), &json!({"spec": {"backend": {"inMemory": {}}}})).len(), 0);
        assert_eq!(refusals("DevMachine", &docker("a"), &json!({"spec": {"backend": {}}})).len(), 1, "the default");
        assert_eq!(refusals("DockerMachine", &json!({"spec": {"customImage": "a"}}), &json!({"spec": {}})).len(), 1);
    }
}
