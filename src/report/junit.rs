//! JUnit: a suite a cluster with a case an object, and one suite for the verdict and what is about no object. A hold is a failure,
//! what could not be decided is an error, so that the tests fail where the exit code does.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::notice::{LONGEST_NAME, Notice, Spots, clip, name, notices};
use super::{Report, human, several, template};
use crate::model::Decision;

/// What every suite of this program starts with.
const SELF: &str = "rollgate";
/// Longest text of a case.
const LONGEST: usize = 20_000;

#[derive(Debug, Default, Serialize)]
struct Suite {
    name: String,
    failures: usize,
    errors: usize,
    cases: Vec<TestCase>,
}

#[derive(Debug, Serialize)]
struct TestCase {
    name: String,
    /// The word of the decision.
    decision: &'static str,
    /// `failure`, `error`, or empty.
    outcome: &'static str,
    message: String,
    text: String,
}

/// Writes the suites.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    let labels = several::labels(reports);
    let own = |label: &String| if reports.len() > 1 { format!("{SELF}.{label}") } else { SELF.to_owned() };
    let suites: Vec<Suite> =
        reports.iter().zip(&labels).flat_map(|(report, label)| suites(report, &own(label))).collect();
    let sum = |count: fn(&Suite) -> usize| suites.iter().map(count).sum::<usize>();
    let context = crate::tree::json!({
        "tests": sum(|suite| suite.cases.len()),
        "failures": sum(|suite| suite.failures),
        "errors": sum(|suite| suite.errors),
        "suites": suites,
    });
    template::render("junit.xml", include_str!("junit.xml.jinja"), &context, out)
}

/// The suites of one report, each with the name of the release before its own.
fn suites(report: &Report, release: &str) -> Vec<Suite> {
    let (all, spots) = (notices(report), Spots::of(report));
    let mut by_object: BTreeMap<&str, Vec<&Notice<'_>>> = BTreeMap::new();
    all.iter().for_each(|notice| by_object.entry(&notice.object).or_default().push(notice));
    let mut clusters: BTreeMap<String, Suite> = BTreeMap::new();
    for object in &report.objects {
        let called = clip(&name(&object.kind, object.namespace.as_deref(), &object.name), LONGEST_NAME);
        let cluster = object.cluster.as_deref().unwrap_or("no cluster");
        let place = object.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
        let suite = clip(&format!("{release}.{place}{cluster}"), LONGEST_NAME);
        let about = by_object.remove(called.as_str()).unwrap_or_default();
        clusters.entry(suite).or_default().add(called, &about, &spots);
    }
    let mut own = Suite::default();
    own.push(SELF_VERDICT.to_owned(), report.decision, human::summary(report), String::new());
    // What is left is about no object that changes: a case for each of its ids and objects, whatever is said about them.
    let mut rest: BTreeMap<(&str, &str), Vec<&Notice<'_>>> = BTreeMap::new();
    for notice in by_object.into_values().flatten() {
        rest.entry((&notice.id, &notice.object)).or_default().push(notice);
    }
    for ((id, object), about) in rest {
        let called = if object.is_empty() { id.to_owned() } else { format!("{id} {object}") };
        own.add(called, &about, &spots);
    }
    own.name = clip(release, LONGEST_NAME);
    let named = clusters.into_iter().map(|(name, suite)| Suite { name, ..suite });
    std::iter::once(own).chain(named).collect()
}

/// The case of the whole run.
const SELF_VERDICT: &str = "verdict";

impl Suite {
    /// A case with everything that is said about it; the weightiest decides.
    fn add(&mut self, name: String, about: &[&Notice<'_>], spots: &Spots<'_>) {
        let decision = about.iter().map(|notice| notice.decision).max().unwrap_or_default();
        let worst = about.iter().find(|notice| notice.decision == decision);
        let line = |notice: &&Notice<'_>| {
            let spot = spots.spot(notice.location);
            let place = spot.line.map_or_else(String::new, |line| format!("{}:{line}: ", spot.path));
            let next: String = notice.steps().map(|(word, step)| format!("\n  {word}: {step}")).collect();
            format!("{place}[{}] {}{next}\n", notice.id, notice.message)
        };
        let text: String = about.iter().map(line).collect();
        self.push(name, decision, worst.map(|notice| notice.message.clone()).unwrap_or_default(), text);
    }

    fn push(&mut self, name: String, decision: Decision, message: String, text: String) {
        let outcome = match decision {
            Decision::Hold => "failure",
            Decision::Undecided => "error",
            Decision::Allow | Decision::Warn => "",
        };
        self.failures += usize::from(outcome == "failure");
        self.errors += usize::from(outcome == "error");
        let text = clip(&text, LONGEST);
        self.cases.push(TestCase { name, decision: decision.word(), outcome, message, text });
    }
}
