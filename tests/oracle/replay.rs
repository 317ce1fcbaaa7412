//! One recording, replayed: each case becomes a World with its Machines and a pair, and is classified.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead as _, Read as _};
use std::path::Path;

use rollgate::facade::compare::{Action, Change, Pair, changes};
use rollgate::facade::judge::{Scene, classify};
use rollgate::facade::kinds::{Versions, fields};
use rollgate::facade::model::{Classified, Effect};
use rollgate::facade::object::{Inventory, Key, Object};
use rollgate::facade::providers::gates;
use rollgate::facade::rules::Rules;
use rollgate::facade::tree::Value;
use rollgate::facade::world::{Absent, LiveKind, LiveSource, Provider, World};
use serde::{Deserialize, Serialize};

use super::patch::apply;

/// A recording.
pub(crate) struct Recording {
    /// Provider and version.
    pub(crate) name: String,
    pub(crate) provider: String,
    pub(crate) version: String,
    now: String,
    gates: BTreeMap<String, bool>,
    pub(crate) bases: BTreeMap<String, BaseLine>,
    pub(crate) cases: Vec<Case>,
    pending: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BaseLine {
    base: String,
    #[serde(default)]
    observed: bool,
    pub(crate) object: Value,
    #[serde(default)]
    cluster: Option<Value>,
    #[serde(default)]
    machines: Vec<BTreeMap<String, Value>>,
    #[serde(default)]
    machine_sets: Vec<Value>,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) kind: String,
    /// Empty where an object is made anew.
    #[serde(default)]
    pub(crate) base: String,
    #[serde(default)]
    pub(crate) patch: Vec<Value>,
    /// An object that is made anew.
    #[serde(default)]
    new: Option<Value>,
    pub(crate) answer: Answer,
}

#[derive(Deserialize, Default, Clone)]
pub(crate) struct Answer {
    pub(crate) accepted: bool,
    #[serde(default)]
    stage: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    changed: Vec<String>,
    #[serde(default)]
    pub(crate) outdated: Vec<String>,
    #[serde(default)]
    propagated: Vec<String>,
    #[serde(default)]
    pub(crate) error: String,
}

/// Rules about things that reach Machines or the cluster in other ways than a recording sees.
const ELSEWHERE: &[&str] =
    &["ck8s/in-place-upgrade", "k0s/dynamic-config", "kcp/dns", "rke2cp/legacy", "rke2cp/load-balancer-exclusion"];

/// Rules about what a controller does that no recording calls: a MachineSet looks for its Machines, by its selector.
const NOT_RECORDED: &[&str] = &["md/selector", "ms/selector"];

/// Rules about a time that is still to come: whoever decides which Machines are out of date waits for it too.
const CLOCKS: &[&str] = &["ck8s/rollout-after", "kcp/rollout-after", "md/rollout-after"];

/// What happens to Machines, in the words of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    NotReplaced,
    Propagated,
    Replaced,
    Refused,
    Unknown,
}

/// How an answer stands to the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is the same.
    Same,
    /// The recording says only that the write is accepted, and so it is.
    Accepted,
    /// A pack says that it is not known.
    Unknown,
    /// A Machine that is out of date already goes with the next change that counts for it as well.
    Rides,
    /// The recording does not see what decides here.
    Unseen,
    /// It reaches the cluster in another way than a recording sees.
    Elsewhere,
    /// It is another one.
    Differs,
}

/// One case and both answers.
pub(crate) struct Answered {
    pub(crate) kind: String,
    standing: Standing,
    /// Whether the recording says what happens to Machines, and not only whether the write is accepted.
    observed: bool,
    id: String,
    theirs: Word,
    ours: Word,
    detail: String,
}

/// Counts of one kind.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tally {
    cases: usize,
    same: usize,
    accepted: usize,
    differ: usize,
    false_safe: usize,
    false_hold: usize,
    unknown: usize,
    rides: usize,
    unseen: usize,
    elsewhere: usize,
}

impl Answered {
    /// The line of a dump.
    pub(crate) fn line(&self) -> String {
        let mark = if self.standing == Standing::Differs { "" } else { "listed " };
        format!("{mark}{:?} not {:?}\t{}\t{}", self.ours, self.theirs, self.id, self.detail)
    }

    /// Whether a reader of a dump wants to see it: it differs, or it is not known.
    pub(crate) fn is_notable(&self) -> bool {
        self.standing == Standing::Differs || self.is_false_safe() || self.ours == Word::Unknown
    }

    /// Machines would be replaced, or the write refused, and nobody is told.
    fn is_false_safe(&self) -> bool {
        self.theirs >= Word::Replaced && self.ours < Word::Replaced && self.standing != Standing::Unseen
    }

