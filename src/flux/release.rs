//! A HelmRelease: what helm-controller calls its release and where, which chart it takes, and what it does to the manifests that
//! Helm rendered.

use sha2::{Digest as _, Sha256};

use super::RELEASES;
use crate::kinds::fields::{annotation, list, text};
use crate::object::Object;
use crate::tree::{Map, Value, json};

/// Longest name of a release (helm-controller `internal/release/name.go`).
const LONGEST: usize = 53;

/// Why a HelmRelease with a kubeconfig is not rendered.
pub(crate) const REMOTE: &str = "it installs into another cluster (spec.kubeConfig)";

/// Where the chart of a HelmRelease comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// `GitRepository`, `HelmRepository`, `OCIRepository`, ...
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The chart in it; `None` where the source is the chart.
    pub chart: Option<String>,
    /// Values files of the source, which stand for the chart's own values.
    pub values_files: Vec<String>,
    /// Whether those that are not there are passed over.
    pub ignores_missing_files: bool,
    /// Whether the version of the chart gets the revision of the source.
    pub by_revision: bool,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// What post-renderers see of a chart's hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hooks {
    /// Both in one stream.
    Combined,
    /// The manifests alone.
    Left,
    /// Each in a stream of its own.
    Separate,
}

/// A HelmRelease as far as it decides what is rendered.
#[derive(Debug, Clone)]
pub(crate) struct Release {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Name of the release of Helm.
    pub release: String,
    /// Namespace that is installed into.
    pub target: String,
    /// Namespace of the release records.
    pub storage: String,
    /// Where its chart comes from.
    pub source: Source,
    /// What post-renderers see of hooks.
    pub hooks: Hooks,
    /// Whether the values are not checked with the chart's schema.
    pub skips_schema: bool,
    /// The object itself.
    pub value: Value,
}

/// Whether an object is a HelmRelease.
#[must_use]
pub(crate) fn is_one(object: &Object) -> bool {
    object.key.group == RELEASES && object.key.kind == "HelmRelease"
}

/// The name of a release, cut where it is too long for Helm (helm-controller `internal/release/name.go`, `ShortenName`).
#[must_use]
pub(crate) fn shortened(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let digest: String = Sha256::digest(name.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}", name.get(..LONGEST - 13).unwrap_or(name), digest.get(..12).unwrap_or_default())
}

impl Release {
    /// Reads one; `home` is the namespace of an object that names none.
    ///
    /// # Errors
    /// Where it is none that helm-controller takes, or it asks for what is not rendered here.
    pub(crate) fn of(object: &Object, home: &str) -> Result<Self, String> {
        let value = object.value().map_err(|error| error.to_string())?.into_owned();
        let word = |pointer: &str| text(&value, pointer).filter(|text| !text.is_empty());
        let namespace = object.key.namespace.clone().unwrap_or_else(|| home.to_owned());
        let name = object.key.name.clone();
        let target = word("/spec/targetNamespace");
        let composed = target.map_or_else(|| name.clone(), |target| format!("{target}-{name}"));
        let release = shortened(word("/spec/releaseName").unwrap_or(&composed));
        let hooks = match word("/spec/postRenderStrategy") {
            None | Some("combined") => Hooks::Combined,
            Some("nohooks") => Hooks::Left,
            Some("separate") => Hooks::Separate,
            Some(other) => return Err(format!("its postRenderStrategy {other:?} is none that Flux takes")),
        };
        if word("/spec/kubeConfig/secretRef/name").or_else(|| word("/spec/kubeConfig/configMapRef/name")).is_some() {
            return Err(REMOTE.to_owned());
        }
        if value.pointer("/spec/upgrade/preserveValues") == Some(&Value::Bool(true)) {
            return Err(
                "it takes over values of its last release (spec.upgrade.preserveValues), which are not read here"
                    .to_owned(),
            );
        }
        for one in list(&value, "/spec/postRenderers") {
            known(one, &["kustomize"], "a post-renderer")?;
            known(one.get("kustomize").unwrap_or(&Value::Null), &["patches", "images"], "a kustomize post-renderer")?;
        }
        Ok(Self {
            release,
            target: target.unwrap_or(&namespace).to_owned(),
            storage: word("/spec/storageNamespace").unwrap_or(&namespace).to_owned(),
            source: source(&value, &namespace)?,
            hooks,
            skips_schema: ["install", "upgrade"].iter().any(|verb| {
                value.pointer(&format!("/spec/{verb}/disableSchemaValidation")) == Some(&Value::Bool(true))
            }),
            namespace,
            name,
            value,
        })
    }

