//! What is seen of a HelmRelease: the object as it stands, the artifact of its chart, and which objects its values come from, by the
//! version that the API server gives each write. No value is read here.

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::super::api::{Api, ApiFault};
use super::marks::{self, Gated};
use super::state::{Flux, Made, Observed, Phase};
use crate::apiserver::fields::canonical;
use crate::flux::release::Source;
use crate::flux::values::{self, Reference};
use crate::flux::{RELEASES, SOURCES, helm_chart};
use crate::kinds::contract::SECRET;
use crate::kinds::fields::{annotation, list, text};
use crate::object::Identity;
use crate::policy;
use crate::session::flux::artifact::Artifact;
use crate::tree::Value;

/// The version of HelmReleases.
pub(super) const VERSION: &str = "v2";
/// How often a release is reconciled that does not say it.
const INTERVAL: Duration = Duration::from_secs(600);
/// How long helm-controller takes where nothing is said.
const TIMEOUT: Duration = Duration::from_secs(300);
/// What a person asks Flux for on a HelmRelease.
const ASKED: [&str; 3] =
    ["reconcile.fluxcd.io/requestedAt", "reconcile.fluxcd.io/forceAt", "reconcile.fluxcd.io/resetAt"];

/// A HelmRelease by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Name {
    /// Where it is.
    pub(super) fn path(&self) -> String {
        format!("/apis/{RELEASES}/{VERSION}/namespaces/{}/helmreleases/{}", self.namespace, self.name)
    }
}

/// What this replica remembers of a release; after a restart it knows nothing of it, and nothing is lost by that.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// When it was judged last.
    pub(super) judged: Option<Timestamp>,
    /// Whether something has changed that decides, since then.
    pub(super) stirred: bool,
    /// What a person asked for when it was looked at last.
    asked: Option<String>,
}

/// What was seen.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// The HelmRelease.
    pub(super) release: Value,
    /// What its chart comes from, with its artifact.
    pub(super) source: Option<(Value, Artifact)>,
    /// What the next step is decided by.
    pub(super) observed: Observed,
}

/// Looks at a HelmRelease that was read a moment ago.
pub(super) async fn at(api: &Api, gated: &Gated, release: Value, memory: &mut Memory) -> Seen {
    let state = marks::read(&release);
    let flag = |pointer: &str| release.pointer(pointer) == Some(&Value::Bool(true));
    let (asked, suspended) = (gated.is_one(&release), flag("/spec/suspend"));
    let deleting = text(&release, "/metadata/deletionTimestamp").is_some();
    let rests = suspended && state.as_ref().is_none_or(|state| state.phase == Phase::Theirs);
    let (made, source) = match asked && !deleting && !rests {
        true => match made(api, &release).await {
            Ok((made, source, artifact)) => (Ok(made), Some((source, artifact))),
            Err(why) => (Err(why), None),
        },
        false => (Err("it is not looked at".to_owned()), None),
    };
    let request = ASKED.map(|name| annotation(&release, name).unwrap_or_default()).join(" ");
    let is_news = memory.asked.replace(request.clone()).is_some_and(|before| before != request);
    memory.stirred |= is_news;
    let generation = release.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
    let length = |pointer: &str| text(&release, pointer).and_then(|text| policy::duration(text).ok());
    let timeout = ["/spec/timeout", "/spec/install/timeout", "/spec/upgrade/timeout"].into_iter().filter_map(length);
    let observed = Observed {
        asked,
        deleting,
        guarded: list(&release, "/metadata/finalizers").any(|one| one.as_str() == Some(marks::GUARD)),
        suspended,
        generation,
        made,
        flux: flux(&release, generation),
        interval: length("/spec/interval").unwrap_or(INTERVAL),
        timeout: timeout.max().unwrap_or(TIMEOUT),
        now: Timestamp::now(),
        judged: memory.judged,
        stirred: memory.stirred,
    };
    Seen { release, source, observed }
}

/// What helm-controller says in the status.
fn flux(release: &Value, generation: i64) -> Flux {
    let condition = |kind: &str| list(release, "/status/conditions").find(|one| text(one, "/type") == Some(kind));
    let is = |kind: &str| condition(kind).and_then(|one| text(one, "/status")) == Some("True");
    let number = |field: &str| release.pointer(&format!("/status/{field}")).and_then(Value::as_i64);
    // Between two attempts of RetryOnFailure it says that it is reconciling too.
    let pauses = condition("Reconciling").and_then(|one| text(one, "/reason")) == Some("ProgressingWithRetry");
    Flux {
        began: number("lastAttemptedGeneration") == Some(generation),
        done: number("observedGeneration") == Some(generation) && (!is("Reconciling") || pauses),
        ready: is("Ready"),
        stalled: is("Stalled"),
        installed: list(release, "/status/history").next().is_some()
            || text(release, "/status/storageNamespace").is_some_and(|text| !text.is_empty()),
        said: condition("Ready").and_then(|one| text(one, "/message")).unwrap_or("it says nothing").to_owned(),
    }
}

