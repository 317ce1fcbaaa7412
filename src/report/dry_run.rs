//! What the API server itself answered beside what was predicted (`plan --dry-run-server`): counted, and each difference
//! shown. It decides nothing here: an answer that is worse than the prediction has been judged before.

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::human::Paint;
use super::{plural, sentence};
use crate::compare::redact::Redactor;
use crate::compare::{Change, Within};
use crate::host::{Agreement, Answered};
use crate::tree::Value;
use crate::world::WriteMethod;

/// What the API server answered to the host's writes without carrying them out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DryRunReport {
    /// Writes that it answered.
    pub answered: usize,
    /// Writes among these whose answer is what was predicted.
    pub as_predicted: usize,
    /// Writes among these whose answer is something else.
    pub different: usize,
    /// Writes that no request can stand for, so that only the prediction speaks about them.
    pub not_asked: usize,
    /// Every write that is not as predicted or was not asked about.
    pub objects: Vec<DryRunObject>,
}

/// One write whose answer is not what was predicted, or that has none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DryRunObject {
    /// Its `apiVersion`, as rendered.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// How it would be written.
    pub method: WriteMethod,
    /// What the answer is.
    pub answer: DryRunAnswer,
    /// Why it was refused or not asked about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Where the contents differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<DryRunDifference>,
}

/// What an answer is beside the prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DryRunAnswer {
    /// The server would hold something else.
    Different,
    /// The server refuses what was predicted to go through.
    Refused,
    /// The server lets through what was predicted to be refused.
    Accepted,
    /// There is no answer.
    NotAsked,
}

/// One place where the answer and the prediction differ.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DryRunDifference {
    /// Place in the object.
    pub path: String,
    /// Identity of the list item that the path goes through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The way into strings that are documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Within>,
    /// What was predicted; absent where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Value>,
    /// What the API server would hold; absent where nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Value>,
}

impl DryRunReport {
    /// The answers as they may be shown; `redactor` gets to know what is secret in them first.
    #[must_use]
    pub fn of(answered: Vec<Answered>, redactor: &mut Redactor) -> Self {
        for one in &answered {
            if let Agreement::Different { theirs, .. } = &one.verdict {
                redactor.learn(&one.key, theirs);
            }
        }
        let mut report = Self::default();
        for one in answered {
            report.add(one, redactor);
        }
        report
    }

    /// Counts one answer, and keeps it where there is something to say.
    fn add(&mut self, one: Answered, redactor: &Redactor) {
        let Answered { key, api_version, way, verdict } = one;
        let (answer, because, changes) = match verdict {
            Agreement::Same => {
                self.answered += 1;
                self.as_predicted += 1;
                return;
            }
            Agreement::NotAsked(why) => (DryRunAnswer::NotAsked, why, Vec::new()),
            Agreement::Refused(words) => (DryRunAnswer::Refused, words, Vec::new()),
            Agreement::Accepted => (DryRunAnswer::Accepted, String::new(), Vec::new()),
            Agreement::Different { changes, .. } => (DryRunAnswer::Different, String::new(), changes),
        };
        if answer == DryRunAnswer::NotAsked {
            self.not_asked += 1;
        } else {
            self.answered += 1;
            self.different += 1;
        }
        let differences = changes.into_iter().map(|mut change| {
            redactor.change(&key, &mut change);
            difference(change)
        });
        self.objects.push(DryRunObject {
            api_version,
            kind: key.kind.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            method: way,
            answer,
            because: redactor.quoted(&because),
            differences: differences.collect(),
        });
    }

    /// Adds what was answered for another way of writing.
    pub fn extend(&mut self, other: Self) {
        self.answered += other.answered;
        self.as_predicted += other.as_predicted;
        self.different += other.different;
        self.not_asked += other.not_asked;
        self.objects.extend(other.objects);
    }
}

/// A place where predicted (before) and answered (after) differ.
fn difference(change: Change) -> DryRunDifference {
    DryRunDifference {
        path: change.path.to_string(),
        key: change.item,
        within: change.within,
        predicted: change.before,
        answered: change.after,
    }
}

/// Writes the answers for people.
pub(super) fn write(report: &DryRunReport, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let line = format!(
        "API server (dry run): {} answered, {} as predicted, {} different, {} not asked",
        plural(report.answered as u64, "write"),
        report.as_predicted,
        report.different,
        report.not_asked
    );
    writeln!(out, "\n{}", paint.bold(&line))?;
    for object in &report.objects {
        let place = object.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
        let said = match object.answer {
            DryRunAnswer::Different => "would be stored differently than predicted",
            DryRunAnswer::Refused => "is refused, which was not predicted",
            DryRunAnswer::Accepted => "is not refused, although that was predicted",
            DryRunAnswer::NotAsked => "was not asked about",
        };
        let because = if object.because.is_empty() { String::new() } else { format!(": {}", object.because) };
        writeln!(out, "  {} {place}{} {said}{because}", object.kind, object.name)?;
        for difference in &object.differences {
            let (ours, theirs) = sentence::excerpt(difference.predicted.as_ref(), difference.answered.as_ref());
            let place = sentence::way(&difference.path, &difference.within);
            writeln!(out, "    {place}")?;
            writeln!(out, "      {}", paint.removed(&format!("predicted  {ours}")))?;
            writeln!(out, "      {}", paint.added(&format!("API server {theirs}")))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::changes;
    use crate::compare::redact::MarkKey;
    use crate::object::Key;
    use crate::tree::json;

    fn answered(kind: &str, verdict: Agreement) -> Answered {
        let api_version = if kind == "Secret" { "v1" } else { "cluster.x-k8s.io/v1beta2" };
        let key = Key::new(api_version, kind, Some("n"), "a");
        Answered { key, api_version: api_version.to_owned(), way: WriteMethod::MergePatch, verdict }
    }

    fn different(ours: &Value, theirs: &Value) -> Agreement {
        Agreement::Different { changes: changes(ours, theirs), theirs: Box::new(theirs.clone()) }
    }

    #[test]
    fn answers_are_counted_and_differences_shown_without_secrets() {
        let secret = |data: &str| json!({"apiVersion": "v1", "kind": "Secret", "data": {"token": data}});
        let spec = |replicas: u64| json!({"spec": {"replicas": replicas}});
        let all = vec![
            answered("Cluster", Agreement::Same),
            answered("MachineDeployment", different(&spec(1), &spec(3))),
            answered("Secret", different(&secret("b25lIHBhc3N3b3Jk"), &secret("YW5vdGhlciBwYXNzd29yZA=="))),
            answered("Machine", Agreement::Refused("no, not with \"another password\"".to_owned())),
            answered("MachineSet", Agreement::NotAsked("so".to_owned())),
        ];
        let report = DryRunReport::of(all, &mut Redactor::new(&MarkKey::fresh()));
        let counts = (report.answered, report.as_predicted, report.different, report.not_asked);
        assert_eq!((counts, report.objects.len()), ((4, 1, 3, 1), 4));
        let mut out = Vec::new();
        write(&report, Paint(false), &mut out).expect("a writer");
        let text = format!("{}{}", String::from_utf8_lossy(&out), serde_json::to_string(&report).expect("JSON"));
        assert!(text.contains("4 writes answered, 1 as predicted, 3 different, 1 not asked"), "{text}");
        assert!(
            text.contains("predicted  1") && text.contains("API server 3") && text.contains("<redacted:"),
            "{text}"
        );
        for secret in ["another password", "one password", "b25lIHBhc3N3b3Jk", "YW5vdGhlciBwYXNzd29yZA"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}
