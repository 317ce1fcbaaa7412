//! What an API server asks and hears, as `admission.k8s.io/v1` has it: a question that is not whole is refused as such, and an answer
//! never uses the words at which a tool deletes an object to make it anew.

use serde::Deserialize;

use crate::object::Object;
use crate::tree::{Value, json};

/// The version that is spoken.
const API_VERSION: &str = "admission.k8s.io/v1";
/// Most characters of one warning: an API server cuts them here where there are many (k8s.io/apiserver `pkg/endpoints/filters/warning.go`, v1.33).
const WARNING: usize = 256;
/// Most warnings of one answer.
const WARNINGS: usize = 8;
/// Most characters of a refusal.
const MESSAGE: usize = 1_200;

/// Words at which Flux and others take a refusal for one that only a new object mends (fluxcd/pkg `ssa/errors/immutable.go`), and what is
/// said in their place. Case does not count.
const WORDS: [(&str, &str); 4] =
    [("immutable", "fixed"), ("invalid value", "refused value"), ("is invalid", "is refused"), ("conflict", "clash")];

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// It is connected to, as a Pod is.
    Connect,
}

impl Operation {
    /// The word of the API server.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// Group, version and kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ReviewedKind {
    /// Group; empty for the core group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

/// Group, version and name in paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Resource {
    /// Group; empty for the core group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Name in paths, such as `machines`.
    pub resource: String,
}

/// A question as it comes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    api_version: String,
    kind: String,
    request: Option<Wire>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    uid: String,
    kind: ReviewedKind,
    resource: Resource,
    #[serde(default)]
    sub_resource: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    operation: Operation,
    #[serde(default)]
    object: Option<Value>,
    #[serde(default)]
    old_object: Option<Value>,
    #[serde(default)]
    dry_run: Option<bool>,
}

/// One write that is asked about.
#[derive(Debug, Clone)]
pub struct Request {
    /// Which question this is.
    pub uid: String,
    /// What the two sides are.
    pub kind: ReviewedKind,
    /// Where they are written.
    pub resource: Resource,
    /// The part that is written, such as `scale`; empty for the object itself.
    pub part: String,
    /// Name of the object.
    pub name: String,
    /// Its namespace, where it has one.
    pub namespace: Option<String>,
    /// What is done.
    pub operation: Operation,
    /// Before it.
    pub before: Option<Object>,
    /// After it.
    pub after: Option<Object>,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// How many bytes it came in.
    pub bytes: usize,
}

/// Reads a question.
///
/// # Errors
/// With what is wrong, without a word of what was sent, when it is none or not whole.
pub fn parse(bytes: &[u8]) -> Result<Request, String> {
    let broken = |error: serde_json::Error| {
        format!("the body is no AdmissionReview (line {}, column {})", error.line(), error.column())
    };
    let envelope: Envelope = serde_json::from_slice(bytes).map_err(broken)?;
    if envelope.api_version != API_VERSION || envelope.kind != "AdmissionReview" {
        return Err(format!("only an AdmissionReview of {API_VERSION} is answered"));
    }
    let wire = envelope.request.ok_or("the AdmissionReview has no request")?;
    if wire.uid.is_empty() {
        return Err("the request has no uid".to_owned());
    }
    let namespace = Some(wire.namespace.clone()).filter(|namespace| !namespace.is_empty());
    let side = |value: Option<Value>, which: &str| -> Result<Option<Object>, String> {
        let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
        let object = Object::from_value(value, 0).map_err(|_| format!("{which} has no apiVersion, kind or name"))?;
        let is_it = object.key.group == wire.kind.group
            && object.key.kind == wire.kind.kind
            && (wire.name.is_empty() || object.key.name == wire.name)
            && object.key.namespace.as_ref().is_none_or(|own| Some(own) == namespace.as_ref());
        is_it.then_some(Some(object)).ok_or_else(|| format!("{which} is not the object that the request names"))
    };
    let after = side(wire.object, "object")?;
    let before = side(wire.old_object, "oldObject")?;
    let whole = match wire.operation {
        Operation::Create => after.is_some() && before.is_none(),
        Operation::Update => after.is_some() && before.is_some(),
        Operation::Delete => after.is_none() && before.is_some(),
        Operation::Connect => true,
    };
    if !whole {
        return Err(format!("a {} has other sides than these", wire.operation.word()));
    }
    let name = after.as_ref().or(before.as_ref()).map_or(wire.name, |object| object.key.name.clone());
    Ok(Request {
        uid: wire.uid,
        kind: wire.kind,
        resource: wire.resource,
        part: wire.sub_resource,
        name,
        namespace,
        operation: wire.operation,
        before,
        after,
        dry_run: wire.dry_run.unwrap_or(false),
        bytes: bytes.len(),
    })
}

/// What an API server hears.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// Why the write is refused; `None` where it may go on.
    pub refusal: Option<String>,
    /// What whoever writes should know.
    pub warnings: Vec<String>,
    /// What the audit log of the API server keeps, by name.
    pub audit: Vec<(&'static str, String)>,
}

/// An answer as it goes out.
#[must_use]
pub(crate) fn print(uid: &str, answer: &Response) -> Vec<u8> {
    let mut response = json!({"uid": uid, "allowed": answer.refusal.is_none()});
    if let Some(message) = &answer.refusal {
        let message = harmless(&cut(message, MESSAGE));
        response["status"] = json!({"status": "Failure", "reason": "Forbidden", "code": 403, "message": message});
    }
    if !answer.warnings.is_empty() {
        let shown = answer.warnings.iter().take(WARNINGS).map(|text| cut(&harmless(&one_line(text)), WARNING));
        response["warnings"] = json!(shown.collect::<Vec<_>>());
    }
    for (name, text) in &answer.audit {
        response["auditAnnotations"][*name] = json!(text);
    }
    let review = json!({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": Value::Null});
    let mut review = review;
    review["response"] = response;
    format!("{review}").into_bytes()
}

/// A text without line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text of at most so many characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most - 1).collect();
    short.push('…');
    short
}

/// A text without the words that make others delete and recreate an object.
fn harmless(text: &str) -> String {
    let mut out = text.to_owned();
    for (word, instead) in WORDS {
        while let Some(at) = out.to_ascii_lowercase().find(word) {
            out.replace_range(at..at + word.len(), instead);
        }
    }
    out
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;
