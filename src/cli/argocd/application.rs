//! What an Application of Argo CD says of where its objects come from (Argo CD `pkg/apis/application/v1alpha1/types.go`).

use crate::kinds::fields::{annotation, list, text};
use crate::object::Object;
use crate::tree::{Value, json};

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

    /// Reads one; `home` is the namespace of an object that names none. Several sources stand for the single one (`GetSources`, v3.5.1).
    ///
    /// # Errors
    /// Why it cannot be rendered, whatever its sources are.
    pub(super) fn read(object: &Object, home: &str) -> Result<Self, String> {
        let value = object.value().map_err(|error| error.to_string())?;
        if value.pointer("/spec/sourceHydrator").is_some() {
            return Err("spec.sourceHydrator renders it into another branch".to_owned());
        }
        let mut sources: Vec<Value> = list(&value, "/spec/sources").cloned().collect();
        if sources.is_empty() {
            sources.extend(value.pointer("/spec/source").cloned());
        }
        if sources.is_empty() {
            return Err("it names no source".to_owned());
        }
        let spec = value.pointer("/spec").and_then(Value::as_object).into_iter().flat_map(|spec| spec.iter());
        let beside = spec.filter(|(name, _)| !matches!(name.as_str(), "source" | "sources"));
        let mut rest: Vec<(String, Value)> = beside.map(|(name, value)| (name.to_string(), value.clone())).collect();
        // Of its metadata only this says whether Argo CD looks at it.
        let skips = annotation(&value, "argocd.argoproj.io/skip-reconcile") == Some("true");
        rest.push(("skip-reconcile".to_owned(), skips.into()));
        rest.extend(value.pointer("/operation").map(|operation| ("operation".to_owned(), operation.clone())));
        rest.sort_by(|(one, _), (other, _)| one.cmp(other));
        let cluster = text(&value, "/spec/destination/server").or_else(|| text(&value, "/spec/destination/name"));
        Ok(Self {
            name: object.key.name.clone(),
            home: object.key.namespace.clone().unwrap_or_else(|| home.to_owned()),
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
        self.has("Replace=true") || self.has("Force=true")
    }

    /// The Application with what it says of fields that it leaves alone, as a document of YAML; `None` where it leaves none alone.
    pub(super) fn leaves_alone(&self) -> Option<String> {
        let told = |name: &str| self.rest.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let ignored = told("ignoreDifferences").filter(|_| self.has("RespectIgnoreDifferences=true"))?;
        let metadata = json!({"name": self.name, "namespace": self.home});
        let spec = json!({"syncPolicy": told("syncPolicy"), "ignoreDifferences": ignored});
        let object =
            json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND, "metadata": metadata, "spec": spec});
        Some(format!("\n---\n{object}\n"))
    }

    /// Whether its `syncOptions` have one.
    pub(super) fn has(&self, option: &str) -> bool {
        let policy = self.rest.iter().find(|(name, _)| name == "syncPolicy").map(|(_, policy)| policy);
        policy.into_iter().flat_map(|policy| list(policy, "/syncOptions")).any(|one| one.as_str() == Some(option))
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
        Application::read(&object, "argocd")
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
        // A label decides nothing, an annotation that lets it rest does.
        let text = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: edge, labels: {a: b}, annotations: {argocd.argoproj.io/skip-reconcile: 'SKIPS'}}\nspec: {source: {path: a}}\n";
        let [no, none, yes] = ["no", "false", "true"].map(|word| read(&text.replace("SKIPS", word)).expect("one"));
        assert!(no.differs_in_sources_alone(&none) && !no.differs_in_sources_alone(&yes));
        let both = with("{source: {path: a}, sources: [{path: b}]}").expect("one");
        assert_eq!(both.sources.len(), 1, "the single source is ignored beside several");
    }
}
