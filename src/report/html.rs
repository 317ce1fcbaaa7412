//! One self-contained page: clusters, their owners, their Machines, what rolls in which order and why. It loads nothing, runs
//! nothing, and its filters are style sheets, so that it can be read from an archive of a pipeline and under any content policy.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::differ::{self, Room};
use super::notice::{called, clip, name};
use super::{ChangeReport, ObjectReport, Report, human, sentence, several, template};
use crate::hashed::HashMap;
use crate::model::{Effect, Rollout, Together};
use crate::object::Location;
use crate::tree::{Value, json};

/// How much of a change is shown.
const SIDE: Room = Room { lines: 200, line: 2000 };
/// Longest sentence, in characters.
const LONGEST: usize = 4000;

/// The effects of objects, the worst first: by each the page can be filtered.
const EFFECTS: [Effect; 8] = [
    Effect::Unknown,
    Effect::Delete,
    Effect::Rejected,
    Effect::Rollout,
    Effect::Latent,
    Effect::Scale,
    Effect::InPlace,
    Effect::None,
];

/// Writes the page.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    let several = reports.len() > 1;
    let pages: Vec<Value> = reports
        .iter()
        .zip(several::labels(reports))
        .enumerate()
        .map(|(at, (report, label))| {
            // Of several, each has names of its own for what is linked to.
            let prefix = if several { format!("r{at}-") } else { String::new() };
            let mut page = context(report, &prefix);
            page["label"] = text(&label).into();
            page["prefix"] = prefix.into();
            page
        })
        .collect();
    let filters: Vec<Value> = EFFECTS
        .iter()
        .map(|effect| (effect, reports.iter().flat_map(|one| &one.objects).filter(|one| one.effect == *effect).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(effect, count)| json!({"effect": effect, "count": count}))
        .collect();
    let context = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "decision": super::decision(reports),
        "summary": super::notice::summary(reports),
        "title": match reports {
            [report] => report.host.release.as_deref().map(text),
            _ => Some(format!("{} releases", reports.len())),
        },
        "several": several,
        "lower": u8::from(several),
        "filters": filters,
        "pages": pages,
    });
    template::render("report.html", include_str!("html.html.jinja"), &context, out)
}

/// Everything that stands on the page.
fn context(report: &Report, prefix: &str) -> Value {
    let places: Vec<String> =
        report.objects.iter().map(|object| name(&object.kind, object.namespace.as_deref(), &object.name)).collect();
    let by_name: HashMap<&str, usize> = places.iter().enumerate().rev().map(|(at, name)| (name.as_str(), at)).collect();
    let anchor = |object: &str| by_name.get(object).map(|at| format!("{prefix}object-{at}"));
    let reasons: Vec<Value> = report
        .reasons
        .iter()
        .map(|reason| {
            let object = reason.object.as_ref().map(called);
            json!({
                "decision": reason.decision,
                "gate": text(&reason.gate),
                "message": text(&reason.message),
                "steps": reason.steps().map(|(word, step)| json!([word, text(step)])).collect::<Vec<_>>(),
                "at": reason.about.location.as_ref().map(place),
                "object": object.as_deref().map(text),
                "anchor": object.as_deref().and_then(anchor),
            })
        })
        .collect();
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let object = called(&finding.object);
            json!({
                "id": text(&finding.id), "object": text(&object), "message": text(&finding.message),
                "at": finding.about.location.as_ref().map(place), "anchor": anchor(&object),
            })
        })
        .collect();
    let late: Vec<Value> = report
        .late_values
        .iter()
        .map(|late| {
            let (value, source) = (late.value.as_deref().map(text), late.source.as_deref().map(text));
            json!({"name": text(&late.name), "state": late.state, "value": value, "source": source, "places": late.places})
        })
        .collect();
    let objects: Vec<Value> =
        report.objects.iter().enumerate().map(|(at, one)| object(&format!("{prefix}object-{at}"), one)).collect();
    let ignored: Vec<Value> = report
        .ignored
        .iter()
        .map(
            |ignored| json!({"path": text(&ignored.path), "reason": text(&ignored.reason), "changes": ignored.changes}),
        )
        .collect();
    json!({
        "decision": report.decision,
        "summary": human::summary(report),
        "release": report.host.release.as_deref().map(text),
        "namespace": report.host.namespace.as_deref().map(text),
        "host": report.host.kind,
        "live": {
            "source": text(&report.live.source), "objects": report.live.objects, "not_compared": report.live.not_compared,
            "age": report.live.age(),
        },
        "policy": text(&report.policy.source),
        "digest": text(&report.digest),
        "providers": report.providers.iter().map(|(name, version)| json!([text(name), text(version)])).collect::<Vec<_>>(),
        "reasons": reasons,
        "clusters": clusters(report, &anchor),
        "objects": objects,
        "findings": findings,
        "warnings": report.warnings.iter().map(|warning| text(warning)).collect::<Vec<_>>(),
        "late_values": late,
        "ignored": ignored,
    })
}

