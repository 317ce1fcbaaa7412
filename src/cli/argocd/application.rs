//! What an Application of Argo CD says of where its objects come from (Argo CD `pkg/apis/application/v1alpha1/types.go`).

use crate::kinds::fields::{list, text};
use crate::object::Object;
use crate::tree::Value;

/// Group and kind of an Application.
const GROUP: &str = "argoproj.io";
const KIND: &str = "Application";
/// The cluster that Argo CD itself runs in.
const HERE: [&str; 2] = ["https://kubernetes.default.svc", "in-cluster"];

/// An Application.
#[derive(Debug, Clone)]
pub(super) struct Application {
    pub(super) name: String,
    /// The namespace that it is in.
    pub(super) home: String,
    /// The namespace that its objects go into, where it says so.
    pub(super) target: Option<String>,
    /// The cluster that its objects go into, where that is another one.
    pub(super) elsewhere: Option<String>,
    pub(super) sources: Vec<Value>,
    /// What it says beside that.
    rest: Vec<(String, Value)>,
}

impl Application {
    /// Whether an object is one.
    pub(super) fn is_one(object: &Object) -> bool {
        object.key.group == GROUP && object.key.kind == KIND
    }

    /// Reads one.
    ///
    /// # Errors
    /// Why it cannot be rendered, whatever its sources are.
    pub(super) fn read(object: &Object) -> Result<Self, String> {
        let value = object.value().map_err(|error| error.to_string())?;
        if value.pointer("/spec/sourceHydrator").is_some() {
            return Err("spec.sourceHydrator renders it into another branch".to_owned());
        }
        let single = value.pointer("/spec/source").cloned();
        let sources: Vec<Value> = single.into_iter().chain(list(&value, "/spec/sources").cloned()).collect();
        if sources.is_empty() {
            return Err("it names no source".to_owned());
        }
        let spec = value.pointer("/spec").and_then(Value::as_object).into_iter().flat_map(|spec| spec.iter());
        let beside = spec.filter(|(name, _)| !matches!(name.as_str(), "source" | "sources"));
        let mut rest: Vec<(String, Value)> = beside.map(|(name, value)| (name.to_string(), value.clone())).collect();
        rest.extend(value.pointer("/metadata").map(|metadata| ("metadata".to_owned(), metadata.clone())));
        rest.extend(value.pointer("/operation").map(|operation| ("operation".to_owned(), operation.clone())));
        rest.sort_by(|(one, _), (other, _)| one.cmp(other));
        let cluster = text(&value, "/spec/destination/server").or_else(|| text(&value, "/spec/destination/name"));
        Ok(Self {
            name: object.key.name.clone(),
            home: object.key.namespace.clone().unwrap_or_else(|| "argocd".to_owned()),
            target: text(&value, "/spec/destination/namespace").map(str::to_owned),
            elsewhere: cluster.filter(|cluster| !HERE.contains(cluster)).map(str::to_owned),
            sources,
            rest,
        })
    }

    /// How it is called.
    pub(super) fn title(&self) -> String {
        format!("{}/{}", self.home, self.name)
    }

    /// Whether it says the same but for its sources: then only what they render changes.
    pub(super) fn differs_in_sources_alone(&self, other: &Self) -> bool {
        self.rest == other.rest
    }

    /// Whether Argo CD may replace or delete objects to write them, which no prediction knows of.
    pub(super) fn replaces(&self) -> bool {
        let policy = self.rest.iter().find(|(name, _)| name == "syncPolicy").map(|(_, policy)| policy);
        let options = policy.into_iter().flat_map(|policy| list(policy, "/syncOptions"));
        options.filter_map(Value::as_str).any(|option| matches!(option, "Replace=true" | "Force=true"))
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::object::Stream;

    fn read(text: &str) -> Result<Application, String> {
        let bytes = bytes::Bytes::copy_from_slice(text.as_bytes());
        let stream = Stream::load(&bytes).expect("a stream");
        let object = stream.objects.objects().first().expect("an object").clone();
        assert!(Application::is_one(&object));
        Application::read(&object)
    }

    fn with(spec: &str) -> Result<Application, String> {
        read(&format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: edge, namespace: argocd}}\nspec: {spec}\n"
        ))
    }

    #[test]
    fn what_it_says_is_read() {
        let one = with("{source: {path: a}, destination: {server: 'https://kubernetes.default.svc', namespace: demo}}")
            .expect("one");
        assert_eq!(
            (one.title().as_str(), one.target.as_deref(), one.elsewhere.as_deref()),
            ("argocd/edge", Some("demo"), None)
        );
        let other = with(
            "{sources: [{path: b}, {ref: values}], destination: {namespace: demo, server: 'https://kubernetes.default.svc'}}",
        );
        let other = other.expect("one");
        assert!(one.differs_in_sources_alone(&other) && other.sources.len() == 2);
        let moved = with("{source: {path: a}, destination: {name: edge-1}}").expect("one");
        assert!(!one.differs_in_sources_alone(&moved) && moved.elsewhere.as_deref() == Some("edge-1"));
        let forced = with("{source: {path: a}, syncPolicy: {syncOptions: [Replace=true]}}").expect("one");
        assert!(forced.replaces() && !one.replaces());
        assert!(with("{destination: {}}").expect_err("none").contains("no source"));
    }
}
