//! Writes that nobody waits for: one object is written a few times in both versions, by several programs and by hand, as chance has it; the
//! next write is forecast, and the API server answers it without carrying it out. What it refuses must be held, what it takes must not.
//!
//! Every object is paused, so that no controller moves it meanwhile.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::bench::{Space, say};
use crate::helm::{Run, rollgate};
use crate::score::{Figures, Mark};
use crate::seed::Seed;
use crate::tables::{Recorded, patched, tables};

/// How often a place is emptied at the end of each history.
const EMPTIED: usize = 3;

/// The kinds that are written.
const KINDS: [&str; 16] = [
    "Cluster",
    "ClusterResourceSet",
    "DevCluster",
    "DevMachineTemplate",
    "KubeadmConfig",
    "KubeadmConfigTemplate",
    "KubeadmControlPlane",
    "KubeadmControlPlaneTemplate",
    "Machine",
    "MachineDeployment",
    "MachineDrainRule",
    "MachineHealthCheck",
    "MachinePool",
    "MachineSet",
    "RKE2ConfigTemplate",
    "RKE2ControlPlane",
];

/// How an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Create,
    LastApplied,
    ServerSide,
    Replace,
    /// A merge patch of its spec by hand.
    Patch,
}

impl How {
    /// The method of a forecast; what is no host's has none.
    const fn method(self) -> &'static str {
        match self {
            Self::ServerSide => "server-side-apply",
            Self::Replace => "replace",
            Self::Create | Self::LastApplied | Self::Patch => "last-applied",
        }
    }
}

/// A recorded object, by the name of its base, and where its next versions come from.
struct Player<'s> {
    space: &'s Space,
    seed: Seed,
    /// The bases of one kind.
    bases: Vec<&'static str>,
    name: String,
    /// What was written, and how.
    history: Vec<Value>,
}

/// What came of one write.
struct Told {
    mark: Mark,
    class: String,
    line: String,
    /// What was written before, and this write.
    history: Vec<Value>,
}

/// Plays so many writes from a seed on; the figures, and a line for each that was foretold wrongly.
pub(crate) fn play(space: &Space, first: u64, count: u64) -> (Figures, Vec<String>) {
    let (mut figures, mut wrong) = (Figures::default(), Vec::new());
    for number in first..first + count {
        let began = Instant::now();
        let mut player = Player::new(space, number);
        let all = player.play();
        let took = began.elapsed().as_secs_f64() / all.len().max(1) as f64;
        for told in all {
            figures.add(&told.class, told.mark, took);
            if told.mark > Mark::Doubt {
                let kept = space.file(&format!("{}.json", player.name), &Value::from(told.history).to_string());
                say(&format!("  its writes are in {}", kept.display()));
                let line = format!("write {number} {}: {}", told.mark.word(), told.line);
                say(&format!("! {line}"));
                wrong.extend((told.mark == Mark::FalseSafe).then_some(line));
            }
        }
    }
    (figures, wrong)
}

impl<'s> Player<'s> {
    fn new(space: &'s Space, number: u64) -> Self {
        let mut seed = Seed::new(number);
        let kind = format!("{}/", *seed.pick(&KINDS));
        let bases = tables().keys().map(String::as_str).filter(|base| base.starts_with(&kind)).collect();
        Self { space, seed, bases, name: format!("write-{number}"), history: Vec::new() }
    }

    /// A history, and then the writes that count, none of which is carried out. Nothing where the history cannot begin or nothing was answered.
    fn play(&mut self) -> Vec<Told> {
        let mut base = *self.seed.pick(&self.bases);
        let begins = *self.seed.pick(&[How::Create, How::LastApplied, How::ServerSide]);
        let mut now = self.bare(base);
        if self.write(begins, &now).is_none() {
            return Vec::new();
        }
        for _ in 0..self.seed.below(3) {
            let how = *self.seed.pick(&[
                begins,
                How::LastApplied,
                How::ServerSide,
                How::ServerSide,
                How::Replace,
                How::Patch,
            ]);
            let (next_base, next) = self.next(base, &now, 2);
            if how != How::Create && self.write(how, &next).is_some() {
                (base, now) = (next_base, next);
            }
        }
        let hows = [begins, How::LastApplied, How::ServerSide, How::ServerSide, How::Replace];
        let how = *self.seed.pick(&hows);
        let (_, next) = self.next(base, &now, 3);
        let mut told: Vec<Told> = self.compare(how.method(), &next).into_iter().collect();
        for _ in 0..EMPTIED {
            let how = *self.seed.pick(&hows);
            let emptied = self.emptied(&now);
            told.extend(emptied.and_then(|emptied| self.compare(how.method(), &emptied)));
        }
        let place = self.place(&next);
        drop(self.kubectl(&["delete", &place, &self.name, "--wait=false"], ""));
        told
    }

