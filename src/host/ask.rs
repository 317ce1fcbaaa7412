//! The write as the host sends it, so that the API server can be asked what it would hold (`dryRun=All`): verb, body, field
//! manager and options of each host. A write that one request cannot stand for is not asked, and says why.

use super::last_applied::{annotate, last_applied_patch, last_applied_text};
use super::write::{Before, Last};
use super::{Host, HostKind, kinds};
use crate::apiserver::apply::{Applier, is_mine};
use crate::apiserver::fields::owners;
use crate::apiserver::merge;
use crate::object::{Key, Veil};
use crate::tree::{Map, Value};
use crate::world::WriteMethod;

/// One write that the API server can be asked about.
#[derive(Debug, Clone)]
pub struct Write {
    /// The object.
    pub key: Key,
    /// Its `apiVersion`, as rendered.
    pub api_version: String,
    /// How the host writes it.
    pub way: WriteMethod,
    /// What the host sends; else why it cannot be asked.
    pub request: Result<Request, String>,
}

/// What the host sends.
#[derive(Clone)]
pub struct Request {
    /// How.
    pub verb: Verb,
    /// The body.
    pub body: Value,
    /// Under whose name.
    pub manager: &'static str,
    /// Whether fields of other managers are taken, for an apply.
    pub force: bool,
    /// Whether the server refuses fields that it does not know.
    pub strict: bool,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("verb", &self.verb).field("body", &Veil(&self.body)).finish_non_exhaustive()
    }
}

/// How an object is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// POST of the whole object.
    Create,
    /// PATCH with a JSON merge patch.
    MergePatch,
    /// PATCH with a strategic merge patch, for built-in kinds.
    StrategicMergePatch,
    /// PATCH with the whole object, merged by the server.
    Apply,
    /// PUT of the whole object.
    Replace,
}

/// Who writes, as far as a request shows it.
#[derive(Clone, Copy)]
pub(super) struct Sender<'a> {
    pub(super) host: &'a Host,
    pub(super) applier: Applier<'static>,
}

impl Sender<'_> {
    /// The request that changes a live object.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn change(self, way: WriteMethod, before: &Before<'_>, rendered: &Value) -> Result<Request, String> {
        let marked = self.marked(rendered);
        match way {
            WriteMethod::MergePatch => self.patch(before, &marked),
            WriteMethod::LastApplied => {
                let text = last_applied_text(rendered);
                let mut patch = last_applied_patch(before, rendered);
                annotate(&mut patch, &text);
                Ok(self.request(way, Verb::MergePatch, patch))
            }
            WriteMethod::ServerSideApply if self.moves_ownership(before.live) => {
                Err("the host first makes fields its own that it patched before, and only then applies".to_owned())
            }
            WriteMethod::ServerSideApply => Ok(self.request(way, Verb::Apply, marked)),
            WriteMethod::Replace => {
                let mut whole = marked;
                let version = before.live.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
                whole["metadata"]["resourceVersion"] = version;
                Ok(self.request(way, Verb::Replace, whole))
            }
            WriteMethod::Recreate => Err("the host deletes the live object and makes it again".to_owned()),
        }
    }

    /// The request that makes a new object.
    pub(super) fn create(self, way: WriteMethod, rendered: &Value) -> Request {
        let mut whole = self.marked(rendered);
        match way {
            WriteMethod::ServerSideApply => self.request(way, Verb::Apply, whole),
            WriteMethod::LastApplied => {
                annotate(&mut whole, &last_applied_text(rendered));
                self.request(way, Verb::Create, whole)
            }
            _ => self.request(way, Verb::Create, whole),
        }
    }

    /// Helm's patch. What it wrote last decides about it, so without that there is none.
    fn patch(self, before: &Before<'_>, rendered: &Value) -> Result<Request, String> {
        let way = WriteMethod::MergePatch;
        let (verb, patch) = match before.last {
            Last::Unknown => return Err("what the host wrote last time is not known, so its patch is not".to_owned()),
            Last::Known(last) if kinds::is_built_in(before.key) => {
                (Verb::StrategicMergePatch, merge::three_way(last, rendered, before.live))
            }
            Last::Known(last) => (Verb::MergePatch, merge::diff(last, rendered)),
            Last::Nothing if kinds::is_built_in(before.key) => {
                (Verb::StrategicMergePatch, merge::three_way(rendered, rendered, before.live))
            }
            Last::Taken => (Verb::MergePatch, merge::three_way(rendered, rendered, before.live)),
            Last::Nothing => return Err("the host adopts the object and writes nothing".to_owned()),
        };
        if patch.as_object().is_some_and(Map::is_empty) {
            return Err("the host has nothing to send".to_owned());
        }
        Ok(self.request(way, verb, patch))
    }

    /// A request with the options of this host (helm `pkg/kube/client.go`, `patchResourceServerSide`, `replaceResource`;
    /// kubectl `pkg/cmd/apply/apply.go`).
    fn request(self, way: WriteMethod, verb: Verb, body: Value) -> Request {
        let kubectl = matches!(self.host.kind, Some(HostKind::Kubectl | HostKind::Argocd));
        let client_side = self.host.kind == Some(HostKind::Kubectl) && way == WriteMethod::LastApplied;
        let replaces = verb == Verb::Replace && self.host.kind == Some(HostKind::Helm4);
        Request {
            verb,
            body,
            manager: if client_side { "kubectl-client-side-apply" } else { self.applier.manager },
            force: self.applier.force,
            strict: kubectl || verb == Verb::Apply || replaces,
        }
    }

    /// Whether the host rewrites managed fields before it applies, which a request of its own does.
    fn moves_ownership(self, live: &Value) -> bool {
        owners(live).iter().any(|entry| entry.operation != "Apply" && is_mine(entry, self.applier))
    }

    /// A rendered object with the marks that Helm puts on everything that it writes (helm `pkg/action/validate.go`,
    /// `setMetadataVisitor`).
    fn marked(self, rendered: &Value) -> Value {
        let mut whole = rendered.clone();
        let helm = !matches!(self.host.kind, Some(HostKind::Kubectl | HostKind::Argocd));
        if let (true, Some(release), Some(namespace)) = (helm, &self.host.release, &self.host.namespace) {
            mark(&mut whole, "labels", "app.kubernetes.io/managed-by", "Helm");
            mark(&mut whole, "annotations", "meta.helm.sh/release-name", release);
            mark(&mut whole, "annotations", "meta.helm.sh/release-namespace", namespace);
        }
        whole
    }
}

/// Puts one label or annotation on an object.
pub(super) fn mark(object: &mut Value, marks: &str, key: &str, text: &str) {
    let Some(metadata) = object
        .as_object_mut()
        .map(|map| map.entry("metadata").or_insert_with(|| Value::Object(Map::new())))
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let place = metadata.entry(marks).or_insert_with(|| Value::Object(Map::new()));
    if !place.is_object() {
        *place = Value::Object(Map::new());
    }
    place[key] = Value::from(text);
}
