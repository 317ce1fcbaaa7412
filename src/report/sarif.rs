//! SARIF 2.1.0 (OASIS), as code scanning takes it: each rule once with its help, each result at its line with a fingerprint that
//! the next render keeps.

use std::io::{self, Write};

use super::escape::Visible;
use super::notice::{self, Level, Notice, Spots, clip};
use super::{Report, hash, several};
use crate::hashed::HashMap;
use crate::rules::Term;
use crate::tree::{Value, json};
use crate::verdict;

/// Most results that GitHub takes of one run.
const MOST: usize = 25_000;
/// Longest text of a notification.
const LONGEST: usize = 1000;

/// Writes one run, whatever it judged: of several runs in one file, services take some and drop others.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    let mut all = notice::all(reports);
    let left_out = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    let (rules, places) = rules(&all);
    let spots: Vec<Spots<'_>> = reports.iter().map(Spots::of).collect();
    let results: Vec<Value> =
        all.iter().filter_map(|(notice, at)| Some(result(notice, &places, spots.get(*at)?))).collect();
    let decision = super::decision(reports);
    let mut properties = json!({"decision": decision, "effect": super::effect(reports)});
    if let [report] = reports {
        properties["digest"] = json!(clip(&report.digest, LONGEST));
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "rollgate",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            // Runs of several releases in one pipeline stand beside each other.
            "automationDetails": {"id": format!("rollgate/{}/", category(reports))},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": true,
                "exitCode": verdict::exit(decision).code(),
                "exitCodeDescription": decision.word(),
                "toolExecutionNotifications": notifications(reports, left_out),
            }],
            "results": results,
            "properties": properties,
        }],
    });
    serde::Serialize::serialize(&log, &mut serde_json::Serializer::with_formatter(&mut *out, Visible))?;
    out.write_all(b"\n")
}

/// What tells the runs of one pipeline apart: the release, as far as it is known.
fn category(reports: &[Report]) -> String {
    let [report] = reports else { return "releases".to_owned() };
    let name = several::release(report).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '/');
    match name.as_str() {
        "" => "stream".to_owned(),
        name if name.len() <= 200 && name.chars().all(plain) => name.to_owned(),
        name => hash(name.as_bytes()).replace(':', "-"),
    }
}

/// The rules that have results, and the place of each.
fn rules(all: &[(Notice<'_>, usize)]) -> (Vec<Value>, HashMap<String, usize>) {
    let (mut rules, mut places) = (Vec::new(), HashMap::default());
    for (notice, _) in all {
        if places.contains_key(&notice.id) {
            continue;
        }
        places.insert(notice.id.clone(), rules.len());
        let word = notice.id.strip_prefix("gate/").unwrap_or(&notice.id);
        let term = Term::named(word);
        let short = match term {
            Some(term) => term.says.to_owned(),
            None if notice.because.is_empty() => notice.id.clone(),
            None => clip(notice.because, LONGEST),
        };
        let source = if notice.source.is_empty() { String::new() } else { format!("\n\nSource: {}", notice.source) };
        let remedy = term.map_or_else(String::new, |term| format!("\n\n{}", term.remedy));
        let help = clip(&format!("{short}{remedy}{source}\n\nrollgate explain {word}"), 2 * LONGEST);
        rules.push(json!({
            "id": notice.id,
            "shortDescription": {"text": short},
            "fullDescription": {"text": short},
            "help": {"text": help},
            "helpUri": concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/rules/README.md"),
            "defaultConfiguration": {"level": notice.level.word()},
            "properties": {"tags": ["machines"], "precision": "high", "problem.severity": severity(notice.level)},
        }));
    }
    (rules, places)
}

/// How bad it is, in the words of code scanning.
const fn severity(level: Level) -> &'static str {
    match level {
        Level::Note => "recommendation",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

fn result(notice: &Notice<'_>, places: &HashMap<String, usize>, spots: &Spots<'_>) -> Value {
    let spot = spots.spot(notice.location);
    let mut region = json!({"startLine": spot.line.unwrap_or(1)});
    if let Some(column) = spot.column {
        region["startColumn"] = json!(column);
    }
    let mut location = json!({"physicalLocation": {"artifactLocation": {"uri": uri(&spot.path)}, "region": region}});
    let template = notice.location.and_then(|location| location.template.as_deref());
    let mut logical = Vec::new();
    if !notice.object.is_empty() {
        let path = if notice.path.is_empty() { String::new() } else { format!(" {}", notice.path) };
        let name = if notice.path.is_empty() { &notice.object } else { &notice.path };
        logical
            .push(json!({"name": name, "fullyQualifiedName": format!("{}{path}", notice.object), "kind": "resource"}));
    }
    if let Some(template) = template {
        logical.push(json!({"name": clip(template, LONGEST), "kind": "template"}));
    }
    if !logical.is_empty() {
        location["logicalLocations"] = Value::from(logical);
    }
    let mut properties = json!({"decision": notice.decision});
    if let Some(effect) = notice.effect {
        properties["effect"] = json!(effect);
    }
    for (name, step) in [("remedy", notice.remedy), ("next", notice.next)] {
        step.iter().for_each(|step| properties[name] = json!(clip(step, LONGEST)));
    }
    if !notice.or.is_empty() {
        properties["or"] = notice.or.iter().map(|step| clip(step, LONGEST)).collect();
    }
    json!({
        "ruleId": notice.id,
        "ruleIndex": places.get(&notice.id),
        "level": notice.level.word(),
        "message": {"text": notice.message},
        "locations": [location],
        "partialFingerprints": {"rollgate/v1": notice.fingerprint},
        "properties": properties,
    })
}

/// What is said about the run beside its results.
fn notifications(reports: &[Report], left_out: usize) -> Vec<Value> {
    let note = |text: &str| json!({"level": "warning", "message": {"text": clip(text, LONGEST)}});
    let mut list: Vec<Value> = notice::warnings(reports).iter().map(|warning| note(warning)).collect();
    if left_out > 0 {
        list.push(note(&format!("{left_out} results are left out: no more than {MOST} are taken; -o json has all")));
    }
    list
}

/// A path as the reference of a URI (RFC 3986): only what is unreserved stays as it is.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/') {
            out.push(char::from(byte));
        } else {
            out.extend([format!("%{byte:02X}")]);
        }
    }
    out
}
