//! What stands on a HelmRelease: the word by which it asks to be gated, and what was decided, each as an annotation that people can read.
//! What cannot be read counts as nothing decided.

use jiff::Timestamp;

use super::next::{Made, Phase, State};
use crate::kinds::fields::annotation;
use crate::tree::{Map, Value, json};

/// Who asks to be gated says `enabled` here.
pub const ASKED: &str = "rollgate.dev/gate";
/// Keeps a deleted HelmRelease until its removal was judged.
pub const GUARD: &str = "rollgate.dev/gate";
/// What the API server calls whoever writes this.
pub const WRITER: &str = "rollgate-gate";

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
pub fn report(name: &str) -> String {
    format!("rollgate-report-{name}")
}

/// Whether a HelmRelease asks to be gated.
#[must_use]
pub fn asks(release: &Value) -> bool {
    annotation(release, ASKED) == Some("enabled")
}

/// What was decided of a HelmRelease.
#[must_use]
pub fn read(release: &Value) -> Option<State> {
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
pub fn write(state: Option<&State>) -> Value {
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
