//! The API server's own answer to the writes of a host, with nothing written: each is sent with `dryRun=All`, the host's
//! verb and its field manager. A refusal by admission or validation is an answer; a missing right or any fault is a doubt.

use http::Method;

use super::call::{Ask, CallFault, Caller};
use super::discover::{Catalogue, Resource, Served};
use super::list::{JSON, broken};
use super::read::{login, unread};
use crate::cluster::plan::GroupKind;
use crate::host::{Request, ServerAnswer, ServerSaid, Verb, Write};
use crate::object::{ApiVersion, Key};
use crate::tree::Value;
use crate::world::Unread;
use crate::world::rights;

/// Hides in the words of a refusal what they quote of the object that was sent.
pub(super) type Hide<'a> = dyn Fn(&Key, &Value, &str) -> String + 'a;

/// Asks about every write; what cannot be known is unread.
pub(super) async fn ask(caller: &Caller, writes: Vec<Write>, hide: &Hide<'_>) -> (Vec<ServerAnswer>, Vec<Unread>) {
    let version = |write: &Write| ApiVersion::parse(&write.api_version).version.to_owned();
    let wanted = writes.iter().map(|write| (kind_of(write), Some(version(write)))).collect();
    let catalogue = match Catalogue::read(caller, &wanted).await {
        Ok(catalogue) => catalogue,
        Err(fault) => {
            let keys = writes.into_iter().map(|write| write.key).collect();
            return (Vec::new(), vec![unread("the dry run of all writes", &fault, &login(&fault), keys)]);
        }
    };
    let all = writes.into_iter().map(|write| one(caller, &catalogue, write, hide));
    let (mut answers, mut doubts) = (Vec::new(), Vec::new());
    for answer in futures_util::future::join_all(all).await {
        match answer {
            Ok(answer) => answers.push(answer),
            Err(doubt) => doubts.push(doubt),
        }
    }
    (answers, doubts)
}

/// Group and kind of a write.
fn kind_of(write: &Write) -> GroupKind {
    GroupKind::new(&write.key.group, &write.key.kind)
}

/// Asks about one write.
async fn one(caller: &Caller, catalogue: &Catalogue, write: Write, hide: &Hide<'_>) -> Result<ServerAnswer, Unread> {
    let kind = kind_of(&write);
    let version = ApiVersion::parse(&write.api_version).version.to_owned();
    let what = format!("the dry run of {}", write.key);
    let said = match (write.request, catalogue.find(&kind, Some(&version))) {
        (Err(why), _) => ServerSaid::NotAsked(why),
        (Ok(_), Ok(Served::Absent)) => ServerSaid::NotAsked("the API server does not have the kind yet".to_owned()),
        (Ok(_), Ok(Served::Otherwise(_))) => {
            ServerSaid::NotAsked(format!("the API server does not serve it as {}", write.api_version))
        }
        (Ok(_), Err(fault)) => return Err(unread(&what, &fault, &login(&fault), vec![write.key])),
        (Ok(request), Ok(Served::As(resource))) => {
            let namespace = write.key.namespace.as_deref();
            match send(caller, &resource, namespace, &write.key.name, &request).await {
                Ok(object) => ServerSaid::Holds(Box::new(object)),
                Err(fault) => match refusal(&fault, request.verb) {
                    Some(ServerSaid::Refuses(words)) => ServerSaid::Refuses(hide(&write.key, &request.body, &words)),
                    Some(said) => said,
                    None => {
                        let remedy = remedy(&fault, &resource, request.verb);
                        return Err(unread(&what, &fault, &remedy, vec![write.key]));
                    }
                },
            }
        }
    };
    Ok(ServerAnswer { key: write.key, way: write.way, said })
}

/// Sends one write that is not to be carried out.
async fn send(
    caller: &Caller,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
    request: &Request,
) -> Result<Value, CallFault> {
    let (method, content, path) = match request.verb {
        Verb::Create => (Method::POST, JSON, resource.path(namespace)),
        Verb::Replace => (Method::PUT, JSON, resource.object(namespace, name)),
        Verb::MergePatch => (Method::PATCH, "application/merge-patch+json", resource.object(namespace, name)),
        Verb::StrategicMergePatch => {
            (Method::PATCH, "application/strategic-merge-patch+json", resource.object(namespace, name))
        }
        Verb::Apply => (Method::PATCH, "application/apply-patch+yaml", resource.object(namespace, name)),
    };
    let mut path = format!("{path}?dryRun=All&fieldManager={}", request.manager);
    if request.strict {
        path.push_str("&fieldValidation=Strict");
    }
    if request.verb == Verb::Apply {
        path.push_str(if request.force { "&force=true" } else { "&force=false" });
    }
    let body = serde_json::to_vec(&request.body).map_err(|error| CallFault::Other(broken(&error)))?;
    let ask = Ask { method, path: &path, body: Some((content, body)), accept: JSON };
    caller.send(&ask, |bytes| serde_json::from_slice(bytes).map_err(|error| broken(&error))).await
}