/// The owners whose Machines move, by cluster.
fn clusters(report: &Report, anchor: &dyn Fn(&str) -> Option<String>) -> Vec<Value> {
    let mut clusters: BTreeMap<(Option<&str>, &str), Vec<&Rollout>> = BTreeMap::new();
    for rollout in &report.rollouts {
        clusters.entry((rollout.owner.namespace.as_deref(), &rollout.cluster)).or_default().push(rollout);
    }
    let owner = |rollout: &&Rollout| {
        let object = called(&rollout.owner);
        json!({
            "object": text(&object),
            "anchor": anchor(&object),
            "effect": rollout.effect,
            "machines": rollout.machines,
            "replicas": rollout.replicas,
            "max_surge": rollout.max_surge,
            "max_unavailable": rollout.max_unavailable,
            "causes": texts(&rollout.causes),
            "steps": texts(&rollout.steps),
            "names": texts(&rollout.machine_names),
        })
    };
    let cluster = |((namespace, name), owners): (&(Option<&str>, &str), &Vec<&Rollout>)| {
        let name = if name.is_empty() { "cluster not known" } else { name };
        let is_it = |one: &&Together| one.namespace.as_deref() == *namespace && one.cluster == name;
        let together = report.together.iter().find(is_it);
        json!({
            "namespace": namespace.map(text), "name": text(name), "owners": owners.iter().map(owner).collect::<Vec<_>>(),
            "together": together.map(|one| text(&sentence::of_together(one, 1))),
            "waits": texts(together.map_or(&[], |one| one.waits.as_slice())),
        })
    };
    clusters.iter().map(cluster).collect()
}

fn object(anchor: &str, object: &ObjectReport) -> Value {
    json!({
        "anchor": anchor,
        "name": text(&name(&object.kind, object.namespace.as_deref(), &object.name)),
        "was": object.renamed_from.as_deref().map(text),
        "action": object.action,
        "effect": object.effect,
        "cluster": object.cluster.as_deref().map(text),
        "at": object.location.as_ref().map(place),
        "because": text(&object.because),
        "rule": text(&object.rule),
        "changes": object.changes.iter().map(change).collect::<Vec<_>>(),
    })
}

fn change(change: &ChangeReport) -> Value {
    json!({
        "path": text(&sentence::way(&change.path, &change.within)),
        "key": change.key.as_deref().map(text),
        "effect": change.effect,
        "touches": change.touches,
        "lines": differ::lines(change.before.as_ref(), change.after.as_ref(), SIDE),
        "because": text(&change.because),
        "rule": text(&change.rule),
        "source": text(&change.source),
        "at": change.location.as_ref().map(place),
    })
}

/// Where something stands.
#[derive(Debug, Serialize)]
struct PageLocation {
    file: Option<String>,
    line: usize,
    template: Option<String>,
}

fn place(location: &Location) -> PageLocation {
    let short = |name: &Option<String>| name.as_deref().map(|name| clip(name, 300));
    PageLocation { file: short(&location.file), line: location.line, template: short(&location.template) }
}

fn text(text: &str) -> String {
    clip(text, LONGEST)
}

fn texts(list: &[String]) -> Vec<String> {
    list.iter().map(|one| text(one)).collect()
}
