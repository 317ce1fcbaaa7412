//! Answers that webhooks gave, played against their mirrors (`testdata/webhooks/README.md`).

use crate::kinds::fields::{list, text};
use crate::tree::Value;

/// How many lines of a recording were asked for their versions, and those that are answered otherwise. `ours` says whether the mirror
/// refuses a kind under a version, or nothing where the pair is not the mirror's to judge.
pub(super) fn others(
    name: &str,
    versions: &[&str],
    ours: impl Fn(&str, &str, Option<&Value>, &Value) -> Option<Vec<String>>,
) -> (usize, Vec<String>) {
    beside(name, versions, |version, line, old, new| ours(version, text(line, "/kind").unwrap_or_default(), old, new))
}

/// How many lines of a recording were asked and answered otherwise, where `ours` needs the rest of the line, as what else is there when the
/// webhook looks around (`others`).
pub(super) fn beside(
    name: &str,
    versions: &[&str],
    ours: impl Fn(&str, &Value, Option<&Value>, &Value) -> Option<Vec<String>>,
) -> (usize, Vec<String>) {
    let path = format!("{}/testdata/webhooks/{name}", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(path).expect("the recording");
    let (mut asked, mut others) = (0, Vec::new());
    for (place, line) in lines.lines().enumerate() {
        let line: Value = serde_json::from_str(line).expect("a line of the recording");
        for version in versions {
            let is_refused = list(&line, "/refuse").any(|told| told.as_str() == Some(version));
            let Some(ours) = ours(version, &line, line.get("old"), &line["new"]) else { continue };
            asked += 1;
            if ours.is_empty() == is_refused {
                others.push(format!("line {}, {version}: {ours:?}, the webhook: {is_refused}", place + 1));
            }
        }
    }
    (asked, others)
}