/// What a fault says about the write itself; `None` where it only says that there is no answer.
fn refusal(fault: &CallFault, verb: Verb) -> Option<ServerSaid> {
    match fault {
        CallFault::Forbidden(words) if !is_right(words) => Some(ServerSaid::Refuses(words.clone())),
        CallFault::Refused { message, .. } if message.contains("does not support dry run") => None,
        // Somebody else was quicker: what was looked at is not what is there.
        CallFault::Refused { code: 409, .. } if verb != Verb::Apply => None,
        CallFault::Refused { message, .. } => Some(ServerSaid::Refuses(message.clone())),
        CallFault::NotFound(namespace) if verb == Verb::Create => {
            Some(ServerSaid::NotAsked(format!("namespace {namespace} is not there yet")))
        }
        _ => None,
    }
}

/// Whether the words of a 403 are those of the authorizer and not of admission (apiserver
/// `pkg/endpoints/handlers/responsewriters/errors.go`, `forbiddenMessage`).
fn is_right(words: &str) -> bool {
    !words.starts_with("admission webhook") && words.contains(" cannot ") && words.contains(" resource \"")
}

/// What to do about a write that could not be asked about.
fn remedy(fault: &CallFault, resource: &Resource, verb: Verb) -> String {
    let right = match verb {
        Verb::Create => "create",
        Verb::Replace => "update",
        Verb::MergePatch | Verb::StrategicMergePatch | Verb::Apply => "patch",
    };
    match fault {
        // A server-side apply of a new object needs both.
        CallFault::Forbidden(words) if verb == Verb::Apply && words.contains(" cannot create ") => {
            rights::remedy(&resource.group, &resource.plural, &["create", "patch"])
        }
        CallFault::Forbidden(_) => rights::remedy(&resource.group, &resource.plural, &[right]),
        CallFault::Refused { code: 409, .. } | CallFault::NotFound(_) => {
            "it changed while it was looked at; try again".to_owned()
        }
        CallFault::Refused { .. } => {
            "say sideEffects: NoneOnDryRun in the webhook's configuration, or leave --dry-run-server out".to_owned()
        }
        other => login(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden(words: &str) -> CallFault {
        CallFault::Forbidden(words.to_owned())
    }

    #[test]
    fn a_missing_right_is_a_doubt_and_a_denial_is_an_answer() {
        let right = "machinedeployments.cluster.x-k8s.io \"md\" is forbidden: User \"ci\" cannot patch resource \
             \"machinedeployments\" in API group \"cluster.x-k8s.io\" in the namespace \"demo\"";
        assert!(refusal(&forbidden(right), Verb::MergePatch).is_none());
        let denials = [
            "admission webhook \"validation.x\" denied the request: spec.x: forbidden",
            "admission webhook \"x\" denied the request: you cannot patch resource \"y\"",
            "machinedeployments \"md\" is forbidden: ValidatingAdmissionPolicy 'freeze' denied request: not now",
        ];
        for words in denials {
            assert!(matches!(refusal(&forbidden(words), Verb::MergePatch), Some(ServerSaid::Refuses(_))), "{words}");
        }
    }

    #[test]
    fn a_webhook_without_dry_runs_and_a_change_meanwhile_are_doubts() {
        let refused = |code, message: &str| CallFault::Refused { code, message: message.to_owned() };
        let webhook = refused(400, "admission webhook \"x\" does not support dry run");
        assert!(refusal(&webhook, Verb::Apply).is_none());
        let conflict = refused(409, "Apply failed with 1 conflict: conflict with \"editor\"");
        assert!(matches!(refusal(&conflict, Verb::Apply), Some(ServerSaid::Refuses(_))));
        assert!(refusal(&conflict, Verb::Replace).is_none());
        assert!(matches!(
            refusal(&refused(422, "spec.x: Invalid value"), Verb::MergePatch),
            Some(ServerSaid::Refuses(_))
        ));
        assert!(refusal(&CallFault::NotFound("md".to_owned()), Verb::MergePatch).is_none());
        assert!(matches!(
            refusal(&CallFault::NotFound("demo".to_owned()), Verb::Create),
            Some(ServerSaid::NotAsked(_))
        ));
    }
}