    /// Whether a write of `now` lets go what this one held back, or tells Flux to do everything anew.
    #[must_use]
    pub(crate) fn wakes(&self, now: &Self) -> bool {
        let rests = |one: &Self| one.value.pointer("/spec/suspend") == Some(&Value::Bool(true));
        let forced = |one: &Self, name: &str| annotation(&one.value, name).map(str::to_owned);
        let is_forced = |name: &str| forced(now, name).is_some() && forced(now, name) != forced(self, name);
        (rests(self) && !rests(now))
            || ["reconcile.fluxcd.io/forceAt", "reconcile.fluxcd.io/resetAt"].into_iter().any(is_forced)
    }

    /// What it says, without when it is done.
    #[must_use]
    pub(crate) fn content(&self) -> Value {
        let mut spec = self.value.get("spec").cloned().unwrap_or_default();
        for field in ["interval", "retryInterval", "timeout"] {
            drop(spec.as_object_mut().and_then(|spec| spec.remove(field)));
        }
        spec
    }

    /// What of it makes Flux write over what has drifted, whatever is rendered.
    #[must_use]
    pub(crate) fn corrects(&self) -> [Option<&Value>; 2] {
        ["/spec/driftDetection", "/spec/upgrade/serverSideApply"].map(|pointer| self.value.pointer(pointer))
    }

    /// Whether Flux writes the definitions of the chart's `crds` (helm-controller `internal/action/crds.go`).
    #[must_use]
    pub(crate) fn writes_definitions(&self, first: bool) -> bool {
        let (pointer, default) = if first { ("/spec/install/crds", "Create") } else { ("/spec/upgrade/crds", "Skip") };
        text(&self.value, pointer).filter(|text| !text.is_empty()).unwrap_or(default) != "Skip"
    }

    /// Which definitions of the chart's `crds` an upgrade writes: `Create` leaves what is there, and none is ever removed (helm-controller
    /// `internal/action/crds.go`, `applyCRDs`, v1.6.3).
    #[must_use]
    pub(crate) fn replaces_definitions(&self) -> bool {
        text(&self.value, "/spec/upgrade/crds") == Some("CreateReplace")
    }

    /// Whether upgrades are patches whatever the release was written with. Else they may be applied, as what helm-controller installs is by
    /// default (v1.6.3).
    #[must_use]
    pub(crate) fn patches(&self) -> bool {
        text(&self.value, "/spec/upgrade/serverSideApply") == Some("disabled")
    }

    /// Whether upgrades replace objects whole, where they are not applied.
    #[must_use]
    pub(crate) fn replaces(&self) -> bool {
        self.value.pointer("/spec/upgrade/force") == Some(&Value::Bool(true))
    }