/// What a release is made of, with the source of its chart.
async fn made(api: &Api, release: &Value) -> Result<(Made, Value, Artifact), String> {
    let (source, artifact) = source(api, release).await?;
    let references = values::references(release).map_err(|fault| fault.to_string())?;
    let namespace = text(release, "/metadata/namespace").unwrap_or_default();
    let mut versions = String::new();
    for reference in &references {
        versions.push_str(&version(api, namespace, reference).await?);
        versions.push('\n');
    }
    let mut spec = release.get("spec").cloned().unwrap_or_default();
    if let Some(spec) = spec.as_object_mut() {
        drop(spec.remove("suspend"));
    }
    let chart = format!("{} {} {}", artifact.digest, artifact.revision, artifact.url);
    let made = Made { spec: digest(&canonical(&spec)), chart: digest(&chart), values: digest(&versions) };
    Ok((made, source, artifact))
}

/// Which version of an object a value comes from. Its content stays where it is: the API server gives every write of it another one.
async fn version(api: &Api, namespace: &str, reference: &Reference) -> Result<String, String> {
    let Reference { kind, name, optional, .. } = reference;
    let plural = if kind == SECRET { "secrets" } else { "configmaps" };
    match api.metadata(&format!("/api/v1/namespaces/{namespace}/{plural}/{name}")).await {
        Ok(object) => {
            let word = |field: &str| text(&object, &format!("/metadata/{field}")).unwrap_or_default();
            Ok(format!("{kind} {name} {} {}", word("uid"), word("resourceVersion")))
        }
        Err(ApiFault::Absent) if *optional => Ok(format!("{kind} {name} absent")),
        Err(ApiFault::Absent) => {
            Err(format!("{kind} {name} of its values is not there, so Flux would wait for it too"))
        }
        Err(fault) => Err(format!("{kind} {name} of its values cannot be read: {fault}")),
    }
}

/// What the chart of a release comes from.
async fn source(api: &Api, release: &Value) -> Result<(Value, Artifact), String> {
    let Identity { kind, namespace, name, .. } = helm_chart::key(release).ok_or("it names no chart")?.identity();
    let (namespace, wanted) = (namespace.unwrap_or_default(), helm_chart::wanted(release).map(|(_, _, body)| body));
    let plural = match kind.as_str() {
        "HelmChart" => "helmcharts",
        "OCIRepository" => "ocirepositories",
        other => return Err(format!("its chart is in {other} {namespace}/{name}, which is not read here")),
    };
    let all = format!("/apis/{SOURCES}/v1/namespaces/{namespace}/{plural}");
    let title = format!("{kind} {namespace}/{name}");
    let cannot = |fault: ApiFault| format!("{title} cannot be read or written: {fault}");
    let path = format!("{all}/{name}");
    let found = match (api.get(&path).await, wanted) {
        (Ok(there), Some(wanted)) => match helm_chart::difference(&there, &wanted) {
            Some(merge) => api.merge(&path, &merge).await.map_err(cannot)?,
            None => there,
        },
        (Ok(there), None) => there,
        (Err(ApiFault::Absent), Some(wanted)) => api.create(&all, &wanted).await.map_err(cannot)?,
        (Err(ApiFault::Absent), None) => return Err(format!("{title} is not there")),
        (Err(fault), _) => return Err(cannot(fault)),
    };
    let artifact = Artifact::of(&found, &title)?;
    Ok((found, artifact))
}

/// What stands for the source where it is rendered: its artifact is the chart as helm-controller takes it.
pub(super) fn as_source(source: &Value) -> Option<Source> {
    let word = |pointer: &str| text(source, pointer).map(str::to_owned);
    Some(Source {
        kind: word("/kind")?,
        namespace: word("/metadata/namespace")?,
        name: word("/metadata/name")?,
        chart: None,
        values_files: Vec::new(),
        ignores_missing_files: false,
        by_revision: false,
    })
}

/// A digest, short enough to stand on an object.
fn digest(text: &str) -> String {
    let hex: String = Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn what_helm_controller_says_is_read_by_generation() {
        let status = |observed: i64, reconciling: &str, reason: &str| {
            let release = json!({"status": {"observedGeneration": observed, "lastAttemptedGeneration": observed, "history": [{}],
                "conditions": [{"type": "Reconciling", "status": reconciling, "reason": reason},
                    {"type": "Ready", "status": "False", "message": "boom"}]}});
            flux(&release, 4)
        };
        assert!(!status(3, "False", "").done && !status(3, "False", "").began);
        assert!(status(4, "False", "").done && !status(4, "True", "Progressing").done);
        let pausing = status(4, "True", "ProgressingWithRetry");
        assert!(pausing.done && pausing.installed && !pausing.ready && pausing.said == "boom");
    }
}
