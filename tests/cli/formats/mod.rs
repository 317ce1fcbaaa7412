//! The formats of the report: each is read by a parser or checked by a schema that is not ours, for every report of the scenarios
//! and for a corpus of hostile texts in each of its places.

mod hostile;
mod limits;
pub(super) mod readers;
mod sources;

use std::collections::BTreeMap;

use rollgate::facade::report::human::{Page, Paint};
use rollgate::facade::report::{Format, FormatOptions, Report, markdown};
use serde_json::Value;

use super::root;

/// The reports of the scenarios, by their names.
fn reports() -> BTreeMap<String, Value> {
    let folders = std::fs::read_dir(root().join("testdata/scenarios")).expect("the scenarios");
    let reports = folders.filter_map(|entry| {
        let folder = entry.expect("an entry").path();
        let bytes = std::fs::read(folder.join("expected.json")).ok()?;
        let name = folder.file_name()?.to_str()?.to_owned();
        Some((name, serde_json::from_slice(&bytes).expect("a report")))
    });
    reports.collect()
}

/// A report of these trees.
fn report(tree: &Value) -> Report {
    serde_json::from_value(tree.clone()).expect("a report")
}

/// A report in a format.
fn written(format: &str, report: &Report) -> String {
    written_all(format, std::slice::from_ref(report))
}

/// The reports of several releases in a format.
fn written_all(format: &str, reports: &[Report]) -> String {
    let look = FormatOptions { page: Page::of(Paint(false)), comment: markdown::GITHUB };
    let mut bytes = Vec::new();
    Format::named(format).expect("a format").write_all(reports, look, &mut bytes).expect("memory");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn every_report_is_valid_in_every_format() {
    let reports = reports();
    assert!(reports.len() > 100, "only {} reports", reports.len());
    for (name, tree) in &reports {
        let report = report(tree);
        for (format, _) in Format::ALL {
            let text = written(format, &report);
            if let Err(fault) = readers::check(format, &text) {
                panic!("{name} as {format}: {fault}\n{text}");
            }
        }
    }
}

#[test]
fn every_gate_and_finding_of_every_report_has_its_help() {
    for (name, tree) in &reports() {
        let report = report(tree);
        let gates = report.reasons.iter().map(|reason| reason.gate.as_str());
        for word in gates.chain(report.findings.iter().map(|finding| finding.id.as_str())) {
            assert!(rollgate::facade::rules::Term::named(word).is_some(), "{name}: nothing explains {word:?}");
        }
    }
}
