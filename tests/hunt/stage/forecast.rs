//! What rollgate foretells of a write, from the cluster and from a snapshot of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::helm::{Run, rollgate};
use crate::objects::{Objects, text};
use crate::steps::Way;

use super::{Stage, Writer};

/// What was foretold.
#[derive(Clone, Debug)]
pub(crate) struct Forecast {
    pub(crate) report: Value,
    /// Whether the snapshot said something else, after several tries.
    pub(crate) snapshot_differs: bool,
}

impl Stage<'_> {
    /// The stream that the host would print.
    pub(crate) fn stream(objects: &Objects) -> String {
        objects.values().map(|object| format!("---\n{object}\n")).collect()
    }

    /// What rollgate expects of a write, from the cluster and from a snapshot of it.
    pub(crate) fn forecast(&self, objects: &Objects, way: Way) -> Forecast {
        let stream = Self::stream(objects);
        let world = self.world();
        let world = world.to_str().expect("a path");
        let mut last = None;
        // Controllers write all the time: only what is the same before and after is what the snapshot between them holds.
        for _ in 0..3 {
            let online = self.plan("plan", &["-o", "json"], &stream, way);
            drop(self.plan("snapshot", &["-o", world], &stream, way));
            let replayed = self.plan("plan", &["--live", world, "-o", "json"], &stream, way);
            let [one, other] = [&online, &replayed].map(|run| {
                serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(
                    |_| json!({"decision": "none", "effect": "none", "error": run.stderr, "code": run.code}),
                )
            });
            let same = without_source(&one) == without_source(&other);
            last = Some(Forecast { report: one, snapshot_differs: !same });
            if same {
                break;
            }
        }
        last.expect("it was asked at least once")
    }

    /// The decision that a user is told of a write.
    pub(crate) fn decision(&self, objects: &Objects, way: Way, kubeconfig: &Path) -> String {
        let mut program = self.command("plan", &["-o", "json"], way);
        let run = self.run_as(kubeconfig, &mut program, &Self::stream(objects));
        serde_json::from_str::<Value>(&run.stdout)
            .map_or_else(|_| "none".to_owned(), |report| text(&report["decision"]))
    }

    /// The file of the last snapshot.
    pub(crate) fn world(&self) -> PathBuf {
        self.space.dir.join("world.json")
    }

    /// The Machines that the last snapshot shows on their way out.
    pub(crate) fn going(&self) -> Vec<String> {
        let world = fs::read_to_string(self.world()).unwrap_or_default();
        let world: Value = serde_json::from_str(&world).unwrap_or_default();
        let live = world["world"]["live"].as_array().into_iter().flatten();
        let going = live.filter(|object| {
            object["kind"] == "Machine"
                && object["metadata"]["namespace"] == *self.space.namespace
                && !object["metadata"]["deletionTimestamp"].is_null()
        });
        going.map(|machine| text(&machine["metadata"]["name"])).collect()
    }

    /// Runs rollgate on a stream as this writer would.
    fn plan(&self, command: &str, more: &[&str], stream: &str, way: Way) -> Run {
        self.run(&mut self.command(command, more, way), stream)
    }

    /// A command of rollgate as this writer would give it.
    fn command(&self, command: &str, more: &[&str], way: Way) -> Command {
        let (host, method) = match (self.writer, way) {
            (Writer::Helm3, Way::Plain) => ("helm3", None),
            (Writer::Helm4, Way::Plain) => ("helm4", None),
            (Writer::Kubectl, Way::Plain) => ("kubectl", Some("last-applied")),
            (Writer::KubectlServerSide, Way::Plain) => ("kubectl", Some("server-side-apply")),
            (Writer::Helm3, Way::Replace) => ("helm3", Some("replace")),
            (Writer::Helm4, Way::Replace) => ("helm4", Some("replace")),
            (_, Way::Replace) => ("kubectl", Some("replace")),
        };
        let mut program = Command::new(rollgate());
        program
            .args([command, "-"])
            .args(more)
            .args(["--host", host, "--namespace", &self.space.namespace, "--policy"])
            .arg(&self.policy);
        if self.writer.helm().is_some() {
            program.args(["--release", "demo"]);
        }
        if let Some(method) = method {
            program.args(["--method", method]);
        }
        program
    }
}

/// A report without where the World came from and when.
fn without_source(report: &Value) -> String {
    let mut report = report.clone();
    // A snapshot gives a mark of its own to what nobody but the cluster knows, and the digest is over the marks.
    if let Some(report) = report.as_object_mut() {
        report.shift_remove("digest");
    }
    if let Some(live) = report["live"].as_object_mut() {
        for told in ["source", "resourceVersions", "taken", "ageSeconds"] {
            live.shift_remove(told);
        }
    }
    let text = report.to_string();
    let mut pieces = text.split("<redacted:");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + "<redacted>" + piece.split_once('>').map_or(piece, |(_, rest)| rest))
}