    /// How it is called.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The kustomizations of its post-renderers over `input`, in their order (helm-controller
    /// `internal/postrender/kustomize.go`).
    #[must_use]
    pub(crate) fn kustomizations(&self, input: &str) -> Vec<Value> {
        let all = list(&self.value, "/spec/postRenderers").filter_map(|one| one.get("kustomize"));
        all.map(|one| {
            let pick = |item: &Value, fields: &[&str]| {
                let has = |field: &&&str| item.get(**field).is_some_and(|value| !value.is_null());
                let picked = fields.iter().filter(has).map(|field| ((*field).to_owned(), item[*field].clone()));
                picked.collect::<Map>()
            };
            let target = ["group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector"];
            let patches = list(one, "/patches").map(|patch| {
                let mut out = pick(patch, &["patch"]);
                if let Some(selector) = patch.get("target").filter(|selector| selector.is_object()) {
                    out.insert("target".to_owned(), Value::Object(pick(selector, &target)));
                }
                Value::Object(out)
            });
            let images =
                list(one, "/images").map(|image| Value::Object(pick(image, &["name", "newName", "newTag", "digest"])));
            json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": [input],
                "patches": patches.collect::<Vec<_>>(), "images": images.collect::<Vec<_>>()})
        })
        .collect()
    }

    /// The transformers of what it adds to all objects: common labels and annotations, and the labels by which an object is found to
    /// be of this HelmRelease, which win (`internal/postrender/build.go`, `common_renderer.go`).
    #[must_use]
    pub(crate) fn metadata(&self) -> Vec<Value> {
        let common = |field: &str| {
            let map = self.value.pointer(&format!("/spec/commonMetadata/{field}")).and_then(Value::as_object);
            map.cloned().unwrap_or_default()
        };
        let mut labels = common("labels");
        labels.insert(format!("{RELEASES}/name"), json!(self.name));
        labels.insert(format!("{RELEASES}/namespace"), json!(self.namespace));
        let annotations = common("annotations");
        let transformer = |kind: &str, field: &str, map: Map| {
            json!({"apiVersion": "builtin", "kind": kind, "metadata": {"name": field}, field: map,
                "fieldSpecs": [{"path": format!("metadata/{field}"), "create": true}]})
        };
        let mut out = vec![transformer("LabelTransformer", "labels", labels)];
        if !annotations.is_empty() {
            out.push(transformer("AnnotationsTransformer", "annotations", annotations));
        }
        out
    }
}

/// Refuses fields that nobody here knows: what they do would be missing.
fn known(value: &Value, fields: &[&str], what: &str) -> Result<(), String> {
    let mut names = value.as_object().into_iter().flat_map(Map::keys);
    names
        .find(|name| !fields.contains(&name.as_str()))
        .map_or(Ok(()), |name| Err(format!("{what} has a field {name}, which is not rendered here")))
}

fn source(value: &Value, namespace: &str) -> Result<Source, String> {
    let spec = value.pointer("/spec/chart/spec").filter(|spec| spec.is_object());
    let reference = value.pointer("/spec/chartRef").filter(|reference| reference.is_object());
    let named = |reference: &Value| {
        let word = |field: &str| text(reference, field).filter(|text| !text.is_empty()).map(str::to_owned);
        let lacks = |field: &str| format!("the source of its chart has no {field}");
        Ok::<_, String>(Source {
            kind: word("/kind").ok_or_else(|| lacks("kind"))?,
            namespace: word("/namespace").unwrap_or_else(|| namespace.to_owned()),
            name: word("/name").ok_or_else(|| lacks("name"))?,
            chart: None,
            values_files: Vec::new(),
            ignores_missing_files: false,
            by_revision: false,
        })
    };
    match (spec, reference) {
        (Some(spec), None) => {
            let chart = text(spec, "/chart").filter(|chart| !chart.is_empty()).ok_or("it names no chart")?;
            let source = named(spec.get("sourceRef").unwrap_or(&Value::Null))?;
            Ok(Source { chart: Some(chart.to_owned()), ..chart_of(spec, source) })
        }
        (None, Some(reference)) => named(reference),
        _ => Err("it must have either chart or chartRef".to_owned()),
    }
}

/// What a HelmChart is made from.
///
/// # Errors
/// Where it does not say.
pub(crate) fn of_helm_chart(chart: &Value, reference: &Source) -> Result<Source, String> {
    let spec = chart.get("spec").unwrap_or(&Value::Null);
    let word = |pointer: &str| text(spec, pointer).filter(|text| !text.is_empty()).map(str::to_owned);
    let (Some(kind), Some(name), Some(_)) = (word("/sourceRef/kind"), word("/sourceRef/name"), word("/chart")) else {
        return Err(format!("{reference} names no chart of a source"));
    };
    Ok(chart_of(spec, Source { kind, name, ..reference.clone() }))
}

/// The fields of a chart's template, which a HelmChart has too.
fn chart_of(spec: &Value, source: Source) -> Source {
    let files = list(spec, "/valuesFiles").filter_map(Value::as_str).map(str::to_owned);
    Source {
        chart: text(spec, "/chart").map(str::to_owned),
        values_files: files.collect(),
        ignores_missing_files: spec.get("ignoreMissingValuesFiles") == Some(&Value::Bool(true)),
        by_revision: text(spec, "/reconcileStrategy") == Some("Revision"),
        ..source
    }
}