    /// An object with one of its maps or lists emptied, or null in its place.
    fn emptied(&mut self, now: &Value) -> Option<Value> {
        let mut places = places(now);
        places.push("/metadata/annotations".to_owned());
        places.retain(|place| now.pointer(place).is_some_and(|value| value.is_object() || value.is_array()));
        let place = if places.is_empty() { return None } else { self.seed.pick(&places).clone() };
        let choice = 1 + self.seed.below(2);
        let mut emptied = now.clone();
        self.turn(choice, emptied.pointer_mut(&place)?);
        Some(emptied)
    }

    /// An object as somebody writes it: without what the API server adds.
    fn bare(&self, base: &str) -> Value {
        let mut object = tables()[base].line["object"].clone();
        let labels = object["metadata"]["labels"].clone();
        let labels = if labels.is_object() { labels } else { json!({"hunt": "one"}) };
        object["metadata"] = json!({"name": self.name, "namespace": self.space.namespace, "labels": labels,
            "annotations": {"cluster.x-k8s.io/paused": "", "hunt/note": "two"}});
        object.as_object_mut().expect("an object").shift_remove("status");
        object
    }

    /// What is written next: the same a few fields further, or the object of another base, often in another version.
    fn next(&mut self, base: &'static str, now: &Value, most: usize) -> (&'static str, Value) {
        let other = if self.seed.chance(35) { *self.seed.pick(&self.bases) } else { base };
        let version = |base: &str| base.split('/').nth(1).map(str::to_owned);
        let mut next = if version(other) == version(base) { now.clone() } else { self.bare(other) };
        for _ in 0..=self.seed.below(most) {
            next = self.changed(&tables()[other], next);
        }
        (other, next)
    }

    /// One more change: a recorded one, or any place of the spec emptied, taken away, doubled or turned round.
    fn changed(&mut self, recorded: &Recorded, object: Value) -> Value {
        let is_recorded = self.seed.chance(55) && !recorded.patches.is_empty();
        if is_recorded {
            let (_, patch) = self.seed.pick(&recorded.patches);
            let changed =
                patched(&object, patch).filter(|changed| changed["metadata"]["name"] == object["metadata"]["name"]);
            return changed.unwrap_or(object);
        }
        let places = places(&object);
        if places.is_empty() {
            return object;
        }
        let place = self.seed.pick(&places).clone();
        let mut changed = object;
        let (parent, key) = place.rsplit_once('/').expect("a place below the root");
        let choice = self.seed.below(7);
        match (choice, changed.pointer_mut(parent)) {
            (0, Some(Value::Object(map))) => drop(map.shift_remove(&key.replace("~1", "/").replace("~0", "~"))),
            (0, Some(Value::Array(list))) => {
                if let Some(at) = key.parse().ok().filter(|at| *at < list.len()) {
                    drop(list.remove(at));
                }
            }
            _ => {}
        }
        if let Some(value) = changed.pointer_mut(&place).filter(|_| choice > 0) {
            self.turn(choice, value);
        }
        changed
    }

    /// Another value in a place.
    fn turn(&mut self, choice: usize, value: &mut Value) {
        match (choice, &mut *value) {
            (1, _) => *value = Value::Null,
            (2, Value::Object(map)) => map.clear(),
            (2, Value::Array(list)) => list.clear(),
            (2, Value::String(text)) => text.clear(),
            (3, Value::Array(list)) => self.seed.shuffle(list),
            (4, Value::Array(list)) => list.extend(list.first().cloned()),
            // Another type, as a value that is not quoted, or a map where a list belongs.
            (6, Value::String(_)) => *value = json!(7),
            (6, Value::Number(number)) => *value = json!(number.to_string()),
            (6, Value::Bool(is)) => *value = json!(is.to_string()),
            (6, Value::Object(_)) => *value = json!([]),
            (6, Value::Array(_)) => *value = json!({}),
            (_, Value::String(text)) => text.push('x'),
            (_, Value::Bool(is)) => *is = !*is,
            (_, Value::Number(_)) => *value = json!(self.seed.below(5)),
            (..) => {}
        }
    }

