//! The HelmChart that helm-controller makes of `spec.chart`. It makes none while a release is suspended, so the gate does, with the same
//! content, or a new version of the chart would never be fetched, and be fetched unjudged once the release is resumed.

use super::{RELEASES, SOURCES};
use crate::kinds::fields::text;
use crate::object::Key;
use crate::policy::duration;
use crate::tree::{Map, Value, json};

/// The version of the API of sources.
const VERSION: &str = "v1";
/// What is said of a field that a template does not have (source-controller `api/v1/helmchart_types.go`).
const DEFAULTS: [(&str, Option<&str>); 5] = [
    ("version", Some("*")),
    ("reconcileStrategy", Some("ChartVersion")),
    ("valuesFiles", None),
    ("ignoreMissingValuesFiles", None),
    ("verify", None),
];

/// Where the HelmChart of a HelmRelease is, and what it says; `None` where it has no `spec.chart` (helm-controller
/// `internal/reconcile/helmchart_template.go`, `buildHelmChartFromTemplate`).
#[must_use]
pub(crate) fn wanted(release: &Value) -> Option<(String, String, Value)> {
    let chart = release.pointer("/spec/chart").filter(|chart| chart.is_object())?;
    let own = text(release, "/metadata/namespace")?;
    let name = format!("{own}-{}", text(release, "/metadata/name")?);
    let namespace = text(chart, "/spec/sourceRef/namespace").unwrap_or(own).to_owned();
    let mut spec = Map::new();
    for field in ["chart", "version", "reconcileStrategy", "valuesFiles", "ignoreMissingValuesFiles", "verify"] {
        if let Some(value) = chart.pointer(&format!("/spec/{field}")).filter(|value| !value.is_null()) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
    let interval = text(chart, "/spec/interval").or_else(|| text(release, "/spec/interval"))?;
    spec.insert("interval".to_owned(), json!(interval));
    let source = json!({"kind": text(chart, "/spec/sourceRef/kind")?, "name": text(chart, "/spec/sourceRef/name")?});
    spec.insert("sourceRef".to_owned(), source);
    let mut labels = chart.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    labels.insert(format!("{RELEASES}/name"), json!(text(release, "/metadata/name")));
    labels.insert(format!("{RELEASES}/namespace"), json!(own));
    let annotations = chart.pointer("/metadata/annotations").cloned().unwrap_or_else(|| json!({}));
    let body = json!({"apiVersion": format!("{SOURCES}/{VERSION}"), "kind": "HelmChart",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}, "spec": spec});
    Some((namespace, name, body))
}

/// What has to be merged into a HelmChart so that it says what is wanted; `None` where it does.
#[must_use]
pub(crate) fn difference(there: &Value, wanted: &Value) -> Option<Value> {
    let mut merge = Map::new();
    let empty = Map::new();
    let say = wanted.get("spec").and_then(Value::as_object).unwrap_or(&empty);
    for (field, value) in say {
        let is = there.pointer(&format!("/spec/{field}"));
        // Flux writes 1h as 1h0m0s.
        let length = |value: Option<&Value>| value.and_then(Value::as_str).and_then(|text| duration(text).ok());
        let lasts_as_long = *field == "interval" && length(is).is_some() && length(is) == length(Some(value));
        if is != Some(value) && !lasts_as_long {
            merge.insert(field.to_string(), value.clone());
        }
    }
    for (field, default) in DEFAULTS.iter().filter(|(field, _)| !say.contains_key(field)) {
        let nothing =
            |is: &Value| is.is_null() || *is == Value::Bool(false) || is.as_array().is_some_and(Vec::is_empty);
        let is = there.pointer(&format!("/spec/{field}")).filter(|is| !nothing(is));
        if is.is_some_and(|is| default.is_none_or(|default| is.as_str() != Some(default))) {
            merge.insert((*field).to_owned(), default.map_or(Value::Null, Value::from));
        }
    }
    (!merge.is_empty()).then(|| json!({"spec": merge}))
}

/// The object that serves the chart of a release, there or not.
#[must_use]
pub(crate) fn key(release: &Value) -> Option<Key> {
    let (namespace, kind, name) = match wanted(release) {
        Some((namespace, name, _)) => (namespace, "HelmChart".to_owned(), name),
        None => {
            let word = |field: &str| text(release, &format!("/spec/chartRef/{field}")).map(str::to_owned);
            let own = text(release, "/metadata/namespace").map(str::to_owned);
            (word("namespace").or(own)?, word("kind")?, word("name")?)
        }
    };
    Some(Key::of(SOURCES, kind, Some(namespace), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_helm_controller_makes() {
        let release = json!({"metadata": {"name": "edge", "namespace": "telco"}, "spec": {"interval": "10m",
            "chart": {"spec": {"chart": "./chart", "sourceRef": {"kind": "GitRepository", "name": "fleet", "namespace": "flux-system"},
                "version": "1.x", "valuesFiles": ["a.yaml"]}}}});
        let (namespace, name, body) = wanted(&release).expect("a chart");
        assert_eq!((namespace.as_str(), name.as_str()), ("flux-system", "telco-edge"));
        assert_eq!(
            body["spec"],
            json!({"chart": "./chart", "version": "1.x", "valuesFiles": ["a.yaml"], "interval": "10m",
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}})
        );
        let mut there = body.clone();
        there["spec"]["reconcileStrategy"] = json!("ChartVersion");
        there["spec"]["ignoreMissingValuesFiles"] = json!(false);
        assert_eq!(difference(&there, &body), None);
        there["spec"]["interval"] = json!("10m0s");
        assert_eq!(difference(&there, &body), None);
        there["spec"]["verify"] = json!({"provider": "cosign"});
        there["spec"]["version"] = json!("1.2.0");
        assert_eq!(difference(&there, &body), Some(json!({"spec": {"version": "1.x", "verify": null}})));
        assert_eq!(wanted(&json!({"metadata": {"name": "a", "namespace": "b"}, "spec": {"chartRef": {}}})), None);
    }
}