    fn is_false_hold(&self) -> bool {
        let said = self.ours == Word::Refused || (self.ours == Word::Replaced && self.observed);
        self.theirs < Word::Replaced && said && !matches!(self.standing, Standing::Unseen | Standing::Rides)
    }
}

impl Tally {
    /// The cells of a table.
    pub(crate) fn cells(&self) -> String {
        let Self { cases, same, accepted, differ, false_safe, false_hold, unknown, rides, unseen, elsewhere } = self;
        let agreement = 100.0 * (same + accepted) as f64 / *cases as f64;
        format!(
            "{cases} | {agreement:.2} % | {same} | {accepted} | {differ} | {false_safe} | {false_hold} | {unknown} | {rides} | {unseen} | {elsewhere}"
        )
    }

    /// Counts one answer.
    pub(crate) fn add(&mut self, answer: &Answered) {
        self.cases += 1;
        *match answer.standing {
            Standing::Same => &mut self.same,
            Standing::Accepted => &mut self.accepted,
            Standing::Unknown => &mut self.unknown,
            Standing::Rides => &mut self.rides,
            Standing::Unseen => &mut self.unseen,
            Standing::Elsewhere => &mut self.elsewhere,
            Standing::Differs => &mut self.differ,
        } += 1;
        self.false_safe += usize::from(answer.is_false_safe());
        self.false_hold += usize::from(answer.is_false_hold());
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cells())
    }
}

/// The header of a recording.
pub(crate) fn header(path: &Path) -> Value {
    let file = std::fs::File::open(path).expect("a recording can be opened");
    let mut line = String::new();
    let mut text = std::io::BufReader::new(flate2::read::GzDecoder::new(file));
    text.read_line(&mut line).expect("a recording is gzip");
    serde_json::from_str(&line).expect("a header is JSON")
}

impl Recording {
    /// Reads a recording.
    pub(crate) fn read(path: &Path) -> Self {
        let file = std::fs::File::open(path).expect("a recording can be opened");
        let mut text = String::new();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a recording is gzip");
        let mut lines = text.lines();
        let header: Value = serde_json::from_str(lines.next().expect("a header")).expect("a header");
        let said = |key: &str| header[key].as_str().unwrap_or_default().to_owned();
        let mut told = BTreeMap::new();
        for gate in said("gates").split(',') {
            if let Some((name, state)) = gate.split_once('=') {
                told.insert(name.to_owned(), state == "true");
            }
        }
        // A recording was made with the gates that it names and no others.
        let newest = Versions::told("cluster-api", "");
        for gate in gates::all().map(|gate| gate.name).filter(|gate| !gates::is_usually_on(gate, &newest)) {
            told.entry(gate.to_owned()).or_insert(false);
        }
        let (provider, version) = (said("provider"), said("version"));
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut out = Self {
            name: file.trim_end_matches(".jsonl.gz").to_owned(),
            provider,
            version,
            now: said("now"),
            gates: told,
            bases: BTreeMap::new(),
            cases: Vec::new(),
            pending: BTreeMap::new(),
        };
        let only = std::env::var("ROLLGATE_ORACLE_KIND").unwrap_or_default();
        for line in lines {
            if line.contains("#:same\"") {
                let case: Case = serde_json::from_str(line).expect("a case");
                if !case.answer.outdated.is_empty() {
                    out.pending.insert(case.base.clone(), case.answer.outdated.clone());
                }
            }
            if !only.is_empty() && line.starts_with("{\"id\"") && !line.starts_with(&format!("{{\"id\":\"{only}")) {
                continue;
            }
            if line.contains("\"id\":") && line.starts_with("{\"id\"") {
                out.cases.push(serde_json::from_str(line).expect("a case"));
            } else {
                let base: BaseLine = serde_json::from_str(line).expect("a base");
                out.bases.insert(base.base.clone(), base);
            }
        }
        out
    }

    /// Answers every case.
    pub(crate) fn replay(&self) -> Vec<Answered> {
        let worlds: BTreeMap<_, _> = self.bases.iter().map(|(name, base)| (name, self.world(base))).collect();
        let answer = |case: &Case| match &case.new {
            Some(object) => self.made(case, object),
            None => self.answer(case, &worlds[&case.base]),
        };
        self.cases.iter().map(answer).collect()
    }