    /// Writes; `None` where it is refused.
    fn write(&mut self, how: How, object: &Value) -> Option<()> {
        let text = object.to_string();
        let run = match how {
            How::Create => self.kubectl(&["create", "-f", "-"], &text),
            How::LastApplied => self.kubectl(&["apply", "-f", "-"], &text),
            How::ServerSide => self.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &text),
            How::Replace => self.kubectl(&["replace", "-f", "-"], &text),
            How::Patch => {
                let patch = json!({"spec": object["spec"]}).to_string();
                self.kubectl(&["patch", &self.place(object), &self.name, "--type=merge", "-p", &patch], "")
            }
        };
        (run.code == Some(0)).then(|| self.history.push(json!({"how": format!("{how:?}"), "object": object})))
    }

    /// `kind.version.group`, as kubectl takes it.
    fn place(&self, object: &Value) -> String {
        let (group, version) =
            object["apiVersion"].as_str().and_then(|text| text.split_once('/')).expect("a group and a version");
        format!("{}.{version}.{group}", object["kind"].as_str().expect("a kind").to_lowercase())
    }

    /// What is foretold of a write, and what the API server answers.
    fn compare(&self, method: &str, object: &Value) -> Option<Told> {
        let text = object.to_string();
        let ask = |more: &[&str]| {
            let mut program = Command::new(rollgate());
            program.args(["plan", "-", "--host", "kubectl", "--method", method, "--namespace", &self.space.namespace]);
            program.args(["--policy", "none", "-o", "json"]).args(more);
            serde_json::from_str::<Value>(&self.run(&mut program, &text).stdout).ok()
        };
        let (alone, asked) = (ask(&[])?, ask(&["--dry-run-server"])?);
        let answers = asked["serverDryRun"]["objects"].as_array()?;
        if asked["serverDryRun"]["answered"] == 0 {
            return None;
        }
        // What is refused as it was foretold is no difference, and so is not listed.
        let refused = answers.iter().find(|answer| answer["answer"] == "refused");
        let taken = answers.iter().find(|answer| answer["answer"] != "refused");
        let (decision, effect) = (&alone["decision"], &alone["effect"]);
        let mark = match refused {
            Some(_) if decision == "allow" => Mark::FalseSafe,
            Some(_) if effect != "rejected" => Mark::Word,
            None if effect == "rejected" && taken.is_some() => Mark::FalseHold,
            None if *effect != asked["effect"] => Mark::Word,
            _ => Mark::Agrees,
        };
        let kind = object["kind"].as_str().expect("a kind").to_owned();
        let mut history = self.history.clone();
        history.push(json!({"how": method, "object": object}));
        let because = &alone["objects"][0]["because"];
        let line =
            format!("{kind} {method}: said {decision} {effect} {because}, answered {}", Value::from(answers.clone()));
        Some(Told { mark, class: kind, line: line.chars().take(600).collect(), history })
    }

    fn kubectl(&self, arguments: &[&str], input: &str) -> Run {
        let mut kubectl = Command::new(self.space.bench.bin.join("kubectl"));
        kubectl.args(["--namespace", &self.space.namespace]).args(arguments).env("HOME", &self.space.dir);
        self.run(&mut kubectl, input)
    }

    fn run(&self, program: &mut Command, input: &str) -> Run {
        let program = program.env("KUBECONFIG", &self.space.bench.kubeconfig).current_dir(&self.space.dir);
        let piped = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the program runs");
        let mut pipe = child.stdin.take().expect("stdin is a pipe");
        // A program that refuses at once does not read to the end.
        drop(pipe.write_all(input.as_bytes()));
        drop(pipe);
        Run::of(child.wait_with_output().expect("the program ends"))
    }
}

/// The places of an object that change: all of its spec, its labels, and an annotation that pauses nothing.
fn places(object: &Value) -> Vec<String> {
    let mut places = Vec::new();
    collect(&object["spec"], "/spec", &mut places);
    collect(&object["metadata"]["labels"], "/metadata/labels", &mut places);
    for place in ["/metadata/labels", "/metadata/annotations/hunt~1note"] {
        places.extend(object.pointer(place).map(|_| place.to_owned()));
    }
    places
}

/// Every place below a value, as JSON pointers.
fn collect(value: &Value, at: &str, places: &mut Vec<String>) {
    let mut below = |key: &str, value: &Value| {
        let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        collect(value, &place, places);
        places.push(place);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(list) => list.iter().enumerate().for_each(|(at, value)| below(&at.to_string(), value)),
        _ => {}
    }
}
