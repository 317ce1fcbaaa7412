//! Mirror of what the webhooks of the Docker test provider refuse on an update.
//! Read beside `test/infrastructure/docker/internal/webhooks/{dev,docker}{cluster,machine}.go` of Cluster API 1.14.

use serde_json::Value;

use crate::judge::admission::Refusal;
use crate::judge::admission::refuse;
use crate::kinds::hub::go_seconds;
use crate::kinds::machines::text;
use crate::object::Path;

/// Id of everything that is refused here.
const RULE: &str = "capd/rejected";

/// What is refused about an update.
#[must_use]
pub(crate) fn refusals(kind: &str, old: &Value, new: &Value) -> Vec<Refusal> {
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
    use serde_json::json;

    use super::*;

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