    /// Answers the case of a new object, in a World that holds nothing.
    fn made(&self, case: &Case, object: &Value) -> Answered {
        let world = self.world_of(Inventory::default(), Vec::new());
        let key = Object::from_value(object.clone(), 0).expect("a new object is an object").key;
        let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let pair = pair(key, &api_version, Action::Create, (None, object.clone()));
        let (pair, _) = judged(&world, pair);
        let ours = match pair.effect {
            Effect::Rejected => Word::Refused,
            Effect::Unknown => Word::Unknown,
            _ => Word::NotReplaced,
        };
        let theirs = theirs(&case.answer);
        let standing = match (ours, theirs) {
            (Word::Refused, Word::Refused) => Standing::Same,
            (Word::NotReplaced, Word::NotReplaced) => Standing::Accepted,
            (Word::Unknown, Word::NotReplaced) => Standing::Unknown,
            _ => Standing::Differs,
        };
        Answered {
            kind: case.kind.clone(),
            standing,
            observed: false,
            id: case.id.clone(),
            theirs,
            ours,
            detail: format!("{} {} | {} | {}", case.answer.stage, case.answer.reason, pair.rule, pair.because),
        }
    }

    /// Whether a change sets a time that is still to come.
    fn is_to_come(&self, change: &Change) -> bool {
        let after = change.after.as_ref().map(|after| after.get("after").unwrap_or(after));
        let time = after.and_then(Value::as_str).and_then(|text| text.parse::<jiff::Timestamp>().ok());
        let now: jiff::Timestamp = self.now.parse().expect("the clock of a recording");
        CLOCKS.contains(&change.rule.as_str()) && time.is_some_and(|time| time > now)
    }

    /// Answers one case in the World of its base.
    fn answer(&self, case: &Case, world: &World) -> Answered {
        let base = &self.bases[&case.base];
        let mut after = base.object.clone();
        for operation in &case.patch {
            apply(&mut after, operation);
        }
        let mut world = Cow::Borrowed(world);
        // The clock of a recording stands; what a case needs beside its base is in the base.
        if !case.answer.error.is_empty() {
            for pointer in ["/spec/machineTemplate/infrastructureRef", "/spec/machineTemplate/spec/infrastructureRef"] {
                if let Some(reference) = after.pointer(pointer) {
                    let word = |key: &str| reference[key].as_str().unwrap_or_default();
                    let namespace = base.object["metadata"]["namespace"].as_str();
                    let api_version = reference["apiVersion"].as_str().map(str::to_owned);
                    let api_version = api_version.unwrap_or_else(|| format!("{}/v1", word("apiGroup")));
                    let object = Key::new(&api_version, word("kind"), namespace, word("name"));
                    world.to_mut().absent.push(Absent { what: object.to_string(), object: Some(object) });
                }
            }
        }
        let live = world.live.objects().last().expect("the base itself is the last object of its World");
        let (key, api_version) = (live.key.clone(), live.api_version.clone());
        let action = if base.object == after { Action::Unchanged } else { Action::Update };
        let (pair, classified) = judged(&world, pair(key, &api_version, action, (Some(base.object.clone()), after)));
        // A pause is not asked about by those who decide which Machines are out of date; a clock is.
        let waits = pair.changes.iter().any(|change| change.waits.is_some() && !self.is_to_come(change));
        let is_refused = pair.changes.iter().any(|change| change.effect == Effect::Rejected);
        let ours = match pair.effect {
            // One refused field refuses the write, whatever is not known of another.
            _ if is_refused => Word::Refused,
            Effect::None | Effect::Scale | Effect::Delete => Word::NotReplaced,
            Effect::Latent if waits => Word::Replaced,
            Effect::Latent => Word::NotReplaced,
            Effect::InPlace => Word::Propagated,
            Effect::Rollout => Word::Replaced,
            Effect::Rejected => Word::Refused,
            Effect::Unknown => Word::Unknown,
        };
        // What is out of date before any change is pending, and no change's doing.
        let mut answer = case.answer.clone();
        if let Some(pending) = self.pending.get(&case.base) {
            answer.outdated.retain(|name| !pending.contains(name));
        }
        let theirs = theirs(&answer);
        // CoreDNS is updated in the workload cluster, which a recording does not see.
        let elsewhere = pair
            .changes
            .iter()
            .all(|change| ELSEWHERE.contains(&change.rule.as_str()) || change.effect == Effect::None);
        let unseen = |change: &Change| NOT_RECORDED.contains(&change.rule.as_str());
        let unseen = ours == Word::Replaced && theirs < Word::Replaced && pair.changes.iter().any(unseen);
        // Only observed kinds are compared with Machines; the others are accepted or refused.
        let accepted_only = !base.observed && theirs < Word::Refused && ours != Word::Refused;
        // What a pack itself calls unknown is known to be unknown.
        let listed = ours == Word::Unknown
            && theirs < Word::Refused
            && pair.changes.iter().all(|change| change.effect != Effect::Unknown || change.rule != "unknown/field");
        // A Machine that is out of date already is replaced by the next change that counts for it as well.
        let rides = ours == Word::Replaced && !case.answer.outdated.is_empty();
        let standing = if ours == theirs {
            Standing::Same
        } else if accepted_only {
            Standing::Accepted
        } else if listed {
            Standing::Unknown
        } else if rides {
            Standing::Rides
        } else if unseen {
            Standing::Unseen
        } else if elsewhere && theirs == Word::NotReplaced && ours == Word::Propagated {
            Standing::Elsewhere
        } else {
            Standing::Differs
        };
        let rollout = classified.rollouts.first().map(|rollout| rollout.machine_names.join(",")).unwrap_or_default();
        let rules: Vec<String> =
            pair.changes.iter().map(|change| format!("{} {} [{}]", change.path, change.effect, change.rule)).collect();
        Answered {
            kind: case.kind.clone(),
            standing,
            observed: base.observed,
            id: case.id.clone(),
            theirs,
            ours,
            detail: format!(
                "{} {} {} | {} | {} {} | {} | {}",
                case.answer.stage,
                case.answer.reason,
                case.answer.error,
                case.answer.changed.join(" "),
                case.answer.outdated.join(","),
                rollout,
                rules.join("; "),
                pair.because
            ),
        }
    }

