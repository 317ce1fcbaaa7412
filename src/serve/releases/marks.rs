//! What stands on a HelmRelease: the word by which it asks to be gated, and what was decided, each as an annotation that people can read.
//! What cannot be read counts as nothing decided.

use jiff::Timestamp;

use super::state::{Made, Phase, State};
use crate::kinds::fields::annotation;
use crate::policy::{Policy, Selector};
use crate::tree::{Map, Value, json};

/// Who asks to be gated says `enabled` here.
pub(crate) const ASKED: &str = "rollgate.dev/gate";
/// Keeps a deleted HelmRelease until its removal was judged.
pub(crate) const GUARD: &str = "rollgate.dev/gate";
/// What the API server calls whoever writes this.
pub(crate) const WRITER: &str = "rollgate-gate";

const PHASE: &str = "gate.rollgate.dev/phase";
const SPEC: &str = "gate.rollgate.dev/spec";
const CHART: &str = "gate.rollgate.dev/artifact";
const VALUES: &str = "gate.rollgate.dev/values";
const APPLIED: &str = "gate.rollgate.dev/applied";
const GENERATION: &str = "gate.rollgate.dev/generation";
const VERDICT: &str = "gate.rollgate.dev/verdict";
const SINCE: &str = "gate.rollgate.dev/since";
const WHY: &str = "gate.rollgate.dev/why";
const ALL: [&str; 9] = [PHASE, SPEC, CHART, VALUES, APPLIED, GENERATION, VERDICT, SINCE, WHY];

/// The ConfigMap that keeps the last report of a HelmRelease, beside it.
#[must_use]
pub(crate) fn report(name: &str) -> String {
    format!("rollgate-report-{name}")
}

/// Which HelmReleases are gated: those that ask for it, and those that the policy names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gated(Vec<Selector>);

impl Gated {
    /// As the policy says it; what is no selector is refused where the policy is read.
    #[must_use]
    pub(crate) fn of(policy: &Policy) -> Self {
        Self(policy.flux.gate.iter().filter_map(|text| Selector::parse(text).ok()).collect())
    }

    /// Whether a HelmRelease is one of them.
    #[must_use]
    pub(crate) fn is_one(&self, release: &Value) -> bool {
        if annotation(release, ASKED) == Some("enabled") {
            return true;
        }
        let mut labels = release.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
        for field in ["name", "namespace"] {
            labels[format!("metadata.{field}").as_str()] =
                release.pointer(&format!("/metadata/{field}")).cloned().unwrap_or_default();
        }
        let labels = json!({"metadata": {"labels": labels}});
        self.0.iter().any(|selector| selector.fits(&labels))
    }
}

/// What was decided of a HelmRelease.
#[must_use]
pub(crate) fn read(release: &Value) -> Option<State> {
    let word = |name: &str| annotation(release, name).filter(|text| !text.is_empty());
    let phase = word(PHASE)?;
    let phase = Phase::ALL.into_iter().find(|one| one.word() == phase)?;
    let made = || {
        Some(Made { spec: word(SPEC)?.to_owned(), chart: word(CHART)?.to_owned(), values: word(VALUES)?.to_owned() })
    };
    let applied = || {
        let mut parts = word(APPLIED)?.split(' ').map(str::to_owned);
        Some(Made { spec: parts.next()?, chart: parts.next()?, values: parts.next()? })
    };
    Some(State {
        phase,
        made: made(),
        applied: applied(),
        generation: word(GENERATION).and_then(|text| text.parse().ok()).unwrap_or_default(),
        verdict: word(VERDICT).unwrap_or_default().to_owned(),
        since: word(SINCE).and_then(|text| text.parse().ok()).unwrap_or(Timestamp::UNIX_EPOCH),
        why: word(WHY).unwrap_or_default().to_owned(),
    })
}

/// The annotations that say what was decided, as a merge: what is not said is taken away.
#[must_use]
pub(crate) fn write(state: Option<&State>) -> Value {
    let mut out: Map = ALL.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
    let Some(state) = state else { return Value::Object(out) };
    let mut put = |name: &str, text: &str| {
        if !text.is_empty() {
            out.insert(name.to_owned(), json!(text));
        }
    };
    put(PHASE, state.phase.word());
    if let Some(made) = &state.made {
        put(SPEC, &made.spec);
        put(CHART, &made.chart);
        put(VALUES, &made.values);
    }
    if let Some(Made { spec, chart, values }) = &state.applied {
        put(APPLIED, &format!("{spec} {chart} {values}"));
    }
    if state.generation != 0 {
        put(GENERATION, &state.generation.to_string());
    }
    put(VERDICT, &state.verdict);
    put(SINCE, &state.since.to_string());
    put(WHY, &state.why);
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_gated_says_so_or_the_policy_does() {
        let release = |annotation: &str| {
            json!({"metadata": {"name": "edge", "namespace": "telco", "labels": {"tier": "prod"},
                "annotations": {ASKED: annotation}}})
        };
        let gated = |selectors: &[&str]| {
            let mut policy = Policy::default();
            policy.flux.gate = selectors.iter().map(|text| (*text).to_owned()).collect();
            Gated::of(&policy)
        };
        assert!(gated(&[]).is_one(&release("enabled")) && !gated(&[]).is_one(&release("disabled")));
        // What the policy names is not taken out by an annotation.
        assert!(gated(&["tier=prod"]).is_one(&release("disabled")));
        assert!(gated(&["tier=lab", "metadata.namespace=telco"]).is_one(&release("")));
        assert!(!gated(&["tier=lab", "tier=prod,metadata.name=core"]).is_one(&release("")));
        // Labels cannot say another namespace.
        let mut other = release("");
        other["metadata"]["labels"]["metadata.namespace"] = json!("core");
        assert!(!gated(&["metadata.namespace=core"]).is_one(&other));
    }
}
