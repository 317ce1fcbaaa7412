//! The chart that source-controller of a cluster serves, for a HelmRelease whose chart is nowhere here. It is taken only where the sources
//! that were given say what those of the cluster say: else it is the chart of another HelmRelease.

use super::artifact::Artifact;
use super::given::{Given, Live};
use crate::flux::release::Release;
use crate::flux::{SOURCES, helm_chart};
use crate::kinds::fields::text;
use crate::tree::Value;

/// Kinds of sources whose content no merge request of this repository changes, with their names in paths. A GitRepository is none of
/// them: it may be this repository, and what it serves is then what was merged before.
const KINDS: [(&str, &str); 4] = [
    ("OCIRepository", "ocirepositories"),
    ("HelmChart", "helmcharts"),
    ("HelmRepository", "helmrepositories"),
    ("Bucket", "buckets"),
];
/// The fields by which a source finds its content, with what the API server says where nothing is said (source-controller `api/v1`).
const FIELDS: [(&str, Option<&str>); 15] = [
    ("url", None),
    ("ref", None),
    ("layerSelector", None),
    ("ignore", None),
    ("type", Some("default")),
    ("bucketName", None),
    ("endpoint", None),
    ("region", None),
    ("prefix", None),
    ("chart", None),
    ("version", Some("*")),
    ("sourceRef", None),
    ("valuesFiles", None),
    ("ignoreMissingValuesFiles", None),
    ("reconcileStrategy", Some("ChartVersion")),
];

/// A chart that is served.
#[derive(Debug)]
pub(super) struct Served {
    /// The archive.
    pub(super) artifact: Artifact,
    /// What Flux writes behind the version of the chart (helm-controller `mutateChartWithSourceRevision`); `None` where it writes nothing.
    pub(super) mark: Option<String>,
}

/// The name of a kind in paths.
fn plural(kind: &str) -> Option<&'static str> {
    KINDS.iter().find(|(one, _)| *one == kind).map(|(_, plural)| *plural)
}

impl Served {
    /// The chart of a HelmRelease, as the cluster serves it now.
    ///
    /// # Errors
    /// With what keeps it from being that.
    pub(super) fn of(release: &Release, given: &Given, live: &Live) -> Result<Self, String> {
        let mut value = release.value.clone();
        value["metadata"]["namespace"] = release.namespace.as_str().into();
        let key = helm_chart::key(&value).ok_or("it names no chart")?;
        let namespace = key.namespace.clone().unwrap_or_default();
        let there = same(given, live, &key.kind, &namespace, &key.name)?;
        let title = format!("{} {namespace}/{}", key.kind, key.name);
        if let Some((_, _, wanted)) = helm_chart::wanted(&value) {
            let difference = helm_chart::difference(&there, &wanted);
            // How often somebody looks is no part of the chart.
            let fields = difference.as_ref().and_then(|merge| merge.get("spec")?.as_object());
            if fields.is_some_and(|fields| fields.keys().any(|field| *field != "interval")) {
                return Err(format!("{title} of the cluster is made of another spec.chart than this one"));
            }
        }
        if let (Some(kind), Some(name)) = (text(&there, "/spec/sourceRef/kind"), text(&there, "/spec/sourceRef/name")) {
            same(given, live, kind, &namespace, name)?;
        }
        let artifact = Artifact::of(&there, &title)?;
        let digest = artifact.revision.rsplit_once(':').and_then(|(_, digest)| digest.get(..12)).map(str::to_owned);
        let mark = match key.kind.as_str() {
            "OCIRepository" => Some(digest.ok_or_else(|| format!("{title} has a revision without a digest"))?),
            _ => None,
        };
        Ok(Self { artifact, mark })
    }
}

/// A source of the cluster that says what the one says that was given, where one was.
fn same(given: &Given, live: &Live, kind: &str, namespace: &str, name: &str) -> Result<Value, String> {
    let title = format!("{kind} {namespace}/{name}");
    let plural = plural(kind).ok_or_else(|| format!("{title} is not taken from the cluster"))?;
    let there = live.source(plural, namespace, name)?.ok_or_else(|| format!("{title} is not in the cluster"))?;
    if let Some(told) = given.object(SOURCES, kind, namespace, name)?
        && let Some(field) = differs(&told, &there)
    {
        return Err(format!("{title} of the cluster has another spec.{field} than the one that was given"));
    }
    Ok(there)
}

/// The first field by which two sources find other contents.
fn differs(one: &Value, other: &Value) -> Option<&'static str> {
    let is = |source: &Value, field: &str, default: Option<&str>| {
        let value = source.pointer(&format!("/spec/{field}")).cloned().unwrap_or_default();
        let nothing = value.is_null() || value == Value::Bool(false) || value.as_array().is_some_and(Vec::is_empty);
        if nothing { default.map_or(Value::Null, Value::from) } else { value }
    };
    let mut fields = FIELDS.iter().map(|(field, default)| (*field, *default));
    fields.find(|(field, default)| is(one, field, *default) != is(other, field, *default)).map(|(field, _)| field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn what_an_api_server_fills_in_is_no_difference_and_another_tag_is_one() {
        let told = json!({"spec": {"url": "oci://r.example.org/edge", "ref": {"tag": "1.2"}, "interval": "1m"}});
        let mut there = json!({"spec": {"url": "oci://r.example.org/edge", "ref": {"tag": "1.2"}, "interval": "5m", "timeout": "60s", "provider": "generic"}});
        assert_eq!(differs(&told, &there), None);
        there["spec"]["ref"] = json!({"tag": "1.3"});
        assert_eq!(differs(&told, &there), Some("ref"));
        let told = json!({"spec": {"chart": "edge", "sourceRef": {"kind": "HelmRepository", "name": "a"}}});
        let there = json!({"spec": {"chart": "edge", "sourceRef": {"kind": "HelmRepository", "name": "a"}, "version": "*",
            "reconcileStrategy": "ChartVersion", "ignoreMissingValuesFiles": false}});
        assert_eq!(differs(&told, &there), None);
        assert_eq!(differs(&json!({"spec": {"chart": "edge", "version": "1.x"}}), &there), Some("version"));
    }
}