    /// Whether the controllers' comparison was called for a case.
    pub(crate) fn is_observed(&self, case: &Case) -> bool {
        self.bases[&case.base].observed
    }

    /// The World of a base, with the base itself as its last object.
    pub(crate) fn world(&self, base: &BaseLine) -> World {
        let mut live = Inventory::default();
        for value in
            parts(&base.machines).chain(&base.machine_sets).chain(&base.cluster).filter(|value| value.is_object())
        {
            live.push(Object::from_value(value.clone(), 0).expect("a part of a base is an object"));
        }
        live.push(Object::from_value(base.object.clone(), 0).expect("a base is an object"));
        // What a Machine of a base names and the base lacks was not there when the controllers were asked.
        let mut absent = Vec::new();
        for machine in parts(&base.machines) {
            let namespace = machine["metadata"]["namespace"].as_str();
            for pointer in ["/spec/bootstrap/configRef", "/spec/infrastructureRef"] {
                let named = machine.pointer(pointer).and_then(|reference| fields::target(reference, namespace));
                if let Some(key) = named.filter(|key| live.get(key).is_none()) {
                    absent.push(Absent { what: key.to_string(), object: Some(key) });
                }
            }
        }
        self.world_of(live, absent)
    }

    /// A World of this provider in its version.
    fn world_of(&self, live: Inventory, absent: Vec<Absent>) -> World {
        let now = self.now.parse().expect("a time");
        let provider = Provider { version: self.version.clone(), evidence: "told".to_owned() };
        World {
            providers: [(self.provider.clone(), provider)].into(),
            feature_gates: self.gates.clone(),
            absent,
            ..World::new(LiveSource::new(LiveKind::Cluster, self.name.clone()), live, now)
        }
    }
}

/// A pair of what is there and what is written.
fn pair(key: Key, api_version: &str, action: Action, (live, predicted): (Option<Value>, Value)) -> Pair {
    Pair {
        key,
        api_version: api_version.to_owned(),
        action,
        changes: live.as_ref().map(|live| changes(live, &predicted)).unwrap_or_default(),
        live,
        predicted: Some(predicted),
        sent: None,
        renamed_from: None,
        takes_over: false,
        effect: Effect::None,
        waits: None,
        basis: None,
        rule: String::new(),
        because: String::new(),
        line: 0,
        at: None,
    }
}

/// What is said to a pair alone.
fn judged(world: &World, pair: Pair) -> (Pair, Classified) {
    let mut pairs = vec![pair];
    let rendered = Inventory::default();
    let scene = Scene { world, view: &world.view(), rendered: &rendered, once: &Default::default(), way: None };
    let classified = classify(&mut pairs, Vec::new(), &scene, Rules::built_in());
    (pairs.remove(0), classified)
}

/// Machines with what belongs to each.
fn parts(machines: &[BTreeMap<String, Value>]) -> impl Iterator<Item = &Value> {
    machines.iter().flat_map(BTreeMap::values)
}

/// Their answer in one word.
fn theirs(answer: &Answer) -> Word {
    if !answer.accepted {
        Word::Refused
    } else if !answer.outdated.is_empty() {
        Word::Replaced
    } else if !answer.error.is_empty() {
        // The controller stops there: nothing is replaced, and nothing else is done either.
        Word::Unknown
    } else if answer.propagated.iter().any(|line| !line.contains(": machineSet.")) && !answer.changed.is_empty() {
        Word::Propagated
    } else {
        Word::NotReplaced
    }
}
